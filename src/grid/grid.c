/* SPDX-License-Identifier: MIT */
/* grid.c - a grid's ids, digest and condition, its lookups, and which of its cells exist */
#include "grid/grid.h"

#include "base/hash.h"
#include "base/order.h"
#include "grid/arch.h"
#include "grid/domains.h"
#include "grid/family_store.h"
#include "grid/grid_impl.h"
#include "grid/helpers.h"

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

/* What a GPU's "native" is must be found out before: instances are checked against it. */
int ks_grid_check_arch(const struct ks_job *job, struct ks_err *err)
{
    const struct ks_backend *b = ks_job_backend(job);

    if (ks_job_is_gpu(job) && strcmp(job->device.arch_text, KS_ARCH_NATIVE) == 0)
        return ks_fail(err, KS_EINVAL,
                       "'native' cannot be resolved: this host shows no device of backend %s; name "
                       "an arch, such as %s%s",
                       b->name, ks_arch_example(b->archs),
                       b->archs == KS_ARCHS_AMD ? ", or " KS_ARCH_EMULATOR : "");
    return ks_arch_check(b, job->device.arch_text, err);
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

    return ks_compare_u64(x->id, y->id);
}

static uint64_t problem_id(const struct ks_grid *g, uint32_t i)
{
    return ks_problem_table_id(&g->problems, i);
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

int ks_grid_digest(const struct ks_grid *g, uint64_t condition, uint64_t *digest_out,
                   struct ks_err *err)
{
    struct ks_buf b;
    bool is_ok;

    ks_buf_init(&b);
    ks_buf_u64(&b, condition);
    ks_buf_u64(&b, g->n_problems);
    for (uint32_t i = 0; i < g->n_problems; i++)
        ks_buf_u64(&b, problem_id(g, g->by_problem_id[i]));
    for (uint32_t i = 0; i < g->n_instances; i++)
        ks_buf_u64(&b, instance_id(g, g->by_instance_id[i]));
    is_ok = ks_buf_ok(&b);
    if (is_ok)
        *digest_out = ks_id64(b.data, b.len);
    ks_buf_release(&b);
    return is_ok ? 0 : ks_fail(err, KS_ENOMEM, "no memory for the digest of a grid");
}

static int set_condition(struct ks_grid *g, struct ks_err *err)
{
    struct ks_buf text;
    bool is_ok;

    ks_buf_init(&text);
    ks_condition_canonical(&g->job, &text);
    is_ok = ks_buf_ok(&text);
    if (is_ok)
        g->condition = ks_id64(text.data, text.len);
    ks_buf_release(&text);
    return is_ok ? 0 : ks_fail(err, KS_ENOMEM, "no memory for the condition of a grid");
}

static int sort_all_ids(struct ks_grid *g, struct ks_err *err)
{
    g->by_problem_id = sort_ids(g, g->n_problems, problem_id);
    g->by_instance_id = sort_ids(g, g->n_instances, instance_id);
    if (!g->by_problem_id || !g->by_instance_id)
        return ks_fail(err, KS_ENOMEM, "no memory for the index of a grid");
    return 0;
}

/* Which problems the instances compute. A job none of whose cells exists is a mistake. */
static int find_cells(struct ks_grid *g, struct ks_err *err)
{
    struct ks_buf why;
    int rc = ks_domains_create(g, &g->domains, err);

    if (rc < 0 || g->n_instances == 0 || ks_grid_n_cells(g) > 0)
        return rc;
    ks_buf_init(&why);
    ks_grid_no_cell(g, 0, 0, &why);
    rc = ks_fail(err, KS_EINVAL,
                 "no instance of the job computes any of its problems; for example, %s: choose "
                 "other kernels, or another dtype, layout or directions of the problems",
                 ks_buf_text(&why));
    ks_buf_release(&why);
    return rc;
}

int ks_grid_index(struct ks_grid *g, struct ks_err *err)
{
    int rc;

    g->job.device.arch = g->job.device.arch_text;
    g->job.isolate.batch = ks_job_batch(&g->job);
    rc = sort_all_ids(g, err);
    if (rc == 0)
        rc = set_condition(g, err);
    if (rc == 0)
        rc = ks_grid_digest(g, g->condition, &g->digest, err);
    return rc < 0 ? rc : find_cells(g, err);
}

void ks_grid_release(struct ks_grid *g)
{
    ks_problem_table_release(&g->problems);
    ks_families_free(g->families, g->n_families);
    free(g->instances);
    free(g->by_problem_id);
    free(g->by_instance_id);
    ks_domains_free(g->domains);
    ks_job_release(&g->job);
    *g = (struct ks_grid){ 0 };
}

bool ks_grid_has_cell(const struct ks_grid *g, uint32_t i_problem, uint32_t i_instance)
{
    return !g->domains || ks_domains_fit(g->domains, i_problem, i_instance);
}

uint32_t ks_grid_n_domains(const struct ks_grid *g)
{
    return g->domains ? ks_domains_n(g->domains) : 1;
}

uint32_t ks_grid_domain(const struct ks_grid *g, uint32_t i_problem)
{
    return g->domains ? ks_domains_of(g->domains, i_problem) : 0;
}

uint32_t ks_grid_domain_problem(const struct ks_grid *g, uint32_t domain)
{
    return g->domains ? ks_domains_first(g->domains, domain) : 0;
}

bool ks_grid_is_used(const struct ks_grid *g, uint32_t i_instance)
{
    return !g->domains || i_instance >= g->n_instances ||
           ks_domains_fits_any(g->domains, i_instance);
}

void ks_grid_no_cell(const struct ks_grid *g, uint32_t i_problem, uint32_t i_instance,
                     struct ks_buf *text_out)
{
    ks_domains_say(g->domains, i_problem, i_instance, text_out);
}

uint64_t ks_grid_n_cells(const struct ks_grid *g)
{
    return g->domains ? ks_domains_n_fits(g->domains) : (uint64_t)g->n_problems * g->n_instances;
}

uint32_t ks_grid_n_cells_of(const struct ks_grid *g, uint32_t i_problem)
{
    return g->domains ? ks_domains_n_fits_of(g->domains, i_problem) : g->n_instances;
}

uint32_t ks_grid_n_idle_instances(const struct ks_grid *g)
{
    return g->domains ? ks_domains_n_idle(g->domains) : 0;
}

uint32_t ks_grid_n_built(const struct ks_grid *g)
{
    return g->n_instances + g->n_helpers;
}

bool ks_grid_has_threads(const struct ks_grid *g)
{
    for (uint32_t i = 0; i < g->n_instances; i++)
        if (ks_instance_threads(&g->families[g->instances[i].i_family], &g->instances[i]) > 1)
            return true;
    return false;
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
    const struct ks_instance *i = &g->instances[i_instance];
    const struct ks_family *f = &g->families[i->i_family];

    if (!ks_grid_has_cell(g, i_problem, i_instance))
        return "the instance is for other problems";
    if (!ks_job_compiles(&g->job))
        return NULL;
    if (i->missing[0])
        return i->missing;
    if (!ks_family_serves(f, ks_job_backend(&g->job)))
        return "family is for another backend than the job's device";
    return NULL;
}
