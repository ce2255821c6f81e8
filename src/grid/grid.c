/* SPDX-License-Identifier: MIT */
#include "grid/grid.h"

#include "base/hash.h"
#include "grid/arch.h"
#include "grid/domains.h"
#include "grid/helpers.h"
#include "grid/job_problems.h"

#include <stdlib.h>
#include <string.h>

/* Raised whenever the way of measuring changes so that times of before and after must not be
 * compared: part of every condition_id. */
enum { MEASUREMENT_PROTOCOL = 2 };

void ks_condition_canonical(const struct ks_job *job, struct ks_buf *text_out)
{
    ks_buf_printf(text_out, "cache=%s data=exact+random clock=as_found protocol=%d",
                  job->measure.cache ? "cold" : "warm", MEASUREMENT_PROTOCOL);
}

static bool is_sim(const struct ks_job *job)
{
    return strcmp(ks_job_backends[job->device.backend], "sim") == 0;
}

struct ranked {
    double work; /* count x flops */
    const struct ks_problem *p;
};

static int by_priority(const void *a, const void *b)
{
    const struct ranked *x = a, *y = b;

    if (x->work != y->work)
        return x->work > y->work ? -1 : 1;
    return x->p->id < y->p->id ? -1 : x->p->id > y->p->id;
}

/* v[i] becomes what order[i] points to, cycle by cycle: millions of problems have no room twice. */
static void put_in_order(struct ks_problem *v, struct ranked *order, uint32_t n)
{
    for (uint32_t i = 0; i < n; i++) {
        const struct ks_problem first = v[i];
        size_t at = i, from;

        if (!order[i].p)
            continue;
        while ((from = (size_t)(order[at].p - v)) != i) {
            v[at] = v[from];
            order[at].p = NULL;
            at = from;
        }
        v[at] = first;
        order[at].p = NULL;
    }
}

/* The set is empty afterwards. */
static int take_sorted(struct ks_problem_set *set, struct ks_grid *g, struct ks_err *err)
{
    struct ranked *order;

    g->problems = set->problems;
    g->n_problems = set->n;
    set->problems = NULL;
    ks_problem_set_release(set);
    order = calloc(g->n_problems, sizeof *order);
    if (!order)
        return ks_fail(err, KS_ENOMEM, "no memory for %u problems", g->n_problems);
    for (uint32_t i = 0; i < g->n_problems; i++) {
        order[i].p = &g->problems[i];
        order[i].work = (double)order[i].p->count * ks_problem_flops(order[i].p);
    }
    qsort(order, g->n_problems, sizeof *order, by_priority);
    put_in_order(g->problems, order, g->n_problems);
    free(order);
    return 0;
}

static int load_problems(struct ks_grid *g, struct ks_err *err)
{
    struct ks_problem_set all, one;
    int rc = 0;

    ks_problem_set_init(&all);
    for (uint32_t l = 0; rc == 0 && l < g->job.n_problems; l++) {
        uint32_t n_left_out = 0;

        ks_problem_set_init(&one);
        rc = ks_job_problems_read(&g->job, l, &one, &n_left_out, err);
        g->n_left_out += n_left_out;
        if (rc == 0)
            rc = ks_problem_set_take(&all, &one, err);
        ks_problem_set_release(&one);
        if (rc < 0)
            ks_err_context(err, rc, "problems[%u]", l);
    }
    if (rc == 0 && all.n == 0)
        rc = ks_fail(err, KS_EINVAL, "the lists of the job hold no problem");
    if (rc == 0)
        rc = take_sorted(&all, g, err);
    ks_problem_set_release(&all);
    return rc;
}

/* What a GPU's "native" is must be found out before: instances are judged by it. */
static int check_arch(const char *backend, const char *arch, struct ks_err *err)
{
    if (strcmp(backend, "host") != 0 && strcmp(arch, KS_ARCH_NATIVE) == 0)
        return ks_fail(err, KS_EINVAL,
                       "no device says here what 'native' is for backend %s: name one, such as %s",
                       backend, strcmp(backend, "hip") == 0 ? "gfx942, or emu" : "sm_90");
    return ks_arch_check(backend, arch, err);
}

