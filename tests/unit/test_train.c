/* SPDX-License-Identifier: MIT */
/* test_train.c - training: the same bytes for the same seed, nothing of a held-out fold in what
 * judges it, limits of time and size */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
/* cmocka.h wants the four above first. */
#include <cmocka.h>

#include "analysis/learn/class_order.h"
#include "analysis/model/forest.h"
#include "analysis/model/parallel.h"
#include "analysis/model/search.h"
#include "train_kit.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static void model_text(const struct ks_trained *t, struct ks_buf *b)
{
    struct ks_err err = { 0 };

    ks_buf_init(b);
    assert_int_equal(ks_booster_save(t->fit.booster, b, &err), 0);
}

static void same_seed_same_bytes(void **state)
{
    const struct tkit *k = *state;
    struct ks_fit_input in = tkit_input(&k->cells, 1);
    struct ks_trained again, other;
    struct ks_buf a, b, d;

    tkit_train(&in, &tkit_options, &again);
    in.seed = 2;
    tkit_train(&in, &tkit_options, &other);
    model_text(&k->trained, &a);
    model_text(&again, &b);
    model_text(&other, &d);
    assert_int_equal(a.len, b.len);
    assert_memory_equal(a.data, b.data, a.len);
    assert_memory_equal(k->trained.scores, again.scores, k->cells.n * sizeof(float));
    assert_true(a.len != d.len || memcmp(a.data, d.data, a.len) != 0);
    ks_buf_release(&a);
    ks_buf_release(&b);
    ks_buf_release(&d);
    ks_trained_release(&again, &tkit_source);
    ks_trained_release(&other, &tkit_source);
}

static void poison_fold_0(uint64_t seed, const struct ks_train_options *o)
{
    struct ks_trained t, poisoned;
    struct ks_cells c = { 0 };
    const struct ks_fit_input in = tkit_input(&c, seed);
    size_t n_others = 0;

    tkit_cells(&c);
    tkit_train(&in, o, &t);
    for (size_t i = 0; i < c.n; i++)
        if (t.fold[c.cells[i].problem] == 0)
            c.cells[i].time_ns *= 1 + 10.0 * (c.cells[i].instance == 1);
    tkit_train(&in, o, &poisoned);
    assert_memory_equal(t.fold, poisoned.fold, TKIT_PROBLEMS);
    assert_int_equal(t.chosen[0].setting, poisoned.chosen[0].setting);
    assert_int_equal(t.chosen[0].rounds, poisoned.chosen[0].rounds);
    for (size_t i = 0; i < c.n; i++) {
        if (t.fold[c.cells[i].problem] == 0)
            assert_true(t.scores[i] == poisoned.scores[i]);
        else
            n_others += t.scores[i] != poisoned.scores[i];
    }
    assert_in_range(n_others, 1, c.n);
    for (size_t i = 0; i < c.n_problems; i++)
        for (int by = KS_BY_FIXED; by <= KS_BY_NEIGHBOURS; by++)
            if (t.fold[i] == 0)
                assert_int_equal(t.picks[by][i].any, poisoned.picks[by][i].any);
    ks_trained_release(&t, &tkit_source);
    ks_trained_release(&poisoned, &tkit_source);
    ks_cells_release(&c);
}

/* Other times of fold 0 change nothing of what judges fold 0: setting, rounds, features, scores,
 * baselines. They do change what judges the others. With little patience inner folds end early, by
 * the second seed at another round if the other fold of the pair prolongs them. */
static void nothing_of_a_fold_judges_it(void **state)
{
    struct ks_train_options o = tkit_options;

    (void)state;
    poison_fold_0(1, &o);
    o.max_rounds = 40;
    o.patience = 4;
    o.has_class_folds = false;
    poison_fold_0(6, &o);
}

/* Folds are fitted at the same time, each on one thread: with 3 threads and 3 folds the scores,
 * settings and picks are those of one thread. */
