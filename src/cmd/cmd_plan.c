/* SPDX-License-Identifier: MIT */
/* cmd_plan.c - ksweep plan: size, time, disk and nodes that a job needs, and its binding */
#include "base/file.h"
#include "build/build.h"
#include "build/libraries.h"
#include "cmd/cmd_util.h"
#include "cmd/plan_binding.h"
#include "cmd/plan_codes.h"
#include "cmd/plan_nodes.h"
#include "cmd/plan_text.h"
#include "grid/grid.h"
#include "grid/plain.h"
#include "grid/programs.h"
#include "mpi/prune.h"
#include "topo/topo.h"

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
      .is_output = true,
      .help = "only write the resolved grid to FILE, for hosts without JSON (docs/grid-file.md)" },
    { .name = "json",
      .type = KS_OPT_BOOL,
      .offset = AT(json),
      .def = "no",
      .help = "print JSON: with --show-binding the map, else time and nodes" },
    KS_OPT_END
};
#undef AT

/* GPUs are on other hosts, mostly. */
static uint32_t default_devices(const struct ks_job *job, struct ks_err *err)
{
    struct ks_topo_host host;
    return !ks_job_is_gpu(job) && ks_topo_read(&host, err) == 0 ? host.n_cores : 1;
}

/* All of it as a person reads it. */
static void put_text(const struct ks_grid *g, const struct ks_plan_codes *k,
                     const struct ks_plan_totals *t, const struct config *c, uint32_t devices,
                     uint32_t per_node, struct ks_buf *to)
{
    const unsigned width = ks_cmd_width();
    struct ks_buf lines;
    ks_buf_init(&lines);
    if (ks_job_runs_programs(&g->job))
        ks_plan_programs_text(g, &lines);
    else
        ks_plan_text(g, k, t, devices, &lines);
    ks_cmd_wrap(to, ks_buf_text(&lines), width);
    ks_plan_problems_text(g, k, c->is_list, width, to);
    if (c->per_node || c->walltime_ms) {
        ks_buf_clear(&lines);
        ks_buf_printf(&lines, "\n");
        ks_plan_nodes_text(&t->work, per_node, c->walltime_ms * 1e-3, &lines);
        ks_cmd_wrap(to, ks_buf_text(&lines), width);
    }
    ks_buf_release(&lines);
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
    else
        put_text(g, k, &t, c, devices, per_node, &b);
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
