//===----------------------------------------------------------------------===//
// This source file is part of the swift-memory-cache open source project.
// Licensed under Apache License v2.0; see LICENSE for the text.
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

import Foundation
import FoundationCaching
import Testing

/// What user code may do while the cache waits for it: everything. A process each, so that a deadlock and a stack that
/// overflows show as what they are.
enum Reentrancy: String, CaseIterable, Codable, Sendable {
    case delegateEmptiesTheCache, delegateLeavesItsCache, delegateLowersLimits, delegateAsksAboutGiant
    case delegateGoesWithinItsCall, cacheGoesWithinDelegate, lastReferenceGoesWithObject
    case objectSetsItsOwnKeyAtItsEnd, keyRemovesItselfAtItsEnd, valuesEndInAChain
    case hashStoresOtherKeys, comparisonRemovesWhatItCompares, comparisonEmptiesTheCache, comparisonSplitsTheCache
    case discardingAsksTheCache, questionRemovesTheObject, mutatedKeysAreOverwritten, limitsFromWithinDeinit

    /// Whether all went as it should.
    func run() -> Bool {
        switch self {
        case .delegateEmptiesTheCache, .delegateLeavesItsCache, .delegateLowersLimits, .delegateAsksAboutGiant:
            delegates()
        case .delegateGoesWithinItsCall, .cacheGoesWithinDelegate, .lastReferenceGoesWithObject: lives()
        case .objectSetsItsOwnKeyAtItsEnd, .keyRemovesItselfAtItsEnd, .valuesEndInAChain, .limitsFromWithinDeinit:
            ends()
        case .hashStoresOtherKeys, .comparisonRemovesWhatItCompares, .comparisonEmptiesTheCache,
            .comparisonSplitsTheCache,
            .mutatedKeysAreOverwritten:
            keys()
        case .discardingAsksTheCache, .questionRemovesTheObject: contents()
        }
    }

    private func delegates() -> Bool {
        let cache = NSCache<NSNumber, Token>()
        let recorder = Recorder()
        cache.delegate = recorder
        cache.countLimit = 10
        cache.totalCostLimit = 100
        var calls = 0
        recorder.action = { _, _ in
            calls += 1
            switch self {
            case .delegateEmptiesTheCache: cache.removeAllObjects()
            case .delegateLeavesItsCache: cache.delegate = nil
            case .delegateLowersLimits: cache.countLimit = max(1, cache.countLimit - 1)
            default:
                cache.removeObject(forKey: 99)
                if cache.object(forKey: 99) != nil { calls = 1_000 }
            }
        }
        for number in 0..<30 { cache.setObject(Token(number), forKey: NSNumber(value: number), cost: 1) }
        cache.setObject(Token(99), forKey: 99, cost: 101)
        recorder.action = nil
        let left = present(in: cache, of: 0..<100).count
        let distinct = Set(recorder.objects.map(ObjectIdentifier.init)).count
        guard distinct == recorder.objects.count else { return false }
        switch self {
        // Eleven go at every eleventh insertion; and the giant takes all the others along.
        case .delegateEmptiesTheCache: return calls == 31 && left == 0
        case .delegateLeavesItsCache: return calls == 1 && left == 10
        case .delegateLowersLimits: return left == 1 && calls == 30
        default: return calls == 21 && left == 10
        }
    }

    private func lives() -> Bool {
        switch self {
        case .delegateGoesWithinItsCall:
            let cache = NSCache<NSNumber, Token>()
            var recorder: Recorder? = Recorder()
            weak let weakRecorder = recorder
            cache.delegate = recorder
            recorder?.action = { _, _ in recorder = nil }
            cache.setObject(Token(), forKey: 1)
            cache.removeObject(forKey: 1)
            cache.setObject(Token(), forKey: 1)
            cache.removeAllObjects()
            return weakRecorder == nil
        case .cacheGoesWithinDelegate:
            let counter = LifeCounter()
            let recorder = Recorder()
            var cache: NSCache<NSNumber, Token>? = NSCache()
            weak let weakCache = cache
            cache?.delegate = recorder
            cache?.countLimit = 2
            recorder.action = { _, _ in cache = nil }
            for number in 0..<5 { cache?.setObject(Token(in: counter), forKey: NSNumber(value: number)) }
            recorder.forget()
            return weakCache == nil && counter.alive == 0
        default:
            // An object that owns its cache, which holds the object.
            let counter = LifeCounter()
            final class Owner {
                let cache = NSCache<NSNumber, AnyObject>()
                let token: Token
                init(_ token: Token) { self.token = token }
            }
            var owner: Owner? = Owner(Token(in: counter))
            owner!.cache.setObject(owner!, forKey: 1)
            let cache = Unmanaged.passUnretained(owner!.cache)
            owner = nil
            guard counter.alive == 1 else { return false }
            cache.takeUnretainedValue().removeAllObjects()
            return counter.alive == 0
        }
    }

