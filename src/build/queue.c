/* SPDX-License-Identifier: MIT */
/* queue.c - what is compiled next, and by whom.
 *
 * A unit that is wanted waits until it is claimed: by us, and then it is compiled; or by somebody
 * else, and then it is finished when the cache has it. Claims of those who are gone are taken over
 * (claim.h). */
#include "build/plan.h"

#include "base/clock.h"

#include <dirent.h>
#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define LOOK_NS 100000000ull /* between two looks at the units of others */

static void report_finished(struct ks_build *b, uint32_t i_unit)
{
    struct ks_unit *u = &b->units[i_unit];
    u->is_wanted = false;
    if (u->claim.generation)
        ks_claim_release(b->cache.dir, &u->claim);
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
    (void)err;
    if (b->units[i_unit].is_wanted)
        return 0;
    if (ks_build_unit_is_missing(b, i_unit)) {
        b->units[i_unit].is_wanted = true;
        b->look_ns = 0;
    } else {
        report_finished(b, i_unit);
    }
    return 0;
}

/* Whose unit
 * ----------------------------------------------------------------------------------------- */

/* What is missing of a claimed unit goes on the queue. */
static int queue_unit(struct ks_build *b, uint32_t i_unit, struct ks_err *err)
{
    const struct ks_unit *u = &b->units[i_unit];
    uint32_t *missing = calloc(u->n, sizeof(*missing));
    uint32_t n = 0;
    if (!missing)
        return ks_fail(err, KS_ENOMEM, "out of memory for a unit of %u instances", u->n);
    for (uint32_t i = 0; i < u->n; i++)
        if (b->artefacts[b->order[u->first + i]].state == KS_ART_MISSING)
            missing[n++] = b->order[u->first + i];
    const int rc = ks_compile_queue(b, i_unit, missing, n, err);
    free(missing);
    return rc;
}

/* Network file systems keep answering that a name is not there; opening its directory makes them
 * ask the server. */
static void revalidate(const struct ks_build *b)
{
    char path[600];
    snprintf(path, sizeof(path), "%s/instances", b->cache.dir);
    DIR *d = opendir(path);
    if (d)
        closedir(d);
}

/* Is it built by now? Then it is finished. */
static int look_at(struct ks_build *b, uint32_t i_unit, bool *is_built_out, struct ks_err *err)
{
    int rc = ks_build_refresh(b, i_unit, err);
    *is_built_out = rc == 0 && !ks_build_unit_is_missing(b, i_unit);
    if (*is_built_out)
        report_finished(b, i_unit);
    return rc;
}

/* One wanted unit. *is_ours_out: it is on the queue now. */
static int try_unit(struct ks_build *b, uint32_t i_unit, const struct ks_claim_list *claims,
                    uint64_t now_ns, bool *is_ours_out, struct ks_err *err)
{
    struct ks_unit *u = &b->units[i_unit];
    bool is_built = false;
    if (ks_claim_is_held(b->cache.dir, claims, u->key, &b->watch, now_ns))
        return 0;
    int rc = look_at(b, i_unit, &is_built, err);
    if (rc < 0 || is_built)
        return rc;
    rc = ks_builder_beat(&b->cache.me, now_ns, err);
    if (rc == 0)
        rc = ks_claim_take(b->cache.dir, claims, u->key, &b->cache.me, &b->watch, now_ns, &u->claim,
                           err);
    if (rc <= 0)
        return rc;
    /* Between the look and the claim somebody may have claimed, built and gone. */
    rc = look_at(b, i_unit, &is_built, err);
    if (rc < 0 || is_built)
        return rc;
    *is_ours_out = true;
    return queue_unit(b, i_unit, err);
}

static bool is_unclaimed(const struct ks_unit *u)
{
    return u->is_wanted && !u->claim.generation;
}

static bool has_unclaimed(const struct ks_build *b)
{
    for (uint32_t i = 0; i < b->n_units; i++)
        if (is_unclaimed(&b->units[i]))
            return true;
    return false;
}

/* Puts the next unit on the queue that nobody else has; and finishes those that others have
 * built. */