static void folds_at_the_same_time(void **state)
{
    const struct tkit *k = *state;
    const struct ks_trained *one = &k->trained;
    struct ks_fit_input in = tkit_input(&k->cells, 1);
    struct ks_trained three;

    in.n_threads = 3;
    tkit_train(&in, &tkit_options, &three);
    assert_memory_equal(one->scores, three.scores, k->cells.n * sizeof(float));
    assert_memory_equal(one->has_class_pick, three.has_class_pick, k->cells.n_problems);
    for (size_t i = 0; i < k->cells.n_problems; i++) {
        assert_true(one->class_picks[i].score == three.class_picks[i].score);
        for (int by = KS_BY_FIXED; by <= KS_BY_NEIGHBOURS; by++)
            assert_int_equal(one->picks[by][i].any, three.picks[by][i].any);
    }
    for (uint32_t i = 0; i < tkit_options.n_folds; i++) {
        assert_int_equal(one->chosen[i].setting, three.chosen[i].setting);
        assert_int_equal(one->chosen[i].rounds, three.chosen[i].rounds);
        assert_true(one->chosen[i].loss == three.chosen[i].loss);
    }
    ks_trained_release(&three, &tkit_source);
}

/* The time is used up before the first round: one tree judges each fold, no other setting is tried,
 * and the model has that tree. */
static void budget_bounds_the_first_setting(void **state)
{
    const struct tkit *k = *state;
    struct ks_train_options hasty = tkit_options;
    struct ks_fit_input in = tkit_input(&k->cells, 1);
    struct ks_trained t;

    in.n_threads = 2;
    hasty.budget_s = 1e-12;
    hasty.has_class_folds = false;
    tkit_train(&in, &hasty, &t);
    assert_true(t.is_cut);
    assert_int_equal(t.n_tried, 1);
    assert_int_equal(t.last.rounds, 1);
    ks_trained_release(&t, &tkit_source);
}

/* A clock that stands still during the search and is beyond every deadline behind it. */
static void search_is_done(void *ctx, const char *phase, double done)
{
    if (strcmp(phase, "choosing settings") == 0 && done >= 1)
        *(uint64_t *)ctx = UINT64_MAX / 2;
}

static uint64_t told_ns(void *ctx)
{
    return *(const uint64_t *)ctx;
}

/* The time is used up behind the search: each fold, each class and the model have one tree. A clock
 * that does not reach the deadlines changes nothing. */
static void budget_bounds_the_fits(void **state)
{
    const struct tkit *k = *state;
    const struct ks_trained *whole = &k->trained;
    const struct ks_fit_input in = tkit_input(&k->cells, 1);
    uint64_t clock_ns = 1000;
    struct ks_train_options o = tkit_options;
    struct ks_trained same, cut;

    assert_true(whole->last.rounds > 1 && !whole->is_fit_cut);
    o.budget_s = 10;
    o.ctx = &clock_ns;
    o.now_ns = told_ns;
    tkit_train(&in, &o, &same);
    assert_false(same.is_fit_cut || same.is_cut);
    assert_int_equal(same.last.rounds, whole->last.rounds);
    assert_memory_equal(same.scores, whole->scores, k->cells.n * sizeof(float));
    o.progress = search_is_done;
    tkit_train(&in, &o, &cut);
    assert_true(cut.is_fit_cut && !cut.is_cut);
    assert_int_equal(cut.last.rounds, 1);
    for (uint32_t i = 0; i < o.n_folds; i++)
        assert_int_equal(cut.chosen[i].rounds, 1);
    for (size_t i = 0; i < k->cells.n_problems; i++)
        assert_true(cut.has_class_pick[i] == whole->has_class_pick[i]);
    ks_trained_release(&same, &tkit_source);
    ks_trained_release(&cut, &tkit_source);
}

struct counted {
    size_t n_begun, n_told;
};

static int third_fails(void *ctx, size_t i, struct ks_err *err)
{
    ((struct counted *)ctx)->n_begun++;
    return i == 2 ? ks_fail(err, KS_EFORMAT, "task %zu", i) : 0;
}

