/* SPDX-License-Identifier: MIT */
/* compare_decide.c - tests the differences against the margin and limits false discoveries */
#include "analysis/learn/compare_impl.h"
#include "race/student.h"
#include "record/stats.h"

#include <math.h>
#include <stdlib.h>

#define POWER 0.8 /* of `smallest` */

const char *const ks_change_names[] = { "UNSURE", "SAME", "FASTER", "SLOWER" };

double ks_false_discovery_cut(double *p, size_t n, double rate)
{
    ks_stats_sort(p, n);
    for (size_t i = n; i > 0; i--)
        if (p[i - 1] <= rate * (double)i / (double)n)
            return p[i - 1];
    return 0;
}

/* ---- p values ---- */

double ks_compare_shown(double own, double whole)
{
    if (own * whole <= 0)
        return 0;
    return fabs(own) < fabs(whole) ? own : whole;
}

static double change_shown(const struct ks_pair *p)
{
    return ks_compare_shown(p->difference - p->shared, p->difference);
}

static double p_of(const struct ks_comparison *c, const struct ks_pair *p, double d)
{
    double student = ks_student_tail((d - c->margin) / p->sd, p->freedom) +
                     ks_student_tail((d + c->margin) / p->sd, p->freedom);

    return fmax(student, ks_compare_late(c, d - c->margin, p->n_rounds));
}

static void test_pair(const struct ks_comparison *c, struct ks_pair *p)
{
    double sd = hypot(p->sd, p->shared_sd);

    p->p_changed = p_of(c, p, fabs(change_shown(p)));
    p->p_same = ks_student_tail((c->margin - fabs(p->difference)) / sd, p->freedom);
}

/* ---- cuts ---- */

struct cuts { /* the largest p values that are rejected; < 0: none */
    double faster, slower, same;
    double found; /* of changes in either direction, by the p values alone */
    double reach; /* of a slowdown that is added to those that were found */
};
struct call { /* a p value of a change that would be rejected */
    double p;
    bool is_slower;
};

static int by_p(const void *a, const void *b)
{
    const struct call *x = a, *y = b;

    if (x->p != y->p)
        return x->p < y->p ? -1 : 1;
    return (int)x->is_slower - (int)y->is_slower;
}

/* Of the calls in one direction, at most as many as those in the other, and one more, may be
 * noise. call: [n] ascending; more: calls in this direction that would come before them. */
static double mirror_cut(const struct call *call, size_t n, bool is_slower, double rate,
                         size_t more)
{
    size_t this = more, other = 0;
    double cut = -1;

    for (size_t i = 0; i < n; i++) {
        this += call[i].is_slower == is_slower;
        other += call[i].is_slower != is_slower;
        if (i + 1 < n && call[i + 1].p <= call[i].p)
            continue;
        if (1 + (double)other <= rate * (double)this)
            cut = call[i].p;
    }
    return cut;
}

static size_t list_calls(const struct ks_comparison *c, uint32_t class, double cut,
                         struct call *call)
{
    size_t n = 0;

    for (size_t i = 0; i < c->n_pairs; i++) {
        const struct ks_pair *p = &c->pairs[i];

        if (ks_compare_class(p) == class && p->p_changed <= cut)
            call[n++] = (struct call){ p->p_changed, change_shown(p) > 0 };
    }
    qsort(call, n, sizeof(*call), by_p);
    return n;
}

/* The p values of a class; returns how many. */
static size_t list_p(const struct ks_comparison *c, uint32_t class, bool is_same, double *p)
{
    size_t n = 0;

    for (size_t i = 0; i < c->n_pairs; i++)
        if (ks_compare_class(&c->pairs[i]) == class)
            p[n++] = is_same ? c->pairs[i].p_same : c->pairs[i].p_changed;
    return n;
}

/* ---- verdicts ---- */

static uint32_t change_of(const struct ks_pair *p, const struct cuts *cut)
{
    double shown = change_shown(p);

    if (shown < 0 && p->p_changed <= cut->faster)
        return KS_FASTER;
    if (shown > 0 && p->p_changed <= cut->slower)
        return KS_SLOWER;
    return p->p_same <= cut->same ? KS_SAME : KS_UNSURE;
}

