//===----------------------------------------------------------------------===//
// This source file is part of the swift-memory-cache open source project.
// Licensed under Apache License v2.0; see LICENSE for the text.
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

// Lets ThreadSanitizer see the standard library's Mutex on Linux.
//
// The way into a Mutex that nobody holds is inlined into our code, where the sanitizer sees it. The way into one that
// is held lies in libswiftSynchronization, which is not instrumented: the sanitizer misses that the holder's writes
// come before ours, and reports races where there are none. In test executables under the sanitizer, and nowhere else,
// this definition takes the place of the library's: it waits by yielding, in code that is instrumented. As it never
// leaves a mark in the word for waiters, the way out is always the inlined one.

#include "SanitizerSupport.h"

#if defined(__linux__) && defined(__has_feature)
#if __has_feature(thread_sanitizer)
#include <sched.h>
#include <stdatomic.h>
#include <stdint.h>

/// Synchronization._MutexHandle._lockSlow(_: UInt32) -> (): the word is 0 when free, else the holder's thread.
__attribute__((swiftcall, used, visibility("default"))) void
sanitizer_mutex_lock_slow(uint32_t thread, __attribute__((swift_context)) _Atomic(uint32_t) *word)
    __asm__("$s15Synchronization12_MutexHandleV9_lockSlowyys6UInt32VF");

__attribute__((swiftcall)) void
sanitizer_mutex_lock_slow(uint32_t thread, __attribute__((swift_context)) _Atomic(uint32_t) *word) {
    for (;;) {
        uint32_t expected = 0;
        if (atomic_compare_exchange_weak_explicit(word, &expected, thread, memory_order_acquire,
                                                  memory_order_relaxed)) {
            return;
        }
        sched_yield();
    }
}
#endif
#endif
