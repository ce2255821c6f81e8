/* SPDX-License-Identifier: MIT */
/* cmd_slurm.c - ksweep slurm: writes a batch script with nodes and time limit from the plan */
#include "base/file.h"
#include "base/text.h"
#include "cmd/cmd_util.h"
#include "cmd/plan_nodes.h"
#include "grid/grid.h"
#include "topo/topo.h"

#include <inttypes.h>
#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define LEAD_S          300.0   /* the scripts stop measuring so long before the end */
#define USUAL_MOST_S    86400.0 /* without --walltime: what most partitions allow */
#define GPUS_PER_NODE   8u
#define SITE_CHARACTERS "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-.,:/@+"

struct config {
    uint32_t nodes, per_node, walltime_ms;
    bool chain;
    const char *dir, *script, *partition, *account, *backend, *arch, *cache_dir;
};
#define AT(member) offsetof(struct config, member)
static const struct ks_opt opts[] = {
    { .name = "nodes",
      .letter = 'N',
      .type = KS_OPT_U32,
      .offset = AT(nodes),
      .def = "0",
      .min = 0,
      .max = 1e6,
      .arg = "N",
      .help = "number of nodes; 0 = the fewest that complete the sweep within --walltime" },
    { .name = "per-node",
      .type = KS_OPT_U32,
      .offset = AT(per_node),
      .def = "0",
      .min = 0,
      .max = 1024,
      .arg = "N",
      .help = "devices per node, one rank each; 0 = 8 GPUs, or the cores of this host" },
    { .name = "walltime",
      .type = KS_OPT_DURATION_MS,
      .offset = AT(walltime_ms),
      .def = "0",
      .min = 0,
      .max = 4e9,
      .arg = "TIME",
      .help = "time limit of one Slurm job (4h); 0 = as planned, at most 24 h; further jobs "
              "continue the sweep until it is complete" },
    { .name = "out",
      .letter = 'o',
      .type = KS_OPT_STR,
      .offset = AT(dir),
      .arg = "DIR",
      .help = "directory of the run, on a file system that all nodes share; default ./<job "
              "name>.ksweep" },
    { .name = "script",
      .type = KS_OPT_STR,
      .offset = AT(script),
      .arg = "FILE",
      .is_output = true,
      .help = "write the script to FILE instead of standard output" },
    { .name = "partition",
      .type = KS_OPT_STR,
      .offset = AT(partition),
      .arg = "NAME",
      .help = "partition; without it the script has a line to fill in" },
    { .name = "account",
      .type = KS_OPT_STR,
      .offset = AT(account),
      .arg = "NAME",
      .help = "account; without it the script has a line to fill in" },
    { .name = "chain",
      .type = KS_OPT_BOOL,
      .offset = AT(chain),
      .def = "no",
      .help = "for sites where jobs cannot be requeued: each job submits its successor" },
    { .name = "backend",
      .type = KS_OPT_STR,
      .offset = AT(backend),
      .arg = "NAME",
      .help = "same as for ksweep run" },
    { .name = "arch",
      .type = KS_OPT_STR,
      .offset = AT(arch),
      .arg = "ARCH",
      .help = "same as for ksweep run" },
    { .name = "cache",
      .type = KS_OPT_STR,
      .offset = AT(cache_dir),
      .arg = "DIR",
      .help = "directory of the build cache, for the plan and for the run; default "
              "$XDG_CACHE_HOME/ksweep" },
    KS_OPT_END
};
#undef AT

/* What the script asks for. */
struct request {
    struct ks_plan_fit fit;
    uint32_t per_node;
    bool is_gpu, is_complete; /* complete: in one job */
    char time[32];
};

static uint32_t devices_of(const struct ks_grid *g, const struct config *c)
{
    struct ks_topo_host host;

    if (c->per_node)
        return c->per_node;
    if (ks_job_is_gpu(&g->job))
        return GPUS_PER_NODE;
    return ks_topo_read(&host, NULL) == 0 ? host.n_cores : 1;
}

/* A limit within which not even the longest cell is sure to end would be requeued for ever. */
static int check_walltime(const struct ks_plan_work *w, double walltime_s, struct ks_err *err)
{
    const double least_s = ceil((LEAD_S + KS_PLAN_MARGIN * w->longest_cell_s) / 60) * 60;

    if (walltime_s >= least_s)
        return 0;
    return ks_fail(err, KS_EINVAL,
                   "--walltime %.0fs is too short: measuring stops %.0f s before the time limit, "
                   "and the longest cell may take %.0f s; give at least %.0fm",
                   walltime_s, LEAD_S, ceil(w->longest_cell_s), least_s / 60);
}

/* A name ends at a blank, and a further line would be another option of sbatch. */
static int check_site(const char *option, const char *name, struct ks_err *err)
{
    if (!name || (name[0] && strspn(name, SITE_CHARACTERS) == strlen(name)))
        return 0;
    return ks_fail(
        err, KS_EINVAL,
        "--%s '%s' is not a name of Slurm: use letters, digits and the characters _-.,:/@+", option,
        name);
}

