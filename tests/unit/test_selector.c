/* SPDX-License-Identifier: MIT */
/* test_selector.c - a model's trees as selectors walk them, and selectors as C source */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
/* cmocka.h wants the four above first. */
#include <cmocka.h>

#include "analysis/learn/class_order.h"
#include "analysis/model/selector.h"
#include "base/file.h"
#include "base/hash.h"
#include "op/conv.h"
#include "selector_kit.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define N(a) (sizeof(a) / sizeof((a)[0]))

/* ---- choices ---- */

static void create(struct made *m, uint32_t size, uint32_t smallest, struct ks_selector *s)
{
    const struct ks_selector_options o = { size, smallest };
    uint8_t fold[N_PROBLEMS];
    struct ks_forest f;
    struct ks_err err;

    for (size_t i = 0; i < N_PROBLEMS; i++)
        fold[i] = (uint8_t)(i % 5);
    skit_forest(m, &f);
    if (ks_selector_create(&m->spec, &f, KS_TARGET_LOG_TIME, &m->cells, fold, &o, s, &err) < 0)
        fail_msg("%s", err.text);
}

/* Every second tree begins with a split on what one instance lacks: it goes left or right. */
static void split_on_missing(const struct made *m, struct ks_forest *f)
{
    uint16_t missing = 0;

    while (strcmp(m->names[missing], "code_bytes") != 0)
        missing++;
    for (uint32_t t = 1; t < f->n_trees; t += 2) {
        struct ks_sel_node *root = &f->nodes[f->trees[t].root];

        root->feature = (uint16_t)(missing + (t % 4 == 1 ? f->n_features + 1 : 0));
        root->value = 550;
    }
}

/* Every problem, by brute force: the least prediction among the instances that apply. */
static void test_full_picks_the_least_prediction(void **state)
{
    struct made *m = *state;
    struct ks_selector s;

    create(m, KS_SEL_FULL, 0, &s);
    split_on_missing(m, &s.forest);
    s.model.scale = 1;
    for (size_t p = 0; p < N_PROBLEMS; p++) {
        struct ks_sel_pick picks[4];
        double score[FKIT_INSTANCES], least = INFINITY;
        int rule, n_picks, n = 0;

        s.model.meaning = p % 2 ? KS_SEL_LOG : KS_SEL_ORDER;
        n_picks = ks_selector_pick(&s, &m->problems[p], NULL, picks, 4, &rule);
        for (uint32_t i = 0; i < FKIT_INSTANCES; i++) {
            float row[KS_FEATURES_MAX + 1];

            score[i] = INFINITY;
            if (!ks_feature_applies(&m->spec, &m->problems[p], i))
                continue;
            ks_features_row(&m->spec, &m->problems[p], i, row);
            row[m->spec.n_features] = -INFINITY;
            score[i] = ks_forest_predict(&s.forest, row);
            least = fmin(least, score[i]);
            n++;
        }
        assert_int_equal(n_picks, n);
        assert_int_equal(rule, KS_SEL_BY_MODEL);
        assert_true(score[picks[0].instance] == least);
        for (int k = 0; k < n; k++) {
            const double want = exp(score[picks[k].instance] - least) - 1;

            assert_true(fabs((double)picks[k].regret - want) <= 1e-6 * (1 + want));
            assert_true(k == 0 || picks[k].regret >= picks[k - 1].regret);
        }
    }
    ks_selector_release(&s);
}

