/* SPDX-License-Identifier: MIT */
/* launcher.c - finds the launcher among this process's ancestors, and ends one that does not end */
#include "spawn/launcher.h"

#include "base/clock.h"
#include "spawn/procfs.h"

#include <signal.h>
#include <stdbool.h>
#include <string.h>
#include <unistd.h>

#define PATIENCE_NS 3000000000ull
#define BETWEEN_NS  500000000ull
#define LOOK_NS     20000000ull
#define DEPTH       16 /* ancestors that are looked at */

pid_t ks_launcher_find(const char *const *names)
{
    struct ks_process p = { .parent = getppid() };

    for (int depth = 0; depth < DEPTH && p.parent > 1; depth++) {
        if (!ks_process_read(p.parent, &p))
            return 0;
        for (size_t i = 0; names[i]; i++)
            if (strcmp(p.name, names[i]) == 0)
                return p.pid;
    }
    return 0;
}

/* The same process, by the time it was started: numbers are used again. */
static bool is_there(const struct ks_process *launcher)
{
    struct ks_process now;

    return ks_process_read(launcher->pid, &now) && now.state != 'Z' &&
           now.started == launcher->started;
}

static bool ends_within(const struct ks_process *launcher, uint64_t ns)
{
    for (uint64_t end = ks_now_ns() + ns; is_there(launcher); ks_sleep_ns(LOOK_NS))
        if (ks_now_ns() > end)
            return false;
    return true;
}

void ks_launcher_end(pid_t launcher)
{
    struct ks_process p;

    if (!launcher || !ks_process_read(launcher, &p) || ends_within(&p, PATIENCE_NS))
        return;
    (void)kill(launcher, SIGTERM);
    if (!ends_within(&p, BETWEEN_NS))
        (void)kill(launcher, SIGTERM);
}
