/* SPDX-License-Identifier: MIT */
/* train_kit.c - made-up cells and features to train on */
#include "train_kit.h"

#include "feature_kit.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- made-up cells: instance i is best where the logarithms of the sizes say so ---- */

static double time_of(const struct ks_problem *p, uint32_t instance)
{
    double size = log2((double)p->dim[ks_problem_dim(p->op, "c_total")]) +
                  log2((double)p->dim[ks_problem_dim(p->op, "hi")]);

    return 1000 * (1 + 0.2 * fabs(size - 8 - 2.0 * instance));
}

void tkit_cells(struct ks_cells *c)
{
    struct ks_err err = { 0 };

    *c = (struct ks_cells){ 0 };
    for (size_t i = 0; i < TKIT_PROBLEMS; i++) {
        struct ks_problem p = fkit_problem(i);
        uint32_t problem;

        assert_int_equal(ks_cells_problem(c, &p, &problem, &err), 0);
        for (uint32_t j = 0; j < TKIT_INSTANCES; j++) {
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

const struct ks_feature_source tkit_source = { .fit = fit, .release = release };
const struct ks_train_options tkit_options = {
    .n_folds = 3, .n_settings = 2, .max_rounds = 12, .patience = 12, .has_class_folds = true
};

struct ks_fit_input tkit_input(const struct ks_cells *c, uint64_t seed)
{
    return (
        struct ks_fit_input){ .cells = c, .source = &tkit_source, .n_threads = 1, .seed = seed };
}

void tkit_train(const struct ks_fit_input *in, const struct ks_train_options *o,
                struct ks_trained *t)
{
    struct ks_err err = { 0 };

    if (ks_train(in, o, t, &err) < 0)
        fail_msg("%s", err.text);
}

int tkit_open(void **state)
{
    struct tkit *k = calloc(1, sizeof(*k));
    struct ks_fit_input in;

    assert_non_null(k);
    tkit_cells(&k->cells);
    in = tkit_input(&k->cells, 1);
    tkit_train(&in, &tkit_options, &k->trained);
    *state = k;
    return 0;
}

int tkit_close(void **state)
{
    struct tkit *k = *state;

    ks_trained_release(&k->trained, &tkit_source);
    ks_cells_release(&k->cells);
    free(k);
    return 0;
}
