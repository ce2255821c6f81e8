/* SPDX-License-Identifier: MIT */
/* cmd_machine.c - `ksweep-gpu machine`: what this container lacks */
#include "tests/gpu/job.h"

#include <fcntl.h>
#include <linux/seccomp.h>
#include <signal.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

static bool has_filters(void)
{
    const unsigned action = SECCOMP_RET_TRAP;

    return syscall(SYS_seccomp, SECCOMP_GET_ACTION_AVAIL, 0, &action) == 0;
}

static bool has_seals(void)
{
    int fd = memfd_create("ksweep-machine", MFD_CLOEXEC | MFD_ALLOW_SEALING);
    bool is_sealed = fd >= 0 && fcntl(fd, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW) == 0;

    if (fd >= 0)
        close(fd);
    return is_sealed;
}

static bool has_parent_death(void)
{
    int was = 0;

    return prctl(PR_GET_PDEATHSIG, &was) == 0 && prctl(PR_SET_PDEATHSIG, SIGKILL) == 0 &&
           prctl(PR_SET_PDEATHSIG, was) == 0;
}

static int run(struct ks_call *call, struct ks_err *err)
{
    static const struct {
        bool (*has)(void);
        const char *name, *without;
    } row[] = {
        { has_filters, "call filters (seccomp)", "a kernel's calls are not refused or counted" },
        { has_seals, "sealed memory files", "a kernel could change what it was compiled to" },
        { has_parent_death, "parent-death signals", "an aborted run may leave workers behind" },
    };
    int n_missing = 0;

    (void)call;
    (void)err;
    for (size_t i = 0; i < sizeof(row) / sizeof(row[0]); i++) {
        if (row[i].has())
            continue;
        printf("WITHOUT %s: %s\n", row[i].name, row[i].without);
        n_missing++;
    }
    return n_missing == 0 ? KS_EXIT_OK : KS_EXIT_LOOK;
}

const struct ks_command gpu_machine = {
    .name = "machine",
    .summary =
        "What this kernel or container lacks that a worker wants; 1: something. KSWEEP_BARE=1 "
        "goes on without it.",
    .usage = "machine",
    .n_min = 0,
    .n_max = 0,
    .run = run,
};
