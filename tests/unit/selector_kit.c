/* SPDX-License-Identifier: MIT */
/* selector_kit.c - a table, its features and trees */
#include "selector_kit.h"

#include "analysis/learn/analytic.h"
#include "analysis/learn/objective.h"
#include "base/file.h"
#include "base/hash.h"
#include "op/conv.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>

/* Times by the analytic model, each instance better at some shapes; not everything is measured. */
static double time_of(const struct made *m, size_t p, uint32_t i)
{
    uint64_t state = p * 31 + i;
    struct ks_feature_spec s = m->spec;

    s.device = (struct ks_fx_device){ 1, 1 << 20, 2000, 80, 12, 60 };
    return ks_analytic_time_ns(&s, &m->problems[p], i) *
           (i == 3 && m->problems[p].dim[KS_CONV_HI] > 30 ? 1.6 : 1) *
           (i == 2 && m->problems[p].dim[KS_CONV_X] > 1 ? 3 : 1) *
           (1 + 0.05 * (double)ks_rng_below(&state, 100) / 100);
}

static void make_cells(struct made *m)
{
    uint32_t problem, instance;

    for (size_t p = 0; p < N_PROBLEMS; p++) {
        m->problems[p] = fkit_problem(p);
        for (uint32_t i = 0; i < m->spec.n_instances; i++) {
            if (!ks_feature_applies(&m->spec, &m->problems[p], i))
                continue;
            assert_int_equal(ks_cells_problem(&m->cells, &m->problems[p], &problem, NULL), 0);
            assert_int_equal(ks_cells_instance(&m->cells, m->spec.instances[i].id,
                                               m->spec.instances[i].name, &instance, NULL),
                             0);
            assert_int_equal(ks_cells_add(&m->cells,
                                          &(struct ks_timed_cell){ .problem = problem,
                                                                   .instance = instance,
                                                                   .time_ns = time_of(m, p, i),
                                                                   .se_ns = -1,
                                                                   .weight = 1 },
                                          NULL),
                             0);
        }
    }
    assert_int_equal(ks_cells_finish(&m->cells, NULL), 0);
}

void skit_featurize(struct made *m)
{
    assert_int_equal(ks_matrix_init(&m->x, m->cells.n, m->spec.n_features, NULL), 0);
    for (size_t r = 0; r < m->cells.n; r++) {
        const struct ks_timed_cell *c = &m->cells.cells[r];
        const uint32_t i = ks_feature_spec_find(&m->spec, m->cells.instances[c->instance].id);

        ks_features_row(&m->spec, &m->cells.problems[c->problem].problem, i,
                        ks_matrix_row(&m->x, r));
    }
}

static void train(struct made *m)
{
    const struct ks_booster_params params = { .depth = 4,
                                              .n_parallel = 1,
                                              .max_bin = 64,
                                              .eta = 0.3,
                                              .min_child = 1,
                                              .subsample = 1,
                                              .colsample = 1,
                                              .lambda = 1,
                                              .n_threads = 1,
                                              .seed = 1 };
    struct ks_objective o;
    struct ks_err err;
    struct ks_pair_row *rows = calloc(m->cells.n, sizeof(*rows));

    for (size_t i = 0; i < m->cells.n; i++)
        rows[i] = (struct ks_pair_row){ m->cells.cells[i].problem, m->cells.cells[i].instance, i };
    assert_int_equal(
        ks_objective_init(&o, KS_TARGET_LOG_TIME, &m->cells, rows, m->cells.n, false, NULL), 0);
    if (ks_booster_create(&m->booster, &params, &m->x, m->names, NULL, 0, &err) < 0)
        fail_msg("%s", err.text);
    for (int i = 0; i < 30; i++)
        assert_int_equal(ks_booster_round(m->booster, &o, NULL), 0);
    ks_buf_init(&m->json);
    assert_int_equal(ks_booster_save(m->booster, &m->json, NULL), 0);
    ks_objective_release(&o);
    free(rows);
}

int skit_make(void **state)
{
    struct made *m = calloc(1, sizeof(*m));

    fkit_make(&m->kit);
    fkit_spec(&m->kit, N_PROBLEMS, &m->spec);
    m->spec.device = (struct ks_fx_device){ 1, 1 << 20, 1500, 70, 14, 50 };
    for (size_t i = 0; i < m->spec.n_features; i++)
        m->names[i] = m->spec.features[i].name;
    make_cells(m);
    skit_featurize(m);
    train(m);
    *state = m;
    return 0;
}

int skit_release(void **state)
{
    struct made *m = *state;

    ks_booster_destroy(m->booster);
    ks_buf_release(&m->json);
    ks_matrix_release(&m->x);
    ks_cells_release(&m->cells);
    ks_feature_spec_release(&m->spec);
    fkit_release(&m->kit);
    free(m);
    return 0;
}

void skit_forest(const struct made *m, struct ks_forest *f)
{
    struct ks_err err;

    if (ks_forest_parse(ks_buf_text(&m->json), m->json.len, "model.json", f, &err) < 0)
        fail_msg("%s", err.text);
}

void skit_put_text(const char *dir, const char *name, const struct ks_buf *b)
{
    char path[256];

    snprintf(path, sizeof(path), "%s/%s", dir, name);
    assert_int_equal(ks_file_replace(path, b->data, b->len, NULL), 0);
}
