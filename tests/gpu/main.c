/* SPDX-License-Identifier: MIT */
/* ksweep-gpu - builds and sweeps on one device without MPI and HDF5; see run.sh beside it. */
#include "base/clock.h"
#include "base/file.h"
#include "base/opt.h"
#include "base/process.h"
#include "base/text.h"
#include "grid/plain.h"
#include "tests/gpu/parts.h"
#include "tests/gpu/sweep.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct config {
    const char *backend, *arch, *cache, *worker, *out;
    uint32_t limit_s;
    uint64_t seed;
    double regret, share;
};
#define AT(member) offsetof(struct config, member)
static const struct ks_opt opts[] = {
    { .name = "backend",
      .type = KS_OPT_STR,
      .offset = AT(backend),
      .arg = "NAME",
      .help = "hip or cuda instead of the job's device" },
    { .name = "arch",
      .type = KS_OPT_STR,
      .offset = AT(arch),
      .arg = "ARCH",
      .help = "what the device is: gfx942, sm_90, emu" },
    { .name = "cache",
      .type = KS_OPT_STR,
      .offset = AT(cache),
      .arg = "DIR",
      .help = "build cache; default $XDG_CACHE_HOME/ksweep" },
    { .name = "worker",
      .type = KS_OPT_STR,
      .offset = AT(worker),
      .arg = "FILE",
      .help = "ksweep-worker; default the one beside this program" },
    { .name = "out",
      .type = KS_OPT_STR,
      .offset = AT(out),
      .arg = "FILE",
      .help = "rows of the sweep, as CSV" },
    { .name = "limit",
      .type = KS_OPT_U32,
      .offset = AT(limit_s),
      .def = "0",
      .max = 86400,
      .arg = "S",
      .help = "seconds from now after which no worker is started; 0 = none" },
    { .name = "seed",
      .type = KS_OPT_U64,
      .offset = AT(seed),
      .def = "1",
      .arg = "N",
      .help = "of the order of instances" },
    { .name = "regret",
      .type = KS_OPT_F64,
      .offset = AT(regret),
      .def = "0.005",
      .max = 1,
      .arg = "R",
      .help = "greatest regret at P90 that compare accepts" },
    { .name = "share",
      .type = KS_OPT_F64,
      .offset = AT(share),
      .def = "0",
      .max = 1,
      .arg = "R",
      .help = "least share of the device's time in samples and warm-up that sweep accepts" },
    KS_OPT_END
};
#undef AT

static int find_worker(const struct config *cfg, char *out, size_t cap, struct ks_err *err)
{
    char dir[900];
    int rc = 0;

    if (cfg->worker != NULL)
        rc = ks_path_join(out, cap, ".", cfg->worker, err);
    else if ((rc = ks_program_dir(dir, sizeof(dir), err)) == 0)
        rc = ks_path_join(out, cap, dir, "ksweep-worker", err);
    return rc == 0 && access(out, X_OK) < 0 ? ks_fail_errno(err, "'%s'", out) : rc;
}

static int load(const struct config *cfg, const char *path, struct ks_grid *g, struct ks_err *err)
{
    return ks_plain_load(path, cfg->backend, cfg->arch, g, err);
}

/* ---- compiling ---- */

static int compile(struct ks_build *b, uint32_t n_jobs, struct ks_err *err)
{
    int rc = 0;

    for (uint32_t i = 0; rc == 0 && i < ks_build_n_units(b); i++)
        rc = ks_build_start(b, i, err);
    while (rc == 0) {
        rc = ks_build_step(b, n_jobs, err);
        if (rc < 0 || ks_build_n_running(b) == 0)
            break;
        rc = ks_build_wait(b, err);
    }
    return rc;
}

