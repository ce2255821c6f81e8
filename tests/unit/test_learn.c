/* SPDX-License-Identifier: MIT */
/* test_learn.c - what selectors' figures are made of: cells, folds, quantiles, picks, baselines */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
/* cmocka.h wants the four above first. */
#include <cmocka.h>

#include "analysis/learn/choosers.h"
#include "analysis/learn/folds.h"
#include "analysis/learn/metrics.h"
#include "analysis/learn/need.h"
#include "analysis/learn/networks.h"
#include "analysis/learn/objective.h"
#include "analysis/learn/retime.h"
#include "feature_kit.h"
#include "record/stats.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static void near(double got, double want)
{
    if (!(fabs(got - want) <= 1e-9 * (1 + fabs(want))))
        fail_msg("got %.17g, want %.17g", got, want);
}

/* times[problem][instance] in ns, 0 = not measured. */
static void fill(struct ks_cells *c, size_t n_problems, size_t n_instances, const double *times)
{
    static const char *const names[] = { "a", "b", "c", "d" };
    struct ks_err err = { 0 };

    *c = (struct ks_cells){ 0 };
    for (size_t i = 0; i < n_problems; i++) {
        struct ks_problem p = fkit_problem(i);
        uint32_t problem, instance;

        assert_int_equal(ks_cells_problem(c, &p, &problem, &err), 0);
        for (size_t j = 0; j < n_instances; j++) {
            struct ks_timed_cell cell = { .time_ns = times[i * n_instances + j],
                                          .se_ns = -1,
                                          .weight = 1 };

            assert_int_equal(ks_cells_instance(c, 100 + j, names[j], &instance, &err), 0);
            cell.problem = problem;
            cell.instance = instance;
            if (cell.time_ns > 0)
                assert_int_equal(ks_cells_add(c, &cell, &err), 0);
        }
    }
    assert_int_equal(ks_cells_finish(c, &err), 0);
}

static const double some_times[] = {
    10, 20, 40, 0,  /* a is best */
    30, 10, 20, 0,  /* b */
    0,  50, 10, 20, /* c; a was not measured */
    10, 11, 0,  10, /* a and d equal: a, the first */
};

/* ---- cells ---- */

static void cells_are_grouped(void **state)
{
    struct ks_cells c;
    struct ks_err err = { 0 };
    struct ks_timed_cell again = {
        .problem = 1, .instance = 2, .time_ns = 7, .se_ns = -1, .weight = 1
    };
    struct ks_timed_cell bad = { .time_ns = NAN, .se_ns = -1, .weight = 1 };

    (void)state;
    fill(&c, 4, 4, some_times);
    assert_int_equal(c.n, 12);
    assert_int_equal(c.problems[2].n, 3);
    assert_int_equal(c.cells[c.problems[2].best].instance, 2);
    assert_int_equal(c.cells[c.problems[3].best].instance, 0);
    assert_int_equal(ks_cells_at(&c, 2, 0), KS_NO_CELL);
    assert_int_equal(c.cells[ks_cells_at(&c, 2, 3)].instance, 3);
    assert_int_equal(ks_cells_find_instance(&c, 103), 3);
    assert_int_equal(ks_cells_find_problem(&c, 12345), UINT32_MAX);
    /* The later cell of a pair counts. */
    assert_int_equal(ks_cells_add(&c, &again, &err), 0);
    assert_int_equal(ks_cells_add(&c, &bad, &err), KS_EINVAL);
    assert_int_equal(ks_cells_finish(&c, &err), 0);
    assert_int_equal(c.n_replaced, 1);
    near(c.cells[c.problems[1].best].time_ns, 7);
    ks_cells_release(&c);
    assert_int_equal(ks_cells_finish(&c, &err), KS_EINVAL); /* none at all */
}

/* ---- folds ---- */

enum { MANY = 53 };

