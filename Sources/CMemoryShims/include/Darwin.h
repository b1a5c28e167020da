//===----------------------------------------------------------------------===//
// This source file is part of the swift-memory-cache open source project.
// Licensed under Apache License v2.0; see LICENSE for the text.
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

#ifndef C_MEMORY_SHIMS_DARWIN_H
#define C_MEMORY_SHIMS_DARWIN_H

// Apple's own calls where the other headers have Linux's. Checked by the compiler alone: never run.
#if defined(__APPLE__)
#include <malloc/malloc.h>
#include <stddef.h>
#include <stdint.h>

static inline enum cms_allocator cms_allocator(void) { return CMS_SYSTEM_ALLOCATOR; }
static inline void cms_allocator_trim(void) { malloc_zone_pressure_relief(NULL, 0); }
static inline void cms_allocator_join_trim(void) {}
static inline int cms_allocator_trims_all_threads(void) { return 1; }

/// All zones together.
static inline int cms_allocator_usage(size_t *live, size_t *unused) {
    malloc_statistics_t statistics;
    malloc_zone_statistics(NULL, &statistics);
    *live = statistics.size_in_use;
    *unused = statistics.size_allocated > statistics.size_in_use ? statistics.size_allocated - statistics.size_in_use : 0;
    return 1;
}

// os/os_sync_wait_on_address.h, from macOS 14.4 and iOS 17.4: sleeps and wakes by the word's address.
extern int os_sync_wait_on_address_with_timeout(void *, uint64_t, size_t, uint32_t, uint32_t, uint64_t);
extern int os_sync_wake_by_address_any(void *, size_t, uint32_t);
extern int os_sync_wake_by_address_all(void *, size_t, uint32_t);
#define CMS_SYNC_NONE 0u
#define CMS_CLOCK_MACH_ABSOLUTE_TIME 32u

static inline void cms_futex_wait(const void *word, uint32_t expected, long nanoseconds) {
    os_sync_wait_on_address_with_timeout(
        (void *)word, expected, sizeof(uint32_t), CMS_SYNC_NONE, CMS_CLOCK_MACH_ABSOLUTE_TIME, (uint64_t)nanoseconds);
}
static inline void cms_futex_wake_one(const void *word) {
    os_sync_wake_by_address_any((void *)word, sizeof(uint32_t), CMS_SYNC_NONE);
}
static inline void cms_futex_wake_all(const void *word) {
    os_sync_wake_by_address_all((void *)word, sizeof(uint32_t), CMS_SYNC_NONE);
}
#endif

#endif
