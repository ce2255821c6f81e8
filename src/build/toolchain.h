/* SPDX-License-Identifier: MIT */
/* toolchain.h - private to src/build: the host's C compiler, its flags, and what it says. */
#ifndef KS_BUILD_TOOLCHAIN_H
#define KS_BUILD_TOOLCHAIN_H

#include "base/buf.h"
#include "base/err.h"
#include "base/hash.h"
#include "build/command.h"
#include "spawn/warden.h"

#include <stddef.h>

struct ks_toolchain {
    char command[512];     /* "cc", "ccache gcc-12": words split at blanks */
    char version[160];     /* first line of --version */
    char flags[512];       /* of a compilation, words split at blanks; part of every build_id */
    struct ks_id128 id;    /* its version text, flags, link flags, target CPU; not its path */
    char include_dir[768]; /* where abi.h lies */
    char abi_path[800];
};

/* @command [in] words separated by blanks
 * @arch    [in] "native", or a name for -march=; "": code for every CPU of this kind
 * Runs the compiler once, with --version, through the warden, and waits for it; nothing else may be
 * running under that warden. KS_ENOENT when there is no such compiler, with the fix. */
int ks_toolchain_find(const char *command, const char *arch, struct ks_warden *w,
                      struct ks_toolchain *out, struct ks_err *err);

/* unit.c -> unit.o and unit.o -> kernels.so, both in the directory that the child starts in. */
int ks_toolchain_compile(const struct ks_toolchain *t, const char *extra_flags, struct ks_argv *out,
                         struct ks_err *err);
int ks_toolchain_link(const struct ks_toolchain *t, const char *extra_flags, struct ks_argv *out,
                      struct ks_err *err);

/* The line a person wants to see of a failed compiler's output: the first with "undefined
 * reference", else the first with "error:", else the first that is not empty. */
void ks_toolchain_reason(const char *output, size_t n, char *reason_out, size_t cap);
/* First line of text[0..n) that holds `what`; NULL when none does. */
const char *ks_toolchain_line(const char *text, size_t n, const char *what, size_t *len_out);
/* What stands behind the compiler's name in a command: "gcc -m32", "ccache clang". */
const char *ks_toolchain_words(const char *command);

#endif
