/* SPDX-License-Identifier: MIT */
/* counter_lines.c - groups rows of counters by launch, kernel or operator */
#include "analysis/trace/counter_lines.h"

#include <stdlib.h>
#include <string.h>

const char *const ks_counter_by_names[] = { "launch", "kernel", "top", "bottom", NULL };

#define ORDER(a, b) (((a) > (b)) - ((a) < (b)))

static int by_place(const void *a, const void *b)
{
    const struct ks_counter_line *l = a, *r = b;
    int order = ORDER(l->row.rank, r->row.rank);

    if (order == 0)
        order = ORDER(l->row.file, r->row.file);
    if (order == 0)
        order = ORDER(l->row.dispatch, r->row.dispatch);
    return order ? order : ORDER(l->source, r->source);
}

/* What a group shares; KS_LINES_BY_LAUNCH has none. */
static uint32_t key_of(const struct ks_counter_row *row, enum ks_counter_by by)
{
    const uint32_t keys[] = { [KS_LINES_BY_LAUNCH] = 0,
                              [KS_LINES_BY_KERNEL] = row->kernel,
                              [KS_LINES_BY_TOP] = row->top_op,
                              [KS_LINES_BY_BOTTOM] = row->bottom_op };

    return keys[by];
}

struct sorter {
    enum ks_counter_by by;
};

static int by_key(const void *a, const void *b, void *arg)
{
    const struct sorter *s = arg;
    const struct ks_counter_line *l = a, *r = b;
    int order = ORDER(l->row.rank, r->row.rank);

    if (order == 0)
        order = ORDER(l->row.device, r->row.device);
    if (order == 0)
        order = ORDER(key_of(&l->row, s->by), key_of(&r->row, s->by));
    return order ? order : by_place(a, b);
}

static int by_cost(const void *a, const void *b)
{
    const struct ks_counter_line *l = a, *r = b;
    const double l_time = l->q.has[KS_Q_TIME_NS] ? l->q.value[KS_Q_TIME_NS] : 0;
    const double r_time = r->q.has[KS_Q_TIME_NS] ? r->q.value[KS_Q_TIME_NS] : 0;
    int order = ORDER(l->row.rank, r->row.rank);

    if (order == 0)
        order = ORDER(l->row.device, r->row.device);
    if (order == 0)
        order = ORDER(r_time, l_time);
    if (order == 0)
        order = ORDER(r->q.flop, l->q.flop);
    return order ? order : ORDER(l->source, r->source);
}

#define SHARED(into, from, field, none)                                                            \
    ((into)->field = (into)->field == (from)->field ? (into)->field : (none))

static void add_line(struct ks_counter_line *into, const struct ks_counter_line *from)
{
    SHARED(&into->row, &from->row, file, KS_TEXT_NONE);
    SHARED(&into->row, &from->row, kernel, KS_TEXT_NONE);
    SHARED(&into->row, &from->row, op_stack, KS_TEXT_NONE);
    SHARED(&into->row, &from->row, top_op, KS_TEXT_NONE);
    SHARED(&into->row, &from->row, bottom_op, KS_TEXT_NONE);
    SHARED(&into->row, &from->row, dims, KS_TEXT_NONE);
    SHARED(&into->row, &from->row, types, KS_TEXT_NONE);
    SHARED(&into->row, &from->row, stream, -1);
    into->row.dispatch = -1;
    into->row.launches += from->row.launches;
    for (int i = 0; i < KS_N_QUANTITIES; i++) {
        into->q.value[i] += from->q.value[i];
        into->q.has[i] = into->q.has[i] && from->q.has[i];
    }
    into->q.flop += from->q.flop;
    into->q.has_flop = into->q.has_flop && from->q.has_flop;
}

static void group(struct ks_counter_lines *l)
{
    struct sorter s = { .by = l->by };
    size_t n = 0;

    qsort_r(l->at, l->n, sizeof(l->at[0]), by_key, &s);
    for (size_t i = 0; i < l->n; i++) {
        struct ks_counter_line *last = n ? &l->at[n - 1] : NULL;

        if (last && last->row.rank == l->at[i].row.rank &&
            last->row.device == l->at[i].row.device &&
            key_of(&last->row, l->by) == key_of(&l->at[i].row, l->by))
            add_line(last, &l->at[i]);
        else
            l->at[n++] = l->at[i];
    }
    l->n = n;
    qsort(l->at, l->n, sizeof(l->at[0]), by_cost);
}

int ks_counter_lines_make(const struct ks_counter_table *t, enum ks_counter_by by,
                          struct ks_counter_lines *out, struct ks_err *err)
{
    struct ks_counter_lines l = { .n = t->n_rows, .by = by };
    struct ks_formulas *formulas = NULL;
    int rc;

    l.at = calloc(t->n_rows + 1, sizeof(*l.at));
    if (!l.at)
        return ks_fail(err, KS_ENOMEM, "out of memory for %u launches", t->n_rows);
    rc = ks_formulas_create(t, &formulas, err);
    for (uint32_t i = 0; rc == 0 && i < t->n_rows; i++) {
        l.at[i] = (struct ks_counter_line){ .row = t->rows[i], .source = i };
        ks_formulas_row(formulas, i, &l.at[i].q);
    }
    ks_formulas_destroy(formulas);
    if (rc < 0) {
        ks_counter_lines_release(&l);
        return rc;
    }
    if (by == KS_LINES_BY_LAUNCH)
        qsort(l.at, l.n, sizeof(l.at[0]), by_place);
    else
        group(&l);
    *out = l;
    return 0;
}

void ks_counter_lines_release(struct ks_counter_lines *l)
{
    free(l->at);
    *l = (struct ks_counter_lines){ 0 };
}
