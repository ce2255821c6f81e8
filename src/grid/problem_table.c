/* SPDX-License-Identifier: MIT */
/* problem_table.c - stores problems packed: fixed-size rows, dims as LEB128, names */
#include "grid/problem_table.h"

#include <stdlib.h>
#include <string.h>

enum { MOST_PROBLEMS = 1 << 28, LEB128_MAX = 10 /* bytes of 64 bits */ };

void ks_problem_table_release(struct ks_problem_table *t)
{
    free(t->rows);
    free(t->bytes);
    *t = (struct ks_problem_table){ 0 };
}

/* Source of the encoding: LEB128, DWARF 5, 7.6. Dims are small: most take one byte. */
static size_t put_dims(const struct ks_problem *p, uint8_t out[KS_MAX_DIMS * LEB128_MAX])
{
    const char *const *names = ks_operators[p->op]->dim_names;
    size_t n = 0;

    for (int i = 0; names[i]; i++) {
        uint64_t rest = (uint64_t)p->dim[i];

        for (; rest > 0x7f; rest >>= 7)
            out[n++] = (uint8_t)(rest | 0x80);
        out[n++] = (uint8_t)rest;
    }
    return n;
}

static void take_dims(const uint8_t *bytes, struct ks_problem *p)
{
    const char *const *names = ks_operators[p->op]->dim_names;

    for (int i = 0; names[i]; i++) {
        uint64_t value = 0;
        unsigned shift = 0;

        for (; *bytes & 0x80; shift += 7)
            value |= (uint64_t)(*bytes++ & 0x7f) << shift;
        p->dim[i] = (int64_t)(value | (uint64_t)*bytes++ << shift);
    }
}

static int no_memory(uint32_t n, struct ks_err *err)
{
    return ks_fail(err, KS_ENOMEM, "no memory for %u problems", n);
}

/* Room for one more row and n more bytes. */
static int reserve(struct ks_problem_table *t, size_t n, struct ks_err *err)
{
    if (t->n == MOST_PROBLEMS)
        return ks_fail(err, KS_ENOMEM, "more than %d problems", MOST_PROBLEMS);
    if (t->n == t->cap) {
        uint32_t cap = t->cap ? 2 * t->cap : 64;
        struct ks_packed_problem *rows = realloc(t->rows, cap * sizeof *rows);

        if (!rows)
            return no_memory(cap, err);
        t->rows = rows;
        t->cap = cap;
    }
    if (t->cap_bytes - t->n_bytes < n) {
        size_t cap = 2 * t->cap_bytes + 4096;
        uint8_t *bytes = realloc(t->bytes, cap);

        if (!bytes)
            return no_memory(t->n + 1, err);
        t->bytes = bytes;
        t->cap_bytes = cap;
    }
    return 0;
}

int ks_problem_table_add(struct ks_problem_table *t, const struct ks_problem *p, struct ks_err *err)
{
    uint8_t dims[KS_MAX_DIMS * LEB128_MAX];
    size_t n_dims = put_dims(p, dims), n_name = strlen(p->name) + 1;
    int rc = reserve(t, n_dims + n_name, err);

    if (rc < 0)
        return rc;
    memcpy(t->bytes + t->n_bytes, dims, n_dims);
    memcpy(t->bytes + t->n_bytes + n_dims, p->name, n_name);
    t->rows[t->n++] = (struct ks_packed_problem){
        .id = p->id,
        .count = p->count,
        .at = t->n_bytes,
        .n_dims = (uint16_t)n_dims,
        .op = (uint8_t)p->op,
        .direction = (uint8_t)p->direction,
        .dtype = (uint8_t)p->dtype,
        .layout = (uint8_t)p->layout,
    };
    t->n_bytes += n_dims + n_name;
    return 0;
}

const char *ks_problem_table_name(const struct ks_problem_table *t, uint32_t i)
{
    return (const char *)t->bytes + t->rows[i].at + t->rows[i].n_dims;
}

struct ks_problem ks_problem_table_get(const struct ks_problem_table *t, uint32_t i)
{
    const struct ks_packed_problem *r = &t->rows[i];
    struct ks_problem p = { .id = r->id,
                            .op = r->op,
                            .direction = r->direction,
                            .dtype = r->dtype,
                            .layout = r->layout,
                            .count = r->count };
    const char *name = ks_problem_table_name(t, i);

    take_dims(t->bytes + r->at, &p);
    memcpy(p.name, name, strlen(name) + 1);
    return p;
}

bool ks_problem_table_is(const struct ks_problem_table *t, uint32_t i, const struct ks_problem *p)
{
    const struct ks_packed_problem *r = &t->rows[i];
    uint8_t dims[KS_MAX_DIMS * LEB128_MAX];

    return r->op == p->op && r->direction == p->direction && r->dtype == p->dtype &&
           r->layout == p->layout && r->n_dims == put_dims(p, dims) &&
           memcmp(t->bytes + r->at, dims, r->n_dims) == 0;
}

static size_t size_of(const struct ks_problem_table *t, uint32_t i)
{
    return t->rows[i].n_dims + strlen(ks_problem_table_name(t, i)) + 1;
}

int ks_problem_table_keep(struct ks_problem_table *t, const bool *is_kept, struct ks_err *err)
{
    size_t n_bytes = 0, at = 0;
    uint32_t n = 0;
    uint8_t *bytes;

    for (uint32_t i = 0; i < t->n; i++)
        n_bytes += is_kept[i] ? size_of(t, i) : 0;
    bytes = malloc(n_bytes + 1);
    if (!bytes)
        return no_memory(t->n, err);
    for (uint32_t i = 0; i < t->n; i++) {
        size_t size = size_of(t, i);

        if (!is_kept[i])
            continue;
        memcpy(bytes + at, t->bytes + t->rows[i].at, size);
        t->rows[n] = t->rows[i];
        t->rows[n++].at = at;
        at += size;
    }
    free(t->bytes);
    t->bytes = bytes;
    t->n_bytes = n_bytes;
    t->cap_bytes = n_bytes + 1;
    t->n = n;
    return 0;
}

bool ks_problem_table_reorder(struct ks_problem_table *t, const uint32_t *order)
{
    struct ks_packed_problem *rows = malloc((t->n + (size_t)1) * sizeof *rows);
    uint8_t *bytes;

    if (!rows)
        return false;
    bytes = realloc(t->bytes, t->n_bytes + 1);
    if (!bytes) {
        free(rows);
        return false;
    }
    for (uint32_t i = 0; i < t->n; i++)
        rows[i] = t->rows[order[i]];
    free(t->rows);
    t->rows = rows;
    t->cap = t->n + 1;
    t->bytes = bytes;
    t->cap_bytes = t->n_bytes + 1;
    return true;
}

size_t ks_problem_table_size(const struct ks_problem_table *t)
{
    return t->cap * sizeof *t->rows + t->cap_bytes;
}
