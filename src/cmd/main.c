/* SPDX-License-Identifier: MIT */
/* ksweep - one program, one subcommand each for what can be done. */
#include "base/limits.h"
#include "base/process.h"
#include "base/text.h"
#include "cmd/cmd.h"
#include "spawn/warden.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const struct ks_command *const commands[] = {
    &ks_cmd_kernels, &ks_cmd_problems, &ks_cmd_plan,  &ks_cmd_build, &ks_cmd_run,
    &ks_cmd_status,  &ks_cmd_gather,   &ks_cmd_check, &ks_cmd_cell,  NULL
};

static const struct ks_command *find_command(const char *name)
{
    for (size_t i = 0; name && commands[i]; i++)
        if (strcmp(commands[i]->name, name) == 0)
            return commands[i];
    return NULL;
}

static bool wants_help(int argc, char **argv)
{
    for (int i = 1; i < argc && strcmp(argv[i], "--") != 0; i++)
        if (strcmp(argv[i], "--help") == 0 || strcmp(argv[i], "-h") == 0)
            return true;
    return false;
}

static void print_overview(void)
{
    printf("usage: ksweep COMMAND [ARGUMENTS] [OPTIONS]\n\n"
           "Measures every kernel instance on every problem, verifies each, loses nothing.\n\n");
    for (size_t i = 0; commands[i]; i++)
        printf("  %-10s %s\n", commands[i]->name, commands[i]->summary);
    printf("\nksweep COMMAND --help   options of one command\n"
           "ksweep help --markdown  all of them as a manual\n"
           "ksweep --version\n\n"
           "Results go to standard output, everything else to standard error.\n"
           "Exit: 0 fine, 1 complete but something needs a look, 2 usage or input error,\n"
           "3 incomplete and resumable.\n");
}

static void print_command(const struct ks_command *c)
{
    printf("usage: ksweep %s\n\n%s\n", c->usage, c->summary);
    if (c->opts && c->opts->name) {
        printf("\n");
        ks_opt_help(c->opts, stdout);
    }
}

static void print_markdown(void)
{
    printf("# ksweep\n\nWritten by `ksweep help --markdown`.\n");
    for (size_t i = 0; commands[i]; i++) {
        printf("\n## ksweep %s\n\n%s\n\n    ksweep %s\n", commands[i]->name, commands[i]->summary,
               commands[i]->usage);
        if (commands[i]->opts && commands[i]->opts->name) {
            printf("\n");
            ks_opt_markdown(commands[i]->opts, stdout);
        }
    }
}

static int unknown_command(const char *name)
{
    const char *names[sizeof commands / sizeof commands[0]] = { NULL };
    const char *near;
    char text[256];

    for (size_t i = 0; commands[i]; i++)
        names[i] = commands[i]->name;
    near = ks_nearest(name, names);
    snprintf(text, sizeof text, "unknown command '%.100s'%s%s%s; see ksweep --help", name,
             near ? ", did you mean '" : "", near ? near : "", near ? "'" : "");
    ks_text_print(stderr, "ksweep", text);
    return KS_EXIT_INPUT;
}

/* ksweep help [--markdown | COMMAND] */
static int help(int argc, char **argv)
{
    const struct ks_command *c = argc > 1 ? find_command(argv[1]) : NULL;

    if (argc > 1 && strcmp(argv[1], "--markdown") == 0)
        print_markdown();
    else if (c)
        print_command(c);
    else if (argc > 1)
        return unknown_command(argv[1]);
    else
        print_overview();
    return KS_EXIT_OK;
}

static void complain(const struct ks_command *c, const char *text)
{
    char prefix[64];

    snprintf(prefix, sizeof prefix, "ksweep %s", c->name);
    ks_text_print(stderr, prefix, text);
}

static int run_command(const struct ks_command *c, struct ks_warden *warden, int argc, char **argv)
{
    struct ks_cmd_ctx *ctx = calloc(1, sizeof *ctx);
    int rc;

    if (!ctx) {
        complain(c, "out of memory");
        return KS_EXIT_INCOMPLETE;
    }
    ctx->warden = warden;
    ctx->log = ks_log_stderr(ks_level_from(getenv("KSWEEP_LOG"), KS_INFO), -1);
    rc = c->run(ctx, argc, argv);
    if (rc < 0) {
        complain(c, ctx->err.text);
        rc = ks_code_exit(rc);
    }
    free(ctx);
    return rc;
}

static int dispatch(int argc, char **argv, struct ks_warden *warden)
{
    const char *name = argc > 1 ? argv[1] : NULL;
    const struct ks_command *c = find_command(name);

    if (!name) {
        fprintf(stderr, "ksweep: no command; see ksweep --help\n");
        return KS_EXIT_INPUT;
    }
    if (strcmp(name, "--version") == 0) {
        printf("ksweep %s\n", KSWEEP_VERSION);
        return KS_EXIT_OK;
    }
    if (strcmp(name, "help") == 0 || strcmp(name, "--help") == 0 || strcmp(name, "-h") == 0)
        return help(argc - 1, argv + 1);
    if (!c)
        return unknown_command(name);
    if (wants_help(argc - 1, argv + 1)) {
        print_command(c);
        return KS_EXIT_OK;
    }
    return run_command(c, warden, argc - 1, argv + 1);
}

int main(int argc, char **argv)
{
    const struct ks_command *c = find_command(argc > 1 ? argv[1] : NULL);
    struct ks_warden *warden = NULL;
    struct ks_err err;
    int rc;

    ks_process_fill_fds();
    if (c && ks_limits_raise(c->needs_warden, &err) < 0) {
        complain(c, err.text);
        return ks_code_exit(err.code);
    }
    /* Before anything that may start a thread or a runtime: the warden is the one who forks. */
    if (c && c->needs_warden && !wants_help(argc - 1, argv + 1) &&
        ks_warden_start(&warden, &err) < 0) {
        complain(c, err.text);
        return ks_code_exit(err.code);
    }
    rc = dispatch(argc, argv, warden);
    ks_warden_stop(warden);
    if (fflush(stdout) != 0 || ferror(stdout)) {
        fprintf(stderr, "ksweep: cannot write to standard output\n");
        return KS_EXIT_INCOMPLETE;
    }
    return rc;
}
