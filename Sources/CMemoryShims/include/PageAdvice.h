//===----------------------------------------------------------------------===//
// This source file is part of the swift-memory-cache open source project.
// Licensed under Apache License v2.0; see LICENSE for the text.
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

#ifndef C_MEMORY_SHIMS_PAGE_ADVICE_H
#define C_MEMORY_SHIMS_PAGE_ADVICE_H

#include <errno.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

// madvise(2) and mincore(2). Each call returns 0 or the errno, so that no Swift code reads thread-local errno.

static inline int cms_madvise(void *p, size_t n, int advice) { return madvise(p, n, advice) == 0 ? 0 : errno; }

#if defined(__linux__)
#ifndef MADV_FREE
#define MADV_FREE 8
#endif
#ifndef MADV_WIPEONFORK
#define MADV_WIPEONFORK 18
#endif
#ifndef MADV_PAGEOUT
#define MADV_PAGEOUT 21
#endif
static const int cms_MADV_FREE = MADV_FREE;
static const int cms_MADV_DONTNEED = MADV_DONTNEED;
static const int cms_MADV_HUGEPAGE = MADV_HUGEPAGE;
static const int cms_MADV_NOHUGEPAGE = MADV_NOHUGEPAGE;
static const int cms_MADV_WIPEONFORK = MADV_WIPEONFORK;
static const int cms_MADV_DONTDUMP = MADV_DONTDUMP;
static const int cms_MADV_PAGEOUT = MADV_PAGEOUT;

/// One byte a page into `resident`; bit 0 says whether the page is in memory. Does not touch the pages.
static inline int cms_mincore(void *p, size_t n, unsigned char *resident) { return mincore(p, n, resident) == 0 ? 0 : errno; }
#endif

/// Private anonymous memory, or NULL with the errno in `error`.
static inline void *cms_map_anonymous(size_t n, int *error) {
#if defined(MAP_NORESERVE)
    int flags = MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE;
#else
    int flags = MAP_PRIVATE | MAP_ANONYMOUS;
#endif
    void *p = mmap(NULL, n, PROT_READ | PROT_WRITE, flags, -1, 0);
    if (p == MAP_FAILED) { *error = errno; return NULL; }
    *error = 0;
    return p;
}
/// Puts zeros in the place of a mapping, pages that take no memory until they are written. Who reads there meanwhile
/// reads what was there or zeros.
static inline int cms_map_zeros(void *p, size_t n) {
#if defined(MAP_NORESERVE)
    int flags = MAP_FIXED | MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE;
#else
    int flags = MAP_FIXED | MAP_PRIVATE | MAP_ANONYMOUS;
#endif
    return mmap(p, n, PROT_READ | PROT_WRITE, flags, -1, 0) == MAP_FAILED ? errno : 0;
}
static inline int cms_unmap(void *p, size_t n) { return munmap(p, n) == 0 ? 0 : errno; }

/// Whether this process may map only so much (RLIMIT_AS, RLIMIT_DATA), also of what takes no memory.
static inline int cms_mapping_is_limited(void) {
    struct rlimit space, data;
    return (getrlimit(RLIMIT_AS, &space) == 0 && space.rlim_cur != RLIM_INFINITY)
        || (getrlimit(RLIMIT_DATA, &data) == 0 && data.rlim_cur != RLIM_INFINITY);
}

static inline size_t cms_page_size(void) { return (size_t)sysconf(_SC_PAGESIZE); }

#endif
