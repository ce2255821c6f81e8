/* SPDX-License-Identifier: MIT */
/* libraries.c - whether a program finds its shared libraries */
#include "build/libraries.h"

#include "base/text.h"
#include "build/command.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* glibc: "libck.so.1 => not found", "version `GLIBC_2.38' not found (required by ..)", "error while
 * loading shared libraries: .."; musl: "Error loading shared library ..". The tail of an output is
 * kept, so only these lines are printed. A program runs without a weak version. */
static const char script[] = "\"$1\" --list \"$2\" 2>&1 | grep -v 'weak version' | "
                             "grep -m 1 -e 'not found' -e 'error while loading' -e 'Error loading'";

/* Splits NAME=VALUE lines, as ks_job_program.environment has them; text is changed. */
static size_t split_lines(char *text, const char **env_out, size_t cap)
{
    size_t n = 0;

    while (*text && n + 1 < cap) {
        const size_t length = strcspn(text, "\n");

        env_out[n++] = text;
        text += length;
        if (*text)
            *text++ = '\0';
    }
    env_out[n] = NULL;
    return n;
}

static int list(const struct ks_job_program *p, const struct ks_program_format *f,
                struct ks_warden *w, struct ks_child_end *end, struct ks_err *err)
{
    const char *env[KS_SPAWN_ARGS];
    struct ks_argv a = { .n = 0 };
    char *text = strdup(p->environment);
    /* $ORIGIN is where the program is, not where a link to it is; the loader cannot tell here. */
    char *real = realpath(f->object, NULL);
    const char *const words[] = {
        "/bin/sh", "-c", script, "sh", f->loader, real ? real : f->object
    };
    int rc = text ? 0 : ks_fail(err, KS_ENOMEM, "out of memory");

    for (size_t i = 0; rc == 0 && i < sizeof words / sizeof words[0]; i++)
        rc = ks_argv_word(&a, words[i], err);
    if (rc == 0) {
        (void)split_lines(text, env, KS_SPAWN_ARGS);
        rc = ks_command_run_in(&a, env, NULL, w, end, err);
    }
    free(text);
    free(real);
    return rc;
}

static int check(void *ctx, const struct ks_job_program *p, const char *path,
                 const struct ks_program_format *f, struct ks_err *err)
{
    struct ks_child_end end;
    char why[300];
    size_t begin = 0, n;
    int rc = f->loader[0] ? list(p, f, ctx, &end, err) : 0;

    if (rc < 0 || !f->loader[0] || end.how != KS_END_EXITED || end.code != 0)
        return rc; /* grep found no such line */
    while (begin < end.n_tail && (end.tail[begin] == ' ' || end.tail[begin] == '\t'))
        begin++;
    n = end.n_tail - begin;
    while (n > 0 && end.tail[begin + n - 1] == '\n')
        n--;
    ks_text_escape(why, sizeof why, end.tail + begin, n, KS_LINES_NONE);
    return ks_fail(err, KS_EINVAL,
                   "'%s' needs a shared library that was not found: %s; install it, or add its "
                   "directory to \"environment\": {\"LD_LIBRARY_PATH\": ..}",
                   path, why);
}

int ks_libraries_check(const struct ks_grid *g, struct ks_warden *w, struct ks_err *err)
{
    return ks_programs_check(g, check, w, err);
}
