/* SPDX-License-Identifier: MIT */
/* roofline_chart.c - makes a roofline chart per device of a trace or of counters */
#include "analysis/trace/roofline_chart.h"
#include "analysis/trace/counter_read.h"
#include "analysis/trace/roofs.h"
#include "analysis/trace/view.h"
#include "base/file.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char why_undrawn[] = "FLOPs, bytes or time unknown or 0, or beyond --top";

/* ---- what charts own ---- */

static void *keep_array(struct ks_charts *c, void *array)
{
    void **arrays = array ? realloc(c->arrays, (c->n_arrays + 1) * sizeof(*arrays)) : NULL;

    if (!arrays) {
        free(array);
        return NULL;
    }
    c->arrays = arrays;
    return c->arrays[c->n_arrays++] = array;
}

/* A copy that lives with the charts; NULL: no memory. */
static const char *keep_text(struct ks_charts *c, const char *text)
{
    char **texts = realloc(c->texts, (c->n_texts + 1) * sizeof(*texts));

    if (!texts)
        return NULL;
    c->texts = texts;
    c->texts[c->n_texts] = strdup(text);
    return c->texts[c->n_texts] ? c->texts[c->n_texts++] : NULL;
}

void ks_charts_release(struct ks_charts *c)
{
    for (size_t i = 0; i < c->n_texts; i++)
        free(c->texts[i]);
    for (size_t i = 0; i < c->n_arrays; i++)
        free(c->arrays[i]);
    free(c->texts);
    free(c->arrays);
    free(c->at);
    *c = (struct ks_charts){ 0 };
}

/* A chart with room for n_dots and the roofs copied; NULL: no memory. */
static struct ks_roofline *add_chart(struct ks_charts *c, const char *title, const char *subtitle,
                                     const struct ks_roofs *roofs, size_t n_dots,
                                     struct ks_roof_dot **dots_out)
{
    struct ks_roofline *at = realloc(c->at, (c->n + 1) * sizeof(*at));
    struct ks_roof *own_roofs = keep_array(c, calloc(roofs->n + 1, sizeof(*own_roofs)));
    const char *own_title = keep_text(c, title), *own_subtitle = keep_text(c, subtitle);

    if (at)
        c->at = at;
    *dots_out = keep_array(c, calloc(n_dots + 1, sizeof(**dots_out)));
    if (!at || !own_roofs || !own_title || !own_subtitle || !*dots_out)
        return NULL;
    memcpy(own_roofs, roofs->at, roofs->n * sizeof(*own_roofs));
    at = &c->at[c->n++];
    *at = (struct ks_roofline){ .title = own_title,
                                .subtitle = own_subtitle,
                                .roofs = own_roofs,
                                .n_roofs = roofs->n,
                                .dots = *dots_out,
                                .undrawn_why = why_undrawn };
    return at;
}

/* Takes the dot where it can be drawn; else it is counted. */
static void add_dot(struct ks_roofline *r, struct ks_roof_dot *dots, const struct ks_roof_dot *d,
                    uint32_t top)
{
    r->total_ns += d->time_ns;
    if (d->name && isfinite(d->intensity) && d->intensity > 0 && isfinite(d->flop_per_s) &&
        d->flop_per_s > 0 && (top == 0 || r->n_dots < top)) {
        dots[r->n_dots++] = *d;
        return;
    }
    r->n_undrawn++;
    r->undrawn_ns += d->time_ns;
}

/* ---- traces ---- */

/* The peaks of the memory and of the units that kernels ran on. */
static struct ks_roofs roofs_of_peak(const struct ks_peak *p, const struct ks_group *rows,
                                     uint32_t n, uint32_t device)
{
    struct ks_roofs roofs = { .device = -1 };

    if (p->bytes_per_s > 0)
        roofs.at[roofs.n++] = (struct ks_roof){ "memory", p->bytes_per_s, true };
    for (int u = 0; u < KS_N_UNITS; u++) {
        int64_t ns = 0;

        for (uint32_t i = 0; i < n; i++)
            ns += rows[i].device == device ? rows[i].units_ns[u] : 0;
        if (p->flop_per_s[u] > 0 && ns > 0)
            roofs.at[roofs.n++] = (struct ks_roof){ ks_units_names[u], p->flop_per_s[u], false };
    }
    return roofs;
}

