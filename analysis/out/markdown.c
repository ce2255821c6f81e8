/* SPDX-License-Identifier: MIT */
/* markdown.c - writes a frame as a Markdown table */
#include "analysis/out/number.h"
#include "analysis/out/writer.h"
#include "base/text.h"

#include <string.h>

static void release(void *state)
{
    (void)state;
}

static int begin(void *state, const struct ks_df *f, size_t n_columns, struct ks_sink *to,
                 struct ks_err *err)
{
    struct ks_buf *b = &to->text;

    (void)state;
    for (size_t i = 0; i < n_columns; i++) {
        ks_buf_put(b, "| ", 2);
        ks_markdown_put(b, f->columns[i].name);
        ks_buf_u8(b, ' ');
    }
    ks_buf_put(b, "|\n", 2);
    for (size_t i = 0; i < n_columns; i++)
        ks_buf_printf(b, "|%s", f->columns[i].type == KS_DF_TEXT ? " --- " : " ---: ");
    ks_buf_put(b, "|\n", 2);
    return ks_sink_step(to, err);
}

static void put_value(const struct ks_df_column *c, size_t row, struct ks_buf *to)
{
    char number[KS_NUMBER_TEXT];

    if (!ks_df_has(c, row))
        return;
    if (c->type == KS_DF_TEXT)
        ks_markdown_put(to, ks_df_text(c, row));
    else
        ks_buf_put(to, number, ks_number_cell(c, ks_df_at(c, row), number));
}

static int put(void *state, const struct ks_df *f, size_t n_columns, struct ks_sink *to,
               struct ks_err *err)
{
    int rc = 0;

    (void)state;
    for (size_t row = 0; rc == 0 && row < f->n_rows; row++) {
        for (size_t i = 0; i < n_columns; i++) {
            ks_buf_put(&to->text, "| ", 2);
            put_value(&f->columns[i], row, &to->text);
            ks_buf_u8(&to->text, ' ');
        }
        ks_buf_put(&to->text, "|\n", 2);
        rc = ks_sink_step(to, err);
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
    .state_size = 1,
    .begin = begin,
    .put = put,
    .end = end,
    .release = release,
};
