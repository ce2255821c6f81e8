/* SPDX-License-Identifier: MIT */
/* cmd_build.c - ksweep build: compiles a job's instances into the cache and reports the results */
#include "base/clock.h"
#include "base/text.h"
#include "build/build.h"
#include "cmd/cmd_util.h"
#include "mpi/agent.h"
#include "mpi/launch.h"
#include "json/json.h"

#include <inttypes.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct config {
    const char *cache, *compiler, *manifest, *backend, *arch;
    uint32_t jobs, unit_size, timeout_s, memory_mib, file_mib;
    bool trust_cache, json;
};
#define AT(member) offsetof(struct config, member)
static const struct ks_opt opts[] = {
    { .name = "jobs",
      .letter = 'j',
      .type = KS_OPT_U32,
      .offset = AT(jobs),
      .def = "0",
      .min = 0,
      .max = 1024,
      .arg = "N",
      .help = "parallel compilers per rank; 0 = the rank's share of the CPUs" },
    { .name = "unit-size",
      .type = KS_OPT_U32,
      .offset = AT(unit_size),
      .def = "27",
      .min = 1,
      .max = 1000,
      .arg = "N",
      .help = "most instances per compiler run; the last runs have fewer" },
    { .name = "timeout",
      .type = KS_OPT_U32,
      .offset = AT(timeout_s),
      .def = "300",
      .min = 1,
      .max = 86400,
      .arg = "S",
      .help = "time limit of one compiler run, in seconds" },
    { .name = "memory-mib",
      .type = KS_OPT_U32,
      .offset = AT(memory_mib),
      .def = "4096",
      .min = 1,
      .max = 1 << 24,
      .arg = "N",
      .help = "limit on the resident memory of one compiler run with its child processes, in MiB" },
    { .name = "file-mib",
      .type = KS_OPT_U32,
      .offset = AT(file_mib),
      .def = "1024",
      .min = 1,
      .max = 1 << 24,
      .arg = "N",
      .help = "limit on the size of each file that a compiler writes, in MiB" },
    { .name = "compiler",
      .type = KS_OPT_STR,
      .offset = AT(compiler),
      .arg = "CC",
      .help = "C compiler for families that name none or the default one; default $KSWEEP_CC, else "
              "the family's, else cc" },
    { .name = "backend",
      .type = KS_OPT_STR,
      .offset = AT(backend),
      .arg = "NAME",
      .help = "build for host, hip or cuda instead of the job's backend" },
    { .name = "arch",
      .type = KS_OPT_STR,
      .offset = AT(arch),
      .arg = "ARCH",
      .help = "architecture to use instead of the job's: native, gfx942, sm_90, x86-64-v3, ..." },
    { .name = "manifest",
      .type = KS_OPT_STR,
      .offset = AT(manifest),
      .arg = "FILE",
      .is_output = true,
      .help = "write the build result of every instance to FILE: CSV if its name ends in .csv, "
              "else JSON" },
    { .name = "cache",
      .type = KS_OPT_STR,
      .offset = AT(cache),
      .arg = "DIR",
      .help = "directory of the build cache; default $XDG_CACHE_HOME/ksweep" },
    { .name = "trust-cache",
      .type = KS_OPT_BOOL,
      .offset = AT(trust_cache),
      .def = "no",
      .help = "use a build cache that other users own or can write" },
    { .name = "json", .type = KS_OPT_BOOL, .offset = AT(json), .def = "no", .help = "print JSON" },
    KS_OPT_END
};
#undef AT

/* How many build this together, under mpirun or srun: each on its own, through the cache. */
struct crew {
    uint32_t rank, size, n_local;
};

static uint32_t number_in(const char *const *variables, uint32_t otherwise)
{
    for (; *variables; variables++) {
        const char *text = getenv(*variables);
        char *end;
        const unsigned long v = text ? strtoul(text, &end, 10) : 0;

        if (text && end > text && v < UINT32_MAX)
            return (uint32_t)v;
    }
    return otherwise;
}

