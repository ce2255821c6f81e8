/* SPDX-License-Identifier: MIT */
#include "store/chunk.h"

#include <stdlib.h>
#include <string.h>
#include <zlib.h>

#define SUM_BYTES   4u /* fletcher32 puts its checksum behind the content */
#define ZLIB_HEADER 2u /* skipped together with the checksum of zlib: there is another */

static bool has_our_filters(hid_t dataset)
{
    static const H5Z_filter_t ours[] = { H5Z_FILTER_SHUFFLE, H5Z_FILTER_DEFLATE,
                                         H5Z_FILTER_FLETCHER32 };
    hid_t create = H5Dget_create_plist(dataset);
    bool is_ours = create >= 0 && H5Pget_nfilters(create) == 3;

    for (unsigned i = 0; is_ours && i < 3; i++) {
        unsigned flags, config;
        size_t n_values = 0;

        is_ours = H5Pget_filter2(create, i, &flags, &n_values, NULL, 0, NULL, &config) == ours[i];
    }
    ks_h5_close(create);
    return is_ours;
}

int ks_chunks_init(struct ks_chunks *c, hid_t dataset, hid_t type, uint64_t n_rows,
                   struct ks_err *err)
{
    *c = (struct ks_chunks){ .dataset = dataset,
                             .type = type,
                             .row_bytes = H5Tget_size(type),
                             .chunk_rows = ks_h5_chunk(dataset),
                             .n_rows = n_rows };
    c->is_ours = has_our_filters(dataset);
    c->planes = malloc(c->chunk_rows * c->row_bytes);
    return c->planes ? 0 : ks_fail(err, KS_ENOMEM, "out of memory");
}

void ks_chunks_release(struct ks_chunks *c)
{
    free(c->raw);
    free(c->planes);
    *c = (struct ks_chunks){ 0 };
}

size_t ks_chunks_rows(const struct ks_chunks *c, uint64_t i)
{
    uint64_t left = c->n_rows - i * c->chunk_rows;

    return left < c->chunk_rows ? (size_t)left : c->chunk_rows;
}

/* Sums of 360 words of 16 bits do not overflow; Source: H5checksum.c of HDF5 1.10. */
uint32_t ks_fletcher32(const uint8_t *bytes, size_t n)
{
    uint32_t sum1 = 0, sum2 = 0;

    for (size_t left = n / 2; left > 0;) {
        size_t k = left > 360 ? 360 : left;

        left -= k;
        for (; k > 0; k--, bytes += 2) {
            sum1 += (uint32_t)bytes[0] << 8 | bytes[1];
            sum2 += sum1;
        }
        sum1 = (sum1 & 0xffff) + (sum1 >> 16);
        sum2 = (sum2 & 0xffff) + (sum2 >> 16);
    }
    if (n % 2) {
        sum1 += (uint32_t)bytes[0] << 8;
        sum2 += sum1;
        sum1 = (sum1 & 0xffff) + (sum1 >> 16);
        sum2 = (sum2 & 0xffff) + (sum2 >> 16);
    }
    sum1 = (sum1 & 0xffff) + (sum1 >> 16);
    sum2 = (sum2 & 0xffff) + (sum2 >> 16);
    return sum2 << 16 | sum1;
}

/* ---- from planes to rows ---- */

static void swap_blocks(uint64_t *a, uint64_t *b, unsigned shift, uint64_t mask)
{
    uint64_t t = ((*a >> shift) ^ *b) & mask;

    *a ^= t << shift;
    *b ^= t;
}

/* Byte i of word k becomes byte k of word i. */
static void transpose(uint64_t x[8])
{
    for (size_t i = 0; i < 4; i++)
        swap_blocks(&x[i], &x[i + 4], 32, 0x00000000ffffffffull);
    for (size_t i = 0; i < 8; i += 4) {
        swap_blocks(&x[i], &x[i + 2], 16, 0x0000ffff0000ffffull);
        swap_blocks(&x[i + 1], &x[i + 3], 16, 0x0000ffff0000ffffull);
    }
    for (size_t i = 0; i < 8; i += 2)
        swap_blocks(&x[i], &x[i + 1], 8, 0x00ff00ff00ff00ffull);
}

static void bytes_to_rows(const struct ks_chunks *c, size_t first, size_t end, size_t from_row,
                          uint8_t *rows)
{
    for (size_t b = first; b < end; b++)
        for (size_t r = from_row; r < c->chunk_rows; r++)
            rows[r * c->row_bytes + b] = c->planes[b * c->chunk_rows + r];
}

/* Eight planes and eight rows at a time: half a cycle per byte, where one byte at a time takes
 * four. */