static void told(void *ctx, size_t n_done)
{
    ((struct counted *)ctx)->n_told++;
    assert_int_equal(n_done, ((struct counted *)ctx)->n_told);
}

static void failure_of_a_task_ends_all(void **state)
{
    struct counted n = { 0 };
    struct ks_parallel p = {
        .n_tasks = 9, .n_threads = 1, .ctx = &n, .task = third_fails, .done = told
    };
    struct ks_err err = { 0 };

    (void)state;
    assert_int_equal(ks_parallel_run(&p, &err), KS_EFORMAT);
    assert_string_equal(err.text, "task 2");
    assert_int_equal(n.n_begun, 3);
    assert_int_equal(n.n_told, 2);
    assert_int_equal(ks_parallel_width(10, 1), 1);
    assert_int_equal(ks_parallel_width(10, 2), 2);
    assert_int_equal(ks_parallel_width(3, 64), 3);
    assert_int_equal(ks_parallel_width(0, 4), 1);
}

/* A model that scores by its first rounds scores as one that was not grown further. */
static void scores_of_the_first_rounds(void **state)
{
    const struct tkit *k = *state;
    const struct ks_cells *c = &k->cells;
    const struct ks_fit_input in = tkit_input(c, 1);
    const struct ks_setting *settings;
    struct ks_fit few, many;
    const struct ks_deadline never = { .at_ns = 0 };
    struct ks_featurizer of_few, of_many;
    uint32_t n_few = 3, n_many = 9;
    struct ks_pick picks[TKIT_PROBLEMS];
    float scores[3][TKIT_PROBLEMS * TKIT_INSTANCES];
    struct ks_err err = { 0 };
    bool all[TKIT_PROBLEMS];

    memset(all, true, sizeof(all));
    ks_settings(&settings);
    assert_int_equal(ks_fit_whole(&few, &in, settings, all, &n_few, &never, &of_few, &err), 0);
    assert_int_equal(ks_fit_whole(&many, &in, settings, all, &n_many, &never, &of_many, &err), 0);
    assert_int_equal(ks_score_problems(few.booster, &of_few, c, all, picks, scores[0], &err), 0);
    assert_int_equal(ks_score_problems(many.booster, &of_many, c, all, picks, scores[1], &err), 0);
    ks_booster_score_by(many.booster, 3);
    assert_int_equal(ks_score_problems(many.booster, &of_many, c, all, picks, scores[2], &err), 0);
    assert_memory_equal(scores[0], scores[2], c->n * sizeof(float));
    assert_true(memcmp(scores[0], scores[1], c->n * sizeof(float)) != 0);
    ks_fit_end(&few);
    ks_fit_end(&many);
    tkit_source.release(&of_few);
    tkit_source.release(&of_many);
}

static void it_learns(void **state)
{
    const struct tkit *k = *state;
    const struct ks_trained *t = &k->trained;
    const struct ks_cells *c = &k->cells;
    struct ks_quality model, fixed;
    struct ks_err err = { 0 };

    assert_int_equal(ks_quality(c, t->picks[KS_BY_MODEL], TKIT_PROBLEMS, 0, 1, &model, &err), 0);
    assert_int_equal(ks_quality(c, t->picks[KS_BY_FIXED], TKIT_PROBLEMS, 0, 1, &fixed, &err), 0);
    if (!(model.measured.mean > fixed.measured.mean))
        fail_msg("model %g, best fixed %g", model.measured.mean, fixed.measured.mean);
    assert_null(t->picks[KS_BY_ANALYTIC]);
    assert_true(t->has_classes);
    assert_int_equal(t->n_tried, 2);
}

/* Inner folds: what a model does on the outer fold never counts for the outer fold. */
static void search_judges_by_inner_folds(void **state)
{
    float loss[1 * 3 * 3 * 2];
    struct ks_search s = { .n_folds = 3, .n_settings = 1, .max_rounds = 2, .loss = loss };
    struct ks_tried t;

    (void)state;
    for (size_t i = 0; i < 18; i++)
        loss[i] = 1;
    loss[(0 * 3 + 1) * 2 + 1] = 0.5f; /* outer 0, inner 1, second round */
    t = ks_search_choose(&s, 0);
    assert_int_equal(t.rounds, 2);
    assert_true(t.loss == 0.75);
    t = ks_search_choose(&s, 1);
    assert_int_equal(t.rounds, 1);
    assert_true(t.loss == 1);
}

