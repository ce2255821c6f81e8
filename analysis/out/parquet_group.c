/* SPDX-License-Identifier: MIT */
/* parquet_group.c - gathers the rows of a Parquet row group, and dictionaries of their values */
#include "analysis/out/parquet_group.h"
#include "base/hash.h"

#include <stdlib.h>
#include <string.h>

static uint8_t kind_of(const struct ks_df_column *c)
{
    if (c->type == KS_DF_TEXT)
        return KS_PQ_TEXT;
    if (c->type == KS_DF_F64)
        return c->show == KS_AS_F32 ? KS_PQ_FLOAT : KS_PQ_DOUBLE;
    return c->show == KS_AS_HEX        ? KS_PQ_HEX
           : c->show == KS_AS_UNSIGNED ? KS_PQ_UNSIGNED
                                       : KS_PQ_SIGNED;
}

int ks_pq_group_init(struct ks_pq_group *g, const struct ks_df *f, size_t n_columns,
                     struct ks_err *err)
{
    *g = (struct ks_pq_group){ .n_columns = n_columns };
    g->columns = calloc(n_columns + 1, sizeof(*g->columns));
    if (!g->columns)
        return ks_fail(err, KS_ENOMEM, "out of memory");
    for (size_t i = 0; i < n_columns; i++) {
        const struct ks_df_column *c = &f->columns[i];

        g->columns[i].name = c->name;
        g->columns[i].unit = c->unit ? c->unit : "";
        g->columns[i].role = c->role;
        g->columns[i].kind = kind_of(c);
    }
    return 0;
}

static void release_column(struct ks_pq_column *c)
{
    ks_words_release(&c->texts);
    free(c->numbers.value);
    free(c->numbers.slot);
    free(c->map);
    free(c->index);
    free(c->value);
    free(c->missing);
}

void ks_pq_group_release(struct ks_pq_group *g)
{
    for (size_t i = 0; g->columns && i < g->n_columns; i++)
        release_column(&g->columns[i]);
    free(g->columns);
    *g = (struct ks_pq_group){ 0 };
}

void ks_pq_group_clear(struct ks_pq_group *g)
{
    for (size_t i = 0; i < g->n_columns; i++) {
        struct ks_pq_column *c = &g->columns[i];

        ks_words_release(&c->texts);
        c->numbers.n = 0;
        if (c->numbers.slot)
            memset(c->numbers.slot, 0, c->numbers.n_slots * sizeof(*c->numbers.slot));
        if (c->map)
            memset(c->map, 0xff, c->n_map * sizeof(*c->map));
    }
    g->n_rows = 0;
}

/* ---- distinct numbers ---- */

static uint32_t *find_slot(const struct ks_pq_numbers *d, uint64_t v)
{
    uint32_t mask = d->n_slots - 1, i = (uint32_t)ks_mix64(v) & mask;

    while (d->slot[i] && d->value[d->slot[i] - 1] != v)
        i = (i + 1) & mask;
    return &d->slot[i];
}

static int grow_numbers(struct ks_pq_numbers *d, struct ks_err *err)
{
    uint32_t n_slots = d->n_slots ? d->n_slots * 2 : 64;
    uint64_t *value = realloc(d->value, n_slots / 2 * sizeof(*value));
    uint32_t *slot = value ? calloc(n_slots, sizeof(*slot)) : NULL;

    if (value)
        d->value = value;
    if (!slot)
        return ks_fail(err, KS_ENOMEM, "out of memory for a dictionary");
    free(d->slot);
    d->slot = slot;
    d->n_slots = n_slots;
    d->cap = n_slots / 2;
    for (uint32_t i = 0; i < d->n; i++)
        *find_slot(d, d->value[i]) = i + 1;
    return 0;
}

static int put_number(struct ks_pq_numbers *d, uint64_t v, uint32_t *index_out, struct ks_err *err)
{
    uint32_t *slot;

    if (d->n == d->cap) {
        int rc = grow_numbers(d, err);

        if (rc < 0)
            return rc;
    }
    slot = find_slot(d, v);
    if (*slot == 0) {
        d->value[d->n] = v;
        *slot = ++d->n;
    }
    *index_out = *slot - 1;
    return 0;
}

/* ---- rows ---- */

static uint64_t bits_of(const struct ks_df_column *c, size_t at)
{
    uint64_t bits;

    memcpy(&bits, &c->values.i64[at], sizeof(bits)); /* of reals too: the union's members overlap */
    return bits;
}

/* As in CSV a text without characters is no value. */
static bool is_empty(const struct ks_df_column *c, size_t at)
{
    return c->type == KS_DF_TEXT && c->values.text[at][0] == '\0';
}

static int put_distinct(struct ks_pq_column *to, const struct ks_df_column *c, size_t at,
                        uint32_t *index_out, struct ks_err *err)
{
    if (to->kind != KS_PQ_TEXT)
        return put_number(&to->numbers, bits_of(c, at), index_out, err);
    return ks_words_add(&to->texts, c->values.text[at], strlen(c->values.text[at]), index_out, err);
}

