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
static inline uint32_t cms_load_acquire_u32(const void *p) { return __atomic_load_n((const uint32_t *)p, __ATOMIC_ACQUIRE); }
static inline uint8_t cms_load_acquire_u8(const void *p) { return __atomic_load_n((const uint8_t *)p, __ATOMIC_ACQUIRE); }
static inline void cms_store_relaxed_u64(void *p, uint64_t v) { __atomic_store_n((uint64_t *)p, v, __ATOMIC_RELAXED); }
static inline void cms_store_relaxed_u32(void *p, uint32_t v) { __atomic_store_n((uint32_t *)p, v, __ATOMIC_RELAXED); }
static inline void cms_store_release_u32(void *p, uint32_t v) { __atomic_store_n((uint32_t *)p, v, __ATOMIC_RELEASE); }
static inline void cms_store_release_u64(void *p, uint64_t v) { __atomic_store_n((uint64_t *)p, v, __ATOMIC_RELEASE); }

/// Reads the word with a read-modify-write. Through a clean page-table entry this makes the processor set the dirty
/// bit, so a nonzero answer proves that the page was there and holds it until the next MADV_FREE.
///
/// The zero that is added goes through an empty instruction, so that no compiler knows it for one: LLVM replaces a
/// read-modify-write that changes nothing by a fence and a load, and a load holds no page.
static inline uint64_t cms_load_by_writing_u64(void *p) {
    uint64_t nothing = 0;
    __asm__ volatile("" : "+r"(nothing));
    return __atomic_fetch_add((uint64_t *)p, nothing, __ATOMIC_ACQ_REL);
}

/// Stores `v` where zero stands; answers what stands there afterwards.
static inline uint64_t cms_store_if_zero_u64(void *p, uint64_t v) {
    uint64_t expected = 0;
    return __atomic_compare_exchange_n((uint64_t *)p, &expected, v, 0, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE) ? v : expected;
}

/// Asks for the line that holds `p`, to be read soon; never faults.
static inline void cms_prefetch(const void *p) { __builtin_prefetch(p, 0, 3); }

/// Nothing to the processor; to the compiler code that may read, write and release anything.
static inline void cms_compiler_barrier(void) { __asm__ volatile("" ::: "memory"); }

static inline void cms_fence_acquire(void) { __atomic_thread_fence(__ATOMIC_ACQUIRE); }

#endif
