/* SPDX-License-Identifier: MIT */
/* test_analysis_columns.c - training.csv: its values, its schema, columns of earlier versions */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
/* cmocka.h wants the four above first. */
#include <cmocka.h>

#include "analysis/out/number.h"
#include "analysis/out/schema.h"
#include "analysis_kit.h"
#include "base/file.h"
#include "doc_table.h"
#include "store_place.h"
#include "tests/tools/store_kit.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- training.csv ---- */

static void missing_values_are_empty(void **state)
{
    static const char *const empty[] = {
        "status_code",
        "time_median_ns",
        "time_se_ns",
        "time_over_anchor",
        "gflops_per_s",
        "calls_per_sample",
        "block_id",
        "position",
        "device_id",
        "host",
        "max_error",
        "n_zero",
        "n_elements",
        "warmup_ns",
        "workspace_bytes",
        "anchor_drift",
        "stop_reason",
        "exact_check",
        "involuntary_switches",
    };
    const struct place *p = *state;
    struct ks_buf b;
    struct ks_record *r;
    struct skit k;
    char cell[64];

    skit_open(&k, p->dir[0], 1, 1, 1);
    skit_names(&k);
    r = k.rec;
    ks_record_init(r);
    r->cell = (struct ks_cell){ k.problems[0].id, k.instances[0], SKIT_CONDITION };
    r->attempt = 1;
    r->outcome = KS_O_UNSUPPORTED;
    snprintf(r->reason, sizeof(r->reason), "c = 3, not \"a multiple\" of 16");
    skit_put(&k, r);
    skit_close(&k);
    place_gather(p, 1, NULL);
    akit_csv(p, KS_COLUMNS_V2, &b);
    for (size_t i = 0; i < sizeof(empty) / sizeof(empty[0]); i++) {
        akit_cell(ks_buf_text(&b), 1, empty[i], cell, sizeof(cell));
        if (cell[0])
            fail_msg("%s is '%s'", empty[i], cell);
    }
    akit_cell(ks_buf_text(&b), 1, "outcome", cell, sizeof(cell));
    assert_string_equal(cell, "unsupported");
    akit_cell(ks_buf_text(&b), 1, "n_samples", cell, sizeof(cell));
    assert_string_equal(cell, "0");
    assert_non_null(strstr(ks_buf_text(&b), ",\"c = 3, not \"\"a multiple\"\" of 16\","));
    ks_buf_release(&b);
}

static void values_of_a_row(void **state)
{
    static const struct {
        const char *column, *want;
    } rows[] = {
        { "problem_name", "conv_0" },
        { "operator", "grouped_conv" },
        { "c_total", "16" },
        { "out_h", "7" },
        { "trait_pipeline", "indirect" },
        { "trait_tile_m", "5" },
        { "family", "host_gconv" },
        { "outcome", "crashed" },
        { "status_code", "11" },
        { "outcome_flags", "suspect" },
        { "condition_id", "00000000c0ffee01" },
        { "device_id", "1122334455667788" },
        { "host", "node1" },
        { "mpi_rank", "1" },
        { "time_median_ns", "1000.5" },
        { "time_min_ns", "990.495" },
        { "gflops_per_s", "" },
        { "time_over_anchor", "1.0005" },
        { "tolerance_check", "failed" },
        { "warmup_ns", "20000000" },
        { "block_id", "0000000000000001" },
        { "anchor_drift", "0" },
        { "max_error", "3.4028235e+38" },
        { "vgprs", "101" },
        { "sgpr_spills", "0" },
        { "clock_min_mhz", "1700" },
        { "power_max_w", "400" },
        { "throttle_reasons", "5" },
    };
    const struct place *p = *state;
    struct ks_record *r;
    struct ks_buf b;
    struct skit k;
    char cell[64];

    skit_open(&k, p->dir[0], 1, 1, 2);
    skit_names(&k);
    skit_block(&k, 1, 0, 1000, 1000);
    r = akit_timed(&k, 0, 1, 1000.5);
    r->outcome = KS_O_CRASHED;
    r->status_code = 11;
    r->outcome_flags = KS_FL_SUSPECT;
    r->tolerance_check = 2;
    r->max_error = (double)INFINITY;
    skit_put(&k, r);
    skit_close(&k);
    place_gather(p, 1, NULL);
    akit_csv(p, KS_COLUMNS_V2, &b);
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        akit_cell(ks_buf_text(&b), 1, rows[i].column, cell, sizeof(cell));
        if (strcmp(cell, rows[i].want) != 0)
            fail_msg("%s: got '%s', want '%s'", rows[i].column, cell, rows[i].want);
    }
    ks_buf_release(&b);
}

