/* SPDX-License-Identifier: MIT */
/* spans.c - how long a device was busy, by kind of work and their overlaps */
#include "analysis/trace/spans.h"

#include "trace/rows.h"

#include <stdlib.h>
#include <string.h>

const char *const ks_work_names[KS_N_WORK_SETS] = {
    "idle",   "compute",        "communication",        "compute+communication",
    "memory", "compute+memory", "communication+memory", "compute+communication+memory"
};

unsigned ks_work_of(const struct ks_trace *t, uint32_t i)
{
    static const char *const collectives[] = { "nccl", "rccl", "hccl", "oneccl" };
    const char *name = ks_trace_name(t, t->gpu.name[i]);

    if (t->gpu.kind[i] != KS_TRACE_KERNEL)
        return KS_WORK_MEMORY;
    for (size_t k = 0; k < sizeof(collectives) / sizeof(collectives[0]); k++)
        if (strncmp(name, collectives[k], strlen(collectives[k])) == 0)
            return KS_WORK_COMMUNICATION;
    name = strstr(name, "nccl"); /* most names are long and lack it */
    return name && (strstr(name, "ncclKernel") || strstr(name, "ncclDevKernel"))
               ? KS_WORK_COMMUNICATION
               : KS_WORK_COMPUTE;
}

int64_t ks_busy_ns(const struct ks_busy *b, unsigned mask)
{
    int64_t ns = 0;

    for (unsigned set = 1; set < KS_N_WORK_SETS; set++)
        if (set & mask)
            ns += b->set_ns[set];
    return ns;
}

/* Beginnings and ends of work: 2 per row. */
struct edges {
    uint32_t n;
    uint64_t *at;  /* time, order-preserving */
    uint8_t *type; /* bit of the work; with END at an end */
    uint32_t *order, *spare;
};
enum { END = 0x80 };

static void add_edge(struct edges *e, int64_t ns, unsigned type)
{
    e->at[e->n] = (uint64_t)ns ^ (uint64_t)1 << 63;
    e->type[e->n] = (uint8_t)type;
    e->order[e->n] = e->n;
    e->n++;
}

static void sweep(const struct edges *e, struct ks_busy *out)
{
    uint32_t open[KS_N_WORK_SETS] = { 0 };
    uint64_t last = e->n ? e->at[e->order[0]] : 0;
    unsigned set = 0;

    for (uint32_t i = 0; i < e->n; i++) {
        const uint32_t at = e->order[i];
        const unsigned type = e->type[at] & ~(unsigned)END;

        out->set_ns[set] += (int64_t)(e->at[at] - last);
        last = e->at[at];
        open[type] += e->type[at] & END ? UINT32_MAX : 1;
        set = open[type] ? set | type : set & ~type;
    }
}

static bool edges_init(struct edges *e, size_t n)
{
    *e = (struct edges){ .at = calloc(n + 1, sizeof(*e->at)),
                         .type = malloc(n + 1),
                         .order = malloc((n + 1) * sizeof(*e->order)),
                         .spare = malloc((n + 1) * sizeof(*e->spare)) };
    return e->at && e->type && e->order && e->spare;
}

static void edges_release(struct edges *e)
{
    free(e->at);
    free(e->type);
    free(e->order);
    free(e->spare);
}

int ks_busy_of(const struct ks_trace *t, uint32_t device, const uint8_t *keep, struct ks_busy *out,
               struct ks_err *err)
{
    const struct ks_trace_gpu *g = &t->gpu;
    struct edges e;
    int rc = 0;

    *out = (struct ks_busy){ .first_ns = INT64_MAX, .last_ns = INT64_MIN };
    if (!edges_init(&e, 2 * (size_t)g->n))
        rc = ks_fail(err, KS_ENOMEM, "out of memory for %u kernels", g->n);
    for (uint32_t i = 0; rc == 0 && i < g->n; i++) {
        const int64_t begin = g->ts_ns[i], end = begin + g->dur_ns[i];
        unsigned type;

        if (t->streams[g->stream[i]].device != device || (keep && !keep[i]))
            continue;
        type = ks_work_of(t, i);
        add_edge(&e, begin, type);
        add_edge(&e, end, type | END);
        out->first_ns = begin < out->first_ns ? begin : out->first_ns;
        out->last_ns = end > out->last_ns ? end : out->last_ns;
        out->sum_ns += g->dur_ns[i];
    }
    if (rc == 0) {
        ks_rows_sort(e.order, e.spare, e.n, e.at);
        sweep(&e, out);
    }
    edges_release(&e);
    return rc;
}
