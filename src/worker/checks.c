/* SPDX-License-Identifier: MIT */
/* checks.c - checks samples: other inputs before one, its output compared after it */
#include "worker/checks.h"

#include "base/hash.h"
#include "worker/worker.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

void ks_checks_begin(struct ks_checks *c, struct ks_worker *w, uint32_t numerics, uint64_t seed)
{
    const struct ks_problem *p = &w->set.problem;

    *c = (struct ks_checks){
        .w = w,
        .tolerance = ks_tolerance_of(p->dtype, w->set.op->reduction(p), ks_u_acc(numerics)),
        .rng = ks_mix64(seed),
        .is_cold = w->setup.measure.cache == KS_CACHE_COLD,
    };
    ks_plan_init(&c->plan, seed);
}

static int end_as(struct ks_checks *c, enum ks_outcome outcome, const char *reason)
{
    c->outcome = outcome;
    snprintf(c->reason, sizeof(c->reason), "%.*s", (int)sizeof(c->reason) - 1, reason);
    return 1;
}

/* ---- before a sample ---- */

static int flip(struct ks_checks *c, enum ks_zone_name zone, struct ks_err *err)
{
    return c->w->inspector->flip(c->w, zone, err);
}

/* Inputs become those of another set, or stay what they are at the same cost. */
static int exchange(struct ks_checks *c, uint64_t seed, struct ks_err *err)
{
    int rc;

    ks_signs_between(&c->w->set.signs, c->seed, seed);
    rc = flip(c, KS_Z_REAL_A, err);
    if (rc == 0)
        rc = flip(c, KS_Z_REAL_B, err);
    if (rc == 0)
        c->seed = seed;
    return rc;
}

/* A set that differs from the present one in the output's first element at least. */
static uint64_t draw_seed(struct ks_checks *c)
{
    uint64_t seed;

    do {
        seed = ks_rng_next(&c->rng);
    } while (seed == 0 || ks_signs_first_is_minus(seed) == ks_signs_first_is_minus(c->seed));
    return seed;
}

static int fill(struct ks_checks *c, enum ks_zone_name zone, struct ks_err *err)
{
    return ks_zone_fill(c->w->dev, &c->w->set.zone[zone], KS_PATTERN_NAN, err);
}

static int prepare_verified(struct ks_checks *c, struct ks_err *err)
{
    uint64_t seed = draw_seed(c);
    int rc = exchange(c, seed, err);

    if (rc == 0)
        rc = fill(c, KS_Z_C, err);
    if (rc == 0)
        rc = fill(c, KS_Z_WORKSPACE, err);
    c->now = 1 - c->now;
    c->set[c->now].seed = seed;
    return rc;
}

static int prepare_fresh(struct ks_checks *c, struct ks_err *err)
{
    int rc;

    c->now = 1 - c->now;
    rc = exchange(c, c->set[c->now].seed, err);
    return rc == 0 ? fill(c, KS_Z_WORKSPACE, err) : rc;
}

static int prepare_placebo(struct ks_checks *c, struct ks_err *err)
{
    int rc = exchange(c, c->seed, err);

    ks_zone_rewrite(&c->w->set.zone[KS_Z_C]);
    ks_zone_rewrite(&c->w->set.zone[KS_Z_WORKSPACE]);
    return rc;
}

/* Afterwards the caches hold what was looked at or written, and nothing else of use. */
static int restore_condition(struct ks_checks *c, struct ks_err *err)
{
    static const enum ks_zone_name zones[] = { KS_Z_REAL_A, KS_Z_REAL_B, KS_Z_C };
    struct ks_device *dev = c->w->dev;
    int rc = 0;

    c->must_restore = false;
    for (size_t i = 0; rc == 0 && !c->is_cold && i < sizeof(zones) / sizeof(zones[0]); i++) {
        const struct ks_zone *z = &c->w->set.zone[zones[i]];

        rc = dev->ops->touch(dev, ks_zone_device(z), z->bytes, err);
    }
    return rc; /* cold: the sample flushes */
}

int ks_checks_before(void *ctx, const struct ks_check *check, struct ks_err *err)
{
    struct ks_checks *c = ctx;
    int rc = 0;

    switch ((enum ks_check_kind)check->kind) {
    case KS_CHECK_VERIFIED:
        rc = prepare_verified(c, err);
        break;
    case KS_CHECK_FRESH:
        rc = prepare_fresh(c, err);
        break;
    case KS_CHECK_PLACEBO:
        rc = prepare_placebo(c, err);
        break;
    default:
        break;
    }
    if (rc == 0 && (c->must_restore || check->kind != KS_CHECK_NONE))
        rc = restore_condition(c, err);
    return rc;
}