static int load_kernels(struct ks_grid *g, struct ks_err *err)
{
    const char *arch = g->job.device.arch_text;
    const char *backend = ks_job_backends[g->job.device.backend];
    struct ks_kernel_set set = { 0 };
    struct ks_buf flags;
    int rc = 0;

    ks_buf_init(&flags);
    if (!is_sim(&g->job)) {
        rc = check_arch(backend, arch, err);
        if (rc == 0)
            rc = ks_kernel_set_arch(&set, arch, &flags, err);
        if (rc < 0)
            ks_err_context(err, rc, "device.arch");
    }
    for (uint32_t i = 0; rc == 0 && i < g->job.n_kernels; i++) {
        uint32_t from = set.n_instances;
        uint64_t n_excluded = 0;

        set.has_plugin = g->job.kernels[i].plugin[0] != '\0';
        rc = ks_kernel_set_add(&set, g->job.kernels[i].config, g->job.kernels[i].filter,
                               &n_excluded, err);
        g->n_excluded += n_excluded;
        for (uint32_t k = from; k < set.n_instances; k++)
            set.instances[k].i_kernels = i;
        if (rc < 0)
            ks_err_context(err, rc, "kernels[%u]", i);
    }
    g->n_instances = set.n_instances;
    if (rc == 0)
        rc = ks_helpers_add(&set, &g->job, err);
    ks_buf_release(&flags);
    if (rc < 0) {
        ks_kernel_set_release(&set);
        return rc;
    }
    g->families = set.families;
    g->n_families = set.n_families;
    g->instances = set.instances;
    g->n_helpers = set.n_instances - g->n_instances;
    return 0;
}

const char *ks_grid_plugin(const struct ks_grid *g, uint32_t i_instance)
{
    uint32_t i = g->instances[i_instance].i_kernels;

    return i == KS_NO_KERNELS ? "" : g->job.kernels[i].plugin;
}

/* An id and where it stands, to be sorted. */
struct place {
    uint64_t id;
    uint32_t at;
};

static int by_id(const void *a, const void *b)
{
    const struct place *x = a, *y = b;

    return x->id < y->id ? -1 : x->id > y->id;
}

static uint64_t problem_id(const struct ks_grid *g, uint32_t i)
{
    return g->problems[i].id;
}

static uint64_t instance_id(const struct ks_grid *g, uint32_t i)
{
    return g->instances[i].id;
}

static uint32_t *sort_ids(const struct ks_grid *g, uint32_t n,
                          uint64_t (*id)(const struct ks_grid *, uint32_t))
{
    struct place *places = calloc((size_t)n + 1, sizeof *places);
    uint32_t *order = calloc((size_t)n + 1, sizeof *order);

    for (uint32_t i = 0; places && order && i < n; i++)
        places[i] = (struct place){ id(g, i), i };
    if (places && order) {
        qsort(places, n, sizeof *places, by_id);
        for (uint32_t i = 0; i < n; i++)
            order[i] = places[i].at;
    } else {
        free(order);
        order = NULL;
    }
    free(places);
    return order;
}

static int64_t find_id(const struct ks_grid *g, const uint32_t *order, uint32_t n,
                       uint64_t (*id)(const struct ks_grid *, uint32_t), uint64_t wanted)
{
    uint32_t lo = 0, hi = n;

    while (lo < hi) {
        uint32_t mid = lo + (hi - lo) / 2;

        if (id(g, order[mid]) < wanted)
            lo = mid + 1;
        else
            hi = mid;
    }
    return lo < n && id(g, order[lo]) == wanted ? (int64_t)order[lo] : -1;
}

static void digest_grid(const struct ks_grid *g, struct ks_buf *b)
{
    ks_buf_u64(b, g->condition);
    ks_buf_u64(b, g->n_problems);
    for (uint32_t i = 0; i < g->n_problems; i++)
        ks_buf_u64(b, problem_id(g, g->by_problem_id[i]));
    for (uint32_t i = 0; i < g->n_instances; i++)
        ks_buf_u64(b, instance_id(g, g->by_instance_id[i]));
}

