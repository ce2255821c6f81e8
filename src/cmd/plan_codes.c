/* SPDX-License-Identifier: MIT */
/* plan_codes.c - what `ksweep plan` knows of a grid before it runs */
#include "cmd/plan_codes.h"

#include "base/file.h"
#include "build/build.h"
#include "mpi/prune.h"
#include "sched/cost.h"
#include "sched/eta.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Cells of one problem: that this host or arch could run, those among them whose instance refuses
 * the problem, how many of the rest are left out, and how many have another one's outcome. */
struct cells {
    uint32_t n_runnable, n_refused, n_pruned, n_aliased;
};

static uint32_t n_to_run(const struct cells *n)
{
    return n->n_runnable - n->n_refused - n->n_pruned - n->n_aliased;
}

static bool is_left_out(const struct ks_grid *g, const struct ks_plan_codes *k, uint32_t i,
                        uint32_t ii)
{
    return g->job.prune.by == KS_PRUNE_SPILL && k->spills && k->spills[ii] &&
           !ks_prune_is_control(ks_problem_table_id(&g->problems, i), g->instances[ii].id,
                                g->job.prune.control);
}

static int find_runnable(const struct ks_grid *g, struct ks_plan_runnable *out, struct ks_err *err)
{
    const uint32_t n = ks_grid_n_domains(g);
    out->is = calloc((size_t)n * g->n_instances + 1, sizeof(*out->is));
    out->n = calloc(n + 1u, sizeof(*out->n));
    if (!out->is || !out->n)
        return ks_fail(err, KS_ENOMEM, "out of memory");
    for (uint32_t d = 0; d < n; d++)
        for (uint32_t k = 0; k < g->n_instances; k++) {
            bool is = !ks_grid_unsupported(g, ks_grid_domain_problem(g, d), k);
            out->is[(size_t)d * g->n_instances + k] = is;
            out->n[d] += is;
        }
    return 0;
}

static const bool *runnable_of(const struct ks_grid *g, const struct ks_plan_codes *codes,
                               uint32_t i)
{
    return codes->runnable.is + (size_t)ks_grid_domain(g, i) * g->n_instances;
}

static uint32_t count_aliased(const struct ks_grid *g, const struct ks_plan_codes *codes,
                              uint32_t i, uint32_t group)
{
    const bool *can_run = codes->can_run;
    const struct ks_aliases *a = &codes->aliases;
    uint32_t n = 0;
    bool has_first = false;
    for (uint32_t k = a->first[group]; k < a->first[group + 1]; k++) {
        uint32_t ii = a->member[k];
        if (!can_run[ii] || is_left_out(g, codes, i, ii))
            continue;
        n += has_first && !ks_alias_is_control(ks_problem_table_id(&g->problems, i),
                                               g->instances[ii].id, g->job.measure.alias_control);
        has_first = true;
    }
    return n;
}

static struct cells count_cells(const struct ks_grid *g, const struct ks_plan_codes *codes,
                                uint32_t i)
{
    const bool *is_here = runnable_of(g, codes, i);
    bool *can_run = codes->can_run;
    struct cells n = { .n_runnable = codes->runnable.n[ks_grid_domain(g, i)] };
    if (!codes->n_built) /* nothing is known of any instance */
        return n;
    for (uint32_t k = 0; k < g->n_instances; k++) {
        can_run[k] = is_here[k] && !ks_refusals_has(&codes->refusals, i, k);
        n.n_refused += is_here[k] && !can_run[k];
    }
    for (uint32_t k = 0; codes->spills && k < g->n_instances; k++)
        n.n_pruned += can_run[k] && is_left_out(g, codes, i, k);
    for (uint32_t group = 0; group < codes->aliases.n_groups; group++)
        n.n_aliased += count_aliased(g, codes, i, group);
    return n;
}

static bool has_cache(const char *asked)
{
    const char *xdg = getenv("XDG_CACHE_HOME"), *home = getenv("HOME");
    char dir[1024];
    if (asked)
        snprintf(dir, sizeof(dir), "%s", asked);
    else if (xdg && *xdg == '/')
        snprintf(dir, sizeof(dir), "%.1000s/ksweep", xdg);
    else
        snprintf(dir, sizeof(dir), "%.1000s/.cache/ksweep", home ? home : "");
    return ks_path_is_dir(dir);
}

static int find_codes(const struct ks_grid *g, const struct ks_build *b, struct ks_plan_codes *out,
                      struct ks_err *err)
{
    struct ks_id128 *code = calloc(g->n_instances + 1u, sizeof(*code));
    out->spills = calloc(g->n_instances + 1u, sizeof(*out->spills));
    if (!code || !out->spills) {
        free(code);
        return ks_fail(err, KS_ENOMEM, "out of memory");
    }
    for (uint32_t i = 0; i < g->n_instances; i++) {
        const struct ks_artefact *art = ks_build_artefact(b, i);
        char why[KS_PRUNE_WHY];
        if (art->state != KS_ART_READY)
            continue;
        out->n_built++;
        code[i] = art->code_id;
        out->spills[i] = ks_prune_spills(art->code.vgpr_spills, art->code.scratch_bytes, why);
    }
    int rc = ks_aliases_make(code, NULL, g->n_instances, &out->aliases, err);
    free(code);
    return rc;
}

