//===----------------------------------------------------------------------===//
// This source file is part of the swift-memory-cache open source project.
// Licensed under Apache License v2.0; see LICENSE for the text.
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

#if !ValkeySupport
/// Says what the tool needs.
@main
struct StaleCheck {
    static func main() {
        print("USAGE: stale-check needs the trait: CACHE_TOOLS=1 swift run --traits ValkeySupport stale-check --help")
    }
}
#endif
