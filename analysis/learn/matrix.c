/* SPDX-License-Identifier: MIT */
/* matrix.c - collects, sorts and renumbers cells; drops problems and instances without any */
#include "analysis/learn/matrix.h"
#include "base/array.h"
#include "base/hash.h"
#include "grid/problem_class.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { PROBLEMS, INSTANCES };

int ks_matrix_init(struct ks_matrix *matrix_out, size_t n_rows, size_t n_cols, struct ks_err *err)
{
    size_t n = n_rows * n_cols;
    float *x = n_cols && n / n_cols != n_rows ? NULL : malloc((n + 1) * sizeof(*x));

    if (!x)
        return ks_fail(err, KS_ENOMEM, "out of memory for %zu rows of %zu features", n_rows,
                       n_cols);
    for (size_t i = 0; i < n; i++)
        x[i] = NAN;
    *matrix_out = (struct ks_matrix){ n_rows, n_cols, x };
    return 0;
}

void ks_matrix_release(struct ks_matrix *m)
{
    free(m->x);
    *m = (struct ks_matrix){ 0 };
}

bool ks_time_source_is_same(const struct ks_time_source *a, const struct ks_time_source *b)
{
    return a->device_class == b->device_class && a->condition == b->condition &&
           a->is_over_rounds == b->is_over_rounds && a->has_device == b->has_device &&
           (a->device_class || a->file == b->file);
}

/* ---- tables of ids ---- */

static uint64_t id_of(const struct ks_cells *c, int which, uint32_t i)
{
    return which == PROBLEMS ? c->problems[i].problem.id : c->instances[i].id;
}

static uint32_t *slot_of(const struct ks_cells *c, int which, uint64_t id)
{
    size_t mask = c->n_slots[which] - 1;
    size_t at = (size_t)ks_mix64(id) & mask;

    while (c->slots[which][at] && id_of(c, which, c->slots[which][at] - 1) != id)
        at = (at + 1) & mask;
    return &c->slots[which][at];
}

static int rehash(struct ks_cells *c, int which, size_t n, struct ks_err *err)
{
    size_t want = c->n_slots[which] ? c->n_slots[which] : 128;
    uint32_t *slots;

    while (want < 2 * (n + 1))
        want *= 2;
    slots = calloc(want, sizeof(*slots));
    if (!slots)
        return ks_fail(err, KS_ENOMEM, "out of memory for %zu ids", n);
    free(c->slots[which]);
    c->slots[which] = slots;
    c->n_slots[which] = want;
    for (uint32_t i = 0; i < n; i++)
        *slot_of(c, which, id_of(c, which, i)) = i + 1;
    return 0;
}

static uint32_t find(const struct ks_cells *c, int which, uint64_t id)
{
    return c->n_slots[which] ? *slot_of(c, which, id) - 1 : UINT32_MAX;
}

uint32_t ks_cells_find_problem(const struct ks_cells *c, uint64_t id)
{
    return find(c, PROBLEMS, id);
}

uint32_t ks_cells_find_instance(const struct ks_cells *c, uint64_t id)
{
    return find(c, INSTANCES, id);
}

/* Room for one more, in the array and in the table. */
static int make_room(struct ks_cells *c, int which, struct ks_err *err)
{
    size_t n = which == PROBLEMS ? c->n_problems : c->n_instances;
    int rc = which == PROBLEMS
                 ? ks_reserve(&c->problems, n + 1, &c->cap_problems, sizeof(*c->problems),
                              "rows of the training table", err)
                 : ks_reserve(&c->instances, n + 1, &c->cap_instances, sizeof(*c->instances),
                              "rows of the training table", err);

    if (rc == 0 && c->n_slots[which] < 2 * (n + 2))
        rc = rehash(c, which, n, err);
    return rc;
}

/* ---- filling ---- */

int ks_cells_problem(struct ks_cells *c, const struct ks_problem *p, uint32_t *problem_out,
                     struct ks_err *err)
{
    uint32_t i = find(c, PROBLEMS, p->id);
    int rc;

