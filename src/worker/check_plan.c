/* SPDX-License-Identifier: MIT */
/* check_plan.c - draws which samples of a cell are checked, and how */
#include "worker/check_plan.h"

#include "base/hash.h"

#include <math.h>
#include <string.h>

/* Shares of the time of samples that checks may take, beyond those that every round has; what a
 * check costs is known from those before it. */
#define SHARE_FRESH    0.05
#define SHARE_VERIFIED 0.015
#define SHARE_PLACEBO  0.005
#define SHARE_LOOK     0.015
#define SHARE_SINGLE   0.015
/* However cheap: most samples shall be plain ones. */
#define MOST_VERIFIED (1.0 / 16)
#define MOST_PLACEBO  (1.0 / 32)
#define MOST_SINGLE   0.5

/* Weight of the last cost among those before it. Noise makes costs higher only: one check that was
 * interrupted must not make checks rare for the rest of the round. */
#define NEW_HIGHER 0.25
#define NEW_LOWER  0.5
#define MOST_RISE  4.0 /* of the known cost: more does not count */

void ks_plan_init(struct ks_plan *p, uint64_t seed)
{
    memset(p, 0, sizeof(*p));
    p->rng = seed;
}

void ks_plan_visit(struct ks_plan *p, bool is_verified)
{
    p->is_visit = true;
    p->n_visit_places = is_verified;
}

static double draw(struct ks_plan *p)
{
    return (double)(ks_rng_next(&p->rng) >> 11) * 0x1p-53;
}

/* Chance of a check whose cost is to be a share of the time. */
static double chance(double share, double unit_ns, double cost_ns, double most)
{
    double v = cost_ns > 0.0 ? share * unit_ns / cost_ns : most;

    return v < most ? v : most;
}

static bool is_placed(const struct ks_plan *p, uint32_t at)
{
    for (uint32_t i = 0; i < p->n_places; i++)
        if (p->place[i] == at)
            return true;
    return false;
}

static void insert_place(struct ks_plan *p, uint32_t at)
{
    uint32_t i = p->n_places++;

    for (; i > 0 && p->place[i - 1] > at; i--)
        p->place[i] = p->place[i - 1];
    p->place[i] = at;
}

static void swap_kinds(struct ks_plan *p, uint32_t i, uint32_t k)
{
    uint32_t kind = p->kind[i];

    p->kind[i] = p->kind[k];
    p->kind[k] = kind;
}

void ks_plan_place(struct ks_plan *p, uint32_t horizon)
{
    /* The most important first, where there are only a few samples. */
    static const uint8_t kinds[KS_PLACES] = { KS_CHECK_VERIFIED, KS_CHECK_FRESH,
                                              KS_CHECK_VERIFIED, KS_CHECK_VERIFIED,
                                              KS_CHECK_PLACEBO,  KS_CHECK_FRESH,
                                              KS_CHECK_PLACEBO };
    const uint32_t most = p->is_visit ? p->n_visit_places : KS_PLACES;
    uint32_t n = horizon < most ? horizon : most;

    p->n_places = p->i_place = 0;
    while (p->n_places < n) {
        uint32_t at = (uint32_t)ks_rng_below(&p->rng, horizon);

        if (!is_placed(p, at))
            insert_place(p, at);
    }
    for (uint32_t i = 0; i < n; i++)
        p->kind[i] = kinds[i];
    for (uint32_t i = n; i > 1; i--)
        swap_kinds(p, i - 1, (uint32_t)ks_rng_below(&p->rng, i));
    /* Inputs can be exchanged when there are two sets that were verified. */
    for (uint32_t i = 1; i < n && p->kind[0] != KS_CHECK_VERIFIED; i++)
        swap_kinds(p, 0, i);
}

static struct ks_check check_of(struct ks_plan *p, uint32_t kind)
{
    if (kind == KS_CHECK_FRESH && p->n_verified < 2)
        kind = KS_CHECK_VERIFIED;
    p->n_verified += kind == KS_CHECK_VERIFIED;
    return (struct ks_check){ .kind = kind, .is_looked_at = kind != KS_CHECK_NONE };
}

