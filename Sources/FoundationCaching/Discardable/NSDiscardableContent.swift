//===----------------------------------------------------------------------===//
// This source file is part of the swift-memory-cache open source project.
// Licensed under Apache License v2.0; see LICENSE for the text.
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

/// An object whose content can be discarded while nobody uses it, under Apple's name and with Apple's requirements.
///
/// - SeeAlso: Apple, `NSDiscardableContent`.
public protocol NSDiscardableContent: AnyObject {
    /// Begins an access: adds one to the counter and answers `true`, or answers `false` if the content is gone.
    func beginContentAccess() -> Bool
    /// Ends an access.
    func endContentAccess()
    /// Discards the content if the counter is 0.
    func discardContentIfPossible()
    /// Whether the content is gone.
    func isContentDiscarded() -> Bool
}
