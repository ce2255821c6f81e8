/* SPDX-License-Identifier: MIT */
#include "analysis/summary.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* What is collected per instance over all problems. */
struct instance {
    uint64_t id;
    const struct ks_kernel_row *kernel;
    double log_share; /* sum of log(best / time) */
    uint32_t n_problems, n_wins;
};
struct collect {
    struct ks_summary *s;
    const struct ks_store_file *file;
    struct instance *instances; /* [n_instances] sorted by id */
    size_t n_instances;
    uint64_t *cells_of_device; /* [n_devices] */
    bool *has_code;            /* [n_kernels + 1] by code_group */
    struct ks_join join;       /* of the present problem */
    size_t n_with_ok;          /* problems with an ok instance */
};

static int by_id(const void *x, const void *y)
{
    const struct instance *a = x, *b = y;

    return (a->id > b->id) - (a->id < b->id);
}

static struct instance *instance_of(const struct collect *c, uint64_t id)
{
    const struct instance key = { .id = id };

    return bsearch(&key, c->instances, c->n_instances, sizeof(key), by_id);
}

static int list_instances(struct collect *c, struct ks_err *err)
{
    uint32_t n = ks_store_info(c->file)->n_kernels;
    size_t kept = 0;

    c->instances = calloc(n + 1, sizeof(*c->instances));
    c->cells_of_device = calloc(ks_store_info(c->file)->n_devices + 1u, sizeof(uint64_t));
    c->has_code = calloc(n + 1, sizeof(*c->has_code));
    if (!c->instances || !c->cells_of_device || !c->has_code)
        return ks_fail(err, KS_ENOMEM, "out of memory");
    for (uint32_t i = 0; i < n; i++)
        c->instances[i] = (struct instance){ .id = ks_store_kernel(c->file, i)->instance_id,
                                             .kernel = ks_store_kernel(c->file, i) };
    qsort(c->instances, n, sizeof(*c->instances), by_id);
    for (uint32_t i = 0; i < n; i++)
        if (kept == 0 || c->instances[kept - 1].id != c->instances[i].id)
            c->instances[kept++] = c->instances[i];
    c->n_instances = kept;
    return 0;
}

/* ---- one problem ---- */

static bool is_ok(const struct collect *c, const struct ks_row *row)
{
    return row->outcome == KS_O_OK && row->time_median_ns > 0 &&
           row->kernel < ks_store_info(c->file)->n_kernels;
}

static const struct ks_block_row *block_of(const struct collect *c, const struct ks_row *row)
{
    return row->block < ks_store_info(c->file)->n_blocks ? ks_store_block(c->file, row->block)
                                                         : NULL;
}

/* Whether the ok rows lie in several blocks that all have anchors: then times are scaled. */
static bool is_split(const struct collect *c, const struct ks_row *rows, size_t n)
{
    uint32_t first = KS_NO_ROW;
    bool differ = false, is_any = false;

    for (size_t i = 0; i < n; i++) {
        const struct ks_block_row *b = block_of(c, &rows[i]);

        if (!is_ok(c, &rows[i]))
            continue;
        if (!b || b->anchor_ns <= 0)
            return false;
        differ = differ || (is_any && rows[i].block != first);
        first = is_any ? first : rows[i].block;
        is_any = true;
    }
    return differ;
}

struct timed {
    const struct ks_row *row;
    struct ks_stats stats; /* scaled */
    double drift;          /* relative */
};

static struct timed time_of(const struct collect *c, const struct ks_row *row, double reference_ns)
{
    const struct ks_block_row *b = block_of(c, row);
    double scale = reference_ns > 0 && b ? reference_ns / b->anchor_ns : 1;
    struct timed t = { .row = row };

    t.stats.n = row->n_samples;
    t.stats.median = row->time_median_ns * scale;
    t.stats.se = row->time_se_ns * scale;
    t.stats.lo95 = row->time_ci95_lo_ns * scale;
    t.stats.hi95 = row->time_ci95_hi_ns * scale;
    t.drift = b && b->anchor_drift > 0 ? b->anchor_drift : 0;
    return t;
}

static bool is_tied(const struct timed *a, const struct timed *best)
{
    double drift = a->drift > best->drift ? a->drift : best->drift;

    return ks_stats_tie(&a->stats, &best->stats, drift * best->stats.median);
}

static void fill_best(struct ks_best *b, const struct timed *best, const struct ks_kernel_row *k)
{
    double flops = b->problem ? b->problem->flops : KS_MISSING;

    b->kernel = k;
    b->median_ns = best->row->time_median_ns;
    b->se_ns = best->row->time_se_ns;
    b->lo95_ns = best->row->time_ci95_lo_ns;
    b->hi95_ns = best->row->time_ci95_hi_ns;
    if (flops <= 0)
        return;
    b->gflops = flops / b->median_ns;
    b->gflops_se = b->gflops * b->se_ns / b->median_ns;
    b->gflops_lo95 = flops / b->hi95_ns;
    b->gflops_hi95 = flops / b->lo95_ns;
}

