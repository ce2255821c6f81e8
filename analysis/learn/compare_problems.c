/* SPDX-License-Identifier: MIT */
/* compare_problems.c - the best instances of both sides; means over problems, whose intervals
 * resample problems with all their cells */
#include "analysis/learn/compare_impl.h"
#include "base/order.h"
#include "record/outcome.h"

#include <math.h>
#include <stdlib.h>

#define SEED 14u
#define TIE  0.005 /* relative */

/* Figures over the same problems form a group. */
enum { OF_CELLS, OF_BEST, OF_REGRET_A, OF_REGRET_B, N_GROUPS };
enum { CELLS, BEST, SUM_A, SUM_B, RATIO, SAME, TIED, REGRET_A, REGRET_B, N_FIGURES };
static const struct {
    uint32_t first, n; /* figures */
} groups[N_GROUPS] = {
    [OF_CELLS] = { CELLS, 1 },
    [OF_BEST] = { BEST, TIED - BEST + 1 },
    [OF_REGRET_A] = { REGRET_A, 1 },
    [OF_REGRET_B] = { REGRET_B, 1 },
};

struct problem {
    bool is_in[N_GROUPS];
    double n_cells, difference; /* pairs; the sum of their differences */
    double best, sum[2];        /* log of B / A of the best times; uses x ns */
    double is_same, is_tied, regret[2];
};

/* An instance of a problem on each side. */
struct entrant {
    uint32_t instance;
    uint32_t n_sweeps[2];       /* with a time of its own */
    uint32_t outcome[2];        /* ks_compare_worse() */
    uint32_t representative[2]; /* of an alias, else KS_NO_INSTANCE */
    bool is_contender[2];       /* in a sweep at least */
    double estimate[2];         /* log of ns, comparable within the side */
    double log_ns[2];           /* as it was measured */
};
struct work {
    const struct ks_compare_work *w;
    struct ks_comparison *c;
    struct entrant *entrants; /* [n] of the present problem, by instance */
    size_t n;
    double *value, *scratch, *shift;
    uint32_t *row, *column;
};

/* ---- one problem ---- */

/* v: [n] of one problem. */
static void list_entrants(struct work *w, const struct ks_compare_value *v, size_t n)
{
    w->n = 0;
    for (size_t i = 0; i < n; i++) {
        struct entrant *e;

        if (i == 0 || v[i].instance != v[i - 1].instance)
            w->entrants[w->n++] =
                (struct entrant){ .instance = v[i].instance,
                                  .representative = { KS_NO_INSTANCE, KS_NO_INSTANCE } };
        e = &w->entrants[w->n - 1];
        e->outcome[v[i].side] = ks_compare_worse(e->outcome[v[i].side], v[i].outcome);
        if (v[i].is_alias)
            e->representative[v[i].side] = v[i].representative;
        if (!v[i].has_time || v[i].is_alias)
            continue;
        e->n_sweeps[v[i].side]++;
        e->is_contender[v[i].side] = e->is_contender[v[i].side] || v[i].is_contender;
        e->log_ns[v[i].side] += v[i].label;
    }
    for (size_t i = 0; i < w->n; i++)
        for (uint32_t side = 0; side < 2; side++)
            if (w->entrants[i].n_sweeps[side])
                w->entrants[i].log_ns[side] /= w->entrants[i].n_sweeps[side];
}

/* The mean over the sweeps of a side, without what all instances share in a sweep. */
static void estimate(struct work *w, const struct ks_compare_value *v, size_t n, uint32_t side)
{
    const uint32_t first = side ? w->w->n_a : 0, end = side ? w->w->s->n_sweeps : w->w->n_a;
    uint32_t row = 0;
    size_t k = 0;

    for (size_t i = 0; i < n; i++) {
        row += i > 0 && v[i].instance != v[i - 1].instance;
        if (!v[i].has_time || v[i].is_alias || v[i].side != side)
            continue;
        w->value[k] = v[i].aligned;
        w->row[k] = row;
        w->column[k++] = v[i].sweep - first;
    }
    if (k == 0)
        return;
    ks_polish(w->value, w->row, w->column, k, end - first, w->shift, w->scratch);
    for (size_t i = 0; i < k; i++) {
        struct entrant *e = &w->entrants[w->row[i]];

        e->estimate[side] += (w->value[i] - w->shift[w->column[i]]) / e->n_sweeps[side];
    }
}

static const struct entrant *winner(const struct work *w, uint32_t side)
{
    const struct entrant *best = NULL;

    for (const struct entrant *e = w->entrants; e < w->entrants + w->n; e++)
        if (e->is_contender[side] && (!best || e->estimate[side] < best->estimate[side]))
            best = e;
    return best;
}

