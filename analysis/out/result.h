/* SPDX-License-Identifier: MIT */
/* result.h - where a command's result goes: standard output, a file that is replaced whole or not
 * at all, or a device or pipe that is written through. */
#ifndef KS_ANALYSIS_RESULT_H
#define KS_ANALYSIS_RESULT_H

#include "analysis/out/sink.h"
#include "base/file.h"
#include "base/opt.h"

struct ks_result {
    struct ks_sink sink;
    struct ks_new_file file;
    bool has_file;
};

/* The option -o, --output: offset of a const char *, the file of ks_result_open. */
#define KS_OPT_RESULT(at)                                                                          \
    {                                                                                              \
        .name = "output", .letter = 'o', .type = KS_OPT_STR, .offset = (at), .arg = "FILE",        \
        .help = "write to this file instead of standard output; it is complete or not written",    \
        .is_output = true                                                                          \
    }

/* file NULL or "-": standard output. KS_EINVAL, KS_ENOENT, KS_EIO. o is initialised either way. */
int ks_result_open(struct ks_result *o, const char *file, struct ks_err *err);
/* rc >= 0: writes what is left and puts the file in its place; else the old one stays as it is.
 * Returns rc, or the error of writing. Call it once, after ks_result_open, whatever came of it. */
int ks_result_close(struct ks_result *o, int rc, struct ks_err *err);

#endif
