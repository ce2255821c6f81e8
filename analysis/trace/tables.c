/* SPDX-License-Identifier: MIT */
/* tables.c - tables of devices, work, kernels, operators and shapes of a trace */
#include "analysis/trace/tables.h"

#include "base/file.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

const struct ks_table_column ks_summary_columns[] = {
    { "trace", KS_DF_TEXT },          { "rank", KS_DF_F64 },
    { "device", KS_DF_F64 },          { "name", KS_DF_TEXT },
    { "peaks", KS_DF_TEXT },          { "matched_by", KS_DF_TEXT },
    { "kernels", KS_DF_F64 },         { "span_us", KS_DF_F64 },
    { "busy_us", KS_DF_F64 },         { "sum_us", KS_DF_F64 },
    { "compute_us", KS_DF_F64 },      { "communication_us", KS_DF_F64 },
    { "memory_us", KS_DF_F64 },       { "non_compute_us", KS_DF_F64 },
    { "idle_us", KS_DF_F64 },         { "idle_percent", KS_DF_F64 },
    { "overlap_percent", KS_DF_F64 }, { "flop", KS_DF_F64 },
    { "bytes", KS_DF_F64 },           { NULL, KS_DF_F64 }
};
const struct ks_table_column ks_work_columns[] = {
    { "trace", KS_DF_TEXT },  { "device", KS_DF_F64 },          { "work", KS_DF_TEXT },
    { "time_us", KS_DF_F64 }, { "percent_of_busy", KS_DF_F64 }, { NULL, KS_DF_F64 }
};
#define RATE_COLUMNS                                                                               \
    { "time_us", KS_DF_F64 }, { "mean_us", KS_DF_F64 }, { "min_us", KS_DF_F64 },                   \
        { "max_us", KS_DF_F64 }, { "std_us", KS_DF_F64 }, { "share_percent", KS_DF_F64 },          \
        { "flop", KS_DF_F64 }, { "tflops", KS_DF_F64 }, { "bytes", KS_DF_F64 },                    \
        { "gb_per_s", KS_DF_F64 }, { "flop_per_byte", KS_DF_F64 }, { "units", KS_DF_TEXT },        \
        { "compute_percent", KS_DF_F64 }, { "bandwidth_percent", KS_DF_F64 },                      \
        { "bound", KS_DF_TEXT }, { "bytes_are", KS_DF_TEXT },                                      \
    {                                                                                              \
        NULL, KS_DF_F64                                                                            \
    }
const struct ks_table_column ks_kernel_columns[] = {
    { "trace", KS_DF_TEXT }, { "device", KS_DF_F64 }, { "kernel", KS_DF_TEXT },
    { "work", KS_DF_TEXT },  { "count", KS_DF_F64 },  RATE_COLUMNS
};
const struct ks_table_column ks_operator_columns[] = { { "trace", KS_DF_TEXT },
                                                       { "device", KS_DF_F64 },
                                                       { "operator", KS_DF_TEXT },
                                                       { "work", KS_DF_TEXT },
                                                       { "calls", KS_DF_F64 },
                                                       { "kernels", KS_DF_F64 },
                                                       RATE_COLUMNS };
const struct ks_table_column ks_shape_columns[] = { { "trace", KS_DF_TEXT },
                                                    { "device", KS_DF_F64 },
                                                    { "operator", KS_DF_TEXT },
                                                    { "work", KS_DF_TEXT },
                                                    { "input_dims", KS_DF_TEXT },
                                                    { "input_types", KS_DF_TEXT },
                                                    { "input_strides", KS_DF_TEXT },
                                                    { "concrete_inputs", KS_DF_TEXT },
                                                    { "calls", KS_DF_F64 },
                                                    { "kernels", KS_DF_F64 },
                                                    RATE_COLUMNS };

static double us(int64_t ns)
{
    return (double)ns / 1e3;
}

static double percent(double part, double whole)
{
    return whole > 0 ? 100 * part / whole : (double)NAN;
}

static void put_trace(const struct ks_trace_view *v, struct ks_table *to, uint32_t device)
{
    ks_table_text(to, ks_path_base(v->t->path));
    ks_table_number(to, (double)v->t->devices[device].id);
}

