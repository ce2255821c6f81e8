/* SPDX-License-Identifier: MIT */
/* test_source.c - features of training: each row by its own device, and the range of a model that
 * is continued */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
/* cmocka.h wants the four above first. */
#include <cmocka.h>

#include "analysis/learn/analytic.h"
#include "analysis/model/source.h"
#include "feature_kit.h"
#include "op/conv.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { N = 40 }; /* problems; every fourth was measured on the second device */

static const struct ks_fx_device devices[] = { { .units = 4, .fast_bytes = 1 << 20 },
                                               { .units = 64, .fast_bytes = 1 << 16 } };

static uint32_t source_of(size_t problem)
{
    return problem % 4 == 3;
}

/* rare: the first problem that the last instance was measured on. */
static void make_cells_with(struct ks_cells *c, size_t rare)
{
    static const uint64_t ids[] = { 11, 22, 33, 44 };

    *c = (struct ks_cells){ 0 };
    for (size_t i = 0; i < N; i++) {
        const struct ks_problem p = fkit_problem(i);

        for (size_t k = 0; k < FKIT_INSTANCES; k++) {
            struct ks_timed_cell cell = { .se_ns = -1, .weight = 1 };

            if (k == FKIT_INSTANCES - 1 && i < rare)
                continue;
            cell.time_ns = (double)(1000 + 100 * k + 7 * i) * (source_of(i) ? 0.01 : 1);
            assert_int_equal(ks_cells_problem(c, &p, &cell.problem, NULL), 0);
            assert_int_equal(ks_cells_instance(c, ids[k], "i", &cell.instance, NULL), 0);
            assert_int_equal(ks_cells_add(c, &cell, NULL), 0);
            c->problems[cell.problem].source = source_of(i);
        }
    }
    assert_int_equal(ks_cells_finish(c, NULL), 0);
}

static void make_cells(struct ks_cells *c)
{
    make_cells_with(c, 0);
}

/* What a device's features are if there were no other: from all problems, calibrated on its own. */
static void alone(const struct fkit *kit, const struct ks_cells *c, uint32_t source,
                  struct ks_feature_spec *out)
{
    struct ks_timed_pair pairs[N * FKIT_INSTANCES];
    struct ks_problem problems[N];
    size_t n = 0;

    for (size_t i = 0; i < N; i++)
        problems[i] = c->problems[i].problem;
    assert_int_equal(ks_feature_spec_create(problems, N, &kit->traits, &devices[source], out, NULL),
                     0);
    for (size_t i = 0; i < c->n; i++)
        if (c->problems[c->cells[i].problem].source == source)
            pairs[n++] = (struct ks_timed_pair){ &problems[c->cells[i].problem],
                                                 ks_feature_spec_find(
                                                     out, c->instances[c->cells[i].instance].id),
                                                 c->cells[i].time_ns };
    assert_int_equal(ks_feature_spec_calibrate(out, pairs, n, NULL), 0);
}

static bool is_row_of(const struct ks_featurizer *f, const struct ks_feature_spec *spec,
                      const struct ks_cells *c, uint32_t problem)
{
    float got[KS_FEATURES_MAX], want[KS_FEATURES_MAX];

    f->fill(f->ctx, problem, 1, got);
    ks_features_row(spec, &c->problems[problem].problem, 1, want);
    return memcmp(got, want, f->n_cols * sizeof(*got)) == 0;
}

