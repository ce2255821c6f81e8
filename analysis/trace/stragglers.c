/* SPDX-License-Identifier: MIT */
/* stragglers.c - which rank came last to collectives, and how long others waited */
#include "analysis/trace/stragglers.h"

#include "base/array.h"
#include "base/file.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

const struct ks_table_column ks_straggler_columns[] = {
    { "trace", KS_DF_TEXT },           { "rank", KS_DF_F64 },        { "device", KS_DF_F64 },
    { "span_us", KS_DF_F64 },          { "busy_us", KS_DF_F64 },     { "compute_us", KS_DF_F64 },
    { "communication_us", KS_DF_F64 }, { "collectives", KS_DF_F64 }, { "came_last", KS_DF_F64 },
    { "waited_us", KS_DF_F64 },        { "held_up_us", KS_DF_F64 },  { NULL, KS_DF_F64 }
};

static int no_memory(struct ks_err *err)
{
    return ks_fail(err, KS_ENOMEM, "out of memory for stragglers");
}

static bool is_collective(const struct ks_trace_view *v, uint32_t i, uint32_t device)
{
    const struct ks_trace *t = v->t;

    return t->streams[t->gpu.stream[i]].device == device && (!v->keep || v->keep[i]) &&
           ks_work_of(t, i) == KS_WORK_COMMUNICATION;
}

static int add_collectives(const struct ks_trace_view *v, uint32_t device,
                           struct ks_straggler_rank *r, struct ks_err *err)
{
    const struct ks_trace_gpu *g = &v->t->gpu;
    uint32_t *order = malloc((g->n + (size_t)1) * sizeof(*order));
    int rc;

    r->collective_ns = malloc((g->n + (size_t)1) * sizeof(*r->collective_ns));
    rc = order && r->collective_ns ? ks_trace_sort(g->ts_ns, g->dur_ns, g->n, order, err)
                                   : no_memory(err);
    for (uint32_t i = 0; rc == 0 && i < g->n; i++)
        if (is_collective(v, order[i], device))
            r->collective_ns[r->n++] = g->dur_ns[order[i]];
    free(order);
    return rc;
}

static int add_device(struct ks_stragglers *s, const struct ks_trace_view *v, uint32_t device,
                      struct ks_err *err)
{
    const struct ks_busy *b = &v->busy[device];
    struct ks_straggler_rank *r;
    int rc;

    if (b->first_ns > b->last_ns)
        return 0;
    rc = ks_reserve(&s->ranks, s->n + 1, &s->cap, sizeof(*s->ranks), "ranks", err);
    if (rc < 0)
        return rc;
    r = &s->ranks[s->n++];
    *r = (struct ks_straggler_rank){ .trace = strdup(ks_path_base(v->t->path)),
                                     .rank = v->t->rank,
                                     .device = v->t->devices[device].id,
                                     .busy_ns = ks_busy_ns(b, KS_N_WORK_SETS - 1),
                                     .compute_ns = ks_busy_ns(b, KS_WORK_COMPUTE),
                                     .communication_ns = ks_busy_ns(b, KS_WORK_COMMUNICATION),
                                     .span_ns = b->last_ns - b->first_ns };
    return r->trace ? add_collectives(v, device, r, err) : no_memory(err);
}

int ks_stragglers_add(struct ks_stragglers *s, const struct ks_trace_view *v, struct ks_err *err)
{
    int rc = 0;

    for (uint32_t d = 0; rc == 0 && d < v->t->n_devices; d++)
        rc = add_device(s, v, d, err);
    return rc;
}

struct line {
    const struct ks_straggler_rank *rank;
    uint32_t n_last;
    int64_t waited_ns, held_up_ns;
};

static void add_collective(const struct ks_stragglers *s, uint32_t i, struct line *lines)
{
    size_t last = 0;
    int64_t longest = 0;

    for (size_t k = 0; k < s->n; k++) {
        const int64_t ns = s->ranks[k].collective_ns[i];

        last = ns < s->ranks[last].collective_ns[i] ? k : last;
        longest = ns > longest ? ns : longest;
    }
    for (size_t k = 0; k < s->n; k++)
        lines[k].waited_ns += s->ranks[k].collective_ns[i] - s->ranks[last].collective_ns[i];
    lines[last].n_last++;
    lines[last].held_up_ns += longest - s->ranks[last].collective_ns[i];
}

static int compare(const void *x, const void *y)
{
    const struct line *a = x, *b = y;

    if (a->held_up_ns != b->held_up_ns)
        return a->held_up_ns > b->held_up_ns ? -1 : 1;
    if (a->rank->compute_ns != b->rank->compute_ns)
        return a->rank->compute_ns > b->rank->compute_ns ? -1 : 1;
    return (a->rank > b->rank) - (a->rank < b->rank);
}

static void put_line(const struct line *l, bool is_known, struct ks_table *to)
{
    const struct ks_straggler_rank *r = l->rank;

    ks_table_text(to, r->trace);
    ks_table_number(to, r->rank < 0 ? (double)NAN : (double)r->rank);
    ks_table_number(to, (double)r->device);
    ks_table_number(to, (double)r->span_ns / 1e3);
    ks_table_number(to, (double)r->busy_ns / 1e3);
    ks_table_number(to, (double)r->compute_ns / 1e3);
    ks_table_number(to, (double)r->communication_ns / 1e3);
    ks_table_number(to, r->n);
    ks_table_number(to, is_known ? (double)l->n_last : (double)NAN);
    ks_table_number(to, is_known ? (double)l->waited_ns / 1e3 : (double)NAN);
    ks_table_number(to, is_known ? (double)l->held_up_ns / 1e3 : (double)NAN);
}

int ks_stragglers_put(const struct ks_stragglers *s, struct ks_table *to, struct ks_err *err)
{
    struct line *lines = calloc(s->n + 1, sizeof(*lines));
    bool is_known = s->n > 0 && s->ranks[0].n > 0;

    if (!lines)
        return no_memory(err);
    for (size_t k = 0; k < s->n; k++) {
        lines[k].rank = &s->ranks[k];
        is_known &= s->ranks[k].n == s->ranks[0].n;
    }
    for (uint32_t i = 0; is_known && i < s->ranks[0].n; i++)
        add_collective(s, i, lines);
    if (s->n > 1)
        qsort(lines, s->n, sizeof(*lines), compare);
    for (size_t k = 0; s->n > 1 && k < s->n; k++)
        put_line(&lines[k], is_known, to);
    free(lines);
    return 0;
}

void ks_stragglers_release(struct ks_stragglers *s)
{
    for (size_t k = 0; k < s->n; k++) {
        free(s->ranks[k].trace);
        free(s->ranks[k].collective_ns);
    }
    free(s->ranks);
    *s = (struct ks_stragglers){ .n = 0 };
}