static void folds_keep_problems_whole(void **state)
{
    double times[MANY];
    uint8_t fold[MANY], again[MANY];
    size_t count[5] = { 0 };
    struct ks_cells c;
    struct ks_err err = { 0 };
    bool is_in[MANY];
    size_t n_in = 0;

    (void)state;
    for (size_t i = 0; i < MANY; i++)
        times[i] = 1;
    fill(&c, MANY, 1, times);
    assert_int_equal(c.n_problems, MANY);
    assert_int_equal(ks_folds_grouped(&c, 5, 1, fold, &err), 0);
    for (size_t i = 0; i < MANY; i++)
        count[fold[i]]++;
    for (size_t i = 0; i < 5; i++)
        assert_in_range(count[i], MANY / 5, MANY / 5 + 1);
    /* The order of the problems does not matter, the seed does. */
    for (size_t i = 0; i < MANY / 2; i++) {
        struct ks_cell_problem p = c.problems[i];

        c.problems[i] = c.problems[MANY - 1 - i];
        c.problems[MANY - 1 - i] = p;
    }
    assert_int_equal(ks_folds_grouped(&c, 5, 1, again, &err), 0);
    for (size_t i = 0; i < MANY; i++)
        assert_int_equal(fold[i], again[MANY - 1 - i]);
    assert_int_equal(ks_folds_grouped(&c, 5, 2, again, &err), 0);
    assert_int_not_equal(memcmp(fold, again, MANY), 0);
    assert_int_equal(ks_folds_sample(&c, 10, 1, is_in, &err), 0);
    for (size_t i = 0; i < MANY; i++)
        n_in += is_in[i];
    assert_int_equal(n_in, 10);
    assert_int_equal(ks_folds_grouped(&c, 1, 1, fold, &err), KS_EINVAL);
    c.n_problems = 4;
    assert_int_equal(ks_folds_grouped(&c, 5, 1, fold, &err), KS_EINVAL);
    c.n_problems = MANY;
    ks_cells_release(&c);
}

/* ---- quantiles ---- */

static void quantiles_by_hand(void **state)
{
    const double v[] = { 0.1, 0.2, 0.4, 0.8, 1.0 };
    double eff[] = { 1.0, 0.1, 0.8, 0.2, 0.4 };
    struct ks_line l, m;
    struct ks_err err = { 0 };

    (void)state;
    near(ks_stats_quantile(v, 5, 0.1), 0.14);
    near(ks_stats_quantile(v, 5, 1), 1);
    near(ks_quantile_index(v, 5, 0.1), 0.1);
    near(ks_quantile_index(v, 5, 0.5), 0.4);
    near(ks_stats_quantile(v, 4, 0.5), 0.3);
    near(ks_quantile_index(v, 4, 0.5), 0.4);
    assert_true(isnan(ks_stats_quantile(v, 0, 0.5)));
    assert_int_equal(ks_line(eff, 5, 200, 1, &l, &err), 0);
    near(l.mean, 0.5);
    near(l.median, 0.4);
    near(l.p10, 0.14);
    near(l.p1, 0.104);
    near(l.min, 0.1);
    assert_true(l.mean_lo < 0.4 && l.mean_lo > 0.15 && l.mean_hi > 0.6 && l.mean_hi < 0.85);
    assert_int_equal(ks_line(eff, 5, 200, 1, &m, &err), 0);
    near(m.mean_lo, l.mean_lo);
    assert_int_equal(ks_line(eff, 0, 200, 1, &m, &err), 0);
    assert_true(isnan(m.mean) && m.n == 0);
}

/* The four problems that join in Composable Kernel's own samples of oracle and predictions: rate
 * of the first prediction and best rate in TFLOP/s, rank of the first prediction; then a fifth
 * whose first prediction was not measured. */
