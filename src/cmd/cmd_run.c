/* SPDX-License-Identifier: MIT */
/* cmd_run.c - ksweep run: runs the sweep as one rank or as the parent of ranks, then gathers */
#include "base/clock.h"
#include "base/file.h"
#include "base/text.h"
#include "cmd/cmd_util.h"
#include "cmd/run_command.h"
#include "cmd/run_parent.h"
#include "cmd/status_file.h"
#include "grid/job.h"
#include "mpi/chaos.h"
#include "mpi/farewell.h"
#include "mpi/launch.h"
#include "mpi/prune.h"
#include "mpi/run.h"
#include "mpi/show.h"
#include "spawn/parent_link.h"
#include "spawn/warden.h"
#include "store/store.h"
#include "topo/bind.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define AT(member) offsetof(struct ks_run_options, member)
static const struct ks_opt opts[] = {
    { .name = "ranks",
      .letter = 'n',
      .type = KS_OPT_U32,
      .offset = AT(n_ranks),
      .def = "0",
      .min = 0,
      .max = 1024,
      .arg = "N",
      .help = "start N ranks on this host and exit with the status of the sweep; 0: run as a "
              "single rank, or as one of those that mpirun or srun started" },
    { .name = "out",
      .letter = 'o',
      .type = KS_OPT_STR,
      .offset = AT(dir),
      .arg = "DIR",
      .help = "directory for the journal and the results; default ./<job name>.ksweep" },
    { .name = "resume",
      .type = KS_OPT_BOOL,
      .offset = AT(resume),
      .def = "no",
      .help = "continue the run in DIR; final outcomes are kept" },
    { .name = "extend",
      .type = KS_OPT_BOOL,
      .offset = AT(extend),
      .def = "no",
      .help = "resume with a job that has more problems or instances than the run" },
    { .name = "retry",
      .type = KS_OPT_STR,
      .offset = AT(retry),
      .arg = "OUTCOME,...",
      .help = "resume, and measure the cells with these outcomes again; contaminated: ok cells "
              "that were disturbed" },
    { .name = "repeat",
      .type = KS_OPT_U32,
      .offset = AT(repeat),
      .def = "0",
      .min = 0,
      .max = KS_JOB_REPEATS,
      .arg = "N",
      .help = "for programs that time their own kernels: N runs per problem; 0 = as in the job" },
    { .name = "progress",
      .type = KS_OPT_ENUM,
      .offset = AT(progress),
      .def = "auto",
      .choices = ks_show_choices,
      .arg = "HOW",
      .help = "bar: one line rewritten in place; lines: log lines; none: nothing; auto: bar if "
              "standard error is a terminal, else lines" },
    { .name = "max-time",
      .type = KS_OPT_DURATION_MS,
      .offset = AT(max_time_ms),
      .def = "0",
      .min = 0,
      .max = 4e9,
      .arg = "TIME",
      .help = "time limit (30m, 8h): start no work that would end later; 0 = until "
              "$SLURM_JOB_END_TIME less --grace, else no limit" },
    { .name = "grace",
      .type = KS_OPT_DURATION_MS,
      .offset = AT(grace_ms),
      .def = "20s",
      .min = 0,
      .max = 4e9,
      .arg = "TIME",
      .help =
          "after a signal: gather the results only if that is expected to take at most this long" },
    { .name = "oversubscribe",
      .type = KS_OPT_BOOL,
      .offset = AT(oversubscribe),
      .def = "no",
      .help = "let ranks without a device or core of their own share one; their rows are flagged" },
    { .name = "host-domain",
      .type = KS_OPT_ENUM,
      .offset = AT(host_domain),
      .def = "core",
      .choices = ks_host_domains,
      .arg = "DOMAIN",
      .help = "host backend: what one rank measures on: a core, all cores of a last-level cache "
              "(l3), or a socket" },
    { .name = "take-over",
      .type = KS_OPT_BOOL,
      .offset = AT(take_over),
      .def = "no",
      .help =
          "resume without waiting until the previous owner on another host was silent for 60 s" },
    { .name = "accept-rebuild",
      .type = KS_OPT_BOOL,
      .offset = AT(accept_rebuild),
      .def = "no",
      .help = "resume even if kernels were rebuilt from other sources or with another compiler" },
    { .name = "trust-cache",
      .type = KS_OPT_BOOL,
      .offset = AT(trust_cache),
      .def = "no",
      .help = "use a build cache that other users own or can write" },
    { .name = "cache",
      .type = KS_OPT_STR,
      .offset = AT(cache_dir),
      .arg = "DIR",
      .help = "directory of the build cache; default $XDG_CACHE_HOME/ksweep" },
    { .name = "backend",
      .type = KS_OPT_STR,
      .offset = AT(backend),
      .arg = "NAME",
      .help = "measure on host, hip, cuda or sim instead of the job's backend" },
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
      .help = "spill: leave out instances that spill registers or use scratch memory, except for a "
              "share of their cells as control; none: measure all; job: as in the job" },
    { .name = "lost-after",
      .type = KS_OPT_DURATION_MS,
      .offset = AT(lost_after_ms),
      .def = "15s",
      .min = 1000,
      .max = 3.6e6,
      .arg = "TIME",
      .help = "time without a sign of life after which a rank is declared lost" },
    KS_OPT_END
};
#undef AT