static void credit(struct collect *c, const struct timed *t, size_t n, const struct timed *best,
                   uint32_t n_tied)
{
    for (size_t i = 0; i < n; i++) {
        struct instance *e = instance_of(c, t[i].row->instance_id);

        e->log_share += log(best->stats.median / t[i].stats.median);
        e->n_problems++;
        e->n_wins += &t[i] == best && n_tied == 0;
    }
}

/* The row that competes in place of this one, because it is the same code; NULL: itself. */
static const struct ks_row *stands_for(const struct collect *c, const struct ks_row *row)
{
    const struct ks_row *first = ks_join_first(&c->join, row);

    return first && is_ok(c, first) ? first : NULL;
}

/* Aliases are as fast as what stands for them. at: [n] of a row the number in t. */
static void credit_aliases(struct collect *c, const struct ks_row *rows, size_t n,
                           const struct timed *t, const uint32_t *at, double best_ns)
{
    for (size_t i = 0; i < n; i++) {
        const struct ks_row *first = stands_for(c, &rows[i]);
        struct instance *e = first ? instance_of(c, rows[i].instance_id) : NULL;
        uint32_t k = first ? at[first - rows] : KS_NO_ROW;

        if (!e || k == KS_NO_ROW)
            continue;
        e->log_share += log(best_ns / t[k].stats.median);
        e->n_problems++;
    }
}

static bool is_control(const struct timed *t)
{
    return (t->row->outcome_flags & KS_FL_PRUNED) != 0;
}

/* The controls of pruning against the best of those that it keeps. */
static void weigh_controls(struct collect *c, const struct ks_best *b, const struct timed *t,
                           size_t n)
{
    struct ks_pruned_found *p = &c->s->pruned;
    const struct timed *kept = NULL;

    for (size_t i = 0; i < n; i++)
        if (!is_control(&t[i]) && (!kept || t[i].stats.median < kept->stats.median))
            kept = &t[i];
    for (size_t i = 0; kept && i < n; i++) {
        double ratio = kept->stats.median / t[i].stats.median;

        if (!is_control(&t[i]))
            continue;
        p->n_better += ratio > 1 && !is_tied(&t[i], kept);
        if (p->n_compared++ && ratio <= p->ratio)
            continue;
        p->ratio = ratio;
        p->problem = b->problem;
        p->control = ks_store_kernel(c->file, t[i].row->kernel);
    }
}

/* Returns the time of the best, 0 when there is none. */
static double judge(struct collect *c, struct ks_best *b, const struct timed *t, size_t n)
{
    const struct timed *best = t, *worst = t;

    b->n_codes = (uint32_t)n;
    if (n == 0)
        return 0;
    for (size_t i = 1; i < n; i++) {
        best = t[i].stats.median < best->stats.median ? &t[i] : best;
        worst = t[i].stats.median > worst->stats.median ? &t[i] : worst;
    }
    for (size_t i = 0; i < n; i++)
        b->n_tied += &t[i] != best && is_tied(&t[i], best);
    b->worst_over_best = worst->stats.median / best->stats.median;
    fill_best(b, best, ks_store_kernel(c->file, best->row->kernel));
    credit(c, t, n, best, b->n_tied);
    weigh_controls(c, b, t, n);
    c->n_with_ok++;
    return best->stats.median;
}

static void count_row(struct collect *c, const struct ks_row *row)
{
    const struct ks_store_info *info = ks_store_info(c->file);

    c->s->outcome[row->outcome < KS_O_LIMIT ? row->outcome : 0]++;
    c->s->n_contaminated += (row->outcome_flags & KS_FL_CONTAMINATED) != 0;
    c->s->pruned.n_controls += (row->outcome_flags & KS_FL_PRUNED) != 0;
    c->s->pruned.n_left_out += ks_outcome_is_pruned(row->outcome, row->reason);
    if (row->device < info->n_devices)
        c->cells_of_device[row->device]++;
    if (is_ok(c, row) && ks_store_kernel(c->file, row->kernel)->code_group < info->n_kernels) {
        bool *seen = &c->has_code[ks_store_kernel(c->file, row->kernel)->code_group];

        c->s->n_codes += !*seen;
        *seen = true;
    }
}

static void init_best(struct ks_best *b, size_t n_rows)
{
    *b = (struct ks_best){ .n_rows = (uint32_t)n_rows,
                           .median_ns = KS_MISSING,
                           .se_ns = KS_MISSING,
                           .gflops = KS_MISSING,
                           .gflops_se = KS_MISSING,
                           .gflops_lo95 = KS_MISSING,
                           .gflops_hi95 = KS_MISSING,
                           .worst_over_best = KS_MISSING };
}

/* The rows that compete, with their times; at: [n] of a row its number among them. */
static size_t list_times(struct collect *c, struct ks_best *b, const struct ks_row *rows, size_t n,
                         struct timed *t, uint32_t *at)
{
    double reference_ns = 0;
    bool split = is_split(c, rows, n);
    uint32_t k = 0;