static int build_all(const struct config *cfg, const struct ks_grid *g, struct ks_warden *w,
                     struct ks_build **b_out, struct ks_err *err)
{
    const long cpus = sysconf(_SC_NPROCESSORS_ONLN);
    char worker[1024];
    const struct ks_build_options opt = { .cache_dir = cfg->cache,
                                          .try_compilers = true,
                                          .n_parallel = cpus > 0 ? (uint32_t)cpus : 1,
                                          .worker = worker };
    uint64_t from = ks_now_ns();
    struct ks_buf judge = { 0 };
    uint32_t n_ready = 0;
    int rc = find_worker(cfg, worker, sizeof(worker), err);

    if (rc == 0)
        rc = ks_build_create(g, &opt, w, b_out, err);
    if (rc == 0)
        rc = compile(*b_out, opt.n_parallel, err);
    if (rc < 0)
        return rc;
    for (uint32_t i = 0; i < g->n_instances; i++)
        n_ready += ks_build_artefact(*b_out, i)->state == KS_ART_READY ? 1 : 0;
    printf("built %u of %u instances in %.1f s with %s\n", n_ready, g->n_instances,
           1e-9 * (double)(ks_now_ns() - from), ks_build_compiler(*b_out));
    ks_build_print_judge(*b_out, &judge);
    fputs(ks_buf_text(&judge), stdout);
    ks_buf_release(&judge);
    return 0;
}

/* ---- commands: what they get is built ---- */

struct context {
    const struct config *cfg;
    const struct ks_grid *grid;
    struct ks_build *build;
    struct ks_warden *warden;
    uint64_t until_ns; /* 0 = no limit */
};

static int write_rows(const struct context *c, const struct row *rows, const struct totals *t,
                      struct ks_err *err)
{
    struct ks_buf csv = { 0 }, summary = { 0 };
    int rc = 0;

    rows_csv(rows, ks_grid_n_cells(c->grid), &csv);
    rows_summary(c->grid, rows, t, &summary);
    fputs(ks_buf_text(&summary), stdout);
    if (!ks_buf_ok(&csv) || !ks_buf_ok(&summary))
        rc = ks_fail(err, KS_ENOMEM, "report");
    else if (c->cfg->out != NULL)
        rc = ks_file_replace(c->cfg->out, csv.data, csv.len, err);
    ks_buf_release(&csv);
    ks_buf_release(&summary);
    return rc;
}

static bool is_as_it_should(const struct config *cfg, const struct row *rows, uint64_t n,
                            const struct totals *t)
{
    bool has_share = rows_share(rows, n, t) >= cfg->share;

    if (!has_share)
        printf("that share is BELOW the limit of %.1f %%\n", 100 * cfg->share);
    return has_share && rows_n_bad(rows, n) + t->n_left == 0;
}

static int cmd_sweep(const struct context *c, struct ks_err *err)
{
    uint64_t n = ks_grid_n_cells(c->grid);
    struct sweep_options opt = { .seed = c->cfg->seed, .until_ns = c->until_ns };
    struct row *rows =
        calloc((size_t)c->grid->n_problems * c->grid->n_instances + 1, sizeof(*rows));
    struct totals totals = { 0 };
    char worker[1024];
    int rc = rows != NULL ? find_worker(c->cfg, worker, sizeof(worker), err)
                          : ks_fail(err, KS_ENOMEM, "rows of a sweep");

    opt.program = worker;
    if (rc == 0)
        rc = sweep_run(c->grid, c->build, c->warden, &opt, rows, &totals, err);
    if (rc == 0) {
        rows_pack(c->grid, rows);
        rc = write_rows(c, rows, &totals, err);
    }
    if (rc == 0)
        rc = is_as_it_should(c->cfg, rows, n, &totals) ? 0 : 1;
    free(rows);
    return rc;
}

static int cmd_conformance(const struct context *c, struct ks_err *err)
{
    return conformance_run(c->grid, c->build, err);
}

static const struct command {
    const char *name;
    int (*run)(const struct context *c, struct ks_err *err);
} commands[] = { { "sweep", cmd_sweep }, { "conformance", cmd_conformance } };

