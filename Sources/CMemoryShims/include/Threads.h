//===----------------------------------------------------------------------===//
// This source file is part of the swift-memory-cache open source project.
// Licensed under Apache License v2.0; see LICENSE for the text.
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

#ifndef C_MEMORY_SHIMS_THREADS_H
#define C_MEMORY_SHIMS_THREADS_H

#include <pthread.h>
#include <stddef.h>
#include <stdint.h>

// pthread_t is a number with glibc, a pointer with musl, and a pointer that may be missing in Apple's headers: Swift
// has no one spelling for it.

/// Runs `body(context)` on a detached thread with all signals blocked: a program's handlers run on the program's
/// threads. 0, or the error.
int cms_start_thread(
    void *_Nullable (*_Nonnull body)(void *_Nullable context), void *_Nonnull context, size_t stack_size);

/// A number of the calling thread's own, for as long as it runs.
static inline uintptr_t cms_thread_number(void) { return (uintptr_t)pthread_self(); }

/// Names the calling thread, for ps and debuggers; with Linux 15 bytes count.
#if defined(__APPLE__)
static inline void cms_name_thread(const char *_Nonnull name) { pthread_setname_np(name); }
#elif defined(__linux__)
#include <sys/prctl.h>
static inline void cms_name_thread(const char *_Nonnull name) { prctl(PR_SET_NAME, name, 0, 0, 0); }
#endif

#endif