    if (i == UINT32_MAX) {
        rc = make_room(c, PROBLEMS, err);
        if (rc < 0)
            return rc;
        i = (uint32_t)c->n_problems++;
        c->problems[i] = (struct ks_cell_problem){ .problem = *p,
                                                   .class_id = ks_problem_class(p),
                                                   .best = KS_NO_CELL };
        *slot_of(c, PROBLEMS, p->id) = i + 1;
    }
    *problem_out = i;
    return 0;
}

int ks_cells_instance(struct ks_cells *c, uint64_t id, const char *name, uint32_t *instance_out,
                      struct ks_err *err)
{
    uint32_t i = find(c, INSTANCES, id);
    char *copy;
    int rc;

    if (i == UINT32_MAX) {
        rc = make_room(c, INSTANCES, err);
        if (rc < 0)
            return rc;
        copy = strdup(name);
        if (!copy)
            return ks_fail(err, KS_ENOMEM, "out of memory for the instance '%s'", name);
        i = (uint32_t)c->n_instances++;
        c->instances[i] = (struct ks_cell_instance){ .id = id, .name = copy };
        *slot_of(c, INSTANCES, id) = i + 1;
    }
    *instance_out = i;
    return 0;
}

int ks_cells_add(struct ks_cells *c, const struct ks_timed_cell *cell, struct ks_err *err)
{
    int rc;

    if (!isfinite(cell->time_ns) || cell->time_ns <= 0 || !isfinite(cell->weight) ||
        cell->weight <= 0)
        return ks_fail(err, KS_EINVAL, "a cell with a time of %g ns and a weight of %g",
                       cell->time_ns, cell->weight);
    rc = ks_reserve(&c->cells, c->n + 1, &c->cap, sizeof(*c->cells), "rows of the training table",
                    err);
    if (rc == 0)
        c->cells[c->n++] = *cell;
    return rc;
}

int ks_cells_refuse(struct ks_cells *c, uint32_t problem, uint32_t instance, struct ks_err *err)
{
    int rc = ks_reserve(&c->refused, c->n_refused + 1, &c->cap_refused, sizeof(*c->refused),
                        "rows of the training table", err);

    if (rc == 0)
        c->refused[c->n_refused++] = (struct ks_cell_pair){ problem, instance };
    return rc;
}

static int append_pairs(struct ks_cells *c, const struct ks_cells *from, const uint32_t *problem,
                        const uint32_t *instance, struct ks_err *err)
{
    int rc = 0;

    for (size_t i = 0; rc == 0 && i < from->n; i++) {
        struct ks_timed_cell cell = from->cells[i];

        cell.problem = problem[cell.problem];
        cell.instance = instance[cell.instance];
        rc = ks_cells_add(c, &cell, err);
    }
    for (size_t i = 0; i < from->n_problems; i++)
        if (from->problems[i].is_truncated)
            ks_cells_truncate(c, problem[i]);
    for (size_t i = 0; rc == 0 && i < from->n_lost; i++)
        rc =
            ks_cells_lose(c, problem[from->lost[i].problem], instance[from->lost[i].instance], err);
    for (size_t i = 0; rc == 0 && i < from->n_refused; i++)
        rc = ks_cells_refuse(c, problem[from->refused[i].problem],
                             instance[from->refused[i].instance], err);
    return rc;
}

int ks_cells_append(struct ks_cells *c, const struct ks_cells *from, struct ks_err *err)
{
    uint32_t *to = malloc((from->n_problems + from->n_instances + 1) * sizeof(*to));
    uint32_t *instance = to ? to + from->n_problems : NULL;
    int rc = to ? 0 : ks_fail(err, KS_ENOMEM, "out of memory for %zu problems", from->n_problems);

    for (size_t i = 0; rc == 0 && i < from->n_problems; i++)
        rc = ks_cells_problem(c, &from->problems[i].problem, &to[i], err);
    for (size_t i = 0; rc == 0 && i < from->n_instances; i++)
        rc =
            ks_cells_instance(c, from->instances[i].id, from->instances[i].name, &instance[i], err);
    if (rc == 0)
        rc = append_pairs(c, from, to, instance, err);
    free(to);
    return rc;
}

