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
#include <stdatomic.h>

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
static int (*mimalloc_version)(void);
static long (*mimalloc_option)(int);
static void (*mimalloc_set_option)(int, long);

/// Trims so far. With mimalloc a trim returns what the heap of the calling thread has free and nothing else, so threads
/// that have more to do take part in each; see cms_allocator_join_trim.
static atomic_uint mimalloc_trims;
static _Thread_local unsigned mimalloc_joined;

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
    mimalloc_version = beside_malloc("mi_version");
    mimalloc_option = beside_malloc("mi_option_get");
    mimalloc_set_option = beside_malloc("mi_option_set");
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

/// Has free pages returned at once. mimalloc keeps them for 10 to 1,000 ms by its version, and a collection does not
/// change that: who evicts until usage falls would evict everything meanwhile. Two threads that inserted values of
/// 4 KiB into 256 MiB kept 0 to 48 % of it by chance; without a delay 12 to 54 %. An environment variable does the same
/// (MIMALLOC_PURGE_DELAY, before 2.1 MIMALLOC_DECOMMIT_DELAY). Numbers of options do not change since version 2;
/// negative, for pages that are never returned, is left as it is.
static void end_mimalloc_delay(void) {
    const int purge_delay = 15;
    if (mimalloc_version == NULL || mimalloc_option == NULL || mimalloc_set_option == NULL) return;
    if (mimalloc_version() >= 200 && mimalloc_option(purge_delay) > 0) mimalloc_set_option(purge_delay, 0);
}

void cms_allocator_trim(void) {
    switch (found) {
    case CMS_JEMALLOC:
        jemalloc_control("thread.tcache.flush", NULL, NULL, NULL, 0);
        // 4096 stands for all arenas (MALLCTL_ARENAS_ALL).
        jemalloc_control("arena.4096.purge", NULL, NULL, NULL, 0);
        return;
    case CMS_TCMALLOC: return tcmalloc_release();
    case CMS_MIMALLOC:
        end_mimalloc_delay();
        atomic_fetch_add_explicit(&mimalloc_trims, 1, memory_order_relaxed);
        return mimalloc_collect(1);
    case CMS_UNKNOWN_ALLOCATOR: return;
    case CMS_SYSTEM_ALLOCATOR: break;
    }
#if defined(__GLIBC__)
    malloc_trim(0);
#endif
}

void cms_allocator_join_trim(void) {
    if (found != CMS_MIMALLOC) return;
    unsigned trims = atomic_load_explicit(&mimalloc_trims, memory_order_relaxed);
    if (mimalloc_joined == trims) return;
    mimalloc_joined = trims;
    mimalloc_collect(1);
}

int cms_allocator_trims_all_threads(void) { return found != CMS_MIMALLOC && found != CMS_UNKNOWN_ALLOCATOR; }

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
