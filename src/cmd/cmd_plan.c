/* SPDX-License-Identifier: MIT */
/* cmd_plan.c - ksweep plan: size, time, disk and nodes that a job needs, and its binding */
#include "base/file.h"
#include "build/build.h"
#include "build/libraries.h"
#include "cmd/cmd_util.h"
#include "cmd/plan_binding.h"
#include "cmd/plan_codes.h"
#include "cmd/plan_nodes.h"
#include "grid/grid.h"
#include "grid/plain.h"
#include "grid/programs.h"
#include "mpi/alias.h"
#include "mpi/progress.h"
#include "mpi/prune.h"
#include "mpi/refusals.h"
#include "sched/cost.h"
#include "sched/eta.h"
#include "sched/sched.h"
#include "topo/topo.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct config {
    uint32_t devices, per_node, walltime_ms;
    bool is_list, commands, trust_cache, show_binding, oversubscribe, json;
    unsigned host_domain, prune;
    const char *cache_dir, *backend, *arch, *export_grid;
};
#define AT(member) offsetof(struct config, member)
static const struct ks_opt opts[] = {
    { .name = "devices",
      .letter = 'n',
      .type = KS_OPT_U32,
      .offset = AT(devices),
      .def = "0",
      .min = 0,
      .max = 1e6,
      .arg = "N",
      .help = "number of devices that measure; 0 = the cores of this host, or one GPU" },
    { .name = "per-node",
      .type = KS_OPT_U32,
      .offset = AT(per_node),
      .def = "0",
      .min = 0,
      .max = 1024,
      .arg = "N",
      .help = "print how many nodes with N devices each to request, and for how long" },
    { .name = "walltime",
      .type = KS_OPT_DURATION_MS,
      .offset = AT(walltime_ms),
      .def = "0",
      .min = 0,
      .max = 4e9,
      .arg = "TIME",
      .help = "with --per-node: print the fewest nodes that finish within this time (4h)" },
    { .name = "list",
      .type = KS_OPT_BOOL,
      .offset = AT(is_list),
      .def = "no",
      .help = "list every problem, not only the first ten" },
    { .name = "commands",
      .type = KS_OPT_BOOL,
      .offset = AT(commands),
      .def = "no",
      .help = "for a job that runs programs: print only their command lines, for a shell" },
    { .name = "backend",
      .type = KS_OPT_STR,
      .offset = AT(backend),
      .arg = "NAME",
      .help = "plan for host, hip, cuda or sim instead of the job's backend" },
    { .name = "arch",
      .type = KS_OPT_STR,
      .offset = AT(arch),
      .arg = "ARCH",
      .help = "architecture to use instead of the job's: native, gfx942, sm_90, x86-64-v3, ..." },
    { .name = "prune",
      .type = KS_OPT_ENUM,
      .offset = AT(prune),
      .def = "job",
      .choices = ks_prune_choices,
      .arg = "WHAT",
      .help = "same as for ksweep run" },
    { .name = "cache",
      .type = KS_OPT_STR,
      .offset = AT(cache_dir),
      .arg = "DIR",
      .help = "directory of the build cache, which shows which instances share machine code; "
              "default $XDG_CACHE_HOME/ksweep" },
    { .name = "trust-cache",
      .type = KS_OPT_BOOL,
      .offset = AT(trust_cache),
      .def = "no",
      .help = "use a build cache that other users own or can write" },
    { .name = "show-binding",
      .type = KS_OPT_BOOL,
      .offset = AT(show_binding),
      .def = "no",
      .help = "print only the map of ranks to devices, cores and memory; start it under mpirun or "
              "srun like the run" },
    { .name = "oversubscribe",
      .type = KS_OPT_BOOL,
      .offset = AT(oversubscribe),
      .def = "no",
      .help = "with --show-binding: same as for ksweep run" },
    { .name = "host-domain",
      .type = KS_OPT_ENUM,
      .offset = AT(host_domain),
      .def = "core",
      .choices = ks_host_domains,
      .arg = "DOMAIN",
      .help = "with --show-binding: same as for ksweep run" },
    { .name = "export-grid",
      .type = KS_OPT_STR,
      .offset = AT(export_grid),
      .arg = "FILE",
      .help = "only write the resolved grid to FILE, for hosts without JSON (docs/grid-file.md)" },
    { .name = "json",
      .type = KS_OPT_BOOL,
      .offset = AT(json),
      .def = "no",
      .help = "print JSON: with --show-binding the map, else time and nodes" },
    KS_OPT_END
};
#undef AT