static struct crew find_crew(void)
{
    static const char *const rank[] = { "OMPI_COMM_WORLD_RANK", "PMIX_RANK", NULL };
    static const char *const size[] = { "OMPI_COMM_WORLD_SIZE", "SLURM_STEP_NUM_TASKS", NULL };
    static const char *const local[] = { "OMPI_COMM_WORLD_LOCAL_SIZE", "SLURM_STEP_TASKS_PER_NODE",
                                         NULL };
    struct crew c = { .rank = number_in(rank, UINT32_MAX), .size = 1, .n_local = 1 };

    if (c.rank == UINT32_MAX || !ks_launch_is_live())
        return (struct crew){ .size = 1, .n_local = 1 };
    c.size = number_in(size, 1);
    c.n_local = number_in(local, 1);
    return c.size && c.n_local ? c : (struct crew){ .rank = c.rank, .size = 1, .n_local = 1 };
}

/* A launcher may have bound us to some of the CPUs, or left them all to all ranks of the host. */
static uint32_t count_jobs(const struct crew *c)
{
    cpu_set_t set;
    const long all = sysconf(_SC_NPROCESSORS_ONLN);
    const uint32_t share = all > 0 ? (uint32_t)all / c->n_local : 1;
    uint32_t mine = share;

    if (sched_getaffinity(0, sizeof set, &set) == 0)
        mine = (uint32_t)CPU_COUNT(&set);
    if (share < mine)
        mine = share;
    return mine > 0 ? mine : 1;
}

/* What has become of the grid's instances. */
struct tally {
    uint32_t built, cached, failed, timeout, unsupported, missing;
    uint64_t compile_ns; /* of this run */
};

static struct tally count(const struct ks_grid *g, const struct ks_build *b)
{
    struct tally t = { 0 };

    for (uint32_t i = 0; i < g->n_instances; i++) {
        const struct ks_artefact *a = ks_build_artefact(b, i);

        t.cached += a->state == KS_ART_READY && a->is_cached;
        t.built += a->state == KS_ART_READY && !a->is_cached;
        t.failed += a->state == KS_ART_FAILED || a->state == KS_ART_UNLOADABLE;
        t.timeout += a->state == KS_ART_TIMEOUT;
        t.unsupported += a->state == KS_ART_UNSUPPORTED;
        t.missing += a->state == KS_ART_MISSING;
    }
    for (uint32_t i = 0; i < ks_grid_n_built(g); i++)
        if (!ks_build_artefact(b, i)->is_cached)
            t.compile_ns += ks_build_artefact(b, i)->compile_ns;
    return t;
}

static bool has_failed(const struct ks_artefact *a)
{
    return a->state == KS_ART_FAILED || a->state == KS_ART_TIMEOUT || a->state == KS_ART_UNLOADABLE;
}

static void report_unit(const struct ks_log *log, const struct ks_grid *g, const struct ks_build *b,
                        uint32_t i_unit, uint32_t n_done)
{
    const uint32_t *list;
    const uint32_t n = ks_build_unit(b, i_unit, &list);
    uint32_t n_ready = 0;

    for (uint32_t i = 0; i < n; i++) {
        const struct ks_artefact *a = ks_build_artefact(b, list[i]);

        n_ready += a->state == KS_ART_READY;
        if (has_failed(a))
            ks_logf(log, KS_WARN, "%s: %s", g->instances[list[i]].name, a->reason);
    }
    ks_logf(log, KS_INFO, "unit %" PRIu32 "/%" PRIu32 ": %" PRIu32 " of %" PRIu32 " ready", n_done,
            ks_build_n_units(b), n_ready, n);
}

static int build_all(const struct ks_log *log, const struct ks_grid *g, struct ks_build *b,
                     uint32_t n_jobs, struct ks_err *err)
{
    uint32_t n_done = 0;
    int rc = 0;

    for (uint32_t i = 0; rc == 0 && i < ks_build_n_units(b); i++)
        rc = ks_build_start(b, i, err);
    while (rc == 0) {
        int64_t i_unit;

        rc = ks_build_step(b, n_jobs, err);
        while (rc == 0 && (i_unit = ks_build_finished(b)) >= 0)
            report_unit(log, g, b, (uint32_t)i_unit, ++n_done);
        if (rc < 0 || !ks_build_n_running(b))
            break;
        rc = ks_build_wait(b, err);
    }
    return rc;
}

