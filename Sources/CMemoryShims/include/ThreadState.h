//===----------------------------------------------------------------------===//
// This source file is part of the swift-memory-cache open source project.
// Licensed under Apache License v2.0; see LICENSE for the text.
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

#ifndef C_MEMORY_SHIMS_THREAD_STATE_H
#define C_MEMORY_SHIMS_THREAD_STATE_H

#include <stdint.h>

/// How many calls of the user's code the calling thread is inside. Swift has no thread-local variables.
int *_Nonnull cms_user_code_depth(void);

/// What the calling thread is still to tell the user's code of: an object that the place owns.
void *_Nullable *_Nonnull cms_untold(void);

/// How many evictions for the process the calling thread is inside, and the bytes that were inserted inside of any.
struct cms_process_eviction {
    int64_t inserted;
    int depth;
};

struct cms_process_eviction *_Nonnull cms_process_eviction(void);

#endif