static void print_seconds(const char *what, double s)
{
    char text[32];
    ks_progress_time(s, text, sizeof(text));
    ks_cmd_printf("%s %s", what, text);
}

static void print_problems(const struct ks_grid *g, const struct ks_plan_codes *k, bool is_all)
{
    uint32_t n = is_all || g->n_problems < 10 ? g->n_problems : 10;
    ks_cmd_printf("\n%5s  %-32s %9s %8s %9s\n", "order", "problem", "Gflop", "uses", "instances");
    for (uint32_t i = 0; i < n; i++) {
        const struct ks_problem p = ks_problem_table_get(&g->problems, i);
        ks_cmd_printf("%5u  %-32.32s %9.3f %8lld %9u\n", i + 1, p.name, ks_problem_flops(&p) * 1e-9,
                      (long long)p.count, ks_plan_n_supported(g, k, i));
    }
    if (n < g->n_problems)
        ks_cmd_printf("       ... and %u more (--list)\n", g->n_problems - n);
}

/* GPUs are on other hosts, mostly. */
static uint32_t default_devices(const struct ks_job *job, struct ks_err *err)
{
    struct ks_topo_host host;
    return !ks_job_is_gpu(job) && ks_topo_read(&host, err) == 0 ? host.n_cores : 1;
}

static void print_aliases(const struct ks_grid *g, const struct ks_plan_codes *k,
                          uint64_t n_aliased)
{
    if (k->is_sim)
        return;
    if (k->why[0]) {
        ks_cmd_printf("how many of them share machine code is not known: %s\n", k->why);
        return;
    }
    ks_cmd_printf("%llu of them need not be measured: they have the machine code of another "
                  "instance (%u groups",
                  (unsigned long long)n_aliased, k->aliases.n_groups);
    if (k->n_built < g->n_instances)
        ks_cmd_printf(" among the %u of %u instances that are built", k->n_built, g->n_instances);
    ks_cmd_printf(")\n");
}