static void print_text(const struct ks_grid *g, const struct ks_build *b, double wall_s,
                       struct ks_buf *out)
{
    const struct tally t = count(g, b);

    ks_buf_printf(out, "compiler     %s\n", ks_build_compiler(b));
    ks_buf_printf(out, "instances    %" PRIu32 "\n", g->n_instances);
    ks_buf_printf(out, "built        %" PRIu32 "\n", t.built);
    ks_buf_printf(out, "cached       %" PRIu32 "\n", t.cached);
    ks_buf_printf(out, "unsupported  %" PRIu32 "\n", t.unsupported);
    ks_build_print_unsupported(b, out);
    ks_buf_printf(out, "failed       %" PRIu32 "\n", t.failed);
    ks_buf_printf(out, "timed out    %" PRIu32 "\n", t.timeout);
    ks_buf_printf(out, "compiling    %.2f s in %" PRIu64 " compiler runs, %.2f s wall\n",
                  (double)t.compile_ns * 1e-9, ks_build_n_compiles(b), wall_s);
    ks_build_print_judge(b, out);
    ks_build_print_codes(b, out);
    for (uint32_t i = 0; i < g->n_instances; i++) {
        const struct ks_artefact *a = ks_build_artefact(b, i);

        if (has_failed(a))
            ks_buf_printf(out, "  %s\n    %s\n", g->instances[i].name, a->reason);
    }
}

/* Also the manifest, where it is not CSV. */
static void print_json(const struct ks_grid *g, const struct ks_build *b, double wall_s,
                       struct ks_buf *out)
{
    const struct tally t = count(g, b);
    struct ks_jw w;

    ks_jw_init(&w, out, true);
    ks_jw_open(&w, NULL, '{');
    ks_jw_int(&w, "schema", 1);
    ks_jw_str(&w, "job", g->job.path);
    ks_jw_str(&w, "compiler", ks_build_compiler(b));
    ks_jw_u64(&w, "built", t.built);
    ks_jw_u64(&w, "cached", t.cached);
    ks_jw_u64(&w, "unsupported", t.unsupported);
    ks_jw_u64(&w, "failed", t.failed);
    ks_jw_u64(&w, "timed_out", t.timeout);
    ks_jw_u64(&w, "missing", t.missing);
    ks_jw_u64(&w, "compile_ns", t.compile_ns);
    ks_jw_u64(&w, "compiler_runs", ks_build_n_compiles(b));
    ks_jw_real(&w, "wall_s", wall_s);
    ks_build_print_json(b, &w);
    ks_jw_close(&w, '}');
    ks_buf_printf(out, "\n");
}

static int build(const struct ks_cmd_env *env, const struct config *cfg, const struct crew *crew,
                 const struct ks_grid *g, struct ks_build **b_out, double *wall_s_out,
                 struct ks_err *err)
{
    const uint32_t n_jobs = cfg->jobs ? cfg->jobs : count_jobs(crew);
    char worker[1024];
    const struct ks_build_options opt = { .cache_dir = cfg->cache,
                                          .trust_cache = cfg->trust_cache,
                                          .unit_size = cfg->unit_size,
                                          .n_parallel = n_jobs * crew->size,
                                          .timeout_s = cfg->timeout_s,
                                          .memory_mib = cfg->memory_mib,
                                          .file_mib = cfg->file_mib,
                                          .try_compilers = true,
                                          .compiler = cfg->compiler,
                                          .worker = worker };
    const uint64_t begin_ns = ks_now_ns();
    int rc = ks_agent_find_worker(worker, sizeof(worker), err);

