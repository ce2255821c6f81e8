/* SPDX-License-Identifier: MIT */
/* bench_selector.c [ROUNDS [DIR]] - how long a choice among 100 candidates takes, by size of the
 * selector: the code that `ksweep-analyze select` writes, as it is in the program. 300 full trees
 * of depth 7 over 70 features, split at random; candidates that all apply; problems one after the
 * other, so that caches hold the trees and nothing else is known. One line per size: median and
 * 90th percentile in ns. DIR: the distilled one is written there as selector.c and selector.h. */
#include "analysis/learn/analytic.h"
#include "analysis/learn/objective.h"
#include "analysis/model/selector.h"
#include "base/file.h"
#include "base/hash.h"
#include "op/conv.h"
#include "record/stats.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { N_CANDIDATES = 100, N_PROBLEMS = 400, N_TREES = 300, DEPTH = 7 };

static void fail(const char *what)
{
    fprintf(stderr, "bench_selector: %s\n", what);
    exit(3);
}

static struct ks_problem problem(uint64_t seed)
{
    struct ks_problem p = ks_problem_blank(0);
    struct ks_err err;

    p.dim[KS_CONV_N] = (int64_t)1 << ks_rng_below(&seed, 5);
    p.dim[KS_CONV_C_TOTAL] = (int64_t)(16 + 16 * ks_rng_below(&seed, 40));
    p.dim[KS_CONV_K_TOTAL] = (int64_t)(16 + 16 * ks_rng_below(&seed, 40));
    p.dim[KS_CONV_DI] = p.dim[KS_CONV_Z] = 1;
    p.dim[KS_CONV_HI] = p.dim[KS_CONV_WI] = (int64_t)(7 + ks_rng_below(&seed, 100));
    p.dim[KS_CONV_Y] = p.dim[KS_CONV_X] = (int64_t)(1 + 2 * ks_rng_below(&seed, 3));
    if (ks_problem_finish(&p, &err) < 0)
        fail(err.text);
    return p;
}

/* ---- made-up model ---- */

static const char *const columns[] = { "trait_tile_m", "trait_tile_n", "trait_tile_k",
                                       "trait_vector_bytes", "trait_unroll_k" };

static void make_traits(struct ks_traits *t)
{
    static const double values[][4] = {
        { 4, 6, 8, 14 }, { 1, 2, 3, 4 }, { 32, 64, 128, 256 }, { 16, 32, 64, 64 }, { 1, 2, 4, 8 }
    };

    *t = (struct ks_traits){ .n_columns = 5, .n_instances = N_CANDIDATES, .cap = N_CANDIDATES };
    t->columns = calloc(5, sizeof(*t->columns));
    t->ids = calloc(N_CANDIDATES, sizeof(*t->ids));
    t->names = calloc(N_CANDIDATES, sizeof(*t->names));
    t->families = calloc(N_CANDIDATES, sizeof(*t->families));
    t->values = calloc((size_t)N_CANDIDATES * 5, sizeof(*t->values));
    for (size_t k = 0; k < 5; k++)
        t->columns[k] = strdup(columns[k]);
    for (size_t i = 0; i < N_CANDIDATES; i++) {
        char name[32];

        snprintf(name, sizeof(name), "instance_%zu", i);
        t->ids[i] = 1000 + i;
        t->names[i] = strdup(name);
        t->families[i] = strdup("made_up");
        for (size_t k = 0; k < 5; k++)
            t->values[i * 5 + k] =
                (struct ks_trait_value){ values[k][ks_mix64(i * 5 + k) % 4], NULL };
    }
}

static void make_cells(const struct ks_feature_spec *s, const struct ks_problem *problems,
                       struct ks_cells *c)
{
    uint64_t seed = 3;

    for (size_t p = 0; p < N_PROBLEMS; p++)
        for (uint32_t i = 0; i < N_CANDIDATES; i++) {
            struct ks_timed_cell cell = { .se_ns = -1, .weight = 1 };

            cell.time_ns = ks_analytic_time_ns(s, &problems[p], i) *
                           (1 + (double)ks_rng_below(&seed, 1000) / 2000);
            if (ks_cells_problem(c, &problems[p], &cell.problem, NULL) < 0 ||
                ks_cells_instance(c, s->instances[i].id, s->instances[i].name, &cell.instance,
                                  NULL) < 0 ||
                ks_cells_add(c, &cell, NULL) < 0)
                fail("out of memory");
        }
    if (ks_cells_finish(c, NULL) < 0)
        fail("out of memory");
}

/* Thresholds are values that the feature has somewhere, so that walks go both ways. */
static void make_forest(const struct ks_feature_spec *s, const struct ks_problem *problems,
                        struct ks_forest *f)
{
    const uint32_t n = (2u << DEPTH) - 1;
    uint64_t seed = 7;

