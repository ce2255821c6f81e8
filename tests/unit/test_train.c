/* SPDX-License-Identifier: MIT */
/* Training: the same bytes for the same seed, nothing of a held-out fold in what judges it, and the
 * model directory. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
/* cmocka.h wants the four above first. */
#include <cmocka.h>

#include "analysis/model/forest.h"
#include "analysis/model/model_dir.h"
#include "analysis/model/parallel.h"
#include "analysis/model/search.h"
#include "base/file.h"
#include "base/hash.h"
#include "feature_kit.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { PROBLEMS = 36, INSTANCES = 4 };

/* ---- made-up cells: instance i is best where the logarithms of the sizes say so ---- */

static double time_of(const struct ks_problem *p, uint32_t instance)
{
    double size = log2((double)p->dim[ks_problem_dim(p->op, "c_total")]) +
                  log2((double)p->dim[ks_problem_dim(p->op, "hi")]);

    return 1000 * (1 + 0.2 * fabs(size - 8 - 2.0 * instance));
}

static void make_cells(struct ks_cells *c)
{
    struct ks_err err = { 0 };

    *c = (struct ks_cells){ 0 };
    for (size_t i = 0; i < PROBLEMS; i++) {
        struct ks_problem p = fkit_problem(i);
        uint32_t problem;

        assert_int_equal(ks_cells_problem(c, &p, &problem, &err), 0);
        for (uint32_t j = 0; j < INSTANCES; j++) {
            struct ks_timed_cell cell = {
                .problem = problem, .time_ns = time_of(&p, j), .se_ns = -1, .weight = 1
            };
            char name[16];

            snprintf(name, sizeof(name), "i,%u", j);
            assert_int_equal(ks_cells_instance(c, 7 + j, name, &cell.instance, &err), 0);
            if ((i + j) % 7)
                assert_int_equal(ks_cells_add(c, &cell, &err), 0);
        }
    }
    assert_int_equal(ks_cells_finish(c, &err), 0);
}

/* ---- features that follow from the training problems, as real ones do ---- */

struct context {
    const struct ks_cells *cells;
    double mean; /* of the training cells' times */
};
static const char *const columns[] = { "c", "hi", "instance", "mean" };

static void fill(void *ctx, uint32_t problem, uint32_t instance, float *row_out)
{
    const struct context *x = ctx;
    const struct ks_problem *p = &x->cells->problems[problem].problem;

    row_out[0] = log2f((float)p->dim[ks_problem_dim(p->op, "c_total")]);
    row_out[1] = log2f((float)p->dim[ks_problem_dim(p->op, "hi")]);
    row_out[2] = (float)instance;
    row_out[3] = (float)(x->mean / 1000);
}

static int fit(void *ctx, const struct ks_cells *c, const bool *is_training,
               struct ks_featurizer *f_out, struct ks_err *err)
{
    struct context *x = calloc(1, sizeof(*x));
    size_t n = 0;

    (void)ctx;
    (void)err;
    assert_non_null(x);
    x->cells = c;
    for (size_t i = 0; i < c->n; i++) {
        if (is_training[c->cells[i].problem]) {
            x->mean += c->cells[i].time_ns;
            n++;
        }
    }
    x->mean /= (double)n;
    *f_out = (struct ks_featurizer){
        .n_cols = 4, .names = columns, .analytic = SIZE_MAX, .ctx = x, .fill = fill
    };
    return 0;
}

static void release(struct ks_featurizer *f)
{
    free(f->ctx);
}

static const struct ks_feature_source source = { .fit = fit, .release = release };
static const struct ks_train_options options = {
    .n_folds = 3, .n_settings = 2, .max_rounds = 12, .patience = 12, .has_class_folds = true
};

static void train(const struct ks_cells *c, uint64_t seed, struct ks_trained *t)
{
    const struct ks_fit_input in = { .cells = c, .source = &source, .n_threads = 1, .seed = seed };
    struct ks_err err = { 0 };

    if (ks_train(&in, &options, t, &err) < 0)
        fail_msg("%s", err.text);
}

