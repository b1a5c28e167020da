//===----------------------------------------------------------------------===//
// This source file is part of the swift-memory-cache open source project.
// Licensed under Apache License v2.0; see LICENSE for the text.
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include "CMemoryShims.h"

#if defined(__linux__)
#include <dlfcn.h>

#if defined(__GLIBC__)
#include <malloc.h>

// A macro of glibc's alone: elsewhere it must not even be looked at.
#if __GLIBC_PREREQ(2, 33)
#define CMS_HAS_MALLINFO2 1
#endif
#endif

// Allocators in the C library's place are found by their own calls, and believed to be in use where those lie in the
// same object as malloc. Declared here: none of their headers is there.

static int (*jemalloc_control)(const char *, void *, size_t *, void *, size_t);
static void (*tcmalloc_release)(void);
static int (*tcmalloc_property)(const char *, size_t *);
static void (*mimalloc_collect)(_Bool);

static void *object_of(void *address) {
    Dl_info info;
    return address != NULL && dladdr(address, &info) != 0 ? info.dli_fbase : NULL;
}

/// The function `name`, where it lies in the object that has malloc.
static void *beside_malloc(const char *name) {
    void *function = dlsym(RTLD_DEFAULT, name);
    return object_of(function) == object_of(dlsym(RTLD_DEFAULT, "malloc")) ? function : NULL;
}

static enum cms_allocator found = CMS_SYSTEM_ALLOCATOR;

// Before any thread: the answer never changes.
__attribute__((constructor)) static void find_allocator(void) {
    // A program without a dynamic linker cannot tell, and was linked with the C library's as a rule.
    if (dlsym(RTLD_DEFAULT, "malloc") == NULL) return;
    jemalloc_control = beside_malloc("mallctl");
    tcmalloc_release = beside_malloc("MallocExtension_ReleaseFreeMemory");
    tcmalloc_property = beside_malloc("MallocExtension_GetNumericProperty");
    mimalloc_collect = beside_malloc("mi_collect");
    if (jemalloc_control != NULL) found = CMS_JEMALLOC;
    else if (tcmalloc_release != NULL && tcmalloc_property != NULL) found = CMS_TCMALLOC;
    else if (mimalloc_collect != NULL) found = CMS_MIMALLOC;
    else if (beside_malloc("getpid") == NULL) found = CMS_UNKNOWN_ALLOCATOR;
}

enum cms_allocator cms_allocator(void) { return found; }

static size_t jemalloc_number(const char *name) {
    size_t value = 0, size = sizeof(value);
    return jemalloc_control(name, &value, &size, NULL, 0) == 0 ? value : 0;
}

static size_t tcmalloc_number(const char *name) {
    size_t value = 0;
    return tcmalloc_property(name, &value) != 0 ? value : 0;
}

void cms_allocator_trim(void) {
    switch (found) {
    case CMS_JEMALLOC:
        jemalloc_control("thread.tcache.flush", NULL, NULL, NULL, 0);
        // 4096 stands for all arenas (MALLCTL_ARENAS_ALL).
        jemalloc_control("arena.4096.purge", NULL, NULL, NULL, 0);
        return;
    case CMS_TCMALLOC: return tcmalloc_release();
    case CMS_MIMALLOC: return mimalloc_collect(1);
    case CMS_UNKNOWN_ALLOCATOR: return;
    case CMS_SYSTEM_ALLOCATOR: break;
    }
#if defined(__GLIBC__)
    malloc_trim(0);
#endif
}

int cms_allocator_usage(size_t *live, size_t *unused) {
    size_t held = 0;
    *live = *unused = 0;
    switch (found) {
    case CMS_JEMALLOC: {
        // Figures are those of the last epoch; setting it begins another.
        uint64_t epoch = 1;
        jemalloc_control("epoch", NULL, NULL, &epoch, sizeof(epoch));
        *live = jemalloc_number("stats.allocated");
        held = jemalloc_number("stats.resident");
        break;
    }
    case CMS_TCMALLOC:
        *live = tcmalloc_number("generic.current_allocated_bytes");
        held = tcmalloc_number("generic.heap_size") - tcmalloc_number("tcmalloc.pageheap_unmapped_bytes");
        break;
    case CMS_MIMALLOC: case CMS_UNKNOWN_ALLOCATOR: return 0;
    case CMS_SYSTEM_ALLOCATOR: {
#if defined(CMS_HAS_MALLINFO2)
        struct mallinfo2 info = mallinfo2();
        *live = info.uordblks + info.hblkhd;
        held = *live + info.fordblks;
#endif
        break;
    }
    }
    *unused = held > *live ? held - *live : 0;
    return *live > 0;
}
#endif