static void test_rules(void **state)
{
    static const uint8_t only_dot[] = { 0, 0, 1, 0 }, none[] = { 0, 0, 0, 0 };
    struct made *m = *state;
    struct ks_selector s;
    struct ks_sel_pick picks[4];
    struct ks_problem odd = fkit_conv(KS_FORWARD, 1, 1, 60, 64, 14, 3, 1),
                      vast = fkit_conv(KS_FORWARD, 1, 1, 64, 64, 14, 11, 1);
    int rule;

    create(m, KS_SEL_FULL, 0, &s);
    assert_int_equal(ks_selector_pick(&s, &vast, NULL, picks, 4, &rule), 3);
    assert_int_equal(rule, KS_SEL_BY_CLASS);
    assert_int_equal(picks[0].instance, s.class_orders[s.class_first[KS_FX_CLASS_LARGE_FILTER]]);
    assert_string_equal(ks_feature_outside(&m->spec, &vast), "y");
    assert_null(ks_feature_outside(&m->spec, &odd));
    /* dot does not apply to 60 channels, but nothing else is allowed */
    assert_int_equal(ks_selector_pick(&s, &odd, only_dot, picks, 4, &rule), 1);
    assert_int_equal(rule, KS_SEL_SAFE);
    assert_int_equal(picks[0].instance, 2);
    odd = fkit_conv(KS_FORWARD, 1, 1, 64, 64, 14, 3, 1);
    assert_int_equal(ks_selector_pick(&s, &odd, only_dot, picks, 4, &rule), 1);
    assert_int_equal(rule, KS_SEL_ONLY);
    assert_int_equal(ks_selector_pick(&s, &odd, none, picks, 4, &rule), 0);
    odd.op = 1;
    assert_int_equal(ks_selector_pick(&s, &odd, NULL, picks, 4, &rule), 1);
    assert_int_equal(rule, KS_SEL_SAFE);
    ks_selector_release(&s);
    create(m, KS_SEL_DISTILLED, 2, &s);
    assert_int_equal(s.model.n_instances, 2);
    assert_true(ks_selector_pick(&s, &m->problems[3], NULL, picks, 4, &rule) >= 1);
    assert_int_equal(rule, KS_SEL_BY_TABLE);
    ks_selector_release(&s);
}

/* ---- outside of the range ---- */

/* Problems of all classes with a batch that training has not seen, and all instances that compute
 * them; with those of training in one table. */
static void make_outside(const struct made *m, struct ks_cells *c)
{
    *c = (struct ks_cells){ 0 };
    assert_int_equal(ks_cells_append(c, &m->cells, NULL), 0);
    for (size_t p = 0; p < N_PROBLEMS; p++) {
        struct ks_problem far = m->problems[p];

        far.dim[KS_CONV_N] = 1000;
        assert_int_equal(ks_problem_finish(&far, NULL), 0);
        for (uint32_t i = 0; i < m->spec.n_instances; i++) {
            struct ks_timed_cell cell = { .time_ns = 100 + i, .se_ns = -1, .weight = 1 };

            if (!ks_feature_applies(&m->spec, &far, i))
                continue;
            assert_int_equal(ks_cells_problem(c, &far, &cell.problem, NULL), 0);
            assert_int_equal(ks_cells_instance(c, m->spec.instances[i].id,
                                               m->spec.instances[i].name, &cell.instance, NULL),
                             0);
            assert_int_equal(ks_cells_add(c, &cell, NULL), 0);
        }
    }
    assert_int_equal(ks_cells_finish(c, NULL), 0);
}

static const char *not_of_training(void *ctx, uint32_t problem)
{
    return problem < ((const struct made *)ctx)->cells.n_problems ? NULL : "n";
}

/* Selectors of all sizes pick what validate counts: the first of the class's static order, or of
 * that of all where training has too few problems of the class. */
static void test_outside_problems_fall_back_alike(void **state)
{
    struct made *m = *state;
    const struct ks_featurizer f = { .ctx = m, .outside = not_of_training };
    struct ks_cells c;
    struct ks_pick *want;
    bool *is_training, *is_wanted;
    size_t n_outside, n_of[KS_SEL_N_RULES] = { 0 }, n_differ = 0;

    make_outside(m, &c);
    want = calloc(c.n_problems, sizeof(*want));
    is_training = calloc(c.n_problems, sizeof(*is_training));
    is_wanted = calloc(c.n_problems, sizeof(*is_wanted));
    for (size_t p = 0; p < c.n_problems; p++)
        is_wanted[p] = !(is_training[p] = p < m->cells.n_problems);
    assert_int_equal(
        ks_fall_back(&c, &f, is_training, NULL, is_wanted, want, NULL, &n_outside, NULL), 0);
    for (uint32_t size = KS_SEL_FULL; size <= KS_SEL_DISTILLED; size++) {
        struct ks_selector s;

        create(m, size, 0, &s);
        for (size_t p = m->cells.n_problems; p < c.n_problems; p++) {
            struct ks_sel_pick pick;
            int rule;

            assert_int_equal(ks_selector_pick(&s, &c.problems[p].problem, NULL, &pick, 1, &rule),
                             1);
            assert_true(m->spec.instances[s.from[pick.instance]].id ==
                        c.instances[c.cells[want[p].cell].instance].id);
            n_differ += pick.instance != s.order[0];
            n_of[rule]++;
        }
        ks_selector_release(&s);
    }
    assert_int_equal(n_of[KS_SEL_BY_CLASS] + n_of[KS_SEL_OUTSIDE], 3 * n_outside);
    assert_true(n_of[KS_SEL_BY_CLASS] > 0 && n_of[KS_SEL_OUTSIDE] > 0 && n_differ > 0);
    free(want);
    free(is_training);
    free(is_wanted);
    ks_cells_release(&c);
}

