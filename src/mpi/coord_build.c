/* SPDX-License-Identifier: MIT */
/* coord_build.c - who compiles what before anything is measured: the ranks of a host share its
 * cache, take their shares, look again, and the first builds what is left. */
#include "base/clock.h"
#include "mpi/coord_impl.h"

#include <string.h>

#define BUILD_TRIES 2u /* builds of a rank, after its first share */

static bool is_same_host(const struct rank *a, const struct rank *b)
{
    return strcmp(a->host, b->host) == 0;
}

/* Rank k takes part in the builds of the host of rank i. */
static bool builds_with(const struct ks_coord *c, uint32_t k, uint32_t i)
{
    const struct rank *r = &c->ranks[k];
    return ks_coord_is_alive(r) && !r->is_broken && is_same_host(r, &c->ranks[i]);
}

/* The first rank of a host that can build; it builds what others left. i when there is none. */
static uint32_t first_of_host(const struct ks_coord *c, uint32_t i)
{
    for (uint32_t k = 0; k < c->n_ranks; k++)
        if (builds_with(c, k, i))
            return k;
    return i;
}

/* Labels of one sweep come from one build of each instance. */
static int check_builds(struct ks_coord *c, struct ks_err *err)
{
    const struct ks_grid *g = c->c.grid;
    for (uint32_t i = 0; c->c.build && i < g->n_instances; i++) {
        const struct ks_artefact *a = ks_build_artefact(c->c.build, i);
        struct ks_id128 was = ks_ledger_build(c->c.ledger, g->instances[i].id);
        if (a->state != KS_ART_READY || ks_id128_is_zero(was) || ks_id128_eq(was, a->build_id))
            continue;
        if (!c->c.accept_rebuild)
            return ks_fail(err, KS_EINVAL,
                           "instance '%s' was measured from another build (source, compiler or "
                           "flags changed): resume with --accept-rebuild, or start anew",
                           g->instances[i].name);
        return ks_coord_event(c, KS_EV_CHANGED_KEY, 0, err,
                              "resumed with rebuilt kernels, '%s' the first (--accept-rebuild)",
                              g->instances[i].name);
    }
    return 0;
}

static int start_measuring(struct ks_coord *c, uint32_t i, struct ks_err *err)
{
    struct rank *r = &c->ranks[i];
    r->state = RANK_READY;
    if (!r->measures)
        return 0;
    int rc = c->is_measuring ? 0 : check_builds(c, err);
    if (rc == 0 && !c->is_measuring)
        rc = ks_coord_alias_begin(c, err);
    if (!c->is_measuring)
        c->measuring_ns = ks_now_ns();
    c->is_measuring = true;
    return rc < 0 ? rc : ks_sched_device_add(c->sched, i, err);
}

static bool has_built(const struct ks_coord *c, uint32_t first)
{
    for (uint32_t k = 0; k < c->n_ranks; k++)
        if (builds_with(c, k, first) && !c->ranks[k].has_built)
            return false;
    return true;
}

static int ask_to_build(struct ks_coord *c, uint32_t k, bool is_all, struct ks_err *err)
{
    struct rank *r = &c->ranks[k];
    r->has_checked = false;
    r->n_tries += is_all;
    return ks_coord_send(c, k, KS_F_MSG_BUILD, is_all, 0, err);
}

/* Every rank of a host has built its share: let them look at the cache again, and the first one
 * build what is still missing. */
static int check_host(struct ks_coord *c, uint32_t first, struct ks_err *err)
{
    int rc = 0;
    for (uint32_t k = 0; k < c->n_ranks && rc == 0; k++) {
        if (!builds_with(c, k, first) || c->ranks[k].state != RANK_BUILDING)
            continue;
        c->ranks[k].state = RANK_CHECKING;
        rc = ask_to_build(c, k, k == first, err);
    }
    return rc;
}

/* What a rank still misses after so many builds will be missing for ever: those cells are refused
 * one by one. */
static bool is_checked(const struct rank *r)
{
    return r->has_checked && (!r->n_missing || r->n_tries >= BUILD_TRIES);
}

/* Whoever misses something after the first one has built has a cache of its own, or the first one
 * is lost: it builds, too. Nobody measures on a host where compilers run. */
static int check_further(struct ks_coord *c, uint32_t first, struct ks_err *err)
{
    bool is_over = true, may_build = true;
    int rc = 0;
    for (uint32_t k = first; k < c->n_ranks && rc == 0; k++) {
        const struct rank *r = &c->ranks[k];
        if (!builds_with(c, k, first) || is_checked(r))
            continue;
        if (may_build && r->has_checked)
            rc = ask_to_build(c, k, true, err);
        is_over = may_build = false;
    }
    for (uint32_t k = first; is_over && k < c->n_ranks && rc == 0; k++)
        if (builds_with(c, k, first) && c->ranks[k].state == RANK_CHECKING)
            rc = start_measuring(c, k, err);
    return rc;
}

/* One step of the builds of the host of rank i, if there is one to take. */
static int advance_host(struct ks_coord *c, uint32_t i, struct ks_err *err)
{
    uint32_t first = first_of_host(c, i);
    if (!builds_with(c, first, i))
        return 0;
    if (c->ranks[first].state == RANK_BUILDING && has_built(c, first))
        return check_host(c, first, err);
    return c->ranks[first].state == RANK_CHECKING ? check_further(c, first, err) : 0;
}

/* A rank that has not said hello might be of any host. */
static bool all_are_known(const struct ks_coord *c)
{
    for (uint32_t i = 0; i < c->n_ranks; i++)
        if (c->ranks[i].state == RANK_AWAITED)
            return false;
    return true;
}

int ks_coord_advance_builds(struct ks_coord *c, struct ks_err *err)
{
    int rc = 0;
    for (uint32_t i = 0; i < c->n_ranks && rc == 0; i++)
        if (all_are_known(c) && builds_with(c, i, i) && first_of_host(c, i) == i)
            rc = advance_host(c, i, err);
    return rc;
}

int ks_coord_build_end(struct ks_coord *c, uint32_t from, uint32_t n_missing, struct ks_err *err)
{
    struct rank *r = &c->ranks[from];
    r->n_missing = n_missing;
    r->has_checked = r->state == RANK_CHECKING;
    if (r->state == RANK_BUILDING)
        r->has_built = true;
    return r->state <= RANK_CHECKING && all_are_known(c) ? advance_host(c, from, err) : 0;
}