static void what_nobody_knows_is_empty(void **state)
{
    static const char *const columns[] = { "vgprs",       "vgpr_spills",      "lds_bytes",
                                           "code_bytes",  "clock_before_mhz", "clock_min_mhz",
                                           "power_max_w", "busy_before",      "throttle_reasons" };
    const struct place *p = *state;
    struct ks_buf b;
    struct skit k;
    char cell[64];

    skit_open(&k, p->dir[0], 1, 1, 2);
    skit_names(&k);
    skit_put(&k, skit_record(&k, 0, 0, 3));
    skit_close(&k);
    place_gather(p, 1, NULL);
    akit_csv(p, KS_COLUMNS_V2, &b);
    for (size_t i = 0; i < sizeof(columns) / sizeof(columns[0]); i++) {
        akit_cell(ks_buf_text(&b), 1, columns[i], cell, sizeof(cell));
        assert_string_equal(cell, "");
    }
    ks_buf_release(&b);
}

static void floats_are_short_and_exact(void **state)
{
    static const float values[] = { 0.1f, 1.0f / 3, 16777216.0f, 3.4028235e38f, 1e-45f, 123456.7f };
    static const char *const want[] = { "0.1",           "0.33333334", "16777216",
                                        "3.4028235e+38", "1.4013e-45", "123456.7" };
    char text[32];

    (void)state;
    for (size_t i = 0; i < sizeof(values) / sizeof(values[0]); i++) {
        ks_f32_text((double)values[i], text);
        assert_string_equal(text, want[i]);
        assert_true(strtof(text, NULL) == values[i]);
    }
}

/* The fields of a line of the schema; returns the next line. */
enum { NAME, TYPE, UNIT, MISSING, ROLE, TABLE, MEANING, N_FIELDS };
struct schema_line {
    char field[N_FIELDS][512];
};
static const char *next_line(const char *p, struct schema_line *out)
{
    for (int i = 0; i < N_FIELDS; i++) {
        const char *end = akit_behind(p);
        bool is_quoted = *p == '"';
        size_t n = 0;

        for (p += is_quoted; p < end - is_quoted; p++) {
            out->field[i][n++] = *p;
            p += is_quoted && *p == '"'; /* "" */
        }
        out->field[i][n] = '\0';
        p = end + 1;
    }
    return p;
}

/* The schema of a file, or of any. */
static void read_schema(const struct place *p, enum ks_columns_version version, struct ks_buf *out)
{
    struct ks_view *v = p ? akit_view(p, KS_MERGE_ALL) : NULL;
    struct ks_sources sources = { 0 };

    ks_buf_init(out);
    assert_int_equal(ks_sources_training(&sources, v ? ks_view_file(v) : NULL, version, NULL), 0);
    ks_schema_put(&sources, out);
    ks_sources_release(&sources);
    ks_view_close(v);
}

static const char *behind_header(const struct ks_buf *text)
{
    return strchr(ks_buf_text(text), '\n') + 1;
}

/* docs/results.md has a table of all columns, made of the schema. */
static void every_csv_column_is_documented(void **state)
{
    struct schema_line l;
    struct ks_buf schema, want;

    (void)state;
    read_schema(NULL, KS_COLUMNS_V2, &schema);
    ks_buf_init(&want);
    ks_buf_printf(&want, "| column | unit | role | from | meaning |\n|---|---|---|---|---|\n");
    for (const char *p = behind_header(&schema); *p;) {
        p = next_line(p, &l);
        ks_buf_printf(&want, "| `%s` | %s | %s | %s%s%s | %s |\n", l.field[NAME], l.field[UNIT],
                      l.field[ROLE], l.field[TABLE][0] ? "`" : "", l.field[TABLE],
                      l.field[TABLE][0] ? "`" : "", l.field[MEANING]);
    }
    doc_table_check("# training.csv", ks_buf_text(&want));
    ks_buf_release(&want);
    ks_buf_release(&schema);
}

/* The schema lists the columns of the header, in its order. */
static void the_schema_is_that_of_the_header(void **state)
{
    const struct place *p = *state;

    skit_run(p->dir[0], 1, 1, 1, 3, 0);
    place_gather(p, 1, NULL);
    for (enum ks_columns_version v = KS_COLUMNS_V1; v <= KS_COLUMNS_V2; v++) {
        struct schema_line l;
        struct ks_buf csv, schema, header;

        akit_csv(p, v, &csv);
        read_schema(p, v, &schema);
        ks_buf_init(&header);
        for (const char *line = behind_header(&schema); *line;) {
            line = next_line(line, &l);
            ks_buf_printf(&header, "%s%s", l.field[NAME], *line ? "," : "\n");
        }
        assert_int_equal(strncmp(ks_buf_text(&csv), ks_buf_text(&header), header.len), 0);
        ks_buf_release(&header);
        ks_buf_release(&schema);
        ks_buf_release(&csv);
    }
}

