/* SPDX-License-Identifier: MIT */
/* chaos.c - kills this process at a named point when KSWEEP_CHAOS asks for it, for tests */
#include "mpi/chaos.h"

#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const char *const names[KS_CHAOS_N] = { "before_write", "before_fsync", "before_ack",
                                               "gather",       "rename",       "start",
                                               "end",          "send",         "fetch",
                                               "bye" };

static void act(const struct ks_chaos *c, enum ks_chaos_point point, const char *spec)
{
    char *end;
    unsigned long n = strtoul(spec + strlen(names[point]) + 1, &end, 10);
    const char *at = end + strcspn(end, "@,");
    if (c->passed[point] != n || (*at == '@' && strtoul(at + 1, NULL, 10) != c->rank))
        return;
    if (strncmp(end, ":sleep=", 7) == 0)
        sleep((unsigned)strtoul(end + 7, NULL, 10));
    else
        raise(strncmp(end, ":stop", 5) == 0 ? SIGSTOP : SIGKILL);
}

void ks_chaos(struct ks_chaos *c, enum ks_chaos_point point)
{
    const size_t len = strlen(names[point]);
    c->passed[point]++;
    for (const char *spec = getenv("KSWEEP_CHAOS"); spec; spec = strchr(spec, ',')) {
        spec += *spec == ',';
        if (strncmp(spec, names[point], len) == 0 && spec[len] == ':')
            act(c, point, spec);
    }
}
