/* SPDX-License-Identifier: MIT */
/* counter_table.c - a table of launches by counters, filled in any order */
#include "analysis/trace/counter_table.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_ROWS = 1 << 26, KEY_MAX = 8192 };
#define MOST_VALUES ((uint64_t)1 << 30) /* of all columns */

/* ---- texts ---- */

static int add_text(struct ks_names *names, const char *text, uint32_t *number_out,
                    struct ks_err *err)
{
    const uint32_t number = ks_names_put(names, text, strlen(text));

    if (number == KS_NAME_NONE)
        return ks_fail(err, KS_ENOMEM, "out of memory for %u texts", names->n + 1);
    *number_out = number;
    return 0;
}

int ks_counter_text(struct ks_counter_table *t, const char *text, uint32_t *number_out,
                    struct ks_err *err)
{
    return add_text(&t->texts, text, number_out, err);
}

static uint32_t find_text(const struct ks_names *names, const char *text)
{
    return ks_names_find(names, text, strlen(text));
}

/* ---- rows ---- */

static int grow_rows(struct ks_counter_table *t, struct ks_err *err)
{
    uint32_t cap = t->cap_rows ? 2 * t->cap_rows : 64;
    struct ks_counter_row *rows;

    if (t->n_rows < t->cap_rows)
        return 0;
    if (t->n_rows >= MOST_ROWS)
        return ks_fail(err, KS_EFORMAT, "more than %d kernel launches: split the input", MOST_ROWS);
    rows = realloc(t->rows, cap * sizeof(*rows));
    if (!rows)
        return ks_fail(err, KS_ENOMEM, "out of memory for %u kernel launches", cap);
    t->rows = rows;
    t->cap_rows = cap;
    return 0;
}

static void row_key(const char *process, int64_t dispatch, uint32_t kernel, char key_out[KEY_MAX])
{
    snprintf(key_out, KEY_MAX, "%" PRId64 " %u %s", dispatch, kernel, process);
}

bool ks_counter_has_process(const struct ks_counter_table *t, const char *process)
{
    return find_text(&t->processes, process) != KS_TEXT_NONE;
}

bool ks_counter_has_row(const struct ks_counter_table *t, const char *process, int64_t dispatch,
                        const char *kernel)
{
    const uint32_t text = find_text(&t->texts, kernel);
    char key[KEY_MAX];

    row_key(process, dispatch, text, key);
    return text != KS_TEXT_NONE && find_text(&t->row_keys, key) != KS_TEXT_NONE;
}

int ks_counter_row(struct ks_counter_table *t, const char *process, int64_t dispatch,
                   const char *kernel, uint32_t *row_out, struct ks_err *err)
{
    char key[KEY_MAX];
    uint32_t text, of_process, row = 0;
    int rc = add_text(&t->texts, kernel, &text, err);

    if (rc == 0)
        rc = add_text(&t->processes, process, &of_process, err);
    if (rc < 0)
        return rc;
    row_key(process, dispatch, text, key);
    rc = grow_rows(t, err);
    if (rc == 0)
        rc = add_text(&t->row_keys, key, &row, err);
    if (rc < 0)
        return rc;
    if (row == t->n_rows)
        t->rows[t->n_rows++] = (struct ks_counter_row){ .file = KS_TEXT_NONE,
                                                        .kernel = text,
                                                        .op_stack = KS_TEXT_NONE,
                                                        .top_op = KS_TEXT_NONE,
                                                        .bottom_op = KS_TEXT_NONE,
                                                        .dims = KS_TEXT_NONE,
                                                        .types = KS_TEXT_NONE,
                                                        .dispatch = dispatch,
                                                        .rank = -1,
                                                        .device = -1,
                                                        .stream = -1,
                                                        .launches = 1,
                                                        .start_ns = -1 };
    *row_out = row;
    return 0;
}

/* ---- columns ---- */