/* ---- tests ---- */

static void model_text(struct ks_trained *t, struct ks_buf *b)
{
    struct ks_err err = { 0 };

    ks_buf_init(b);
    assert_int_equal(ks_booster_save(t->fit.booster, b, &err), 0);
}

static void same_seed_same_bytes(void **state)
{
    struct ks_trained t, again, other;
    struct ks_buf a, b, d;
    struct ks_cells c;

    (void)state;
    make_cells(&c);
    train(&c, 1, &t);
    train(&c, 1, &again);
    train(&c, 2, &other);
    model_text(&t, &a);
    model_text(&again, &b);
    model_text(&other, &d);
    assert_int_equal(a.len, b.len);
    assert_memory_equal(a.data, b.data, a.len);
    assert_memory_equal(t.scores, again.scores, c.n * sizeof(float));
    assert_true(a.len != d.len || memcmp(a.data, d.data, a.len) != 0);
    ks_buf_release(&a);
    ks_buf_release(&b);
    ks_buf_release(&d);
    ks_trained_release(&t, &source);
    ks_trained_release(&again, &source);
    ks_trained_release(&other, &source);
    ks_cells_release(&c);
}

/* Other times of fold 0 change nothing of what judges fold 0: setting, rounds, features, scores,
 * baselines. They do change what judges the others. */
static void nothing_of_a_fold_judges_it(void **state)
{
    struct ks_trained t, poisoned;
    struct ks_cells c;
    size_t n_others = 0;

    (void)state;
    make_cells(&c);
    train(&c, 1, &t);
    for (size_t i = 0; i < c.n; i++)
        if (t.fold[c.cells[i].problem] == 0)
            c.cells[i].time_ns *= 1 + 10.0 * (c.cells[i].instance == 1);
    train(&c, 1, &poisoned);
    assert_memory_equal(t.fold, poisoned.fold, PROBLEMS);
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
    ks_trained_release(&t, &source);
    ks_trained_release(&poisoned, &source);
    ks_cells_release(&c);
}

/* Folds are fitted at the same time, each on one thread: with 3 threads and 3 folds the scores,
 * settings and picks are those of one thread. */
static void folds_at_the_same_time(void **state)
{
    struct ks_fit_input in = { .source = &source, .n_threads = 3, .seed = 1 };
    struct ks_trained one, three;
    struct ks_cells c;
    struct ks_err err = { 0 };

    (void)state;
    make_cells(&c);
    train(&c, 1, &one);
    in.cells = &c;
    if (ks_train(&in, &options, &three, &err) < 0)
        fail_msg("%s", err.text);
    assert_memory_equal(one.scores, three.scores, c.n * sizeof(float));
    assert_memory_equal(one.has_class_pick, three.has_class_pick, c.n_problems);
    for (size_t i = 0; i < c.n_problems; i++) {
        assert_true(one.class_picks[i].score == three.class_picks[i].score);
        for (int by = KS_BY_FIXED; by <= KS_BY_NEIGHBOURS; by++)
            assert_int_equal(one.picks[by][i].any, three.picks[by][i].any);
    }
    for (uint32_t i = 0; i < options.n_folds; i++) {
        assert_int_equal(one.chosen[i].setting, three.chosen[i].setting);
        assert_int_equal(one.chosen[i].rounds, three.chosen[i].rounds);
        assert_true(one.chosen[i].loss == three.chosen[i].loss);
    }
    ks_trained_release(&one, &source);
    ks_trained_release(&three, &source);
    ks_cells_release(&c);
}

/* The time is used up before the first round: one tree judges each fold, no other setting is tried,
 * and the model has that tree. */
