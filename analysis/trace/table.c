/* SPDX-License-Identifier: MIT */
/* table.c - tables of a trace analysis: filled cell by cell, written one or several */
#include "analysis/trace/table.h"

#include "base/text.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { DIGITS_SHOWN = 6 };

struct ks_table_cell {
    char *text; /* owned; NULL: a number or missing */
    double number;
    bool is_missing;
};

void ks_table_init(struct ks_table *t, const struct ks_table_column *columns)
{
    *t = (struct ks_table){ .columns = columns };
    while (columns[t->n_columns].name)
        t->n_columns++;
}

void ks_table_release(struct ks_table *t)
{
    for (size_t i = 0; i < t->n_cells; i++)
        free(t->cells[i].text);
    free(t->cells);
    *t = (struct ks_table){ 0 };
}

static void put(struct ks_table *t, struct ks_table_cell cell)
{
    if (t->n_cells == t->cap) {
        const size_t cap = t->cap ? 2 * t->cap : 256;
        struct ks_table_cell *grown = realloc(t->cells, cap * sizeof(*grown));

        if (!grown) {
            t->has_failed = true;
            free(cell.text);
            return;
        }
        t->cells = grown;
        t->cap = cap;
    }
    t->cells[t->n_cells++] = cell;
}

void ks_table_text(struct ks_table *t, const char *text)
{
    char *copy = text ? strdup(text) : NULL;

    t->has_failed |= text && !copy;
    put(t, (struct ks_table_cell){ .text = copy, .is_missing = !text });
}

void ks_table_number(struct ks_table *t, double v)
{
    put(t, (struct ks_table_cell){ .number = v, .is_missing = !isfinite(v) });
}

void ks_table_missing(struct ks_table *t)
{
    put(t, (struct ks_table_cell){ .is_missing = true });
}

static double rounded(double v, int digits)
{
    char text[64];

    if (digits == 0 || v == floor(v))
        return v;
    snprintf(text, sizeof(text), "%.*g", digits, v);
    return strtod(text, NULL);
}

/* Column i of the frame; its arrays are owned by the caller. code: 0, 1, 2, ...: texts always stand
 * in a dictionary, here in the order of the rows. false: no memory. */
static bool make_column(const struct ks_table *t, size_t i, size_t n_rows, int digits,
                        const uint32_t *code, struct ks_df_column *c)
{
    const char **texts = calloc(n_rows + 1, sizeof(*texts));
    double *numbers = calloc(n_rows + 1, sizeof(*numbers));
    uint8_t *missing = calloc(n_rows + 1, 1);

    *c = (struct ks_df_column){ .name = t->columns[i].name,
                                .unit = "",
                                .type = (uint8_t)t->columns[i].type,
                                .show = KS_AS_NUMBER,
                                .n_values = n_rows,
                                .missing = missing };
    for (size_t row = 0; texts && numbers && missing && row < n_rows; row++) {
        const struct ks_table_cell *cell = &t->cells[row * t->n_columns + i];

        missing[row] = cell->is_missing;
        texts[row] = cell->text;
        numbers[row] = cell->is_missing ? 0 : rounded(cell->number, digits);
    }
    if (c->type == KS_DF_TEXT) {
        c->code = code;
        c->values.text = texts;
        free(numbers);
    } else {
        c->values.f64 = numbers;
        free(texts);
    }
    return texts && numbers && missing;
}

static void drop_column(struct ks_df_column *c)
{
    free((void *)(uintptr_t)c->missing);
    free((void *)(uintptr_t)(c->type == KS_DF_TEXT ? (const void *)c->values.text
                                                   : (const void *)c->values.f64));
}

static int write_frame(const struct ks_df *f, const struct ks_format *format, struct ks_sink *to,
                       struct ks_err *err)
{
    void *state = calloc(1, format->state_size);
    int rc = state ? 0 : ks_fail(err, KS_ENOMEM, "out of memory");

    if (rc == 0)
        rc = format->begin(state, f, f->n_columns, to, err);
    if (rc == 0 && f->n_rows > 0)
        rc = format->put(state, f, f->n_columns, to, err);
    if (rc == 0)
        rc = format->end(state, to, err);
    if (state)
        format->release(state);
    free(state);
    return rc;
}

int ks_table_write(const struct ks_table *t, const struct ks_format *format, int digits,
                   struct ks_sink *to, struct ks_err *err)
{
    struct ks_df_column columns[KS_TABLE_COLUMNS] = { 0 };
    struct ks_df f = { .columns = columns,
                       .n_columns = t->n_columns,
                       .n_rows = t->n_cells / t->n_columns };
    uint32_t *code = malloc((f.n_rows + 1) * sizeof(*code));
    bool is_ok = !t->has_failed && code;
    size_t n = 0;
    int rc;

    for (uint32_t i = 0; is_ok && i < f.n_rows; i++)
        code[i] = i;
    for (; is_ok && n < t->n_columns; n++)
        is_ok = make_column(t, n, f.n_rows, digits, code, &columns[n]);
    rc = is_ok ? write_frame(&f, format, to, err)
               : ks_fail(err, KS_ENOMEM, "out of memory for a table");
    for (size_t i = 0; i < n; i++)
        drop_column(&columns[i]);
    free(code);
    return rc;
}

/* ---- several ---- */

int ks_tables_put(struct ks_tables *s, const char *key, const char *title,
                  const struct ks_table *table, struct ks_err *err)
{
    const bool is_json = s->format == &ks_format_json, is_csv = s->format == &ks_format_csv;
    struct ks_buf *b = &s->to->text;

    if (is_json)
        ks_buf_printf(b, "%s\"%s\": ", s->has_one ? "," : "{\n", key);
    else if (!is_csv) {
        ks_buf_printf(b, "%s%s", s->has_one ? "\n" : "",
                      s->format == &ks_format_markdown ? "## " : "");
        ks_text_put(b, title, strlen(title), KS_LINES_NONE);
        ks_buf_printf(b, "%s", s->format == &ks_format_markdown ? "\n\n" : "\n");
    }
    s->has_one = true;
    return ks_table_write(table, s->format, is_json || is_csv ? 0 : DIGITS_SHOWN, s->to, err);
}

int ks_tables_end(struct ks_tables *s, struct ks_err *err)
{
    if (s->format == &ks_format_json)
        ks_buf_printf(&s->to->text, "%s}\n", s->has_one ? "" : "{");
    return ks_sink_flush(s->to, err);
}
