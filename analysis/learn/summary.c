/* SPDX-License-Identifier: MIT */
/* summary.c - finds the best of each problem batch by batch, then counts codes and winners */
#include "analysis/learn/summary.h"
#include "analysis/data/words.h"
#include "analysis/learn/aliases.h"
#include "record/stats.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* What is collected per instance over all problems. */
struct instance {
    uint64_t id;
    const struct ks_instance_ref *kernel;
    double log_share; /* sum of log(best / time) */
    uint32_t n_problems, n_wins;
};
struct ks_summarizer {
    struct ks_summary s;
    const struct ks_tables *tables;
    struct instance *instances; /* [n_instances] sorted by id */
    size_t n_instances;
    uint64_t *cells_of_device; /* [n_devices] */
    bool *has_code;            /* [2 n_instances of the tables + 1] by code_group; behind these the
                                  instances whose code is not known */
    struct ks_join join;       /* of the present problem */
    size_t n_with_ok;          /* problems with an ok instance */
    size_t cap_problems;
    struct ks_obs *rows;    /* [cap] of the batch */
    struct ks_timed *times; /* [cap] of the present problem */
    uint32_t *at;           /* [cap] of a row its number among the times */
    size_t cap;
};

static int by_id(const void *x, const void *y)
{
    const struct instance *a = x, *b = y;

    return (a->id > b->id) - (a->id < b->id);
}

static struct instance *instance_of(const struct ks_summarizer *c, uint64_t id)
{
    const struct instance key = { .id = id };

    return bsearch(&key, c->instances, c->n_instances, sizeof(key), by_id);
}

static int list_instances(struct ks_summarizer *c, struct ks_err *err)
{
    uint32_t n = c->tables->n_instances;
    size_t kept = 0;

    c->instances = calloc(n + 1u, sizeof(*c->instances));
    c->cells_of_device = calloc(c->tables->n_devices + 1u, sizeof(uint64_t));
    c->has_code = calloc(2 * (size_t)n + 1, sizeof(*c->has_code));
    if (!c->instances || !c->cells_of_device || !c->has_code)
        return ks_fail(err, KS_ENOMEM, "out of memory");
    for (uint32_t i = 0; i < n; i++)
        c->instances[i] = (struct instance){ .id = c->tables->instances[i].id,
                                             .kernel = &c->tables->instances[i] };
    qsort(c->instances, n, sizeof(*c->instances), by_id);
    for (uint32_t i = 0; i < n; i++)
        if (kept == 0 || c->instances[kept - 1].id != c->instances[i].id)
            c->instances[kept++] = c->instances[i];
    c->n_instances = kept;
    return 0;
}

/* ---- one problem ---- */

static void fill_best(struct ks_best *b, const struct ks_timed *best,
                      const struct ks_instance_ref *k)
{
    double flops = b->problem ? b->problem->flops : KS_NOT_KNOWN;

    b->kernel = k;
    b->is_contaminated = (best->row->flags & KS_FL_CONTAMINATED) != 0;
    b->median_ns = best->row->median_ns;
    b->se_ns = best->row->se_ns;
    b->lo95_ns = best->row->lo95_ns;
    b->hi95_ns = best->row->hi95_ns;
    if (flops <= 0)
        return;
    b->gflops = flops / b->median_ns;
    if (b->se_ns < 0 || b->lo95_ns <= 0)
        return; /* imported: the source gives one time, not its error */
    b->gflops_se = b->gflops * b->se_ns / b->median_ns;
    b->gflops_lo95 = flops / b->hi95_ns;
    b->gflops_hi95 = flops / b->lo95_ns;
}

static void credit(struct ks_summarizer *c, const struct ks_timed *t, size_t n,
                   const struct ks_timed *best, uint32_t n_tied)
{
    for (size_t i = 0; i < n; i++) {
        struct instance *e = instance_of(c, t[i].row->instance_id);

        if (!e)
            continue;
        e->log_share += log(best->stats.median / t[i].stats.median);
        e->n_problems++;
        e->n_wins += &t[i] == best && n_tied == 0;
    }
}

/* The row that competes in place of this one, because it is the same code; NULL: itself. */
static const struct ks_obs *stands_for(const struct ks_summarizer *c, const struct ks_obs *row)
{
    const struct ks_obs *first = ks_join_first(&c->join, row);

    return first && ks_is_usable(first) ? first : NULL;
}