static void budget_bounds_the_first_setting(void **state)
{
    struct ks_train_options hasty = options;
    struct ks_fit_input in = { .source = &source, .n_threads = 2, .seed = 1 };
    struct ks_trained t;
    struct ks_cells c;
    struct ks_err err = { 0 };

    (void)state;
    make_cells(&c);
    in.cells = &c;
    hasty.budget_s = 1e-12;
    hasty.has_class_folds = false;
    if (ks_train(&in, &hasty, &t, &err) < 0)
        fail_msg("%s", err.text);
    assert_true(t.is_cut);
    assert_int_equal(t.n_tried, 1);
    assert_int_equal(t.last.rounds, 1);
    ks_trained_release(&t, &source);
    ks_cells_release(&c);
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
    uint64_t clock_ns = 1000;
    struct ks_train_options o = options;
    struct ks_fit_input in = { .source = &source, .n_threads = 1, .seed = 1 };
    struct ks_trained whole, same, cut;
    struct ks_cells c;
    struct ks_err err = { 0 };

    (void)state;
    make_cells(&c);
    in.cells = &c;
    train(&c, 1, &whole);
    assert_true(whole.last.rounds > 1 && !whole.is_fit_cut);
    o.budget_s = 10;
    o.ctx = &clock_ns;
    o.now_ns = told_ns;
    assert_int_equal(ks_train(&in, &o, &same, &err), 0);
    assert_false(same.is_fit_cut || same.is_cut);
    assert_int_equal(same.last.rounds, whole.last.rounds);
    assert_memory_equal(same.scores, whole.scores, c.n * sizeof(float));
    o.progress = search_is_done;
    assert_int_equal(ks_train(&in, &o, &cut, &err), 0);
    assert_true(cut.is_fit_cut && !cut.is_cut);
    assert_int_equal(cut.last.rounds, 1);
    for (uint32_t i = 0; i < o.n_folds; i++)
        assert_int_equal(cut.chosen[i].rounds, 1);
    for (size_t i = 0; i < c.n_problems; i++)
        assert_true(cut.has_class_pick[i] == whole.has_class_pick[i]);
    ks_trained_release(&whole, &source);
    ks_trained_release(&same, &source);
    ks_trained_release(&cut, &source);
    ks_cells_release(&c);
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
    const struct ks_setting *settings;
    struct ks_fit_input in = { .source = &source, .n_threads = 1, .seed = 1 };
    struct ks_fit few, many;
    const struct ks_deadline never = { .at_ns = 0 };
    struct ks_featurizer of_few, of_many;
    uint32_t n_few = 3, n_many = 9;
    struct ks_pick picks[PROBLEMS];
    float scores[3][PROBLEMS * INSTANCES];
    struct ks_cells c;
    struct ks_err err = { 0 };
    bool all[PROBLEMS];

    (void)state;
    make_cells(&c);
    memset(all, true, sizeof(all));
    in.cells = &c;
    ks_settings(&settings);
    assert_int_equal(ks_fit_whole(&few, &in, settings, all, &n_few, &never, &of_few, &err), 0);
    assert_int_equal(ks_fit_whole(&many, &in, settings, all, &n_many, &never, &of_many, &err), 0);
    assert_int_equal(ks_score_problems(few.booster, &of_few, &c, all, picks, scores[0], &err), 0);
    assert_int_equal(ks_score_problems(many.booster, &of_many, &c, all, picks, scores[1], &err), 0);
    ks_booster_score_by(many.booster, 3);
    assert_int_equal(ks_score_problems(many.booster, &of_many, &c, all, picks, scores[2], &err), 0);
    assert_memory_equal(scores[0], scores[2], c.n * sizeof(float));
    assert_true(memcmp(scores[0], scores[1], c.n * sizeof(float)) != 0);
    ks_fit_end(&few);
    ks_fit_end(&many);
    release(&of_few);
    release(&of_many);
    ks_cells_release(&c);
}

