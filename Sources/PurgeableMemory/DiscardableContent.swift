//===----------------------------------------------------------------------===//
// This source file is part of the swift-memory-cache open source project.
// Licensed under Apache License v2.0; see LICENSE for the text.
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

/// An object whose content can be discarded while nobody uses it: `NSDiscardableContent` in native clothes.
///
/// An access counter stands guard over the content. While it is above 0 the content stays; at 0 the content may be
/// discarded at any moment, by ``discardContentIfPossible()`` or by the kernel.
///
/// - SeeAlso: Apple, "Caching and Purgeable Memory" (2009); `NSDiscardableContent`.
public protocol DiscardableContent: AnyObject {
    /// Begins an access: adds one to the counter and answers `true`, or answers `false` and leaves the counter alone
    /// if the content is gone. A type may re-create its content here and answer `true`.
    func beginContentAccess() -> Bool

    /// Ends an access that ``beginContentAccess()`` began.
    func endContentAccess()

    /// Discards the content if the counter is 0; does nothing otherwise.
    func discardContentIfPossible()

    /// Whether the content is gone.
    var isContentDiscarded: Bool { get }
}
