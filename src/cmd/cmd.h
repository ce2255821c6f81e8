/* SPDX-License-Identifier: MIT */
/* cmd.h - the table of subcommands.
 *
 * To add a subcommand: 1. src/cmd/cmd_<name>.c with `const struct ks_command ks_cmd_<name>`; 2. its
 * declaration here; 3. its row in main.c; 4. its end-to-end test. Only these files and main.c print
 * results and decide exit codes. Results go to stdout, everything else to stderr. */
#ifndef KS_CMD_H
#define KS_CMD_H

#include "base/err.h"
#include "base/log.h"
#include "base/opt.h"

#include <stdbool.h>

struct ks_warden;

/* Exit codes of every program (DESIGN section 9); ks_code_exit() gives them for errors. */
enum ks_exit {
    KS_EXIT_OK = 0,        /* every cell ok, aliased, unsupported or skipped */
    KS_EXIT_LOOK = 1,      /* complete, but some cells need a look */
    KS_EXIT_INPUT = 2,     /* usage or input error */
    KS_EXIT_INCOMPLETE = 3 /* resumable */
};

struct ks_cmd_ctx {
    struct ks_warden *warden; /* started for commands that set needs_warden, else NULL; borrowed */
    struct ks_log log;
    struct ks_err err; /* filled by the command when it returns < 0; printed once by main */
};

/* run(): argv[0] is the subcommand's name. Returns an exit code >= 0 of enum ks_exit, or KS_E* < 0
 * with ctx->err filled: main prints it and ends with ks_code_exit(). --help is answered by main
 * before run() is called. The usage line begins behind "ksweep ". */
struct ks_command {
    const char *name, *summary, *usage;
    const struct ks_opt *opts; /* for --help and the manual; NULL: none */
    int (*run)(struct ks_cmd_ctx *ctx, int argc, char **argv);
    bool needs_warden; /* main starts it before anything else */
};

extern const struct ks_command ks_cmd_kernels, ks_cmd_problems, ks_cmd_plan, ks_cmd_build,
    ks_cmd_run, ks_cmd_status, ks_cmd_gather, ks_cmd_check, ks_cmd_cell;

#endif