/* ---- after it ---- */

/* A verdict's elements have the signs of the set 0. */
static void turn_mismatches(const struct ks_checks *c, struct ks_verdict *v)
{
    for (uint32_t i = 0; i < v->n_mismatches; i++)
        if (ks_signs_has(&c->w->set.signs, 'c', v->mismatch[i].index)) {
            v->mismatch[i].got = -v->mismatch[i].got;
            v->mismatch[i].want = -v->mismatch[i].want;
        }
}

/* Every element against the reference, which is that of the set 0: so the output gets its signs for
 * a while. */
static int compare(struct ks_checks *c, struct ks_verdict *v, struct ks_err *err)
{
    struct ks_worker *w = c->w;
    struct ks_record *r = &w->rec;
    int rc;

    ks_signs_between(&w->set.signs, 0, c->seed);
    rc = flip(c, KS_Z_C, err);
    if (rc == 0)
        rc = w->inspector->real(w, &c->tolerance, v, err);
    if (rc < 0)
        return rc;
    if (v->n_wrong > 0)
        turn_mismatches(c, v);
    r->max_error = fmax(r->max_error, v->max_error);
    r->n_zero = v->n_zero;
    r->n_elements = (uint64_t)w->set.extents.c;
    r->tolerance_check = v->n_wrong == 0 ? 1 : 2;
    r->n_checked_launches++;
    return flip(c, KS_Z_C, err);
}

/* What was wrong, and why, as far as it can be told: `digest` is that of the output. */
static int end_wrong(struct ks_checks *c, const struct ks_check *check, uint64_t digest,
                     const struct ks_verdict *v)
{
    struct ks_record *r = &c->w->rec;
    char reason[160];

    ks_verdict_record(v, &c->w->shape, r);
    if (r->n_checked_launches == 1)
        return end_as(c, KS_O_WRONG_RESULT, "off by more than the tolerance");
    if (check->kind >= KS_CHECK_FRESH && digest == c->last_digest)
        return end_as(c, KS_O_WRONG_RESULT, "the output did not change when the inputs did");
    snprintf(reason, sizeof(reason), "off by more than the tolerance in 1 of %u launches checked%s",
             r->n_checked_launches,
             check->kind >= KS_CHECK_FRESH ? ": after its inputs were exchanged"
                                           : ": on inputs that had not changed");
    return end_as(c, check->kind >= KS_CHECK_FRESH ? KS_O_WRONG_RESULT : KS_O_NONDETERMINISTIC,
                  reason);
}

/* The output of a set that is new, or of a launch that did not leave the known bits. */
static int verify(struct ks_checks *c, const struct ks_check *check, uint64_t digest,
                  struct ks_err *err)
{
    struct ks_verdict v;
    int rc = compare(c, &v, err);

    if (rc == 0 && v.n_wrong > 0)
        rc = end_wrong(c, check, digest, &v);
    return rc;
}

static int look(struct ks_checks *c, const struct ks_check *check, uint64_t digest,
                struct ks_err *err)
{
    struct ks_record *r = &c->w->rec;

    if (check->kind == KS_CHECK_VERIFIED) {
        c->set[c->now].digest = digest;
        return verify(c, check, digest, err);
    }
    if (r->bitwise_reproducible != 2 && digest == c->set[c->now].digest) {
        r->bitwise_reproducible = 1;
        r->n_checked_launches++;
        return 0;
    }
    r->bitwise_reproducible = 2;
    return verify(c, check, digest, err);
}

int ks_checks_after(void *ctx, const struct ks_check *check, struct ks_err *err)
{
    struct ks_checks *c = ctx;
    struct ks_worker *w = c->w;
    uint64_t digest = 0;
    char reason[160] = "";
    int rc = 0;

    if (!check->is_looked_at)
        return 0;
    c->must_restore = true;
    if (!w->inspector->guards(w, reason, sizeof(reason), &rc, err))
        return rc < 0 ? rc : end_as(c, KS_O_OUT_OF_BOUNDS, reason);
    rc = w->inspector->hash(w, &digest, err);
    if (rc == 0)
        rc = look(c, check, digest, err);
    c->last_digest = digest;
    return rc;
}

int ks_checks_end(struct ks_checks *c, struct ks_err *err)
{
    return c->seed != 0 ? exchange(c, 0, err) : 0;
}
