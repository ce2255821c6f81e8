/* SPDX-License-Identifier: MIT */
/* test_model_dir.c - the model directory: written, read back, refused. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
/* cmocka.h wants the four above first. */
#include <cmocka.h>

#include "analysis/model/model_dir.h"
#include "base/file.h"
#include "feature_kit.h"
#include "temp_dir.h"
#include "train_kit.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static void damage(const char *dir, const char *name, const char *text)
{
    struct ks_err err = { 0 };
    char path[256];

    snprintf(path, sizeof(path), "%s/%s", dir, name);
    assert_int_equal(ks_file_replace(path, text, strlen(text), &err), 0);
}

static void says(const char *dir, const char *name, const char *what)
{
    struct ks_buf text;
    struct ks_err err;
    char path[256];

    ks_buf_init(&text);
    snprintf(path, sizeof(path), "%s/%s", dir, name);
    assert_int_equal(ks_file_read(path, &text, &err), 0);
    if (!strstr(ks_buf_text(&text), what))
        fail_msg("'%s' does not say '%s'", ks_buf_text(&text), what);
    ks_buf_release(&text);
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

static void same_model(const struct tkit *k, const char *dir)
{
    const struct ks_cells *c = &k->cells;
    struct ks_model m;
    struct ks_err err = { 0 };

    if (ks_model_read(dir, 1, &m, &err) < 0)
        fail_msg("%s", err.text);
    assert_int_equal(m.cells.n, c->n);
    assert_int_equal(m.device.device_class, 0xabc);
    assert_string_equal(m.cells.instances[0].name, c->instances[0].name);
    for (size_t i = 0; i < c->n; i++) {
        assert_true(m.cells.cells[i].time_ns == c->cells[i].time_ns);
        assert_int_equal(m.cells.cells[i].instance, c->cells[i].instance);
        assert_true(m.scores[i] == k->trained.scores[i]);
    }
    assert_memory_equal(m.fold, k->trained.fold, TKIT_PROBLEMS);
    assert_int_equal(m.n_sources, 2);
    assert_true(m.sources[1].device_class == 0xdef && m.sources[1].condition == 5 &&
                m.sources[1].n_problems == 6 && m.sources[1].n_units == 7 &&
                m.sources[1].is_over_rounds && !m.sources[0].is_over_rounds);
    assert_string_equal(m.sources[1].model, "Other");
    for (size_t p = 0; p < TKIT_PROBLEMS; p++) {
        assert_int_equal(m.is_outside[p], k->trained.is_outside[p]);
        assert_int_equal(m.pick[p], k->trained.picks[KS_BY_MODEL][p].cell);
    }
    ks_model_release(&m);
}

static int put_model(const char *dir, const struct tkit *k)
{
    const struct ks_fit_input in = tkit_input(&k->cells, 1);
    const struct ks_time_source sources[] = {
        { .device_class = 0xabc, .n_problems = TKIT_PROBLEMS - 6 },
        { .device_class = 0xdef,
          .condition = 5,
          .is_over_rounds = true,
          .n_units = 7,
          .model = "Other",
          .n_problems = 6 },
    };
    const struct ks_model_about about = {
        .program = "test", .device = sources, .sources = sources, .n_sources = 2
    };
    struct ks_buf json;
    struct ks_err err;
    int rc;

    ks_buf_init(&json);
    ks_buf_printf(&json, "{}\n");
    rc = ks_model_write(dir, &in, &tkit_options, &k->trained, &about, &json, &json, &err);
    ks_buf_release(&json);
    return rc;
}

static void directory_comes_back(void **state)
{
    struct tkit *k = *state;
    struct ks_pick *pick = &k->trained.picks[KS_BY_MODEL][4];
    char root[TEMP_DIR_MAX], dir[TEMP_DIR_MAX + 8];

    temp_dir_make(root, sizeof(root));
    snprintf(dir, sizeof(dir), "%s/m", root);
    /* outside of the range, so not by its score */
    k->trained.is_outside[4] = true;
    pick->cell = k->cells.problems[4].first + (pick->cell == k->cells.problems[4].first);
    assert_int_equal(put_model(dir, k), 0);
    same_model(k, dir);
    says(dir, "manifest.json", "\"n_outside\": 1,");
    assert_int_equal(put_model(dir, k), KS_EEXIST);
    refused(root, KS_ENOENT, "is not a model directory");
    change_cells(dir);
    damage(dir, "oof.csv", "problem_id,fold\n");
    refused(dir, KS_EFORMAT, "oof.csv:1: unexpected header");
    damage(dir, "problems.csv", "problem_id,fold,class,uses,is_outside,canonical\n1,2,3\n");
    refused(dir, KS_EFORMAT, "problems.csv:2: unexpected number of fields");
    damage(dir, "manifest.json", "{ \"model_format\": 99 }\n");
    refused(dir, KS_EINVAL, "model format 99");
    temp_dir_remove(root);
}

/* Lines of problems.csv without the fifth field. */
static void drop_outside(const char *dir)
{
    struct ks_buf text, old;
    struct ks_err err;
    char path[256];
    int n = 0;

    ks_buf_init(&text);
    ks_buf_init(&old);
    snprintf(path, sizeof(path), "%s/problems.csv", dir);
    assert_int_equal(ks_file_read(path, &text, &err), 0);
    for (const char *at = ks_buf_text(&text); *at; at++) {
        n = *at == '\n' ? 0 : n + (*at == ',');
        if (n != 4)
            ks_buf_u8(&old, (uint8_t)*at);
    }
    damage(dir, "problems.csv", ks_buf_text(&old));
    ks_buf_release(&text);
    ks_buf_release(&old);
}

/* As an older program wrote it. */
static void make_older(const char *dir)
{
    static const char now[] = "\"model_format\": 3", before[] = "\"model_format\": 1";
    struct ks_buf text;
    struct ks_err err;
    char path[256], *at;

    ks_buf_init(&text);
    snprintf(path, sizeof(path), "%s/manifest.json", dir);
    assert_int_equal(ks_file_read(path, &text, &err), 0);
    at = strstr((char *)text.data, now);
    assert_non_null(at);
    memcpy(at, before, strlen(before));
    damage(dir, "manifest.json", ks_buf_text(&text));
    ks_buf_release(&text);
    drop_outside(dir);
}

/* A fold whose training has no cell of an instance knows no score of it. */
static void missing_scores_come_back(void **state)
{
    const struct tkit *k = *state;
    const struct ks_cell_problem *p = k->cells.problems;
    float *scores = k->trained.scores;
    char root[TEMP_DIR_MAX], dir[TEMP_DIR_MAX + 8];
    struct ks_err err = { 0 };

    temp_dir_make(root, sizeof(root));
    snprintf(dir, sizeof(dir), "%s/m", root);
    scores[p[3].first] = NAN;
    for (size_t i = 0; i < p[5].n; i++)
        scores[p[5].first + i] = -NAN;
    assert_int_equal(put_model(dir, k), 0);
    for (int turn = 0; turn < 2; turn++) {
        struct ks_model m;

        if (ks_model_read(dir, 1, &m, &err) < 0)
            fail_msg("%s", err.text);
        for (size_t i = 0; i < k->cells.n; i++)
            assert_true(m.scores[i] == scores[i] || (isnan(m.scores[i]) && isnan(scores[i])));
        assert_int_equal(m.n_sources, turn == 0 ? 2 : 1);
        assert_int_equal(m.device.n_problems, TKIT_PROBLEMS);
        assert_true(ks_pick_scored(&p[3], m.scores) > p[3].first);
        assert_int_equal(ks_pick_scored(&p[5], m.scores), p[5].first);
        ks_model_release(&m);
        if (turn == 0)
            make_older(dir);
    }
    temp_dir_remove(root);
}

static void put_spec(const char *dir, const struct ks_feature_spec *spec)
{
    struct ks_buf text;

    ks_buf_init(&text);
    ks_feature_spec_write(spec, &text);
    damage(dir, "feature_spec.json", ks_buf_text(&text));
    ks_buf_release(&text);
}

static void spec_refused(const struct ks_model *m, const char *dir, const char *text)
{
    struct ks_feature_spec spec;
    struct ks_err err = { 0 };

    assert_int_equal(ks_model_read_spec(m, dir, &spec, &err), KS_EFORMAT);
    if (!strstr(err.text, dir) || !strstr(err.text, text))
        fail_msg("'%s' does not say '%s'", err.text, text);
}

static void gemm_spec(struct fkit *t, struct ks_feature_spec *out)
{
    struct ks_problem p[2];
    uint32_t op;

    assert_int_equal(ks_operator_find("gemm", &op, NULL), 0);
    for (int64_t i = 0; i < 2; i++) {
        p[i] = ks_problem_blank(op);
        p[i].dim[ks_problem_dim(op, "m")] = 64 << i;
        p[i].dim[ks_problem_dim(op, "n")] = p[i].dim[ks_problem_dim(op, "k")] = 64;
        assert_int_equal(ks_problem_finish(&p[i], NULL), 0);
    }
    assert_int_equal(ks_feature_spec_create(p, 2, &t->traits, NULL, out, NULL), 0);
}

/* The model has four features, of convolutions. */
static void specification_fits_the_model(void **state)
{
    const struct tkit *k = *state;
    char root[TEMP_DIR_MAX], dir[TEMP_DIR_MAX + 8];
    struct ks_feature_spec spec;
    struct ks_model m;
    struct ks_err err = { 0 };
    struct fkit kit;

    temp_dir_make(root, sizeof(root));
    snprintf(dir, sizeof(dir), "%s/m", root);
    assert_int_equal(put_model(dir, k), 0);
    assert_int_equal(ks_model_read(dir, 1, &m, &err), 0);
    fkit_make(&kit);
    fkit_spec(&kit, 8, &spec);
    put_spec(dir, &spec);
    spec_refused(&m, dir, "/model.json 4: the two files belong to different models");
    ks_feature_spec_release(&spec);
    gemm_spec(&kit, &spec);
    put_spec(dir, &spec);
    spec_refused(&m, dir, "is for operator 'gemm', but the model's problems are of 'grouped_conv'");
    ks_feature_spec_release(&spec);
    fkit_release(&kit);
    ks_model_release(&m);
    temp_dir_remove(root);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(directory_comes_back, tkit_open, tkit_close),
        cmocka_unit_test_setup_teardown(missing_scores_come_back, tkit_open, tkit_close),
        cmocka_unit_test_setup_teardown(specification_fits_the_model, tkit_open, tkit_close),
    };

    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