static void print_pruned(const struct ks_grid *g, const struct ks_plan_codes *k, uint64_t n_pruned)
{
    if (g->job.prune.by != KS_PRUNE_SPILL)
        return;
    if (k->why[0] || k->is_sim)
        ks_cmd_printf("cells of kernels that spill registers will be left out; which these are is "
                      "known after the build\n");
    else
        ks_cmd_printf("%llu are left out: their kernels spill registers (a share of %g is measured "
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
static void print_refusals(const struct ks_plan_codes *k, const struct ks_plan_totals *t,
                           uint32_t n_instances)
{
    const char *why = k->why[0] ? k->why : k->why_refusals;
    if (k->is_sim || !t->n_runnable)
        return;
    if (why[0])
        ks_cmd_printf("how many more the instances reject is not known: %s", why);
    else
        ks_cmd_printf("%s%llu more are unsupported: the instance rejects the problem",
                      k->refusals.stride > 1 ? "about " : "", (unsigned long long)t->n_refused);
    if (!why[0] && k->n_built < n_instances)
        ks_cmd_printf(" (of the %u of %u instances that are built)", k->n_built, n_instances);
    ks_cmd_printf("\n");
}

static void print_size(const struct ks_grid *g, const struct ks_plan_codes *k,
                       const struct ks_plan_totals *t)
{
    unsigned long long cells = ks_grid_n_cells(g);
    unsigned long long pairs = (unsigned long long)g->n_problems * g->n_instances;
    uint32_t n_idle = ks_grid_n_idle_instances(g);
    ks_cmd_printf("%u problems x %u instances", g->n_problems, g->n_instances);
    if (cells == pairs)
        ks_cmd_printf(" = %llu cells", cells);
    else
        ks_cmd_printf(", %llu of %llu pairs are cells", cells, pairs);
    ks_cmd_printf("; %llu cannot run on %s\n", cells - t->n_runnable,
                  strcmp(g->job.device.arch, "native") ? g->job.device.arch : "this host");
    if (cells && !t->n_runnable)
        ks_cmd_printf("for instance: %s\n", first_reason(g));
    print_refusals(k, t, g->n_instances);
    if (t->n_without)
        ks_cmd_printf(
            "%u problems have no cell: no instance computes their direction, dtype, layout and "
            "number of dimensions\n",
            t->n_without);
    if (n_idle)
        ks_cmd_printf(
            "%u instances have no cell: no problem has their operator, direction, dtype, layout "
            "and number of dimensions\n",
            n_idle);
}

/* Nothing is known of a run before it has ended. */
static void print_programs(const struct ks_grid *g, const struct ks_plan_codes *k, bool is_all)
{
    uint32_t most_s = 0;
    for (uint32_t i = 0; i < g->job.n_kernels; i++)
        if (g->job.kernels[i].program->timeout_s > most_s)
            most_s = g->job.kernels[i].program->timeout_s;
    ks_cmd_printf("%s%s%s\n", g->job.name, g->job.why[0] ? ": " : "", g->job.why);
    ks_cmd_printf("%u problems x %u runs of programs = %llu cells\n", g->n_problems, g->n_instances,
                  (unsigned long long)ks_grid_n_cells(g));
    ks_cmd_printf("The number of rows and the time of a run are only known after the run; each run "
                  "is stopped after %u s (timeout_s).\n",
                  most_s);
    print_problems(g, k, is_all);
}

/* By the formula of the log and of `ksweep status`, before anything is known. */
static void print_time(const struct ks_grid *g, const struct ks_plan_codes *k,
                       const struct ks_plan_totals *t, uint32_t devices)
{
    const struct ks_eta_work w = { .cells_s = t->cells_s,
                                   .error = ks_sched_guess_error(g->n_problems),
                                   .visits_s = t->visits_s,
                                   .n_devices = devices };
    struct ks_eta_time time = ks_eta_left(&(struct ks_eta){ .busy_s = 0 }, &w);
    uint32_t n_missing = k->is_sim ? 0 : g->n_instances - k->n_built;
    print_seconds("about", t->work.work_s);
    ks_cmd_printf(" of device time;");
    print_seconds(" on", time.left_s);
    ks_cmd_printf(" with %u device%s", devices, devices == 1 ? "" : "s");
    ks_cmd_printf(" (");
    print_seconds("from", time.low_s);
    print_seconds(" to", time.high_s);
    ks_cmd_printf(" before anything is measured)");
    if (n_missing)
        print_seconds(", builds of about", ks_eta_builds_s(n_missing, 0, 0, devices));
    ks_cmd_printf("%s\n", n_missing ? " not counted" : "");
}

static double mib(double bytes)
{
    return bytes / (1 << 20);
}

static void print_disk(const struct ks_plan_work *t)
{
    ks_cmd_printf(
        "about %.1f MiB of disk for the results; %.1f MiB if every cell takes all samples, "
        "retries and rounds of the job (lost hosts and --retry add to it)",
        mib(t->disk_bytes), mib(t->most_disk_bytes));
    if (t->cache_bytes > 0)
        ks_cmd_printf("; about %.1f MiB for builds in the cache", mib(t->cache_bytes));
    ks_cmd_printf("\n");
}

static void print_plan(const struct ks_grid *g, const struct ks_plan_codes *k,
                       const struct ks_plan_totals *t, uint32_t devices, bool is_all)
{
    ks_cmd_printf("%s%s%s\n", g->job.name, g->job.why[0] ? ": " : "", g->job.why);
    print_size(g, k, t);
    if (has_exclude(&g->job)) /* none is news, too: of lists of another dtype or layout */
        ks_cmd_printf("%u problems of the lists are left out by 'exclude'\n", g->n_left_out);
    print_pruned(g, k, t->n_pruned);
    print_aliases(g, k, t->n_aliased);
    print_time(g, k, t, devices);
    if (t->visits_s > 0) {
        print_seconds("about", t->visits_s);
        ks_cmd_printf(" of it for visits, which measure contenders again (at most %u rounds)\n",
                      g->job.rounds.max);
    }
    print_disk(&t->work);
    ks_cmd_printf("Devices take problems in the order below (uses x flop); a device finishes a "
                  "problem before it takes the next.\n");
    ks_cmd_printf("A worker is replaced after %u cells (isolate.batch).\n", g->job.isolate.batch);
    print_problems(g, k, is_all);
}

static int show(const struct ks_grid *g, const struct ks_plan_codes *k, const struct config *c,
                struct ks_err *err)
{
    struct ks_plan_totals t = ks_plan_add_up(g, k);
    uint32_t devices = c->devices ? c->devices : default_devices(&g->job, err);
    uint32_t per_node = c->per_node ? c->per_node : devices;
    struct ks_buf b;
    ks_buf_init(&b);
    if (c->json)
        ks_plan_nodes_json(&t.work, per_node, c->walltime_ms * 1e-3, &b);
    else if (ks_job_runs_programs(&g->job))
        print_programs(g, k, c->is_list);
    else
        print_plan(g, k, &t, devices, c->is_list);
    if (!c->json && (c->per_node || c->walltime_ms)) {
        ks_buf_printf(&b, "\n");
        ks_plan_nodes_text(&t.work, per_node, c->walltime_ms * 1e-3, &b);
    }
    int rc = ks_emit(&b, NULL, err);
    ks_buf_release(&b);
    return rc < 0 ? rc : t.n_runnable > t.n_refused ? KS_EXIT_OK : KS_EXIT_LOOK;
}

static int export_grid(const struct ks_grid *g, const char *file, struct ks_err *err)
{
    struct ks_buf text;
    int rc;
    ks_buf_init(&text);
    rc = ks_plain_write(g, &text, err);
    if (rc == 0)
        rc = ks_emit(&text, file, err);
    ks_buf_release(&text);
    return rc;
}

static int show_commands(const struct ks_grid *g, struct ks_err *err)
{
    struct ks_buf text;
    uint64_t n_left_out = 0;
    if (!ks_job_runs_programs(&g->job))
        return ks_fail(err, KS_EINVAL,
                       "--commands: the job runs no programs that time their own kernels");
    ks_buf_init(&text);
    int rc = ks_programs_commands(g, &text, &n_left_out, err);
    if (rc == 0 && n_left_out)
        ks_buf_printf(&text, "# %llu problems are left out because the program cannot run them\n",
                      (unsigned long long)n_left_out);
    if (rc == 0)
        rc = ks_emit(&text, NULL, err);
    ks_buf_release(&text);
    return rc;
}

static int show_binding(const struct ks_grid *g, const struct config *c, struct ks_warden *warden,
                        struct ks_err *err)
{
    struct ks_seat_options o = { .domain = (enum ks_host_domain)c->host_domain,
                                 .oversubscribe = c->oversubscribe,
                                 .has_threads = ks_grid_has_threads(g) };
    return ks_plan_binding(&g->job, &o, c->json, warden, err);
}

static int show_plan(const struct ks_grid *g, const struct config *c, struct ks_warden *warden,
                     struct ks_err *err)
{
    struct ks_plan_codes k;
    int rc = ks_plan_codes_find(g, c->cache_dir, c->trust_cache, warden, &k, err);
    if (rc == 0)
        rc = show(g, &k, c, err);
    ks_plan_codes_release(&k);
    return rc;
}

/* A plan is often made on a host that is to run nothing: what only lacks libraries there, or is
 * made for another machine, is no error. */
static void warn_of_libraries(const struct ks_grid *g, const struct ks_cmd_env *env)
{
    struct ks_err why;
    if (ks_libraries_check(g, env->warden, &why) < 0)
        ks_logf(&env->log, KS_WARN, "%s; 'ksweep run' would fail on this host", why.text);
}

static int plan(struct ks_call *call, struct ks_err *err)
{
    const struct ks_cmd_env *env = call->env;
    const struct config *c = call->cfg;
    struct ks_grid g;
    int rc = ks_cmd_grid(env->warden, call->operands[0], c->backend, c->arch, &g, err);
    if (rc < 0)
        return rc;
    ks_prune_choose(c->prune, &g.job.prune.by);
    rc = ks_programs_check(&g, NULL, NULL, err);
    if (rc < 0)
        goto out;
    warn_of_libraries(&g, env);
    if (c->commands)
        rc = show_commands(&g, err);
    else if (c->export_grid)
        rc = export_grid(&g, c->export_grid, err);
    else if (c->show_binding)
        rc = show_binding(&g, c, env->warden, err);
    else
        rc = show_plan(&g, c, env->warden, err);
out:
    ks_grid_release(&g);
    return rc;
}

const struct ks_command ks_cmd_plan = {
    .name = "plan",
    .summary = "Show what a job would measure and how long it may take; writes nothing but the "
               "file of --export-grid.",
    .usage =
        "plan JOB [--backend NAME] [--arch ARCH] [--devices N] [--per-node N [--walltime TIME]] "
        "[--list | --commands] [--json] [--cache DIR] [--show-binding] [--export-grid FILE]",
    .opts = opts,
    .cfg_size = sizeof(struct config),
    .n_min = 1,
    .n_max = 1,
    .run = plan,
    .needs_warden = true,
};
