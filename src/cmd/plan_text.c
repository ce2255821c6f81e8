/* SPDX-License-Identifier: MIT */
/* plan_text.c - what `ksweep plan` says of a job, as text. */
#include "cmd/plan_text.h"

#include "base/wrap.h"
#include "cmd/cmd_util.h"
#include "grid/programs.h"
#include "mpi/progress.h"
#include "mpi/prune.h"
#include "sched/eta.h"
#include "sched/sched.h"

#include <stdio.h>
#include <string.h>

enum {
    TABLE_COLUMNS = 68, /* of the table of problems */
    INDENT = 4          /* of a problem's facts in a list */
};

/* ---- the problems, in the order in which devices take them ---- */

static void put_row(const struct ks_problem *p, uint32_t order, uint32_t n_instances,
                    struct ks_buf *to)
{
    ks_cmd_put(to, "%5u  %-32.32s %9.3f %8lld %9u\n", order, p->name, ks_problem_flops(p) * 1e-9,
               (long long)p->count, n_instances);
}

/* The same facts below the problem's name. */
static void put_entry(const struct ks_problem *p, uint32_t order, uint32_t n_instances,
                      unsigned width, struct ks_buf *to)
{
    char facts[120];
    snprintf(facts, sizeof(facts), "%.3f Gflop, %lld use%s, %u instance%s",
             ks_problem_flops(p) * 1e-9, (long long)p->count, p->count == 1 ? "" : "s", n_instances,
             n_instances == 1 ? "" : "s");
    ks_cmd_put(to, "%u. %s\n", order, p->name);
    ks_buf_printf(to, "%*s", INDENT, "");
    ks_wrap_put(to, facts, INDENT, INDENT, width);
    ks_buf_u8(to, '\n');
}

void ks_plan_problems_text(const struct ks_grid *g, const struct ks_plan_codes *k, bool is_all,
                           unsigned width, struct ks_buf *to)
{
    uint32_t n = is_all || g->n_problems < 10 ? g->n_problems : 10;
    const bool is_table = !width || width >= TABLE_COLUMNS;
    ks_cmd_put(to, "\n");
    if (is_table)
        ks_cmd_put(to, "%5s  %-32s %9s %8s %9s\n", "order", "problem", "Gflop", "uses",
                   "instances");
    for (uint32_t i = 0; i < n; i++) {
        const struct ks_problem p = ks_problem_table_get(&g->problems, i);
        const uint32_t n_instances = ks_plan_n_supported(g, k, i);
        if (is_table)
            put_row(&p, i + 1, n_instances, to);
        else
            put_entry(&p, i + 1, n_instances, width, to);
    }
    if (n < g->n_problems)
        ks_cmd_put(to, "%s... and %u more (--list)\n", is_table ? "       " : "",
                   g->n_problems - n);
}

/* ---- the cells, their time and size ---- */

static void put_seconds(const char *what, double s, struct ks_buf *to)
{
    char text[32];
    ks_progress_time(s, text, sizeof(text));
    ks_cmd_put(to, "%s %s", what, text);
}

static void put_aliases(const struct ks_grid *g, const struct ks_plan_codes *k, uint64_t n_aliased,
                        struct ks_buf *to)
{
    if (k->is_sim)
        return;
    if (k->why[0]) {
        ks_cmd_put(to, "how many of them share machine code is not known: %s\n", k->why);
        return;
    }
    ks_cmd_put(to,
               "%llu of them need not be measured: they have the machine code of another "
               "instance (%u groups",
               (unsigned long long)n_aliased, k->aliases.n_groups);
    if (k->n_built < g->n_instances)
        ks_cmd_put(to, " among the %u of %u instances that are built", k->n_built, g->n_instances);
    ks_cmd_put(to, ")\n");
}

static void put_pruned(const struct ks_grid *g, const struct ks_plan_codes *k, uint64_t n_pruned,
                       struct ks_buf *to)
{
    if (g->job.prune.by != KS_PRUNE_SPILL)
        return;
    if (k->why[0] || k->is_sim)
        ks_cmd_put(to, "cells of kernels that spill registers will be left out; which these are is "
                       "known after the build\n");
    else
        ks_cmd_put(to,
                   "%llu are left out: their kernels spill registers (a share of %g is measured "
                   "as control)\n",
                   (unsigned long long)n_pruned, g->job.prune.control);
}

static bool has_exclude(const struct ks_job *job)
{
    for (uint32_t i = 0; i < job->n_problems; i++)
        if (job->problems[i].n_exclude > 0)
            return true;
    return false;
}

/* Of a grid in which nothing can run. */
static const char *first_reason(const struct ks_grid *g)
{
    for (uint32_t ip = 0; ip < g->n_problems; ip++)
        for (uint32_t ii = 0; ii < g->n_instances; ii++)
            if (ks_grid_has_cell(g, ip, ii))
                return ks_grid_unsupported(g, ip, ii);
    return "";
}

/* An instance's own test says so, which is part of its code. */
static void put_refusals(const struct ks_plan_codes *k, const struct ks_plan_totals *t,
                         uint32_t n_instances, struct ks_buf *to)
{
    const char *why = k->why[0] ? k->why : k->why_refusals;
    if (k->is_sim || !t->n_runnable)
        return;
    if (why[0])
        ks_cmd_put(to, "how many more the instances reject is not known: %s", why);
    else
        ks_cmd_put(to, "%s%llu more are unsupported: the instance rejects the problem",
                   k->refusals.stride > 1 ? "about " : "", (unsigned long long)t->n_refused);
    if (!why[0] && k->n_built < n_instances)
        ks_cmd_put(to, " (of the %u of %u instances that are built)", k->n_built, n_instances);
    ks_cmd_put(to, "\n");
}

