//===----------------------------------------------------------------------===//
// This source file is part of the swift-memory-cache open source project.
// Licensed under Apache License v2.0; see LICENSE for the text.
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

import Foundation
import FoundationCaching

/// What both classes can do, so that one piece of code measures either.
protocol ObjectCache<KeyType, ObjectType>: AnyObject {
    associatedtype KeyType: AnyObject
    associatedtype ObjectType: AnyObject
    func object(forKey key: KeyType) -> ObjectType?
    func setObject(_ obj: ObjectType, forKey key: KeyType, cost g: Int)
    var countLimit: Int { get set }
}

typealias Theirs = Foundation.NSCache
typealias Ours = FoundationCaching.NSCache

extension Foundation.NSCache: ObjectCache {}
extension FoundationCaching.NSCache: ObjectCache {}
