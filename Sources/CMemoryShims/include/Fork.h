//===----------------------------------------------------------------------===//
// This source file is part of the swift-memory-cache open source project.
// Licensed under Apache License v2.0; see LICENSE for the text.
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

#ifndef C_MEMORY_SHIMS_FORK_H
#define C_MEMORY_SHIMS_FORK_H

#include <stdint.h>

extern uint32_t cms_fork_count;

/// How many forks lie between this process and the program's first. Counted from the moment the program is loaded.
static inline uint32_t cms_fork_generation(void) { return __atomic_load_n(&cms_fork_count, __ATOMIC_RELAXED); }

#endif