static void it_learns(void **state)
{
    struct ks_trained t;
    struct ks_quality model, fixed;
    struct ks_cells c;
    struct ks_err err = { 0 };

    (void)state;
    make_cells(&c);
    train(&c, 1, &t);
    assert_int_equal(ks_quality(&c, t.picks[KS_BY_MODEL], PROBLEMS, 0, 1, &model, &err), 0);
    assert_int_equal(ks_quality(&c, t.picks[KS_BY_FIXED], PROBLEMS, 0, 1, &fixed, &err), 0);
    if (!(model.measured.mean > fixed.measured.mean))
        fail_msg("model %g, best fixed %g", model.measured.mean, fixed.measured.mean);
    assert_null(t.picks[KS_BY_ANALYTIC]);
    assert_true(t.has_classes);
    assert_int_equal(t.n_tried, 2);
    ks_trained_release(&t, &source);
    ks_cells_release(&c);
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

/* Trees for more problems than the search had: their number by the root, their levels by the
 * logarithm of the ratio, as far as a model directory can hold them. */
static void trees_grow_with_the_problems(void **state)
{
    static const struct {
        size_t n_problems, n_sampled;
        uint32_t rounds, want_rounds, want_depth;
    } rows[] = { { 1000, 2000, 100, 100, 8 },    { 1000, 0, 100, 100, 8 },
                 { 2000, 2000, 100, 100, 8 },    { 3500, 2000, 100, 133, 9 },
                 { 16000, 2000, 100, 283, 11 },  { 200000, 2000, 334, 3340, 10 },
                 { 200000, 2000, 20, 200, 14 },  { 1u << 30, 1, 1, 32768, 8 },
                 { 1u << 20, 1, 1, 1024, 12 } };
    struct ks_train_options sampled = options;
    struct ks_fit_input in = { .source = &source, .n_threads = 1, .seed = 1 };
    struct ks_trained t;
    struct ks_cells c;
    struct ks_err err = { 0 };

    (void)state;
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        const struct ks_tried tried = { .rounds = rows[i].rounds, .depth = 8 };
        const struct ks_tried got = ks_tried_scaled(tried, rows[i].n_problems, rows[i].n_sampled);

        if (got.rounds != rows[i].want_rounds || got.depth != rows[i].want_depth)
            fail_msg("row %zu: %u trees of %u levels", i, got.rounds, got.depth);
    }
    make_cells(&c);
    in.cells = &c;
    sampled.search_problems = PROBLEMS / 4;
    if (ks_train(&in, &sampled, &t, &err) < 0)
        fail_msg("%s", err.text);
    assert_int_equal(t.last.depth, 10);
    assert_int_equal(t.fit.setting.depth, 10);
    assert_int_equal(t.chosen[0].depth, 10);
    ks_trained_release(&t, &source);
    ks_cells_release(&c);
}

/* Further trees behind those of a model; of its target only; the same bytes twice; scores of
 * problems that the model has not seen. */
static void training_continues_a_model(void **state)
{
    struct ks_train_options of_target = options;
    struct ks_fit_input in = { .source = &source, .n_threads = 1, .seed = 3 };
    struct ks_trained t, warm, again;
    struct ks_buf first, second, third;
    struct ks_forest old = { 0 }, new = { 0 };
    struct ks_cells c;
    struct ks_err err = { 0 };

    (void)state;
    make_cells(&c);
    train(&c, 1, &t);
    model_text(&t, &first);
    of_target.has_class_folds = false;
    of_target.has_target = true;
    of_target.target = KS_TARGET_LOG_TIME;
    in.cells = &c;
    in.start = &first;
    if (ks_train(&in, &of_target, &warm, &err) < 0 || ks_train(&in, &of_target, &again, &err) < 0)
        fail_msg("%s", err.text);
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
    ks_trained_release(&t, &source);
    ks_trained_release(&warm, &source);
    ks_trained_release(&again, &source);
    ks_cells_release(&c);
    ks_buf_release(&first);
}

static void damage(const char *dir, const char *name, const char *text)
{
    struct ks_err err = { 0 };
    char path[256];

    snprintf(path, sizeof(path), "%s/%s", dir, name);
    assert_int_equal(ks_file_replace(path, text, strlen(text), &err), 0);
}

static void refused(const char *dir, int code, const char *text)
{
    struct ks_model m;
    struct ks_err err = { 0 };

    assert_int_equal(ks_model_read(dir, 1, &m, &err), code);
    if (!strstr(err.text, text))
        fail_msg("'%s' does not say '%s'", err.text, text);
    ks_model_release(&m);
}

