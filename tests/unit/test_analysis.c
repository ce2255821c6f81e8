/* SPDX-License-Identifier: MIT */
/* What ksweep-analyze makes of a results file: order, merging, the best and its ties, the tables.
 */
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

/* One run with one block per problem; ns[problem][instance], 0 = the instance crashed. */
static void put_run(const char *dir, uint64_t seed, uint32_t n_problems, uint32_t n_instances,
                    const double *ns)
{
    struct skit k;

    skit_open(&k, dir, seed, n_problems, n_instances);
    skit_names(&k);
    for (uint32_t i = 0; i < n_problems; i++) {
        skit_block(&k, i + 1, i, 1000, 1000);
        for (uint32_t j = 0; j < n_instances; j++) {
            double t = ns[i * n_instances + j];
            struct ks_record *r = akit_timed(&k, i, j, t > 0 ? t : 1);

            if (t <= 0) {
                r->outcome = KS_O_CRASHED;
                r->code = 11;
                r->n_samples = 0;
                r->exact_check = r->tolerance_check = 0;
            }
            skit_put(&k, r);
        }
    }
    skit_close(&k);
}

static void rows_come_in_order(void **state)
{
    const struct place *p = *state;
    const struct ks_obs *rows;
    struct akit_rows r;
    struct ks_view *v;
    struct skit k;
    uint32_t n_groups = 0;
    size_t n;

    skit_open(&k, p->dir[0], 1, 3, 4);
    skit_names(&k);
    for (uint32_t i = 0; i < 12; i++) /* measured in some other order */
        skit_put(&k, akit_timed(&k, (i * 5 % 12) / 4, (i * 5 % 12) % 4, 1000 + i));
    skit_close(&k);
    place_gather(p, 1, NULL);
    v = akit_view(p, KS_MERGE_ALL);
    assert_int_equal(ks_view_n_rows(v), 12);
    akit_rows_open(&r, v);
    while (akit_rows_next(&r, &rows, &n)) {
        assert_int_equal(n, 4);
        for (uint32_t j = 0; j < 4; j++) {
            assert_int_equal(rows[j].problem, n_groups);
            assert_int_equal(rows[j].kernel, j);
        }
        n_groups++;
    }
    assert_int_equal(n_groups, 3);
    akit_rows_close(&r);
    ks_view_close(v);
}

/* Times of one cell in five runs; 0 = crashed. The newest run is the last. */
static void merging_chooses_whole_rows(void **state)
{
    static const struct {
        double ns[5], newest, median;
    } rows[] = {
        { { 10, 50, 30, 20, 40 }, 40, 30 },
        { { 10, 50, 0, 20, 40 }, 40, 20 }, /* four are ok: the lower middle one */
        { { 10, 50, 30, 20, 0 }, 0, 20 },
        { { 0, 0, 0, 0, 0 }, 0, 0 },
        { { 0, 0, 7, 0, 0 }, 0, 7 },
        { { 5, 5, 5, 5, 5 }, 5, 5 },
    };
    const struct place *p = *state;

    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        static const enum ks_merge how[] = { KS_MERGE_ALL, KS_MERGE_NEWEST, KS_MERGE_MEDIAN };
        char dirs[5][128];
        const char *list[5];
        struct ks_err err = { 0 };

        for (int r = 0; r < 5; r++) {
            snprintf(dirs[r], sizeof(dirs[r]), "%s/%zu-%d", p->root, i, r);
            list[r] = dirs[r];
            assert_int_equal(ks_mkdirs(dirs[r], 0777, &err), 0);
            put_run(dirs[r], 1 + 7 * (uint64_t)r, 1, 1, &rows[i].ns[r]);
        }
        if (ks_store_gather(list, 5, p->file, NULL, NULL, &err) < 0)
            fail_msg("%s", err.text);
        for (int h = 0; h < 3; h++) {
            double want = how[h] == KS_MERGE_NEWEST ? rows[i].newest : rows[i].median;
            struct ks_view *v = akit_view(p, how[h]);
            const struct ks_obs *got;
            struct akit_rows r;
            size_t n;

            akit_rows_open(&r, v);
            assert_true(akit_rows_next(&r, &got, &n));
            assert_int_equal(n, how[h] == KS_MERGE_ALL ? 5 : 1);
            assert_int_equal(ks_view_n_dropped(v), 5 - n);
            if (how[h] != KS_MERGE_ALL)
                same_f32(got[0].median_ns, want > 0 ? want : KS_NOT_KNOWN);
            akit_rows_close(&r);
            ks_view_close(v);
        }
    }
}

