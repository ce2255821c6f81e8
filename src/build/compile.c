/* SPDX-License-Identifier: MIT */
/* compile.c - compiler runs: queue, start, split what fails, until each unit is done.
 *
 *     TO_COMPILE -> COMPILING -> TO_LINK -> LINKING -> published
 * A failure of several instances becomes two halves; of one, its verdict. */
#include "build/plan.h"

#include "base/clock.h"
#include "base/file.h"
#include "build/unit.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void ks_compile_release(struct ks_compile *c)
{
    if (c->dir[0])
        (void)ks_remove_tree(c->dir, NULL);
    free(c->instances);
    *c = (struct ks_compile){ .n = 0 };
}

int ks_compile_queue(struct ks_build *b, uint32_t i_unit, const uint32_t *instances, uint32_t n,
                     struct ks_err *err)
{
    if (b->n_compiles == b->cap_compiles) {
        const uint32_t cap = b->cap_compiles ? 2 * b->cap_compiles : 16;
        struct ks_compile *more = realloc(b->compiles, cap * sizeof(*more));
        if (!more)
            return ks_fail(err, KS_ENOMEM, "queue of compilations");
        b->compiles = more;
        b->cap_compiles = cap;
    }
    struct ks_compile c = { .i_unit = i_unit, .n = n };
    c.instances = calloc(n, sizeof(*c.instances));
    if (!c.instances)
        return ks_fail(err, KS_ENOMEM, "queue of compilations");
    memcpy(c.instances, instances, n * sizeof(*instances));
    b->compiles[b->n_compiles++] = c;
    b->units[i_unit].n_pending++;
    return 0;
}

static void report_finished(struct ks_build *b, uint32_t i_unit)
{
    if (b->n_finished < b->n_units)
        b->finished[(b->finished_at + b->n_finished++) % b->n_units] = i_unit;
}

/* Takes one compilation off the queue; the unit is finished with its last. */
static void leave_queue(struct ks_build *b, uint32_t i)
{
    const uint32_t i_unit = b->compiles[i].i_unit;
    ks_compile_release(&b->compiles[i]);
    memmove(&b->compiles[i], &b->compiles[i + 1], (b->n_compiles - i - 1) * sizeof(*b->compiles));
    b->n_compiles--;
    if (--b->units[i_unit].n_pending == 0)
        report_finished(b, i_unit);
}

int ks_build_start(struct ks_build *b, uint32_t i_unit, struct ks_err *err)
{
    const struct ks_unit *u = &b->units[i_unit];
    if (u->n_pending)
        return 0;
    uint32_t *missing = calloc(u->n, sizeof(*missing));
    uint32_t n = 0;
    if (!missing)
        return ks_fail(err, KS_ENOMEM, "unit of %u instances", u->n);
    for (uint32_t i = 0; i < u->n; i++)
        if (b->artefacts[b->order[u->first + i]].state == KS_ART_MISSING)
            missing[n++] = b->order[u->first + i];
    int rc = 0;
    if (n)
        rc = ks_compile_queue(b, i_unit, missing, n, err);
    else
        report_finished(b, i_unit);
    free(missing);
    return rc;
}

/* Starting
 * ----------------------------------------------------------------------------------------- */

static const struct ks_family *family_of(const struct ks_build *b, const struct ks_compile *c)
{
    return &b->grid->families[b->grid->instances[c->instances[0]].i_family];
}

static int write_unit(struct ks_build *b, struct ks_compile *c, struct ks_err *err)
{
    char path[700];
    struct ks_buf text;
    int rc = ks_cache_temp(&b->cache, c->dir, sizeof(c->dir), err);
    if (rc == 0)
        rc = ks_path_join(path, sizeof(path), c->dir, "unit.c", err);
    if (rc < 0)
        return rc;
    ks_buf_init(&text);
    rc = ks_unit_text(family_of(b, c), b->grid->instances, c->instances, c->n, &text, err);
    if (rc == 0)
        rc = ks_file_replace(path, text.data, text.len, err);
    ks_buf_release(&text);
    return rc;
}

static int spawn(struct ks_build *b, struct ks_compile *c, const struct ks_argv *a,
                 enum ks_compile_phase phase, struct ks_err *err)
{
    /* The reason of a failure is found by its English words. */
    const char *const env[] = { "LC_ALL=C", NULL };
    const struct ks_spawn s = { .argv = a->at,
                                .env = env,
                                .cwd = c->dir,
                                .fds = { -1, -1, -1, -1 },
                                .status_fd = -1,
                                .deadline_ns = ks_now_ns() + b->timeout_s * 1000000000ull,
                                .is_quiet = true };
    int rc = ks_warden_spawn(b->warden, &s, &c->child, err);
    if (rc < 0)
        return rc;
    c->phase = phase;
    b->n_started++;
    return 0;
}

static int start_one(struct ks_build *b, struct ks_compile *c, struct ks_err *err)
{
    struct ks_argv a;
    int rc;
    if (c->phase == KS_TO_LINK) {
        rc = ks_toolchain_link(&b->tool, &a, err);
        return rc < 0 ? rc : spawn(b, c, &a, KS_LINKING, err);
    }
    rc = write_unit(b, c, err);
    if (rc == 0)
        rc = ks_toolchain_compile(&b->tool, family_of(b, c)->extra_flags, &a, err);
    return rc < 0 ? rc : spawn(b, c, &a, KS_COMPILING, err);
}

