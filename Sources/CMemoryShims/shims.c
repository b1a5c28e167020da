//===----------------------------------------------------------------------===//
// This source file is part of the swift-memory-cache open source project.
// Licensed under Apache License v2.0; see LICENSE for the text.
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

#include "CMemoryShims.h"
#include <pthread.h>

static _Thread_local int user_code_depth;

int *_Nonnull cms_user_code_depth(void) { return &user_code_depth; }

uint32_t cms_fork_count;

static void count_fork(void) { __atomic_fetch_add(&cms_fork_count, 1, __ATOMIC_RELAXED); }

__attribute__((constructor)) static void watch_forks(void) { pthread_atfork(0, 0, count_fork); }
