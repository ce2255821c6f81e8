/* SPDX-License-Identifier: MIT */
/* The parts of a Parquet file that are written by hand, against decoders of their own and bytes of
 * the specifications. That other programs read the files is tests/e2e/32-tables.sh. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
/* cmocka.h wants the four above first. */
#include <cmocka.h>

#include "analysis/out/parquet_rle.h"
#include "analysis/out/thrift.h"
#include "base/hash.h"

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

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(indices_come_back),
        cmocka_unit_test(long_runs_are_short),
        cmocka_unit_test(structs_are_thrift),
    };

    return cmocka_run_group_tests_name("parquet", tests, NULL, NULL);
}