/* A cell twice, and a problem without cells: both would put scores or folds to others. */
static void change_cells(const char *dir)
{
    struct ks_buf text, changed;
    struct ks_err err = { 0 };
    const char *first, *rest;
    char path[256];

    snprintf(path, sizeof(path), "%s/oof.csv", dir);
    ks_buf_init(&text);
    ks_buf_init(&changed);
    assert_int_equal(ks_file_read(path, &text, &err), 0);
    first = strchr(ks_buf_text(&text), '\n') + 1;
    rest = strchr(first, '\n') + 1;
    ks_buf_put(&changed, text.data, (size_t)(rest - ks_buf_text(&text)));
    ks_buf_printf(&changed, "%s", first);
    damage(dir, "oof.csv", ks_buf_text(&changed));
    refused(dir, KS_EFORMAT, "duplicate cell, or cells not in order");
    while (strncmp(rest, first, 16) == 0)
        rest = strchr(rest, '\n') + 1;
    ks_buf_clear(&changed);
    ks_buf_put(&changed, text.data, (size_t)(first - ks_buf_text(&text)));
    ks_buf_printf(&changed, "%s", rest);
    damage(dir, "oof.csv", ks_buf_text(&changed));
    refused(dir, KS_EFORMAT, "has no cell in oof.csv");
    ks_buf_release(&text);
    ks_buf_release(&changed);
}

static void same_model(const struct ks_trained *t, const struct ks_cells *c, const char *dir)
{
    struct ks_model m;
    struct ks_err err = { 0 };

    if (ks_model_read(dir, 1, &m, &err) < 0)
        fail_msg("%s", err.text);
    assert_int_equal(m.cells.n, c->n);
    assert_int_equal(m.device_class, 0xabc);
    assert_string_equal(m.cells.instances[0].name, c->instances[0].name);
    for (size_t i = 0; i < c->n; i++) {
        assert_true(m.cells.cells[i].time_ns == c->cells[i].time_ns);
        assert_int_equal(m.cells.cells[i].instance, c->cells[i].instance);
        assert_true(m.scores[i] == t->scores[i]);
    }
    assert_memory_equal(m.fold, t->fold, PROBLEMS);
    ks_model_release(&m);
}

static void directory_comes_back(void **state)
{
    char root[] = "/tmp/ks-train-XXXXXX", dir[64];
    struct ks_model_about about = {
        .program = "test", .arch = "", .device_model = "", .device_class = 0xabc
    };
    struct ks_buf json;
    struct ks_trained t;
    struct ks_cells c;
    struct ks_err err = { 0 };
    struct ks_fit_input in = { .cells = &c, .source = &source, .n_threads = 1, .seed = 1 };

    (void)state;
    assert_non_null(mkdtemp(root));
    snprintf(dir, sizeof(dir), "%s/m", root);
    make_cells(&c);
    train(&c, 1, &t);
    ks_buf_init(&json);
    ks_buf_printf(&json, "{}\n");
    assert_int_equal(ks_model_write(dir, &in, &options, &t, &about, &json, &json, &err), 0);
    same_model(&t, &c, dir);
    assert_int_equal(ks_model_write(dir, &in, &options, &t, &about, &json, &json, &err), KS_EEXIST);
    refused(root, KS_ENOENT, "is not a model directory");
    change_cells(dir);
    damage(dir, "oof.csv", "problem_id,fold\n");
    refused(dir, KS_EFORMAT, "oof.csv:1: unexpected header");
    damage(dir, "problems.csv", "problem_id,fold,class,uses,canonical\n1,2,3\n");
    refused(dir, KS_EFORMAT, "problems.csv:2: unexpected number of fields");
    damage(dir, "manifest.json", "{ \"model_format\": 99 }\n");
    refused(dir, KS_EINVAL, "model format 99");
    assert_int_equal(ks_remove_tree(root, &err), 0);
    ks_buf_release(&json);
    ks_trained_release(&t, &source);
    ks_cells_release(&c);
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
        cmocka_unit_test(training_continues_a_model),
        cmocka_unit_test(directory_comes_back),
    };

    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