static void composable_kernels_definitions(void **state)
{
    static const struct ks_ck_case cases[] = {
        { 53.48343849410673 / 56.42351743109629, false, 2 },
        { 3.310581266188694 / 3.3661048631945194, false, 1 },
        { 142.7465692162767 / 142.7465692162767, true, 0 },
        { 89.27685341674834 / 111.11856092639486, false, 10 },
        { -1, false, 0 },
    };
    struct ks_ck_scores s;
    struct ks_err err = { 0 };

    (void)state;
    assert_int_equal(ks_ck_compare(cases, 4, &s, &err), 0);
    near(s.mean, 93.37088924592209);
    near(s.p10, 80.34378115811407);
    near(s.p50, 98.3505089929631);
    near(s.min, 80.34378115811407);
    near(s.max, 100);
    near(s.top1, 25);
    near(s.top5, 75);
    assert_int_equal(ks_ck_validate(cases, 4, &s, &err), 0);
    near(s.mean, 93.37088924592209);
    near(s.p10, 84.67742686046319);
    near(s.p50, 96.56988791278714);
    /* Not measured: one counts it 0, the other leaves it out. */
    assert_int_equal(ks_ck_compare(cases, 5, &s, &err), 0);
    near(s.mean, 74.69671139673767);
    near(s.p10, 0);
    assert_int_equal(s.n, 5);
    assert_int_equal(ks_ck_validate(cases, 5, &s, &err), 0);
    near(s.mean, 93.37088924592209);
    assert_int_equal(s.n, 4);
    near(s.top1, 20);
}

/* ---- picks ---- */

static void picks_in_three_lines(void **state)
{
    const double scores[] = { 0, 3, 2, 1 }; /* a, d, c, b */
    struct ks_pick picks[4];
    struct ks_quality q;
    struct ks_cells c;
    struct ks_err err = { 0 };

    (void)state;
    fill(&c, 4, 4, some_times);
    for (uint32_t i = 0; i < 4; i++)
        ks_pick(&c, i, scores, &picks[i]);
    near(picks[0].eff, 1);
    near(picks[1].eff, 1.0 / 3); /* a: 30 of 10 */
    near(picks[2].eff, 0.5);     /* d, since a was not measured */
    near(picks[3].eff, 1);
    assert_int_equal(picks[1].rank, 2);
    assert_int_equal(picks[1].best_place, 2);
    assert_int_equal(picks[2].best_place, 1);
    near(picks[1].best_of_k[1], 0.5); /* a and c: 20 */
    near(picks[1].best_of_k[2], 1);
    assert_int_equal(picks[2].any, 0);
    assert_int_equal(picks[2].any_cell, KS_NO_CELL);
    near(picks[2].any_eff, 0);
    assert_int_equal(ks_quality(&c, picks, 4, 0, 1, &q, &err), 0);
    near(q.measured.mean, (1 + 1.0 / 3 + 0.5 + 1) / 4);
    near(q.zero.mean, (1 + 1.0 / 3 + 0 + 1) / 4);
    near(q.left_out.mean, (1 + 1.0 / 3 + 1) / 3);
    near(q.share, 0.75);
    near(q.hit[0], 0.5);
    near(q.hit[1], 1);
    near(q.inside[0], 0.5);
    near(q.tied, 0.5);
    near(q.ck_compare.mean, 100 * (1 + 1.0 / 3 + 0 + 1) / 4);
    near(q.weighted, 40.0 / (10 + 30 + 20 + 10));
    /* An instance that refuses the problem is not offered. */
    assert_int_equal(ks_cells_refuse(&c, 2, 0, &err), 0);
    ks_pick(&c, 2, scores, &picks[2]);
    assert_int_equal(picks[2].any, 3);
    near(picks[2].any_eff, 0.5);
    ks_cells_release(&c);
}

/* Of a list of four problems two are judged, with 3 uses and 1; one is not wanted, one not there.
 */
