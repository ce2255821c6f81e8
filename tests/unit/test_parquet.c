/* SPDX-License-Identifier: MIT */
/* test_parquet.c - the parts of a Parquet file that are written by hand */
/* Against decoders of their own and bytes of the specifications. That other programs read the files
 * is tests/e2e/32-tables.sh. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
/* cmocka.h wants the four above first. */
#include <cmocka.h>

#include "analysis/out/parquet_rle.h"
#include "analysis/out/thrift.h"
#include "analysis/out/writer.h"
#include "base/hash.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define MOST 3000

static uint64_t varint(const uint8_t **at)
{
    uint64_t v = 0;

    for (unsigned shift = 0;; shift += 7) {
        v |= (uint64_t)(**at & 0x7f) << shift;
        if (!(*(*at)++ & 0x80))
            return v;
    }
}

/* As Encodings.md describes it. Returns how many values; fails beyond MOST + 8. */
static size_t decode(const uint8_t *at, const uint8_t *end, unsigned width, uint32_t *out)
{
    size_t n = 0;

    while (at < end) {
        uint64_t header = varint(&at), count = header >> 1;

        if (header & 1) {
            assert_true(n + count * 8 <= MOST + 8);
            for (size_t bit = 0; bit < count * 8 * width; bit++) {
                size_t i = n + bit / width;

                out[i] = bit % width ? out[i] : 0;
                out[i] |= (uint32_t)(at[bit / 8] >> bit % 8 & 1) << bit % width;
            }
            for (size_t i = n; width == 0 && i < n + count * 8; i++)
                out[i] = 0;
            at += count * width;
            n += count * 8;
            continue;
        }
        assert_true(n + count <= MOST);
        out[n] = 0;
        for (unsigned bits = 0; bits < width; bits += 8)
            out[n] |= (uint32_t)*at++ << bits;
        for (size_t i = 1; i < count; i++)
            out[n + i] = out[n];
        n += count;
    }
    assert_ptr_equal(at, end);
    return n;
}

/* Runs of random lengths between values that differ; every width. */
static void indices_come_back(void **state)
{
    static uint32_t values[MOST], got[MOST + 8];
    uint64_t seed = 7;

    (void)state;
    for (unsigned width = 0; width <= 20; width++) {
        for (size_t round = 0; round < 40; round++) {
            size_t n = ks_rng_below(&seed, MOST) + 1;
            struct ks_buf b;
            size_t n_got;

            for (size_t i = 0; i < n;) {
                uint32_t v = (uint32_t)ks_rng_below(&seed, 1ull << width);
                size_t run = ks_rng_below(&seed, round + 2) + 1;

                for (; run > 0 && i < n; run--)
                    values[i++] = v;
            }
            ks_buf_init(&b);
            ks_pq_rle(&b, values, n, width);
            assert_true(ks_buf_ok(&b));
            n_got = decode(b.data, b.data + b.len, width, got);
            assert_true(n_got >= n && n_got < n + 8);
            assert_memory_equal(got, values, n * sizeof(*values));
            ks_buf_release(&b);
        }
    }
}

static void long_runs_are_short(void **state)
{
    static uint32_t values[MOST];
    struct ks_buf b;

    (void)state;
    ks_buf_init(&b);
    ks_pq_rle(&b, values, MOST, 1);
    assert_int_equal(b.len, 3); /* varint 6000, one byte */
    ks_buf_release(&b);
}

/* thrift-compact-protocol.md: zigzag, field deltas, long forms, nesting. */
static void structs_are_thrift(void **state)
{
    static const uint8_t want[] = {
        0x15, 0x02,                   /* 1: i32 1 */
        0x16, 0x01,                   /* 2: i64 -1 */
        0x05, 0x28, 0xac, 0x02,       /* 20: i32 150, long form of the id */
        0x18, 0x02, 'a',  'b',        /* 21: binary */
        0x11,                         /* 22: true */
        0x13, 0x40,                   /* 23: i8 64 */
        0x1c, 0x25, 0x04, 0x00,       /* 24: struct { 2: i32 2 } */
        0x19, 0x28, 0x01, 'x',  0x00, /* 25: list of two texts */
        0x19, 0xfc, 0x10,             /* 26: list of 16 structs */
        0x12, 0x00,                   /* the first: { 1: false } */
    };
    struct ks_thrift t;
    struct ks_buf b;

    (void)state;
    ks_buf_init(&b);
    ks_thrift_init(&t, &b);
    ks_thrift_i32(&t, 1, 1);
    ks_thrift_i64(&t, 2, -1);
    ks_thrift_i32(&t, 20, 150);
    ks_thrift_text(&t, 21, "ab");
    ks_thrift_bool(&t, 22, 1);
    ks_thrift_i8(&t, 23, 64);
    ks_thrift_struct(&t, 24);
    ks_thrift_i32(&t, 2, 2);
    ks_thrift_end(&t);
    ks_thrift_list(&t, 25, KS_THRIFT_BINARY, 2);
    ks_thrift_element_text(&t, "x");
    ks_thrift_element_text(&t, "");
    ks_thrift_list(&t, 26, KS_THRIFT_STRUCT, 16);
    ks_thrift_element_struct(&t);
    ks_thrift_bool(&t, 1, 0);
    ks_thrift_end(&t);
    assert_int_equal(b.len, sizeof(want));
    assert_memory_equal(b.data, want, sizeof(want));
    ks_buf_release(&b);
}