static uint32_t draw_kind(struct ks_plan *p, double unit_ns)
{
    const double *cost = p->cost_ns;
    double u = draw(p), fresh = draw(p);

    u -= chance(SHARE_VERIFIED, unit_ns, cost[KS_CHECK_VERIFIED], MOST_VERIFIED);
    if (u < 0.0)
        return KS_CHECK_VERIFIED;
    u -= chance(SHARE_PLACEBO, unit_ns, cost[KS_CHECK_PLACEBO], MOST_PLACEBO);
    if (u < 0.0)
        return KS_CHECK_PLACEBO;
    if (p->n_verified >= 2 && fresh < chance(SHARE_FRESH, unit_ns, cost[KS_CHECK_FRESH], 1.0))
        return KS_CHECK_FRESH;
    return KS_CHECK_NONE;
}

static struct ks_check draw_check(struct ks_plan *p, double unit_ns)
{
    struct ks_check c = { .kind = KS_CHECK_NONE };

    if (p->is_visit)
        return c;
    c = check_of(p, draw_kind(p, unit_ns));
    if (c.kind == KS_CHECK_NONE)
        c.is_looked_at = draw(p) < chance(SHARE_LOOK, unit_ns, p->cost_ns[KS_CHECK_NONE], 1.0);
    return c;
}

/* Samples are told apart by what was done before them, so those of the smaller groups are asked for
 * alone. */
static bool is_alone(uint32_t kind)
{
    return kind == KS_CHECK_VERIFIED || kind == KS_CHECK_PLACEBO;
}

struct ks_check ks_plan_next(struct ks_plan *p, uint32_t n, double unit_ns, bool is_last,
                             uint32_t *most_out)
{
    struct ks_check c;

    if (!ks_plan_is_done(p) && (is_last || p->place[p->i_place] <= n))
        c = check_of(p, p->kind[p->i_place++]);
    else
        c = draw_check(p, unit_ns);
    *most_out = UINT32_MAX;
    if (!ks_plan_is_done(p))
        *most_out = p->place[p->i_place] > n ? p->place[p->i_place] - n : 1;
    if (is_alone(c.kind) || is_last)
        *most_out = 1;
    return c;
}

struct ks_check ks_plan_warm(struct ks_plan *p, uint32_t i, double unit_ns)
{
    if (i < 2 && !p->is_visit)
        return check_of(p, KS_CHECK_VERIFIED);
    return i == 2 && !p->is_visit ? check_of(p, KS_CHECK_FRESH) : draw_check(p, unit_ns);
}

bool ks_plan_is_done(const struct ks_plan *p)
{
    return p->i_place == p->n_places;
}

bool ks_plan_single(struct ks_plan *p, double unit_ns, bool is_last, struct ks_check *out)
{
    uint32_t *n = p->n_singles, kind;
    double cost = p->cost_ns[KS_CHECK_VERIFIED];
    double u = draw(p);

    if (p->is_visit)
        return false;
    if (is_last) {
        if (n[KS_CHECK_VERIFIED] >= KS_SINGLES && n[KS_CHECK_PLACEBO] >= KS_SINGLES)
            return false;
    } else if (u >= chance(SHARE_SINGLE, unit_ns, cost, MOST_SINGLE)) {
        return false;
    }
    kind = (ks_rng_next(&p->rng) & 1) != 0 ? KS_CHECK_VERIFIED : KS_CHECK_PLACEBO;
    if (is_last && n[kind] >= KS_SINGLES)
        kind = kind == KS_CHECK_VERIFIED ? KS_CHECK_PLACEBO : KS_CHECK_VERIFIED;
    n[kind]++;
    *out = check_of(p, kind);
    return true;
}

void ks_plan_note(struct ks_plan *p, const struct ks_check *c, double cost_ns)
{
    double *known = &p->cost_ns[c->kind];

    if (c->kind == KS_CHECK_NONE && !c->is_looked_at)
        return;
    if (*known <= 0.0)
        *known = fmax(cost_ns, 1.0);
    else if (cost_ns < *known)
        *known += NEW_LOWER * (cost_ns - *known);
    else
        *known += NEW_HIGHER * (fmin(cost_ns, MOST_RISE * *known) - *known);
}
