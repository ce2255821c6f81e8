/* SPDX-License-Identifier: MIT */
/* csv.c - writes CSV in two threads, mostly by copying pieces that are made once */
/* Neighbouring columns of the same joined table are one piece of text per row of that table, made
 * once; neighbouring columns with the same value in all rows of a batch are one piece, made once
 * per batch. A second thread formats half of the rows of each batch, and then writes both halves
 * while the caller reads the next batch. */
#include "analysis/out/number.h"
#include "analysis/out/writer.h"
#include "base/aside.h"
#include "base/text.h"

#include <stdlib.h>
#include <string.h>

#define HELD_BYTES                                                                                 \
    ((size_t)24 << 20)    /* of such pieces of a half; beyond that all are made anew               \
                           */
#define SLICE_ROWS 16384u /* of both halves: a batch may be one problem with many more */

struct piece { /* of one value of a group's codes */
    size_t at; /* in `held`; len 0 = not made (a piece has a comma at least) */
    uint32_t len;
};

/* Columns [first, end): a single one of numbers, or all that share codes. */
struct group {
    size_t first, end;
    bool is_coded;
    struct piece *pieces[2]; /* [n_pieces] of each half */
    size_t n_pieces;
};

/* What to do for a row of this batch: copy `len` bytes of `same`, or put the value of a group. */
struct step {
    struct group *group; /* NULL: copy */
    size_t at, len;
};

/* What one thread makes of rows [from, to). */
struct half {
    struct state *of;
    unsigned i; /* 0 or 1: its pieces */
    const struct ks_df *f;
    size_t from, to;
    struct ks_buf held, text;
};

struct state {
    struct group *groups; /* [n_groups] */
    struct step *steps;   /* [n_steps], room for n_groups */
    size_t n_groups, n_steps;
    struct ks_buf same;
    struct half half[2];
    struct ks_aside *aside;
    struct ks_sink *to; /* of what is being written */
    int rc;             /* of writing; err when it is < 0 */
    struct ks_err err;
};

static void release(void *state)
{
    struct state *s = state;

    ks_aside_destroy(s->aside);
    for (unsigned h = 0; h < 2; h++) {
        for (size_t i = 0; i < s->n_groups; i++)
            free(s->groups[i].pieces[h]);
        ks_buf_release(&s->half[h].held);
        ks_buf_release(&s->half[h].text);
    }
    free(s->groups);
    free(s->steps);
    ks_buf_release(&s->same);
}

static int begin(void *state, const struct ks_df *f, size_t n_columns, struct ks_sink *to,
                 struct ks_err *err)
{
    struct state *s = state;

    for (unsigned h = 0; h < 2; h++)
        s->half[h] = (struct half){ .of = s, .i = h };
    for (size_t i = 0; i < n_columns; i++) {
        if (i)
            ks_buf_u8(&to->text, ',');
        ks_buf_put(&to->text, f->columns[i].name, strlen(f->columns[i].name));
    }
    ks_buf_u8(&to->text, '\n');
    return ks_aside_create(&s->aside, err);
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
    if (n_values <= g->n_pieces)
        return 0;
    n_values += n_values / 2;
    for (unsigned h = 0; h < 2; h++) {
        struct piece *more = realloc(g->pieces[h], n_values * sizeof(*more));

        if (!more)
            return ks_fail(err, KS_ENOMEM, "out of memory");
        memset(more + g->n_pieces, 0, (n_values - g->n_pieces) * sizeof(*more));
        g->pieces[h] = more;
    }
    g->n_pieces = n_values;
    return 0;
}

static void forget_pieces(struct half *h)
{
    struct state *s = h->of;

    for (size_t i = 0; i < s->n_groups; i++)
        if (s->groups[i].pieces[h->i])
            memset(s->groups[i].pieces[h->i], 0, s->groups[i].n_pieces * sizeof(struct piece));
    ks_buf_clear(&h->held);
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

static const struct piece *make_piece(struct half *h, const struct group *g, uint32_t code)
{
    struct piece *p = &g->pieces[h->i][code];

    if (h->held.len > HELD_BYTES)
        forget_pieces(h);
    p->at = h->held.len;
    for (size_t i = g->first; i < g->end; i++) {
        put_value(&h->f->columns[i], code, &h->held);
        ks_buf_u8(&h->held, ',');
    }
    p->len = (uint32_t)(h->held.len - p->at);
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

static void put_coded(struct half *h, const struct group *g, size_t row)
{
    uint32_t code = h->f->columns[g->first].code[row];
    const struct piece *p;

    if (code == KS_DF_NONE) {
        put_commas(&h->text, g->end - g->first);
        return;
    }
    p = &g->pieces[h->i][code];
    if (!p->len)
        p = make_piece(h, g, code);
    copy(&h->held, p->at, p->len, &h->text);
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

static void put_row(struct half *h, size_t row)
{
    const struct state *s = h->of;
    struct ks_buf *to = &h->text;

    for (const struct step *step = s->steps; step < s->steps + s->n_steps; step++) {
        if (!step->group)
            copy(&s->same, step->at, step->len, to);
        else if (step->group->is_coded)
            put_coded(h, step->group, row);
        else
            put_number(&h->f->columns[step->group->first], row, to);
    }
    if (ks_buf_ok(to) && s->n_steps) {
        to->data[to->len - 1] = '\n';
        to->data[to->len] = '\0'; /* room() kept its place */
    }
}

static void put_half(void *half)
{
    struct half *h = half;

    for (size_t row = h->from; row < h->to; row++)
        put_row(h, row);
}

/* ---- two threads ---- */

static void write_halves(void *state)
{
    struct state *s = state;

    for (unsigned h = 0; h < 2 && s->rc == 0; h++)
        s->rc = ks_sink_put(s->to, &s->half[h].text, &s->err);
}

/* Of what was being written; its buffers are free again. */
static int written(struct state *s, struct ks_err *err)
{
    if (s->aside)
        ks_aside_wait(s->aside);
    if (s->rc < 0 && err)
        *err = s->err;
    return s->rc;
}

static int put_slice(struct state *s, const struct ks_df *f, size_t from, size_t to,
                     struct ks_err *err)
{
    const size_t middle = from + (to - from) / 2;
    int rc = written(s, err);

    if (rc < 0)
        return rc;
    for (unsigned h = 0; h < 2; h++) {
        s->half[h].f = f;
        s->half[h].from = h ? middle : from;
        s->half[h].to = h ? to : middle;
        ks_buf_clear(&s->half[h].text);
    }
    ks_aside_run(s->aside, put_half, &s->half[1]);
    put_half(&s->half[0]);
    ks_aside_wait(s->aside); /* the frame is the caller's again */
    ks_aside_run(s->aside, write_halves, s);
    return 0;
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
    s->to = to;
    for (size_t row = 0; rc == 0 && row < f->n_rows; row += SLICE_ROWS)
        rc = put_slice(s, f, row, row + SLICE_ROWS < f->n_rows ? row + SLICE_ROWS : f->n_rows, err);
    return rc;
}

static int end(void *state, struct ks_sink *to, struct ks_err *err)
{
    int rc = written(state, err);

    return rc < 0 ? rc : ks_sink_flush(to, err);
}

const struct ks_format ks_format_csv = {
    .name = "csv",
    .state_size = sizeof(struct state),
    .begin = begin,
    .put = put,
    .end = end,
    .release = release,
};
