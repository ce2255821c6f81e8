/* SPDX-License-Identifier: MIT */
/* sweeps.c - reads the attempts of several files and keeps, per cell, the records that count */
#include "analysis/data/sweeps_impl.h"
#include "analysis/data/view.h"
#include "base/array.h"
#include "base/order.h"
#include "record/outcome.h"
#include "store/store.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

const char *const ks_fact_names[] = { "device", "driver", "compiler", "ksweep", NULL };

struct load {
    struct ks_sweeps *s;
    struct ks_store_file *file;
    uint32_t first_sweep;
    uint32_t *problem_of_row, *instance_of_row; /* numbers in s */
    struct ks_sweep_entry *entries;
    size_t n, cap;
    float *samples; /* [cap_samples] of one record; imported ones may have more than our own */
    double *x, *scratch;
    size_t cap_samples, cap_x, cap_scratch;
};

/* ---- names ---- */

static void put_fact(struct ks_sweep *sweep, enum ks_fact which, const char *text)
{
    struct ks_buf *b = &sweep->fact[which];
    size_t n = strlen(text);
    const char *at = ks_buf_text(b);

    for (; n && *at; at += strcspn(at, ",") + (at[strcspn(at, ",")] ? 2 : 0))
        if (strncmp(at, text, n) == 0 && (at[n] == '\0' || at[n] == ','))
            return;
    if (n)
        ks_buf_printf(b, "%s%s", b->len ? ", " : "", text);
}

static int add_sweeps(struct load *l, const char *path, struct ks_err *err)
{
    struct ks_sweeps *s = l->s;
    uint32_t n = ks_store_info(l->file)->n_runs;
    struct ks_sweep *more = realloc(s->sweeps, (s->n_sweeps + n + 1) * sizeof(*more));

    if (!more)
        return ks_fail(err, KS_ENOMEM, "out of memory");
    s->sweeps = more;
    l->first_sweep = s->n_sweeps;
    for (uint32_t i = 0; i < n; i++) {
        const struct ks_run_row *run = ks_store_run(l->file, i);
        struct ks_sweep *sweep = &s->sweeps[s->n_sweeps];

        for (uint32_t k = 0; k < s->n_sweeps; k++)
            if (strcmp(s->sweeps[k].run_id, run->run_id) == 0)
                return ks_fail(err, KS_EEXIST,
                               "'%s' and '%s' contain the same run %s: give only one of them",
                               s->sweeps[k].path, path, run->run_id);
        *sweep = (struct ks_sweep){ .path = path, .started_ns = run->started_ns };
        s->n_sweeps++;
        snprintf(sweep->run_id, sizeof(sweep->run_id), "%s", run->run_id);
        put_fact(sweep, KS_FACT_VERSION, run->version);
    }
    return 0;
}

static void add_facts(struct load *l)
{
    const struct ks_store_info *info = ks_store_info(l->file);

    for (uint32_t i = 0; i < info->n_devices; i++) {
        const struct ks_device_row *d = ks_store_device(l->file, i);

        if (d->run >= info->n_runs)
            continue;
        put_fact(&l->s->sweeps[l->first_sweep + d->run], KS_FACT_DEVICE, d->rec.model);
        put_fact(&l->s->sweeps[l->first_sweep + d->run], KS_FACT_DRIVER, d->rec.driver);
    }
    for (uint32_t i = 0; i < info->n_kernels; i++) {
        const struct ks_kernel_row *k = ks_store_kernel(l->file, i);

        if (k->run < info->n_runs)
            put_fact(&l->s->sweeps[l->first_sweep + k->run], KS_FACT_COMPILER, k->compiler);
    }
}

/* ---- the label's statistic ---- */

static int add_statistics(struct load *l, struct ks_err *err)
{
    uint32_t n = ks_store_info(l->file)->n_runs;
    enum ks_statistic *of_run = calloc(n + 1u, sizeof(*of_run));
    int rc = of_run ? ks_store_statistics(l->file, of_run, err)
                    : ks_fail(err, KS_ENOMEM, "out of memory");

    for (uint32_t i = 0; rc == 0 && i < n; i++)
        l->s->sweeps[l->first_sweep + i].statistic = of_run[i];
    free(of_run);
    return rc;
}