static int choose(const struct ks_grid *g, const struct config *c, const struct ks_plan_work *w,
                  struct request *out, struct ks_err *err)
{
    const double asked_s = c->walltime_ms * 1e-3, limit_s = asked_s > 0 ? asked_s : USUAL_MOST_S;
    struct request r = { .per_node = devices_of(g, c), .is_gpu = ks_job_is_gpu(&g->job) };
    int rc = check_walltime(w, limit_s, err);

    if (rc == 0 && w->work_s <= 0 && !ks_job_runs_programs(&g->job))
        rc = ks_fail(err, KS_EINVAL,
                     "nothing of this job can run on %s: ksweep plan says why (for other machines "
                     "than this one: --arch)",
                     strcmp(g->job.device.arch, "native") ? g->job.device.arch : "this host");
    if (rc < 0)
        return rc;
    r.is_complete = ks_plan_fit_walltime(w, r.per_node, limit_s, &r.fit);
    if (c->nodes) {
        r.fit = ks_plan_fit_nodes(w, r.per_node, c->nodes);
        r.is_complete = (double)r.fit.request_s <= limit_s;
    }
    if (asked_s > 0 || !r.is_complete)
        r.fit.request_s = (uint64_t)limit_s;
    ks_plan_request_text(r.fit.request_s, r.time, sizeof(r.time));
    *out = r;
    return 0;
}

static void put_option(struct ks_buf *to, const char *why, const char *option, const char *value)
{
    ks_buf_printf(to, "# %s\n#SBATCH --%s%s%s\n", why, option, value ? "=" : "",
                  value ? value : "");
}

/* Two signs of a comment: Slurm does not read it until one is removed. */
static void put_site(struct ks_buf *to, const char *option, const char *value)
{
    if (value)
        ks_buf_printf(to, "#SBATCH --%s=%s\n", option, value);
    else
        ks_buf_printf(to, "##SBATCH --%s=NAME\n", option);
}

static void put_number(struct ks_buf *to, const char *why, const char *option, uint32_t n)
{
    char text[16];

    snprintf(text, sizeof(text), "%u", n);
    put_option(to, why, option, text);
}

static void put_options(const struct ks_grid *g, const struct config *c, const struct request *r,
                        struct ks_buf *to)
{
    put_option(to, "name of the job in squeue", "job-name", g->job.name);
    put_option(to, "one log for all starts of the job", "output", "%x-%j.log");
    put_option(to, "append to the log when the job is requeued", "open-mode", "append");
    put_option(
        to,
        r->is_complete
            ? "time limit: the planned time, plus a quarter, plus five minutes for start and end"
            : "time limit of one job; the sweep needs several in a row",
        "time", r->time);
    put_number(to, "nodes; 'ksweep plan JOB --per-node N' shows how many can be used", "nodes",
               r->fit.nodes);
    put_number(to, r->is_gpu ? "one rank per GPU" : "one rank per core that measures",
               "ntasks-per-node", r->per_node);
    if (r->is_gpu)
        put_number(to, "all of a node's GPUs", "gpus-per-node", r->per_node);
    put_option(to, "other jobs on the node would disturb the times", "exclusive", NULL);
    put_option(to, "signal the script 300 s before the time limit; lead_s below must be the same",
               "signal", "B:USR1@300");
    put_option(to, "a failed node ends its ranks, not the job", "no-kill", NULL);
    put_option(to,
               c->chain ? "do not requeue: each job submits its successor"
                        : "requeue the job until every cell has an outcome",
               c->chain ? "no-requeue" : "requeue", NULL);
    ks_buf_printf(to, "# for your site: fill in the name and remove one #, or delete the line\n");
    put_site(to, "partition", c->partition);
    put_site(to, "account", c->account);
}

static void put_assignment(struct ks_buf *to, const char *name, const char *value, const char *why)
{
    ks_buf_printf(to, "%s=", name);
    ks_shell_put(to, value);
    ks_buf_printf(to, "  # %s\n", why);
}

static int absolute(const char *path, char out[PATH_MAX], struct ks_err *err)
{
    char here[PATH_MAX];

    if (!getcwd(here, sizeof(here)))
        return ks_fail_errno(err, "the current directory");
    return ks_path_join(out, PATH_MAX, here, path, err);
}

static void put_run_option(struct ks_buf *to, const char *option, const char *value)
{
    if (!value)
        return;
    ks_buf_printf(to, " %s ", option);
    ks_shell_put(to, value);
}

/* What `ksweep run` and `ksweep plan` get in the batch job. The job may start in another directory.
 */