    for (size_t i = 0; i < n; i++) {
        at[i] = KS_NO_ROW;
        count_row(c, &rows[i]);
        b->n_ok += is_ok(c, &rows[i]);
        if (!is_ok(c, &rows[i]) || stands_for(c, &rows[i]))
            continue;
        if (split && reference_ns <= 0)
            reference_ns = block_of(c, &rows[i])->anchor_ns;
        t[k] = time_of(c, &rows[i], reference_ns);
        at[i] = k++;
    }
    return k;
}

static int add_problem(struct collect *c, const struct ks_row *rows, size_t n, struct ks_err *err)
{
    struct ks_best *grown =
        realloc(c->s->problems, (c->s->n_problems + 1) * sizeof(*c->s->problems));
    struct timed *t = calloc(n, sizeof(*t));
    uint32_t *at = calloc(n, sizeof(*at));
    int rc = grown && t && at ? ks_join_problem(&c->join, rows, n, err)
                              : ks_fail(err, KS_ENOMEM, "out of memory");

    if (grown)
        c->s->problems = grown;
    if (rc == 0) {
        struct ks_best *b = &grown[c->s->n_problems++];

        init_best(b, n);
        if (rows[0].problem < ks_store_info(c->file)->n_problems)
            b->problem = ks_store_problem(c->file, rows[0].problem);
        size_t n_timed = list_times(c, b, rows, n, t, at);
        credit_aliases(c, rows, n, t, at, judge(c, b, t, n_timed));
        ks_aliases_count(c->file, &c->join, rows, n, &c->s->aliases);
    }
    free(t);
    free(at);
    return rc;
}

/* ---- over all problems ---- */

static int by_value(const void *x, const void *y)
{
    double a = *(const double *)x, b = *(const double *)y;

    return (a > b) - (a < b);
}

static int median_ratio(struct ks_summary *s, struct ks_err *err)
{
    double *ratio = calloc(s->n_problems + 1, sizeof(*ratio));
    size_t n = 0;

    if (!ratio)
        return ks_fail(err, KS_ENOMEM, "out of memory");
    for (size_t i = 0; i < s->n_problems; i++)
        if (s->problems[i].n_codes >= 2)
            ratio[n++] = s->problems[i].worst_over_best;
    qsort(ratio, n, sizeof(*ratio), by_value);
    s->median_worst_over_best = KS_MISSING;
    if (n > 0)
        s->median_worst_over_best = (ratio[(n - 1) / 2] + ratio[n / 2]) / 2;
    free(ratio);
    return 0;
}

static void find_fixed(struct collect *c)
{
    for (size_t i = 0; i < c->n_instances; i++) {
        const struct instance *e = &c->instances[i];
        double share;

        c->s->n_winners += e->n_wins > 0;
        if (c->n_with_ok == 0 || e->n_problems != c->n_with_ok)
            continue;
        share = exp(e->log_share / (double)c->n_with_ok);
        if (!c->s->fixed || share > c->s->fixed_share ||
            (share >= c->s->fixed_share && e->kernel->i_instance < c->s->fixed->i_instance)) {
            c->s->fixed = e->kernel;
            c->s->fixed_share = share;
        }
    }
}

static int list_ranks(struct collect *c, struct ks_err *err)
{
    uint32_t n = ks_store_info(c->file)->n_devices;

    c->s->ranks = calloc(n + 1u, sizeof(*c->s->ranks));
    if (!c->s->ranks)
        return ks_fail(err, KS_ENOMEM, "out of memory");
    for (uint32_t i = 0; i < n; i++)
        if (c->cells_of_device[i])
            c->s->ranks[c->s->n_ranks++] =
                (struct ks_rank_count){ ks_store_device(c->file, i), c->cells_of_device[i] };
    return 0;
}

static int read_all(struct ks_view *v, struct collect *c, struct ks_err *err)
{
    const struct ks_row *rows;
    size_t n;
    int rc = list_instances(c, err);

    if (rc == 0)
        rc = ks_aliases_find(c->file, &c->s->aliases, err);
    if (rc < 0)
        return rc;
    while ((rc = ks_view_next(v, &rows, &n, err)) > 0) {
        rc = add_problem(c, rows, n, err);
        if (rc < 0)
            return rc;
    }
    return rc;
}

int ks_summary_make(struct ks_view *v, struct ks_summary *out, struct ks_err *err)
{
    struct ks_summary s = { .n_cells = ks_store_info(ks_view_file(v))->n_cells,
                            .n_pending = ks_store_info(ks_view_file(v))->n_pending,
                            .n_dropped = ks_view_n_dropped(v) };
    struct collect c = { .s = &s, .file = ks_view_file(v) };
    int rc = read_all(v, &c, err);

    if (rc == 0)
        rc = median_ratio(&s, err);
    if (rc == 0)
        rc = list_ranks(&c, err);
    if (rc == 0) {
        find_fixed(&c);
        ks_aliases_sort(&s.aliases);
        *out = s;
    } else {
        ks_summary_release(&s);
    }
    free(c.instances);
    free(c.cells_of_device);
    free(c.has_code);
    ks_join_release(&c.join);
    return rc;
}

void ks_summary_release(struct ks_summary *s)
{
    free(s->problems);
    free(s->ranks);
    ks_aliases_free(&s->aliases);
    *s = (struct ks_summary){ 0 };
}