/* "roofs measured (roofline.csv)", and on which device where it is another. */
static void put_origin(const struct ks_roofs *roofs, const char *path, int64_t device, char *out,
                       size_t cap)
{
    if (roofs->device >= 0 && roofs->device != device)
        snprintf(out, cap, "roofs measured on device %" PRId64 " (%.80s)", roofs->device,
                 ks_path_base(path));
    else
        snprintf(out, cap, "roofs measured (%.80s)", ks_path_base(path));
}

static int find_roofs(const struct ks_chart_options *o, const struct ks_trace_view *v,
                      const struct ks_groups *g, uint32_t device, struct ks_roofs *out,
                      char *origin, size_t cap, struct ks_err *err)
{
    const struct ks_peak *p = &v->peak[device];

    if (o->roofs) {
        const int64_t id = v->t->devices[device].id;
        const int rc = ks_roofs_read(o->roofs, id, out, err);

        if (rc == 0)
            put_origin(out, o->roofs, id, origin, cap);
        return rc;
    }
    *out = roofs_of_peak(p, g->rows, g->n, device);
    if (p->match == KS_PEAK_NONE)
        snprintf(origin, cap, "no peaks known (--peaks, --roofs)");
    else
        snprintf(origin, cap, "roofs %s: %.80s",
                 p->match == KS_PEAK_ESTIMATE ? "estimated" : "from the data sheet", p->name);
    return 0;
}

/* What stands behind a group's name: of a shape its dims, the first of four lines. */
static const char *note_of(struct ks_charts *c, const struct ks_trace *t, const struct ks_group *g)
{
    char dims[512];
    const char *text;

    if (g->shape == KS_TRACE_NONE)
        return "";
    text = ks_names_text(&t->shapes, g->shape);
    snprintf(dims, sizeof(dims), "%.*s", (int)strcspn(text, "\n"), text);
    return keep_text(c, dims);
}

static int add_groups(struct ks_charts *c, struct ks_roofline *r, struct ks_roof_dot *dots,
                      const struct ks_trace_view *v, const struct ks_groups *g, uint32_t device,
                      uint32_t top, struct ks_err *err)
{
    for (uint32_t i = 0; i < g->n; i++) {
        const struct ks_group *row = &g->rows[i];
        const struct ks_rates rates = ks_group_rates(row, &v->peak[device]);
        struct ks_roof_dot d = { .intensity = rates.flop_per_byte,
                                 .flop_per_s = rates.flop_per_s,
                                 .time_ns = (double)row->ns,
                                 .launches = (unsigned long)row->count };

        if (row->device != device)
            continue;
        d.name = keep_text(c, row->name == KS_NAME_NONE ? "(no operator)"
                                                        : ks_trace_name(v->t, row->name));
        d.note = note_of(c, v->t, row);
        if (!d.name || !d.note)
            return ks_fail(err, KS_ENOMEM, "out of memory for a chart");
        add_dot(r, dots, &d, top);
    }
    return 0;
}

static int add_device(struct ks_charts *c, const struct ks_trace_view *v, const struct ks_groups *g,
                      uint32_t device, const char *path, const struct ks_chart_options *o,
                      struct ks_err *err)
{
    const struct ks_trace_device *d = &v->t->devices[device];
    char title[256], origin[160], subtitle[400];
    struct ks_roof_dot *dots;
    struct ks_roofline *r;
    struct ks_roofs roofs;
    bool is_used = false;
    int rc;

    for (uint32_t i = 0; i < g->n; i++)
        is_used |= g->rows[i].device == device;
    if (!is_used)
        return 0;
    rc = find_roofs(o, v, g, device, &roofs, origin, sizeof(origin), err);
    if (rc < 0)
        return rc;
    snprintf(title, sizeof(title), "%s, device %" PRId64, d->name[0] ? d->name : "unnamed", d->id);
    snprintf(subtitle, sizeof(subtitle), "%.120s; %s; FLOPs and bytes from formulas",
             ks_path_base(path), origin);
    r = add_chart(c, title, subtitle, &roofs, g->n, &dots);
    return r ? add_groups(c, r, dots, v, g, device, o->top, err)
             : ks_fail(err, KS_ENOMEM, "out of memory for a chart");
}

int ks_charts_add_trace(struct ks_charts *c, const char *path, const struct ks_chart_options *o,
                        struct ks_buf *notes, struct ks_err *err)
{
    const struct ks_view_options options = { .peaks = o->peaks };
    struct ks_groups groups = { 0 };
    struct ks_trace_view v;
    int rc = ks_trace_view_open(path, &options, &v, notes, err);

