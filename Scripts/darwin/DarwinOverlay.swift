// What Apple's own Darwin module adds to its C headers, as far as the libraries use it: declarations that importing C
// leaves out. For type-checking alone.
@_exported import Darwin

public func open(_ path: UnsafePointer<CChar>, _ flags: Int32) -> Int32 { fatalError() }
public func fcntl(_ descriptor: Int32, _ command: Int32) -> Int32 { fatalError() }
public func fcntl(_ descriptor: Int32, _ command: Int32, _ value: Int32) -> Int32 { fatalError() }
public var errno: Int32 {
    get { fatalError() }
    set { fatalError() }
}
public var S_IFMT: mode_t { mode_t(0o170000) }
public var S_IFIFO: mode_t { mode_t(0o010000) }
public var S_IFDIR: mode_t { mode_t(0o040000) }
public var S_IFREG: mode_t { mode_t(0o100000) }
public var S_IFSOCK: mode_t { mode_t(0o140000) }
public var CLOCK_MONOTONIC: clockid_t { _CLOCK_MONOTONIC }
public var environ: UnsafeMutablePointer<UnsafeMutablePointer<CChar>?> { fatalError() }