static void planes_to_rows(const struct ks_chunks *c, size_t n_planes, uint8_t *rows)
{
    size_t n_rows = c->chunk_rows, whole_rows = n_rows - n_rows % 8;
    size_t whole_planes = n_planes - n_planes % 8;

    for (size_t r = 0; r < whole_rows; r += 8) {
        for (size_t b = 0; b < whole_planes; b += 8) {
            uint64_t x[8];

            for (size_t k = 0; k < 8; k++)
                memcpy(&x[k], c->planes + (b + k) * n_rows + r, 8);
            transpose(x);
            for (size_t k = 0; k < 8; k++)
                memcpy(rows + (r + k) * c->row_bytes + b, &x[k], 8);
        }
    }
    bytes_to_rows(c, 0, whole_planes, whole_rows, rows);
    bytes_to_rows(c, whole_planes, n_planes, 0, rows);
}

/* ---- reading ---- */

static int read_raw(struct ks_chunks *c, uint64_t i, size_t *n_out, uint32_t *mask_out,
                    struct ks_err *err)
{
    hsize_t at = i * c->chunk_rows, n = 0;

    if (H5Dget_chunk_storage_size(c->dataset, &at, &n) < 0)
        return ks_h5_fail(err, "size of chunk %llu", (unsigned long long)i);
    if (n > c->raw_cap) {
        uint8_t *more = realloc(c->raw, n);

        if (!more)
            return ks_fail(err, KS_ENOMEM, "out of memory for a chunk of %llu bytes",
                           (unsigned long long)n);
        c->raw = more;
        c->raw_cap = n;
    }
    if (H5Dread_chunk(c->dataset, H5P_DEFAULT, &at, mask_out, c->raw) < 0)
        return ks_h5_fail(err, "chunk %llu", (unsigned long long)i);
    *n_out = n;
    return 0;
}

static int check_sum(const struct ks_chunks *c, uint64_t i, size_t n, struct ks_err *err)
{
    const uint8_t *at = c->raw + n - SUM_BYTES;
    uint32_t want =
        (uint32_t)at[0] | (uint32_t)at[1] << 8 | (uint32_t)at[2] << 16 | (uint32_t)at[3] << 24;

    return ks_fletcher32(c->raw, n - SUM_BYTES) == want
               ? 0
               : ks_fail(err, KS_EFORMAT, "chunk %llu is damaged: its checksum is wrong",
                         (unsigned long long)i);
}

/* Planes lie in the stream one after the other: what is behind the last one wanted is not unpacked.
 */
static int inflate_planes(struct ks_chunks *c, uint64_t i, size_t n, size_t n_planes,
                          struct ks_err *err)
{
    z_stream z = { .next_in = c->raw + ZLIB_HEADER,
                   .avail_in = (uInt)(n - SUM_BYTES - ZLIB_HEADER),
                   .next_out = c->planes,
                   .avail_out = (uInt)(n_planes * c->chunk_rows) };
    int said;

    if (inflateInit2(&z, -MAX_WBITS) != Z_OK)
        return ks_fail(err, KS_ENOMEM, "out of memory");
    said = inflate(&z, Z_SYNC_FLUSH);
    inflateEnd(&z);
    return (said == Z_OK || said == Z_STREAM_END) && z.avail_out == 0
               ? 0
               : ks_fail(err, KS_EFORMAT, "chunk %llu is damaged: it cannot be decompressed",
                         (unsigned long long)i);
}

int ks_chunks_read(struct ks_chunks *c, uint64_t i, size_t n_bytes, uint8_t *rows_out,
                   struct ks_err *err)
{
    size_t n = 0, n_planes = n_bytes + 7 - (n_bytes + 7) % 8;
    uint32_t skipped = 0;
    int rc;

    if (!c->is_ours)
        return ks_h5_read(c->dataset, c->type, i * c->chunk_rows, ks_chunks_rows(c, i), rows_out,
                          err);
    rc = read_raw(c, i, &n, &skipped, err);
    if (rc == 0 && skipped) /* a filter that gave up on this chunk */
        return ks_h5_read(c->dataset, c->type, i * c->chunk_rows, ks_chunks_rows(c, i), rows_out,
                          err);
    if (rc == 0 && n <= SUM_BYTES + ZLIB_HEADER)
        rc = ks_fail(err, KS_EFORMAT, "chunk %llu is damaged: it has %zu bytes",
                     (unsigned long long)i, n);
    if (rc == 0)
        rc = check_sum(c, i, n, err);
    if (n_planes > c->row_bytes)
        n_planes = c->row_bytes;
    if (rc == 0)
        rc = inflate_planes(c, i, n, n_planes, err);
    if (rc == 0)
        planes_to_rows(c, n_planes, rows_out);
    return rc;
}