/* Aliases are as fast as what stands for them. at: [n] of a row the number in t. */
static void credit_aliases(struct ks_summarizer *c, const struct ks_obs *rows, size_t n,
                           const struct ks_timed *t, const uint32_t *at, double best_ns)
{
    for (size_t i = 0; i < n; i++) {
        const struct ks_obs *first = stands_for(c, &rows[i]);
        struct instance *e = first ? instance_of(c, rows[i].instance_id) : NULL;
        uint32_t k = first ? at[first - rows] : KS_OBS_NONE;

        if (!e || k == KS_OBS_NONE)
            continue;
        e->log_share += log(best_ns / t[k].stats.median);
        e->n_problems++;
    }
}

static bool is_control(const struct ks_timed *t)
{
    return (t->row->flags & KS_FL_PRUNED) != 0;
}

/* The controls of pruning against the best of those that it keeps. */
static void weigh_controls(struct ks_summarizer *c, const struct ks_best *b,
                           const struct ks_timed *t, size_t n)
{
    struct ks_pruned_found *p = &c->s.pruned;
    const struct ks_timed *kept = NULL;

    for (size_t i = 0; i < n; i++)
        if (!is_control(&t[i]) && (!kept || t[i].stats.median < kept->stats.median))
            kept = &t[i];
    for (size_t i = 0; kept && i < n; i++) {
        double ratio = kept->stats.median / t[i].stats.median;

        if (!is_control(&t[i]))
            continue;
        p->n_better += ratio > 1 && !ks_is_tied(&t[i], kept);
        if (p->n_compared++ && ratio <= p->ratio)
            continue;
        p->ratio = ratio;
        p->problem = b->problem;
        p->control = ks_tables_instance(c->tables, t[i].row->kernel);
    }
}

/* Returns the time of the best, 0 when there is none. */
static double find_best(struct ks_summarizer *c, struct ks_best *b, const struct ks_timed *t,
                        size_t n)
{
    const struct ks_timed *best, *worst = t;

    b->n_codes = (uint32_t)n;
    if (n == 0)
        return 0;
    best = &t[ks_winner(t, n)];
    for (size_t i = 1; i < n; i++)
        worst = t[i].stats.median > worst->stats.median ? &t[i] : worst;
    for (size_t i = 0; i < n; i++)
        b->n_tied += &t[i] != best && ks_is_tied(&t[i], best);
    b->worst_over_best = worst->stats.median / best->stats.median;
    fill_best(b, best, ks_tables_instance(c->tables, best->row->kernel));
    credit(c, t, n, best, b->n_tied);
    weigh_controls(c, b, t, n);
    c->n_with_ok++;
    return best->stats.median;
}

/* What ksweep did not build, such as an imported row, has no known code: each instance is one. */
static void count_code(struct ks_summarizer *c, uint32_t row)
{
    const struct ks_instance_ref *kernel = ks_tables_instance(c->tables, row);
    const uint32_t n = c->tables->n_instances;
    bool *has;

    if (!kernel)
        return;
    has = &c->has_code[kernel->code_group < n ? kernel->code_group : n + (size_t)row];
    c->s.n_codes += !*has;
    c->s.n_codes_unknown += !*has && kernel->code_group >= n;
    *has = true;
}

static void count_row(struct ks_summarizer *c, const struct ks_obs *row)
{
    c->s.outcome[row->outcome < KS_O_LIMIT ? row->outcome : 0]++;
    c->s.n_contaminated += (row->flags & KS_FL_CONTAMINATED) != 0;
    c->s.pruned.n_controls += (row->flags & KS_FL_PRUNED) != 0;
    c->s.pruned.n_left_out += ks_outcome_is_pruned(row->outcome, row->reason);
    if (row->device < c->tables->n_devices)
        c->cells_of_device[row->device]++;
    if (ks_is_usable(row))
        count_code(c, row->kernel);
}

static void init_best(struct ks_best *b, size_t n_rows)
{
    *b = (struct ks_best){ .n_rows = (uint32_t)n_rows,
                           .median_ns = KS_NOT_KNOWN,
                           .se_ns = KS_NOT_KNOWN,
                           .gflops = KS_NOT_KNOWN,
                           .gflops_se = KS_NOT_KNOWN,
                           .gflops_lo95 = KS_NOT_KNOWN,
                           .gflops_hi95 = KS_NOT_KNOWN,
                           .worst_over_best = KS_NOT_KNOWN };
}

