//===----------------------------------------------------------------------===//
// This source file is part of the swift-memory-cache open source project.
// Licensed under Apache License v2.0; see LICENSE for the text.
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

#ifndef C_MEMORY_SHIMS_THREAD_STATE_H
#define C_MEMORY_SHIMS_THREAD_STATE_H

/// How many calls of the user's code the calling thread is inside. Swift has no thread-local variables.
int *_Nonnull cms_user_code_depth(void);

#endif