static void networks_are_weighed_by_use(void **state)
{
    const double scores[] = { 0, 3, 2, 1 }; /* a, d, c, b */
    const bool is_wanted[] = { false, true, true, true };
    struct ks_pick picks[4], best[4] = { { 0 } };
    struct ks_pick *by[KS_N_CHOOSERS] = { [KS_BY_MODEL] = picks, [KS_BY_CEILING] = best };
    const bool has_ceiling[] = { true, true, false, true };
    struct ks_scorecard_input in = { .is_wanted = is_wanted,
                                     .picks = by,
                                     .has_ceiling = has_ceiling,
                                     .n_bootstrap = 200,
                                     .seed = 1 };
    struct ks_problem_set list;
    struct ks_network w;
    struct ks_cells c;
    struct ks_err err = { 0 };

    (void)state;
    fill(&c, 4, 4, some_times);
    in.cells = &c;
    ks_problem_set_init(&list);
    for (uint32_t i = 0; i < 4; i++) {
        const size_t at[] = { 0, 1, 2, 7 };
        struct ks_problem p = fkit_problem(at[i]);

        p.count = i == 1 ? 3 : 1;
        assert_int_equal(ks_problem_set_add(&list, &p, &err), 0);
        ks_pick(&c, i, scores, &picks[i]);
        best[i].cell = c.problems[i].best;
    }
    picks[2].any_cell = KS_NO_CELL;
    assert_int_equal(ks_network_weigh(&in, &list, "net", &w, &err), 0);
    assert_int_equal(w.n_problems, 4);
    assert_int_equal(w.n_uses, 6);
    assert_int_equal(w.n_counted, 2);
    assert_int_equal(w.n_counted_uses, 4);
    assert_int_equal(w.n_free_uses, 3);
    near(w.best_ns, 3 * 10 + 10);
    near(w.ns[KS_BY_MODEL], 3 * 30 + 20);
    assert_true(isnan(w.ns[KS_BY_CEILING]) && isnan(w.ns[KS_BY_FIXED]));
    near(w.regret_lo, 1); /* problem 2 alone: 20 of 10 */
    near(w.regret_hi, 2); /* problem 1 alone: 30 of 10 */
    ks_problem_set_release(&list);
    ks_cells_release(&c);
}

static void ties_need_errors(void **state)
{
    struct ks_timed_cell a = { .time_ns = 100, .se_ns = 1 }, b = { .time_ns = 102, .se_ns = 1 };

    (void)state;
    assert_true(ks_cells_tied(&a, &b)); /* 2 <= 1.96 sqrt 2 */
    b.time_ns = 103;
    assert_false(ks_cells_tied(&a, &b));
    b = (struct ks_timed_cell){ .time_ns = 100.001, .se_ns = -1 };
    assert_false(ks_cells_tied(&a, &b));
    near(ks_label_weight(100, 1), 0.5);
    near(ks_label_weight(100, -1), 1);
}

/* ---- baselines ---- */

static void orders_see_training_only(void **state)
{
    const bool is_training[] = { true, true, false, true };
    struct ks_orders o, again;
    struct ks_cells c;
    struct ks_err err = { 0 };

    (void)state;
    fill(&c, 4, 4, some_times);
    assert_int_equal(ks_orders_fit(&o, &c, is_training, &err), 0);
    assert_int_equal(o.n_problems, 3);
    assert_int_equal(o.stats[0].n_wins, 2);
    assert_int_equal(o.stats[1].n_wins, 1);
    near(o.place[KS_ORDER_WINS][0], 0);
    near(o.place[KS_ORDER_WINS][1], 1);
    /* Mean efficiency, 0 where not measured: a (1 + 1/3 + 1) / 3, b (1/2 + 1 + 10/11) / 3. */
    near(o.place[KS_ORDER_FIXED][1], 0);
    near(o.place[KS_ORDER_FIXED][0], 1);
    near(o.place[KS_ORDER_EFFICIENCY][3], 0); /* d: 1 of one problem */
    for (size_t i = c.problems[2].first; i < c.problems[2].first + c.problems[2].n; i++)
        c.cells[i].time_ns *= 1 + (double)i;
    assert_int_equal(ks_orders_fit(&again, &c, is_training, &err), 0);
    for (int k = 0; k < KS_N_ORDERS; k++)
        assert_memory_equal(o.place[k], again.place[k], 4 * sizeof(double));
    ks_orders_release(&o);
    ks_orders_release(&again);
    ks_cells_release(&c);
}

