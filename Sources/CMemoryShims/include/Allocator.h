//===----------------------------------------------------------------------===//
// This source file is part of the swift-memory-cache open source project.
// Licensed under Apache License v2.0; see LICENSE for the text.
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

#ifndef C_MEMORY_SHIMS_ALLOCATOR_H
#define C_MEMORY_SHIMS_ALLOCATOR_H

#include <stddef.h>

#if defined(__GLIBC__)
#include <malloc.h>
/// Asks the allocator to give free memory back to the system; 1 if any was given back. Musl has no such call: 0.
static inline int cms_malloc_trim(size_t keep) { return malloc_trim(keep); }
static inline size_t cms_malloc_usable_size(const void *p) { return malloc_usable_size((void *)p); }
// A macro of glibc's alone: elsewhere it must not even be looked at.
#if __GLIBC_PREREQ(2, 33)
#define CMS_HAS_MALLINFO2 1
#endif
#elif !defined(__APPLE__)
static inline int cms_malloc_trim(size_t keep) { (void)keep; return 0; }
static inline size_t cms_malloc_usable_size(const void *p) { (void)p; return 0; }
#endif

#if !defined(__APPLE__)
/// What the allocator has given out and what lies free in its heaps, in bytes, all arenas together; 0 where it cannot
/// say. Walks the lists of free chunks under the arenas' locks: a microsecond where free memory lies together, 35 ms
/// with 640,000 free chunks between as many others.
static inline int cms_allocator_usage(size_t *live, size_t *unused) {
#if defined(CMS_HAS_MALLINFO2)
    struct mallinfo2 info = mallinfo2();
    *live = info.uordblks + info.hblkhd;
    *unused = info.fordblks;
    return 1;
#else
    *live = *unused = 0;
    return 0;
#endif
}
#endif

#endif
