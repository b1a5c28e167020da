//===----------------------------------------------------------------------===//
// This source file is part of the swift-memory-cache open source project.
// Licensed under Apache License v2.0; see LICENSE for the text.
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

#include "CMemoryShims.h"
#include <pthread.h>
#include <signal.h>

static _Thread_local int user_code_depth;

int *_Nonnull cms_user_code_depth(void) { return &user_code_depth; }

uint32_t cms_fork_count;

static void count_fork(void) { __atomic_fetch_add(&cms_fork_count, 1, __ATOMIC_RELAXED); }

__attribute__((constructor)) static void watch_forks(void) { pthread_atfork(0, 0, count_fork); }

int cms_start_thread(void *_Nullable (*_Nonnull body)(void *_Nullable), void *_Nonnull context, size_t stack_size) {
    pthread_attr_t attributes;
    int error = pthread_attr_init(&attributes);
    if (error != 0) return error;
    pthread_attr_setdetachstate(&attributes, PTHREAD_CREATE_DETACHED);
    pthread_attr_setstacksize(&attributes, stack_size);

    // A thread begins with the mask of the one that makes it.
    sigset_t all, previous;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &previous);
    pthread_t thread;
    error = pthread_create(&thread, &attributes, body, context);
    pthread_sigmask(SIG_SETMASK, &previous, NULL);

    pthread_attr_destroy(&attributes);
    return error;
}