static void put_size(const struct ks_grid *g, const struct ks_plan_codes *k,
                     const struct ks_plan_totals *t, struct ks_buf *to)
{
    unsigned long long cells = ks_grid_n_cells(g);
    unsigned long long pairs = (unsigned long long)g->n_problems * g->n_instances;
    uint32_t n_idle = ks_grid_n_idle_instances(g);
    ks_cmd_put(to, "%u problems x %u instances", g->n_problems, g->n_instances);
    if (cells == pairs)
        ks_cmd_put(to, " = %llu cells", cells);
    else
        ks_cmd_put(to, ", %llu of %llu pairs are cells", cells, pairs);
    ks_cmd_put(to, "; %llu cannot run on %s\n", cells - t->n_runnable,
               strcmp(g->job.device.arch, "native") ? g->job.device.arch : "this host");
    if (cells && !t->n_runnable)
        ks_cmd_put(to, "for instance: %s\n", first_reason(g));
    put_refusals(k, t, g->n_instances, to);
    if (t->n_without)
        ks_cmd_put(
            to,
            "%u problems have no cell: no instance computes their direction, dtype, layout and "
            "number of dimensions\n",
            t->n_without);
    if (n_idle)
        ks_cmd_put(
            to,
            "%u instances have no cell: no problem has their operator, direction, dtype, layout "
            "and number of dimensions\n",
            n_idle);
}

/* Nothing is known of a run before it has ended. */
void ks_plan_programs_text(const struct ks_grid *g, struct ks_buf *to)
{
    uint32_t most_s = 0;
    for (uint32_t i = 0; i < g->job.n_kernels; i++)
        if (g->job.kernels[i].program->timeout_s > most_s)
            most_s = g->job.kernels[i].program->timeout_s;
    ks_cmd_put(to, "%s%s%s\n", g->job.name, g->job.why[0] ? ": " : "", g->job.why);
    ks_cmd_put(to, "%u problems x %u runs of programs = %llu cells\n", g->n_problems,
               g->n_instances, (unsigned long long)ks_grid_n_cells(g));
    ks_cmd_put(to,
               "The number of rows and the time of a run are only known after the run; each run "
               "is stopped after %u s (timeout_s).\n",
               most_s);
}

/* By the formula of the log and of `ksweep status`, before anything is known. */
static void put_time(const struct ks_grid *g, const struct ks_plan_codes *k,
                     const struct ks_plan_totals *t, uint32_t devices, struct ks_buf *to)
{
    const struct ks_eta_work w = { .cells_s = t->cells_s,
                                   .error = ks_sched_guess_error(g->n_problems),
                                   .visits_s = t->visits_s,
                                   .n_devices = devices };
    struct ks_eta_time time = ks_eta_left(&(struct ks_eta){ .busy_s = 0 }, &w);
    uint32_t n_missing = k->is_sim ? 0 : g->n_instances - k->n_built;
    put_seconds("about", t->work.work_s, to);
    ks_cmd_put(to, " of device time;");
    put_seconds(" on", time.left_s, to);
    ks_cmd_put(to, " with %u device%s", devices, devices == 1 ? "" : "s");
    ks_cmd_put(to, " (");
    put_seconds("from", time.low_s, to);
    put_seconds(" to", time.high_s, to);
    ks_cmd_put(to, " before anything is measured)");
    if (n_missing)
        put_seconds(", builds of about", ks_eta_builds_s(n_missing, 0, 0, devices), to);
    ks_cmd_put(to, "%s\n", n_missing ? " not counted" : "");
}

static double mib(double bytes)
{
    return bytes / (1 << 20);
}

static void put_disk(const struct ks_plan_work *t, struct ks_buf *to)
{
    ks_cmd_put(to,
               "about %.1f MiB of disk for the results; %.1f MiB if every cell takes all samples, "
               "retries and rounds of the job (lost hosts and --retry add to it)",
               mib(t->disk_bytes), mib(t->most_disk_bytes));
    if (t->cache_bytes > 0)
        ks_cmd_put(to, "; about %.1f MiB for builds in the cache", mib(t->cache_bytes));
    ks_cmd_put(to, "\n");
}

void ks_plan_text(const struct ks_grid *g, const struct ks_plan_codes *k,
                  const struct ks_plan_totals *t, uint32_t devices, struct ks_buf *to)
{
    ks_cmd_put(to, "%s%s%s\n", g->job.name, g->job.why[0] ? ": " : "", g->job.why);
    put_size(g, k, t, to);
    if (has_exclude(&g->job)) /* none is news, too: of lists of another dtype or layout */
        ks_cmd_put(to, "%u problems of the lists are left out by 'exclude'\n", g->n_left_out);
    put_pruned(g, k, t->n_pruned, to);
    put_aliases(g, k, t->n_aliased, to);
    put_time(g, k, t, devices, to);
    if (t->visits_s > 0) {
        put_seconds("about", t->visits_s, to);
        ks_cmd_put(to, " of it for visits, which measure contenders again (at most %u rounds)\n",
                   g->job.rounds.max);
    }
    put_disk(&t->work, to);
    ks_cmd_put(to, "Devices take problems in the order below (uses x flop); a device finishes a "
                   "problem before it takes the next.\n");
    ks_cmd_put(to, "A worker is replaced after %u cells (isolate.batch).\n", g->job.isolate.batch);
}
