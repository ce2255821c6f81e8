/* SPDX-License-Identifier: MIT */
/* binfmt.h - formats beside ELF and "#!" that the kernel hands to interpreters: binfmt_misc, by
 * which for example qemu runs programs of other machines. */
#ifndef KS_PROFILER_BINFMT_H
#define KS_PROFILER_BINFMT_H

#include <stddef.h>

#define KS_BINFMT_DIR "/proc/sys/fs/binfmt_misc"

enum ks_binfmt {
    KS_BINFMT_NONE,   /* no interpreter takes the file */
    KS_BINFMT_TAKEN,  /* one does, before the kernel looks whether it is ELF */
    KS_BINFMT_UNKNOWN /* it is not mounted here, as in most containers: only execve can tell */
};

/* ks_binfmt_find() - whether an interpreter is registered for a file.
 * @dir   KS_BINFMT_DIR; tests have another
 * @path  of the file: interpreters are also registered for extensions
 * @head  [n] its first bytes; the kernel looks at 256
 * Source: Linux, Documentation/admin-guide/binfmt-misc.rst. */
enum ks_binfmt ks_binfmt_find(const char *dir, const char *path, const unsigned char *head,
                              size_t n);

#endif