/* ---- orders of many instances ---- */

enum { MANY = 5000, N_BF16 = 4500, N_SHAPES = 8, N_EACH = 5 };

/* The i-th problem of a shape class, in one of two data types. */
static struct ks_problem shaped(int shape, int i, bool is_bf16)
{
    static const struct {
        int64_t g, c, k, size, filter, stride;
    } rows[N_SHAPES] = { { 1, 64, 64, 14, 1, 1 }, { 1, 64, 64, 14, 3, 1 },  { 1, 64, 64, 14, 5, 1 },
                         { 1, 64, 64, 14, 3, 2 }, { 64, 64, 64, 14, 3, 1 }, { 8, 64, 64, 14, 3, 1 },
                         { 1, 3, 64, 14, 3, 1 },  { 1, 64, 64, 1, 1, 1 } };
    struct ks_problem p = fkit_conv(KS_FORWARD, i, rows[shape].g, rows[shape].c, rows[shape].k,
                                    rows[shape].size, rows[shape].filter, rows[shape].stride);

    p.dtype = is_bf16 ? KS_BF16 : KS_FP32;
    assert_int_equal(ks_problem_finish(&p, NULL), 0);
    return p;
}

/* Instances of two data types; those of bf16 have nearly the same times, so they come first in
 * every order. Some reject what they were measured on. */
static void make_many(const struct made *m, struct ks_feature_spec *spec, struct ks_cells *c)
{
    *spec = m->spec;
    *c = (struct ks_cells){ 0 };
    spec->n_instances = MANY;
    spec->instances = calloc(MANY, sizeof(*spec->instances));
    assert_non_null(spec->instances);
    for (size_t i = 0; i < MANY; i++) {
        spec->instances[i] = m->spec.instances[i % FKIT_INSTANCES];
        spec->instances[i].id = 1000 + i;
        spec->instances[i].fx.dtype = i < N_BF16 ? KS_BF16 : KS_FP32;
    }
    for (int k = 0; k < N_SHAPES * N_EACH * 2; k++) {
        const int shape = k / 2 % N_SHAPES;
        const struct ks_problem p = shaped(shape, 1 + k / 2 / N_SHAPES, k % 2);

        for (uint32_t i = 0; i < MANY; i++) {
            struct ks_timed_cell cell = { .se_ns = -1, .weight = 1 };
            uint64_t state = i * 100 + (uint64_t)shape;

            if ((uint32_t)spec->instances[i].fx.dtype != p.dtype)
                continue;
            cell.time_ns = 1000 + (double)ks_rng_below(&state, k % 2 ? 100 : 9000);
            assert_int_equal(ks_cells_problem(c, &p, &cell.problem, NULL), 0);
            assert_int_equal(ks_cells_instance(c, 1000 + i, "x", &cell.instance, NULL), 0);
            assert_int_equal(ks_cells_add(c, &cell, NULL), 0);
        }
    }
    assert_int_equal(ks_cells_finish(c, NULL), 0);
}

/* The first picks of a problem outside of the range against the whole order of its class. */
static void picks_by_order(const struct ks_selector *s, const struct ks_cells *c,
                           const struct ks_class_orders *o, const struct ks_problem *p)
{
    const uint32_t *order = ks_class_orders_of(o, ks_problem_class(p));
    struct ks_sel_pick picks[64];
    int rule, n = ks_selector_pick(s, p, NULL, picks, 64, &rule), at = 0;

    assert_int_equal(rule, KS_SEL_BY_CLASS);
    for (size_t i = 0; i < o->n_instances && at < n; i++) {
        const uint64_t id = c->instances[order[i]].id;

        if (ks_feature_applies(s->spec, p, (uint32_t)(id - 1000)))
            assert_int_equal(s->spec->instances[s->from[picks[at++].instance]].id, id);
    }
    assert_int_equal(at, 64);
}

