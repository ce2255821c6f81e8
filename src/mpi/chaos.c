/* SPDX-License-Identifier: MIT */
/* chaos.c - kills this process at a named point when KSWEEP_CHAOS asks for it, for tests */
#include "mpi/chaos.h"

#include <signal.h>
#include <stdlib.h>
#include <string.h>

static const char *const names[KS_CHAOS_N] = { "before_write", "before_fsync", "before_ack",
                                               "gather",       "rename",       "start",
                                               "end",          "send",         "fetch" };

void ks_chaos(struct ks_chaos *c, enum ks_chaos_point point)
{
    const char *spec = getenv("KSWEEP_CHAOS");
    size_t len = strlen(names[point]);
    c->passed[point]++;
    if (!spec || strncmp(spec, names[point], len) != 0 || spec[len] != ':')
        return;
    char *end;
    unsigned long n = strtoul(spec + len + 1, &end, 10);
    const char *at = strchr(end, '@');
    if (c->passed[point] != n || (at && strtoul(at + 1, NULL, 10) != c->rank))
        return;
    raise(strncmp(end, ":stop", 5) == 0 ? SIGSTOP : SIGKILL);
}
