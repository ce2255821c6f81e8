/* SPDX-License-Identifier: MIT */
/* format.h - can this machine execute a file, and what must the dynamic loader find for it? */
#ifndef KS_PROFILER_FORMAT_H
#define KS_PROFILER_FORMAT_H

#include "base/err.h"

struct ks_program_format {
    char object[1024]; /* the ELF program: the file itself, or the interpreter of a script */
    /* Its dynamic loader. "": it has none (static), the file cannot be read, or another interpreter
     * runs it (binfmt.h). */
    char loader[4096];
};

/* ks_program_format() - reads the head of a program, and of the interpreters that "#!" lines name.
 * Returns 0; KS_EINVAL with the reason: a format that execve refuses (neither ELF for this machine,
 * nor a script with "#!", nor registered with binfmt_misc), cut short, or an interpreter that is
 * missing. Accepted, because only execve can tell: a file that may be executed but not read, and an
 * unknown format where binfmt_misc is not mounted. */
int ks_program_format(const char *path, struct ks_program_format *out, struct ks_err *err);
/* The same with binfmt_misc elsewhere: for tests. */
int ks_program_format_in(const char *path, const char *binfmt_dir, struct ks_program_format *out,
                         struct ks_err *err);

#endif