int ks_sweeps_statistic(const struct ks_sweeps *s, enum ks_statistic *out, struct ks_err *err)
{
    const struct ks_sweep *a = s->sweeps;

    for (const struct ks_sweep *b = a; b && b < a + s->n_sweeps; b++)
        if (b->statistic != a->statistic)
            return ks_fail(err, KS_EINVAL,
                           "the labels of run %s in '%s' use the statistic %s, but those of run %s "
                           "in '%s' use %s",
                           a->run_id, a->path, ks_statistic_names[a->statistic], b->run_id, b->path,
                           ks_statistic_names[b->statistic]);
    *out = s->n_sweeps ? a->statistic : KS_STATISTIC_MEDIAN;
    return 0;
}

/* The number of a problem. row: NULL = not known. */
static int find_problem(struct ks_sweeps *s, uint64_t id, const struct ks_problem_row *row,
                        uint32_t *out, struct ks_err *err)
{
    struct ks_key key = { { id } };
    struct ks_sweep_problem *p;
    bool is_new;
    int rc = ks_keys_add(&s->problem_keys, &key, out, &is_new, err);

    if (rc < 0 || !is_new)
        return rc;
    rc = ks_reserve(&s->problems, s->n_problems + 1, &s->cap_problems, sizeof(*p), "rounds", err);
    if (rc < 0)
        return rc;
    p = &s->problems[s->n_problems++];
    *p = (struct ks_sweep_problem){ .id = id, .n_uses = 1, .flops = -1, .min_bytes = -1 };
    if (row) {
        snprintf(p->name, sizeof(p->name), "%s", row->problem_name);
        p->n_uses = row->n_uses > 0 ? row->n_uses : 1;
        p->flops = row->flops;
        p->min_bytes = row->min_bytes;
    }
    if (!p->name[0])
        snprintf(p->name, sizeof(p->name), "%016llx", (unsigned long long)id);
    return 0;
}

static int find_instance(struct ks_sweeps *s, uint64_t id, const char *name, uint32_t *out,
                         struct ks_err *err)
{
    struct ks_key key = { { id } };
    struct ks_sweep_instance *k;
    bool is_new;
    int rc = ks_keys_add(&s->instance_keys, &key, out, &is_new, err);

    if (rc < 0 || !is_new)
        return rc;
    rc =
        ks_reserve(&s->instances, s->n_instances + 1, &s->cap_instances, sizeof(*k), "rounds", err);
    if (rc < 0)
        return rc;
    k = &s->instances[s->n_instances++];
    *k = (struct ks_sweep_instance){ .id = id };
    snprintf(k->name, sizeof(k->name), "%s", name);
    if (!k->name[0])
        snprintf(k->name, sizeof(k->name), "%016llx", (unsigned long long)id);
    return 0;
}

/* Problems and instances in the file's order, and their numbers by row. */
static int add_names(struct load *l, struct ks_err *err)
{
    const struct ks_store_info *info = ks_store_info(l->file);
    int rc = 0;

    l->problem_of_row = calloc(info->n_problems + 1u, sizeof(*l->problem_of_row));
    l->instance_of_row = calloc(info->n_kernels + 1u, sizeof(*l->instance_of_row));
    if (!l->problem_of_row || !l->instance_of_row)
        return ks_fail(err, KS_ENOMEM, "out of memory");
    for (uint32_t i = 0; rc == 0 && i < info->n_problems; i++) {
        const struct ks_problem_row *row = ks_store_problem(l->file, i);

        rc = find_problem(l->s, row->problem_id, row, &l->problem_of_row[i], err);
    }
    for (uint32_t i = 0; rc == 0 && i < info->n_kernels; i++) {
        const struct ks_kernel_row *row = ks_store_kernel(l->file, i);

        rc = find_instance(l->s, row->instance_id, row->instance_name, &l->instance_of_row[i], err);
    }
    return rc;
}

