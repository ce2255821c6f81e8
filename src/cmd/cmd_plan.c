/* SPDX-License-Identifier: MIT */
#include "cmd/cmd_util.h"
#include "grid/grid.h"
#include "topo/topo.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

struct config {
    uint32_t devices;
    bool is_list;
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
      .help = "devices that will measure; 0 = the cores of this host" },
    { .name = "list",
      .type = KS_OPT_BOOL,
      .offset = AT(is_list),
      .def = "no",
      .help = "every problem, not only the first ten" },
    KS_OPT_END
};
#undef AT

/* Cells that can run here, of one problem. */
static uint32_t count_runnable(const struct ks_grid *g, uint32_t i)
{
    uint32_t n = 0;
    for (uint32_t k = 0; k < g->n_instances; k++)
        n += ks_grid_unsupported(g, i, k) == NULL;
    return n;
}

/* Seconds of one cell: warm-up, samples of about 30 calls at 10 Gflop/s within the job's limits,
 * verification. The kernel's own applicability test may refuse more. */
static double cell_s(const struct ks_grid *g, uint32_t i)
{
    const struct ks_job_measure *m = &g->job.measure;
    double call = ks_problem_flops(&g->problems[i]) / 10e9;
    double least = call * m->min_samples, most = m->max_ms * 1e-3;
    double timing = fmin(fmax(fmax(0.010, call * 30), least), fmax(most, least));
    return m->warmup_ms * 1e-3 + timing + 4 * call + 0.002;
}

static void print_seconds(const char *what, double s)
{
    if (s < 120)
        printf("%s %.0f s", what, ceil(s));
    else if (s < 7200)
        printf("%s %.0f min", what, ceil(s / 60));
    else
        printf("%s %.1f h", what, s / 3600);
}

static void print_problems(const struct ks_grid *g, bool is_all)
{
    uint32_t n = is_all || g->n_problems < 10 ? g->n_problems : 10;
    printf("\n%5s  %-32s %9s %8s %9s\n", "order", "problem", "Gflop", "uses", "instances");
    for (uint32_t i = 0; i < n; i++) {
        const struct ks_problem *p = &g->problems[i];
        printf("%5u  %-32.32s %9.3f %8lld %9u\n", i + 1, p->name, ks_problem_flops(p) * 1e-9,
               (long long)p->count, count_runnable(g, i));
    }
    if (n < g->n_problems)
        printf("       ... and %u more (--list)\n", g->n_problems - n);
}

static uint32_t default_devices(struct ks_err *err)
{
    struct ks_topo_host host;
    return ks_topo_read(&host, err) == 0 ? host.n_cores : 1;
}

static void print_plan(const struct ks_grid *g, uint32_t devices, bool is_all)
{
    uint64_t runnable = 0;
    double work = 0;
    for (uint32_t i = 0; i < g->n_problems; i++) {
        uint32_t n = count_runnable(g, i);
        runnable += n;
        work += (n + 2) * cell_s(g, i); /* two anchors */
    }
    uint64_t cells = ks_grid_n_cells(g);
    printf("%s: %s\n", g->job.name, g->job.why);
    printf("%u problems x %u instances = %llu cells; %llu cannot run on this host\n", g->n_problems,
           g->n_instances, (unsigned long long)cells, (unsigned long long)(cells - runnable));
    print_seconds("about", work);
    printf(" of device time;");
    print_seconds(" on", work / devices);
    printf(" with %u device%s, builds not counted\n", devices, devices == 1 ? "" : "s");
    printf("Problems go to devices one after another in the order below (uses x flop); a device "
           "keeps a problem to its end.\n");
    print_problems(g, is_all);
}

static int plan(struct ks_cmd_ctx *ctx, int argc, char **argv)
{
    struct config c;
    struct ks_grid g;
    const char *operands[64];
    int n = 0;
    if (argc > 64)
        return ks_fail(&ctx->err, KS_EINVAL, "too many arguments");
    int rc = ks_cmd_parse(&ks_cmd_plan, &c, argc, argv, operands, 1, 1, &n, &ctx->err);
    if (rc == 0)
        rc = ks_grid_load(operands[0], &g, &ctx->err);
    if (rc < 0)
        return rc;
    print_plan(&g, c.devices ? c.devices : default_devices(&ctx->err), c.is_list);
    ks_grid_release(&g);
    return KS_EXIT_OK;
}

const struct ks_command ks_cmd_plan = {
    .name = "plan",
    .summary = "What a job would do and how long it may take; touches nothing.",
    .usage = "plan JOB [--devices N] [--list]",
    .opts = opts,
    .run = plan,
};
