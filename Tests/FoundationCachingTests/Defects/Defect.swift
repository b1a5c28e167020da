//===----------------------------------------------------------------------===//
// This source file is part of the swift-memory-cache open source project.
// Licensed under Apache License v2.0; see LICENSE for the text.
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

import Foundation

// Compiled twice: here, where `NSCache` is this package's, and in the package IntegrationTests, where it is
// Foundation's, so that each defect is known to be one.

/// What users of Foundation's `NSCache` on Linux run into, one case each; the raw value is its number in the list.
enum Defect: String, CaseIterable, Codable, Sendable {
    case newcomersAreRefused = "C01"
    case useDoesNotCount = "C02"
    case giantFlushesEverything = "C03"
    case freeObjectsAreEvictedForCost = "C04"
    case droppedCacheLeaks = "C05"
    case delegateDeadlocks = "C06"
    case deinitDeadlocks = "C07"
    case isEqualDeadlocks = "C08"
    case mutatedKeysPoison = "C09"
    case insertionByCostIsQuadratic = "C10"
    case identityKeysCollide = "C11"
    case hashableKeysAreNotFound = "C12"
    case delegateIsSilentOnRemoval = "C13"
    case discardedContentStaysByDefault = "C14"
    case loweredLimitDoesNothing = "C15"
    case hugeCostsTrap = "C16"
    case patternsAfterTheTenthMiss = "C20"
    case footprintIsLarge = "C21"

    /// Runs the scenario; whether everything was as it should be. With the defect it answers `false`, never returns or
    /// stops the process.
    func isMended() -> Bool {
        switch self {
        case .newcomersAreRefused: Scenario.newcomersAreAdmitted()
        case .useDoesNotCount: Scenario.useCounts()
        case .giantFlushesEverything: Scenario.giantLeavesOthersAlone()
        case .freeObjectsAreEvictedForCost: Scenario.freeObjectsStay()
        case .droppedCacheLeaks: Scenario.droppedCacheFreesItsObjects()
        case .delegateDeadlocks: Scenario.delegateMayUseTheCache()
        case .deinitDeadlocks: Scenario.deinitMayUseTheCache()
        case .isEqualDeadlocks: Scenario.keysMayUseTheCache()
        case .mutatedKeysPoison: Scenario.mutatedKeysLeave()
        case .insertionByCostIsQuadratic: Scenario.ascendingCostsAreLinear()
        case .identityKeysCollide: Scenario.identityKeysAreLinear()
        case .hashableKeysAreNotFound: Scenario.hashableKeysAreFound()
        case .delegateIsSilentOnRemoval: Scenario.everyRemovalIsTold()
        case .discardedContentStaysByDefault: NSCache<NSString, NSString>().evictsObjectsWithDiscardedContent
        case .loweredLimitDoesNothing: Scenario.loweredLimitsTrim()
        case .hugeCostsTrap: Scenario.hugeCostsAddUp()
        case .patternsAfterTheTenthMiss: Scenario.laterPatternsHit()
        case .footprintIsLarge: Scenario.footprintIsSmall()
        }
    }
}

/// What the scenarios store: counts those alive.
final class Counted {
    nonisolated(unsafe) static var alive = 0
    var atEnd: (() -> Void)?
    init() { Self.alive += 1 }
    deinit {
        atEnd?()
        Self.alive -= 1
    }
}

/// A delegate that runs a closure.
final class Listener: NSObject, NSCacheDelegate {
    var told = 0
    var action: () -> Void = {}
    func cache(_ cache: NSCache<AnyObject, AnyObject>, willEvictObject obj: Any) {
        told += 1
        action()
    }
}

/// A key whose text may change, as the text of an `NSMutableString` may, and that may do more when it is compared.
final class TextKey: NSObject {
    var text: String
    var whenAsked: () -> Void = {}
    init(_ text: String) { self.text = text }
    override var hash: Int {
        whenAsked()
        return text.hashValue
    }
    override func isEqual(_ object: Any?) -> Bool {
        whenAsked()
        return (object as? TextKey)?.text == text
    }
}

/// Equal by ==, and no `NSObject`.
final class PathKey: Hashable {
    let path: String
    init(_ path: String) { self.path = path }
    static func == (left: PathKey, right: PathKey) -> Bool { left.path == right.path }
    func hash(into hasher: inout Hasher) { hasher.combine(path) }
}
