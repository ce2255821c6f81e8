/* SPDX-License-Identifier: MIT */
/* limits.c - raises resource limits where allowed, and rejects those too low to work with */
#include "base/limits.h"

#include <signal.h>
#include <stdio.h>
#include <sys/resource.h>

#define MIB 1048576ull

struct limit {
    int what;
    char letter;      /* of the shell's ulimit */
    uint64_t unit;    /* of the shell's ulimit, in ours */
    uint64_t least;   /* less is refused */
    uint64_t wanted;  /* a lower soft limit is raised to it, where the hard one allows */
    bool is_for_work; /* counts only where something is compiled or measured */
    const char *name;
};

/* Least: the stack of the deepest call with room; a rank with a worker and two compilers; journal,
 * results and objects of a small sweep; programs and their libraries. */
static const struct limit limits[] = {
    { RLIMIT_STACK, 's', 1024, MIB, 8 * MIB, false, "the stack" },
    { RLIMIT_NOFILE, 'n', 1, 64, 16384, true, "open files" },
    { RLIMIT_FSIZE, 'f', 1024, 256 * MIB, RLIM_INFINITY, true, "file size" },
    { RLIMIT_AS, 'v', 1024, 512 * MIB, RLIM_INFINITY, true, "address space" },
};
enum { N_LIMITS = sizeof(limits) / sizeof(limits[0]) };

static int refuse(const struct limit *l, uint64_t value, struct ks_err *err)
{
    return ks_fail(err, KS_EINVAL,
                   "the limit on %s is too low: ulimit -%c is %llu, at least %llu is needed",
                   l->name, l->letter, (unsigned long long)(value / l->unit),
                   (unsigned long long)(l->least / l->unit));
}

static int raise_one(const struct limit *l, struct ks_err *err)
{
    struct rlimit r;

    if (getrlimit(l->what, &r) < 0)
        return ks_fail_errno(err, "limit on %s", l->name);
    if (r.rlim_cur < l->wanted) {
        const rlim_t before = r.rlim_cur;

        r.rlim_cur = r.rlim_max < l->wanted ? r.rlim_max : l->wanted;
        if (setrlimit(l->what, &r) < 0)
            r.rlim_cur = before;
    }
    return r.rlim_cur < l->least ? refuse(l, r.rlim_cur, err) : 0;
}

int ks_limits_raise(bool is_work, struct ks_err *err)
{
    int rc = 0;

    (void)signal(SIGXFSZ, SIG_IGN);
    for (size_t i = 0; i < N_LIMITS && rc == 0; i++)
        if (is_work || !limits[i].is_for_work)
            rc = raise_one(&limits[i], err);
    return rc;
}

int ks_limits_address_space(uint64_t bytes, const char *what, struct ks_err *err)
{
    struct rlimit r;

    if (getrlimit(RLIMIT_AS, &r) < 0 || r.rlim_max >= bytes)
        return 0;
    return ks_fail(err, KS_EINVAL,
                   "the limit on address space is too low: ulimit -v is %llu, %s needs %llu; raise "
                   "the limit or lower the setting",
                   (unsigned long long)r.rlim_max / 1024, what, (unsigned long long)bytes / 1024);
}

uint32_t ks_limits_file_mib(uint32_t wanted_mib)
{
    struct rlimit r;

    if (getrlimit(RLIMIT_FSIZE, &r) < 0 || r.rlim_max / MIB >= wanted_mib)
        return wanted_mib;
    return (uint32_t)(r.rlim_max / MIB);
}

bool ks_limits_has_address_space(void)
{
    struct rlimit r;

    return getrlimit(RLIMIT_AS, &r) == 0 && r.rlim_max != RLIM_INFINITY;
}

void ks_limits_text(char *out, size_t cap)
{
    size_t n = 0;

    out[0] = '\0';
    for (size_t i = 0; i < N_LIMITS && n < cap; i++) {
        struct rlimit r;

        if (getrlimit(limits[i].what, &r) < 0 || r.rlim_max >= limits[i].wanted)
            continue;
        n += (size_t)snprintf(out + n, cap - n, "%s -%c %llu", n ? "" : "ulimit", limits[i].letter,
                              (unsigned long long)(r.rlim_max / limits[i].unit));
    }
}
