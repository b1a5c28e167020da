//===----------------------------------------------------------------------===//
// This source file is part of the swift-memory-cache open source project.
// Licensed under Apache License v2.0; see LICENSE for the text.
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

#if os(Linux) && !CACHE_PORTABLE
internal import CMemoryShims

extension PageSystem {
    /// The calls of the running kernel.
    package static let live = PageSystem(
        map: { byteCount in
            var error: CInt = 0
            let base = cms_map_anonymous(byteCount, &error)
            return (base, error)
        },
        unmap: { base, byteCount in cms_unmap(base, byteCount) },
        advise: { base, byteCount, advice in cms_madvise(base, byteCount, advice.rawAdvice) },
        residency: { base, byteCount, answer in cms_mincore(base, byteCount, answer) },
        limitsMapping: { cms_mapping_is_limited() != 0 }
    )
}

extension PageAdvice {
    fileprivate var rawAdvice: CInt {
        switch self {
        case .free: cms_MADV_FREE
        case .discard: cms_MADV_DONTNEED
        case .hugePages: cms_MADV_HUGEPAGE
        case .basePages: cms_MADV_NOHUGEPAGE
        case .wipeOnFork: cms_MADV_WIPEONFORK
        case .omitFromCoreDump: cms_MADV_DONTDUMP
        case .pageOut: cms_MADV_PAGEOUT
        }
    }
}
#endif
