/* SPDX-License-Identifier: MIT */
#include "store/batch.h"
#include "store/chunk.h"
#include "store/file.h"

#include <stdlib.h>
#include <string.h>

struct slot {             /* an unpacked chunk */
    uint64_t chunk, used; /* used: when, by the reader's count; 0 = empty */
    uint8_t *rows;        /* [chunk_rows x row_bytes], owned */
};

struct ks_batch {
    const struct ks_packing *layout; /* borrowed from the file */
    struct ks_chunks chunks;
    struct slot *slots; /* [n_slots] */
    uint32_t *slot_of;  /* [n_chunks] slot + 1; 0 = not held */
    size_t n_slots, n_chunks;
    uint64_t clock;
    uint64_t *order; /* [order_cap] rows asked for, in the order of the file, with their place */
    size_t order_cap;
};

int ks_batch_open(struct ks_store_file *f, size_t cache_bytes, struct ks_batch **batch_out,
                  struct ks_err *err)
{
    const struct ks_table_reader *r = ks_store_measurements(f);
    size_t chunk_bytes = r->chunk_rows * r->layout.row_bytes;
    struct ks_batch *b = calloc(1, sizeof(*b));
    int rc = b ? 0 : ks_fail(err, KS_ENOMEM, "out of memory");

    if (rc == 0)
        rc = ks_chunks_init(&b->chunks, r->dataset, r->type, r->n_rows, err);
    if (rc == 0) {
        b->layout = &r->layout;
        b->n_chunks = (size_t)((r->n_rows + r->chunk_rows - 1) / r->chunk_rows);
        b->n_slots = cache_bytes / chunk_bytes ? cache_bytes / chunk_bytes : 1;
        b->slots = calloc(b->n_slots, sizeof(*b->slots));
        b->slot_of = calloc(b->n_chunks + 1, sizeof(*b->slot_of));
        if (!b->slots || !b->slot_of)
            rc = ks_fail(err, KS_ENOMEM, "out of memory");
    }
    if (rc < 0) {
        ks_batch_close(b);
        return rc;
    }
    *batch_out = b;
    return 0;
}

void ks_batch_close(struct ks_batch *b)
{
    if (!b)
        return;
    for (size_t i = 0; b->slots && i < b->n_slots; i++)
        free(b->slots[i].rows);
    free(b->slots);
    free(b->slot_of);
    free(b->order);
    ks_chunks_release(&b->chunks);
    free(b);
}

size_t ks_batch_row_bytes(const struct ks_batch *b)
{
    return b->chunks.row_bytes;
}

uint64_t ks_batch_n_rows(const struct ks_batch *b)
{
    return b->chunks.n_rows;
}

int ks_batch_place(const struct ks_batch *b, const char *column, struct ks_place *place_out,
                   struct ks_err *err)
{
    const struct ks_table_def *def = b->layout->def;

    for (size_t k = 0; k < def->n_columns; k++) {
        const struct ks_column *c = &def->columns[k];

        if (strcmp(c->name, column) != 0)
            continue;
        *place_out = (struct ks_place){ .type = c->type,
                                        .at = b->layout->at[k],
                                        .len = b->layout->len[k],
                                        .has_missing = c->fill == KS_FILL_MISSING,
                                        .missing = c->missing,
                                        .units = c->units };
        return 0;
    }
    return ks_fail(err, KS_EINVAL, "%s has no column '%s'", def->path, column);
}

/* ---- chunks that are held ---- */

/* The slot used longest ago. */
static struct slot *oldest(struct ks_batch *b)
{
    struct slot *s = &b->slots[0];

    for (size_t i = 1; i < b->n_slots && s->used; i++)
        if (b->slots[i].used < s->used)
            s = &b->slots[i];
    return s;
}

