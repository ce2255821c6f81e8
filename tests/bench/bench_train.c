/* SPDX-License-Identifier: MIT */
/* bench_train.c [PROBLEMS INSTANCES COLUMNS SETTINGS] - how long `ksweep-analyze train` trains, and
 * in how much memory: 3,500 made-up problems of 20 instances, 70,000 cells with 60 features each,
 * with the command's defaults but one setting and without shape classes left out. One line: wall
 * seconds of all of it (search on inner folds, outer folds, the model) and of the model alone, MiB
 * at the peak. The cells follow from numbers of problem and instance, so that there is something to
 * learn. As in real tables a third of the columns is of the problem, with 40 different values each,
 * a third of the instance, and a third of both, with 1,000. */
#include "analysis/model/train.h"
#include "base/clock.h"
#include "base/hash.h"
#include "op/conv.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

enum { MOST_COLUMNS = 512 };

static void fail(const char *what)
{
    fprintf(stderr, "bench_train: %s\n", what);
    exit(3);
}

/* ---- made-up cells ---- */

static struct ks_problem problem(uint64_t i)
{
    struct ks_problem p = ks_problem_blank(0);
    struct ks_err err;
    uint64_t seed = i;

    p.dim[KS_CONV_N] = (int64_t)(i + 1); /* no two alike */
    p.dim[KS_CONV_C_TOTAL] = (int64_t)(8 + 8 * ks_rng_below(&seed, 64));
    p.dim[KS_CONV_K_TOTAL] = (int64_t)(8 + 8 * ks_rng_below(&seed, 64));
    p.dim[KS_CONV_DI] = p.dim[KS_CONV_Z] = 1;
    p.dim[KS_CONV_HI] = p.dim[KS_CONV_WI] = (int64_t)(7 + ks_rng_below(&seed, 100));
    p.dim[KS_CONV_Y] = p.dim[KS_CONV_X] = (int64_t)(1 + 2 * ks_rng_below(&seed, 3));
    if (ks_problem_finish(&p, &err) < 0)
        fail(err.text);
    return p;
}

static float feature(uint64_t p, uint32_t i, size_t k)
{
    const uint64_t of = k % 3 == 0 ? p : k % 3 == 1 ? p * 64 + i : i;

    return k % 3 == 0 ? (float)(ks_mix64(of * 1000 + k) % 40) / 40
                      : (float)(ks_mix64(of * 1000 + k) % 1000) / 1000;
}

static void make_cells(uint32_t n_problems, uint32_t n_instances, struct ks_cells *c)
{
    uint64_t seed = 5;

    for (uint32_t p = 0; p < n_problems; p++) {
        const struct ks_problem x = problem(p);

        for (uint32_t i = 0; i < n_instances; i++) {
            struct ks_timed_cell cell = { .se_ns = -1, .weight = 1 };
            char name[24];

            cell.time_ns = 1000 *
                           (1 + (double)fabsf(feature(p, i, 0) - feature(p, i, 2)) +
                            0.3 * (double)feature(p, i, 1)) *
                           (1 + (double)ks_rng_below(&seed, 100) / 5000);
            snprintf(name, sizeof(name), "instance_%u", i);
            if (ks_cells_problem(c, &x, &cell.problem, NULL) < 0 ||
                ks_cells_instance(c, 100 + i, name, &cell.instance, NULL) < 0 ||
                ks_cells_add(c, &cell, NULL) < 0)
                fail("out of memory");
        }
    }
    if (ks_cells_finish(c, NULL) < 0)
        fail("out of memory");
}

/* ---- features ---- */

struct columns {
    size_t n;
    char text[MOST_COLUMNS][8];
    const char *names[MOST_COLUMNS];
};

static void fill(void *ctx, uint32_t p, uint32_t i, float *row_out)
{
    const struct columns *x = ctx;

    for (size_t k = 0; k < x->n; k++)
        row_out[k] = feature(p, i, k);
}

static int fit(void *ctx, const struct ks_cells *c, const bool *is_training,
               struct ks_featurizer *f_out, struct ks_err *err)
{
    const struct columns *x = ctx;

    (void)c;
    (void)is_training;
    (void)err;
    *f_out = (struct ks_featurizer){
        .n_cols = x->n, .names = x->names, .analytic = SIZE_MAX, .ctx = ctx, .fill = fill
    };
    return 0;
}

static void release(struct ks_featurizer *f)
{
    (void)f;
}

/* ---- timing ---- */

static void tell(void *ctx, const char *phase, double done)
{
    uint64_t *validated_ns = ctx;

    if (strcmp(phase, "cross-validating") == 0 && done >= 1)
        *validated_ns = ks_now_ns();
}

static double since(uint64_t ns)
{
    return (double)(ks_now_ns() - ns) / 1e9;
}

int main(int argc, char **argv)
{
    static struct columns columns;
    long sizes[] = { 3500, 20, 60, 1 };
    uint64_t began_ns, validated_ns = 0;
    struct ks_cells cells = { 0 };
    struct ks_feature_source source = { .ctx = &columns, .fit = fit, .release = release };
    struct ks_fit_input in = { .cells = &cells, .source = &source, .n_threads = 2, .seed = 1 };
    struct ks_train_options o = { .n_folds = 5,
                                  .max_rounds = 500,
                                  .patience = 60,
                                  .search_problems = 2000,
                                  .ctx = &validated_ns,
                                  .progress = tell };
    struct ks_trained t;
    struct rusage usage;
    struct ks_err err;

    for (int i = 1; i < argc && i < 5; i++)
        sizes[i - 1] = strtol(argv[i], NULL, 10);
    if (sizes[0] < 10 || sizes[1] < 1 || sizes[2] < 3 || sizes[2] > MOST_COLUMNS || sizes[3] < 1)
        fail("usage: bench_train [PROBLEMS INSTANCES COLUMNS SETTINGS]");
    columns.n = (size_t)sizes[2];
    for (size_t k = 0; k < columns.n; k++) {
        snprintf(columns.text[k], sizeof(columns.text[k]), "f%zu", k);
        columns.names[k] = columns.text[k];
    }
    o.n_settings = (uint32_t)sizes[3];
    make_cells((uint32_t)sizes[0], (uint32_t)sizes[1], &cells);
    began_ns = ks_now_ns();
    if (ks_train(&in, &o, &t, &err) < 0)
        fail(err.text);
    getrusage(RUSAGE_SELF, &usage);
    printf(
        "rows %zu columns %zu settings %u rounds %u all_s %.2f model_s %.2f mib %.0f loss %.4f\n",
        cells.n, columns.n, o.n_settings, t.last.rounds, since(began_ns), since(validated_ns),
        (double)usage.ru_maxrss / 1024, t.last.loss);
    ks_trained_release(&t, &source);
    ks_cells_release(&cells);
    return 0;
}