static bool is_running(const struct ks_compile *c)
{
    return c->phase == KS_COMPILING || c->phase == KS_LINKING;
}

/* What is nearest to its end first. */
static struct ks_compile *next_waiting(struct ks_build *b)
{
    struct ks_compile *found = NULL;
    for (uint32_t i = 0; i < b->n_compiles; i++) {
        struct ks_compile *c = &b->compiles[i];
        if (!is_running(c) && (!found || (c->phase == KS_TO_LINK && found->phase != KS_TO_LINK)))
            found = c;
    }
    return found;
}

int ks_build_step(struct ks_build *b, uint32_t n_jobs, struct ks_err *err)
{
    uint32_t n = 0;
    if (b->pending.code) {
        const struct ks_err why = b->pending;
        b->pending.code = KS_OK;
        return ks_fail(err, why.code, "%s", why.text);
    }
    for (uint32_t i = 0; i < b->n_compiles; i++)
        n += is_running(&b->compiles[i]);
    for (; n < n_jobs; n++) {
        struct ks_compile *c = next_waiting(b);
        if (!c)
            return 0;
        int rc = start_one(b, c, err);
        if (rc < 0)
            return ks_err_context(err, rc, "starting a compiler");
    }
    return 0;
}

/* Ending
 * ------------------------------------------------------------------------------------------- */

static int split(struct ks_build *b, uint32_t i, struct ks_err *err)
{
    const uint32_t half = b->compiles[i].n / 2, i_unit = b->compiles[i].i_unit;
    int rc = ks_compile_queue(b, i_unit, b->compiles[i].instances, half, err);
    if (rc == 0)
        rc = ks_compile_queue(b, i_unit, b->compiles[i].instances + half, b->compiles[i].n - half,
                              err);
    return rc;
}

/* Is it the instance's fault, to be remembered? A full disk or a compiler killed for memory is
 * not. */
static bool is_final(const struct ks_child_end *end, const char *reason)
{
    return (end->how == KS_END_EXITED && !strstr(reason, "No space left") &&
            !strstr(reason, "Killed signal") && !strstr(reason, "out of memory")) ||
           end->how == KS_END_DEADLINE;
}

static int deal_with_failure(struct ks_build *b, uint32_t i, const struct ks_child_end *end,
                             struct ks_err *err)
{
    struct ks_compile *c = &b->compiles[i];
    char reason[256];
    if (end->how == KS_END_NO_EXEC)
        return ks_fail(err, KS_ENOENT, "the compiler '%s' cannot be started any more",
                       b->tool.command);
    if (end->how == KS_END_KILLED)
        return ks_fail(err, KS_EINTR, "the compiler was stopped");
    if (c->n > 1)
        return split(b, i, err);
    if (end->how == KS_END_DEADLINE) {
        snprintf(reason, sizeof(reason), "the compiler ran longer than %u s", b->timeout_s);
        return ks_compile_fail(b, c, KS_ART_TIMEOUT, reason, true, err);
    }
    if (end->how == KS_END_SIGNALED || end->how == KS_END_ABANDONED)
        snprintf(reason, sizeof(reason), "the compiler died: %s %d", ks_end_text(end->how),
                 end->code);
    else
        ks_toolchain_reason(end->tail, end->n_tail, reason, sizeof(reason));
    return ks_compile_fail(b, c, KS_ART_FAILED, reason, is_final(end, reason), err);
}

bool ks_build_child_ended(struct ks_build *b, const struct ks_child_end *end)
{
    uint32_t i = 0;
    while (i < b->n_compiles &&
           !(is_running(&b->compiles[i]) && b->compiles[i].child == end->child))
        i++;
    if (i == b->n_compiles)
        return false;
    struct ks_compile *c = &b->compiles[i];
    const bool ok = end->how == KS_END_EXITED && end->code == 0;
    c->compile_ns += end->wall_ns;
    if (ok && c->phase == KS_COMPILING) {
        c->phase = KS_TO_LINK;
        return true;
    }
    struct ks_err why = { .code = KS_OK };
    const int rc = ok ? ks_compile_publish(b, c, &why) : deal_with_failure(b, i, end, &why);
    if (rc < 0)
        b->pending = why;
    leave_queue(b, i);
    return true;
}

uint32_t ks_build_n_running(const struct ks_build *b)
{
    uint32_t n = 0;
    for (uint32_t i = 0; i < b->n_units; i++)
        n += b->units[i].n_pending > 0;
    return n;
}

int64_t ks_build_finished(struct ks_build *b)
{
    if (!b->n_finished)
        return -1;
    const uint32_t i_unit = b->finished[b->finished_at];
    b->finished_at = (b->finished_at + 1) % b->n_units;
    b->n_finished--;
    return i_unit;
}

uint64_t ks_build_n_compiles(const struct ks_build *b)
{
    return b->n_started;
}