/* Until the end of the job that this runs in, as newer versions of Slurm tell it; 0: not told. The
 * grace is for gathering. */
static uint32_t slurm_time_ms(uint32_t grace_ms)
{
    const char *text = getenv("SLURM_JOB_END_TIME");
    char *rest = NULL;
    if (!text || *text < '0' || *text > '9')
        return 0;
    double end_ms = (double)strtoull(text, &rest, 10) * 1e3;
    double left_ms = end_ms - (double)ks_realtime_ns() * 1e-6 - grace_ms;
    if (*rest || left_ms > (double)UINT32_MAX)
        return 0;
    return left_ms < 1 ? 1 : (uint32_t)left_ms;
}

/* totals_out: zero unless the results were gathered. */
static void gather(const struct ks_log *log, const struct ks_run_options *o,
                   struct ks_run_result *r, const char *command, bool *done_out,
                   struct ks_store_totals *totals_out)
{
    char path[1100];
    const char *dirs[1] = { r->dir };
    struct ks_err err;
    double expected_s = ks_store_predict_s(r->journal_bytes);
    *done_out = false;
    memset(totals_out, 0, sizeof(*totals_out));
    if (r->by_signal && expected_s * 1000 > o->grace_ms) {
        ks_logf(log, KS_WARN,
                "the results are not gathered, which would take about %.0f s, longer than --grace; "
                "run: %s",
                expected_s, command);
        return;
    }
    ks_chaos(&(struct ks_chaos){ .rank = 0 }, KS_CHAOS_GATHER);
    int rc = ks_path_join(path, sizeof(path), r->dir, "results.h5", &err);
    if (rc == 0)
        rc = ks_store_gather(dirs, 1, path, NULL, totals_out, &err);
    *done_out = rc == 0;
    r->n_found_need_look = totals_out->n_found_need_look;
    if (rc == 0)
        ks_cmd_warn_kept(log, totals_out->kept_as);
    if (rc == 0)
        return;
    ks_logf(log, KS_ERROR, "%s; the journal is intact, try again with: %s", err.text, command);
    snprintf(r->gather_error, sizeof(r->gather_error), "%s", err.text);
}

static void print_result(const struct ks_run_result *r, const struct ks_store_totals *t,
                         bool is_gathered)
{
    ks_cmd_printf("%s: %llu cells", r->reason, (unsigned long long)r->n_cells);
    for (uint32_t o = 1; o < KS_O_LIMIT; o++)
        if (r->outcome[o])
            ks_cmd_printf(", %llu %s", (unsigned long long)r->outcome[o], ks_outcome_text(o));
    if (r->n_pending)
        ks_cmd_printf(", %llu pending", (unsigned long long)r->n_pending);
    if (r->n_again)
        ks_cmd_printf(", %llu not yet measured again", (unsigned long long)r->n_again);
    if (r->n_contaminated)
        ks_cmd_printf("; %llu contaminated", (unsigned long long)r->n_contaminated);
    if (r->lost_hosts[0])
        ks_cmd_printf("; lost hosts: %s", r->lost_hosts);
    if (t->n_found)
        ks_cmd_printf("; %llu rows from programs", (unsigned long long)t->n_found);
    if (t->n_found_need_look)
        ks_cmd_printf(" (%llu need%s a look)", (unsigned long long)t->n_found_need_look,
                      t->n_found_need_look == 1 ? "s" : "");
    ks_cmd_printf("\n");
    if (is_gathered)
        ks_cmd_printf("%s/results.h5\n", r->dir);
}

/* Of what the run calls back. */
struct context {
    const struct ks_log *log;
    const struct ks_run_options *options;
};

static void on_status(void *arg, const struct ks_run_result *r)
{
    const struct context *c = arg;
    struct ks_err err;
    if (ks_status_write(r, &err) < 0)
        ks_logf(c->log, KS_ERROR, "%s", err.text);
}

static int end_rank0(const struct ks_log *log, const struct ks_run_options *o,
                     struct ks_run_result *r, struct ks_err *err)
{
    struct ks_store_totals totals;
    struct ks_buf command;
    bool is_gathered;
    ks_buf_init(&command);
    ks_shell_words(&command, (const char *[]){ "ksweep", "gather", r->dir, NULL });
    gather(log, o, r, ks_buf_text(&command), &is_gathered, &totals);
    ks_buf_release(&command);
    /* A run that is ok may have printed a row with a wrong result: only the rows tell. */
    r->exit = ks_run_result_exit(r);
    ks_chaos(&(struct ks_chaos){ .rank = 0 }, KS_CHAOS_RENAME);
    int rc = ks_status_write(r, err);
    print_result(r, &totals, is_gathered);
    return rc < 0 ? rc : r->exit;
}