static int hold(struct ks_batch *b, uint64_t chunk, const uint8_t **rows_out, struct ks_err *err)
{
    struct slot *s = b->slot_of[chunk] ? &b->slots[b->slot_of[chunk] - 1] : NULL;
    int rc;

    if (!s) {
        s = oldest(b);
        if (s->used)
            b->slot_of[s->chunk] = 0;
        s->used = 0;
        if (!s->rows)
            s->rows = malloc(b->chunks.chunk_rows * b->chunks.row_bytes);
        if (!s->rows)
            return ks_fail(err, KS_ENOMEM, "out of memory for a chunk");
        rc = ks_chunks_read(&b->chunks, chunk, b->chunks.row_bytes, s->rows, err);
        if (rc < 0)
            return ks_err_context(err, rc, "'%s'", b->layout->def->path);
        s->chunk = chunk;
        b->slot_of[chunk] = (uint32_t)(s - b->slots) + 1;
    }
    s->used = ++b->clock;
    *rows_out = s->rows;
    return 0;
}

/* ---- rows by number ---- */

static int by_number(const void *x, const void *y)
{
    const uint64_t *a = x, *b = y;

    return (a[0] > b[0]) - (a[0] < b[0]);
}

/* Pairs of row and place, in the order of the file. */
static int put_in_order(struct ks_batch *b, const uint64_t *rows, size_t n, struct ks_err *err)
{
    bool is_sorted = true;

    if (n > b->order_cap) {
        uint64_t *more = realloc(b->order, 2 * n * sizeof(*more));

        if (!more)
            return ks_fail(err, KS_ENOMEM, "out of memory for %zu rows", n);
        b->order = more;
        b->order_cap = n;
    }
    for (size_t i = 0; i < n; i++) {
        if (rows[i] >= b->chunks.n_rows)
            return ks_fail(err, KS_EINVAL, "%s has %llu rows, so row %llu does not exist",
                           b->layout->def->path, (unsigned long long)b->chunks.n_rows,
                           (unsigned long long)rows[i]);
        is_sorted = is_sorted && (i == 0 || rows[i - 1] <= rows[i]);
        b->order[2 * i] = rows[i];
        b->order[2 * i + 1] = i;
    }
    if (!is_sorted)
        qsort(b->order, n, 2 * sizeof(*b->order), by_number);
    return 0;
}

int ks_batch_rows(struct ks_batch *b, const uint64_t *rows, size_t n, uint8_t *packed_out,
                  struct ks_err *err)
{
    size_t bytes = b->chunks.row_bytes;
    const uint8_t *held = NULL;
    uint64_t held_chunk = UINT64_MAX;
    int rc = put_in_order(b, rows, n, err);

    for (size_t i = 0; rc == 0 && i < n; i++) {
        uint64_t row = b->order[2 * i], chunk = row / b->chunks.chunk_rows;

        if (chunk != held_chunk)
            rc = hold(b, chunk, &held, err);
        held_chunk = chunk;
        if (rc == 0)
            memcpy(packed_out + b->order[2 * i + 1] * bytes,
                   held + (row % b->chunks.chunk_rows) * bytes, bytes);
    }
    return rc;
}

int ks_batch_scan(struct ks_batch *b, size_t n_bytes, ks_batch_fn fn, void *ctx, struct ks_err *err)
{
    size_t bytes = b->chunks.row_bytes;
    uint8_t *rows = malloc(b->chunks.chunk_rows * bytes);
    int rc = rows ? 0 : ks_fail(err, KS_ENOMEM, "out of memory for a chunk");

    for (uint64_t i = 0; rc == 0 && i < b->n_chunks; i++) {
        rc = ks_chunks_read(&b->chunks, i, n_bytes, rows, err);
        if (rc < 0)
            ks_err_context(err, rc, "'%s'", b->layout->def->path);
        else
            rc = fn(ctx, i * b->chunks.chunk_rows, ks_chunks_rows(&b->chunks, i), rows, bytes, err);
    }
    free(rows);
    return rc;
}