    private func ends() -> Bool {
        let cache = NSCache<AnyObject, Token>()
        let counter = LifeCounter()
        var budget = 100
        switch self {
        case .objectSetsItsOwnKeyAtItsEnd:
            func token() -> Token {
                Token(in: counter) {
                    budget -= 1
                    if budget > 0 { cache.setObject(token(), forKey: NSNumber(value: 1)) }
                }
            }
            cache.setObject(token(), forKey: NSNumber(value: 1))
            cache.removeObject(forKey: NSNumber(value: 1))
            cache.setObject(Token(), forKey: NSNumber(value: 1))
            cache.removeAllObjects()
            return counter.alive <= 1
        case .keyRemovesItselfAtItsEnd:
            for _ in 0..<100 {
                cache.setObject(Token(in: counter), forKey: Token { cache.removeObject(forKey: NSNumber(value: 1)) })
            }
            cache.setObject(Token(in: counter), forKey: NSNumber(value: 1))
            cache.countLimit = 1
            cache.removeAllObjects()
            return counter.alive == 0
        case .limitsFromWithinDeinit:
            cache.countLimit = 50
            for number in 0..<200 {
                let token = Token(in: counter) { cache.countLimit = 10 + number % 40 }
                cache.setObject(token, forKey: NSNumber(value: number))
            }
            return counter.alive <= 50
        default:
            // Each value's end removes the next: as deep as user code makes it, and no deeper.
            for number in 0..<1_000 {
                let token = Token(in: counter) { cache.removeObject(forKey: NSNumber(value: number + 1)) }
                cache.setObject(token, forKey: NSNumber(value: number))
            }
            cache.removeObject(forKey: NSNumber(value: 0))
            return counter.alive == 0
        }
    }

    /// All of one hash, with an action for each question.
    private final class Key: NSObject {
        var number: Int
        let clash: Bool
        var whenHashed: (() -> Void)?
        var whenCompared: (() -> Void)?
        init(_ number: Int, clash: Bool = true) { (self.number, self.clash) = (number, clash) }
        override var hash: Int {
            whenHashed?()
            return clash ? 7 : number
        }
        override func isEqual(_ object: Any?) -> Bool {
            let other = object as? Key
            whenCompared?()
            other?.whenCompared?()
            return other?.number == number
        }
    }

    private func keys() -> Bool {
        let cache = NSCache<Key, Token>()
        var depth = 0
        func once(_ body: @escaping () -> Void) -> () -> Void {
            {
                guard depth == 0 else { return }
                depth += 1
                body()
                depth -= 1
            }
        }
        switch self {
        case .hashStoresOtherKeys:
            let key = Key(0)
            key.whenHashed = once { for number in 1..<20 { cache.setObject(Token(number), forKey: Key(number)) } }
            cache.setObject(Token(0), forKey: key)
            return (0..<20).allSatisfy { cache.object(forKey: Key($0))?.number == $0 }
        case .comparisonRemovesWhatItCompares:
            for number in 0..<5 { cache.setObject(Token(number), forKey: Key(number)) }
            let key = Key(3)
            key.whenCompared = once { for number in 0..<5 { cache.removeObject(forKey: Key(number)) } }
            _ = cache.object(forKey: key)
            cache.setObject(Token(3), forKey: key)
            key.whenCompared = nil
            return cache.object(forKey: Key(3))?.number == 3 && cache.object(forKey: Key(2)) == nil
        case .comparisonEmptiesTheCache:
            for number in 0..<5 { cache.setObject(Token(number), forKey: Key(number)) }
            let key = Key(4)
            key.whenCompared = once { cache.removeAllObjects() }
            cache.removeObject(forKey: key)
            _ = cache.object(forKey: key)
            return (0..<5).allSatisfy { cache.object(forKey: Key($0)) == nil }
        case .comparisonSplitsTheCache:
            cache.setObject(Token(1), forKey: Key(1))
            let key = Key(1)
            key.whenCompared = once {
                for number in 0..<10_000 { cache.setObject(Token(number), forKey: Key(number + 100, clash: false)) }
            }
            guard cache.object(forKey: key)?.number == 1 else { return false }
            key.whenCompared = nil
            return cache.object(forKey: key)?.number == 1
        default:
            // One key object stored under every number it has had.
            cache.countLimit = 5
            let key = Key(0, clash: false)
            for number in 0..<100 {
                key.number = number
                cache.setObject(Token(number), forKey: key)
                guard cache.object(forKey: key)?.number == number else { return false }
            }
            cache.countLimit = 1
            guard cache.object(forKey: key)?.number == 99 else { return false }
            cache.removeAllObjects()
            return cache.object(forKey: key) == nil
        }
    }

    private func contents() -> Bool {
        let cache = NSCache<NSNumber, Curious>()
        cache.countLimit = 5
        for number in 0..<20 {
            let content = Curious()
            if self == .discardingAsksTheCache {
                content.whenDiscarded = {
                    _ = cache.object(forKey: NSNumber(value: number))
                    cache.setObject(Curious(), forKey: NSNumber(value: number + 100))
                }
            } else {
                content.whenAsked = { cache.removeObject(forKey: NSNumber(value: number)) }
            }
            cache.setObject(content, forKey: NSNumber(value: number))
            _ = cache.object(forKey: NSNumber(value: number))
        }
        cache.removeAllObjects()
        return self == .discardingAsksTheCache
            || (0..<200).allSatisfy { cache.object(forKey: NSNumber(value: $0)) == nil }
    }

    /// Content that asks back.
    private final class Curious: NSDiscardableContent {
        var whenAsked: (() -> Void)?
        var whenDiscarded: (() -> Void)?
        func beginContentAccess() -> Bool { true }
        func endContentAccess() {}
        func discardContentIfPossible() { whenDiscarded?() }
        func isContentDiscarded() -> Bool {
            whenAsked?()
            return false
        }
    }
}

@Suite struct ReentrancyTests {
    @Test("User code may use the cache that waits for it", .timeLimit(.minutes(10)), arguments: Reentrancy.allCases)
    func reentrancy(deed: Reentrancy) async {
        await #expect(processExitsWith: .success) { [deed] in
            if !deed.run() { exit(EXIT_FAILURE) }
        }
    }
}