/* Columns are grouped by role, and what is measured together with the label is no feature. */
static void roles_group_the_columns(void **state)
{
    static const struct {
        const char *column, *role;
    } want[] = {
        { "problem_id", "id" },        { "block_id", "id" },         { "tolerance_check", "never" },
        { "c_total", "feature" },      { "trait_*", "feature" },     { "vgprs", "feature" },
        { "time_median_ns", "label" }, { "outcome", "label" },       { "gflops_per_s", "label" },
        { "time_min_ns", "never" },    { "n_samples", "never" },     { "timing_ns", "never" },
        { "clock_min_mhz", "never" },  { "outcome_flags", "never" }, { "host", "provenance" },
    };
    struct schema_line l;
    struct ks_buf schema;
    size_t n_found = 0;
    uint8_t at_role = 0;

    (void)state;
    read_schema(NULL, KS_COLUMNS_V2, &schema);
    for (const char *p = behind_header(&schema); *p;) {
        p = next_line(p, &l);
        while (strcmp(ks_col_role_text(at_role), l.field[ROLE]) != 0)
            assert_true(++at_role < KS_CR_COUNT);
        for (size_t i = 0; i < sizeof(want) / sizeof(want[0]); i++) {
            if (strcmp(want[i].column, l.field[NAME]) != 0)
                continue;
            assert_string_equal(l.field[ROLE], want[i].role);
            n_found++;
        }
    }
    assert_int_equal(n_found, sizeof(want) / sizeof(want[0]));
    ks_buf_release(&schema);
}

/* ---- the columns of before schema 1.5 ---- */

static void read_test_file(const char *name, struct ks_buf *out)
{
    const char *root = getenv("KSWEEP_SOURCE_DIR");
    struct ks_err err = { 0 };
    char path[1100];

    snprintf(path, sizeof(path), "%s/tests/%s", root ? root : KS_SOURCE_DIR, name);
    ks_buf_init(out);
    if (ks_file_read(path, out, &err) < 0)
        fail_msg("%s", err.text);
}

/* The next field of a line of CSV: where it ends. */
static const char *field_end(const char *at)
{
    bool is_quoted = false;

    for (; *at && *at != '\n' && (is_quoted || *at != ','); at++)
        is_quoted ^= *at == '"';
    return at;
}

/* Which column of a table this is; -1: none. */
static int column_of(const char *csv, const char *name)
{
    int i = 0;

    for (const char *at = csv;; at++, i++) {
        const char *end = field_end(at);

        if ((size_t)(end - at) == strlen(name) && strncmp(at, name, strlen(name)) == 0)
            return i;
        if (*end != ',')
            return -1;
        at = end;
    }
}

/* The table without the values of a column. */
static void blank_column(struct ks_buf *csv, const char *name)
{
    const int want = column_of(ks_buf_text(csv), name);
    const char *at = strchr(ks_buf_text(csv), '\n') + 1;
    struct ks_buf out;

    assert_true(want >= 0);
    ks_buf_init(&out);
    ks_buf_put(&out, csv->data, (size_t)(at - ks_buf_text(csv)));
    for (int i = 0; *at; at++) {
        const char *end = field_end(at);

        ks_buf_put(&out, at, i == want ? 0 : (size_t)(end - at));
        ks_buf_put(&out, end, 1);
        i = *end == ',' ? i + 1 : 0;
        at = end;
    }
    ks_buf_release(csv);
    *csv = out;
}

/* A results file and its table, made by a program of schema 1.4 from the journal of this skit_run:
 * the old table is made of the old file and of one that is gathered now, byte for byte, and new
 * names are read from both. */
static void old_names_stay_readable(void **state)
{
    const struct place *p = *state;
    struct place old = *p;
    static const char *const later[] = { "rounds_time_ns", "rounds_statistic", "time_share",
                                         "code_rounds_time_ns" };
    struct ks_buf golden, file, csv[2];

    skit_run(p->dir[0], 3, 4, 9, 5, 2);
    place_gather(p, 1, NULL);
    snprintf(old.file, sizeof(old.file), "%.64s/old.h5", p->root);
    read_test_file("data/results-1.4.h5", &file);
    assert_int_equal(ks_file_replace(old.file, file.data, file.len, NULL), 0);
    read_test_file("golden/training-v1.csv", &golden);
    for (enum ks_columns_version v = KS_COLUMNS_V1; v <= KS_COLUMNS_V2; v++) {
        akit_csv(p, v, &csv[0]);
        akit_csv(&old, v, &csv[1]);
        for (size_t i = 0; v == KS_COLUMNS_V2 && i < sizeof(later) / sizeof(later[0]); i++)
            blank_column(&csv[0], later[i]);
        assert_string_equal(ks_buf_text(&csv[0]), ks_buf_text(&csv[1]));
        if (v == KS_COLUMNS_V1)
            assert_string_equal(ks_buf_text(&csv[0]), ks_buf_text(&golden));
        ks_buf_release(&csv[0]);
        ks_buf_release(&csv[1]);
    }
    ks_buf_release(&golden);
    ks_buf_release(&file);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
#define TEST(f) cmocka_unit_test_setup_teardown(f, place_make, place_remove)
        TEST(missing_values_are_empty),
        TEST(values_of_a_row),
        TEST(what_nobody_knows_is_empty),
        TEST(floats_are_short_and_exact),
        cmocka_unit_test(every_csv_column_is_documented),
        TEST(the_schema_is_that_of_the_header),
        cmocka_unit_test(roles_group_the_columns),
        TEST(old_names_stay_readable),
#undef TEST
    };

    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests_name("analysis_columns", tests, NULL, NULL);
}
