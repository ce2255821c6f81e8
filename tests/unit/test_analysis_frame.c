/* SPDX-License-Identifier: MIT */
/* test_analysis_frame.c - data frames: types, units, missing values, batches, rows beneath */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
/* cmocka.h wants the four above first. */
#include <cmocka.h>

#include "analysis/learn/derive.h"
#include "analysis_kit.h"
#include "base/file.h"
#include "fault.h"
#include "store/batch.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define N(a) (sizeof(a) / sizeof((a)[0]))

/* HDF5 leaks where it refuses damaged metadata. */
const char *__lsan_default_suppressions(void);
const char *__lsan_default_suppressions(void)
{
    return "leak:libhdf5\n";
}

/* A reader of columns by name. */
struct named {
    struct ks_sources sources;
    struct ks_reader *reader;
};

static int open_named(struct named *r, struct ks_view *v, const char *const *names, size_t n,
                      size_t batch_rows, struct ks_err *err)
{
    int rc = 0;

    *r = (struct named){ 0 };
    for (size_t i = 0; rc == 0 && i < n; i++)
        rc = ks_sources_need(&r->sources, ks_view_file(v), names[i], NULL, err);
    return rc < 0 ? rc : ks_reader_open(v, &r->sources, batch_rows, &r->reader, err);
}

static void close_named(struct named *r)
{
    ks_reader_close(r->reader);
    ks_sources_release(&r->sources);
}

static struct ks_view *two_runs(const struct place *p)
{
    skit_run(p->dir[0], 1, 7, 13, 5, 6);
    skit_run(p->dir[1], 8, 7, 13, 5, 0);
    place_gather(p, 2, NULL);
    return akit_view(p, KS_MERGE_ALL);
}

/* ---- columns ---- */

static void columns_have_types_and_units(void **state)
{
    static const struct {
        const char *name, *unit;
        enum ks_df_type type;
    } want[] = {
        { "time_median_ns", "ns", KS_DF_F64 },
        { "problem_id", "", KS_DF_I64 },
        { "problem_name", "", KS_DF_TEXT },
        { "flops", "flop", KS_DF_F64 },
        { "hi", "", KS_DF_I64 },
        { "trait_tile_m", "", KS_DF_I64 },
        { "trait_pipeline", "", KS_DF_TEXT },
        { "outcome_flags", "", KS_DF_TEXT },
        { "wall_ns", "ns", KS_DF_I64 },
        { "anchor_drift", "1", KS_DF_F64 },
        { "gflops_per_s", "Gflop/s", KS_DF_F64 },
        { "max_error", "tolerances", KS_DF_F64 },
    };
    const char *names[N(want)];
    struct ks_view *v = two_runs(*state);
    struct named r;
    struct ks_df *f;

    for (size_t i = 0; i < N(want); i++)
        names[i] = want[i].name;
    assert_int_equal(open_named(&r, v, names, N(want), 0, NULL), 0);
    assert_int_equal(ks_reader_next(r.reader, &f, NULL), 1);
    assert_int_equal(f->n_columns, N(want));
    assert_int_equal(f->n_rows, ks_view_n_rows(v));
    for (size_t i = 0; i < N(want); i++) {
        assert_string_equal(f->columns[i].name, want[i].name);
        assert_string_equal(f->columns[i].unit, want[i].unit);
        if (f->columns[i].type != want[i].type)
            fail_msg("%s is of type %d", want[i].name, f->columns[i].type);
    }
    assert_string_equal(ks_df_text(ks_df_find(f, "problem_name"), 0), "conv_0");
    assert_int_equal(ks_df_i64(ks_df_find(f, "trait_tile_m"), 0, -1), 4);
    assert_false(ks_df_has(ks_df_find(f, "gflops_per_s"), 0)); /* nothing has derived it */
    assert_null(ks_df_find(f, "host"));
    close_named(&r);
    ks_view_close(v);
}

static void unknown_columns_are_refused(void **state)
{
    static const struct {
        const char *name, *says;
    } rows[] = { { "time_median", "did you mean 'time_median_ns'" },
                 { "quite_another", "unknown column 'quite_another'" } };
    struct ks_view *v = two_runs(*state);
    struct named r = { 0 };
    struct ks_err err = { 0 };

    for (size_t i = 0; i < N(rows); i++) {
        assert_int_equal(open_named(&r, v, &rows[i].name, 1, 0, &err), KS_EINVAL);
        assert_null(r.reader);
        close_named(&r);
        if (!strstr(err.text, rows[i].says))
            fail_msg("%s", err.text);
    }
    ks_view_close(v);
}