/* For more problems than the search had there are more leaves by the root of the ratio: in more
 * trees, or in larger and fewer ones. */
static void trees_grow_with_the_problems(void **state)
{
    static const struct {
        size_t n_problems, n_sampled;
        uint32_t rounds, want_rounds, want_leaves;
    } rows[] = { { 1000, 2000, 100, 100, 0 },    { 1000, 0, 100, 100, 0 },
                 { 2000, 2000, 100, 100, 0 },    { 3500, 2000, 100, 133, 0 },
                 { 14306, 1500, 108, 84, 1024 }, { 200000, 2000, 334, 418, 2048 },
                 { 1u << 30, 1, 1, 256, 32768 }, { 1u << 10, 1, 1, 1, 8192 } };
    const struct tkit *k = *state;
    struct ks_train_options sampled = tkit_options;
    struct ks_fit_input in = tkit_input(&k->cells, 1);
    struct ks_trained t, again;
    struct ks_buf first, second;

    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        const struct ks_tried tried = { .rounds = rows[i].rounds, .depth = 8 };
        const struct ks_tried got = ks_tried_scaled(tried, rows[i].n_problems, rows[i].n_sampled);

        if (got.rounds != rows[i].want_rounds || got.leaves != rows[i].want_leaves ||
            got.depth != (got.leaves ? KS_DEPTH_MAX : 8))
            fail_msg("row %zu: %u trees of %u leaves, %u levels", i, got.rounds, got.leaves,
                     got.depth);
    }
    in.n_threads = 2;
    sampled.search_problems = TKIT_PROBLEMS / 4;
    tkit_train(&in, &sampled, &t);
    tkit_train(&in, &sampled, &again);
    model_text(&t, &first);
    model_text(&again, &second);
    assert_int_equal(first.len, second.len);
    assert_memory_equal(first.data, second.data, first.len);
    ks_buf_release(&first);
    ks_buf_release(&second);
    ks_trained_release(&again, &tkit_source);
    assert_int_equal(t.last.leaves, 512);
    assert_int_equal(t.fit.setting.leaves, 512);
    assert_int_equal(t.chosen[0].leaves, 512);
    ks_trained_release(&t, &tkit_source);
}

/* Features by which every problem is outside of the range. */
static const char *far_away(void *ctx, uint32_t problem)
{
    (void)ctx;
    (void)problem;
    return "n";
}

static int fit_far(void *ctx, const struct ks_cells *c, const bool *is_training,
                   struct ks_featurizer *f_out, struct ks_err *err)
{
    const int rc = tkit_source.fit(ctx, c, is_training, f_out, err);

    f_out->outside = far_away;
    return rc;
}

/* The figures of folds are those of a selector: outside of the range of the fold's training the
 * class's static order chooses, which has not seen the fold either. */
static void folds_fall_back(void **state)
{
    const struct ks_feature_source far = { .fit = fit_far, .release = tkit_source.release };
    const struct tkit *k = *state;
    struct ks_fit_input in = tkit_input(&k->cells, 1);
    struct ks_trained t;
    struct ks_err err = { 0 };

    in.source = &far;
    assert_int_equal(k->trained.n_outside, 0);
    tkit_train(&in, &tkit_options, &t);
    assert_int_equal(t.n_outside, TKIT_PROBLEMS);
    assert_memory_equal(t.scores, k->trained.scores, k->cells.n * sizeof(float));
    for (uint32_t fold = 0; fold < tkit_options.n_folds; fold++) {
        bool is_training[TKIT_PROBLEMS], is_held[TKIT_PROBLEMS];
        struct ks_pick want[TKIT_PROBLEMS];
        const struct ks_featurizer f = { .outside = far_away };
        size_t n;

        for (size_t p = 0; p < TKIT_PROBLEMS; p++) {
            is_held[p] = t.fold[p] == fold;
            is_training[p] = !is_held[p];
        }
        assert_int_equal(
            ks_fall_back(&k->cells, &f, is_training, NULL, is_held, want, NULL, &n, &err), 0);
        for (size_t p = 0; p < TKIT_PROBLEMS; p++)
            if (is_held[p])
                assert_int_equal(t.picks[KS_BY_MODEL][p].cell, want[p].cell);
        for (size_t p = 0; p < TKIT_PROBLEMS; p++)
            assert_true(t.is_outside[p] && !k->trained.is_outside[p]);
    }
    ks_trained_release(&t, &far);
}

