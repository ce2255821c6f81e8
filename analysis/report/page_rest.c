/* SPDX-License-Identifier: MIT */
/* page_rest.c - the heat map, failures, blocks and coverage of a page */
#include "analysis/report/page_impl.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ---- heat map: one character per cell, or per bin of cells ---- */

/* Speed relative to the best, in 64 steps of a logarithm: '/' is the best, 'A' a 32nd of it or
 * less. Without a time: '!' failed, '-' unsupported or skipped, '.' no row. */
static const char levels[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
#define N_LEVELS  64
#define N_DOUBLES 5.0 /* powers of two from the first level to the last */

struct bin {
    float sum;  /* of logs */
    uint32_t n; /* cells with a time */
    bool has_failed, has_other;
};

static char level_of(const struct bin *b)
{
    double level;

    if (b->n == 0)
        return b->has_failed ? '!' : b->has_other ? '-' : '.';
    level = (N_LEVELS - 1) * (1 + (double)b->sum / b->n / log(2) / N_DOUBLES);
    return levels[level <= 0 ? 0 : level >= N_LEVELS - 1 ? N_LEVELS - 1 : (size_t)(level + 0.5)];
}

static void add_cell(struct bin *b, const struct ks_page_cell *c, double best_ns)
{
    if (c->ns > 0 && best_ns > 0) {
        b->sum += (float)log(best_ns / (double)c->ns);
        b->n++;
    } else {
        b->has_failed = b->has_failed || ks_outcome_needs_look(c->outcome);
        b->has_other = true;
    }
}

static void fill_row(const struct ks_page *p, const struct ks_page_order *o, size_t problem,
                     size_t per_column, size_t n_columns, struct bin *row)
{
    const struct ks_page_problem *q = &p->problems[problem];

    for (size_t i = 0; i < q->n_cells; i++) {
        const struct ks_page_cell *c = &p->cells[q->first_cell + i];
        int64_t place = ks_page_place(o, c->instance);

        if (place >= 0 && (size_t)place / per_column < n_columns)
            add_cell(&row[(size_t)place / per_column], c, q->best_ns);
    }
}

/* Instances come in the order of what they won, so those that ran nowhere are at the end: half of a
 * config that serves several makers' devices. */
static size_t n_that_ran(const struct ks_page *p, const struct ks_page_order *o)
{
    size_t n = 0;

    for (size_t k = 0; k < p->n_problems; k++) {
        const struct ks_page_cell *cells = &p->cells[p->problems[k].first_cell];

        for (size_t i = 0; i < p->problems[k].n_cells; i++) {
            int64_t place = ks_page_place(o, cells[i].instance);

            if (place >= (int64_t)n && (cells[i].ns > 0 || ks_outcome_needs_look(cells[i].outcome)))
                n = (size_t)place + 1;
        }
    }
    return n;
}

int ks_page_put_heat(const struct ks_page *p, const struct ks_page_order *o, struct ks_buf *to,
                     struct ks_err *err)
{
    size_t n_ran = n_that_ran(p, o), per_column = n_ran / 2048 + 1;
    size_t n_columns = (n_ran + per_column - 1) / per_column;
    size_t per_row = p->n_problems * n_columns / KS_PAGE_HEAT_CHARS + 1;
    size_t n_rows = (p->n_problems + per_row - 1) / per_row;
    struct bin *row = calloc(n_columns + 1, sizeof(*row));

    if (!row)
        return ks_fail(err, KS_ENOMEM, "out of memory for the heat map");
    ks_page_key(to, "heat");
    ks_buf_printf(to,
                  "{\"rows\":%zu,\"columns\":%zu,\"per_row\":%zu,\"per_column\":%zu,"
                  "\"left_out\":%zu,\"data\":\"",
                  n_rows, n_columns, per_row, per_column, o->n_instances - n_ran);
    for (size_t i = 0; i < n_rows; i++) {
        memset(row, 0, n_columns * sizeof(*row));
        for (size_t k = i * per_row; k < (i + 1) * per_row && k < p->n_problems; k++)
            fill_row(p, o, k, per_column, n_columns, row);
        for (size_t c = 0; c < n_columns; c++)
            ks_buf_u8(to, (uint8_t)level_of(&row[c]));
    }
    ks_buf_printf(to, "\"}");
    free(row);
    return 0;
}

/* ---- failures ---- */

static size_t problem_of_cell(const struct ks_page *p, size_t cell)
{
    size_t lo = 0, hi = p->n_problems;

    while (hi - lo > 1) {
        size_t mid = lo + (hi - lo) / 2;

        if (p->problems[mid].first_cell <= cell)
            lo = mid;
        else
            hi = mid;
    }
    return lo;
}

static void put_place(struct ks_jw *w, const struct ks_page *p, size_t problem, size_t cell)
{
    const struct ks_problem_ref *ref = p->summary.problems[problem].problem;
    uint32_t instance = p->cells[cell].instance;

    ks_jw_str(w, NULL, ref ? ref->name : "");
    ks_jw_id(w, NULL, ref ? ref->id : 0);
    ks_jw_str(w, NULL, instance != KS_NO_ROW ? p->instances[instance].name : "");
    ks_jw_id(w, NULL, instance != KS_NO_ROW ? p->instances[instance].id : 0);
}

static int by_count(const void *x, const void *y)
{
    const struct ks_page_group *const *a = x, *const *b = y;
    bool look_a = ks_outcome_needs_look((*a)->outcome),
         look_b = ks_outcome_needs_look((*b)->outcome);

    if (look_a != look_b)
        return look_a ? -1 : 1;
    return ((*a)->n < (*b)->n) - ((*a)->n > (*b)->n);
}

/* [outcome, reason, n, needs a look, problem, its id, instance, its id], at most KS_PAGE_GROUPS.
 * "n_groups": [that need a look, others]. */
static int put_groups(const struct ks_page *p, struct ks_buf *to, struct ks_err *err)
{
    const struct ks_page_group **sorted = calloc(p->n_groups + 1, sizeof(void *));
    struct ks_page_room room = { to->len, KS_PAGE_GROUP_BYTES };
    size_t n_look = 0;
    struct ks_jw w;

    if (!sorted)
        return ks_fail(err, KS_ENOMEM, "out of memory for outcomes");
    for (size_t i = 0; i < p->n_groups; i++) {
        sorted[i] = &p->groups[i];
        n_look += ks_outcome_needs_look(p->groups[i].outcome);
    }
    qsort(sorted, p->n_groups, sizeof(void *), by_count);
    ks_page_key(to, "groups");
    ks_jw_init(&w, to, false);
    ks_jw_open(&w, NULL, '[');
    for (size_t i = 0; i < p->n_groups && i < KS_PAGE_GROUPS && ks_page_has_room(&room, to); i++) {
        const struct ks_page_group *g = sorted[i];

        ks_jw_open(&w, NULL, '[');
        ks_jw_str(&w, NULL, ks_outcome_text(g->outcome));
        ks_jw_str(&w, NULL, p->reasons.text[g->reason]);
        ks_jw_u64(&w, NULL, g->n);
        ks_jw_bool(&w, NULL, ks_outcome_needs_look(g->outcome));
        put_place(&w, p, problem_of_cell(p, g->first), g->first);
        ks_jw_close(&w, ']');
    }
    ks_jw_close(&w, ']');
    ks_page_key(to, "n_groups");
    ks_buf_printf(to, "[%zu,%zu]", n_look, p->n_groups - n_look);
    free(sorted);
    return 0;
}

/* [outcome, reason, problem, its id, instance, its id]; the reason at most 160 characters. */
static void put_failures(const struct ks_page *p, struct ks_buf *to)
{
    struct ks_page_room room = { to->len, KS_PAGE_FAILURE_BYTES };
    struct ks_jw w;

    ks_page_key(to, "failures");
    ks_jw_init(&w, to, false);
    ks_jw_open(&w, NULL, '[');
    for (size_t i = 0; i < p->n_failures && ks_page_has_room(&room, to); i++) {
        const struct ks_page_failure *f = &p->failures[i];

        ks_jw_open(&w, NULL, '[');
        ks_jw_str(&w, NULL, ks_outcome_text(p->groups[f->group].outcome));
        ks_jw_str(&w, NULL, p->reasons.text[p->groups[f->group].reason]);
        put_place(&w, p, f->problem, f->cell);
        ks_jw_close(&w, ']');
    }
    ks_jw_close(&w, ']');
}

/* ---- blocks: [seconds since the first, close / open - 1 in 1e-5, rank] ---- */

static void put_blocks(const struct ks_page *p, struct ks_buf *to)
{
    const struct ks_store_file *f = ks_view_file(p->view);
    uint32_t n = ks_store_info(f)->n_blocks, step = n / KS_PAGE_BLOCKS + 1;
    uint64_t first = UINT64_MAX;
    struct ks_jw w;

    for (uint32_t i = 0; i < n; i++)
        if (ks_store_block(f, i)->rec.opened_ns < first)
            first = ks_store_block(f, i)->rec.opened_ns;
    ks_page_key(to, "blocks");
    ks_jw_init(&w, to, false);
    ks_jw_open(&w, NULL, '[');
    for (uint32_t i = 0; i < n; i += step) {
        const struct ks_block *b = &ks_store_block(f, i)->rec;

        if (b->open_ns <= 0 || b->close_ns <= 0)
            continue;
        ks_jw_open(&w, NULL, '[');
        ks_page_real(&w, NULL, (double)(b->opened_ns - first) / 1e9);
        ks_jw_int(&w, NULL, (int64_t)llround((b->close_ns / b->open_ns - 1) * 1e5));
        ks_jw_u64(&w, NULL, b->rank);
        ks_jw_close(&w, ']');
    }
    ks_jw_close(&w, ']');
    ks_page_key(to, "block_step");
    ks_buf_printf(to, "%u", step);
}

/* ---- coverage: [class, problems, with a best, cells, timed, unsupported or skipped, failed,
 * contaminated] ---- */

struct covered {
    uint64_t n[7];
};

static void cover(const struct ks_page *p, size_t i, struct covered *c)
{
    const struct ks_page_problem *q = &p->problems[i];

    c->n[0]++;
    c->n[1] += q->best_ns > 0;
    c->n[2] += q->n_cells;
    for (size_t k = 0; k < q->n_cells; k++) {
        const struct ks_page_cell *cell = &p->cells[q->first_cell + k];
        bool needs_look = ks_outcome_needs_look(cell->outcome);

        c->n[3] += cell->ns > 0;
        c->n[4] += cell->ns <= 0 && !needs_look;
        c->n[5] += needs_look;
        c->n[6] += cell->is_contaminated;
    }
}

static int put_coverage(const struct ks_page *p, struct ks_buf *to, struct ks_err *err)
{
    struct covered *all = calloc(p->n_problems + 1, sizeof(*all));
    struct ks_words classes = { 0 };
    struct ks_page_room room;
    struct ks_jw w;
    int rc = all ? 0 : ks_fail(err, KS_ENOMEM, "out of memory for coverage");

    for (size_t i = 0; rc == 0 && i < p->n_problems; i++) {
        char class[128];
        uint32_t k = 0;

        ks_page_class(ks_page_problem_row(p, i), class, sizeof(class));
        rc = ks_words_add(&classes, class, strlen(class), &k, err);
        if (rc == 0)
            cover(p, i, &all[k]);
    }
    ks_page_key(to, "coverage");
    room = (struct ks_page_room){ to->len, KS_PAGE_CLASS_BYTES };
    ks_jw_init(&w, to, false);
    ks_jw_open(&w, NULL, '[');
    for (uint32_t i = 0; rc == 0 && i < classes.n && ks_page_has_room(&room, to); i++) {
        ks_jw_open(&w, NULL, '[');
        ks_jw_str(&w, NULL, classes.text[i]);
        for (size_t k = 0; k < 7; k++)
            ks_jw_u64(&w, NULL, all[i].n[k]);
        ks_jw_close(&w, ']');
    }
    ks_jw_close(&w, ']');
    ks_page_key(to, "n_classes");
    ks_buf_printf(to, "%u", classes.n);
    ks_words_release(&classes);
    free(all);
    return rc;
}

int ks_page_put_rest(const struct ks_page *p, const struct ks_page_order *o, struct ks_buf *to,
                     struct ks_err *err)
{
    int rc = put_groups(p, to, err);

    (void)o;
    put_failures(p, to);
    put_blocks(p, to);
    ks_page_key(to, "spread");
    for (size_t i = 0; i < KS_PAGE_SPREAD; i++)
        ks_buf_printf(to, "%c%llu", i ? ',' : '[', (unsigned long long)p->spread[i]);
    ks_buf_printf(to, "]");
    return rc == 0 ? put_coverage(p, to, err) : rc;
}
