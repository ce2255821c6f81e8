/* SPDX-License-Identifier: MIT */
/* CSV. Most of a row is copied, not formatted: neighbouring columns of the same joined table are
 * one piece of text per row of that table, made once; neighbouring columns with the same value in
 * all rows of a batch are one piece, made once per batch. */
#include "analysis/out/number.h"
#include "analysis/out/writer.h"
#include "base/text.h"

#include <stdlib.h>
#include <string.h>

#define HELD_BYTES ((size_t)48 << 20) /* of such pieces; beyond that all are made anew */

struct piece { /* of one value of a group's codes */
    size_t at; /* in `held`; len 0 = not made (a piece has a comma at least) */
    uint32_t len;
};

/* Columns [first, end): a single one of numbers, or all that share codes. */
struct group {
    size_t first, end;
    bool is_coded;
    struct piece *pieces; /* [n_pieces] */
    size_t n_pieces;
};

/* What to do for a row of this batch: copy `len` bytes of `same`, or put the value of a group. */
struct step {
    struct group *group; /* NULL: copy */
    size_t at, len;
};

struct state {
    struct group *groups; /* [n_groups] */
    struct step *steps;   /* [n_steps], room for n_groups */
    size_t n_groups, n_steps;
    struct ks_buf held, same;
};

static void release(void *state)
{
    struct state *s = state;

    for (size_t i = 0; i < s->n_groups; i++)
        free(s->groups[i].pieces);
    free(s->groups);
    free(s->steps);
    ks_buf_release(&s->held);
    ks_buf_release(&s->same);
}

static int begin(void *state, const struct ks_df *f, size_t n_columns, struct ks_sink *to,
                 struct ks_err *err)
{
    (void)state;
    for (size_t i = 0; i < n_columns; i++) {
        if (i)
            ks_buf_u8(&to->text, ',');
        ks_buf_put(&to->text, f->columns[i].name, strlen(f->columns[i].name));
    }
    ks_buf_u8(&to->text, '\n');
    return ks_sink_step(to, err);
}

/* ---- pieces ---- */

static int find_groups(struct state *s, const struct ks_df *f, size_t n_columns, struct ks_err *err)
{
    s->groups = calloc(n_columns + 1, sizeof(*s->groups));
    s->steps = calloc(n_columns + 1, sizeof(*s->steps));
    if (!s->groups || !s->steps)
        return ks_fail(err, KS_ENOMEM, "out of memory");
    for (size_t i = 0, end; i < n_columns; i = end) {
        const uint32_t *code = f->columns[i].code;

        for (end = i + 1; code && end < n_columns && f->columns[end].code == code;)
            end++;
        s->groups[s->n_groups++] =
            (struct group){ .first = i, .end = end, .is_coded = code != NULL };
    }
    return 0;
}

/* Codes are below the number of values of any column that shares them. */
static int grow_pieces(struct group *g, size_t n_values, struct ks_err *err)
{
    struct piece *more;

    if (n_values <= g->n_pieces)
        return 0;
    n_values += n_values / 2;
    more = realloc(g->pieces, n_values * sizeof(*more));
    if (!more)
        return ks_fail(err, KS_ENOMEM, "out of memory");
    memset(more + g->n_pieces, 0, (n_values - g->n_pieces) * sizeof(*more));
    g->pieces = more;
    g->n_pieces = n_values;
    return 0;
}

static void forget_pieces(struct state *s)
{
    for (size_t i = 0; i < s->n_groups; i++)
        if (s->groups[i].pieces)
            memset(s->groups[i].pieces, 0, s->groups[i].n_pieces * sizeof(*s->groups[i].pieces));
    ks_buf_clear(&s->held);
}

static void put_value(const struct ks_df_column *c, size_t at, struct ks_buf *to)
{
    char number[KS_NUMBER_TEXT];

    if (c->missing && c->missing[at])
        return;
    if (c->type == KS_DF_TEXT)
        ks_csv_put(to, c->values.text[at]);
    else
        ks_buf_put(to, number, ks_number_cell(c, at, number));
}

static const struct piece *make_piece(struct state *s, const struct ks_df *f, struct group *g,
                                      uint32_t code)
{
    struct piece *p = &g->pieces[code];

    if (s->held.len > HELD_BYTES)
        forget_pieces(s);
    p->at = s->held.len;
    for (size_t i = g->first; i < g->end; i++) {
        put_value(&f->columns[i], code, &s->held);
        ks_buf_u8(&s->held, ',');
    }
    p->len = (uint32_t)(s->held.len - p->at);
    return p;
}

/* ---- what is the same in all rows of a batch ---- */

