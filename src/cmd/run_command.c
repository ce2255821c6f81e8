/* SPDX-License-Identifier: MIT */
/* run_command.c - the command line that resumes this run, and the one that starts its ranks */
#include "cmd/run_command.h"

#include "base/array.h"
#include "base/text.h"
#include "mpi/launch.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define VALUE_BYTES 4200 /* of an option: paths */

void ks_words_add(struct ks_words *w, const char *word)
{
    if (w->failed || ks_reserve(&w->word, w->n + 2, &w->cap, sizeof(*w->word), "words", NULL) < 0 ||
        !(w->word[w->n] = strdup(word))) {
        w->failed = true;
        return;
    }
    w->word[++w->n] = NULL;
}

void ks_words_release(struct ks_words *w)
{
    for (size_t i = 0; i < w->n; i++)
        free(w->word[i]);
    free(w->word);
    *w = (struct ks_words){ .n = 0 };
}

static bool is_resuming(const struct ks_run_options *o)
{
    return o->resume || o->extend || o->retry;
}

static void put_option(const struct ks_opt *opt, const struct ks_run_options *o,
                       const struct ks_run_options *usual, struct ks_words *to)
{
    char value[VALUE_BYTES], def[VALUE_BYTES], word[VALUE_BYTES + 64];

    ks_opt_print(opt, o, value, sizeof(value));
    ks_opt_print(opt, usual, def, sizeof(def));
    if (strcmp(value, def) == 0)
        return;
    if (opt->type == KS_OPT_BOOL)
        snprintf(word, sizeof(word), "--%s%s", opt->name, strcmp(value, "yes") ? "=no" : "");
    else
        snprintf(word, sizeof(word), "--%s", opt->name);
    ks_words_add(to, word);
    if (opt->type != KS_OPT_BOOL)
        ks_words_add(to, value);
}

static void put_options(const struct ks_opt *opts, const struct ks_run_options *o,
                        const char *const *but, struct ks_words *to)
{
    struct ks_run_options usual = { .job = NULL };

    if (ks_opt_defaults(opts, &usual, NULL) < 0)
        return;
    ks_words_add(to, o->job);
    for (const struct ks_opt *opt = opts; opt->name; opt++) {
        bool is_left_out = false;

        for (size_t i = 0; but[i]; i++)
            is_left_out |= strcmp(opt->name, but[i]) == 0;
        if (!is_left_out)
            put_option(opt, o, &usual, to);
    }
}

void ks_run_put_options(const struct ks_opt *opts, const struct ks_run_options *o,
                        struct ks_words *to)
{
    put_options(opts, o, (const char *[]){ "ranks", NULL }, to);
}

static void put_launcher(const struct ks_run_options *o, struct ks_words *to)
{
    static const char *const srun[] = { "srun", "--mpi=pmix", "--no-kill", "--cpu-bind=none",
                                        NULL };
    const char *size = getenv("OMPI_COMM_WORLD_SIZE");
    const char *const mpirun[] = { "mpirun",
                                   "-n",
                                   size,
                                   "--bind-to",
                                   "none",
                                   "--enable-recovery",
                                   geteuid() == 0 ? "--allow-run-as-root" : NULL,
                                   NULL };

    if (o->n_ranks > 1 || !ks_launch_is_live())
        return;
    for (const char *const *w = size ? mpirun : srun; *w; w++)
        ks_words_add(to, *w);
}

void ks_run_put_resume(const struct ks_opt *opts, const struct ks_run_options *o, const char *dir,
                       struct ks_buf *to)
{
    const char *told = getenv(KS_RUN_GO_ON_ENV);
    struct ks_words w = { .n = 0 };
    char number[32];

    if (told) {
        ks_buf_printf(to, "%s", told);
        return;
    }
    put_launcher(o, &w);
    ks_words_add(&w, program_invocation_name);
    ks_words_add(&w, "run");
    put_options(opts, o, (const char *[]){ "ranks", "out", "take-over", NULL }, &w);
    if (o->n_ranks > 1) {
        snprintf(number, sizeof(number), "%u", o->n_ranks);
        ks_words_add(&w, "-n");
        ks_words_add(&w, number);
    }
    if (!is_resuming(o))
        ks_words_add(&w, "--resume");
    if (dir ? dir : o->dir) {
        ks_words_add(&w, "--out");
        ks_words_add(&w, dir ? dir : o->dir);
    }
    if (w.failed)
        to->failed = true;
    else
        ks_shell_words(to, (const char *const *)w.word);
    ks_words_release(&w);
}