/* What could not be read back is refused before it is written. */
static void too_large_a_model_is_refused(void **state)
{
    const struct tkit *k = *state;
    const struct ks_fit_input in = tkit_input(&k->cells, 1);
    struct ks_train_options small = tkit_options;
    struct ks_trained t;
    struct ks_err err = { 0 };

    small.max_model_bytes = 2000;
    assert_int_equal(ks_train(&in, &small, &t, &err), KS_EINVAL);
    assert_non_null(strstr(err.text, "but a model directory can have 2000: allow fewer with"));
    ks_trained_release(&t, &tkit_source);
}

/* Further trees behind those of a model; of its target only; the same bytes twice; scores of
 * problems that the model has not seen. */
static void training_continues_a_model(void **state)
{
    const struct tkit *k = *state;
    struct ks_train_options of_target = tkit_options;
    struct ks_fit_input in = tkit_input(&k->cells, 3);
    struct ks_trained warm, again;
    struct ks_buf first, second, third;
    struct ks_forest old = { 0 }, new = { 0 };
    struct ks_err err = { 0 };

    model_text(&k->trained, &first);
    of_target.has_class_folds = false;
    of_target.has_target = true;
    of_target.target = KS_TARGET_LOG_TIME;
    in.start = &first;
    tkit_train(&in, &of_target, &warm);
    tkit_train(&in, &of_target, &again);
    model_text(&warm, &second);
    model_text(&again, &third);
    assert_int_equal(second.len, third.len);
    assert_memory_equal(second.data, third.data, second.len);
    assert_int_equal(ks_forest_parse(ks_buf_text(&first), first.len, "first", &old, &err), 0);
    assert_int_equal(ks_forest_parse(ks_buf_text(&second), second.len, "second", &new, &err), 0);
    assert_int_equal(new.n_trees, old.n_trees + warm.last.rounds);
    for (uint32_t i = 0; i < old.n_nodes; i++)
        assert_true(new.nodes[i].feature == old.nodes[i].feature);
    assert_int_equal(warm.n_tried, 1);
    assert_int_equal(warm.tried[0].setting, 2); /* the one with that target */
    ks_forest_release(&old);
    ks_forest_release(&new);
    ks_buf_release(&second);
    ks_buf_release(&third);
    ks_trained_release(&warm, &tkit_source);
    ks_trained_release(&again, &tkit_source);
    ks_buf_release(&first);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(same_seed_same_bytes),
        cmocka_unit_test(nothing_of_a_fold_judges_it),
        cmocka_unit_test(folds_at_the_same_time),
        cmocka_unit_test(budget_bounds_the_first_setting),
        cmocka_unit_test(budget_bounds_the_fits),
        cmocka_unit_test(failure_of_a_task_ends_all),
        cmocka_unit_test(scores_of_the_first_rounds),
        cmocka_unit_test(it_learns),
        cmocka_unit_test(search_judges_by_inner_folds),
        cmocka_unit_test(trees_grow_with_the_problems),
        cmocka_unit_test(folds_fall_back),
        cmocka_unit_test(too_large_a_model_is_refused),
        cmocka_unit_test(training_continues_a_model),
    };

    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, tkit_open, tkit_close);
}
