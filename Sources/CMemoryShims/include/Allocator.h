//===----------------------------------------------------------------------===//
// This source file is part of the swift-memory-cache open source project.
// Licensed under Apache License v2.0; see LICENSE for the text.
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

#ifndef C_MEMORY_SHIMS_ALLOCATOR_H
#define C_MEMORY_SHIMS_ALLOCATOR_H

#include <stddef.h>

/// Whose `malloc` this process uses: the C library's, or one that was linked or preloaded in its place and has calls of
/// its own; or one that is not known here.
enum cms_allocator { CMS_SYSTEM_ALLOCATOR, CMS_JEMALLOC, CMS_TCMALLOC, CMS_MIMALLOC, CMS_UNKNOWN_ALLOCATOR };

#if defined(__linux__)
enum cms_allocator cms_allocator(void);

/// Asks the allocator to give free memory back to the system. Nothing with musl's and with those that are not known.
void cms_allocator_trim(void);

/// Takes part in the trims since the last call by this thread, where an allocator returns only what the heap of the
/// calling thread has free: mimalloc's.
void cms_allocator_join_trim(void);

/// Whether a trim returns memory whichever thread has allocated and freed it. Not with mimalloc's; not known of those
/// that are not known.
int cms_allocator_trims_all_threads(void);

/// What the allocator has given out and what lies free in its heaps, in bytes, all arenas together; 0 where it cannot
/// say. glibc's walks the lists of free chunks under the arenas' locks: a microsecond where free memory lies together,
/// 35 ms with 640,000 free chunks between as many others.
int cms_allocator_usage(size_t *live, size_t *unused);
#endif

#endif