/* A cell that no device touched belongs to the class of its run's first device. */
static const struct ks_device_row *device_of(const struct load *l, const struct ks_sweep_entry *e)
{
    uint32_t n = ks_store_info(l->file)->n_devices;

    if (e->device_row < n)
        return ks_store_device(l->file, e->device_row);
    for (uint32_t i = 0; i < n; i++)
        if (ks_store_device(l->file, i)->run == e->run)
            return ks_store_device(l->file, i);
    return NULL;
}

static int find_domain(struct load *l, const struct ks_sweep_entry *e, uint32_t *out,
                       struct ks_err *err)
{
    const struct ks_device_row *d = device_of(l, e);
    struct ks_sweeps *s = l->s;
    uint64_t class = d ? d->rec.device_class : 0;
    struct ks_sweep_domain *more;

    for (uint32_t i = 0; i < s->n_domains; i++)
        if (s->domains[i].device_class == class && s->domains[i].condition == e->cell.condition) {
            *out = i;
            return 0;
        }
    more = realloc(s->domains, (s->n_domains + 1) * sizeof(*more));
    if (!more)
        return ks_fail(err, KS_ENOMEM, "out of memory");
    s->domains = more;
    *out = s->n_domains++;
    more[*out] = (struct ks_sweep_domain){ .device_class = class, .condition = e->cell.condition };
    snprintf(more[*out].device, sizeof(more[*out].device), "%s", d ? d->rec.model : "");
    return 0;
}

/* ---- records ---- */

static int by_record(const void *x, const void *y)
{
    const struct ks_sweep_entry *a = x, *b = y;
    int d = ks_compare_u64(a->run, b->run);

    if (d == 0)
        d = ks_cell_compare(&a->cell, &b->cell);
    if (d == 0)
        d = ks_compare_u64(a->attempt, b->attempt);
    if (d == 0)
        d = ks_compare_u64(a->round.round, b->round.round);
    if (d == 0)
        d = ks_compare_u64(a->round.block_id, b->round.block_id);
    return d ? d : ks_compare_u64(a->round.position, b->round.position);
}

static void put_anchor(const struct ks_block_row *b, struct ks_sweep_round *r)
{
    if (b->anchor_ns > 0)
        r->log_anchor = log(b->anchor_ns);
    if (b->rec.open_ns > 0 && b->rec.close_ns > 0)
        r->anchor_shift = log(b->rec.close_ns / b->rec.open_ns);
}

static void fill_entry(const struct load *l, const struct ks_row *row, struct ks_sweep_entry *e)
{
    *e = (struct ks_sweep_entry){
        .cell = { row->problem_id, row->instance_id, row->condition_id },
        .sample_offset = row->sample_offset,
        .representative_id = row->representative_id,
        .run = row->run,
        .attempt = row->attempt,
        .problem_row = row->problem,
        .kernel_row = row->kernel,
        .device_row = row->device,
        .device_id = row->device_id,
        .n_visit = row->n_visit,
        .flags = row->outcome_flags,
        .disturbance = row->disturbance,
        .is_final = row->is_final,
        .round = { .sweep = l->first_sweep + row->run,
                   .round = row->round_index,
                   .position = row->position,
                   .outcome = row->outcome,
                   .n_samples = row->n_samples,
                   .calls = row->calls_per_sample ? row->calls_per_sample : 1,
                   .is_clean = !(row->outcome_flags & (KS_FL_CONTAMINATED | KS_FL_SUSPECT)),
                   .started_ns = row->started_ns,
                   .block_id = row->block_id },
    };
    if (row->block < ks_store_info(l->file)->n_blocks)
        put_anchor(ks_store_block(l->file, row->block), &e->round);
}

static int read_entries(struct load *l, struct ks_err *err)
{
    uint64_t n = ks_store_info(l->file)->n_attempts;
    struct ks_row row;
    int rc = 0;

    for (uint64_t i = 0; rc == 0 && i < n; i++) {
        rc = ks_store_attempt(l->file, i, &row, err);
        if (rc < 0 || row.role != KS_ROLE_CELL)
            continue;
        if (row.run >= ks_store_info(l->file)->n_runs)
            return ks_fail(err, KS_EFORMAT, "row %llu of /attempts belongs to no run",
                           (unsigned long long)i);
        rc = ks_reserve(&l->entries, l->n + 1, &l->cap, sizeof(*l->entries), "rounds", err);
        if (rc == 0)
            fill_entry(l, &row, &l->entries[l->n++]);
    }
    if (rc == 0)
        qsort(l->entries, l->n, sizeof(*l->entries), by_record);
    return rc;
}