/* ---- per device ---- */

static void put_total(const struct ks_trace_view *v, uint32_t device, bool is_flop,
                      struct ks_table *to)
{
    const struct ks_trace *t = v->t;
    const struct ks_charge *c = &v->charge;
    double sum = 0;
    bool has_some = false;

    for (uint32_t i = 0; i < t->gpu.n; i++) {
        if (t->streams[t->gpu.stream[i]].device != device || (v->keep && !v->keep[i]) ||
            !(is_flop ? c->flop_known[i] : c->bytes_known[i]))
            continue;
        has_some = true;
        sum += is_flop ? c->flop[i] : c->bytes[i];
    }
    ks_table_number(to, has_some ? sum : (double)NAN);
}

static void put_device(const struct ks_trace_view *v, uint32_t device, const struct ks_busy *b,
                       struct ks_table *to)
{
    static const char *const matches[] = { "", "name", "units and memory", "estimate" };
    const struct ks_trace *t = v->t;
    const struct ks_peak *p = &v->peak[device];
    const int64_t busy = ks_busy_ns(b, KS_N_WORK_SETS - 1), span = b->last_ns - b->first_ns;
    const int64_t compute = ks_busy_ns(b, KS_WORK_COMPUTE);
    const int64_t communication = ks_busy_ns(b, KS_WORK_COMMUNICATION);
    const int64_t both =
        b->set_ns[KS_WORK_COMPUTE | KS_WORK_COMMUNICATION] + b->set_ns[KS_N_WORK_SETS - 1];
    uint64_t n = 0;

    for (uint32_t i = 0; i < t->gpu.n; i++)
        n += t->gpu.kind[i] == KS_TRACE_KERNEL && t->streams[t->gpu.stream[i]].device == device &&
             (!v->keep || v->keep[i]);
    ks_table_text(to, ks_path_base(t->path));
    ks_table_number(to, t->rank < 0 ? (double)NAN : (double)t->rank);
    ks_table_number(to, (double)t->devices[device].id);
    ks_table_text(to, t->devices[device].name);
    ks_table_text(to, p->match ? p->name : NULL);
    ks_table_text(to, p->match ? matches[p->match] : NULL);
    ks_table_number(to, (double)n);
    ks_table_number(to, us(span));
    ks_table_number(to, us(busy));
    ks_table_number(to, us(b->sum_ns));
    ks_table_number(to, us(compute));
    ks_table_number(to, us(communication));
    ks_table_number(to, us(ks_busy_ns(b, KS_WORK_MEMORY)));
    ks_table_number(to, us(busy - compute));
    ks_table_number(to, us(span - busy));
    ks_table_number(to, percent((double)(span - busy), (double)span));
    ks_table_number(to, percent((double)both, (double)communication));
    put_total(v, device, true, to);
    put_total(v, device, false, to);
}

void ks_put_summary(const struct ks_trace_view *v, struct ks_table *to)
{
    for (uint32_t d = 0; d < v->t->n_devices; d++)
        if (v->busy[d].first_ns <= v->busy[d].last_ns)
            put_device(v, d, &v->busy[d], to);
}

void ks_put_work(const struct ks_trace_view *v, struct ks_table *to)
{
    for (uint32_t d = 0; d < v->t->n_devices; d++) {
        const struct ks_busy *b = &v->busy[d];

        for (unsigned set = 1; set < KS_N_WORK_SETS; set++) {
            if (b->set_ns[set] == 0)
                continue;
            put_trace(v, to, d);
            ks_table_text(to, ks_work_names[set]);
            ks_table_number(to, us(b->set_ns[set]));
            ks_table_number(
                to, percent((double)b->set_ns[set], (double)ks_busy_ns(b, KS_N_WORK_SETS - 1)));
        }
    }
}

/* ---- kernels and operators ---- */

static void put_rates(const struct ks_trace_view *v, const struct ks_group *g, int64_t busy_ns,
                      struct ks_table *to)
{
    const struct ks_rates r = ks_group_rates(g, &v->peak[g->device]);
    const double n = (double)g->n_kernels, mean = (double)g->ns / n;
    const double variance = n > 1 ? (g->sum2_ns - n * mean * mean) / (n - 1) : 0;

