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

#if defined(__has_feature)
#if __has_feature(thread_sanitizer)
#define CMS_THREAD_SANITIZER 1
#endif
#endif

#if defined(CMS_THREAD_SANITIZER)
__attribute__((noinline, no_sanitize("thread"), unused))
static void cms_copy_optimistic(void *to, const void *from, size_t n) {
    volatile uint8_t *target = (volatile uint8_t *)to;
    const volatile uint8_t *source = (const volatile uint8_t *)from;
    for (size_t i = 0; i < n; i++) target[i] = source[i];
}
__attribute__((noinline, no_sanitize("thread"), unused))
static uint64_t cms_peek_u64(const void *p) { return *(const volatile uint64_t *)p; }
#else
static inline void cms_copy_optimistic(void *to, const void *from, size_t n) { memcpy(to, from, n); }
/// A witness word, read after an optimistic copy.
static inline uint64_t cms_peek_u64(const void *p) { return __atomic_load_n((const uint64_t *)p, __ATOMIC_RELAXED); }
#endif

static inline uint16_t cms_load_relaxed_u16(const void *p) { return __atomic_load_n((const uint16_t *)p, __ATOMIC_RELAXED); }
static inline void cms_store_relaxed_u16(void *p, uint16_t v) { __atomic_store_n((uint16_t *)p, v, __ATOMIC_RELAXED); }

/// Lets another thread run.
static inline void cms_yield(void) { sched_yield(); }
/// Sleeps for less than a second.
static inline void cms_sleep_nanoseconds(long n) { struct timespec t = {0, n}; nanosleep(&t, 0); }

#endif
