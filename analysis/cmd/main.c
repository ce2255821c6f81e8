/* SPDX-License-Identifier: MIT */
/* ksweep-analyze - what a results.h5 says: tables for people and for training. */
#include "analysis/cmd/analyze.h"
#include "base/limits.h"
#include "base/process.h"
#include "base/text.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const struct ks_analysis *const analyses[] = { &ks_analysis_table, &ks_analysis_report,
                                                      NULL };

static const struct ks_analysis *find(const char *name)
{
    for (size_t i = 0; analyses[i]; i++)
        if (strcmp(analyses[i]->name, name) == 0)
            return analyses[i];
    return NULL;
}

static void print_overview(void)
{
    printf("usage: ksweep-analyze COMMAND [ARGUMENTS] [OPTIONS]\n\n"
           "Reads what ksweep measured.\n\n");
    for (size_t i = 0; analyses[i]; i++)
        printf("  %-10s %s\n", analyses[i]->name, analyses[i]->summary);
    printf("\nksweep-analyze COMMAND --help   options of one command\n"
           "ksweep-analyze help --markdown  all of them as a manual\n"
           "ksweep-analyze --version\n");
}

static void print_one(const struct ks_analysis *a)
{
    printf("usage: ksweep-analyze %s\n\n%s\n\n", a->usage, a->summary);
    ks_opt_help(a->opts, stdout);
}

static void print_markdown(void)
{
    printf("# ksweep-analyze\n\nWritten by `ksweep-analyze help --markdown`.\n");
    for (size_t i = 0; analyses[i]; i++) {
        printf("\n## ksweep-analyze %s\n\n%s\n\n    ksweep-analyze %s\n\n", analyses[i]->name,
               analyses[i]->summary, analyses[i]->usage);
        ks_opt_markdown(analyses[i]->opts, stdout);
    }
}

static int unknown(const char *name)
{
    const char *names[sizeof(analyses) / sizeof(analyses[0])] = { NULL };
    const char *near;
    char text[256];

    for (size_t i = 0; analyses[i]; i++)
        names[i] = analyses[i]->name;
    near = ks_nearest(name, names);
    snprintf(text, sizeof(text), "unknown command '%.100s'%s%s%s; see ksweep-analyze --help", name,
             near ? ", did you mean '" : "", near ? near : "", near ? "'" : "");
    ks_text_print(stderr, "ksweep-analyze", text);
    return 2;
}

static int help(int argc, char **argv)
{
    const struct ks_analysis *a = argc > 1 ? find(argv[1]) : NULL;

    if (argc > 1 && strcmp(argv[1], "--markdown") == 0)
        print_markdown();
    else if (a)
        print_one(a);
    else if (argc > 1)
        return unknown(argv[1]);
    else
        print_overview();
    return 0;
}

static int parse_and_run(const struct ks_analysis *a, int argc, char **argv, struct ks_err *err)
{
    const char **operands = calloc((size_t)argc + 1, sizeof(*operands));
    void *cfg = calloc(1, a->cfg_size);
    struct ks_buf notes;
    bool is_help = false;
    int n = 0, rc = 0;

    ks_buf_init(&notes);
    if (!operands || !cfg)
        rc = ks_fail(err, KS_ENOMEM, "out of memory");
    if (rc == 0)
        rc = ks_opt_defaults(a->opts, cfg, err);
    if (rc == 0)
        rc = ks_opt_argv(a->opts, cfg, argc, argv, operands, &n, &is_help, err);
    if (rc == 0 && is_help) {
        print_one(a);
    } else if (rc == 0 && (n < a->n_min || (a->n_max > 0 && n > a->n_max))) {
        rc = ks_fail(err, KS_EINVAL, "%s argument; usage: ksweep-analyze %s",
                     n < a->n_min ? "missing" : "too many", a->usage);
    } else if (rc == 0) {
        rc = a->run(cfg, operands, n, &notes, err);
        if (rc >= 0)
            (void)ks_text_write(stderr, ks_buf_text(&notes), notes.len, KS_LINES_KEEP);
    }
    ks_buf_release(&notes);
    free(operands);
    free(cfg);
    return rc;
}

static int dispatch(int argc, char **argv)
{
    const char *name = argc > 1 ? argv[1] : "--help";
    const struct ks_analysis *a = find(name);
    struct ks_err err = { 0 };
    char prefix[64];
    int rc;

    if (argc < 2) {
        fprintf(stderr, "ksweep-analyze: no command; see ksweep-analyze --help\n");
        return 2;
    }
    if (strcmp(name, "--version") == 0) {
        printf("ksweep-analyze %s\n", KSWEEP_VERSION);
        return 0;
    }
    if (strcmp(name, "help") == 0 || strcmp(name, "--help") == 0 || strcmp(name, "-h") == 0)
        return help(argc - 1, argv + 1);
    if (!a)
        return unknown(name);
    rc = parse_and_run(a, argc - 1, argv + 1, &err);
    if (rc >= 0)
        return rc;
    snprintf(prefix, sizeof(prefix), "ksweep-analyze %s", a->name);
    ks_text_print(stderr, prefix, err.text);
    return ks_code_exit(rc);
}

int main(int argc, char **argv)
{
    struct ks_err err;
    int rc;

    ks_process_fill_fds();
    if (ks_limits_raise(false, &err) < 0) {
        ks_text_print(stderr, "ksweep-analyze", err.text);
        return ks_code_exit(err.code);
    }
    rc = dispatch(argc, argv);
    if (fflush(stdout) != 0 || ferror(stdout)) {
        fprintf(stderr, "ksweep-analyze: cannot write to standard output\n");
        return 3;
    }
    return rc;
}