/* Every value of every row, against the row iterator of the store. */
static void values_are_those_of_the_rows(void **state)
{
    static const char *const names[] = { "problem_id",        "outcome",
                                         "time_median_ns",    "n_samples",
                                         "representative_id", "status_code",
                                         "max_error",         "reason" };
    struct ks_view *v = two_runs(*state);
    struct ks_store_file *file = ks_view_file(v);
    const uint64_t *numbers;
    struct named r;
    struct ks_row row;
    struct ks_df *f;
    size_t n, n_missing = 0;

    assert_int_equal(open_named(&r, v, names, N(names), 0, NULL), 0);
    assert_int_equal(ks_reader_next(r.reader, &f, NULL), 1);
    ks_view_rows(v, 0, f->n_rows, &numbers, &n);
    assert_int_equal(n, f->n_rows);
    for (size_t i = 0; i < n; i++) {
        const struct ks_df_column *c = f->columns;
        const char *reason = ks_df_text(&c[7], i);

        assert_int_equal(ks_store_measurement(file, numbers[i], &row, NULL), 0);
        assert_true((uint64_t)ks_df_i64(&c[0], i, 0) == row.problem_id);
        assert_string_equal(ks_df_text(&c[1], i), row.outcome_text);
        assert_true(ks_df_f64(&c[2], i, KS_MISSING) == row.time_median_ns);
        assert_int_equal(ks_df_has(&c[2], i), row.time_median_ns >= 0);
        assert_int_equal(ks_df_i64(&c[3], i, -1), row.n_samples);
        assert_true((uint64_t)ks_df_i64(&c[4], i, 0) == row.representative_id);
        assert_int_equal(ks_df_i64(&c[5], i, KS_MISSING_CODE), row.status_code);
        assert_true(ks_df_f64(&c[6], i, KS_MISSING) == row.max_error);
        assert_string_equal(reason ? reason : "", row.reason);
        n_missing += !ks_df_has(&c[2], i);
    }
    assert_true(n_missing > 3);
    close_named(&r);
    ks_view_close(v);
}

/* ---- batches ---- */

static void batches_hold_whole_problems(void **state)
{
    static const char *const names[] = { "problem" };
    static const struct {
        size_t batch_rows, n_batches, largest;
    } rows[] = { { 1, 7, 26 }, { 26, 7, 26 }, { 52, 4, 52 }, { 60, 4, 52 }, { 0, 1, 176 } };
    struct ks_view *v = two_runs(*state);

    for (size_t i = 0; i < N(rows); i++) {
        size_t n_batches = 0, n_rows = 0, largest = 0;
        int64_t last = -1;
        struct named r;
        struct ks_df *f;

        assert_int_equal(open_named(&r, v, names, 1, rows[i].batch_rows, NULL), 0);
        while (ks_reader_next(r.reader, &f, NULL) > 0) {
            assert_int_equal(f->first_row, n_rows);
            assert_true(ks_df_i64(f->columns, 0, -1) > last);
            last = ks_df_i64(f->columns, f->n_rows - 1, -1);
            n_rows += f->n_rows;
            largest = f->n_rows > largest ? f->n_rows : largest;
            n_batches++;
        }
        assert_int_equal(n_rows, ks_view_n_rows(v));
        assert_int_equal(n_batches, rows[i].n_batches);
        assert_int_equal(largest, rows[i].largest);
        close_named(&r);
    }
    ks_view_close(v);
}

/* Derived columns need others, which are read but not shown. */
static void derived_columns_bring_their_own(void **state)
{
    struct ks_view *v = two_runs(*state);
    struct ks_derive *d;
    struct named r = { 0 };
    struct ks_df *f;
    size_t n_known = 0;

    assert_int_equal(ks_sources_need(&r.sources, ks_view_file(v), "gflops_per_s", NULL, NULL), 0);
    assert_int_equal(ks_derive_need(&r.sources, ks_view_file(v), NULL), 0);
    assert_int_equal(ks_derive_create(&d, NULL), 0);
    assert_int_equal(ks_reader_open(v, &r.sources, 0, &r.reader, NULL), 0);
    assert_int_equal(ks_reader_next(r.reader, &f, NULL), 1);
    assert_int_equal(ks_derive(d, f, NULL), 0);
    for (size_t i = 0; i < f->n_rows; i++) {
        double ns = ks_df_f64(ks_df_find(f, "time_median_ns"), i, 0);
        double flops = ks_df_f64(ks_df_find(f, "flops"), i, 0);
        bool is_ok = ks_df_i64(ks_df_find(f, "outcome number"), i, 0) == KS_O_OK;

        assert_int_equal(ks_df_has(&f->columns[0], i), is_ok);
        if (is_ok)
            assert_true(ks_df_f64(&f->columns[0], i, 0) == flops / ns);
        n_known += is_ok;
    }
    assert_true(n_known > 100 && n_known < f->n_rows);
    ks_derive_destroy(d);
    close_named(&r);
    ks_view_close(v);
}

/* ---- rows beneath ---- */

static void gather_in_chunks(const struct place *p, uint32_t chunk_rows)
{
    const char *dirs[] = { p->dir[0], p->dir[1] };
    const struct ks_store_options options = { .chunk_rows = chunk_rows };
    struct ks_err err = { 0 };

    if (ks_store_gather(dirs, 2, p->file, &options, NULL, &err) < 0)
        fail_msg("%s", err.text);
}