static void neighbours_know_the_nearest(void **state)
{
    const bool is_training[] = { true, true, true, false };
    const double otherwise[] = { 0, 1, 2, 3 };
    struct ks_neighbours *n;
    struct ks_cells c;
    struct ks_err err = { 0 };
    double scores[4];

    (void)state;
    fill(&c, 4, 4, some_times);
    assert_int_equal(ks_neighbours_create(&n, &c, is_training, &err), 0);
    ks_neighbours_score(n, &c.problems[3].problem, otherwise, scores);
    near(scores[0], (log(1) + log(3)) / 2);
    near(scores[1], (log(2) + log(1) + log(5)) / 3);
    near(scores[3], log(2));
    ks_neighbours_destroy(n);
    ks_cells_release(&c);
}

/* ---- targets ---- */

static double loss_of(const struct ks_objective *o, const float *s)
{
    double sum = 0;

    for (size_t i = 0; i < o->n && o->target != KS_TARGET_PAIRWISE; i++)
        sum += o->weight[i] * (s[i] - o->y[i]) * (s[i] - o->y[i]) / 2;
    for (size_t g = 0; g < o->n_groups && o->target == KS_TARGET_PAIRWISE; g++)
        for (size_t i = o->first[g]; i < o->first[g + 1]; i++)
            for (size_t j = o->first[g]; j < o->first[g + 1]; j++)
                if (o->y[j] > o->y[i])
                    sum += o->weight[i] / (double)(o->first[g + 1] - o->first[g]) *
                           (1 - exp(o->y[i] - o->y[j])) * log1p(exp((double)s[i] - (double)s[j]));
    return sum;
}

static void gradients_are_derivatives(void **state)
{
    struct ks_pair_row rows[6];
    struct ks_cells c;
    struct ks_err err = { 0 };

    (void)state;
    fill(&c, 4, 4, some_times);
    for (size_t i = 0; i < 6; i++)
        rows[i] = (struct ks_pair_row){ c.cells[i].problem, c.cells[i].instance, i };
    rows[5].cell = KS_NO_CELL;
    for (uint32_t t = 0; t < KS_N_TARGETS; t++) {
        float s[] = { 0.3f, -0.2f, 0.1f, 0.5f, 0.25f, -0.4f }, first[6], second[6];
        struct ks_objective o;

        assert_int_equal(ks_target_from(ks_target_name(t)), t);
        assert_int_equal(ks_objective_init(&o, (enum ks_target)t, &c, rows, 6, false, &err), 0);
        assert_int_equal(o.n_groups, 2);
        ks_objective_gradient(&o, s, first, second);
        for (size_t i = 0; i < 6; i++) {
            const float step = 1.0f / 256, at = s[i];
            double above, below;

            s[i] = at + step;
            above = loss_of(&o, s);
            s[i] = at - step;
            below = loss_of(&o, s);
            s[i] = at;
            if (fabs((above - below) / (2 * step) - first[i]) > 1e-3)
                fail_msg("target %u row %zu: %g, want %g", t, i, first[i],
                         (above - below) / (2 * step));
            assert_true(second[i] > 0);
        }
        ks_objective_release(&o);
    }
    ks_cells_release(&c);
}

/* ---- what to measure next ---- */

static struct ks_problem of_batch(int64_t n, int64_t count)
{
    struct ks_problem p = fkit_problem(0);
    struct ks_err err = { 0 };

    p.dim[ks_problem_dim(p.op, "n")] = n;
    p.count = count;
    assert_int_equal(ks_problem_finish(&p, &err), 0);
    return p;
}