static void the_best_and_its_ties(void **state)
{
    /* 1000 +- 10 and 1015 +- 10.15 overlap; 2000 does not */
    static const double ns[] = { 2000, 1000, 1015, 4000, 0, 900, 1800, 1200, 3600, 0 };
    const struct place *p = *state;
    struct ks_summary s;
    struct akit_held held;
    struct ks_view *v;
    double flops;

    put_run(p->dir[0], 1, 2, 5, ns);
    place_gather(p, 1, NULL);
    akit_summarise(p, &v, &s, &held);
    assert_int_equal(s.n_problems, 2);
    assert_int_equal(s.problems[0].n_ok, 4);
    assert_int_equal(s.problems[0].n_rows, 5);
    assert_int_equal(s.problems[0].n_tied, 1);
    assert_true(akit_near(s.problems[0].worst_over_best, 4));
    assert_string_equal(s.problems[0].kernel->name,
                        ks_store_kernel(ks_view_file(v), 1)->instance_name);
    flops = s.problems[0].problem->flops;
    assert_true(akit_near(s.problems[0].gflops, flops / 1000));
    assert_true(akit_near(s.problems[0].gflops_lo95, flops / 1010));
    assert_true(akit_near(s.problems[0].gflops_hi95, flops / 990));
    assert_int_equal(s.problems[1].n_tied, 0);
    assert_true(akit_near(s.problems[1].worst_over_best, 4));
    assert_true(akit_near(s.median_worst_over_best, 4));
    assert_int_equal(s.outcome[KS_O_OK], 8);
    assert_int_equal(s.outcome[KS_O_CRASHED], 2);
    assert_int_equal(s.n_winners, 1); /* of problem 0 the best is tied */
    assert_int_equal(s.n_codes, 3);   /* instances 2 and 3 have the same code */
    assert_int_equal(s.n_ranks, 1);
    assert_int_equal(s.ranks[0].n_cells, 10);
    /* instance 0: sqrt(1000/2000 * 1); 1: sqrt(1 * 900/1800); 2: sqrt(1000/1015 * 900/1200) */
    assert_string_equal(s.fixed->name, ks_store_kernel(ks_view_file(v), 2)->instance_name);
    assert_true(akit_near(s.fixed_share, sqrt(1000.0 / 1015 * 900 / 1200)));
    akit_release(&s, &held);
    ks_view_close(v);
}

static void put_in_block(struct skit *k, uint32_t instance, uint64_t block, double ns)
{
    struct ks_record *r = akit_timed(k, 0, instance, ns);

    r->block_id = block;
    skit_put(k, r);
}

/* The second block ran on a device half as fast, as its anchor says. */
static void blocks_are_compared_by_their_anchors(void **state)
{
    const struct place *p = *state;
    struct ks_summary s;
    struct akit_held held;
    struct ks_view *v;
    struct skit k;

    skit_open(&k, p->dir[0], 1, 1, 4);
    skit_names(&k);
    skit_block(&k, 1, 0, 500, 500);
    skit_block(&k, 2, 0, 1000, 1000);
    put_in_block(&k, 0, 1, 1000);
    put_in_block(&k, 1, 1, 3000);
    put_in_block(&k, 2, 2, 1600);
    put_in_block(&k, 3, 2, 2030);
    skit_close(&k);
    place_gather(p, 1, NULL);
    akit_summarise(p, &v, &s, &held);
    assert_string_equal(s.problems[0].kernel->name,
                        ks_store_kernel(ks_view_file(v), 2)->instance_name);
    assert_true(akit_near(s.problems[0].worst_over_best, 3000.0 / 800));
    assert_true(akit_near(s.problems[0].median_ns, 1600)); /* as it was measured */
    assert_int_equal(s.problems[0].n_tied, 0);
    akit_release(&s, &held);
    ks_view_close(v);
}

/* Intervals that do not overlap are a tie all the same when the block drifted by more. */
static void drift_makes_ties(void **state)
{
    const struct place *p = *state;
    struct ks_summary s;
    struct akit_held held;
    struct ks_view *v;
    struct skit k;

    skit_open(&k, p->dir[0], 1, 1, 3);
    skit_names(&k);
    skit_block(&k, 1, 0, 1000, 1100);
    put_in_block(&k, 0, 1, 1000);
    put_in_block(&k, 1, 1, 1090);
    put_in_block(&k, 2, 1, 1110);
    skit_close(&k);
    place_gather(p, 1, NULL);
    akit_summarise(p, &v, &s, &held);
    assert_int_equal(s.problems[0].n_tied, 1);
    akit_release(&s, &held);
    ks_view_close(v);
}

static void nothing_is_ok(void **state)
{
    static const double ns[] = { 0, 0 };
    const struct place *p = *state;
    struct ks_summary s;
    struct akit_held held;
    struct ks_view *v;

    put_run(p->dir[0], 1, 1, 2, ns);
    place_gather(p, 1, NULL);
    akit_summarise(p, &v, &s, &held);
    assert_null(s.problems[0].kernel);
    assert_null(s.fixed);
    assert_true(s.median_worst_over_best == KS_NOT_KNOWN);
    akit_release(&s, &held);
    ks_view_close(v);
}

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
    r->code = 11;
    r->flags = KS_FL_SUSPECT;
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
    static const double ns[] = { 1000 };
    const struct place *p = *state;

    put_run(p->dir[0], 1, 1, 1, ns);
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

