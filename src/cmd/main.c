/* SPDX-License-Identifier: MIT */
/* main.c - ksweep: its commands, and what they run in: log, resource limits, warden */
#include "base/backend.h"
#include "base/limits.h"
#include "cmd/cmd.h"
#include "spawn/warden.h"

#include <stdlib.h>

static const struct ks_command *const commands[] = {
#define X(name) &ks_cmd_##name,
    KS_COMMANDS(X)
#undef X
        NULL,
};

/* Before anything that may start a thread or a runtime: the warden is the one who forks. */
static int open_env(const struct ks_command *command, void **env_out, struct ks_err *err)
{
    struct ks_cmd_env *env = calloc(1, sizeof *env);
    int rc;

    if (!env)
        return ks_fail(err, KS_ENOMEM, "out of memory");
    env->log = ks_log_stderr(ks_level_from(getenv("KSWEEP_LOG"), KS_INFO), -1);
    rc = ks_limits_raise(command->needs_warden, err);
    if (rc == 0 && command->needs_warden)
        rc = ks_warden_start(&env->warden, err);
    if (rc < 0) {
        free(env);
        return rc;
    }
    *env_out = env;
    return 0;
}

static void close_env(void *opened)
{
    struct ks_cmd_env *env = opened;

    ks_warden_stop(env->warden);
    free(env);
}

#define X(name, flags, archs, language) " " #name
#define BACKENDS                        "backends" KS_BACKENDS(X) "\n"

static const struct ks_program program = {
    .name = "ksweep",
    .summary =
        "Measure every kernel instance on every problem, verify each result, and lose nothing.",
    .version = KSWEEP_VERSION,
    .build = KSWEEP_BUILD BACKENDS,
    .notes = "Results go to standard output, everything else to standard error.\nExit status: 0 "
             "success, 1 complete but some cells need a look or gathering failed, 2 usage or input "
             "error, 3 incomplete, can be resumed.",
    .commands = commands,
    .open = open_env,
    .close = close_env,
};
#undef X

int main(int argc, char **argv)
{
    return ks_program_main(&program, argc, argv);
}
