//===----------------------------------------------------------------------===//
// This source file is part of the swift-memory-cache open source project.
// Licensed under Apache License v2.0; see LICENSE for the text.
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

/// A key's description, compared byte by byte, as servers do. To Swift, U+212B and U+00C5 are equal as texts, and so
/// are letters whose accents come in another order; as keys they are two.
struct KeyName: Hashable {
    let text: String

    init(_ text: String) { self.text = text }

    static func == (left: KeyName, right: KeyName) -> Bool { left.text.utf8.elementsEqual(right.text.utf8) }

    func hash(into hasher: inout Hasher) { hasher.combine(text) }
}