/* Whole orders of 8 classes would take 80 KB; what is left of them picks alike. */
static void test_orders_of_many_instances_fit(void **state)
{
    const struct ks_selector_options options = { KS_SEL_FULL, 0 };
    struct made *m = *state;
    struct ks_feature_spec spec;
    struct ks_class_orders o;
    struct ks_selector s;
    struct ks_forest f;
    struct ks_cells c;
    size_t n_whole = 0;

    make_many(m, &spec, &c);
    skit_forest(m, &f);
    assert_int_equal(
        ks_selector_create(&spec, &f, KS_TARGET_LOG_TIME, &c, NULL, &options, &s, NULL), 0);
    assert_int_equal(ks_class_orders_fit(&o, &c, NULL, NULL, NULL), 0);
    for (uint32_t k = 0; k < KS_N_PROBLEM_CLASSES; k++)
        n_whole += ks_class_orders_has(&o, k) ? o.n_ranked[k] : 0;
    assert_true(n_whole > KS_SEL_CLASS_ENTRIES);
    assert_in_range(s.class_first[KS_FX_N_CLASSES], 1, KS_SEL_CLASS_ENTRIES);
    for (int k = 0; k < N_SHAPES * 2; k++) {
        const struct ks_problem p = shaped(k / 2, 1000, k % 2);

        picks_by_order(&s, &c, &o, &p);
    }
    ks_class_orders_release(&o);
    ks_selector_release(&s);
    ks_cells_release(&c);
    free(spec.instances);
}

/* Half of the logarithms of the times: twice the differences. Scores that fall with time: none. */
static void test_orders_are_calibrated(void **state)
{
    const struct made *m = *state;
    struct ks_selector s = { 0 };
    float *scores = calloc(m->cells.n, sizeof(*scores));

    for (int sign = 1; sign >= -1; sign -= 2) {
        for (size_t i = 0; i < m->cells.n; i++)
            scores[i] = i % 9 ? (float)(sign * log(m->cells.cells[i].time_ns) / 2) : NAN;
        ks_selector_calibrate(&s, &m->cells, scores);
        assert_true(fabs(s.model.scale - (sign > 0 ? 2 : 0)) < 1e-5);
    }
    free(scores);
}

/* What has no time in training is no candidate, though the specification knows it. */
static void test_candidates_were_measured(void **state)
{
    const struct ks_selector_options o = { KS_SEL_FULL, 0 };
    struct made *m = *state;
    struct ks_cells some = { 0 };
    struct ks_forest forest;
    struct ks_selector s;

    for (size_t i = 0; i < m->cells.n; i++) {
        struct ks_timed_cell cell = m->cells.cells[i];
        const struct ks_cell_instance *k = &m->cells.instances[cell.instance];
        const struct ks_problem p = m->cells.problems[cell.problem].problem;

        if (k->id == m->spec.instances[1].id)
            continue;
        assert_int_equal(ks_cells_problem(&some, &p, &cell.problem, NULL), 0);
        assert_int_equal(ks_cells_instance(&some, k->id, k->name, &cell.instance, NULL), 0);
        assert_int_equal(ks_cells_add(&some, &cell, NULL), 0);
    }
    assert_int_equal(ks_cells_finish(&some, NULL), 0);
    skit_forest(m, &forest);
    assert_int_equal(
        ks_selector_create(&m->spec, &forest, KS_TARGET_LOG_TIME, &some, NULL, &o, &s, NULL), 0);
    assert_int_equal(s.model.n_instances, m->spec.n_instances - 1);
    for (size_t i = 0; i < s.model.n_instances; i++)
        assert_int_not_equal(s.from[i], 1);
    ks_selector_release(&s);
    ks_cells_release(&some);
}

