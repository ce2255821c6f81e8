/* SPDX-License-Identifier: MIT */
/* parquet_page.c - encodes and compresses the pages of a row group, with statistics */
#include "analysis/out/parquet_page.h"
#include "analysis/out/parquet_rle.h"
#include "analysis/out/thrift.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

#define ZSTD_LEVEL 1

/* Numbers of parquet.thrift. */
enum { PAGE_DATA = 0, PAGE_DICTIONARY = 2 };
enum { ENCODING_PLAIN = 0, ENCODING_RLE = 3, ENCODING_RLE_DICTIONARY = 8 };
enum { CODEC_ZSTD = 6 };

int ks_pq_writer_init(struct ks_pq_writer *w, struct ks_sink *to, struct ks_err *err)
{
    *w = (struct ks_pq_writer){ .to = to, .zstd = ZSTD_createCCtx() };
    ks_buf_init(&w->page);
    ks_buf_init(&w->packed);
    ks_buf_init(&w->groups);
    if (!w->zstd ||
        ZSTD_isError(ZSTD_CCtx_setParameter(w->zstd, ZSTD_c_compressionLevel, ZSTD_LEVEL)))
        return ks_fail(err, KS_ENOMEM, "out of memory for the compressor");
    return 0;
}

void ks_pq_writer_release(struct ks_pq_writer *w)
{
    ZSTD_freeCCtx(w->zstd);
    ks_buf_release(&w->page);
    ks_buf_release(&w->packed);
    ks_buf_release(&w->groups);
    w->zstd = NULL;
}

int ks_pq_physical(uint8_t kind)
{
    static const int types[] = {
        [KS_PQ_TEXT] = PQ_BYTE_ARRAY, [KS_PQ_HEX] = PQ_BYTE_ARRAY, [KS_PQ_SIGNED] = PQ_INT64,
        [KS_PQ_UNSIGNED] = PQ_INT64,  [KS_PQ_DOUBLE] = PQ_DOUBLE,  [KS_PQ_FLOAT] = PQ_FLOAT
    };

    return types[kind];
}

int ks_pq_emit(struct ks_pq_writer *w, const void *bytes, size_t n, struct ks_err *err)
{
    ks_buf_put(&w->to->text, bytes, n);
    w->at += n;
    return ks_sink_step(w->to, err);
}

/* ---- pages ---- */

/* What becomes of one column of one row group. */
struct chunk {
    const struct ks_pq_column *c;
    size_t n_rows, n_present;
    uint64_t dictionary_at, data_at, n_plain, n_packed; /* bytes with headers */
    bool has_dictionary;
    struct ks_buf least, most; /* values of the statistics, plain; empty: none */
};

static int compress_page(struct ks_pq_writer *w, struct ks_err *err)
{
    size_t bound = ZSTD_compressBound(w->page.len), n;

    ks_buf_clear(&w->packed);
    if (bound > INT32_MAX) /* sizes of pages are int32 */
        return ks_fail(err, KS_EUNSUPPORTED,
                       "a column of a row group has %zu bytes: a page of Parquet has at most 2 GiB",
                       w->page.len);
    if (!ks_buf_ok(&w->page) || !ks_buf_reserve(&w->packed, bound))
        return ks_fail(err, KS_ENOMEM, "out of memory for a page of %zu bytes", w->page.len);
    n = ZSTD_compress2(w->zstd, w->packed.data, bound, w->page.data ? w->page.data : (uint8_t *)"",
                       w->page.len);
    if (ZSTD_isError(n))
        return ks_fail(err, KS_ENOMEM, "zstd: %s", ZSTD_getErrorName(n));
    w->packed.len = n;
    return 0;
}

