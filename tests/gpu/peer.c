/* SPDX-License-Identifier: MIT */
/* peer.c - ksweep-gpu peer: the best instance beside the vendor's library, problem by problem */
#include "base/file.h"
#include "grid/arch.h"
#include "record/stats.h"
#include "tests/gpu/cudnn.h"
#include "tests/gpu/job.h"
#include "tests/gpu/launch.h"
#include "tests/gpu/miopen.h"
#include "tests/gpu/peer_lt.h"
#include "tests/gpu/rows.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define N_ROUNDS 21u /* of ours and theirs in turn */
#define N_TRIALS 5u  /* samples of each algorithm, to choose one */
#define N_CALLS  5u  /* of a sample */
#define SHIM     "ksweep-gpu-peer.so"

struct peers {
    const struct ks_device_ops *ops;
    struct ks_device *dev;
    struct ks_module *shim; /* of calls that the device times like kernels */
    const struct ks_abi_entry *call;
    struct lt *lt;       /* NULL: there is none, no_lt says why */
    struct cudnn *cudnn; /* one of these two; no_conv says why there is neither */
    struct miopen *miopen;
    void *workspace;
    struct ks_err no_lt, no_conv;
};

/* What was measured of a problem; 0: was not. */
struct pair {
    double ours_ns, theirs_ns;
    double ratio; /* median of theirs over ours, round by round */
};

static double median(double *v, uint32_t n)
{
    ks_stats_sort(v, n);
    return v[n / 2];
}

/* ---- a call of a library and a kernel in turn ---- */

/* Median of n samples of a call on the operands of `l`, per call; infinite: it does not work. */
static double time_call(const struct peers *p, const struct launch *l, const struct peer_call *c,
                        uint32_t n)
{
    const struct ks_timing t = {
        .entry = p->call, .problem = &c->problem, .buf = &l->buf, .calls = N_CALLS, .n_samples = n
    };
    double ns[N_ROUNDS];
    int kernel_rc = 0;

    if (p->ops->time_samples(p->dev, &t, ns, &kernel_rc, NULL) < 0)
        return INFINITY;
    return median(ns, n) / N_CALLS;
}

static double time_ours(const struct launch *l)
{
    double ns;

    return launch_time(l, N_CALLS, 1, false, &ns, NULL) < 0 ? INFINITY : ns / N_CALLS;
}

/* NULL: none of them works. */
static const struct peer_call *choose(const struct peers *p, const struct launch *l,
                                      const struct peer_call *const *calls, int n)
{
    const struct peer_call *best = NULL;
    double least = INFINITY;

    for (int i = 0; i < n; i++) {
        double ns = time_call(p, l, calls[i], 1); /* it loads code */

        ns = isfinite(ns) ? time_call(p, l, calls[i], N_TRIALS) : ns;
        if (ns < least) {
            least = ns;
            best = calls[i];
        }
    }
    return best;
}

static int alternate(const struct peers *p, const struct launch *l, const struct peer_call *c,
                     struct pair *out, struct ks_err *err)
{
    double ours[N_ROUNDS], theirs[N_ROUNDS], ratio[N_ROUNDS];

    (void)time_ours(l);
    for (uint32_t i = 0; i < N_ROUNDS; i++) {
        if (i % 2 == 0)
            ours[i] = time_ours(l);
        theirs[i] = time_call(p, l, c, 1);
        if (i % 2 == 1)
            ours[i] = time_ours(l);
        ratio[i] = theirs[i] / ours[i];
        if (!isfinite(ours[i]) || !isfinite(theirs[i]))
            return ks_fail(err, KS_EDEVICE, "a launch failed in round %" PRIu32, i);
    }
    *out = (struct pair){ .ours_ns = median(ours, N_ROUNDS),
                          .theirs_ns = median(theirs, N_ROUNDS),
                          .ratio = median(ratio, N_ROUNDS) };
    return 0;
}

static int beside(const struct peers *p, const struct launch *l,
                  const struct peer_call *const *calls, int n, struct pair *out, struct ks_err *err)
{
    const struct peer_call *best = choose(p, l, calls, n);

    return best != NULL ? alternate(p, l, best, out, err)
                        : ks_fail(err, KS_EUNSUPPORTED, "none of its %d algorithms works", n);
}

