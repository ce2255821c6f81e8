/* SPDX-License-Identifier: MIT */
/* main.c - ksweep-analyze: its commands, as the rows of a program's table */
#include "analysis/cmd/analyze.h"
#include "analysis/data/view.h"
#include "analysis/trace/verbs.h"
#include "base/command.h"
#include "base/file.h"
#include "base/limits.h"
#include "base/text.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const struct ks_analysis *const analyses[] = {
    &ks_analysis_table,      &ks_analysis_report,     &ks_analysis_oracle,
    &ks_analysis_compare,    &ks_analysis_import,     &ks_analysis_train,
    &ks_analysis_validate,   &ks_analysis_select,     &ks_analysis_need,
    &ks_analysis_timeline,   &ks_trace_verb_analyze,  &ks_trace_verb_augment,
    &ks_trace_verb_diff,     &ks_trace_verb_combine,  &ks_trace_verb_merge,
    &ks_trace_verb_counters, &ks_trace_verb_roofline, &ks_trace_verb_compat,
};
#define N_ANALYSES (sizeof(analyses) / sizeof(analyses[0]))

static const struct ks_analysis *analysis_of(const struct ks_command *command)
{
    size_t i = 0;

    while (strcmp(analyses[i]->name, command->name) != 0)
        i++;
    return analyses[i];
}

/* Of a run's directory its results file is read: no command may replace that. */
static int check_output(const struct ks_call *call, const char *option, const char *output,
                        struct ks_err *err)
{
    char results[KS_PATH_BYTES];

    for (int i = 0; output && i < call->n_operands; i++)
        if (ks_path_is_dir(call->operands[i]) &&
            ks_results_path(call->operands[i], results, sizeof(results), NULL) == 0 &&
            ks_path_is_same(output, results))
            return ks_fail(
                err, KS_EINVAL,
                "--%s: '%s' is also an input, the results of '%s': choose another output "
                "file",
                option, output, call->operands[i]);
    return 0;
}

static int run(struct ks_call *call, struct ks_err *err)
{
    struct ks_buf notes;
    int rc = 0;

    for (const struct ks_opt *o = call->command->opts; rc == 0 && o && o->name; o++)
        if (o->is_output)
            rc = check_output(call, o->name, ks_opt_text(o, call->cfg), err);
    if (rc < 0)
        return rc;
    ks_buf_init(&notes);
    rc = analysis_of(call->command)->run(call->cfg, call->operands, call->n_operands, &notes, err);
    if (rc >= 0 && !ks_buf_ok(&notes))
        rc = ks_fail(err, KS_ENOMEM, "no memory for the result");
    if (rc >= 0)
        (void)ks_text_write(stderr, ks_buf_text(&notes), notes.len, KS_LINES_KEEP);
    ks_buf_release(&notes);
    return rc;
}

static int open_limits(const struct ks_command *command, void **env_out, struct ks_err *err)
{
    *env_out = NULL;
    return ks_limits_raise(command->needs_warden, err);
}

static const struct ks_analysis *analysis_in(int argc, char **argv)
{
    char name[64];

    for (size_t i = 0; argc > 1 && i < N_ANALYSES; i++)
        if (strcmp(argv[1], analyses[i]->name) == 0)
            return analyses[i];
    if (argc < 3)
        return NULL;
    snprintf(name, sizeof(name), "%.30s %.30s", argv[1], argv[2]);
    for (size_t i = 0; i < N_ANALYSES; i++)
        if (strcmp(name, analyses[i]->name) == 0)
            return analyses[i];
    return NULL;
}

/* "--" ends the options. It separates the sides of a command that has them: doubled, the second is
 * an operand. Before the words of a command with options of its own it is inserted. *argc is the
 * number of arguments in copy, which has room for one more. */
static void keep_separator(int *argc, char **argv, char **copy)
{
    const struct ks_analysis *a = analysis_in(*argc, argv);
    const bool is_help = *argc > 3 && strcmp(argv[3], "--help") == 0;
    int n = 0;

    for (int i = 0; i < *argc; i++) {
        const bool is_first = n == i;

        if (a && a->has_sides && is_first && strcmp(argv[i], "--") == 0)
            copy[n++] = argv[i];
        if (a && a->has_own_options && i == 3 && !is_help)
            copy[n++] = (char *)(uintptr_t) "--";
        copy[n++] = argv[i];
    }
    copy[n] = NULL;
    *argc = n;
}

int main(int argc, char **argv)
{
    char **copy = calloc((size_t)argc + 2, sizeof(*copy));
    int status;
    struct ks_command rows[N_ANALYSES];
    const struct ks_command *table[N_ANALYSES + 1] = { NULL };
    const struct ks_program program = {
        .name = "ksweep-analyze",
        .summary = "Read what ksweep measured and what profilers recorded.",
        .version = KSWEEP_VERSION,
        .build = KSWEEP_BUILD,
        .commands = table,
        .open = open_limits
    };

    for (size_t i = 0; i < N_ANALYSES; i++) {
        const struct ks_analysis *a = analyses[i];

        rows[i] = (struct ks_command){ .name = a->name,
                                       .summary = a->summary,
                                       .usage = a->usage,
                                       .opts = a->opts,
                                       .cfg_size = a->cfg_size,
                                       .n_min = a->n_min,
                                       .n_max = a->n_max,
                                       .run = run };
        table[i] = &rows[i];
    }
    if (!copy) {
        fputs("ksweep-analyze: out of memory\n", stderr);
        return KS_EXIT_INCOMPLETE;
    }
    keep_separator(&argc, argv, copy);
    status = ks_program_main(&program, argc, copy);
    free(copy);
    return status;
}