static void rows_are_of_their_own_device(void **state)
{
    struct ks_spec_source from = { .devices = devices, .n_devices = 2 };
    struct ks_feature_source source = ks_spec_source(&from);
    struct ks_feature_spec spec[2];
    struct ks_featurizer f;
    struct ks_cells c;
    struct fkit kit;
    bool is_training[N];

    (void)state;
    fkit_make(&kit);
    from.traits = &kit.traits;
    make_cells(&c);
    memset(is_training, true, sizeof(is_training));
    alone(&kit, &c, 0, &spec[0]);
    alone(&kit, &c, 1, &spec[1]);
    assert_int_equal(source.fit(source.ctx, &c, is_training, &f, NULL), 0);
    for (uint32_t p = 0; p < N; p++) {
        assert_true(is_row_of(&f, &spec[source_of(p)], &c, p));
        assert_false(is_row_of(&f, &spec[1 - source_of(p)], &c, p));
    }
    assert_int_equal(ks_spec_of(&f)->digest, spec[0].digest); /* the model's: the first one */
    source.release(&f);
    /* without a training problem of the second: its units, the other's rates */
    for (uint32_t p = 0; p < N; p++)
        is_training[p] = source_of(p) == 0;
    assert_int_equal(source.fit(source.ctx, &c, is_training, &f, NULL), 0);
    for (uint32_t p = 0; p < N; p++)
        assert_true(is_row_of(&f, ks_spec_of(&f), &c, p) == (source_of(p) == 0));
    ks_feature_spec_release(&spec[1]);
    assert_int_equal(
        ks_feature_spec_create(&c.problems[0].problem, 1, &kit.traits, &devices[1], &spec[1], NULL),
        0);
    assert_int_equal(ks_feature_spec_take_rates(&spec[1], ks_spec_of(&f), NULL), 0);
    assert_true(spec[1].is_calibrated && spec[1].device.units == 64);
    assert_true(spec[1].device.flops_per_ns == ks_spec_of(&f)->device.flops_per_ns);
    source.release(&f);
    ks_feature_spec_release(&spec[0]);
    ks_feature_spec_release(&spec[1]);
    ks_cells_release(&c);
    fkit_release(&kit);
}

/* Only what the new training problems add; device and calibration stay. */
static void new_problems_widen_the_range(void **state)
{
    static const uint32_t of_model[] = { 0, 0 };
    struct ks_spec_source from = { .devices = devices, .n_devices = 1, .device_of = of_model };
    struct ks_feature_source source = ks_spec_source(&from);
    struct ks_problem stride = fkit_conv(KS_FORWARD, 1, 1, 64, 64, 30, 3, 5);
    struct ks_feature_spec spec;
    struct ks_featurizer f;
    struct ks_timed_cell cell = { .time_ns = 1, .se_ns = -1, .weight = 1 };
    struct ks_cells c;
    struct ks_buf text;
    struct fkit kit;
    bool is_training[N + 1];

    (void)state;
    fkit_make(&kit);
    make_cells(&c);
    alone(&kit, &c, 0, &spec);
    ks_buf_init(&text);
    ks_feature_spec_write(&spec, &text);
    assert_int_equal(ks_cells_problem(&c, &stride, &cell.problem, NULL), 0);
    assert_int_equal(ks_cells_add(&c, &cell, NULL), 0);
    assert_int_equal(ks_cells_finish(&c, NULL), 0);
    from.given = &text;
    memset(is_training, true, sizeof(is_training));
    for (int turn = 0; turn < 2; turn++) {
        is_training[N] = turn == 1;
        assert_int_equal(source.fit(source.ctx, &c, is_training, &f, NULL), 0);
        if (turn == 0)
            assert_string_equal(f.outside(f.ctx, N), "stride_h");
        else
            assert_null(f.outside(f.ctx, N));
        assert_memory_equal(&ks_spec_of(&f)->device, &spec.device, sizeof(spec.device));
        assert_true((ks_spec_of(&f)->digest == spec.digest) == (turn == 0));
        source.release(&f);
    }
    ks_buf_release(&text);
    ks_feature_spec_release(&spec);
    ks_cells_release(&c);
    fkit_release(&kit);
}

/* A selector does not offer what training has not measured, whatever the traits list. */
static void what_training_has_not_measured_is_not_offered(void **state)
{
    const uint32_t last = FKIT_INSTANCES - 1;
    struct ks_spec_source from = { .devices = devices, .n_devices = 2 };
    struct ks_feature_source source = ks_spec_source(&from);
    struct ks_cells c, known;
    struct ks_featurizer f;
    struct fkit kit;
    bool is_training[N];

    (void)state;
    fkit_make(&kit);
    from.traits = &kit.traits;
    make_cells_with(&c, N - 1);
    make_cells(&known);
    memset(is_training, true, sizeof(is_training));
    for (int turn = 0; turn < 3; turn++) {
        is_training[N - 1] = turn == 0;
        from.known = turn == 2 ? &known : NULL; /* of a model that is continued */
        assert_int_equal(source.fit(source.ctx, &c, is_training, &f, NULL), 0);
        assert_true(f.knows(f.ctx, 0));
        assert_true(f.knows(f.ctx, last) == (turn != 1));
        source.release(&f);
    }
    ks_cells_release(&known);
    ks_cells_release(&c);
    fkit_release(&kit);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(rows_are_of_their_own_device),
        cmocka_unit_test(new_problems_widen_the_range),
        cmocka_unit_test(what_training_has_not_measured_is_not_offered),
    };

    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
