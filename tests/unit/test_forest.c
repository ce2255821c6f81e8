/* SPDX-License-Identifier: MIT */
/* test_forest.c - a model's trees as selectors walk them: read, exported, refused. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
/* cmocka.h wants the four above first. */
#include <cmocka.h>

#include "analysis/model/forest_text.h"
#include "base/file.h"
#include "selector_kit.h"
#include "json/json.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define N(a) (sizeof(a) / sizeof((a)[0]))

/* Rows of the table, and the same with every third value missing. */
static void test_forest_predicts_what_xgboost_does(void **state)
{
    struct made *m = *state;
    struct ks_forest f;
    float *want = calloc(m->x.n_rows, sizeof(*want));

    skit_forest(m, &f);
    assert_int_equal(f.n_trees, 30);
    for (int turn = 0; turn < 2; turn++) {
        for (size_t i = 0; turn && i < m->x.n_rows * m->x.n_cols; i += 3)
            m->x.x[i] = NAN;
        assert_int_equal(ks_booster_predict(m->booster, &m->x, want, NULL), 0);
        for (size_t r = 0; r < m->x.n_rows; r++) {
            float row[KS_FEATURES_MAX + 1];

            memcpy(row, ks_matrix_row(&m->x, r), m->x.n_cols * sizeof(*row));
            row[m->x.n_cols] = -INFINITY;
            assert_true(fabs(ks_forest_predict(&f, row) - (double)want[r]) <= 1e-6);
        }
    }
    ks_matrix_release(&m->x);
    skit_featurize(m);
    free(want);
    ks_forest_release(&f);
}

static void test_xgboost_reads_its_trees_back(void **state)
{
    struct made *m = *state;
    struct ks_forest f;
    struct ks_booster *again;
    struct ks_buf json;
    struct ks_err err;
    float *a = calloc(m->x.n_rows, sizeof(*a)), *b = calloc(m->x.n_rows, sizeof(*b));

    skit_forest(m, &f);
    ks_buf_init(&json);
    ks_forest_write_xgboost(&f, m->names, &json);
    if (ks_booster_load(&again, json.data, json.len, "again.json", 1, &err) < 0)
        fail_msg("%s", err.text);
    assert_int_equal(ks_booster_predict(m->booster, &m->x, a, NULL), 0);
    assert_int_equal(ks_booster_predict(again, &m->x, b, NULL), 0);
    assert_memory_equal(a, b, m->x.n_rows * sizeof(*a));
    ks_booster_destroy(again);
    ks_buf_release(&json);
    free(a);
    free(b);
    ks_forest_release(&f);
}

/* A line per row: what is predicted, then the features. */
static void put_rows(const struct made *m, const struct ks_forest *f, struct ks_buf *to)
{
    for (size_t r = 0; r < m->x.n_rows; r++) {
        float row[KS_FEATURES_MAX + 1];

        memcpy(row, ks_matrix_row(&m->x, r), m->x.n_cols * sizeof(*row));
        if (r % 2)
            row[r % m->x.n_cols] = NAN;
        row[m->x.n_cols] = -INFINITY;
        ks_buf_printf(to, "%.17g", ks_forest_predict(f, row));
        for (size_t k = 0; k < m->x.n_cols; k++)
            ks_buf_printf(to, " %.9g", (double)row[k]);
        ks_buf_printf(to, "\n");
    }
}

static void test_lightgbm_predicts_the_same(void **state)
{
    struct made *m = *state;
    char dir[] = "/tmp/ksweep-lgbm-XXXXXX", command[1024];
    const char *python = getenv("KSWEEP_TEST_PYTHON");
    struct ks_forest f;
    struct ks_buf model, rows;
    int rc;

    if (!python) {
        print_message("# skipped: KSWEEP_TEST_PYTHON names no Python with lightgbm\n");
        skip();
    }
    assert_non_null(mkdtemp(dir));
    skit_forest(m, &f);
    ks_buf_init(&model);
    ks_buf_init(&rows);
    f.base = 0.125; /* goes into the leaves */
    ks_forest_write_lightgbm(&f, m->names, &model);
    put_rows(m, &f, &rows);
    skit_put_text(dir, "model.txt", &model);
    skit_put_text(dir, "rows.txt", &rows);
    snprintf(command, sizeof(command),
             "%s %s/tests/tools/lightgbm_predict.py %s/model.txt %s/rows.txt", python,
             KS_SOURCE_DIR, dir, dir);
    rc = system(command);
    ks_remove_tree(dir, NULL);
    ks_buf_release(&model);
    ks_buf_release(&rows);
    ks_forest_release(&f);
    assert_int_equal(rc, 0);
}

#ifdef KSWEEP_SANITIZED
#define LARGE_BYTES (KS_JSON_MAX_BYTES / 32) /* sanitized, the whole takes a minute */
#else
#define LARGE_BYTES KS_JSON_MAX_BYTES
#endif