/* Lines of the table are of tables that have not seen the problem; scores choose from its list. */
static void test_lines(void **state)
{
    struct made *m = *state;
    struct ks_selector s;
    struct ks_selector_line table, trees, tried, all;
    float *scores = calloc(m->cells.n, sizeof(*scores));
    const bool inside[N_PROBLEMS] = { false };

    create(m, KS_SEL_BUDGETED, 0, &s);
    for (size_t i = 0; i < m->cells.n; i++) /* an oracle */
        scores[i] = (float)log(m->cells.cells[i].time_ns);
    assert_int_equal(ks_selector_score(&s, &m->cells, NULL, inside, true, &table, NULL), 0);
    assert_int_equal(ks_selector_score(&s, &m->cells, scores, inside, false, &trees, NULL), 0);
    assert_true(trees.mean[0] > 0.999999 && trees.p10[0] > 0.999999 && trees.n == N_PROBLEMS);
    assert_true(table.mean[0] < 1 && table.mean[0] > 0.8 && table.mean[2] >= table.mean[1]);
    for (size_t i = 0; i < m->cells.n; i++) /* the opposite: the slowest of a few */
        scores[i] = -scores[i];
    assert_int_equal(ks_selector_score(&s, &m->cells, scores, inside, false, &trees, NULL), 0);
    assert_true(trees.mean[0] < table.mean[0]);
    assert_int_equal(ks_selector_try(&s, &m->cells, true, &tried, NULL), 0);
    assert_int_equal(ks_selector_try(&s, &m->cells, false, &all, NULL), 0);
    assert_true(tried.mean[0] > 0.95 && all.mean[0] <= tried.mean[0]);
    free(scores);
    ks_selector_release(&s);
}

static const char *everything(void *ctx, uint32_t problem)
{
    (void)ctx;
    (void)problem;
    return "n";
}

/* Lines of problems outside of the range are those of training: orders of the other folds pick,
 * whatever the scores and the table say. */
static void test_lines_fall_back_as_training(void **state)
{
    struct made *m = *state;
    const struct ks_featurizer features = { .outside = everything };
    struct ks_selector s;
    struct ks_pick *picks = calloc(N_PROBLEMS, sizeof(*picks));
    float *scores = calloc(m->cells.n, sizeof(*scores));
    bool is_outside[N_PROBLEMS];

    create(m, KS_SEL_BUDGETED, 0, &s);
    for (size_t i = 0; i < m->cells.n; i++) /* an oracle */
        scores[i] = (float)log(m->cells.cells[i].time_ns);
    for (size_t fold = 0; fold < 5; fold++) {
        bool is_training[N_PROBLEMS], is_held[N_PROBLEMS];
        size_t n;

        for (size_t p = 0; p < N_PROBLEMS; p++)
            is_training[p] = !(is_held[p] = p % 5 == fold);
        assert_int_equal(
            ks_fall_back(&m->cells, &features, is_training, NULL, is_held, picks, NULL, &n, NULL),
            0);
    }
    for (int with_table = 0; with_table < 2; with_table++) {
        struct ks_selector_line line;
        double want = 0;

        for (size_t p = 0; p < N_PROBLEMS; p++) {
            is_outside[p] = with_table || p % 3 != 0;
            want += is_outside[p] ? picks[p].eff : 1;
        }
        assert_int_equal(ks_selector_score(&s, &m->cells, with_table ? NULL : scores, is_outside,
                                           with_table, &line, NULL),
                         0);
        assert_true(fabs(line.mean[0] - want / N_PROBLEMS) < 1e-9 && line.mean[0] < 1);
    }
    free(picks);
    free(scores);
    ks_selector_release(&s);
}

/* On fold 0 one instance is ten times faster, elsewhere the other one by 15 %: the first is the
 * best set of one on all folds, but not without fold 0, which must be judged by the other one. */
