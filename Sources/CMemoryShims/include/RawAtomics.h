//===----------------------------------------------------------------------===//
// This source file is part of the swift-memory-cache open source project.
// Licensed under Apache License v2.0; see LICENSE for the text.
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

#ifndef C_MEMORY_SHIMS_RAW_ATOMICS_H
#define C_MEMORY_SHIMS_RAW_ATOMICS_H

#include <stdint.h>

// Swift's `Atomic` owns its storage; purge witnesses and item tags live in memory that the kernel may zero at any
// moment, so they are read and written through plain pointers.

static inline uint64_t cms_load_relaxed_u64(const void *p) { return __atomic_load_n((const uint64_t *)p, __ATOMIC_RELAXED); }
static inline uint64_t cms_load_acquire_u64(const void *p) { return __atomic_load_n((const uint64_t *)p, __ATOMIC_ACQUIRE); }
static inline void cms_store_release_u64(void *p, uint64_t v) { __atomic_store_n((uint64_t *)p, v, __ATOMIC_RELEASE); }

/// Reads the word with a read-modify-write. Through a clean page-table entry this makes the processor set the dirty
/// bit, so a nonzero answer proves that the page was there and holds it until the next MADV_FREE.
static inline uint64_t cms_fetch_or_u64(void *p, uint64_t v) { return __atomic_fetch_or((uint64_t *)p, v, __ATOMIC_ACQ_REL); }
static inline uint8_t cms_fetch_or_u8(void *p, uint8_t v) { return __atomic_fetch_or((uint8_t *)p, v, __ATOMIC_ACQ_REL); }

/// Stores `v` where zero stands; answers what stands there afterwards.
static inline uint64_t cms_store_if_zero_u64(void *p, uint64_t v) {
    uint64_t expected = 0;
    return __atomic_compare_exchange_n((uint64_t *)p, &expected, v, 0, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE) ? v : expected;
}

/// Asks for the line that holds `p`, to be read soon; never faults.
static inline void cms_prefetch(const void *p) { __builtin_prefetch(p, 0, 3); }

static inline void cms_fence_acquire(void) { __atomic_thread_fence(__ATOMIC_ACQUIRE); }
static inline void cms_fence_release(void) { __atomic_thread_fence(__ATOMIC_RELEASE); }
static inline void cms_fence_seq_cst(void) { __atomic_thread_fence(__ATOMIC_SEQ_CST); }

#endif