/* More text than the JSON reader takes at once: the same trees again and again. */
static void test_large_models_are_read(void **state)
{
    struct made *m = *state;
    const char *text = ks_buf_text(&m->json);
    struct ks_forest_text cut;
    struct ks_forest one, many;
    struct ks_buf b;
    struct ks_err err;
    uint32_t n_times = 1;

    skit_forest(m, &one);
    assert_int_equal(ks_forest_text_open(&cut, text, m->json.len, "m.json", &err), 0);
    ks_buf_init(&b);
    ks_buf_put(&b, text, (size_t)(cut.end - text));
    for (; b.len <= LARGE_BYTES; n_times++) {
        ks_buf_u8(&b, ',');
        ks_buf_put(&b, cut.at, (size_t)(cut.end - cut.at));
    }
    ks_buf_printf(&b, "%s", cut.end);
    if (ks_forest_parse(ks_buf_text(&b), b.len, "m.json", &many, &err) < 0)
        fail_msg("%s", err.text);
    assert_int_equal(many.n_trees, n_times * one.n_trees);
    assert_int_equal(many.n_nodes, n_times * one.n_nodes);
    assert_memory_equal(many.nodes + many.n_nodes - one.n_nodes, one.nodes,
                        one.n_nodes * sizeof(*one.nodes));
    ks_forest_text_release(&cut);
    ks_forest_release(&one);
    ks_forest_release(&many);
    ks_buf_release(&b);
}

static void test_other_models_are_refused(void **state)
{
    static const struct {
        const char *from, *to, *why;
    } rows[] = { { "\"gbtree\"", "\"dart\"", "gbtree" },
                 { "\"num_class\":\"0\"", "\"num_class\":\"3\"", "several outputs" },
                 { "\"num_class\":\"0\",\"num_feature\":\"",
                   "\"num_class\":\"0\",\"num_feature\":\"-", "features" },
                 { "\"split_type\":[0", "\"split_type\":[1", "categorical" },
                 { "\"left_children\":[1", "\"left_children\":[0", "do not form a tree" },
                 { "\"left_children\":[1,", "\"left_children\":[", "equal length" },
                 { "\"trees\":[", "\"threes\":[", "no trees" },
                 { "\"trees\":[", "\"trees\":[],\"others\":[", "no trees" },
                 { "\"trees\":[", "\"trees\":[7,", "1 to 65,535 nodes" },
                 { "\"trees\":[", "\"trees\":{},\"others\":[", "no trees" },
                 { "\"learner\"", "\"loner\"", "not a model" },
                 { "{", "", "" } };
    struct made *m = *state;
    const char *text = ks_buf_text(&m->json);
    struct ks_forest f;
    struct ks_err err;

    for (size_t i = 0; i < N(rows); i++) {
        const char *at = strstr(text, rows[i].from);
        struct ks_buf b;

        assert_non_null(at);
        ks_buf_init(&b);
        ks_buf_put(&b, text, (size_t)(at - text));
        ks_buf_printf(&b, "%s%s", rows[i].to, at + strlen(rows[i].from));
        if (ks_forest_parse(ks_buf_text(&b), b.len, "m.json", &f, &err) != KS_EFORMAT)
            fail_msg("not refused: %s", rows[i].to);
        assert_non_null(strstr(err.text, rows[i].why));
        assert_non_null(strstr(err.text, "m.json"));
        ks_buf_release(&b);
    }
}

/* What brackets alone tell of a list. */
static void test_damaged_lists_are_refused(void **state)
{
    static const char before[] = "{\"learner\":{\"gradient_booster\":{\"model\":{\"trees\":[";
    static const struct {
        const char *list, *why;
    } rows[] = { { "{}", "m.json: the list of trees has no end" },
                 { "{},{\"a\":[", "m.json: the list of trees has no end" },
                 { "{},]}}}}", "m.json: a tree is missing behind a comma" },
                 { "{} , ]}}}}", "m.json: a tree is missing behind a comma" } };

    (void)state;
    for (size_t i = 0; i < N(rows); i++) {
        struct ks_forest_text t = { 0 };
        struct ks_err err = { 0 };
        const char *tree;
        char text[128];
        size_t len;
        int rc;

        snprintf(text, sizeof(text), "%s%s", before, rows[i].list);
        rc = ks_forest_text_open(&t, text, strlen(text), "m.json", &err);
        if (rc == 0)
            rc = ks_forest_text_next(&t, &tree, &len, &err);
        assert_int_equal(rc, KS_EFORMAT);
        assert_string_equal(err.text, rows[i].why);
        ks_forest_text_release(&t);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_forest_predicts_what_xgboost_does),
        cmocka_unit_test(test_xgboost_reads_its_trees_back),
        cmocka_unit_test(test_lightgbm_predicts_the_same),
        cmocka_unit_test(test_large_models_are_read),
        cmocka_unit_test(test_other_models_are_refused),
        cmocka_unit_test(test_damaged_lists_are_refused),
    };

    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, skit_make, skit_release);
}