/* The rows that compete, with their times. */
static size_t list_times(struct ks_summarizer *c, struct ks_best *b, const struct ks_obs *rows,
                         size_t n)
{
    double reference_ns = 0;
    bool is_scaled = ks_needs_scaling(rows, n);
    uint32_t k = 0;

    for (size_t i = 0; i < n; i++) {
        c->at[i] = KS_OBS_NONE;
        count_row(c, &rows[i]);
        b->n_ok += ks_is_usable(&rows[i]);
        b->n_contaminated += (rows[i].flags & KS_FL_CONTAMINATED) != 0;
        if (!ks_is_usable(&rows[i]) || stands_for(c, &rows[i]))
            continue;
        if (is_scaled && reference_ns <= 0)
            reference_ns = rows[i].anchor_ns;
        c->times[k] = ks_scaled_time(&rows[i], reference_ns);
        c->at[i] = k++;
    }
    return k;
}

static int grow_problems(struct ks_summarizer *c, struct ks_err *err)
{
    size_t cap = c->cap_problems ? 2 * c->cap_problems : 256;
    struct ks_best *grown;

    if (c->s.n_problems < c->cap_problems)
        return 0;
    grown = realloc(c->s.problems, cap * sizeof(*grown));
    if (!grown)
        return ks_fail(err, KS_ENOMEM, "out of memory for %zu problems", cap);
    c->s.problems = grown;
    c->cap_problems = cap;
    return 0;
}

static int add_problem(struct ks_summarizer *c, const struct ks_obs *rows, size_t n,
                       struct ks_err *err)
{
    struct ks_best *b;
    size_t n_timed;
    int rc = grow_problems(c, err);

    if (rc == 0)
        rc = ks_join_problem(&c->join, rows, n, err);
    if (rc < 0)
        return rc;
    b = &c->s.problems[c->s.n_problems++];
    init_best(b, n);
    b->problem = ks_tables_problem(c->tables, rows[0].problem);
    n_timed = list_times(c, b, rows, n);
    credit_aliases(c, rows, n, c->times, c->at, find_best(c, b, c->times, n_timed));
    ks_aliases_count(c->tables, &c->join, rows, n, &c->s.aliases);
    return 0;
}

/* ---- batches ---- */

static int reserve(struct ks_summarizer *c, size_t n, struct ks_err *err)
{
    if (n <= c->cap)
        return 0;
    free(c->rows);
    free(c->times);
    free(c->at);
    c->cap = 0;
    c->rows = malloc(n * sizeof(*c->rows));
    c->times = malloc(n * sizeof(*c->times));
    c->at = malloc(n * sizeof(*c->at));
    if (!c->rows || !c->times || !c->at)
        return ks_fail(err, KS_ENOMEM, "out of memory for %zu rows", n);
    c->cap = n;
    return 0;
}

int ks_summarizer_add(struct ks_summarizer *c, const struct ks_df *f, struct ks_err *err)
{
    struct ks_obs_reader reader;
    int rc = reserve(c, f->n_rows, err);

    if (rc == 0)
        rc = ks_obs_bind(f, &reader, err);
    for (size_t i = 0; rc == 0 && i < f->n_rows; i++) {
        ks_obs_read(&reader, i, &c->rows[i]);
        if (c->rows[i].kernel >= c->tables->n_instances)
            c->rows[i].kernel = KS_OBS_NONE;
    }
    for (size_t first = 0, end; rc == 0 && first < f->n_rows; first = end) {
        for (end = first + 1; end < f->n_rows && c->rows[end].problem == c->rows[first].problem;)
            end++;
        rc = add_problem(c, c->rows + first, end - first, err);
    }
    return rc;
}

/* ---- over all problems ---- */

static int median_ratio(struct ks_summary *s, struct ks_err *err)
{
    double *ratio = calloc(s->n_problems + 1, sizeof(*ratio));
    size_t n = 0;

    if (!ratio)
        return ks_fail(err, KS_ENOMEM, "out of memory");
    for (size_t i = 0; i < s->n_problems; i++)
        if (s->problems[i].n_codes >= 2)
            ratio[n++] = s->problems[i].worst_over_best;
    ks_stats_sort(ratio, n);
    s->median_worst_over_best = KS_NOT_KNOWN;
    if (n > 0)
        s->median_worst_over_best = (ratio[(n - 1) / 2] + ratio[n / 2]) / 2;
    free(ratio);
    return 0;
}

