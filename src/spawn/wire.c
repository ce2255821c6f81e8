/* SPDX-License-Identifier: MIT */
/* wire.c - messages with file descriptors over a Unix socket */
#include "spawn/wire.h"

#include <errno.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

union control {
    struct cmsghdr align;
    char room[CMSG_SPACE(KS_WIRE_FDS * sizeof(int))];
};

int ks_wire_send(int sock, const void *bytes, size_t n, const int *fds, size_t n_fds)
{
    union control c = { 0 };
    struct iovec io = { .iov_base = (void *)(uintptr_t)bytes, .iov_len = n };
    struct msghdr m = { .msg_iov = &io, .msg_iovlen = 1 };
    ssize_t k;

    if (n_fds) {
        m.msg_control = c.room;
        m.msg_controllen = CMSG_SPACE(n_fds * sizeof(int));
        struct cmsghdr *h = CMSG_FIRSTHDR(&m);
        h->cmsg_level = SOL_SOCKET;
        h->cmsg_type = SCM_RIGHTS;
        h->cmsg_len = CMSG_LEN(n_fds * sizeof(int));
        memcpy(CMSG_DATA(h), fds, n_fds * sizeof(int));
    }
    do
        k = sendmsg(sock, &m, MSG_DONTWAIT | MSG_NOSIGNAL);
    while (k < 0 && errno == EINTR);
    return k < 0 ? -1 : 0;
}

static size_t take_fds(struct msghdr *m, int *fds)
{
    size_t have = 0;

    for (struct cmsghdr *h = CMSG_FIRSTHDR(m); h; h = CMSG_NXTHDR(m, h)) {
        if (h->cmsg_level != SOL_SOCKET || h->cmsg_type != SCM_RIGHTS)
            continue;
        size_t n = (h->cmsg_len - CMSG_LEN(0)) / sizeof(int);
        memcpy(fds + have, CMSG_DATA(h), n * sizeof(int));
        have += n;
    }
    return have;
}

ssize_t ks_wire_receive(int sock, void *bytes, size_t n, int *fds, size_t *n_fds_out)
{
    union control c = { 0 };
    struct iovec io = { .iov_base = bytes, .iov_len = n };
    struct msghdr m = {
        .msg_iov = &io, .msg_iovlen = 1, .msg_control = c.room, .msg_controllen = sizeof(c.room)
    };
    ssize_t k;

    do
        k = recvmsg(sock, &m, MSG_DONTWAIT | MSG_CMSG_CLOEXEC);
    while (k < 0 && errno == EINTR);
    *n_fds_out = 0;
    if (k <= 0)
        return k;
    *n_fds_out = take_fds(&m, fds);
    if (!(m.msg_flags & MSG_CTRUNC))
        return k;
    for (size_t i = 0; i < *n_fds_out; i++)
        close(fds[i]);
    *n_fds_out = 0;
    errno = EMFILE;
    return -1;
}
