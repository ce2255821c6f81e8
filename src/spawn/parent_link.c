/* SPDX-License-Identifier: MIT */
/* parent_link.c - the socket between rank 0 and its parent: ready, and the exit status */
#include "spawn/parent_link.h"

#include "base/hash.h"

#include <errno.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

/* One message is two bytes: a letter and a number. */
#define SAYS_READY 'r'
#define SAYS_EXIT  'x'

/* An abstract address: a zero byte, then the name. */
static socklen_t address(const char *name, struct sockaddr_un *out)
{
    *out = (struct sockaddr_un){ .sun_family = AF_UNIX };
    snprintf(out->sun_path + 1, sizeof(out->sun_path) - 1, "%s", name);
    return (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + strlen(out->sun_path + 1));
}

int ks_parent_link_listen(int *fd_out, struct ks_err *err)
{
    const struct ks_id128 id = ks_id128_random();
    struct sockaddr_un a;
    char name[64], hex[33];
    int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);

    if (fd < 0)
        return ks_fail_errno(err, "socket for rank 0");
    ks_hex128(id, hex);
    snprintf(name, sizeof(name), "ksweep-%s", hex);
    if (bind(fd, (struct sockaddr *)&a, address(name, &a)) < 0 || listen(fd, 1) < 0 ||
        setenv(KS_PARENT_LINK_ENV, name, 1) < 0) {
        (void)ks_fail_errno(err, "socket for rank 0");
        close(fd);
        return KS_EIO;
    }
    *fd_out = fd;
    return 0;
}

int ks_parent_link_accept(int listener, struct ks_parent_link *link)
{
    struct ucred peer = { .pid = 0 };
    socklen_t n = sizeof(peer);
    int fd = accept4(listener, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);

    if (fd < 0)
        return -1;
    if (getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &n) < 0 || peer.pid <= 0 ||
        peer.uid != geteuid()) {
        close(fd);
        return -1;
    }
    link->rank0 = peer.pid;
    return fd;
}

bool ks_parent_link_read(int fd, struct ks_parent_link *link)
{
    unsigned char said[2];
    ssize_t n;

    while ((n = recv(fd, said, sizeof(said), 0)) == (ssize_t)sizeof(said)) {
        if (said[0] == SAYS_READY)
            link->is_ready = true;
        else if (said[0] == SAYS_EXIT)
            link->exit = said[1];
    }
    return n < 0 && (errno == EAGAIN || errno == EINTR);
}

int ks_parent_link_open(void)
{
    const char *name = getenv(KS_PARENT_LINK_ENV);
    struct sockaddr_un a;
    int fd;

    if (!name)
        return -1;
    fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
    if (fd >= 0 && connect(fd, (struct sockaddr *)&a, address(name, &a)) < 0) {
        close(fd);
        fd = -1;
    }
    unsetenv(KS_PARENT_LINK_ENV);
    return fd;
}

static void say(int fd, char what, int number)
{
    const unsigned char message[2] = { (unsigned char)what, (unsigned char)number };

    if (fd >= 0)
        (void)!send(fd, message, sizeof(message), MSG_NOSIGNAL);
}

void ks_parent_link_ready(int fd)
{
    say(fd, SAYS_READY, 0);
}

void ks_parent_link_exit(int fd, int status)
{
    say(fd, SAYS_EXIT, status);
    if (fd >= 0)
        close(fd);
}
