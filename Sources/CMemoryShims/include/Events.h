//===----------------------------------------------------------------------===//
// This source file is part of the swift-memory-cache open source project.
// Licensed under Apache License v2.0; see LICENSE for the text.
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

#ifndef C_MEMORY_SHIMS_EVENTS_H
#define C_MEMORY_SHIMS_EVENTS_H

// poll(2), eventfd(2) and inotify(7): constants that Swift imports with awkward types, or not at all.
#include <poll.h>
static const short cms_POLLIN = POLLIN;
static const short cms_POLLPRI = POLLPRI;
static const short cms_POLLERR = POLLERR;
static const short cms_POLLHUP = POLLHUP;
static const short cms_POLLNVAL = POLLNVAL;
#if defined(__linux__)
#include <errno.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/inotify.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

/// A stream socket connected to the one at `path`, or the negated errno.
static inline int cms_connect_unix(const char *path) {
    struct sockaddr_un address = { .sun_family = AF_UNIX };
    if (strlen(path) >= sizeof(address.sun_path)) return -ENAMETOOLONG;
    strcpy(address.sun_path, path);
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (fd < 0) return -errno;
    if (connect(fd, (struct sockaddr *)&address, sizeof(address)) < 0) {
        int error = errno;
        close(fd);
        return -error;
    }
    return fd;
}

/// An inotify instance that tells of modifications of the file at `path`, or the negated errno.
static inline int cms_watch_modifications(const char *path) {
    int fd = inotify_init1(IN_CLOEXEC | IN_NONBLOCK);
    if (fd < 0) return -errno;
    if (inotify_add_watch(fd, path, IN_MODIFY) < 0) {
        int error = errno;
        close(fd);
        return -error;
    }
    return fd;
}
#endif

#endif
