/* SPDX-License-Identifier: MIT */
/* hold.c - device files that stay open in the warden */
#include "spawn/hold.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static bool is_wanted(const struct ks_hold *h, const char *path, const char *prefix)
{
    const size_t n = strlen(prefix);

    if (strncmp(path, prefix, n) != 0 || path[n] == '\0' ||
        strspn(path + n, "0123456789") != strlen(path + n))
        return false;
    for (uint32_t i = 0; i < h->n; i++)
        if (strcmp(h->path[i], path) == 0)
            return false;
    return h->n < KS_HOLD_MAX;
}

/* Not blocking: a driver that is busy with a device may take seconds to open it. */
static void hold(struct ks_hold *h, const char *path)
{
    if (open(path, O_RDWR | O_CLOEXEC | O_NONBLOCK) >= 0)
        snprintf(h->path[h->n++], KS_HOLD_BYTES, "%s", path);
}

void ks_hold_files(struct ks_hold *h, pid_t pid, const char *prefix)
{
    char dir[32], path[KS_HOLD_BYTES];
    const struct dirent *e;
    DIR *d;

    snprintf(dir, sizeof(dir), "/proc/%d/fd", (int)pid);
    d = opendir(dir);
    while (d && (e = readdir(d)) != NULL) {
        ssize_t n = readlinkat(dirfd(d), e->d_name, path, sizeof(path) - 1);

        if (n < 0 || n == (ssize_t)sizeof(path) - 1) /* too long to be one */
            continue;
        path[n] = '\0';
        if (is_wanted(h, path, prefix))
            hold(h, path);
    }
    if (d)
        closedir(d);
}