    ks_table_number(to, us(g->ns));
    ks_table_number(to, mean / 1e3);
    ks_table_number(to, us(g->min_ns));
    ks_table_number(to, us(g->max_ns));
    ks_table_number(to, sqrt(variance > 0 ? variance : 0) / 1e3);
    ks_table_number(to, percent((double)g->ns, (double)busy_ns));
    ks_table_number(to, g->flop_ns ? g->flop : (double)NAN);
    ks_table_number(to, r.flop_per_s / 1e12);
    ks_table_number(to, g->bytes_ns ? g->bytes : (double)NAN);
    ks_table_number(to, r.bytes_per_s / 1e9);
    ks_table_number(to, r.flop_per_byte);
    ks_table_text(to, g->flop_ns ? ks_units_names[r.units] : NULL);
    ks_table_number(to, 100 * r.compute_share);
    ks_table_number(to, 100 * r.bandwidth_share);
    ks_table_text(to, r.bound ? r.bound : "unknown");
    ks_table_text(to, !g->bytes_ns ? "unknown" : g->is_estimate ? "inputs" : "known");
}

/* Line `part` (0 to 3) of a shape's text. */
static void put_shape(const struct ks_trace *t, uint32_t shape, struct ks_table *to)
{
    const char *text = shape == KS_TRACE_NONE ? "" : ks_names_text(&t->shapes, shape);
    struct ks_buf line;

    ks_buf_init(&line);
    for (int i = 0; i < 4; i++) {
        const size_t n = strcspn(text, "\n");

        ks_buf_clear(&line);
        ks_buf_put(&line, text, n);
        ks_table_text(to, n ? ks_buf_text(&line) : NULL);
        text += n + (text[n] == '\n');
    }
    to->has_failed |= !ks_buf_ok(&line);
    ks_buf_release(&line);
}

/* others: how many lines g stands for; 0: one. */
static void put_group(const struct ks_trace_view *v, enum ks_group_by by, const struct ks_group *g,
                      uint32_t others, int64_t busy_ns, struct ks_table *to)
{
    char text[64];

    snprintf(text, sizeof(text), "(%u others)", others);
    put_trace(v, to, g->device);
    ks_table_text(to, others                    ? text
                      : g->name == KS_NAME_NONE ? "(no operator)"
                                                : ks_trace_name(v->t, g->name));
    ks_table_text(to, g->work ? ks_work_names[g->work] : "mixed");
    if (by == KS_BY_SHAPE)
        put_shape(v->t, others ? KS_TRACE_NONE : g->shape, to);
    ks_table_number(to, (double)g->count);
    if (by != KS_BY_KERNEL)
        ks_table_number(to, (double)g->n_kernels);
    put_rates(v, g, busy_ns, to);
}

static void put_device_groups(const struct ks_trace_view *v, enum ks_group_by by,
                              const struct ks_group *rows, uint32_t n, uint32_t n_top,
                              int64_t busy_ns, struct ks_table *to)
{
    const uint32_t n_shown = n_top && n_top < n ? n_top : n;

    for (uint32_t i = 0; i < n_shown; i++)
        put_group(v, by, &rows[i], 0, busy_ns, to);
    if (n_shown < n) {
        struct ks_group rest = rows[n_shown];

        for (uint32_t i = n_shown + 1; i < n; i++)
            ks_group_add(&rest, &rows[i]);
        put_group(v, by, &rest, n - n_shown, busy_ns, to);
    }
}

int ks_put_groups(const struct ks_trace_view *v, enum ks_group_by by, uint32_t n_top,
                  struct ks_table *to, struct ks_err *err)
{
    struct ks_groups groups = { 0 };
    int rc = ks_aggregate(v->t, &v->charge, by, v->keep, &groups, err);

    for (uint32_t i = 0, n; rc == 0 && i < groups.n; i += n) {
        const uint32_t device = groups.rows[i].device;

        for (n = 1; i + n < groups.n && groups.rows[i + n].device == device; n++)
            continue;
        put_device_groups(v, by, &groups.rows[i], n, n_top,
                          ks_busy_ns(&v->busy[device], KS_N_WORK_SETS - 1), to);
    }
    ks_groups_release(&groups);
    return rc;
}