static void test_smallest_sets_have_not_seen_the_fold(void **state)
{
    struct made *m = *state;
    const struct ks_selector_options o = { KS_SEL_FULL, 1 };
    struct ks_cells c = { 0 };
    struct ks_selector s;
    struct ks_selector_line line;
    struct ks_forest f;
    uint8_t fold[N_PROBLEMS];
    const bool inside[N_PROBLEMS] = { false };

    for (size_t p = 0; p < N_PROBLEMS; p++) {
        fold[p] = (uint8_t)(p % 5);
        for (uint32_t i = 0; i < 2; i++) {
            struct ks_timed_cell cell = { .se_ns = -1, .weight = 1 };

            cell.time_ns = p % 5 == 0 ? (i == 0 ? 1 : 10) : (i == 0 ? 1 / 0.85 : 1);
            assert_int_equal(ks_cells_problem(&c, &m->problems[p], &cell.problem, NULL), 0);
            assert_int_equal(ks_cells_instance(&c, m->spec.instances[i].id,
                                               m->spec.instances[i].name, &cell.instance, NULL),
                             0);
            assert_int_equal(ks_cells_add(&c, &cell, NULL), 0);
        }
    }
    assert_int_equal(ks_cells_finish(&c, NULL), 0);
    skit_forest(m, &f);
    assert_int_equal(ks_selector_create(&m->spec, &f, KS_TARGET_LOG_TIME, &c, fold, &o, &s, NULL),
                     0);
    assert_int_equal(s.from[0], 0);
    assert_int_equal(ks_selector_score(&s, &c, NULL, inside, false, &line, NULL), 0);
    assert_true(fabs(line.mean[0] - (0.2 * 0.1 + 0.8 * 0.85)) < 1e-6);
    ks_selector_release(&s);
    ks_cells_release(&c);
}

/* ---- as C ---- */

static void put_source(const struct made *m, const struct ks_selector *s, const char *dir)
{
    struct ks_problem problems[2 * N_PROBLEMS];
    struct ks_buf b;

    for (size_t p = 0; p < N_PROBLEMS; p++) {
        problems[p] = problems[N_PROBLEMS + p] = m->problems[p];
        problems[N_PROBLEMS + p].dim[KS_CONV_N] = 1000; /* outside of the range */
    }
    ks_buf_init(&b);
    ks_selector_write_header(s, "ksel", &b);
    skit_put_text(dir, "ksel.h", &b);
    ks_buf_clear(&b);
    ks_selector_write_source(s, "ksel", &b);
    skit_put_text(dir, "ksel.c", &b);
    ks_buf_clear(&b);
    ks_selector_write_test(s, "ksel", problems, 2 * N_PROBLEMS, &b);
    skit_put_text(dir, "test.c", &b);
    ks_buf_release(&b);
}

/* Compilers that fuse multiply and add by default must not change a bit. */
static void test_source_chooses_alike(void **state)
{
    static const struct {
        uint32_t size;
        const char *flags;
    } rows[] = {
#ifdef KSWEEP_SANITIZED
        { KS_SEL_FULL, "-std=c99 -O1" },
#else
        { KS_SEL_FULL, "-std=gnu99 -O2 -march=native -ffp-contract=fast" },
        { KS_SEL_BUDGETED, "-std=c99 -O1" },
        { KS_SEL_DISTILLED, "-std=c11 -O1" },
#endif
    };
    struct made *m = *state;
    char dir[] = "/tmp/ksweep-selector-XXXXXX", command[1024];
    int rc = 0;

    free(m->spec.instances[0].name);
    m->spec.instances[0].name = strdup("a \"quoted\" name\n\\ of a plug-in?"
                                       "?/");
    assert_non_null(m->spec.instances[0].name);
    assert_non_null(mkdtemp(dir));
    for (size_t i = 0; rc == 0 && i < N(rows); i++) {
        struct ks_selector s;

        create(m, rows[i].size, 0, &s);
        put_source(m, &s, dir);
        snprintf(
            command, sizeof(command),
            "cd %s && cc %s -Wall -Wextra -Wno-unknown-pragmas -pedantic -Werror ksel.c test.c "
            "-o t && ./t >out || { cat out; exit 1; }",
            dir, rows[i].flags);
        rc = system(command);
        ks_selector_release(&s);
    }
    ks_remove_tree(dir, NULL);
    assert_int_equal(rc, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_full_picks_the_least_prediction),
        cmocka_unit_test(test_rules),
        cmocka_unit_test(test_outside_problems_fall_back_alike),
        cmocka_unit_test(test_orders_of_many_instances_fit),
        cmocka_unit_test(test_orders_are_calibrated),
        cmocka_unit_test(test_candidates_were_measured),
        cmocka_unit_test(test_lines),
        cmocka_unit_test(test_lines_fall_back_as_training),
        cmocka_unit_test(test_smallest_sets_have_not_seen_the_fold),
        cmocka_unit_test(test_source_chooses_alike),
    };

    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, skit_make, skit_release);
}
