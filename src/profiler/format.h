/* SPDX-License-Identifier: MIT */
/* format.h - can this machine execute a file, and what must the dynamic loader find for it? */
#ifndef KS_PROFILER_FORMAT_H
#define KS_PROFILER_FORMAT_H

#include "base/err.h"

struct ks_program_format {
    char object[1024]; /* the ELF program: the file itself, or the interpreter of a script */
    char
        loader[4096]; /* its dynamic loader; "": it has none (static), or the file cannot be read */
};

/* ks_program_format() - reads the head of a program, and of the interpreters that "#!" lines name.
 * Returns 0; KS_EINVAL with the reason: neither an ELF program nor a script with "#!", made for
 * another machine, cut short, or an interpreter that is missing. A file that may be executed but
 * not read is accepted. */
int ks_program_format(const char *path, struct ks_program_format *out, struct ks_err *err);

#endif