static int reserve_samples(struct load *l, size_t n, struct ks_err *err)
{
    int rc = ks_reserve(&l->samples, n, &l->cap_samples, sizeof(*l->samples), "rounds", err);

    if (rc == 0)
        rc = ks_reserve(&l->x, n, &l->cap_x, sizeof(*l->x), "rounds", err);
    return rc == 0 ? ks_reserve(&l->scratch, n, &l->cap_scratch, sizeof(*l->scratch), "rounds", err)
                   : rc;
}

/* x: [n], is sorted. */
static double span_of(double *x, size_t n)
{
    if (n < 4)
        return -1;
    ks_stats_sort(x, n);
    return log(ks_stats_quantile(x, n, 0.75) / ks_stats_quantile(x, n, 0.25));
}

static int read_samples(struct load *l, struct ks_sweep_entry *e, struct ks_err *err)
{
    struct ks_sweep_round *r = &e->round;
    struct ks_sweeps *s = l->s;
    double sum = 0;
    int rc = 0;

    if (r->n_samples <= ks_store_info(l->file)->n_samples)
        rc = reserve_samples(l, r->n_samples, err);
    if (rc == 0)
        rc = ks_store_samples(l->file, e->sample_offset, r->n_samples, l->samples, err);
    if (rc == 0 && s->keeps_samples)
        rc = ks_reserve(&s->ns, s->n_ns + r->n_samples, &s->cap_ns, sizeof(*s->ns), "rounds", err);
    if (rc < 0)
        return rc;
    if (s->keeps_samples) {
        r->first_sample = s->n_ns;
        memcpy(s->ns + s->n_ns, l->samples, r->n_samples * sizeof(*s->ns));
        s->n_ns += r->n_samples;
    }
    for (uint32_t i = 0; i < r->n_samples; i++) {
        l->x[i] = l->samples[i];
        sum += l->x[i];
    }
    for (unsigned k = 0; k < KS_N_STATISTICS; k++)
        r->log_ns[k] = log(ks_statistic(l->x, r->n_samples, k, l->scratch));
    r->span = span_of(l->x, r->n_samples);
    r->spent_ns = sum * r->calls;
    return 0;
}

static int number_entry(struct load *l, struct ks_sweep_entry *e, struct ks_err *err)
{
    const struct ks_store_info *info = ks_store_info(l->file);
    int rc = 0;

    if (e->problem_row < info->n_problems)
        e->round.problem = l->problem_of_row[e->problem_row];
    else
        rc = find_problem(l->s, e->cell.problem, NULL, &e->round.problem, err);
    if (rc == 0 && e->kernel_row < info->n_kernels)
        e->round.instance = l->instance_of_row[e->kernel_row];
    else if (rc == 0)
        rc = find_instance(l->s, e->cell.instance, "", &e->round.instance, err);
    e->round.representative = KS_NO_INSTANCE;
    if (rc == 0 && e->round.outcome == KS_O_ALIASED && e->representative_id)
        rc = find_instance(l->s, e->representative_id, "", &e->round.representative, err);
    return rc == 0 ? find_domain(l, e, &e->round.domain, err) : rc;
}

static int add_round(struct load *l, struct ks_sweep_entry *e, struct ks_err *err)
{
    struct ks_sweeps *s = l->s;
    int rc =
        ks_reserve(&s->rounds, s->n_rounds + 1, &s->cap_rounds, sizeof(*s->rounds), "rounds", err);

    if (rc == 0)
        rc = number_entry(l, e, err);
    if (rc == 0 && e->round.outcome == KS_O_OK)
        rc = read_samples(l, e, err);
    if (rc == 0)
        s->rounds[s->n_rounds++] = e->round;
    return rc;
}

