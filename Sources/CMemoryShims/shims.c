//===----------------------------------------------------------------------===//
// This source file is part of the swift-memory-cache open source project.
// Licensed under Apache License v2.0; see LICENSE for the text.
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

#include "CMemoryShims.h"
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <unistd.h>
#if defined(__linux__)
#include <sys/syscall.h>
#endif

static _Thread_local int user_code_depth;

int *_Nonnull cms_user_code_depth(void) { return &user_code_depth; }

static _Thread_local void *_Nullable untold;

void *_Nullable *_Nonnull cms_untold(void) { return &untold; }

static _Thread_local struct cms_process_eviction process_eviction;

struct cms_process_eviction *_Nonnull cms_process_eviction(void) { return &process_eviction; }

uint32_t cms_fork_count;

long cms_processor_count(void) {
    // No lock and nothing that runs once: the child of a fork must not wait for a thread that is not there.
    static long known;
    long count = __atomic_load_n(&known, __ATOMIC_RELAXED);
    if (count > 0) return count;
    count = sysconf(_SC_NPROCESSORS_ONLN);
    if (count < 1) count = 1;
    __atomic_store_n(&known, count, __ATOMIC_RELAXED);
    return count;
}

_Thread_local uint64_t cms_own_reader_line __attribute__((tls_model("initial-exec"))) = UINT64_MAX /* CMS_NO_LINE_YET */;

/// By number: which thread has it, 0 for none. With Linux its number in the kernel, else 1.
static uint32_t reader_numbers[CMS_MOST_READERS + 1];
static pthread_key_t reader_key;
static int has_reader_key;

static void give_back_reader_line(void *number) {
    // What the thread still does, in destructors that come later, it does with locks.
    cms_own_reader_line = CMS_NO_LINE;
    __atomic_store_n(&reader_numbers[(uintptr_t)number], 0, __ATOMIC_RELEASE);
}

#if defined(__linux__)
static uint32_t own_thread(void) { return (uint32_t)syscall(SYS_gettid); }

/// Whether a thread has certainly ended. One that first used a cache in the last round of its destructors gave nothing
/// back.
static int has_ended(uint32_t thread) {
    return syscall(SYS_tgkill, getpid(), thread, 0) != 0 && errno == ESRCH;
}
#else
static uint32_t own_thread(void) { return 1; }
static int has_ended(uint32_t thread) {
    (void)thread;
    return 0;
}
#endif

uint64_t cms_take_reader_line(void) {
    if (cms_own_reader_line != CMS_NO_LINE_YET) return cms_own_reader_line;
    cms_own_reader_line = CMS_NO_LINE;
    // First the numbers that were given back, then those of threads that are not there any more.
    for (uintptr_t place = 0; has_reader_key && place < 2 * CMS_MOST_READERS; place++) {
        uintptr_t number = place % CMS_MOST_READERS + 1;
        uint32_t expected = place < CMS_MOST_READERS ? 0 : __atomic_load_n(&reader_numbers[number], __ATOMIC_RELAXED);
        if (expected != 0 && !has_ended(expected)) continue;
        if (!__atomic_compare_exchange_n(
                &reader_numbers[number], &expected, own_thread(), 0, __ATOMIC_ACQUIRE, __ATOMIC_RELAXED)) {
            continue;
        }
        if (pthread_setspecific(reader_key, (void *)number) == 0) {
            cms_own_reader_line = number * CMS_READER_LINE;
        } else {
            __atomic_store_n(&reader_numbers[number], 0, __ATOMIC_RELEASE);
        }
        break;
    }
    return cms_own_reader_line;
}

#if defined(__has_feature)
#if __has_feature(thread_sanitizer)
#define CMS_THREAD_SANITIZER 1
#endif
#endif

#if defined(CMS_THREAD_SANITIZER)
#define CMS_UNSEEN __attribute__((noinline, no_sanitize("thread")))
const int cms_is_thread_sanitized = 1;
#else
#define CMS_UNSEEN
const int cms_is_thread_sanitized = 0;
#endif

CMS_UNSEEN void cms_copy_unseen(void *to, const void *from, size_t n) {
    volatile uint8_t *target = (volatile uint8_t *)to;
    const volatile uint8_t *source = (const volatile uint8_t *)from;
    for (size_t i = 0; i < n; i++) target[i] = source[i];
}

CMS_UNSEEN uint64_t cms_peek_unseen(const void *p) { return *(const volatile uint64_t *)p; }

/// In the child of a fork, which has none of its parent's threads but the one that called.
static void begin_child(void) {
    __atomic_fetch_add(&cms_fork_count, 1, __ATOMIC_RELAXED);
    for (uint64_t number = 1; number <= CMS_MOST_READERS; number++) {
        // The thread that called is another one to the kernel now.
        reader_numbers[number] = number * CMS_READER_LINE == cms_own_reader_line ? own_thread() : 0;
    }
}

__attribute__((constructor)) static void begin(void) {
    pthread_atfork(0, 0, begin_child);
    has_reader_key = pthread_key_create(&reader_key, give_back_reader_line) == 0;
}

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
