/* SPDX-License-Identifier: MIT */
/* sealed.h - a file as it was when it was opened: a copy in memory that nobody can change, so that
 * what is hashed and what is loaded are the same bytes. */
#ifndef KS_WORKER_SEALED_H
#define KS_WORKER_SEALED_H

#include "base/err.h"

#include <stdbool.h>
#include <stdint.h>

struct ks_sealed {
    int fd;        /* of the copy, close-on-exec */
    bool is_kept;  /* open for a debugger */
    char path[64]; /* "/proc/self/fd/./9": by which a loader opens the copy, while fd is open */
    uint8_t digest[32]; /* SHA-256 of the content */
};

/* ks_sealed_open() - opens a regular file once and copies what it holds. No loaded object has the
 * name out->path: the loader, which knows objects by their names, reads this one.
 * @path [in] a symbolic link as its last component is refused
 * Returns 0; KS_ELOAD: no such file, no regular file, changed while it was read; KS_ENOMEM, KS_EIO:
 * no descriptor, or no memory for the copy. */
int ks_sealed_open(const char *path, struct ks_sealed *out, struct ks_err *err);
/* A loader's message about the copy becomes one about the file. */
void ks_sealed_blame(const struct ks_sealed *s, const char *path, struct ks_err *err);
/* Call it as soon as it is loaded. Under a debugger, which reads the symbols through the path, the
 * copy stays open until the process ends. */
void ks_sealed_close(struct ks_sealed *s);

#endif
