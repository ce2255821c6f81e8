/* SPDX-License-Identifier: MIT */
#include "grid/plain.h"
#include "tests/gpu/cudnn.h"
#include "tests/gpu/job.h"
#include "tests/gpu/rows.h"

#include <stdio.h>
#include <stdlib.h>

static void print_row(const struct ks_problem *p, const struct row *best, const char *name,
                      double peer_ns, const char *why)
{
    double flops = 1e-3 * ks_problem_flops(p);

    printf("%-24s", p->name);
    if (best != NULL)
        printf(" %9.1f us %8.2f TFLOP/s", 1e-3 * best->median_ns, flops / best->median_ns);
    else
        printf(" %33s", "no instance is ok");
    if (peer_ns > 0)
        printf(" %9.1f us %8.2f TFLOP/s", 1e-3 * peer_ns, flops / peer_ns);
    else if (why[0] != '\0')
        printf("  no peer: %s", why);
    if (peer_ns > 0 && best != NULL)
        printf("  %5.2f", peer_ns / best->median_ns);
    printf("  %s\n", name);
}

static int peer(const struct ks_grid *g, const struct table *t, struct ks_err *err)
{
    struct cudnn *c = NULL;
    struct ks_err why = { 0 };
    int rc = cudnn_open(&c, &why);

    (void)err;
    if (rc < 0)
        printf("no peer: %s\n", why.text);
    else
        printf("peer: %s; last number: our rate over the peer's\n", cudnn_name(c));
    for (uint32_t i = 0; i < g->n_problems; i++) {
        const struct ks_problem p = ks_problem_table_get(&g->problems, i);
        const struct row *best = table_best(t, p.id);
        int64_t k = best != NULL ? ks_grid_instance(g, best->instance) : -1;
        struct ks_abi_problem abi;
        double ns = 0;

        ks_operators[p.op]->to_abi(&p, &abi);
        if (c != NULL && cudnn_forward(c, &abi, &ns, &why) < 0)
            ns = 0;
        print_row(&p, best, k >= 0 ? g->instances[k].name : "", ns, c != NULL ? why.text : "");
    }
    cudnn_close(c);
    return rc < 0 ? 1 : 0;
}

static int run(struct ks_call *call, struct ks_err *err)
{
    const struct gpu_config *cfg = call->cfg;
    struct table t = { .rows = NULL };
    struct ks_grid *g = calloc(1, sizeof(*g));
    int rc = g != NULL ? ks_plain_load(call->operands[0], cfg->backend, cfg->arch, g, err)
                       : ks_fail(err, KS_ENOMEM, "a grid");

    if (rc == 0) {
        rc = table_read(call->operands[1], &t, err);
        if (rc == 0)
            rc = peer(g, &t, err);
        ks_grid_release(g);
    }
    table_release(&t);
    free(g);
    return rc;
}

const struct ks_command gpu_peer = {
    .name = "peer",
    .summary = "The best instance of each problem of a sweep beside a vendor's library.",
    .usage = "peer GRID SWEEP.csv [OPTIONS]",
    GPU_OPTIONS,
    .n_min = 2,
    .n_max = 2,
    .run = run,
};