static bool is_same(const struct ks_df *f, const struct group *g)
{
    const struct ks_df_column *c = &f->columns[g->first];

    for (size_t row = 1; g->is_coded && row < f->n_rows; row++)
        if (c->code[row] != c->code[0])
            return false;
    for (size_t row = 1; !g->is_coded && row < f->n_rows; row++) {
        bool is_missing = c->missing && c->missing[row];

        if (is_missing != (c->missing && c->missing[0]) ||
            (!is_missing && c->values.i64[row] != c->values.i64[0])) /* bits, of reals too */
            return false;
    }
    return true;
}

static void put_first_row(const struct ks_df *f, const struct group *g, struct ks_buf *to)
{
    for (size_t i = g->first; i < g->end; i++) {
        size_t at = ks_df_at(&f->columns[i], 0);

        if (at != KS_DF_NONE)
            put_value(&f->columns[i], at, to);
        ks_buf_u8(to, ',');
    }
}

static void plan(struct state *s, const struct ks_df *f)
{
    s->n_steps = 0;
    ks_buf_clear(&s->same);
    for (size_t k = 0; k < s->n_groups; k++) {
        struct step *last = s->n_steps ? &s->steps[s->n_steps - 1] : NULL;
        size_t at = s->same.len;

        if (!is_same(f, &s->groups[k])) {
            s->steps[s->n_steps++] = (struct step){ .group = &s->groups[k] };
            continue;
        }
        put_first_row(f, &s->groups[k], &s->same);
        if (last && !last->group)
            last->len += s->same.len - at;
        else
            s->steps[s->n_steps++] = (struct step){ .at = at, .len = s->same.len - at };
    }
}

/* ---- rows ---- */

/* Room for n more bytes and the NUL; NULL without memory. */
static char *room(struct ks_buf *b, size_t n)
{
    if (b->cap - b->len <= n + 1 && !ks_buf_reserve(b, n + 1))
        return NULL;
    return (char *)b->data + b->len;
}

static void put_commas(struct ks_buf *to, size_t n)
{
    for (size_t i = 0; i < n; i++)
        ks_buf_u8(to, ',');
}

static void copy(const struct ks_buf *from, size_t at, size_t n, struct ks_buf *to)
{
    char *place = ks_buf_ok(from) ? room(to, n) : NULL;

    if (!place) {
        to->failed = true;
        return;
    }
    memcpy(place, from->data + at, n);
    to->len += n;
}

static void put_coded(struct state *s, const struct ks_df *f, struct group *g, size_t row,
                      struct ks_buf *to)
{
    uint32_t code = f->columns[g->first].code[row];
    const struct piece *p;

    if (code == KS_DF_NONE) {
        put_commas(to, g->end - g->first);
        return;
    }
    p = &g->pieces[code];
    if (!p->len)
        p = make_piece(s, f, g, code);
    copy(&s->held, p->at, p->len, to);
}

static void put_number(const struct ks_df_column *c, size_t row, struct ks_buf *to)
{
    char *at = room(to, KS_NUMBER_TEXT + 1);
    size_t n = 0;

    if (!at)
        return;
    if (!c->missing || !c->missing[row])
        n = ks_number_cell(c, row, at);
    at[n] = ',';
    to->len += n + 1;
}

static void put_row(struct state *s, const struct ks_df *f, size_t row, struct ks_buf *to)
{
    for (const struct step *step = s->steps; step < s->steps + s->n_steps; step++) {
        if (!step->group)
            copy(&s->same, step->at, step->len, to);
        else if (step->group->is_coded)
            put_coded(s, f, step->group, row, to);
        else
            put_number(&f->columns[step->group->first], row, to);
    }
    if (ks_buf_ok(to) && s->n_steps) {
        to->data[to->len - 1] = '\n';
        to->data[to->len] = '\0'; /* room() kept its place */
    }
}

static int put(void *state, const struct ks_df *f, size_t n_columns, struct ks_sink *to,
               struct ks_err *err)
{
    struct state *s = state;
    int rc = s->groups ? 0 : find_groups(s, f, n_columns, err);

    for (size_t k = 0; rc == 0 && k < s->n_groups; k++)
        if (s->groups[k].is_coded)
            rc = grow_pieces(&s->groups[k], f->columns[s->groups[k].first].n_values, err);
    if (rc == 0)
        plan(s, f);
    for (size_t row = 0; rc == 0 && row < f->n_rows; row++) {
        put_row(s, f, row, &to->text);
        rc = ks_sink_step(to, err);
    }
    return rc;
}

static int end(void *state, struct ks_sink *to, struct ks_err *err)
{
    (void)state;
    return ks_sink_flush(to, err);
}

const struct ks_format ks_format_csv = {
    .name = "csv",
    .state_size = sizeof(struct state),
    .begin = begin,
    .put = put,
    .end = end,
    .release = release,
};