/* The least x by which values of n_rounds are late in at most a share `reach` of cases. */
static double least_late(const struct ks_comparison *c, uint32_t n_rounds, double reach)
{
    double lo = 0, hi = 0;

    for (uint32_t side = 0; side < 2; side++)
        if (c->n_late[side] > 0) /* of two rounds half of the step counts */
            hi = fmax(hi, 1.01 * c->late[side][c->n_late[side] - 1]);
    if (ks_compare_late(c, 0, n_rounds) <= reach)
        return 0;
    if (ks_compare_late(c, hi, n_rounds) > reach)
        return INFINITY;
    for (int i = 0; i < 40; i++) {
        double mid = (lo + hi) / 2;

        if (ks_compare_late(c, mid, n_rounds) > reach)
            lo = mid;
        else
            hi = mid;
    }
    return hi;
}

/* A slowdown whose difference would reach p values of at most `reach` in 80 % of cases. What the
 * problem shares hides it as far as it is in the other direction. */
static double smallest_of(const struct ks_comparison *c, const struct ks_pair *p, double reach)
{
    double above;

    if (reach <= 0)
        return INFINITY;
    above = fmax(p->sd * ks_student_quantile(reach, p->freedom), least_late(c, p->n_rounds, reach));
    return c->margin + above + p->sd * ks_student_quantile(1 - POWER, p->freedom) +
           fmax(-p->shared, 0);
}

static void set_verdict(struct ks_comparison *c, struct ks_pair *p, const struct cuts *cut,
                        double alone)
{
    double reach = fmax(cut->found, alone);

    p->change = change_of(p, cut);
    c->n_change[p->change]++;
    c->n_together += p->p_changed > reach && p_of(c, p, fabs(p->difference)) <= reach;
    p->smallest = smallest_of(c, p, cut->reach);
    c->n_blind += isinf(p->smallest) != 0;
}

/* share: the rate of one class. */
static void decide_class(struct ks_comparison *c, uint32_t class, double rate, double share,
                         double *scratch, struct call *call)
{
    size_t n = list_p(c, class, false, scratch), n_calls;
    struct cuts cut = { .found = ks_false_discovery_cut(scratch, n, share) };

    (void)list_p(c, class, true, scratch);
    cut.same = ks_false_discovery_cut(scratch, n, share);
    cut.faster = cut.slower = cut.found;
    cut.reach = fmax(cut.found, share / (double)n);
    if (c->is_heavy[class] || c->has_few_steps) {
        n_calls = list_calls(c, class, cut.found, call);
        cut.faster = mirror_cut(call, n_calls, false, rate, 0);
        cut.slower = mirror_cut(call, n_calls, true, rate, 0);
        cut.reach = mirror_cut(call, n_calls, true, rate, 1);
    }
    for (size_t i = 0; i < c->n_pairs; i++)
        if (ks_compare_class(&c->pairs[i]) == class) /* share / n: of a cell that is found alone */
            set_verdict(c, &c->pairs[i], &cut, share / (double)n);
}

/* At least 1. */
static uint32_t n_classes(const struct ks_comparison *c)
{
    bool has[KS_COMPARE_CLASSES] = { false };
    uint32_t n = 0;

    for (size_t i = 0; i < c->n_pairs; i++)
        has[ks_compare_class(&c->pairs[i])] = true;
    for (uint32_t k = 0; k < KS_COMPARE_CLASSES; k++)
        n += has[k];
    return n ? n : 1;
}

/* If nothing changed, every call is false, and the rates of the classes add up: each has its share.
 */
int ks_compare_decide(struct ks_comparison *c, double margin, double rate, struct ks_err *err)
{
    double *scratch = calloc(c->n_pairs + 1, sizeof(*scratch)), share = rate / n_classes(c);
    struct call *call = calloc(c->n_pairs + 1, sizeof(*call));
    int rc =
        scratch && call ? 0 : ks_fail(err, KS_ENOMEM, "out of memory for %zu cells", c->n_pairs);

    c->margin = margin;
    c->n_together = c->n_blind = 0;
    for (uint32_t k = 0; k < KS_N_CHANGES; k++)
        c->n_change[k] = 0;
    for (size_t i = 0; rc == 0 && i < c->n_pairs; i++)
        test_pair(c, &c->pairs[i]);
    for (uint32_t class = 0; rc == 0 && class < KS_COMPARE_CLASSES; class ++)
        decide_class(c, class, rate, share, scratch, call);
    free(scratch);
    free(call);
    return rc;
}

int ks_compare_limit(struct ks_comparison *c, double limit, double rate, struct ks_err *err)
{
    int rc = ks_compare_decide(c, limit, rate, err);

    c->n_unseen = 0;
    for (size_t i = 0; rc == 0 && i < c->n_pairs; i++) {
        struct ks_pair *p = &c->pairs[i];

        p->at_limit = p->change;
        c->n_unseen += p->change == KS_UNSURE && expm1(p->smallest) > 2 * expm1(limit);
    }
    return rc;
}