/* A results file and its table, made by a program of schema 1.4 from the journal of this skit_run:
 * the old table is made of the old file and of one that is gathered now, byte for byte, and new
 * names are read from both. */
static void old_names_stay_readable(void **state)
{
    const struct place *p = *state;
    struct place old = *p;
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
        assert_string_equal(ks_buf_text(&csv[0]), ks_buf_text(&csv[1]));
        if (v == KS_COLUMNS_V1)
            assert_string_equal(ks_buf_text(&csv[0]), ks_buf_text(&golden));
        ks_buf_release(&csv[0]);
        ks_buf_release(&csv[1]);
    }
    ks_buf_release(&golden);
    ks_buf_release(&file);
}

/* ---- Composable Kernel's columns ---- */

static void set_dim(struct ks_problem *p, const char *name, int64_t value)
{
    struct ks_err err = { 0 };

    p->dim[ks_problem_dim(p->op, name)] = value;
    if (ks_problem_finish(p, &err) < 0)
        fail_msg("%s", err.text);
}

static void make_uneven(struct skit *k)
{
    set_dim(&k->problems[1], "pad_h_hi", 2);
}

static void make_half(struct skit *k)
{
    k->problems[1].dtype = KS_FP16;
    set_dim(&k->problems[1], "n", 1);
}

static void make_nothing(struct skit *k)
{
    (void)k;
}

static void what_ck_cannot_say_is_refused(void **state)
{
    static const struct {
        void (*make)(struct skit *);
        uint32_t v2;
        int want;
        const char *text;
    } rows[] = {
        { make_nothing, 1, 0, "" },
        { make_uneven, 1, KS_EUNSUPPORTED,
          "'conv_1 ä × 3' is padded 1 before and 2 after (pad_h)" },
        { make_half, 1, KS_EUNSUPPORTED, "'conv_1 ä × 3' is forward fp16 nhwgc" },
        { make_nothing, 0, KS_EUNSUPPORTED, "was not verified" },
    };
    const struct place *p = *state;

    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        const char *dirs[1];
        char dir[128];
        struct ks_record *r;
        struct ks_view *v;
        struct ks_buf b;
        struct ks_err err = { 0 };
        struct skit k;

        snprintf(dir, sizeof(dir), "%s/%zu", p->root, i);
        dirs[0] = dir;
        assert_int_equal(ks_mkdirs(dir, 0777, &err), 0);
        skit_open(&k, dir, 1, 2, 1);
        rows[i].make(&k);
        skit_names(&k);
        skit_put(&k, akit_timed(&k, 0, 0, 2e6));
        r = akit_timed(&k, 1, 0, 1e6);
        r->tolerance_check = rows[i].v2;
        r->n_zero = 3;
        skit_put(&k, r);
        skit_close(&k);
        assert_int_equal(ks_store_gather(dirs, 1, p->file, NULL, NULL, &err), 0);
        v = akit_view(p, KS_MERGE_ALL);
        assert_int_equal(akit_ck(v, &b, &err), rows[i].want);
        assert_non_null(strstr(err.text, rows[i].text));
        if (rows[i].want == 0)
            assert_non_null(strstr(ks_buf_text(&b),
                                   "host_gconv_4x16_indirect,1,1,32,64,1,1,14,14,1,"
                                   "3,3,1,1,1,0,1,1,1,1,1,1,0.0072253"));
        ks_buf_release(&b);
        ks_view_close(v);
    }
}

static void a_file_that_is_none(void **state)
{
    const struct place *p = *state;
    struct ks_view *v;
    struct ks_err err = { 0 };

    assert_int_equal(ks_view_open(p->file, KS_MERGE_ALL, &v, &err), KS_ENOENT);
    assert_non_null(strstr(err.text, p->file));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
#define TEST(f) cmocka_unit_test_setup_teardown(f, place_make, place_remove)
        TEST(rows_come_in_order),
        TEST(merging_chooses_whole_rows),
        TEST(the_best_and_its_ties),
        TEST(blocks_are_compared_by_their_anchors),
        TEST(drift_makes_ties),
        TEST(nothing_is_ok),
        TEST(missing_values_are_empty),
        TEST(values_of_a_row),
        TEST(what_nobody_knows_is_empty),
        TEST(floats_are_short_and_exact),
        cmocka_unit_test(every_csv_column_is_documented),
        TEST(the_schema_is_that_of_the_header),
        cmocka_unit_test(roles_group_the_columns),
        TEST(old_names_stay_readable),
        TEST(what_ck_cannot_say_is_refused),
        TEST(a_file_that_is_none),
#undef TEST
    };

    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests_name("analysis", tests, NULL, NULL);
}