static int grow_map(struct ks_pq_column *to, size_t n_values, struct ks_err *err)
{
    uint32_t *map;

    if (n_values <= to->n_map)
        return 0;
    n_values += n_values / 2;
    map = realloc(to->map, n_values * sizeof(*map));
    if (!map)
        return ks_fail(err, KS_ENOMEM, "out of memory for %zu values", n_values);
    memset(map + to->n_map, 0xff, (n_values - to->n_map) * sizeof(*map));
    to->map = map;
    to->n_map = n_values;
    return 0;
}

static int add_coded(struct ks_pq_column *to, const struct ks_df_column *c, size_t first, size_t n,
                     struct ks_err *err)
{
    uint32_t *out = to->index + first;
    int rc = grow_map(to, c->n_values, err);

    for (size_t i = 0; rc == 0 && i < n; i++) {
        uint32_t code = c->code[i];

        if (code == KS_DF_NONE || (c->missing && c->missing[code]) || is_empty(c, code)) {
            out[i] = KS_PQ_NONE;
            continue;
        }
        if (to->map[code] == KS_PQ_NONE)
            rc = put_distinct(to, c, code, &to->map[code], err);
        out[i] = to->map[code];
    }
    return rc;
}

static int add_interned(struct ks_pq_column *to, const struct ks_df_column *c, size_t first,
                        size_t n, struct ks_err *err)
{
    uint32_t *out = to->index + first;
    int rc = 0;

    for (size_t i = 0; rc == 0 && i < n; i++) {
        out[i] = KS_PQ_NONE;
        if (ks_df_has(c, i) && !is_empty(c, ks_df_at(c, i)))
            rc = put_distinct(to, c, ks_df_at(c, i), &out[i], err);
    }
    return rc;
}

static void add_values(struct ks_pq_column *to, const struct ks_df_column *c, size_t first,
                       size_t n)
{
    if (!c->code) {
        memcpy(to->value + first, c->values.i64, n * sizeof(*to->value));
        if (c->missing)
            memcpy(to->missing + first, c->missing, n);
        else
            memset(to->missing + first, 0, n);
        return;
    }
    for (size_t i = 0; i < n; i++) {
        to->missing[first + i] = !ks_df_has(c, i);
        to->value[first + i] = to->missing[first + i] ? 0 : bits_of(c, ks_df_at(c, i));
    }
}

static int grow_array(void *array_io, size_t n, size_t size, struct ks_err *err)
{
    void *old, *more;

    memcpy(&old, array_io, sizeof(old));
    more = realloc(old, n * size);
    if (!more)
        return ks_fail(err, KS_ENOMEM, "out of memory for %zu rows", n);
    memcpy(array_io, &more, sizeof(more));
    return 0;
}

static int reserve(struct ks_pq_group *g, size_t n, struct ks_err *err)
{
    int rc = 0;

    if (n <= g->cap)
        return 0;
    for (size_t i = 0; rc == 0 && i < g->n_columns; i++) {
        struct ks_pq_column *c = &g->columns[i];

        if (c->kind <= KS_PQ_HEX || c->index)
            rc = grow_array(&c->index, n, sizeof(*c->index), err);
        if (rc == 0 && c->value)
            rc = grow_array(&c->value, n, sizeof(*c->value), err);
        if (rc == 0 && c->value)
            rc = grow_array(&c->missing, n, sizeof(*c->missing), err);
    }
    if (rc == 0)
        g->cap = n;
    return rc;
}

/* The first batch of a group decides how numbers are held in it. */
static int choose(struct ks_pq_group *g, struct ks_pq_column *to, const struct ks_df_column *c,
                  struct ks_err *err)
{
    int rc = 0;

    if (g->n_rows == 0)
        to->is_indexed = to->kind <= KS_PQ_HEX || c->code;
    if (to->is_indexed && !to->index)
        rc = grow_array(&to->index, g->cap, sizeof(*to->index), err);
    if (rc == 0 && !to->is_indexed && !to->value) {
        rc = grow_array(&to->missing, g->cap, sizeof(*to->missing), err);
        if (rc == 0)
            rc = grow_array(&to->value, g->cap, sizeof(*to->value), err);
    }
    return rc;
}

int ks_pq_group_add(struct ks_pq_group *g, const struct ks_df *f, struct ks_err *err)
{
    size_t n = f->n_rows, first = g->n_rows;
    int rc = reserve(g, first + n > g->cap ? (first + n) * 5 / 4 : 0, err);

    for (size_t i = 0; rc == 0 && i < g->n_columns; i++) {
        struct ks_pq_column *to = &g->columns[i];
        const struct ks_df_column *c = &f->columns[i];

        rc = choose(g, to, c, err);
        if (rc < 0)
            break;
        if (!to->is_indexed)
            add_values(to, c, first, n);
        else if (c->code)
            rc = add_coded(to, c, first, n, err);
        else
            rc = add_interned(to, c, first, n, err);
    }
    if (rc == 0)
        g->n_rows += n;
    return rc;
}