/* Whatever stands in the way of knowing is no reason not to plan. */
static void read_codes(const struct ks_grid *g, const struct ks_build_options *o,
                       struct ks_warden *warden, struct ks_plan_codes *out)
{
    struct ks_build *b = NULL;
    struct ks_err err;
    *out = (struct ks_plan_codes){ .is_sim = !ks_job_compiles(&g->job) };
    if (out->is_sim)
        return;
    if (!has_cache(o->cache_dir)) {
        snprintf(out->why, sizeof(out->why), "nothing was built yet");
        return;
    }
    int rc = ks_build_create(g, o, warden, &b, &err);
    if (rc == 0)
        rc = find_codes(g, b, out, &err);
    if (rc < 0)
        snprintf(out->why, sizeof(out->why), "%.190s", err.text);
    else if (!out->n_built)
        snprintf(out->why, sizeof(out->why), "nothing was built yet");
    if (!out->why[0] && ks_refusals_ask(g, b, warden, &out->refusals, &err) < 0)
        snprintf(out->why_refusals, sizeof(out->why_refusals), "%.190s", err.text);
    ks_build_destroy(b);
}

static double cell_s(const struct ks_grid *g, uint32_t i)
{
    const struct ks_problem p = ks_problem_table_get(&g->problems, i);
    return ks_cost_problem_s(&g->job, &p);
}

/* Of a device, with all that it needs beside cells and visits. */
static double whole_s(double work_s)
{
    const struct ks_eta_work w = { .cells_s = work_s, .n_devices = 1 };
    return ks_eta_left(&(struct ks_eta){ .busy_s = 0 }, &w).left_s;
}

#define ANCHORS_SHARE 0.1      /* of the cells: both ends of each block */
#define EMPTY_BYTES   131072.0 /* a results.h5 without rows, and the names of a small grid */
#define HOST_BYTES    16384.0  /* an instance in the build cache, with its share of the unit */
#define GPU_BYTES     65536.0

static void add_disk(const struct ks_grid *g, const struct cells *n, uint32_t i,
                     struct ks_plan_totals *t)
{
    const struct ks_job *job = &g->job;
    const struct ks_problem p = ks_problem_table_get(&g->problems, i);
    const double once = n_to_run(n) * (1 + ANCHORS_SHARE);
    const double again = 1 + job->contention.retries + (job->rounds.max - 1);
    const double rows = KS_COST_ROW_BYTES * ks_grid_n_cells_of(g, i);

    t->work.disk_bytes += rows + once * ks_cost_attempt_bytes(job, &p);
    t->work.most_disk_bytes += rows + once * again * ks_cost_most_attempt_bytes(job);
}

struct ks_plan_totals ks_plan_add_up(const struct ks_grid *g, const struct ks_plan_codes *k)
{
    struct ks_plan_totals t = { .work = { .disk_bytes = EMPTY_BYTES,
                                          .most_disk_bytes = EMPTY_BYTES } };
    for (uint32_t i = 0; i < g->n_problems; i++) {
        struct cells n = count_cells(g, k, i);
        double cell = cell_s(g, i);
        double visits_s = n.n_runnable > n.n_refused + 1 ? ks_cost_visits_s(&g->job, cell) : 0;
        double s = whole_s(n_to_run(&n) * cell + visits_s);
        add_disk(g, &n, i, &t);
        t.n_without += ks_grid_n_cells_of(g, i) == 0;
        t.n_runnable += n.n_runnable;
        t.n_refused += n.n_refused;
        if (n.n_runnable == n.n_refused)
            continue;
        t.n_pruned += n.n_pruned;
        t.n_aliased += n.n_aliased;
        t.cells_s += n_to_run(&n) * cell;
        t.visits_s += visits_s;
        t.work.work_s += s;
        t.work.longest_cell_s = fmax(t.work.longest_cell_s, cell);
        if (s > t.work.longest_s) {
            t.work.longest_s = s;
            t.work.longest = ks_problem_table_name(&g->problems, i);
        }
    }
    if (!k->is_sim)
        t.work.cache_bytes =
            (g->n_instances - k->n_built) * (ks_job_is_gpu(&g->job) ? GPU_BYTES : HOST_BYTES);
    return t;
}

uint32_t ks_plan_n_supported(const struct ks_grid *g, const struct ks_plan_codes *k, uint32_t i)
{
    struct cells n = count_cells(g, k, i);
    return n.n_runnable - n.n_refused;
}

int ks_plan_codes_find(const struct ks_grid *g, const char *cache_dir, bool trust_cache,
                       struct ks_warden *warden, struct ks_plan_codes *out, struct ks_err *err)
{
    const struct ks_build_options o = { .cache_dir = cache_dir, .trust_cache = trust_cache };
    read_codes(g, &o, warden, out);
    out->can_run = calloc(g->n_instances + 1u, sizeof(*out->can_run));
    return out->can_run ? find_runnable(g, &out->runnable, err)
                        : ks_fail(err, KS_ENOMEM, "out of memory");
}

void ks_plan_codes_release(struct ks_plan_codes *k)
{
    ks_refusals_release(&k->refusals);
    free(k->can_run);
    ks_aliases_release(&k->aliases);
    free(k->spills);
    free(k->runnable.is);
    free(k->runnable.n);
}

int ks_plan_work_of(const struct ks_grid *g, const char *cache_dir, struct ks_warden *warden,
                    struct ks_plan_work *out, struct ks_err *err)
{
    struct ks_plan_codes k;
    int rc = ks_plan_codes_find(g, cache_dir, false, warden, &k, err);
    if (rc == 0)
        *out = ks_plan_add_up(g, &k).work;
    ks_plan_codes_release(&k);
    return rc;
}