    if (rc == 0)
        rc = ks_build_create(g, &opt, env->warden, b_out, err);
    if (rc == 0)
        rc = build_all(&env->log, g, *b_out, n_jobs, err);
    *wall_s_out = (double)(ks_now_ns() - begin_ns) * 1e-9;
    return rc;
}

static int write_manifest(const struct config *cfg, const struct ks_grid *g,
                          const struct ks_build *b, double wall_s, struct ks_err *err)
{
    struct ks_buf out;
    int rc;

    ks_buf_init(&out);
    if (ks_text_ends_in(cfg->manifest, ".csv"))
        ks_build_print_csv(b, &out);
    else
        print_json(g, b, wall_s, &out);
    rc = ks_emit(&out, cfg->manifest, err);
    ks_buf_release(&out);
    return rc < 0 ? ks_err_context(err, rc, "manifest") : 0;
}

static int emit(const struct config *cfg, const struct ks_grid *g, const struct ks_build *b,
                double wall_s, struct ks_err *err)
{
    struct ks_buf out;
    int rc;

    ks_buf_init(&out);
    if (cfg->json)
        print_json(g, b, wall_s, &out);
    else
        print_text(g, b, wall_s, &out);
    rc = ks_emit(&out, NULL, err);
    ks_buf_release(&out);
    return rc;
}

/* Rank 0 has seen what all ranks have built, and speaks for them. A launcher ends all ranks when
 * one of them fails, so a look that is worth taking is rank 0's to announce. */
static int report(const struct config *cfg, const struct crew *crew, const struct ks_grid *g,
                  const struct ks_build *b, double wall_s, struct ks_err *err)
{
    const struct tally t = count(g, b);
    int rc = 0;

    if (crew->rank != 0)
        return KS_EXIT_OK;
    if (cfg->manifest)
        rc = write_manifest(cfg, g, b, wall_s, err);
    if (rc == 0)
        rc = emit(cfg, g, b, wall_s, err);
    if (rc < 0)
        return rc;
    if (g->n_instances > 0 && t.built + t.cached == 0)
        return KS_EXIT_LOOK; /* nothing can be measured: a compiler that is not there, perhaps */
    return t.failed + t.timeout + t.missing > 0 ? KS_EXIT_LOOK : KS_EXIT_OK;
}

static int run(struct ks_call *call, struct ks_err *err)
{
    struct ks_cmd_env *env = call->env;
    const struct config *cfg = call->cfg;
    const struct crew crew = find_crew();
    struct ks_build *b = NULL;
    struct ks_grid grid = { 0 };
    double wall_s = 0;
    int rc;

    if (crew.rank != 0 && env->log.level > KS_ERROR)
        env->log.level = KS_ERROR;
    rc = ks_cmd_grid(env->warden, call->operands[0], cfg->backend, cfg->arch, &grid, err);
    if (rc < 0)
        return rc;
    if (ks_job_runs_programs(&grid.job)) {
        ks_cmd_printf("nothing to build: the job runs programs that time their own kernels\n");
        ks_grid_release(&grid);
        return KS_EXIT_OK;
    }
    rc = build(env, cfg, &crew, &grid, &b, &wall_s, err);
    if (rc == 0)
        rc = report(cfg, &crew, &grid, b, wall_s, err);
    else if (b && cfg->manifest && crew.rank == 0)
        (void)write_manifest(cfg, &grid, b, wall_s, NULL); /* of what there is */
    ks_build_destroy(b);
    ks_grid_release(&grid);
    return rc;
}

const struct ks_command ks_cmd_build = {
    .name = "build",
    .summary = "Compile all instances of a job in parallel into the build cache; under mpirun all "
               "ranks share the work.",
    .usage = "build JOB [--backend NAME] [--arch ARCH] [--jobs N] [--unit-size N] [--timeout S] "
             "[--memory-mib N] [--file-mib N] [--compiler CC] [--manifest FILE] [--cache DIR] "
             "[--trust-cache] [--json]",
    .opts = opts,
    .cfg_size = sizeof(struct config),
    .n_min = 1,
    .n_max = 1,
    .run = run,
    .needs_warden = true,
};
