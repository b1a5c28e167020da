//===----------------------------------------------------------------------===//
// This source file is part of the swift-memory-cache open source project.
// Licensed under Apache License v2.0; see LICENSE for the text.
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

#ifndef C_MEMORY_SHIMS_EVENTS_H
#define C_MEMORY_SHIMS_EVENTS_H

// poll(2), eventfd(2) and inotify(7): constants that Swift imports with awkward types, or not at all.
#if defined(__linux__)
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/inotify.h>
#include <sys/prctl.h>
static const short cms_POLLIN = POLLIN;
static const short cms_POLLPRI = POLLPRI;
static const short cms_POLLERR = POLLERR;
static const short cms_POLLHUP = POLLHUP;

/// Names the calling thread, for ps and debuggers; 15 bytes count.
static inline void cms_name_thread(const char *name) { prctl(PR_SET_NAME, name, 0, 0, 0); }
#endif

#endif