/* Training loses far from what it knows: batches 1 to 8 lie together, 1024 lies apart. */
static void need_prefers_the_far_and_the_used(void **state)
{
    const int64_t batches[] = { 1, 2, 4, 8, 1024 };
    const uint8_t fold[] = { 0, 1, 0, 1, 0 };
    const double loss[] = { 0.01, 0.01, 0.01, 0.01, 0.5 };
    struct ks_problem pool[] = { of_batch(3, 1), of_batch(2048, 1), of_batch(2000, 1),
                                 of_batch(6, 1) };
    struct ks_needed out[4];
    struct ks_cells c = { 0 };
    struct ks_err err = { 0 };

    (void)state;
    for (size_t i = 0; i < 5; i++) {
        struct ks_problem p = of_batch(batches[i], 1);
        struct ks_timed_cell cell = { .time_ns = 1, .se_ns = -1, .weight = 1 };

        assert_int_equal(ks_cells_problem(&c, &p, &cell.problem, &err), 0);
        assert_int_equal(ks_cells_instance(&c, 1, "a", &cell.instance, &err), 0);
        assert_int_equal(ks_cells_add(&c, &cell, &err), 0);
    }
    assert_int_equal(ks_cells_finish(&c, &err), 0);
    assert_int_equal(ks_need_choose(&c, fold, loss, pool, 4, true, 4, out, &err), 0);
    assert_in_range(out[0].i, 1, 2);
    assert_true(out[0].loss > 0.03);
    for (size_t i = 0; i < 4; i++) /* each once */
        for (size_t j = 0; j < i; j++)
            assert_int_not_equal(out[i].i, out[j].i);
    pool[3].count = 1000; /* used often: worth more than what is far */
    assert_int_equal(ks_need_choose(&c, fold, loss, pool, 4, true, 1, out, &err), 0);
    assert_int_equal(out[0].i, 3);
    assert_int_equal(ks_need_choose(&c, fold, loss, pool, 4, false, 1, out, &err), 0);
    assert_in_range(out[0].i, 1, 2);
    ks_cells_release(&c);
}

/* One far from all others loses most, three near each other lose more together: one of them comes
 * first, and then the far one, because the others of the three gain less from a second one. */
static void need_prefers_what_stands_for_many(void **state)
{
    const int64_t batches[] = { 1, 2 };
    const uint8_t fold[] = { 0, 1 };
    const double loss[] = { 0.1, 0.1 };
    struct ks_problem pool[] = { of_batch(1 << 20, 1), of_batch(64, 1), of_batch(65, 1),
                                 of_batch(66, 1) };
    const struct ks_problem close = of_batch(3, 1);
    struct ks_needed out[2];
    struct ks_cells c = { 0 };
    struct ks_err err = { 0 };

    (void)state;
    for (size_t i = 0; i < 2; i++) {
        struct ks_problem p = of_batch(batches[i], 1);
        struct ks_timed_cell cell = { .time_ns = 1, .se_ns = -1, .weight = 1 };

        assert_int_equal(ks_cells_problem(&c, &p, &cell.problem, &err), 0);
        assert_int_equal(ks_cells_instance(&c, 1, "a", &cell.instance, &err), 0);
        assert_int_equal(ks_cells_add(&c, &cell, &err), 0);
    }
    assert_int_equal(ks_cells_finish(&c, &err), 0);
    assert_int_equal(ks_need_choose(&c, fold, loss, pool, 4, true, 2, out, &err), 0);
    assert_in_range(out[0].i, 1, 3);
    assert_int_equal(out[1].i, 0);
    assert_true(out[1].loss > out[0].loss && out[1].loss <= 1);
    /* Half as far from training as training's problems from each other: half of what they lose. */
    assert_int_equal(ks_need_choose(&c, fold, loss, &close, 1, true, 1, out, &err), 0);
    assert_true(out[0].loss > 0.03 && out[0].loss < 0.08);
    near(out[0].value, out[0].loss);
    ks_cells_release(&c);
}

static void lost_pairs_are_told(void **state)
{
    struct ks_cells c;
    struct ks_err err = { 0 };

    (void)state;
    fill(&c, 4, 4, some_times);
    assert_false(ks_cells_is_lost(&c, 0, 3)); /* pending: nothing is known */
    assert_int_equal(ks_cells_lose(&c, 0, 3, &err), 0);
    ks_cells_truncate(&c, 2);
    assert_int_equal(ks_cells_finish(&c, &err), 0);
    assert_true(ks_cells_is_lost(&c, 0, 3));
    assert_true(ks_cells_is_lost(&c, 2, 0));
    assert_false(ks_cells_is_lost(&c, 2, 1));
    assert_int_equal(ks_cells_refuse(&c, 2, 0, &err), 0);
    assert_false(ks_cells_is_lost(&c, 2, 0));
    ks_cells_release(&c);
}