/* What was measured of e's code on a side: e, or its representative; NULL: nothing. */
static const struct entrant *measured(const struct work *w, const struct entrant *e, uint32_t side)
{
    if (e->n_sweeps[side] > 0)
        return e;
    for (const struct entrant *of = w->entrants; of < w->entrants + w->n; of++)
        if (of->instance == e->representative[side] && of->n_sweeps[side] > 0)
            return of;
    return NULL;
}

/* best: of both sides. What became of the best of one side on the other; NAN: it has no time there.
 * A dropped instance is no faster than the contenders, whatever its few rounds say. */
static double regret(const struct work *w, const struct entrant *const best[2], uint32_t side)
{
    const struct entrant *there = measured(w, best[side], !side);

    return there ? expm1(fmax(there->estimate[!side] - best[!side]->estimate[!side], 0)) : NAN;
}

static void compare_best(const struct work *w, const struct entrant *const best[2], double n_uses,
                         struct problem *out)
{
    out->best = best[1]->log_ns[1] - best[0]->log_ns[0];
    for (uint32_t side = 0; side < 2; side++) {
        out->sum[side] = n_uses * exp(best[side]->log_ns[side]);
        out->regret[side] = regret(w, best, side);
    }
    out->is_in[OF_BEST] = true;
    out->is_in[OF_REGRET_A] = !isnan(out->regret[0]);
    out->is_in[OF_REGRET_B] = !isnan(out->regret[1]);
    out->is_same = measured(w, best[0], 1) == best[1] || measured(w, best[1], 0) == best[0];
    out->is_tied = out->regret[0] <= TIE && out->regret[1] <= TIE;
}

static void find_lost(struct work *w, const struct entrant *best, uint32_t problem, uint32_t side)
{
    struct ks_comparison *c = w->c;

    if (!best || measured(w, best, !side))
        return;
    c->lost[c->n_lost[0] + c->n_lost[1]] =
        (struct ks_lost_best){ problem, best->instance, side, best->outcome[!side] };
    c->n_lost[side]++;
}

/* v: [n] of one problem. */
static void sum_up(struct work *w, const struct ks_compare_value *v, size_t n, struct problem *out)
{
    const struct entrant *best[2];
    size_t pair = SIZE_MAX;

    *out = (struct problem){ .n_cells = 0 };
    for (size_t i = 0; i < n; i++) {
        if (v[i].pair == SIZE_MAX || v[i].pair == pair)
            continue;
        pair = v[i].pair;
        out->n_cells++;
        out->difference += w->c->pairs[pair].difference;
    }
    out->is_in[OF_CELLS] = out->n_cells > 0;
    list_entrants(w, v, n);
    for (uint32_t side = 0; side < 2; side++) {
        estimate(w, v, n, side);
        best[side] = winner(w, side);
    }
    for (uint32_t side = 0; side < 2; side++) {
        find_lost(w, best[side], v->problem, side);
        w->c->n_problems_only[side] += best[side] && !best[!side];
    }
    if (best[0] && best[1])
        compare_best(w, best, (double)w->w->s->problems[v->problem].n_uses, out);
}

/* ---- over problems ---- */

struct drawing {
    const struct problem *problems; /* of one group */
    size_t n;
    uint32_t group;
};

static void figures(void *ctx, const uint32_t *unit, double *out)
{
    const struct drawing *d = ctx;
    const double n = (double)d->n;
    double of[N_FIGURES] = { 0 }, cells = 0;

    for (size_t i = 0; i < d->n; i++) {
        const struct problem *p = &d->problems[unit[i]];

        cells += p->n_cells;
        of[CELLS] += p->difference;
        of[BEST] += p->best / n;
        of[SUM_A] += p->sum[0];
        of[SUM_B] += p->sum[1];
        of[SAME] += p->is_same / n;
        of[TIED] += p->is_tied / n;
        of[REGRET_A] += p->regret[0] / n;
        of[REGRET_B] += p->regret[1] / n;
    }
    of[CELLS] = exp(of[CELLS] / cells);
    of[BEST] = exp(of[BEST]);
    of[RATIO] = of[SUM_B] / of[SUM_A];
    for (uint32_t k = 0; k < groups[d->group].n; k++)
        out[k] = of[groups[d->group].first + k];
}

/* out: the group's. kept: [n] scratch. Returns 0 or KS_ENOMEM. */
static int bootstrap(const struct problem *p, size_t n, uint32_t group, struct problem *kept,
                     struct ks_interval *out, struct ks_err *err)
{
    struct drawing d = { .problems = kept, .group = group };
    struct ks_bootstrap b = { .n_figures = groups[group].n,
                              .n_draws = KS_BOOTSTRAP_DRAWS,
                              .level = 0.95,
                              .seed = SEED,
                              .ctx = &d,
                              .figures = figures };

