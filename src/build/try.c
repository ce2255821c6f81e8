/* SPDX-License-Identifier: MIT */
/* try.c - loads a compiled object in a worker of its own before any cell needs it */
#include "build/try.h"

#include "base/clock.h"
#include "base/file.h"
#include "record/request.h"

#include <signal.h>
#include <stdio.h>
#include <string.h>

static uint32_t limit_s(const struct ks_build *b)
{
    return b->grid->job.isolate.kernel_timeout_s;
}

/* One object may hold instances with threads of their own and without: the most is allowed. */
static bool keeps_threads(const struct ks_build *b, const struct ks_compile *c)
{
    for (uint32_t i = 0; i < c->n; i++) {
        const struct ks_instance *inst = &b->grid->instances[c->instances[i]];
        if (ks_instance_threads(&b->grid->families[inst->i_family], inst) > 1)
            return true;
    }
    return false;
}

int ks_try_start(struct ks_build *b, struct ks_compile *c, struct ks_err *err)
{
    char object[700];
    const char *const argv[] = { b->worker, "--try", object, keeps_threads(b, c) ? "threads" : NULL,
                                 NULL };
    static const char *const env[] = { "LC_ALL=C", NULL };
    const struct ks_spawn s = { .argv = argv,
                                .env = env,
                                .fds = { -1, -1, -1, -1 },
                                .status_fd = -1,
                                .deadline_ns = ks_now_ns() + limit_s(b) * 1000000000ull,
                                .rss_bytes = (uint64_t)b->memory_mib << 20,
                                .n_processes = ks_warden_task_limit(),
                                .is_quiet = true };
    int rc = ks_path_join(object, sizeof(object), c->dir, KS_UNIT_OBJECT, err);
    if (rc == 0)
        rc = ks_warden_spawn(b->warden, &s, &c->child, err);
    if (rc == 0)
        c->phase = KS_TRYING;
    return rc;
}

/* The last line that the child printed of the form "ksweep-worker: STEP"; others are the object's.
 */
static const char *last_step(const struct ks_child_end *end, char *out, size_t cap)
{
    static const char mark[] = "ksweep-worker: ";
    const size_t n = sizeof(mark) - 1;
    size_t at = end->n_tail;
    snprintf(out, cap, "started");
    while (at-- > 0) {
        const char *line = end->tail + at;
        const size_t left = end->n_tail - at;
        if (left < n || memcmp(line, mark, n) != 0 || (at > 0 && line[-1] != '\n'))
            continue;
        const char *stop = memchr(line, '\n', left);
        const size_t len = stop ? (size_t)(stop - line) : left;
        snprintf(out, cap, "%.*s", (int)(len - n), line + n);
        break;
    }
    return out;
}

static void put_death(const struct ks_build *b, const struct ks_child_end *end, char *out,
                      size_t cap)
{
    char step[200];
    last_step(end, step, sizeof(step)); /* "loading", "unloading", "exiting" */
    switch (end->how) {
    case KS_END_EXITED:
        snprintf(out, cap, "%s its object ends the process with exit status %d", step, end->code);
        return;
    case KS_END_SIGNALED:
        snprintf(out, cap, "%s its object kills the process with signal %d (%s)", step, end->code,
                 strsignal(end->code));
        return;
    case KS_END_DEADLINE:
        snprintf(out, cap, "%s its object takes longer than %u s (kernel_timeout_s)", step,
                 limit_s(b));
        return;
    case KS_END_MEMORY:
        snprintf(out, cap, "%s its object needs more than %u MiB", step, b->memory_mib);
        return;
    default:
        snprintf(out, cap, "%s its object hangs in the operating system's kernel", step);
    }
}

/* What hangs or starves may do so because of others; and a library that the loader does not find
 * may be there tomorrow, with another LD_LIBRARY_PATH. */
static enum ks_holds how_long(const struct ks_child_end *end)
{
    if (end->how == KS_END_MEMORY)
        return KS_HOLDS_LIMITS;
    if (end->how == KS_END_EXITED)
        return end->code == KS_WORKER_EXIT_UNLOADABLE ? KS_HOLDS_RUN : KS_HOLDS_ALWAYS;
    return end->how == KS_END_SIGNALED && end->code != SIGKILL ? KS_HOLDS_ALWAYS : KS_HOLDS_RUN;
}

int ks_try_conclude(const struct ks_build *b, const struct ks_child_end *end, char *reason_out,
                    size_t cap, enum ks_holds *holds_out, struct ks_err *err)
{
    const int status = end->how == KS_END_EXITED ? end->code : -1;
    char text[200];
    if (status == KS_WORKER_EXIT_TRIED)
        return 1;
    if (end->how == KS_END_KILLED)
        return ks_fail(err, KS_EINTR, "the load test of an object was interrupted");
    if (end->how == KS_END_NO_EXEC)
        return ks_fail(err, KS_ENOENT, "'%s' cannot be started: %s", b->worker,
                       strerror(end->code));
    if (status == KS_WORKER_EXIT_SETUP)
        return ks_fail(err, KS_EUNSUPPORTED,
                       "compiled objects cannot be load-tested on this host: %s",
                       last_step(end, text, sizeof(text)));
    if (status == KS_WORKER_EXIT_UNLOADABLE || status == KS_WORKER_EXIT_REMAINS)
        snprintf(reason_out, cap, "%s", last_step(end, text, sizeof(text)));
    else
        put_death(b, end, reason_out, cap);
    *holds_out = how_long(end);
    return 0;
}