static int run_job(const struct config *cfg, const struct command *cmd, const char *job,
                   struct ks_warden *w, struct ks_err *err)
{
    struct ks_grid *g = calloc(1, sizeof(*g));
    struct context c = { .cfg = cfg, .grid = g, .warden = w };
    int rc = g != NULL ? load(cfg, job, g, err) : ks_fail(err, KS_ENOMEM, "a grid");

    if (cfg->limit_s > 0)
        c.until_ns = ks_now_ns() + 1000000000ull * cfg->limit_s;
    if (rc == 0) {
        rc = build_all(cfg, g, w, &c.build, err);
        if (rc == 0)
            rc = cmd->run(&c, err);
        ks_build_destroy(c.build);
        ks_grid_release(g);
    }
    free(g);
    return rc;
}

static int run_compare(const struct config *cfg, const char *const *files, struct ks_err *err)
{
    struct table a = { .rows = NULL }, b = { .rows = NULL };
    int rc = table_read(files[0], &a, err);

    if (rc == 0)
        rc = table_read(files[1], &b, err);
    if (rc == 0)
        rc = compare_tables(&a, &b, cfg->regret, err);
    table_release(&a);
    table_release(&b);
    return rc;
}

static int run_peer(const struct config *cfg, const char *const *files, struct ks_err *err)
{
    struct table t = { .rows = NULL };
    struct ks_grid *g = calloc(1, sizeof(*g));
    int rc = g != NULL ? load(cfg, files[0], g, err) : ks_fail(err, KS_ENOMEM, "a grid");

    if (rc == 0) {
        rc = table_read(files[1], &t, err);
        if (rc == 0)
            rc = peer_run(g, &t, err);
        ks_grid_release(g);
    }
    table_release(&t);
    free(g);
    return rc;
}

static int usage(void)
{
    fputs("usage: ksweep-gpu sweep GRID [OPTIONS]\n"
          "       ksweep-gpu conformance GRID [OPTIONS]\n"
          "       ksweep-gpu compare A.csv B.csv [--regret R]\n"
          "       ksweep-gpu peer GRID SWEEP.csv [OPTIONS]\n\n"
          "GRID: what ksweep plan JOB --export-grid GRID has written.\n\n",
          stderr);
    ks_opt_help(opts, stderr);
    return 2;
}

static int dispatch(const struct config *cfg, int n, const char *const *words, struct ks_warden *w,
                    struct ks_err *err)
{
    if (n == 3 && strcmp(words[0], "compare") == 0)
        return run_compare(cfg, words + 1, err);
    if (n == 3 && strcmp(words[0], "peer") == 0)
        return run_peer(cfg, words + 1, err);
    for (size_t i = 0; n == 2 && i < sizeof(commands) / sizeof(commands[0]); i++)
        if (strcmp(words[0], commands[i].name) == 0)
            return run_job(cfg, &commands[i], words[1], w, err);
    return usage();
}

int main(int argc, char **argv)
{
    const char **words = calloc((size_t)argc + 1, sizeof(*words));
    struct ks_warden *w = NULL;
    struct config cfg = { 0 };
    struct ks_err err = { 0 };
    bool wants_help = false;
    int n = 0, rc;

    ks_process_fill_fds();
    rc = words != NULL ? ks_warden_start(&w, &err) : ks_fail(&err, KS_ENOMEM, "words");
    setvbuf(stdout, NULL, _IOLBF, 0);
    if (rc == 0)
        rc = ks_opt_defaults(opts, &cfg, &err);
    if (rc == 0)
        rc = ks_opt_argv(opts, &cfg, argc, argv, words, &n, &wants_help, &err);
    if (rc == 0)
        rc = wants_help ? usage() : dispatch(&cfg, n, words, w, &err);
    ks_warden_stop(w);
    free(words);
    if (rc < 0)
        ks_text_print(stderr, "ksweep-gpu", err.text);
    return rc < 0 ? ks_code_exit(rc) : rc;
}
