/* SPDX-License-Identifier: MIT */
#include "analysis/out/number.h"
#include "analysis/out/writer.h"
#include "base/text.h"

#include <string.h>

struct state {
    struct ks_buf cell;
};

static void release(void *state)
{
    ks_buf_release(&((struct state *)state)->cell);
}

/* A cell of a table ends at a bar, and a backslash would take the next character's meaning. */
static void put_text(struct state *s, const char *text, struct ks_buf *to)
{
    ks_buf_clear(&s->cell);
    ks_text_put(&s->cell, text, strlen(text), KS_LINES_NONE);
    for (size_t i = 0; i < s->cell.len; i++) {
        if (s->cell.data[i] == '|' || s->cell.data[i] == '\\')
            ks_buf_u8(to, '\\');
        ks_buf_u8(to, s->cell.data[i]);
    }
}

static int begin(void *state, const struct ks_df *f, size_t n_columns, struct ks_sink *to,
                 struct ks_err *err)
{
    struct ks_buf *b = &to->text;

    for (size_t i = 0; i < n_columns; i++) {
        ks_buf_put(b, "| ", 2);
        put_text(state, f->columns[i].name, b);
        ks_buf_u8(b, ' ');
    }
    ks_buf_put(b, "|\n", 2);
    for (size_t i = 0; i < n_columns; i++)
        ks_buf_printf(b, "|%s", f->columns[i].type == KS_DF_TEXT ? " --- " : " ---: ");
    ks_buf_put(b, "|\n", 2);
    return ks_sink_step(to, err);
}

static void put_value(struct state *s, const struct ks_df_column *c, size_t row, struct ks_buf *to)
{
    char number[KS_NUMBER_TEXT];

    if (!ks_df_has(c, row))
        return;
    if (c->type == KS_DF_TEXT)
        put_text(s, ks_df_text(c, row), to);
    else
        ks_buf_put(to, number, ks_number_cell(c, ks_df_at(c, row), number));
}

static int put(void *state, const struct ks_df *f, size_t n_columns, struct ks_sink *to,
               struct ks_err *err)
{
    struct state *s = state;
    int rc = 0;

    for (size_t row = 0; rc == 0 && row < f->n_rows; row++) {
        for (size_t i = 0; i < n_columns; i++) {
            ks_buf_put(&to->text, "| ", 2);
            put_value(s, &f->columns[i], row, &to->text);
            ks_buf_u8(&to->text, ' ');
        }
        ks_buf_put(&to->text, "|\n", 2);
        rc = ks_buf_ok(&s->cell) ? ks_sink_step(to, err) : ks_fail(err, KS_ENOMEM, "out of memory");
    }
    return rc;
}

static int end(void *state, struct ks_sink *to, struct ks_err *err)
{
    (void)state;
    return ks_sink_flush(to, err);
}

const struct ks_format ks_format_markdown = {
    .name = "markdown",
    .state_size = sizeof(struct state),
    .begin = begin,
    .put = put,
    .end = end,
    .release = release,
};