/* A new run finds its directory there. What to do depends on what it is. */
static int on_exists(void *arg, const char *dir, struct ks_err *err)
{
    const struct context *c = arg;
    char journal[1100];
    struct ks_buf command;
    int rc;
    if (ks_path_join(journal, sizeof(journal), dir, "journal", NULL) < 0 ||
        !ks_path_is_dir(journal))
        return ks_fail(
            err, KS_EEXIST,
            "'%s' exists and is not the directory of a run: choose another one with --out", dir);
    ks_buf_init(&command);
    if (ks_status_exit(dir) <= KS_EXIT_LOOK) {
        ks_buf_printf(&command, "ksweep-analyze report ");
        ks_path_join(journal, sizeof(journal), dir, "results.h5", NULL);
        ks_shell_put(&command, journal);
        rc = ks_fail(err, KS_EEXIST,
                     "'%s' exists and is complete; for its report: %s; to measure again, choose "
                     "another directory with --out",
                     dir, ks_buf_text(&command));
    } else {
        ks_run_put_resume(opts, c->options, dir, &command);
        rc = ks_fail(err, KS_EEXIST,
                     "'%s' exists and is not complete; resume with: %s (or choose another "
                     "directory with --out)",
                     dir, ks_buf_text(&command));
    }
    ks_buf_release(&command);
    return rc;
}

/* How one rank ends. is_first: it speaks for all. */
static int end_rank(struct ks_cmd_env *env, const struct ks_run_options *o, bool is_first, int rc,
                    struct ks_run_result *r, struct ks_err *err)
{
    struct ks_err why;
    if (rc < 0 && is_first && r->dir[0] && ks_status_refuse(r->dir, err->text, &why) < 0)
        ks_logf(&env->log, KS_ERROR, "%s", why.text);
    /* Rank 0 says why. Where all ranks refused alike, its exit code is the job's: mpirun
     * --enable-recovery would never end after that of a rank on another host. */
    if (rc < 0 && !is_first)
        return r->is_clean ? KS_EXIT_OK : ks_code_exit(rc);
    if (rc == 0)
        return is_first ? end_rank0(&env->log, o, r, err) : r->exit;
    return rc;
}

static int run_rank(struct ks_cmd_env *env, struct ks_run_options *o, struct ks_run_result *r,
                    struct ks_err *err)
{
    const bool is_first = !ks_launch_is_other_rank();
    int rc;
    o->parent_fd = is_first ? ks_parent_link_open() : -1;
    rc = end_rank(env, o, is_first, ks_run(o, env->warden, &env->log, r, err), r, err);
    if (r->farewell)
        r->is_clean = ks_farewell_end(r->farewell);
    ks_parent_link_exit(o->parent_fd, rc < 0 ? ks_code_exit(rc) : rc);
    if (rc != 0 && r->is_clean && is_first)
        ks_launch_outlive_others(); /* else mpirun tells those that are just leaving, and fails */
    if (rc >= 0 && !r->is_clean && ks_launch_is_live())
        ks_run_leave(); /* the warden notices, and ends a launcher that does not */
    return rc < 0 && r->is_told ? ks_code_exit(rc) : rc;
}

static int run_as(struct ks_cmd_env *env, struct ks_run_options *o, struct ks_err *err)
{
    struct ks_run_result *r = calloc(1, sizeof(*r));
    int rc;
    if (!r)
        return ks_fail(err, KS_ENOMEM, "out of memory");
    rc = run_rank(env, o, r, err);
    free(r);
    return rc;
}

static int run(struct ks_call *call, struct ks_err *err)
{
    struct ks_cmd_env *env = call->env;
    struct ks_run_options *o = call->cfg;
    struct context context = { .log = &env->log, .options = o };
    struct ks_buf go_on;
    char warning[200];
    o->on_status = on_status;
    o->on_exists = on_exists;
    o->ctx = &context;
    o->job = call->operands[0];
    o->begun_ns = ks_now_ns();
    int rc = ks_launch_check(warning, sizeof(warning), err);
    if (rc == 0 && warning[0])
        ks_logf(&env->log, KS_WARN, "%s", warning);
    if (rc < 0)
        return ks_launch_is_other_rank() ? KS_EXIT_INPUT : rc; /* one of them tells */
    if (o->n_ranks > 1)
        return ks_run_as_parent(env, opts, o, err);
    ks_buf_init(&go_on);
    ks_run_put_resume(opts, o, NULL, &go_on);
    o->go_on = ks_buf_ok(&go_on) ? ks_buf_text(&go_on) : NULL;
    if (!o->max_time_ms)
        o->max_time_ms = slurm_time_ms(o->grace_ms);
    rc = run_as(env, o, err);
    ks_buf_release(&go_on);
    return rc;
}

const struct ks_command ks_cmd_run = {
    .name = "run",
    .summary = "Measure and verify every cell of a job: with -n N ranks on this host, or under "
               "mpirun or srun on a cluster.",
    .usage = "run JOB [-n N] [--backend NAME] [--arch ARCH] [--out DIR] [--resume] [--extend] "
             "[--retry OUTCOME] [--max-time TIME]",
    .opts = opts,
    .cfg_size = sizeof(struct ks_run_options),
    .n_min = 1,
    .n_max = 1,
    .run = run,
    .needs_warden = true,
};