static int add_cell(struct load *l, const struct ks_sweep_entry *e, size_t n, struct ks_err *err)
{
    const struct ks_sweep_entry *failed = NULL;
    int rc = 0;

    for (size_t i = 0; i < n; i++)
        if (!failed && e[i].counts && (e[i].round.outcome != KS_O_OK || e[i].round.n_samples == 0))
            failed = &e[i]; /* this record says how */
    for (size_t i = 0; rc == 0 && i < n; i++) {
        struct ks_sweep_entry one = e[i];

        if (!e[i].counts || (failed && failed != &e[i]))
            continue;
        if (one.round.outcome == KS_O_OK && one.round.n_samples == 0)
            one.round.outcome = KS_O_SKIPPED;
        rc = add_round(l, &one, err);
    }
    return rc;
}

/* e: [n] of one problem in one run. */
static int add_problem(struct load *l, struct ks_sweep_entry *e, size_t n, struct ks_err *err)
{
    int rc = ks_sweeps_choose(e, n, err);

    for (size_t i = 0, end; rc == 0 && i < n; i = end) {
        end = ks_sweeps_cell_end(e, i, n);
        rc = add_cell(l, &e[i], end - i, err);
    }
    return rc;
}

static int add_problems(struct load *l, struct ks_err *err)
{
    int rc = 0;

    for (size_t i = 0, end; rc == 0 && i < l->n; i = end) {
        const struct ks_sweep_entry *e = l->entries;

        for (end = i + 1;
             end < l->n && e[end].run == e[i].run && e[end].cell.problem == e[i].cell.problem;)
            end++;
        rc = add_problem(l, &l->entries[i], end - i, err);
    }
    return rc;
}

int ks_sweeps_load(struct ks_sweeps *s, const char *path, struct ks_err *err)
{
    struct load *l = calloc(1, sizeof(*l));
    char file[4096];
    int rc = l ? 0 : ks_fail(err, KS_ENOMEM, "out of memory");

    if (rc == 0)
        rc = ks_results_path(path, file, sizeof(file), err);
    if (rc == 0)
        rc = ks_store_open(file, &l->file, err);
    if (rc == 0) {
        l->s = s;
        rc = add_sweeps(l, path, err);
    }
    if (rc == 0) {
        add_facts(l);
        rc = add_names(l, err);
    }
    if (rc == 0)
        rc = add_statistics(l, err);
    if (rc == 0)
        rc = read_entries(l, err);
    if (rc == 0)
        rc = add_problems(l, err);
    if (l) {
        ks_store_close(l->file);
        free(l->problem_of_row);
        free(l->instance_of_row);
        free(l->entries);
        free(l->samples);
        free(l->x);
        free(l->scratch);
    }
    free(l);
    return rc;
}

static int by_place(const void *x, const void *y)
{
    const struct ks_sweep_round *a = x, *b = y;
    const uint64_t ka[] = { a->domain, a->problem, a->instance, a->sweep, a->round, a->position };
    const uint64_t kb[] = { b->domain, b->problem, b->instance, b->sweep, b->round, b->position };
    int d = 0;

    for (size_t i = 0; d == 0 && i < sizeof(ka) / sizeof(ka[0]); i++)
        d = ks_compare_u64(ka[i], kb[i]);
    return d ? d : ks_compare_u64(a->started_ns, b->started_ns);
}

void ks_sweeps_sort(struct ks_sweeps *s)
{
    if (s->n_rounds)
        qsort(s->rounds, s->n_rounds, sizeof(*s->rounds), by_place);
}

void ks_sweeps_release(struct ks_sweeps *s)
{
    for (uint32_t i = 0; i < s->n_sweeps; i++)
        for (unsigned k = 0; k < KS_N_FACTS; k++)
            ks_buf_release(&s->sweeps[i].fact[k]);
    ks_keys_release(&s->problem_keys);
    ks_keys_release(&s->instance_keys);
    free(s->sweeps);
    free(s->problems);
    free(s->instances);
    free(s->domains);
    free(s->rounds);
    free(s->ns);
    *s = (struct ks_sweeps){ 0 };
}