int ks_cells_lose(struct ks_cells *c, uint32_t problem, uint32_t instance, struct ks_err *err)
{
    int rc = ks_reserve(&c->lost, c->n_lost + 1, &c->cap_lost, sizeof(*c->lost),
                        "rows of the training table", err);

    if (rc == 0)
        c->lost[c->n_lost++] = (struct ks_cell_pair){ problem, instance };
    return rc;
}

void ks_cells_truncate(struct ks_cells *c, uint32_t problem)
{
    c->problems[problem].is_truncated = true;
}

/* ---- finishing ---- */

static int by_pair(uint32_t problem_a, uint32_t instance_a, uint32_t problem_b, uint32_t instance_b)
{
    if (problem_a != problem_b)
        return problem_a < problem_b ? -1 : 1;
    return (instance_a > instance_b) - (instance_a < instance_b);
}

struct numbered {
    struct ks_timed_cell cell;
    size_t i;
};

static int compare_cells(const void *a, const void *b)
{
    const struct numbered *x = a, *y = b;
    int order = by_pair(x->cell.problem, x->cell.instance, y->cell.problem, y->cell.instance);

    return order ? order : (x->i > y->i) - (x->i < y->i);
}

static int compare_pairs(const void *a, const void *b)
{
    const struct ks_cell_pair *x = a, *y = b;

    return by_pair(x->problem, x->instance, y->problem, y->instance);
}

/* Sorts; of equal pairs the last stays. */
static int sort_cells(struct ks_cells *c, struct ks_err *err)
{
    struct numbered *sorted = malloc(c->n * sizeof(*sorted));
    size_t n = 0;

    if (!sorted)
        return ks_fail(err, KS_ENOMEM, "out of memory for %zu cells", c->n);
    for (size_t i = 0; i < c->n; i++)
        sorted[i] = (struct numbered){ c->cells[i], i };
    qsort(sorted, c->n, sizeof(*sorted), compare_cells);
    for (size_t i = 0; i < c->n; i++) {
        const struct ks_timed_cell *next = i + 1 < c->n ? &sorted[i + 1].cell : NULL;

        if (next && next->problem == sorted[i].cell.problem &&
            next->instance == sorted[i].cell.instance)
            c->n_replaced++;
        else
            c->cells[n++] = sorted[i].cell;
    }
    c->n = n;
    free(sorted);
    return 0;
}

/* Keeps the pairs of which both are there; sorts; returns how many there are. */
static size_t renumber_pairs(struct ks_cell_pair *pairs, size_t n, const uint32_t *problem_to,
                             const uint32_t *instance_to)
{
    size_t n_kept = 0;

    for (size_t i = 0; i < n; i++) {
        struct ks_cell_pair pair = { problem_to[pairs[i].problem], instance_to[pairs[i].instance] };

        if (pair.problem != UINT32_MAX && pair.instance != UINT32_MAX)
            pairs[n_kept++] = pair;
    }
    if (n_kept)
        qsort(pairs, n_kept, sizeof(*pairs), compare_pairs);
    return n_kept;
}

/* New numbers of problems and instances that have cells; UINT32_MAX: dropped. */
static void renumber(struct ks_cells *c, uint32_t *problem_to, uint32_t *instance_to)
{
    size_t n_problems = 0, n_instances = 0;

    for (size_t i = 0; i < c->n_problems; i++)
        c->problems[i].n = 0;
    for (size_t i = 0; i < c->n_instances; i++)
        c->instances[i].n_cells = 0;
    for (size_t i = 0; i < c->n; i++) {
        c->problems[c->cells[i].problem].n++;
        c->instances[c->cells[i].instance].n_cells++;
    }
    for (size_t i = 0; i < c->n_problems; i++) {
        problem_to[i] = c->problems[i].n ? (uint32_t)n_problems : UINT32_MAX;
        if (c->problems[i].n)
            c->problems[n_problems++] = c->problems[i];
    }
    for (size_t i = 0; i < c->n_instances; i++) {
        struct ks_cell_instance one = c->instances[i];

        instance_to[i] = one.n_cells ? (uint32_t)n_instances : UINT32_MAX;
        if (one.n_cells)
            c->instances[n_instances++] = one;
        else
            free(one.name);
    }
    c->n_problems = n_problems;
    c->n_instances = n_instances;
    for (size_t i = 0; i < c->n; i++) {
        c->cells[i].problem = problem_to[c->cells[i].problem];
        c->cells[i].instance = instance_to[c->cells[i].instance];
    }
    c->n_refused = renumber_pairs(c->refused, c->n_refused, problem_to, instance_to);
    c->n_lost = renumber_pairs(c->lost, c->n_lost, problem_to, instance_to);
}

