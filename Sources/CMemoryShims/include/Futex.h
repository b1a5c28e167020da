//===----------------------------------------------------------------------===//
// This source file is part of the swift-memory-cache open source project.
// Licensed under Apache License v2.0; see LICENSE for the text.
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

#ifndef C_MEMORY_SHIMS_FUTEX_H
#define C_MEMORY_SHIMS_FUTEX_H

#include <stddef.h>
#include <stdint.h>

// futex(2) for locks of four bytes, and the two things that spinning and growing need beside it.
#if defined(__linux__)
#include <linux/futex.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

/// Sleeps while the word holds `expected`, for `nanoseconds` (below a second) at most; may return for no reason.
static inline void cms_futex_wait(const void *word, uint32_t expected, long nanoseconds) {
    struct timespec longest = {0, nanoseconds};
    syscall(SYS_futex, word, FUTEX_WAIT_PRIVATE, expected, &longest, NULL, 0);
}
/// Wakes one thread that sleeps on the word.
static inline void cms_futex_wake_one(const void *word) {
    syscall(SYS_futex, word, FUTEX_WAKE_PRIVATE, 1, NULL, NULL, 0);
}
/// Wakes all threads that sleep on the word.
static inline void cms_futex_wake_all(const void *word) {
    syscall(SYS_futex, word, FUTEX_WAKE_PRIVATE, INT32_MAX, NULL, NULL, 0);
}
/// Grows or moves a mapping without copying it: mremap(2); NULL where that fails.
static inline void *cms_remap(void *p, size_t old_size, size_t new_size) {
    // As a system call, for its declaration hides behind _GNU_SOURCE.
    void *q = (void *)syscall(SYS_mremap, p, old_size, new_size, 1 /* MREMAP_MAYMOVE */);
    return q == MAP_FAILED ? NULL : q;
}
/// Moves the pages of a mapping of whole pages to another place, and leaves empty ones where they were; NULL where
/// that fails, as before Linux 5.7.
static inline void *cms_move_pages(void *p, size_t size) {
    void *q = (void *)syscall(SYS_mremap, p, size, size, 1 | 4 /* MREMAP_MAYMOVE | MREMAP_DONTUNMAP */, NULL);
    return q == MAP_FAILED ? NULL : q;
}
#else
#include <stdint.h>
// There are no such calls: the caller copies.
static inline void *cms_remap(void *p, size_t old_size, size_t new_size) {
    (void)p;
    (void)old_size;
    (void)new_size;
    return 0;
}
static inline void *cms_move_pages(void *p, size_t size) {
    (void)p;
    (void)size;
    return 0;
}
#if !defined(__APPLE__)
#include <sched.h>
static inline void cms_futex_wait(const void *word, uint32_t expected, long nanoseconds) {
    (void)word;
    (void)expected;
    (void)nanoseconds;
    sched_yield();
}
static inline void cms_futex_wake_one(const void *word) { (void)word; }
static inline void cms_futex_wake_all(const void *word) { (void)word; }
#endif
#endif

/// Processors that the machine had running when somebody asked first, or 1 where that is not known. sysconf reads a
/// file, in some 10 microseconds, and each new shard asks.
long cms_processor_count(void);

/// Tells the processor that this is a spin loop.
static inline void cms_spin_hint(void) {
#if defined(__x86_64__) || defined(__i386__)
    __builtin_ia32_pause();
#elif defined(__aarch64__)
    __asm__ __volatile__("yield");
#endif
}

#endif
