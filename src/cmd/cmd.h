/* SPDX-License-Identifier: MIT */
/* cmd.h - the subcommands of ksweep (base/command.h).
 *
 * To add one: 1. src/cmd/cmd_<name>.c with `const struct ks_command ks_cmd_<name>`; 2. its row in
 * KS_COMMANDS; 3. its end-to-end test. Only these files and main.c print results and decide exit
 * codes. Results go to stdout, everything else to stderr. */
#ifndef KS_CMD_H
#define KS_CMD_H

#include "base/command.h"
#include "base/log.h"

struct ks_warden;

/* call->env of every command. */
struct ks_cmd_env {
    struct ks_warden *warden; /* of commands with needs_warden, else NULL; borrowed */
    struct ks_log log;
};

#define KS_COMMANDS(X)                                                                             \
    X(kernels) X(problems) X(plan) X(build) X(run) X(slurm) X(status) X(gather) X(check) X(cell)

#define X(name) extern const struct ks_command ks_cmd_##name;
KS_COMMANDS(X)
#undef X

#endif