static int claim_next(struct ks_build *b, struct ks_err *err)
{
    const uint64_t now_ns = ks_now_ns();
    struct ks_claim_list claims = { .n = 0 };
    bool is_ours = false;
    if (now_ns < b->look_ns || !has_unclaimed(b))
        return 0;
    revalidate(b);
    int rc = ks_claim_list(b->cache.dir, &claims, err);
    for (uint32_t i = 0; i < b->n_units && rc == 0 && !is_ours; i++)
        if (is_unclaimed(&b->units[i]))
            rc = try_unit(b, i, &claims, now_ns, &is_ours, err);
    ks_claim_list_release(&claims);
    if (!is_ours)
        b->look_ns = now_ns + LOOK_NS;
    return rc;
}

/* Turning
 * ----------------------------------------------------------------------------------------- */

/* What is nearest to its end first. */
static struct ks_compile *next_waiting(struct ks_build *b)
{
    struct ks_compile *found = NULL;
    for (uint32_t i = 0; i < b->n_compiles; i++) {
        struct ks_compile *c = &b->compiles[i];
        if (ks_compile_is_waiting(c) && (!found || c->phase > found->phase))
            found = c;
    }
    return found;
}

static int start_what_fits(struct ks_build *b, uint32_t n_jobs, struct ks_err *err)
{
    uint32_t n = 0;
    int rc = 0;
    for (uint32_t i = 0; i < b->n_compiles; i++)
        n += ks_compile_is_running(&b->compiles[i]);
    for (; n < n_jobs && rc == 0; n++) {
        struct ks_compile *c = next_waiting(b);
        if (!c) {
            rc = claim_next(b, err);
            c = next_waiting(b);
        }
        if (!c)
            break;
        if (rc == 0)
            rc = ks_compile_start(b, c, err);
    }
    return rc < 0 ? ks_err_context(err, rc, "starting a compiler") : 0;
}

/* While compilers run: hashing and syncing keep no core waiting. */
static int publish_all(struct ks_build *b, struct ks_err *err)
{
    int rc = 0;
    for (uint32_t i = 0; i < b->n_compiles && rc == 0;) {
        if (b->compiles[i].phase != KS_TO_PUBLISH) {
            i++;
            continue;
        }
        rc = ks_compile_publish(b, &b->compiles[i], err);
        leave_queue(b, i);
    }
    return rc;
}

int ks_build_step(struct ks_build *b, uint32_t n_jobs, struct ks_err *err)
{
    int rc = 0;
    if (b->pending.code) {
        const struct ks_err why = b->pending;
        b->pending.code = KS_OK;
        return ks_fail(err, why.code, "%s", why.text);
    }
    if (b->n_compiles)
        rc = ks_builder_beat(&b->cache.me, ks_now_ns(), err);
    if (rc == 0)
        rc = start_what_fits(b, n_jobs, err);
    return rc < 0 ? rc : publish_all(b, err);
}

bool ks_build_child_ended(struct ks_build *b, const struct ks_child_end *end)
{
    struct ks_err why = { .code = KS_OK };
    uint32_t i = 0;
    int rc = 0;
    while (i < b->n_compiles &&
           !(ks_compile_is_running(&b->compiles[i]) && b->compiles[i].child == end->child))
        i++;
    if (i == b->n_compiles)
        return false;
    const bool is_over = ks_compile_ended(b, i, end, &rc, &why);
    if (rc < 0)
        b->pending = why;
    if (is_over)
        leave_queue(b, i);
    return true;
}

int ks_build_wait(struct ks_build *b, struct ks_err *err)
{
    struct ks_child_end end;
    struct pollfd fd = { .fd = ks_warden_fd(b->warden), .events = POLLIN };
    int rc;
    if (poll(&fd, 1, 100) < 0 && errno != EINTR)
        return ks_fail_errno(err, "waiting for compilers");
    while ((rc = ks_warden_next(b->warden, &end, err)) == 1)
        (void)ks_build_child_ended(b, &end);
    return rc;
}

uint32_t ks_build_n_running(const struct ks_build *b)
{
    uint32_t n = 0;
    for (uint32_t i = 0; i < b->n_units; i++)
        n += b->units[i].is_wanted;
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