/* w->page with its header; `n` values. */
static int put_page(struct ks_pq_writer *w, struct chunk *k, int type, size_t n, struct ks_err *err)
{
    struct ks_thrift t;
    struct ks_buf header;
    int rc = compress_page(w, err);

    if (rc < 0)
        return rc;
    ks_buf_init(&header);
    ks_thrift_init(&t, &header);
    ks_thrift_i32(&t, 1, type);
    ks_thrift_i32(&t, 2, (int32_t)w->page.len);
    ks_thrift_i32(&t, 3, (int32_t)w->packed.len);
    ks_thrift_i32(&t, 4, (int32_t)crc32_z(0, w->packed.data, w->packed.len));
    ks_thrift_struct(&t, type == PAGE_DATA ? 5 : 7);
    ks_thrift_i32(&t, 1, (int32_t)n);
    ks_thrift_i32(
        &t, 2, type == PAGE_DATA && k->has_dictionary ? ENCODING_RLE_DICTIONARY : ENCODING_PLAIN);
    if (type == PAGE_DATA) {
        ks_thrift_i32(&t, 3, ENCODING_RLE);
        ks_thrift_i32(&t, 4, ENCODING_RLE);
    }
    ks_thrift_end(&t);
    ks_thrift_end(&t);
    if (!ks_buf_ok(&header))
        rc = ks_fail(err, KS_ENOMEM, "out of memory for a page");
    if (type == PAGE_DATA)
        k->data_at = w->at;
    else
        k->dictionary_at = w->at;
    k->n_plain += header.len + w->page.len;
    k->n_packed += header.len + w->packed.len;
    if (rc == 0)
        rc = ks_pq_emit(w, header.data, header.len, err);
    if (rc == 0)
        rc = ks_pq_emit(w, w->packed.data, w->packed.len, err);
    ks_buf_release(&header);
    return rc;
}

/* ---- values ---- */

static void put_bytes(struct ks_buf *to, const char *text, size_t n)
{
    ks_buf_u32(to, (uint32_t)n);
    ks_buf_put(to, text, n);
}

static double real_of(uint64_t bits)
{
    double v;

    memcpy(&v, &bits, sizeof(v));
    return v;
}

static void put_plain(struct ks_buf *to, uint8_t kind, uint64_t bits)
{
    uint32_t narrow;
    float f;

    if (kind == KS_PQ_FLOAT) {
        f = (float)real_of(bits);
        memcpy(&narrow, &f, sizeof(narrow));
        ks_buf_u32(to, narrow);
    } else {
        ks_buf_u64(to, bits);
    }
}

/* Value i of the dictionary. */
static void put_entry(const struct ks_pq_column *c, uint32_t i, struct ks_buf *to)
{
    char hex[17];

    if (c->kind == KS_PQ_TEXT) {
        put_bytes(to, c->texts.text[i], strlen(c->texts.text[i]));
    } else if (c->kind == KS_PQ_HEX) {
        snprintf(hex, sizeof(hex), "%016llx", (unsigned long long)c->numbers.value[i]);
        put_bytes(to, hex, 16);
    } else {
        put_plain(to, c->kind, c->numbers.value[i]);
    }
}

/* ---- statistics ---- */

static int compare_text(const char *a, const char *b)
{
    return strcmp(a, b); /* as unsigned bytes, as the format wants it */
}

static bool is_below(uint8_t kind, uint64_t a, uint64_t b)
{
    if (kind == KS_PQ_SIGNED)
        return (int64_t)a < (int64_t)b;
    if (kind == KS_PQ_DOUBLE || kind == KS_PQ_FLOAT)
        return real_of(a) < real_of(b);
    return a < b;
}

static void text_extremes(struct chunk *k)
{
    const struct ks_words *w = &k->c->texts;
    uint32_t least = 0, most = 0;

    for (uint32_t i = 1; i < w->n; i++) {
        least = compare_text(w->text[i], w->text[least]) < 0 ? i : least;
        most = compare_text(w->text[i], w->text[most]) > 0 ? i : most;
    }
    if (w->n == 0 || strlen(w->text[least]) > 64 || strlen(w->text[most]) > 64)
        return; /* readers would have to keep them */
    ks_buf_put(&k->least, w->text[least], strlen(w->text[least]) + 1);
    ks_buf_put(&k->most, w->text[most], strlen(w->text[most]) + 1);
    k->least.len--; /* an empty text is a value, too: the buffer is not NULL */
    k->most.len--;
}

