//===----------------------------------------------------------------------===//
// This source file is part of the swift-memory-cache open source project.
// Licensed under Apache License v2.0; see LICENSE for the text.
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

#ifndef C_MEMORY_SHIMS_READER_LINE_H
#define C_MEMORY_SHIMS_READER_LINE_H

#include <stdint.h>

// Each thread that reads caches without a lock has a number that no other living thread has, and by it a cache line of
// its own in each cache, where it counts without an atomic addition. The thread that gets the number of one that has
// ended sees what that one wrote.

/// Bytes of a line.
#define CMS_READER_LINE 64
/// Numbers are 1 to this; further threads have none.
#define CMS_MOST_READERS 127
/// What stands for no number: not asked for yet, and not to be had.
static const uint64_t CMS_NO_LINE_YET = UINT64_MAX;
static const uint64_t CMS_NO_LINE = UINT64_MAX - 1;

/// Bytes from the line of number 0, which nobody has, to the calling thread's. At a fixed distance from the thread's
/// pointer, so that reading it is one instruction.
extern _Thread_local uint64_t cms_own_reader_line __attribute__((tls_model("initial-exec")));

static inline uint64_t cms_reader_line(void) { return cms_own_reader_line; }

/// The same, having taken a number for the thread if it has not asked for one yet. Given back when the thread ends.
uint64_t cms_take_reader_line(void);

#endif
