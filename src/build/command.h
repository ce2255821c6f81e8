/* SPDX-License-Identifier: MIT */
/* command.h - private to src/build: command lines of compilers, and running one for its answer. */
#ifndef KS_BUILD_COMMAND_H
#define KS_BUILD_COMMAND_H

#include "base/err.h"
#include "spawn/warden.h"

#include <stdbool.h>
#include <stddef.h>

/* Zero-initialise and add. */
struct ks_argv {
    const char *at[KS_SPAWN_ARGS];
    size_t n;
    char text[4096]; /* of words that were copied */
    size_t used;
};

/* Words of a text that is split at blanks. KS_EINVAL when they do not fit. */
int ks_argv_words(struct ks_argv *a, const char *words, struct ks_err *err);
/* One argument that may hold blanks; borrowed. */
int ks_argv_word(struct ks_argv *a, const char *word, struct ks_err *err);

/* Runs it to its end and keeps what it printed in *end; nothing else may be running under that
 * warden. dir: where it runs and puts temporary files; NULL: here. */
int ks_command_run(const struct ks_argv *a, const char *dir, struct ks_warden *w,
                   struct ks_child_end *end, struct ks_err *err);
/* The same with these variables (NULL-terminated "K=V") added to the environment. */
int ks_command_run_in(const struct ks_argv *a, const char *const *env, const char *dir,
                      struct ks_warden *w, struct ks_child_end *end, struct ks_err *err);

/* "PATH=..." for the environment of compilers, which look for assembler and linker there; NULL when
 * this process has one. */
const char *ks_command_path(void);
/* The program as exec would find it; false when it would not. */
bool ks_command_find(const char *program, char *out, size_t cap);
/* Value of a variable that is set and not empty, else NULL. */
const char *ks_command_variable(const char *name);
/* A new directory for temporary files, NAME-XXXXXX in $TMPDIR or /tmp, which the caller removes
 * (ks_remove_tree). On failure dir_out is "". KS_EINVAL where the path does not fit, KS_ENOENT,
 * KS_EIO; the message names TMPDIR. */
int ks_command_scratch(const char *name, char *dir_out, size_t cap, struct ks_err *err);

#endif
