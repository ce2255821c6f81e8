/* SPDX-License-Identifier: MIT */
/* once.h - what a fake does the first time only. */
#ifndef KS_FAKE_ONCE_H
#define KS_FAKE_ONCE_H

#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

/* true the first time it is asked in the directory $FAKE_DIR, by whichever process. */
static inline bool is_first(const char *what)
{
    char path[512];
    const char *dir = getenv("FAKE_DIR");
    snprintf(path, sizeof(path), "%s/%s", dir ? dir : "/nonexistent", what);
    int fd = open(path, O_CREAT | O_EXCL | O_WRONLY, 0600);
    return fd >= 0 && close(fd) == 0;
}

#endif