    for (size_t i = 0; i < n; i++)
        if (p[i].is_in[group])
            kept[d.n++] = p[i];
    for (uint32_t k = 0; k < groups[group].n; k++)
        out[k] = (struct ks_interval){ NAN, NAN, NAN };
    b.n_units = d.n;
    return d.n ? ks_bootstrap(&b, out, err) : 0;
}

static int find_intervals(const struct problem *p, size_t n, struct problem *kept,
                          struct ks_comparison *c, struct ks_err *err)
{
    struct ks_interval *const to[N_FIGURES] = {
        [CELLS] = &c->cells,       [BEST] = &c->best,          [SUM_A] = &c->sum[0],
        [SUM_B] = &c->sum[1],      [RATIO] = &c->ratio,        [SAME] = &c->same_winner,
        [TIED] = &c->same_or_tied, [REGRET_A] = &c->regret[0], [REGRET_B] = &c->regret[1],
    };
    struct ks_interval of[N_FIGURES];
    int rc = 0;

    for (uint32_t g = 0; rc == 0 && g < N_GROUPS; g++)
        rc = bootstrap(p, n, g, kept, &of[groups[g].first], err);
    for (int k = 0; rc == 0 && k < N_FIGURES; k++)
        *to[k] = of[k];
    return rc;
}

/* ---- all of it ---- */

static int by_importance(const void *x, const void *y)
{
    const struct ks_lost_best *a = x, *b = y;
    int d = ks_compare_u64(a->side, b->side);

    if (d == 0)
        d = (int)ks_outcome_needs_look(b->outcome) - (int)ks_outcome_needs_look(a->outcome);
    return d ? d : ks_compare_u64(a->problem, b->problem);
}

/* The number of problems, and the most values of one. */
static size_t count_problems(const struct ks_compare_work *w, size_t *most_out)
{
    size_t n = 0;

    *most_out = 0;
    for (size_t i = 0, end; i < w->n; i = end, n++) {
        end = ks_compare_problem_end(w, i);
        *most_out = end - i > *most_out ? end - i : *most_out;
    }
    return n;
}

static bool reserve(struct work *w, size_t n_problems, size_t most)
{
    w->entrants = calloc(most + 1, sizeof(*w->entrants));
    w->value = calloc(most + 1, sizeof(*w->value));
    w->scratch = calloc(2 * most + 1, sizeof(*w->scratch));
    w->shift = calloc(w->w->s->n_sweeps + 1u, sizeof(*w->shift));
    w->row = calloc(most + 1, sizeof(*w->row));
    w->column = calloc(most + 1, sizeof(*w->column));
    w->c->lost = calloc(2 * n_problems + 1, sizeof(*w->c->lost));
    return w->entrants && w->value && w->scratch && w->shift && w->row && w->column && w->c->lost;
}

static void count_up(struct ks_comparison *c, const struct problem *p)
{
    c->n_problems += p->is_in[OF_BEST];
    for (uint32_t side = 0; side < 2; side++) {
        if (!p->is_in[side ? OF_REGRET_B : OF_REGRET_A])
            continue;
        c->n_regrets[side]++;
        c->worst_regret[side] = fmax(c->worst_regret[side], p->regret[side]);
    }
}

int ks_compare_problems(const struct ks_compare_work *of, struct ks_comparison *c,
                        struct ks_err *err)
{
    struct work w = { .w = of, .c = c };
    size_t most, n_problems = count_problems(of, &most), n = 0;
    struct problem *p = calloc(n_problems + 1, sizeof(*p));
    struct problem *kept = calloc(n_problems + 1, sizeof(*kept));
    int rc = reserve(&w, n_problems, most) && p && kept
                 ? 0
                 : ks_fail(err, KS_ENOMEM, "out of memory for %zu problems", n_problems);

    c->worst_regret[0] = c->worst_regret[1] = NAN;
    for (size_t i = 0, end; rc == 0 && i < of->n; i = end) {
        end = ks_compare_problem_end(of, i);
        sum_up(&w, &of->values[i], end - i, &p[n]);
        count_up(c, &p[n++]);
    }
    if (rc == 0) {
        qsort(c->lost, c->n_lost[0] + c->n_lost[1], sizeof(*c->lost), by_importance);
        rc = find_intervals(p, n, kept, c, err);
    }
    free(w.entrants);
    free(w.value);
    free(w.scratch);
    free(w.shift);
    free(w.row);
    free(w.column);
    free(p);
    free(kept);
    return rc;
}