    if (rc == 0)
        rc = ks_aggregate(v.t, &v.charge, o->by, v.keep, &groups, err);
    for (uint32_t d = 0; rc == 0 && d < v.t->n_devices; d++)
        rc = add_device(c, &v, &groups, d, path, o, err);
    ks_groups_release(&groups);
    ks_trace_view_close(&v);
    return rc;
}

/* ---- counters ---- */

/* --roofs, else DIR/roofline.csv of the first directory that has one. false: none. */
static bool roofs_path(const struct ks_chart_options *o, const char *const *paths, int n, char *out,
                       size_t cap)
{
    struct ks_err ignored;

    if (o->roofs)
        return (size_t)snprintf(out, cap, "%s", o->roofs) < cap;
    for (int i = 0; i < n; i++)
        if (ks_path_is_dir(paths[i]) &&
            ks_path_join(out, cap, paths[i], "roofline.csv", &ignored) == 0 && ks_path_exists(out))
            return true;
    return false;
}

static struct ks_roof_dot dot_of_line(struct ks_charts *c, const struct ks_counter_table *t,
                                      const struct ks_counter_line *l, enum ks_quantity level)
{
    const struct ks_quantities *q = &l->q;
    const bool has_all = q->has_flop && q->has[KS_Q_TIME_NS] && q->has[level] &&
                         q->value[KS_Q_TIME_NS] > 0 && q->value[level] > 0;
    struct ks_roof_dot d = { .level = ks_quantity_names[level],
                             .time_ns = q->has[KS_Q_TIME_NS] ? q->value[KS_Q_TIME_NS] : 0,
                             .launches = (unsigned long)l->row.launches };

    d.name =
        l->row.kernel == KS_TEXT_NONE ? NULL : keep_text(c, ks_counter_text_of(t, l->row.kernel));
    if (!has_all)
        return d;
    d.intensity = q->flop / q->value[level];
    d.flop_per_s = q->flop / q->value[KS_Q_TIME_NS] * 1e9;
    return d;
}

/* The lines from *at_io on that are of the same rank and device; *at_io moves behind them. */
static int add_lines(struct ks_charts *c, const struct ks_counter_table *t,
                     const struct ks_counter_lines *l, size_t *at_io,
                     const struct ks_chart_options *o, const char *roofs_file, struct ks_err *err)
{
    const struct ks_counter_row *of = &l->at[*at_io].row;
    char title[128] = "Device", subtitle[256], origin[160] = "no roofs known (--roofs)";
    struct ks_roofs roofs = { .n = 0 };
    struct ks_roof_dot *dots;
    struct ks_roofline *r;
    int rc = roofs_file ? ks_roofs_read(roofs_file, of->device, &roofs, err) : 0;
    size_t i = *at_io, used = strlen(title);

    if (rc < 0)
        return rc;
    if (of->device >= 0)
        used += (size_t)snprintf(title + used, sizeof(title) - used, " %" PRId64, of->device);
    if (of->rank >= 0)
        snprintf(title + used, sizeof(title) - used, ", rank %" PRId64, of->rank);
    if (roofs_file)
        put_origin(&roofs, roofs_file, of->device, origin, sizeof(origin));
    snprintf(subtitle, sizeof(subtitle), "%s; FLOPs, bytes and time from counters", origin);
    r = add_chart(c, title, subtitle, &roofs, l->n - i, &dots);
    if (!r)
        return ks_fail(err, KS_ENOMEM, "out of memory for a chart");
    for (; i < l->n && l->at[i].row.rank == of->rank && l->at[i].row.device == of->device; i++) {
        const struct ks_roof_dot d = dot_of_line(c, t, &l->at[i], o->level);

        add_dot(r, dots, &d, o->top);
    }
    *at_io = i;
    return 0;
}

int ks_charts_add_counters(struct ks_charts *c, const char *const *paths, int n,
                           const struct ks_chart_options *o, struct ks_err *err)
{
    struct ks_counter_table t = { 0 };
    struct ks_counter_lines l = { 0 };
    char roofs[4096];
    const bool has_roofs = roofs_path(o, paths, n, roofs, sizeof(roofs));
    int rc = ks_counter_paths_read(&t, paths, n, err);

    if (rc == 0)
        rc = ks_counter_lines_make(&t, KS_LINES_BY_KERNEL, &l, err);
    for (size_t i = 0; rc == 0 && i < l.n;)
        rc = add_lines(c, &t, &l, &i, o, has_roofs ? roofs : NULL, err);
    ks_counter_lines_release(&l);
    ks_counter_table_release(&t);
    return rc;
}