/* Efficiency is by the new times of the instances that the first times chose, whatever is fastest
 * now. */
static void new_times_judge_the_choice_of_the_first(void **state)
{
    static const double again[] = {
        12, 15, 1,  0, /* oracle a 12, pick b 15; c is not asked */
        30, 20, 16, 0, /* oracle b 20, pick c 16: above 1 */
        0,  0,  0,  0, /* the pick is the oracle: no new time is needed */
        10, 0,  0,  0, /* oracle a, pick b: no new time of b */
    };
    static const uint32_t chosen[] = { 1, 2, 2, 1 };
    const bool is_wanted[] = { true, true, true, true }, one[] = { false, false, true, true };
    struct ks_cells c, new;
    struct ks_pick picks[4], beside[4];
    struct ks_retimed r;
    struct ks_err err = { 0 };

    (void)state;
    fill(&c, 4, 4, some_times);
    fill(&new, 4, 4, again);
    for (uint32_t i = 0; i < 4; i++) {
        double scores[4] = { 1, 1, 1, 1 };

        scores[chosen[i]] = 0;
        ks_pick(&c, i, scores, &picks[i]);
    }
    assert_int_equal(ks_retime(&c, is_wanted, picks, NULL, &new, 0, 1, &r, &err), 0);
    assert_true(r.n_timed == 2 && r.n_same == 1 && r.n_missing == 1);
    near(r.first.mean, (0.5 + 0.5 + 1) / 3);
    near(r.again.mean, (12.0 / 15 + 20.0 / 16 + 1) / 3);
    near(r.oracle_ratio, sqrt(12.0 / 10 * 20 / 10));
    near(r.pick_ratio, sqrt(15.0 / 20 * 16 / 20));
    assert_int_equal(ks_retime(&c, one, picks, NULL, &new, 0, 1, &r, &err), KS_EINVAL);
    assert_non_null(strstr(err.text, "--write-retime"));
    /* beside picks of which the second has no new time */
    ks_pick(&c, 0, (double[]){ 1, 1, 0, 1 }, &beside[0]);
    ks_pick(&c, 1, (double[]){ 0, 1, 1, 1 }, &beside[1]);
    beside[2] = picks[2];
    beside[3] = picks[3];
    new.cells[ks_cells_at(&new, 1, 0)].time_ns = 0;
    assert_int_equal(ks_retime(&c, is_wanted, picks, beside, &new, 0, 1, &r, &err), 0);
    assert_true(r.n_timed == 1 && r.n_same == 1 && r.n_missing == 2);
    near(r.again.mean, (12.0 / 15 + 1) / 2);
    assert_int_equal(ks_retime(&c, one, picks, beside, &new, 0, 1, &r, &err), 0);
    assert_true(r.n_timed == 0 && r.n_same == 1 && isnan(r.pick_ratio));
    ks_cells_release(&c);
    ks_cells_release(&new);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(cells_are_grouped),
        cmocka_unit_test(folds_keep_problems_whole),
        cmocka_unit_test(quantiles_by_hand),
        cmocka_unit_test(composable_kernels_definitions),
        cmocka_unit_test(picks_in_three_lines),
        cmocka_unit_test(networks_are_weighed_by_use),
        cmocka_unit_test(ties_need_errors),
        cmocka_unit_test(orders_see_training_only),
        cmocka_unit_test(neighbours_know_the_nearest),
        cmocka_unit_test(gradients_are_derivatives),
        cmocka_unit_test(need_prefers_the_far_and_the_used),
        cmocka_unit_test(need_prefers_what_stands_for_many),
        cmocka_unit_test(lost_pairs_are_told),
        cmocka_unit_test(new_times_judge_the_choice_of_the_first),
    };

    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