static void find_fixed(struct ks_summarizer *c)
{
    for (size_t i = 0; i < c->n_instances; i++) {
        const struct instance *e = &c->instances[i];
        double share;

        c->s.n_winners += e->n_wins > 0;
        if (c->n_with_ok == 0 || e->n_problems != c->n_with_ok)
            continue;
        share = exp(e->log_share / (double)c->n_with_ok);
        if (!c->s.fixed || share > c->s.fixed_share ||
            (share >= c->s.fixed_share && e->kernel->config_order < c->s.fixed->config_order)) {
            c->s.fixed = e->kernel;
            c->s.fixed_share = share;
        }
    }
}

/* Lists made by a generator call all problems of a set by its name. */
static int find_shared_names(struct ks_summary *s, struct ks_err *err)
{
    uint32_t *number = calloc(s->n_problems + 1, sizeof(*number));
    uint32_t *n_with = calloc(s->n_problems + 1, sizeof(*n_with));
    struct ks_words names = { 0 };
    int rc = number && n_with ? 0 : ks_fail(err, KS_ENOMEM, "out of memory");

    for (size_t i = 0; rc == 0 && i < s->n_problems; i++) {
        const struct ks_problem_ref *p = s->problems[i].problem;

        if (!p || !p->name[0])
            continue;
        rc = ks_words_add(&names, p->name, strlen(p->name), &number[i], err);
        if (rc == 0)
            n_with[number[i]]++;
    }
    for (size_t i = 0; rc == 0 && i < s->n_problems; i++) {
        const struct ks_problem_ref *p = s->problems[i].problem;

        s->problems[i].shares_name = p && p->name[0] && n_with[number[i]] > 1;
    }
    ks_words_release(&names);
    free(n_with);
    free(number);
    return rc;
}

static int list_ranks(struct ks_summarizer *c, struct ks_err *err)
{
    uint32_t n = c->tables->n_devices;

    c->s.ranks = calloc(n + 1u, sizeof(*c->s.ranks));
    if (!c->s.ranks)
        return ks_fail(err, KS_ENOMEM, "out of memory");
    for (uint32_t i = 0; i < n; i++)
        if (c->cells_of_device[i])
            c->s.ranks[c->s.n_ranks++] =
                (struct ks_rank_count){ &c->tables->devices[i], c->cells_of_device[i] };
    return 0;
}

int ks_summarizer_create(const struct ks_tables *t, struct ks_summarizer **out, struct ks_err *err)
{
    struct ks_summarizer *c = calloc(1, sizeof(*c));
    int rc = c ? 0 : ks_fail(err, KS_ENOMEM, "out of memory");

    if (rc == 0) {
        c->tables = t;
        rc = list_instances(c, err);
    }
    if (rc == 0)
        rc = ks_aliases_find(t, &c->s.aliases, err);
    if (rc < 0) {
        ks_summarizer_destroy(c);
        return rc;
    }
    *out = c;
    return 0;
}

void ks_summarizer_destroy(struct ks_summarizer *c)
{
    if (!c)
        return;
    ks_summary_release(&c->s);
    ks_join_release(&c->join);
    free(c->instances);
    free(c->cells_of_device);
    free(c->has_code);
    free(c->rows);
    free(c->times);
    free(c->at);
    free(c);
}

int ks_summarizer_end(struct ks_summarizer *c, struct ks_summary *out, struct ks_err *err)
{
    int rc = median_ratio(&c->s, err);

    if (rc == 0)
        rc = find_shared_names(&c->s, err);
    if (rc == 0)
        rc = list_ranks(c, err);
    if (rc < 0)
        return rc;
    find_fixed(c);
    ks_aliases_sort(&c->s.aliases);
    *out = c->s;
    c->s = (struct ks_summary){ 0 };
    return 0;
}

void ks_summary_release(struct ks_summary *s)
{
    free(s->problems);
    free(s->ranks);
    ks_aliases_free(&s->aliases);
    *s = (struct ks_summary){ 0 };
}
