/* SPDX-License-Identifier: MIT */
/* main.c - ksweep-profiler: runs other programs that time kernels, for one agent. */
#include "base/command.h"
#include "base/text.h"
#include "record/request.h"
#include "runner/runner.h"

#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <sys/prctl.h>

static int run(struct ks_call *call, struct ks_err *err)
{
    struct ks_err why = { 0 };
    int status;

    (void)call;
    (void)err;
    signal(SIGPIPE, SIG_IGN); /* a vanished agent is an error to handle, not a death */
    (void)prctl(PR_SET_CHILD_SUBREAPER, 1ul, 0ul, 0ul, 0ul);
    for (int fd = KS_FD_REQUEST; fd <= KS_FD_REFERENCE; fd++)
        (void)fcntl(fd, F_SETFD, FD_CLOEXEC);
    status = ks_runner_serve(KS_FD_REQUEST, KS_FD_RECORD, KS_FD_STATUS, &why);
    if (status != KS_WORKER_EXIT_OK)
        ks_text_print(stderr, "ksweep-profiler", why.text);
    return status;
}

static const struct ks_opt opts[] = { KS_OPT_END };

static const struct ks_command command = {
    .summary = "Run programs that time their own kernels. ksweep starts this program; it is not "
               "meant to be run by hand.",
    .usage = "",
    .opts = opts,
    .run = run,
};

static const struct ks_command *const commands[] = { &command, NULL };

static const struct ks_program program = {
    .name = "ksweep-profiler",
    .notes = "Requests on descriptor 3, records on 4, status page on 5.",
    .commands = commands,
};

int main(int argc, char **argv)
{
    return ks_program_main(&program, argc, argv);
}