/* A file of one column. */
static void write_column(const double *values, const uint8_t *missing, size_t n, uint8_t show,
                         struct ks_sink *to)
{
    struct ks_df_column c = { .name = "x",
                              .unit = "",
                              .type = KS_DF_F64,
                              .show = show,
                              .n_values = n,
                              .values.f64 = values,
                              .missing = missing };
    struct ks_df f = { .columns = &c, .n_columns = 1, .n_rows = n };
    void *state = calloc(1, ks_format_parquet.state_size);

    assert_non_null(state);
    ks_sink_init(to, -1, "memory");
    assert_int_equal(ks_format_parquet.begin(state, &f, 1, to, NULL), 0);
    assert_int_equal(ks_format_parquet.put(state, &f, 1, to, NULL), 0);
    assert_int_equal(ks_format_parquet.end(state, to, NULL), 0);
    ks_format_parquet.release(state);
    free(state);
}

/* Fields 5 and 6 of the last Statistics: max_value, min_value, of `size` bytes. */
static bool find_statistics(const struct ks_buf *file, uint8_t size, const uint8_t **least_out,
                            const uint8_t **most_out)
{
    for (size_t at = file->len - 2 * size - 4; at > 0; at--) {
        const uint8_t *b = file->data + at;

        if (b[0] != 0x28 || b[1] != size || b[2 + size] != 0x18 || b[3 + size] != size)
            continue;
        *most_out = b + 2;
        *least_out = b + 4 + size;
        return true;
    }
    return false;
}

/* parquet.thrift on min_value and max_value: no NaN; a zero is -0 as minimum, +0 as maximum,
 * because readers may not tell them apart. */
static void statistics_have_no_nan_and_both_zeros(void **state)
{
    static const struct {
        double values[3];
        uint8_t missing[3], show;
        bool has_any;
        double least, most;
    } rows[] = {
        { { 3, NAN, -2 }, { 0 }, KS_AS_NUMBER, true, -2, 3 },
        { { NAN, 1, NAN }, { 0 }, KS_AS_NUMBER, true, 1, 1 },
        { { NAN, NAN, NAN }, { 0 }, KS_AS_NUMBER, false, 0, 0 },
        { { NAN, 5, NAN }, { 0, 1, 0 }, KS_AS_NUMBER, false, 0, 0 },
        { { 1, 2, 3 }, { 1, 1, 1 }, KS_AS_NUMBER, false, 0, 0 },
        { { 0.0, 0.0, 0.0 }, { 0 }, KS_AS_NUMBER, true, -0.0, 0.0 },
        { { -0.0, -0.0, -0.0 }, { 0 }, KS_AS_NUMBER, true, -0.0, 0.0 },
        { { 0.0, 7, NAN }, { 0 }, KS_AS_NUMBER, true, -0.0, 7 },
        { { -0.0, -7, -1 }, { 0 }, KS_AS_NUMBER, true, -7, 0.0 },
        { { 1, -9, 2 }, { 0, 1, 0 }, KS_AS_NUMBER, true, 1, 2 },
        { { 3, NAN, -2 }, { 0 }, KS_AS_F32, true, -2, 3 },
        { { 1e-60, 7, NAN }, { 0 }, KS_AS_F32, true, -0.0, 7 }, /* 0 as float */
        { { -1e-60, -7, -8 }, { 0 }, KS_AS_F32, true, -8, 0.0 },
    };

    (void)state;
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        const bool is_float = rows[i].show == KS_AS_F32;
        const float narrow[2] = { (float)rows[i].least, (float)rows[i].most };
        const uint8_t size = is_float ? sizeof(float) : sizeof(double);
        const uint8_t *least = NULL, *most = NULL;
        struct ks_sink to;

        write_column(rows[i].values, rows[i].missing, 3, rows[i].show, &to);
        if (find_statistics(&to.text, size, &least, &most) != rows[i].has_any)
            fail_msg("row %zu: statistics %s", i, rows[i].has_any ? "missing" : "of no value");
        if (rows[i].has_any) {
            const void *want_least = is_float ? (const void *)&narrow[0] : &rows[i].least;
            const void *want_most = is_float ? (const void *)&narrow[1] : &rows[i].most;

            if (memcmp(least, want_least, size) != 0 || memcmp(most, want_most, size) != 0)
                fail_msg("row %zu: other extremes", i);
        }
        ks_sink_release(&to);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(indices_come_back),
        cmocka_unit_test(long_runs_are_short),
        cmocka_unit_test(structs_are_thrift),
        cmocka_unit_test(statistics_have_no_nan_and_both_zeros),
    };

    return cmocka_run_group_tests_name("parquet", tests, NULL, NULL);
}
