/* SPDX-License-Identifier: MIT */
/* parquet_rle.c - Parquet's hybrid of run lengths and bit packing */
#include "analysis/out/parquet_rle.h"

#define RUN_MIN 8 /* values of a packed group: a shorter run is not worth its header */

static void put_varint(struct ks_buf *to, uint64_t v)
{
    for (; v >= 0x80; v >>= 7)
        ks_buf_u8(to, (uint8_t)(v | 0x80));
    ks_buf_u8(to, (uint8_t)v);
}

static void put_run(struct ks_buf *to, uint32_t value, size_t n, unsigned width)
{
    put_varint(to, (uint64_t)n << 1);
    for (unsigned bits = 0; bits < width; bits += 8)
        ks_buf_u8(to, (uint8_t)(value >> bits));
}

/* Groups of 8 values, lowest bit first; the last one is filled up with zeros. */
static void put_packed(struct ks_buf *to, const uint32_t *values, size_t n, unsigned width)
{
    uint64_t held = 0;
    unsigned n_held = 0;
    size_t n_groups = (n + 7) / 8;

    if (n == 0)
        return;
    put_varint(to, (uint64_t)n_groups << 1 | 1);
    if (!ks_buf_reserve(to, n_groups * width))
        return;
    for (size_t i = 0; i < n_groups * 8; i++) {
        held |= (uint64_t)(i < n ? values[i] : 0) << n_held;
        for (n_held += width; n_held >= 8; n_held -= 8, held >>= 8)
            to->data[to->len++] = (uint8_t)held;
    }
    to->data[to->len] = '\0';
}

static size_t run_length(const uint32_t *values, size_t n)
{
    size_t i = 1;

    while (i < n && values[i] == values[0])
        i++;
    return i;
}

void ks_pq_rle(struct ks_buf *to, const uint32_t *values, size_t n, unsigned width)
{
    size_t packed_from = 0, at = 0;

    while (at < n) {
        size_t run = run_length(values + at, n - at);
        /* What is packed before a run is whole groups of 8, unless it ends the page. */
        size_t lend = (8 - (at - packed_from) % 8) % 8;

        if (run < lend + RUN_MIN) {
            at += run;
            continue;
        }
        put_packed(to, values + packed_from, at + lend - packed_from, width);
        put_run(to, values[at], run - lend, width);
        at += run;
        packed_from = at;
    }
    put_packed(to, values + packed_from, n - packed_from, width);
}
