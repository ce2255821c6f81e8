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
    assert_int_equal(m.device_class, 0xabc);
    assert_string_equal(m.cells.instances[0].name, c->instances[0].name);
    for (size_t i = 0; i < c->n; i++) {
        assert_true(m.cells.cells[i].time_ns == c->cells[i].time_ns);
        assert_int_equal(m.cells.cells[i].instance, c->cells[i].instance);
        assert_true(m.scores[i] == k->trained.scores[i]);
    }
    assert_memory_equal(m.fold, k->trained.fold, TKIT_PROBLEMS);
    ks_model_release(&m);
}

static int put_model(const char *dir, const struct tkit *k)
{
    const struct ks_fit_input in = tkit_input(&k->cells, 1);
    const struct ks_model_about about = {
        .program = "test", .arch = "", .device_model = "", .device_class = 0xabc
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
    const struct tkit *k = *state;
    char root[TEMP_DIR_MAX], dir[TEMP_DIR_MAX + 8];

    temp_dir_make(root, sizeof(root));
    snprintf(dir, sizeof(dir), "%s/m", root);
    assert_int_equal(put_model(dir, k), 0);
    same_model(k, dir);
    assert_int_equal(put_model(dir, k), KS_EEXIST);
    refused(root, KS_ENOENT, "is not a model directory");
    change_cells(dir);
    damage(dir, "oof.csv", "problem_id,fold\n");
    refused(dir, KS_EFORMAT, "oof.csv:1: unexpected header");
    damage(dir, "problems.csv", "problem_id,fold,class,uses,canonical\n1,2,3\n");
    refused(dir, KS_EFORMAT, "problems.csv:2: unexpected number of fields");
    damage(dir, "manifest.json", "{ \"model_format\": 99 }\n");
    refused(dir, KS_EINVAL, "model format 99");
    temp_dir_remove(root);
}

/* As an older program numbered it. */
static void make_older(const char *dir)
{
    static const char now[] = "\"model_format\": 2", before[] = "\"model_format\": 1";
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
        assert_true(ks_pick_scored(&p[3], m.scores) > p[3].first);
        assert_int_equal(ks_pick_scored(&p[5], m.scores), p[5].first);
        ks_model_release(&m);
        if (turn == 0)
            make_older(dir);
    }
    temp_dir_remove(root);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(directory_comes_back, tkit_open, tkit_close),
        cmocka_unit_test_setup_teardown(missing_scores_come_back, tkit_open, tkit_close),
    };

    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