static void put_extreme(struct chunk *k, uint64_t bits, bool is_most)
{
    struct ks_buf *to = is_most ? &k->most : &k->least;
    uint8_t kind = k->c->kind;

    if (kind == KS_PQ_HEX) {
        char hex[17];

        snprintf(hex, sizeof(hex), "%016llx", (unsigned long long)bits);
        ks_buf_put(to, hex, 16);
        return;
    }
    if (kind == KS_PQ_DOUBLE || kind == KS_PQ_FLOAT) {
        double v = kind == KS_PQ_FLOAT ? (double)(float)real_of(bits) : real_of(bits);

        if (!(v < 0) && !(v > 0)) { /* a zero stands for both zeros */
            v = is_most ? 0.0 : -0.0;
            memcpy(&bits, &v, sizeof(bits));
        }
    }
    put_plain(to, kind, bits);
}

/* NaN has no place in the order: the extremes are those of the other values, and there are none
 * without others. Source: parquet.thrift, ColumnOrder, "TypeDefinedOrder". */
static void number_extremes(struct chunk *k, const uint64_t *v, const uint8_t *missing, size_t n)
{
    uint64_t least = 0, most = 0;
    bool has_any = false;

    for (size_t i = 0; i < n; i++) {
        if (missing && missing[i])
            continue;
        if (k->c->kind >= KS_PQ_DOUBLE && isnan(real_of(v[i])))
            continue;
        if (!has_any || is_below(k->c->kind, v[i], least))
            least = v[i];
        if (!has_any || is_below(k->c->kind, most, v[i]))
            most = v[i];
        has_any = true;
    }
    if (!has_any)
        return;
    put_extreme(k, least, false);
    put_extreme(k, most, true);
}

/* ---- a column ---- */

static unsigned width_of(uint32_t n)
{
    unsigned width = 0;

    while (width < 32 && n > 1u << width)
        width++;
    return width;
}

/* Which rows have a value. @scratch [n_rows] */
static void put_levels(struct ks_pq_writer *w, struct chunk *k, uint32_t *scratch)
{
    const struct ks_pq_column *c = k->c;
    size_t at;

    k->n_present = 0;
    for (size_t i = 0; i < k->n_rows; i++) {
        scratch[i] = c->is_indexed ? c->index[i] != KS_PQ_NONE : !c->missing[i];
        k->n_present += scratch[i];
    }
    ks_buf_clear(&w->page);
    ks_buf_u32(&w->page, 0);
    ks_pq_rle(&w->page, scratch, k->n_rows, 1);
    at = w->page.len - 4;
    for (size_t i = 0; ks_buf_ok(&w->page) && i < 4; i++)
        w->page.data[i] = (uint8_t)(at >> 8 * i);
}

static int put_dictionary(struct ks_pq_writer *w, struct chunk *k, struct ks_err *err)
{
    const struct ks_pq_column *c = k->c;
    uint32_t n = c->kind == KS_PQ_TEXT ? c->texts.n : c->numbers.n;

    ks_buf_clear(&w->page);
    for (uint32_t i = 0; i < n; i++)
        put_entry(c, i, &w->page);
    if (c->kind == KS_PQ_TEXT)
        text_extremes(k);
    else
        number_extremes(k, c->numbers.value, NULL, n);
    return put_page(w, k, PAGE_DICTIONARY, n, err);
}

static void put_indices(struct ks_pq_writer *w, struct chunk *k, uint32_t *scratch)
{
    const struct ks_pq_column *c = k->c;
    unsigned width = width_of(c->kind == KS_PQ_TEXT ? c->texts.n : c->numbers.n);
    size_t n = 0;

    for (size_t i = 0; i < k->n_rows; i++)
        if (c->index[i] != KS_PQ_NONE)
            scratch[n++] = c->index[i];
    ks_buf_u8(&w->page, (uint8_t)width);
    ks_pq_rle(&w->page, scratch, n, width);
}

static void put_values(struct ks_pq_writer *w, struct chunk *k)
{
    const struct ks_pq_column *c = k->c;
    size_t size = c->kind == KS_PQ_FLOAT ? sizeof(float) : sizeof(uint64_t);
    uint8_t *to;

    if (!ks_buf_reserve(&w->page, k->n_present * size + 1))
        return;
    to = w->page.data + w->page.len;
    for (size_t i = 0; i < k->n_rows; i++) {
        float f;

        if (c->missing[i])
            continue;
        f = c->kind == KS_PQ_FLOAT ? (float)real_of(c->value[i]) : 0;
        memcpy(to, c->kind == KS_PQ_FLOAT ? (const void *)&f : &c->value[i], size);
        to += size;
    }
    w->page.len += k->n_present * size;
    w->page.data[w->page.len] = '\0';
    number_extremes(k, c->value, c->missing, k->n_rows);
}