static int grow_columns(struct ks_counter_table *t, struct ks_err *err)
{
    uint32_t cap = t->cap_columns ? 2 * t->cap_columns : 64;
    struct ks_counter_column *columns;

    if (t->n_columns < t->cap_columns)
        return 0;
    columns = realloc(t->columns, cap * sizeof(*columns));
    if (!columns)
        return ks_fail(err, KS_ENOMEM, "out of memory for %u counters", cap);
    t->columns = columns;
    t->cap_columns = cap;
    return 0;
}

int ks_counter_column(struct ks_counter_table *t, const char *name, const char *unit,
                      uint32_t *column_out, struct ks_err *err)
{
    char key[32];
    struct ks_counter_column c = { 0 };
    uint32_t column = 0;
    int rc = grow_columns(t, err);

    if (rc == 0)
        rc = add_text(&t->texts, name, &c.name, err);
    if (rc == 0)
        rc = add_text(&t->texts, unit, &c.unit, err);
    if (rc < 0)
        return rc;
    snprintf(key, sizeof(key), "%u %u", c.name, c.unit);
    rc = add_text(&t->column_keys, key, &column, err);
    if (rc < 0)
        return rc;
    if (column == t->n_columns)
        t->columns[t->n_columns++] = c;
    *column_out = column;
    return 0;
}

/* Room for a value of every row that there may be before the rows grow again. */
static int reach_row(struct ks_counter_table *t, struct ks_counter_column *c, uint32_t row,
                     struct ks_err *err)
{
    double *value;
    uint8_t *present;

    if (row < c->cap)
        return 0;
    if ((uint64_t)t->cap_rows * t->n_columns > MOST_VALUES)
        return ks_fail(err, KS_EFORMAT, "%u counters of %u kernel launches are too many",
                       t->n_columns, t->n_rows);
    value = realloc(c->value, t->cap_rows * sizeof(*value));
    if (value)
        c->value = value;
    present = value ? realloc(c->present, t->cap_rows) : NULL;
    if (!present)
        return ks_fail(err, KS_ENOMEM, "out of memory for the values of a counter");
    memset(present + c->cap, 0, t->cap_rows - c->cap);
    c->present = present;
    c->cap = t->cap_rows;
    return 0;
}

int ks_counter_put(struct ks_counter_table *t, uint32_t row, uint32_t column, double value,
                   struct ks_err *err)
{
    struct ks_counter_column *c = &t->columns[column];
    int rc = reach_row(t, c, row, err);

    if (rc < 0)
        return rc;
    if (c->present[row]) {
        t->n_differing += c->value[row] != value;
        return 0;
    }
    c->present[row] = 1;
    c->value[row] = value;
    return 0;
}

bool ks_counter_get(const struct ks_counter_table *t, uint32_t row, uint32_t column,
                    double *value_out)
{
    const struct ks_counter_column *c = &t->columns[column];

    if (row >= c->cap || !c->present[row])
        return false;
    *value_out = c->value[row];
    return true;
}

uint32_t ks_counter_find(const struct ks_counter_table *t, const char *name, const char *unit)
{
    const uint32_t text = find_text(&t->texts, name);

    for (uint32_t i = 0; text != KS_TEXT_NONE && i < t->n_columns; i++) {
        const struct ks_counter_column *c = &t->columns[i];
        const char *own = ks_counter_text_of(t, c->unit);

        if (c->name == text && (!*own || strcmp(own, unit) == 0))
            return i;
    }
    return KS_TEXT_NONE;
}

void ks_counter_table_release(struct ks_counter_table *t)
{
    for (uint32_t i = 0; i < t->n_columns; i++) {
        free(t->columns[i].value);
        free(t->columns[i].present);
    }
    free(t->columns);
    free(t->rows);
    ks_names_release(&t->texts);
    ks_names_release(&t->row_keys);
    ks_names_release(&t->column_keys);
    ks_names_release(&t->processes);
    *t = (struct ks_counter_table){ 0 };
}