static int beside_lt(const struct peers *p, const struct launch *l, struct pair *out,
                     struct ks_err *err)
{
    const struct peer_call *calls[PEER_CALLS];
    struct lt_call plans[PEER_CALLS];
    int n = 0, rc = lt_plan(p->lt, &l->problem, p->workspace, plans, &n, err);

    if (rc < 0)
        return rc;
    for (int i = 0; i < n; i++)
        calls[i] = &plans[i].call;
    rc = beside(p, l, calls, n, out, err);
    lt_release(&plans[0]);
    return rc;
}

static int beside_cudnn(const struct peers *p, const struct launch *l, struct pair *out,
                        struct ks_err *err)
{
    const struct peer_call *calls[PEER_CALLS];
    struct cudnn_plans plans;
    int rc = cudnn_plan(p->cudnn, &l->problem, &l->buf, p->workspace, &plans, err);

    for (int i = 0; i < plans.n; i++)
        calls[i] = &plans.calls[i].call;
    if (rc == 0)
        rc = beside(p, l, calls, plans.n, out, err);
    cudnn_release(p->cudnn, &plans);
    return rc;
}

static int beside_miopen(const struct peers *p, const struct launch *l, struct pair *out,
                         struct ks_err *err)
{
    const struct peer_call *calls[PEER_CALLS];
    struct miopen_plans plans;
    int rc = miopen_plan(p->miopen, &l->problem, p->workspace, &plans, err);

    for (int i = 0; i < plans.n; i++)
        calls[i] = &plans.calls[i].call;
    if (rc == 0)
        rc = beside(p, l, calls, plans.n, out, err);
    miopen_release(&plans);
    return rc;
}

static int beside_any(const struct peers *p, const struct launch *l, struct pair *out,
                      struct ks_err *err)
{
    if (l->problem.op == KS_ABI_GEMM)
        return beside_lt(p, l, out, err);
    return p->miopen != NULL ? beside_miopen(p, l, out, err) : beside_cudnn(p, l, out, err);
}

/* ---- one problem ---- */

static int compare(const struct peers *p, const struct gpu_job *job, uint32_t i_instance,
                   const struct ks_problem *what, struct pair *out, struct ks_err *err)
{
    const struct ks_artefact *a = ks_build_artefact(job->build, i_instance);
    const struct ks_abi_entry *entry = NULL;
    struct ks_module *mod = NULL;
    struct launch l;
    int rc = a->state == KS_ART_READY ? p->ops->module_open(p->dev, a->path, &mod, err)
                                      : ks_fail(err, KS_EUNSUPPORTED, "%s", a->reason);

    if (rc < 0)
        return rc;
    rc = p->ops->module_entry(p->dev, mod, a->entry, &entry, err);
    if (rc == 0)
        rc = launch_open(&l, p->ops, p->dev, entry, what, err);
    if (rc == 0) {
        rc = beside_any(p, &l, out, err);
        launch_close(&l);
    }
    p->ops->module_close(p->dev, mod);
    return rc;
}

static void print_row(const struct ks_problem *p, const struct pair *t, const char *name,
                      const char *why)
{
    double flops = 1e-3 * ks_problem_flops(p);

    printf("%-24s", p->name);
    if (t->ours_ns > 0)
        printf(" %9.1f us %8.2f TFLOP/s", 1e-3 * t->ours_ns, flops / t->ours_ns);
    else
        printf(" %33s", "no instance is ok");
    if (t->theirs_ns > 0)
        printf(" %9.1f us %8.2f TFLOP/s", 1e-3 * t->theirs_ns, flops / t->theirs_ns);
    else
        printf("  no peer: %s", why);
    if (t->ratio > 0)
        printf("  %5.2f", t->ratio);
    printf("  %s\n", name);
}

static bool measure(const struct peers *p, const struct gpu_job *job, const struct table *t,
                    uint32_t i_problem)
{
    const struct ks_problem what = ks_problem_table_get(&job->grid->problems, i_problem);
    const struct row *best = table_best(t, what.id);
    int64_t k = best != NULL ? ks_grid_instance(job->grid, best->instance) : -1;
    struct pair pair = { .ours_ns = best != NULL ? best->median_ns : 0 };
    const bool is_gemm = ks_operators[what.op]->abi == KS_ABI_GEMM;
    const bool has_peer = is_gemm ? p->lt != NULL : p->cudnn != NULL || p->miopen != NULL;
    struct ks_err err = is_gemm ? p->no_lt : p->no_conv;

    if (has_peer && k >= 0)
        (void)compare(p, job, (uint32_t)k, &what, &pair, &err);
    print_row(&what, &pair, k >= 0 ? job->grid->instances[k].name : "", err.text);
    return pair.theirs_ns > 0;
}