    *f = (struct ks_forest){ .n_features = (uint16_t)s->n_features, .n_trees = N_TREES };
    f->nodes = calloc((size_t)n * N_TREES, sizeof(*f->nodes));
    f->trees = calloc(N_TREES, sizeof(*f->trees));
    if (!f->nodes || !f->trees)
        fail("out of memory");
    for (uint32_t t = 0; t < N_TREES; t++) {
        f->trees[t] = (struct ks_sel_tree){ f->n_nodes, DEPTH };
        for (uint32_t i = 0; i < n; i++) {
            struct ks_sel_node *x = &f->nodes[f->n_nodes + i];
            float row[KS_FEATURES_MAX];

            if (i >= n / 2) {
                *x = (struct ks_sel_node){ (float)ks_rng_below(&seed, 1000) / 1e5f, f->n_features,
                                           (uint16_t)i };
                continue;
            }
            ks_features_row(s, &problems[ks_rng_below(&seed, N_PROBLEMS)],
                            (uint32_t)ks_rng_below(&seed, N_CANDIDATES), row);
            x->feature = (uint16_t)ks_rng_below(&seed, s->n_features);
            x->value = isnan(row[x->feature]) ? 0 : row[x->feature];
            x->left = (uint16_t)(2 * i + 1);
        }
        f->n_nodes += n;
    }
}

/* ---- timing ---- */

static uint64_t cpu_ns(void)
{
    struct timespec t;

    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

static void measure(const struct ks_selector *s, const char *size,
                    const struct ks_problem *problems, int rounds)
{
    double *ns = calloc((size_t)rounds, sizeof(*ns));
    struct ks_fx_problem *own = calloc(N_PROBLEMS, sizeof(*own));
    uint64_t sum = 0;

    if (!ns || !own)
        fail("out of memory");
    for (size_t p = 0; p < N_PROBLEMS; p++)
        own[p] = ks_feature_problem(&problems[p]);
    for (int r = 0; r < rounds; r++) {
        const uint64_t begin = cpu_ns();

        for (int p = 0; p < N_PROBLEMS; p++) {
            struct ks_sel_pick pick;
            int rule;

            ks_sel_select(&s->model, &own[p], NULL, &pick, 1, &rule);
            sum += (uint64_t)pick.instance + (uint64_t)rule;
        }
        ns[r] = (double)(cpu_ns() - begin) / N_PROBLEMS;
    }
    ks_stats_sort(ns, (size_t)rounds);
    printf("%-10s %10.0f ns  p90 %10.0f ns  (%u trees, %u candidates; %llu)\n", size,
           ns[rounds / 2], ns[rounds * 9 / 10],
           s->model.size == KS_SEL_DISTILLED ? 0 : s->model.n_trees,
           s->model.splits ? s->model.width : s->model.n_instances, (unsigned long long)sum);
    free(own);
    free(ns);
}

static void put_file(const char *dir, const char *name, struct ks_buf *b)
{
    char path[4096];
    struct ks_err err;

    if (ks_path_join(path, sizeof(path), dir, name, &err) < 0 ||
        ks_file_replace(path, b->data, b->len, &err) < 0)
        fail(err.text);
    ks_buf_clear(b);
}

static void write_source(const struct ks_selector *s, const char *dir)
{
    struct ks_buf b;

    ks_buf_init(&b);
    ks_selector_write_header(s, "selector", &b);
    put_file(dir, "selector.h", &b);
    ks_selector_write_source(s, "selector", &b);
    put_file(dir, "selector.c", &b);
    ks_buf_release(&b);
}

int main(int argc, char **argv)
{
    static const char *const sizes[] = { "full", "budgeted", "distilled" };
    static struct ks_problem problems[N_PROBLEMS];
    const int rounds = argc > 1 ? (int)strtol(argv[1], NULL, 10) : 20;
    struct ks_traits traits;
    struct ks_feature_spec spec;
    struct ks_cells cells = { 0 };
    struct ks_err err;

    for (size_t p = 0; p < N_PROBLEMS; p++)
        problems[p] = problem(p);
    make_traits(&traits);
    if (ks_feature_spec_create(problems, N_PROBLEMS, &traits, NULL, &spec, &err) < 0)
        fail(err.text);
    spec.device = (struct ks_fx_device){ 1, 1 << 20, 2000, 80, 12, 60 };
    make_cells(&spec, problems, &cells);
    for (uint32_t size = 0; size < 3 && rounds > 0; size++) {
        const struct ks_selector_options o = { size, 0 };
        struct ks_selector s;
        struct ks_forest f;

        make_forest(&spec, problems, &f);
        if (ks_selector_create(&spec, &f, KS_TARGET_LOG_TIME, &cells, NULL, &o, &s, &err) < 0)
            fail(err.text);
        measure(&s, sizes[size], problems, size == KS_SEL_FULL ? (rounds + 9) / 10 : rounds);
        if (size == KS_SEL_DISTILLED && argc > 2)
            write_source(&s, argv[2]);
        ks_selector_release(&s);
        ks_forest_release(&f);
    }
    ks_cells_release(&cells);
    ks_feature_spec_release(&spec);
    ks_traits_release(&traits);
    return 0;
}