static int set_digests(struct ks_grid *g, struct ks_err *err)
{
    struct ks_buf condition, content;
    bool is_ok;

    g->by_problem_id = sort_ids(g, g->n_problems, problem_id);
    g->by_instance_id = sort_ids(g, g->n_instances, instance_id);
    if (!g->by_problem_id || !g->by_instance_id)
        return ks_fail(err, KS_ENOMEM, "no memory for the index of a grid");
    ks_buf_init(&condition);
    ks_buf_init(&content);
    ks_condition_canonical(&g->job, &condition);
    g->condition = ks_id64(condition.data, condition.len);
    digest_grid(g, &content);
    g->digest = ks_id64(content.data, content.len);
    is_ok = ks_buf_ok(&condition) && ks_buf_ok(&content);
    ks_buf_release(&condition);
    ks_buf_release(&content);
    return is_ok ? 0 : ks_fail(err, KS_ENOMEM, "no memory for the digest of a grid");
}

/* Fills what the job names; takes g->job as read. */
static int load(struct ks_grid *g, struct ks_grid *grid_out, struct ks_err *err)
{
    int rc;

    g->job.device.arch = g->job.device.arch_text;
    g->job.isolate.batch = ks_job_batch(&g->job);
    rc = load_kernels(g, err);
    if (rc == 0)
        rc = load_problems(g, err);
    if (rc == 0)
        rc = set_digests(g, err);
    if (rc == 0)
        rc = ks_domains_create(g, &g->domains, err);
    if (rc < 0) {
        ks_err_context(err, rc, "job '%s'", g->job.path);
        ks_grid_release(g);
        return rc;
    }
    *grid_out = *g;
    grid_out->job.device.arch = grid_out->job.device.arch_text;
    return 0;
}

int ks_grid_load(const char *job_path, struct ks_grid *grid_out, struct ks_err *err)
{
    struct ks_grid *g = calloc(1, sizeof *g);
    int rc;

    if (!g)
        return ks_fail(err, KS_ENOMEM, "no memory for a grid");
    rc = ks_job_load(job_path, &g->job, err);
    if (rc == 0)
        rc = load(g, grid_out, err);
    free(g);
    return rc;
}

int ks_grid_load_job(const struct ks_job *job, struct ks_grid *grid_out, struct ks_err *err)
{
    struct ks_grid *g = calloc(1, sizeof *g);
    int rc;

    if (!g)
        return ks_fail(err, KS_ENOMEM, "no memory for a grid");
    g->job = *job;
    rc = load(g, grid_out, err);
    free(g);
    return rc;
}

int ks_grid_load_text(const char *text, const char *name, struct ks_grid *grid_out,
                      struct ks_err *err)
{
    struct ks_grid *g = calloc(1, sizeof *g);
    int rc;

    if (!g)
        return ks_fail(err, KS_ENOMEM, "no memory for a grid");
    rc = ks_job_parse(text, strlen(text), name, &g->job, err);
    if (rc == 0)
        rc = load(g, grid_out, err);
    free(g);
    return rc;
}

void ks_grid_release(struct ks_grid *g)
{
    free(g->problems);
    free(g->families);
    free(g->instances);
    free(g->by_problem_id);
    free(g->by_instance_id);
    ks_domains_free(g->domains);
    *g = (struct ks_grid){ 0 };
}

uint64_t ks_grid_n_cells(const struct ks_grid *g)
{
    return (uint64_t)g->n_problems * g->n_instances;
}

uint32_t ks_grid_n_built(const struct ks_grid *g)
{
    return g->n_instances + g->n_helpers;
}

int64_t ks_grid_problem(const struct ks_grid *g, uint64_t id)
{
    return find_id(g, g->by_problem_id, g->n_problems, problem_id, id);
}

int64_t ks_grid_instance(const struct ks_grid *g, uint64_t id)
{
    return find_id(g, g->by_instance_id, g->n_instances, instance_id, id);
}

const char *ks_grid_unsupported(const struct ks_grid *g, uint32_t i_problem, uint32_t i_instance)
{
    const struct ks_problem *p = &g->problems[i_problem];
    const struct ks_instance *i = &g->instances[i_instance];
    const struct ks_family *f = &g->families[i->i_family];

    if (p->op != f->i_op)
        return "family is of another operator";
    if (!ks_domain_fits(f, i, p))
        return ks_domains_text(g->domains, i_problem, i_instance);
    if (is_sim(&g->job))
        return NULL;
    if (i->missing[0])
        return i->missing;
    if (!ks_family_serves(f, ks_job_backends[g->job.device.backend]))
        return "family is for another backend than the job's device";
    return NULL;
}