static int put_column(struct ks_pq_writer *w, struct chunk *k, uint32_t *scratch,
                      struct ks_err *err)
{
    int rc = 0;

    k->has_dictionary = k->c->is_indexed;
    if (k->has_dictionary)
        rc = put_dictionary(w, k, err);
    if (rc < 0)
        return rc;
    put_levels(w, k, scratch);
    if (k->has_dictionary)
        put_indices(w, k, scratch);
    else
        put_values(w, k);
    return put_page(w, k, PAGE_DATA, k->n_rows, err);
}

/* ---- metadata ---- */

static void describe_statistics(struct ks_thrift *t, const struct chunk *k)
{
    ks_thrift_struct(t, 12);
    ks_thrift_i64(t, 3, (int64_t)(k->n_rows - k->n_present));
    if (k->least.data && k->most.data) {
        ks_thrift_bytes(t, 5, k->most.data, k->most.len);
        ks_thrift_bytes(t, 6, k->least.data, k->least.len);
    }
    ks_thrift_end(t);
}

static void describe_chunk(struct ks_thrift *t, const struct chunk *k)
{
    ks_thrift_element_struct(t);
    ks_thrift_i64(t, 2, 0); /* the metadata stands here, not at an offset of its own */
    ks_thrift_struct(t, 3);
    ks_thrift_i32(t, 1, ks_pq_physical(k->c->kind));
    ks_thrift_list(t, 2, KS_THRIFT_I32, k->has_dictionary ? 3 : 2);
    ks_thrift_element_i32(t, ENCODING_PLAIN);
    ks_thrift_element_i32(t, ENCODING_RLE);
    if (k->has_dictionary)
        ks_thrift_element_i32(t, ENCODING_RLE_DICTIONARY);
    ks_thrift_list(t, 3, KS_THRIFT_BINARY, 1);
    ks_thrift_element_text(t, k->c->name);
    ks_thrift_i32(t, 4, CODEC_ZSTD);
    ks_thrift_i64(t, 5, (int64_t)k->n_rows);
    ks_thrift_i64(t, 6, (int64_t)k->n_plain);
    ks_thrift_i64(t, 7, (int64_t)k->n_packed);
    ks_thrift_i64(t, 9, (int64_t)k->data_at);
    if (k->has_dictionary)
        ks_thrift_i64(t, 11, (int64_t)k->dictionary_at);
    describe_statistics(t, k);
    ks_thrift_end(t);
    ks_thrift_end(t);
}

int ks_pq_put_group(struct ks_pq_writer *w, const struct ks_pq_group *g, struct ks_err *err)
{
    uint32_t *scratch = malloc((g->n_rows + 1) * sizeof(*scratch));
    uint64_t from = w->at, n_plain = 0, n_packed = 0;
    struct ks_thrift t;
    int rc = scratch ? 0 : ks_fail(err, KS_ENOMEM, "out of memory for %zu rows", g->n_rows);

    ks_thrift_init(&t, &w->groups);
    ks_thrift_list(&t, 1, KS_THRIFT_STRUCT, (uint32_t)g->n_columns);
    for (size_t i = 0; rc == 0 && i < g->n_columns; i++) {
        struct chunk k = { .c = &g->columns[i], .n_rows = g->n_rows };

        ks_buf_init(&k.least);
        ks_buf_init(&k.most);
        rc = put_column(w, &k, scratch, err);
        describe_chunk(&t, &k);
        n_plain += k.n_plain;
        n_packed += k.n_packed;
        ks_buf_release(&k.least);
        ks_buf_release(&k.most);
    }
    ks_thrift_i64(&t, 2, (int64_t)n_plain);
    ks_thrift_i64(&t, 3, (int64_t)g->n_rows);
    ks_thrift_i64(&t, 5, (int64_t)from);
    ks_thrift_i64(&t, 6, (int64_t)n_packed);
    ks_thrift_end(&t);
    free(scratch);
    if (rc == 0 && !ks_buf_ok(&w->groups))
        rc = ks_fail(err, KS_ENOMEM, "out of memory for the metadata");
    w->n_groups++;
    w->n_rows += g->n_rows;
    return rc;
}
