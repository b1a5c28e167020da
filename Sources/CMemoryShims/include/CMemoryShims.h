//===----------------------------------------------------------------------===//
// This source file is part of the swift-memory-cache open source project.
// Licensed under Apache License v2.0; see LICENSE for the text.
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

#ifndef C_MEMORY_SHIMS_H
#define C_MEMORY_SHIMS_H

// What Swift cannot say by itself: atomics on raw memory, and calls that Glibc's module map hides behind macros or
// variadics. Header-only, so that every call is inlined into Swift code.
#include "RawAtomics.h"
#include "Optimism.h"
#include "PageAdvice.h"
#include "Allocator.h"
#include "Darwin.h"
#include "Events.h"
#include "Fork.h"
#include "Futex.h"
#include "GhostSet.h"
#include "ReaderLine.h"
#include "ThreadState.h"
#include "Threads.h"

#endif
