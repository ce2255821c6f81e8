/* SPDX-License-Identifier: MIT */
/* text.c - writes a frame as a table for people */
/* Columns are as wide as in the first batch; wider cells later move the rest of their line. */
#include "base/text.h"
#include "analysis/out/number.h"
#include "analysis/out/writer.h"

#include <stdlib.h>
#include <string.h>

#define WIDEST 48u /* longer texts are shown, but nothing is aligned to them */

struct state {
    size_t *width; /* [n_columns] characters */
    struct ks_buf cell;
};

static void release(void *state)
{
    struct state *s = state;

    free(s->width);
    ks_buf_release(&s->cell);
}

/* Columns of the cell. */
static size_t width_of(const struct state *s)
{
    return ks_utf8_count(ks_buf_text(&s->cell), s->cell.len);
}

/* The cell, escaped, in s->cell. */
static void make_cell(struct state *s, const struct ks_df_column *c, size_t row)
{
    char number[KS_NUMBER_TEXT];
    const char *text = c->type == KS_DF_TEXT ? ks_df_text(c, row) : NULL;

    ks_buf_clear(&s->cell);
    if (text)
        ks_text_put(&s->cell, text, strlen(text), KS_LINES_NONE);
    else if (c->type != KS_DF_TEXT && ks_df_has(c, row))
        ks_buf_put(&s->cell, number, ks_number_cell(c, ks_df_at(c, row), number));
}

static void put_cell(struct state *s, size_t i, bool is_last, bool is_right, struct ks_buf *to)
{
    size_t n = width_of(s), pad = n < s->width[i] ? s->width[i] - n : 0;

    if (is_right)
        ks_buf_printf(to, "%*s", (int)pad, "");
    ks_buf_put(to, s->cell.data, s->cell.len);
    if (!is_right && !is_last)
        ks_buf_printf(to, "%*s", (int)pad, "");
    ks_buf_put(to, is_last ? "\n" : "  ", is_last ? 1 : 2);
}

static void measure(struct state *s, const struct ks_df *f, size_t n_columns)
{
    for (size_t i = 0; i < n_columns; i++) {
        s->width[i] = strlen(f->columns[i].name);
        for (size_t row = 0; row < f->n_rows; row++) {
            size_t n;

            make_cell(s, &f->columns[i], row);
            n = width_of(s);
            if (n > s->width[i] && n <= WIDEST)
                s->width[i] = n;
        }
    }
}

static void put_header(struct state *s, const struct ks_df *f, size_t n_columns, struct ks_buf *to)
{
    for (size_t i = 0; i < n_columns; i++) {
        const struct ks_df_column *c = &f->columns[i];

        ks_buf_clear(&s->cell);
        ks_buf_put(&s->cell, c->name, strlen(c->name));
        put_cell(s, i, i + 1 == n_columns, c->type != KS_DF_TEXT, to);
    }
}

static int begin(void *state, const struct ks_df *f, size_t n_columns, struct ks_sink *to,
                 struct ks_err *err)
{
    struct state *s = state;

    (void)f;
    (void)to;
    s->width = calloc(n_columns + 1, sizeof(*s->width));
    return s->width ? 0 : ks_fail(err, KS_ENOMEM, "out of memory");
}

static int put(void *state, const struct ks_df *f, size_t n_columns, struct ks_sink *to,
               struct ks_err *err)
{
    struct state *s = state;
    int rc = 0;

    if (f->first_row == 0) {
        measure(s, f, n_columns);
        put_header(s, f, n_columns, &to->text);
    }
    for (size_t row = 0; rc == 0 && row < f->n_rows; row++) {
        for (size_t i = 0; i < n_columns; i++) {
            make_cell(s, &f->columns[i], row);
            put_cell(s, i, i + 1 == n_columns, f->columns[i].type != KS_DF_TEXT, &to->text);
        }
        rc = ks_buf_ok(&s->cell) ? ks_sink_step(to, err) : ks_fail(err, KS_ENOMEM, "out of memory");
    }
    return rc;
}

static int end(void *state, struct ks_sink *to, struct ks_err *err)
{
    (void)state;
    return ks_sink_flush(to, err);
}

const struct ks_format ks_format_text = {
    .name = "text",
    .state_size = sizeof(struct state),
    .begin = begin,
    .put = put,
    .end = end,
    .release = release,
};