/* ---- all problems ---- */

static int open_shim(struct peers *p, struct ks_err *err)
{
    char dir[900], path[1024];
    int rc = ks_program_dir(dir, sizeof(dir), err);

    if (rc == 0)
        rc = ks_path_join(path, sizeof(path), dir, SHIM, err);
    if (rc == 0)
        rc = p->ops->module_open(p->dev, path, &p->shim, err);
    if (rc == 0)
        rc = p->ops->module_entry(p->dev, p->shim, "peer", &p->call, err);
    return rc;
}

/* A library that is not there is no failure: p->no_lt and p->no_conv say why. MIOpen's
 * variable chooses it where the arch does not. */
static int open_peers(struct peers *p, const struct ks_grid *g, struct ks_err *err)
{
    const char *named = getenv("KSWEEP_PEER"), *arch = g->job.device.arch;
    int rc = launch_device(g, &p->ops, &p->dev, err);

    if (rc < 0)
        return rc;
    if (named == NULL || named[0] == '\0')
        named = ks_arch_is_amd(arch) || ks_arch_is_emulator(arch) ? "hipblaslt" : "cublaslt";
    rc = open_shim(p, &p->no_lt);
    if (rc == 0)
        rc = p->ops->alloc(p->dev, PEER_WORKSPACE, &p->workspace, &p->no_lt);
    p->no_conv = p->no_lt;
    if (rc == 0)
        (void)lt_open(named, &p->lt, &p->no_lt);
    if (rc == 0 && (ks_arch_is_amd(arch) || getenv("KSWEEP_MIOPEN") != NULL))
        (void)miopen_open(&p->miopen, &p->no_conv);
    else if (rc == 0)
        (void)cudnn_open(&p->cudnn, &p->no_conv);
    return 0;
}

static void close_peers(struct peers *p)
{
    cudnn_close(p->cudnn);
    miopen_close(p->miopen);
    lt_close(p->lt);
    p->ops->free(p->dev, p->workspace);
    if (p->shim != NULL)
        p->ops->module_close(p->dev, p->shim);
    p->ops->close(p->dev);
}

static int peer(const struct gpu_job *job, const struct table *t, struct ks_err *err)
{
    struct peers p = { .ops = NULL };
    uint32_t n = 0;
    int rc = open_peers(&p, job->grid, err);

    if (rc < 0)
        return rc;
    if (p.lt != NULL)
        printf("peer of matrix products: %s, in turn with ours\n", lt_name(p.lt));
    if (p.cudnn != NULL)
        printf("peer of convolutions: %s, in turn with ours\n", cudnn_name(p.cudnn));
    if (p.miopen != NULL)
        printf("peer of convolutions: %s, in turn with ours\n", miopen_name(p.miopen));
    printf("last number: our rate over the peer's\n");
    for (uint32_t i = 0; i < job->grid->n_problems; i++)
        n += measure(&p, job, t, i) ? 1 : 0;
    close_peers(&p);
    printf("%" PRIu32 " of %" PRIu32 " problems have a peer\n", n, job->grid->n_problems);
    return n > 0 ? KS_EXIT_OK : KS_EXIT_LOOK;
}

static int run(struct ks_call *call, struct ks_err *err)
{
    struct table t = { .rows = NULL };
    struct gpu_job job;
    int rc = gpu_job_open(call, &job, err);

    if (rc < 0)
        return rc;
    rc = table_read(call->operands[1], &t, err);
    if (rc == 0)
        rc = peer(&job, &t, err);
    gpu_job_close(&job);
    table_release(&t);
    return rc;
}

const struct ks_command gpu_peer = {
    .name = "peer",
    .summary = "The best instance of each problem of a sweep beside a vendor's library.",
    .usage = "peer GRID SWEEP.csv [OPTIONS]",
    GPU_OPTIONS,
    .n_min = 2,
    .n_max = 2,
    .needs_warden = true,
    .run = run,
};