/* Shuffled rows of chunks of any size, with room for one chunk only. */
static void rows_in_any_order(void **state)
{
    static const uint32_t chunks[] = { 1, 3, 8, 29, 1000 };
    const struct place *p = *state;
    uint64_t rows[176], seed = 3;

    skit_run(p->dir[0], 1, 7, 13, 5, 6);
    skit_run(p->dir[1], 8, 7, 13, 5, 0);
    for (size_t i = 0; i < N(chunks); i++) {
        struct ks_store_file *f;
        struct ks_place at;
        struct ks_batch *b;
        uint8_t *packed;

        gather_in_chunks(p, chunks[i]);
        f = place_open(p);
        assert_int_equal(ks_batch_open(f, 1, &b, NULL), 0);
        assert_int_equal(ks_batch_n_rows(b), N(rows));
        assert_int_equal(ks_batch_place(b, "instance_id", &at, NULL), 0);
        packed = malloc(N(rows) * ks_batch_row_bytes(b));
        for (size_t k = 0; k < N(rows); k++)
            rows[k] = ks_rng_below(&seed, N(rows));
        assert_int_equal(ks_batch_rows(b, rows, N(rows), packed, NULL), 0);
        for (size_t k = 0; k < N(rows); k++) {
            uint64_t instance;

            memcpy(&instance, packed + k * ks_batch_row_bytes(b) + at.at, sizeof(instance));
            assert_true(instance == measurement(f, rows[k]).instance_id);
        }
        rows[5] = N(rows);
        assert_int_equal(ks_batch_rows(b, rows, N(rows), packed, NULL), KS_EINVAL);
        free(packed);
        ks_batch_close(b);
        ks_store_close(f);
    }
}

/* A byte of a chunk is another one. */
static void damage_is_found(void **state)
{
    const struct place *p = *state;
    struct ks_buf file;
    struct ks_err err = { 0 };
    int n_found = 0;

    skit_run(p->dir[0], 1, 20, 40, 5, 0);
    place_gather(p, 1, NULL);
    ks_buf_init(&file);
    assert_int_equal(ks_file_read(p->file, &file, &err), 0);
    for (size_t at = file.len / 8; at < file.len; at += file.len / 40) {
        struct ks_view *v = NULL;
        struct named r = { 0 };
        struct ks_df *f;
        static const char *const names[] = { "wall_ns" };
        int rc;

        file.data[at] ^= 0x10;
        assert_int_equal(ks_file_replace(p->file, file.data, file.len, &err), 0);
        file.data[at] ^= 0x10;
        rc = ks_view_open(p->file, KS_MERGE_ALL, &v, &err);
        if (rc == 0)
            rc = open_named(&r, v, names, 1, 0, &err);
        while (rc >= 0 && r.reader && (rc = ks_reader_next(r.reader, &f, &err)) > 0)
            ;
        n_found +=
            rc == KS_EFORMAT && strstr(err.text, "/measurements") && strstr(err.text, "is damaged");
        close_named(&r);
        ks_view_close(v);
    }
    assert_true(n_found >= 3);
    ks_buf_release(&file);
}

/* ---- no memory ---- */

static int write_all(const struct place *p, struct ks_err *err)
{
    struct ks_derive *d = NULL;
    struct named r = { 0 };
    struct ks_view *v = NULL;
    struct ks_df *f;
    int rc = ks_view_open(p->file, KS_MERGE_MEDIAN, &v, err);

    if (rc == 0)
        rc = ks_sources_training(&r.sources, ks_view_file(v), KS_COLUMNS_V2, err);
    if (rc == 0)
        rc = ks_derive_need(&r.sources, ks_view_file(v), err);
    if (rc == 0)
        rc = ks_derive_create(&d, err);
    if (rc == 0)
        rc = ks_reader_open(v, &r.sources, 20, &r.reader, err);
    while (rc >= 0 && r.reader && (rc = ks_reader_next(r.reader, &f, err)) > 0)
        rc = ks_derive(d, f, err);
    close_named(&r);
    ks_derive_destroy(d);
    ks_view_close(v);
    return rc;
}

static void no_memory(void **state)
{
    const struct place *p = *state;
    unsigned n = 0, step = 1;

    skit_run(p->dir[0], 1, 3, 6, 4, 0);
    place_gather(p, 1, NULL);
    for (;; n += step, step = 1 + n / 12) {
        struct ks_err err = { 0 };
        int rc;

        fault_arm(n);
        rc = write_all(p, &err);
        if (!fault_disarm()) {
            assert_int_equal(rc, 0);
            break;
        }
        if (rc != KS_ENOMEM && rc != 0)
            fail_msg("allocation %u: %s", n, err.text);
    }
    assert_true(n > 100);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
#define TEST(f) cmocka_unit_test_setup_teardown(f, place_make, place_remove)
        TEST(columns_have_types_and_units),
        TEST(unknown_columns_are_refused),
        TEST(values_are_those_of_the_rows),
        TEST(batches_hold_whole_problems),
        TEST(derived_columns_bring_their_own),
        TEST(rows_in_any_order),
        TEST(damage_is_found),
        TEST(no_memory),
#undef TEST
    };

    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests_name("analysis_frame", tests, NULL, NULL);
}
