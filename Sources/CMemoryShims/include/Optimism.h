//===----------------------------------------------------------------------===//
// This source file is part of the swift-memory-cache open source project.
// Licensed under Apache License v2.0; see LICENSE for the text.
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

#ifndef C_MEMORY_SHIMS_OPTIMISM_H
#define C_MEMORY_SHIMS_OPTIMISM_H

#include <sched.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <time.h>

// Reads that may race, by design, with the kernel's reclaim or with a writer: the bytes mean nothing until a check
// afterwards accepts them. memcpy is what makes them as fast as any copy; ThreadSanitizer, which intercepts memcpy and
// cannot know of the check, gets a loop that it does not look into.

/// Whether ThreadSanitizer looks on. Asked of the C compiler: Swift's importer does not know of sanitizers.
extern const int cms_is_thread_sanitized;
/// Copy and read where ThreadSanitizer does not look.
void cms_copy_unseen(void *to, const void *from, size_t n);
uint64_t cms_peek_unseen(const void *p);

static inline void cms_copy_optimistic(void *to, const void *from, size_t n) {
    if (__builtin_expect(cms_is_thread_sanitized, 0)) cms_copy_unseen(to, from, n);
    else memcpy(to, from, n);
}
/// A witness word, read after an optimistic copy.
static inline uint64_t cms_peek_u64(const void *p) {
    if (__builtin_expect(cms_is_thread_sanitized, 0)) return cms_peek_unseen(p);
    return __atomic_load_n((const uint64_t *)p, __ATOMIC_RELAXED);
}

static inline uint16_t cms_load_relaxed_u16(const void *p) { return __atomic_load_n((const uint16_t *)p, __ATOMIC_RELAXED); }
static inline void cms_store_relaxed_u16(void *p, uint16_t v) { __atomic_store_n((uint16_t *)p, v, __ATOMIC_RELAXED); }

/// Lets another thread run.
static inline void cms_yield(void) { sched_yield(); }
/// Sleeps for less than a second.
static inline void cms_sleep_nanoseconds(long n) { struct timespec t = {0, n}; nanosleep(&t, 0); }

#endif
