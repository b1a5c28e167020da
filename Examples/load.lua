-- Asks for tiles of the map at random: 1,365 of them in six zoom levels, each level as often as any other.
-- Run by wrk: see README.md.
local thread_count = 0

function setup(thread)
    thread_count = thread_count + 1
    thread:set("seed", 20260 + thread_count)
end

function init(args)
    math.randomseed(seed)
end

function request()
    local zoom = math.random(0, 5)
    local side = 2 ^ zoom
    local path = string.format("/tile/%d/%d/%d", zoom, math.random(0, side - 1), math.random(0, side - 1))
    return wrk.format("GET", path)
end