static void find_best(struct ks_cells *c)
{
    size_t at = 0;

    for (size_t i = 0; i < c->n_problems; i++) {
        struct ks_cell_problem *p = &c->problems[i];

        p->first = p->best = at;
        for (size_t j = at + 1; j < at + p->n; j++)
            if (c->cells[j].time_ns < c->cells[p->best].time_ns)
                p->best = j;
        at += p->n;
    }
}

int ks_cells_finish(struct ks_cells *c, struct ks_err *err)
{
    uint32_t *to;
    int rc;

    if (c->n == 0)
        return ks_fail(err, KS_EINVAL, "no usable cell: no cell is ok and has a time");
    to = malloc((c->n_problems + c->n_instances) * sizeof(*to));
    if (!to)
        return ks_fail(err, KS_ENOMEM, "out of memory for %zu problems", c->n_problems);
    rc = sort_cells(c, err);
    if (rc == 0) {
        renumber(c, to, to + c->n_problems);
        find_best(c);
        rc = rehash(c, PROBLEMS, c->n_problems, err);
    }
    if (rc == 0)
        rc = rehash(c, INSTANCES, c->n_instances, err);
    free(to);
    return rc;
}

void ks_cells_release(struct ks_cells *c)
{
    for (size_t i = 0; i < c->n_instances; i++)
        free(c->instances[i].name);
    free(c->cells);
    free(c->problems);
    free(c->instances);
    free(c->refused);
    free(c->lost);
    free(c->slots[PROBLEMS]);
    free(c->slots[INSTANCES]);
    *c = (struct ks_cells){ 0 };
}

/* ---- reading ---- */

size_t ks_cells_at(const struct ks_cells *c, uint32_t problem, uint32_t instance)
{
    size_t lo = c->problems[problem].first, end = lo + c->problems[problem].n, hi = end;

    while (lo < hi) {
        size_t mid = lo + (hi - lo) / 2;

        if (c->cells[mid].instance < instance)
            lo = mid + 1;
        else
            hi = mid;
    }
    return lo < end && c->cells[lo].instance == instance ? lo : KS_NO_CELL;
}

static bool has_pair(const struct ks_cell_pair *pairs, size_t n, uint32_t problem,
                     uint32_t instance)
{
    struct ks_cell_pair pair = { problem, instance };

    return n && bsearch(&pair, pairs, n, sizeof(pair), compare_pairs) != NULL;
}

bool ks_cells_is_refused(const struct ks_cells *c, uint32_t problem, uint32_t instance)
{
    return has_pair(c->refused, c->n_refused, problem, instance);
}

bool ks_cells_is_lost(const struct ks_cells *c, uint32_t problem, uint32_t instance)
{
    return ks_cells_at(c, problem, instance) == KS_NO_CELL &&
           (c->problems[problem].is_truncated ? !ks_cells_is_refused(c, problem, instance)
                                              : has_pair(c->lost, c->n_lost, problem, instance));
}

bool ks_cells_tied(const struct ks_timed_cell *a, const struct ks_timed_cell *b)
{
    double limit = a->se_ns < 0 || b->se_ns < 0 ? 0 : 1.96 * hypot(a->se_ns, b->se_ns);

    return fabs(a->time_ns - b->time_ns) <= limit;
}

double ks_label_weight(double time_ns, double se_ns)
{
    double error = se_ns / time_ns / 0.01;

    return se_ns > 0 ? 1 / (1 + error * error) : 1;
}