static int put_run_options(const struct config *c, struct ks_buf *to, struct ks_err *err)
{
    char cache[PATH_MAX];
    int rc = c->cache_dir ? absolute(c->cache_dir, cache, err) : 0;

    if (rc < 0 || (!c->backend && !c->arch && !c->cache_dir))
        return rc;
    ks_buf_printf(to, "ks_options=(");
    put_run_option(to, "--backend", c->backend);
    put_run_option(to, "--arch", c->arch);
    put_run_option(to, "--cache", c->cache_dir ? cache : NULL);
    ks_buf_printf(to, " )  # options of ksweep run\n");
    return 0;
}

/* What every script ends with: the shared part lies beside the program. */
static const char tail[] =
    "\n# Do not edit below: slurm/common.sh runs the sweep, checks its status, and continues "
    "it.\nbin=$(dirname \"$(command -v \"$ksweep\")\")\nfor dir in \"$bin/../share/ksweep/slurm\" "
    "\"$bin/../../slurm\"; do\n    [ -r \"$dir/common.sh\" ] && . \"$dir/common.sh\" && "
    "break\ndone\n[ \"$(type -t ks_main)\" = function ] || { echo \"common.sh was not found; is "
    "ksweep=$ksweep correct?\"; exit 2; }\n";

/* job_path: as named; a bare name stands for an installed job, whose file the grid knows. */
static int put_script(const struct ks_grid *g, const struct config *c, const char *job_path,
                      const struct request *r, struct ks_buf *to, struct ks_err *err)
{
    char job[PATH_MAX], dir[PATH_MAX], program[PATH_MAX], name[160];
    int rc = absolute(ks_path_exists(job_path) ? job_path : g->job.path, job, err);

    snprintf(name, sizeof(name), "%s.ksweep", g->job.name);
    if (rc == 0)
        rc = absolute(c->dir ? c->dir : name, dir, err);
    if (rc == 0)
        rc = ks_program_dir(program, sizeof(program), err);
    if (rc < 0)
        return rc;
    strncat(program, "/ksweep", sizeof(program) - strlen(program) - 1);
    ks_buf_printf(to, "#!/usr/bin/env bash\n# %u problems x %u instances with %u x %u ranks: ",
                  g->n_problems, g->n_instances, r->fit.nodes, r->per_node);
    if (ks_job_runs_programs(&g->job))
        ks_buf_printf(to, "how long its programs run is not known before.\n");
    else
        ks_buf_printf(to, "about %.0f min of measuring.\n", ceil(r->fit.expected_s / 60));
    ks_buf_printf(to, "# Submit with: sbatch FILE\n");
    put_options(g, c, r, to);
    ks_buf_printf(to, "\n# load the modules that your site has for MPI, HDF5 and hwloc:\n# module "
                      "load openmpi hdf5 hwloc\n\n");
    put_assignment(to, "job", job, "the job file");
    put_assignment(to, "out", dir, "directory of the run, on a file system that all nodes share");
    put_assignment(to, "ksweep", program, "the program, or its path");
    ks_buf_printf(to, "lead_s=300  # the same as after USR1@ above\ntries=3  # give up after so "
                      "many starts without a new outcome\n");
    rc = put_run_options(c, to, err);
    ks_buf_printf(to, "%s%s\n", tail, c->chain ? "ks_chain \"$0\" \"$@\"" : "ks_main");
    return rc;
}

static int write_script(const struct ks_grid *g, const struct config *c, const char *job,
                        struct ks_warden *warden, struct ks_err *err)
{
    struct ks_plan_work work;
    struct request r;
    struct ks_buf text;
    int rc = ks_plan_work_of(g, c->cache_dir, warden, &work, err);

    ks_buf_init(&text);
    if (rc == 0)
        rc = choose(g, c, &work, &r, err);
    if (rc == 0)
        rc = put_script(g, c, job, &r, &text, err);
    if (rc == 0)
        rc = ks_emit(&text, c->script, err);
    ks_buf_release(&text);
    return rc;
}

static int slurm(struct ks_call *call, struct ks_err *err)
{
    const struct ks_cmd_env *env = call->env;
    const struct config *c = call->cfg;
    struct ks_grid g;
    int rc = check_site("partition", c->partition, err);

    if (rc == 0)
        rc = check_site("account", c->account, err);
    if (rc == 0)
        rc = ks_cmd_grid(env->warden, call->operands[0], c->backend, c->arch, &g, err);
    if (rc < 0)
        return rc;
    rc = write_script(&g, c, call->operands[0], env->warden, err);
    ks_grid_release(&g);
    return rc < 0 ? rc : KS_EXIT_OK;
}

const struct ks_command ks_cmd_slurm = {
    .name = "slurm",
    .summary = "Write a Slurm batch script for a job, with nodes and time limit from its plan.",
    .usage = "slurm JOB [--nodes N] [--per-node N] [--walltime TIME] [--out DIR] [--script FILE]",
    .opts = opts,
    .cfg_size = sizeof(struct config),
    .n_min = 1,
    .n_max = 1,
    .run = slurm,
    .needs_warden = true,
};
