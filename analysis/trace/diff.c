/* SPDX-License-Identifier: MIT */
/* diff.c - two traces side by side, joined by the text of a kernel's or operator's name; devices,
 * vendors and their numbers may differ. */
#include "analysis/out/result.h"
#include "analysis/trace/table.h"
#include "analysis/trace/verbs.h"
#include "analysis/trace/view.h"

#include "base/file.h"
#include "trace/output.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char *const by_names[] = { "kernel", "operator", "shape", NULL };
static const char *const formats[] = { "text", "csv", "json", "markdown", NULL };
static const struct ks_format *const writers[] = { &ks_format_text, &ks_format_csv, &ks_format_json,
                                                   &ks_format_markdown };

struct config {
    const char *output, *peaks, *steps, *name_a, *name_b;
    unsigned format, by;
    uint32_t top;
    double tolerance;
};
#define AT(member) offsetof(struct config, member)
static const struct ks_opt opts[] = {
    KS_OPT_RESULT(AT(output)),
    { .name = "format",
      .type = KS_OPT_ENUM,
      .offset = AT(format),
      .def = "text",
      .choices = formats,
      .arg = "NAME",
      .help = "text (aligned, 6 digits), csv, json, markdown" },
    { .name = "by",
      .type = KS_OPT_ENUM,
      .offset = AT(by),
      .def = "kernel",
      .choices = by_names,
      .arg = "WHAT",
      .help = "what a line stands for: a kernel, an operator, or an operator with its shapes" },
    { .name = "name-a",
      .type = KS_OPT_STR,
      .offset = AT(name_a),
      .arg = "NAME",
      .help = "name of A in the columns; default: its file" },
    { .name = "name-b",
      .type = KS_OPT_STR,
      .offset = AT(name_b),
      .arg = "NAME",
      .help = "name of B in the columns; default: its file" },
    { .name = "tolerance",
      .type = KS_OPT_F64,
      .offset = AT(tolerance),
      .def = "5",
      .min = 0,
      .max = 100,
      .arg = "PERCENT",
      .help = "smaller changes of the mean time are shown as 'same'" },
    { .name = "top",
      .type = KS_OPT_U32,
      .offset = AT(top),
      .def = "0",
      .arg = "N",
      .help = "number of lines, largest changes first; the rest is summed up in one line; 0: all "
              "lines" },
    { .name = "steps",
      .type = KS_OPT_STR,
      .offset = AT(steps),
      .arg = "A..B",
      .help = "use only what these steps of the profiler launched, in both traces" },
    KS_OPT_PEAKS(AT(peaks)),
    KS_OPT_END
};
#undef AT

/* One line: the same key in both traces, over all devices. */
struct line {
    struct ks_group side[2];
    bool has[2];
};
struct diff {
    struct ks_names keys; /* the key's text: name '\n' dims '\n' types .. */
    struct line *lines;
    uint32_t cap, *order;
};

static uint32_t put_key(struct diff *d, const struct ks_trace *t, const struct ks_group *g,
                        struct ks_buf *scratch)
{
    ks_buf_clear(scratch);
    ks_buf_printf(scratch, "%s",
                  g->name == KS_NAME_NONE ? "(no operator)" : ks_trace_name(t, g->name));
    ks_buf_u8(scratch, '\x1f');
    if (g->shape != KS_TRACE_NONE)
        ks_buf_printf(scratch, "%s", ks_names_text(&t->shapes, g->shape));
    ks_buf_printf(scratch, "\x1f%s", g->work ? ks_work_names[g->work] : "mixed");
    return ks_buf_ok(scratch) ? ks_names_put(&d->keys, ks_buf_text(scratch), scratch->len)
                              : KS_NAME_NONE;
}

static bool add_group(struct diff *d, const struct ks_trace *t, const struct ks_group *g, int side,
                      struct ks_buf *scratch)
{
    const uint32_t n = d->keys.n, at = put_key(d, t, g, scratch);

    if (at == KS_NAME_NONE)
        return false;
    if (at == n && n == d->cap) {
        const uint32_t cap = d->cap ? 2 * d->cap : 128;
        struct line *grown = realloc(d->lines, cap * sizeof(*grown));

        if (!grown)
            return false;
        d->lines = grown;
        d->cap = cap;
    }
    if (at == n)
        memset(&d->lines[at], 0, sizeof(d->lines[at]));
    if (d->lines[at].has[side])
        ks_group_add(&d->lines[at].side[side], g);
    else
        d->lines[at].side[side] = *g;
    d->lines[at].has[side] = true;
    return true;
}

static int add_side(struct diff *d, const struct ks_trace_view *v, enum ks_group_by by, int side,
                    struct ks_err *err)
{
    struct ks_groups groups = { 0 };
    struct ks_buf scratch;
    int rc = ks_aggregate(v->t, &v->charge, by, v->keep, &groups, err);

    ks_buf_init(&scratch);
    for (uint32_t i = 0; rc == 0 && i < groups.n; i++)
        if (!add_group(d, v->t, &groups.rows[i], side, &scratch))
            rc = ks_fail(err, KS_ENOMEM, "out of memory for the differences");
    ks_buf_release(&scratch);
    ks_groups_release(&groups);
    return rc;
}

/* ---- order ---- */

static int64_t change_ns(const struct line *l)
{
    return l->side[1].ns - l->side[0].ns;
}

static int compare(const void *x, const void *y, void *lines)
{
    const uint32_t a = *(const uint32_t *)x, b = *(const uint32_t *)y;
    const int64_t da = llabs(change_ns((struct line *)lines + a));
    const int64_t db = llabs(change_ns((struct line *)lines + b));

    if (da != db)
        return da > db ? -1 : 1;
    return (a > b) - (a < b);
}

static int sort_lines(struct diff *d, struct ks_err *err)
{
    d->order = malloc((d->keys.n + (size_t)1) * sizeof(*d->order));
    if (!d->order)
        return ks_fail(err, KS_ENOMEM, "out of memory");
    for (uint32_t i = 0; i < d->keys.n; i++)
        d->order[i] = i;
    if (d->keys.n)
        qsort_r(d->order, d->keys.n, sizeof(*d->order), compare, d->lines);
    return 0;
}

/* ---- output ---- */

static double mean_us(const struct ks_group *g)
{
    return g->n_kernels ? (double)g->ns / (double)g->n_kernels / 1e3 : (double)NAN;
}

static const char *word(const struct line *l, double tolerance)
{
    const double a = mean_us(&l->side[0]), b = mean_us(&l->side[1]);

    if (!l->has[0] || !l->has[1])
        return l->has[1] ? "added" : "gone";
    if (fabs(b - a) <= tolerance / 100 * a)
        return "same";
    return b < a ? "faster" : "slower";
}

static void put_side(const struct ks_trace_view *v, const struct line *l, int side,
                     struct ks_table *to)
{
    const struct ks_group *g = &l->side[side];
    const struct ks_rates r = ks_group_rates(g, l->has[side] ? &v->peak[g->device] : NULL);

    if (!l->has[side]) {
        for (int i = 0; i < 5; i++)
            ks_table_missing(to);
        return;
    }
    ks_table_number(to, (double)g->count);
    ks_table_number(to, (double)g->ns / 1e3);
    ks_table_number(to, mean_us(g));
    ks_table_number(to, r.flop_per_s / 1e12);
    ks_table_number(to, r.bytes_per_s / 1e9);
}

/* The parts of a key's text. */
static void put_names(const char *key, bool has_shape, struct ks_table *to)
{
    const char *shape = strchr(key, '\x1f') + 1, *work = strchr(shape, '\x1f') + 1;
    struct ks_buf part;

    ks_buf_init(&part);
    ks_buf_put(&part, key, (size_t)(shape - key - 1));
    ks_table_text(to, ks_buf_text(&part));
    ks_table_text(to, work);
    if (has_shape) {
        ks_buf_clear(&part);
        for (const char *p = shape; p < work - 1; p++)
            ks_buf_u8(&part, *p == '\n' ? ' ' : (uint8_t)*p);
        ks_table_text(to, ks_buf_text(&part));
    }
    to->has_failed |= !ks_buf_ok(&part);
    ks_buf_release(&part);
}

static void put_line(const struct ks_trace_view v[2], const struct line *l, const char *what,
                     struct ks_table *to)
{
    const double a = (double)l->side[0].ns, b = (double)l->side[1].ns;

    ks_table_text(to, what);
    put_side(&v[0], l, 0, to);
    put_side(&v[1], l, 1, to);
    ks_table_number(to, (b - a) / 1e3);
    ks_table_number(to, l->has[0] && l->has[1] ? b / a : (double)NAN);
}

static void add_line(struct line *sum, const struct line *l)
{
    for (int side = 0; side < 2; side++) {
        if (!l->has[side])
            continue;
        if (sum->has[side])
            ks_group_add(&sum->side[side], &l->side[side]);
        else
            sum->side[side] = l->side[side];
        sum->has[side] = true;
    }
}

static void put_sum(const struct ks_trace_view v[2], const char *name, const struct line *l,
                    bool has_shape, struct ks_table *to)
{
    ks_table_text(to, name);
    ks_table_missing(to);
    if (has_shape)
        ks_table_missing(to);
    put_line(v, l, "", to);
}

static void put_lines(const struct diff *d, const struct ks_trace_view v[2], const struct config *c,
                      struct ks_table *to)
{
    const bool has_shape = c->by == KS_BY_SHAPE;
    const uint32_t n = d->keys.n, n_shown = c->top && c->top < n ? c->top : n;
    struct line rest = { 0 }, all = { 0 };
    char text[64];

    for (uint32_t i = 0; i < n; i++) {
        const struct line *l = &d->lines[d->order[i]];

        add_line(&all, l);
        if (i >= n_shown) {
            add_line(&rest, l);
            continue;
        }
        put_names(ks_names_text(&d->keys, d->order[i]), has_shape, to);
        put_line(v, l, word(l, c->tolerance), to);
    }
    snprintf(text, sizeof(text), "(%u others)", n - n_shown);
    if (n_shown < n)
        put_sum(v, text, &rest, has_shape, to);
    put_sum(v, "(total)", &all, has_shape, to);
}

enum { N_COLUMNS = 16 };

/* Names of columns that begin with what A and B are called; texts [N_COLUMNS][192]. */
static void make_columns(const struct config *c, const char *const *paths,
                         struct ks_table_column columns[N_COLUMNS], char (*texts)[192])
{
    static const char *const parts[] = { "count", "time_us", "mean_us", "tflops", "gb_per_s" };
    const char *names[2] = { c->name_a ? c->name_a : ks_path_base(paths[0]),
                             c->name_b ? c->name_b : ks_path_base(paths[1]) };
    size_t n = 0;

    if (!c->name_a && !c->name_b && strcmp(names[0], names[1]) == 0) {
        names[0] = "A";
        names[1] = "B";
    }
    columns[n++] =
        (struct ks_table_column){ c->by == KS_BY_KERNEL ? "kernel" : "operator", KS_DF_TEXT };
    columns[n++] = (struct ks_table_column){ "work", KS_DF_TEXT };
    if (c->by == KS_BY_SHAPE)
        columns[n++] = (struct ks_table_column){ "shapes", KS_DF_TEXT };
    columns[n++] = (struct ks_table_column){ "change", KS_DF_TEXT };
    for (int i = 0; i < 10; i++) {
        snprintf(texts[i], sizeof(texts[i]), "%.150s %s", names[i / 5], parts[i % 5]);
        columns[n++] = (struct ks_table_column){ texts[i], KS_DF_F64 };
    }
    columns[n++] = (struct ks_table_column){ "change_us", KS_DF_F64 };
    columns[n++] = (struct ks_table_column){ "ratio", KS_DF_F64 };
    columns[n] = (struct ks_table_column){ NULL, KS_DF_F64 };
}

static int write_diff(const struct diff *d, const struct ks_trace_view v[2], const struct config *c,
                      const char *const *paths, struct ks_err *err)
{
    struct ks_table_column columns[N_COLUMNS + 1];
    char texts[10][192];
    struct ks_result result;
    struct ks_table table;
    int rc = ks_result_open(&result, c->output, err);

    make_columns(c, paths, columns, texts);
    ks_table_init(&table, columns);
    put_lines(d, v, c, &table);
    if (rc == 0)
        rc = ks_table_write(
            &table, writers[c->format],
            writers[c->format] == &ks_format_text || writers[c->format] == &ks_format_markdown ? 6
                                                                                               : 0,
            &result.sink, err);
    ks_table_release(&table);
    return ks_result_close(&result, rc, err);
}

static int diff(const void *cfg, const char *const *operands, int n, struct ks_buf *notes,
                struct ks_err *err)
{
    const struct config *c = cfg;
    const struct ks_view_options o = { .peaks = c->peaks, .steps = c->steps };
    struct ks_trace_view v[2] = { 0 };
    struct diff d = { 0 };
    int rc = c->output ? ks_trace_output_check(c->output, operands, (size_t)n, err) : 0;

    for (int side = 0; rc == 0 && side < 2; side++) {
        rc = ks_trace_view_open(operands[side], &o, &v[side], notes, err);
        if (rc == 0)
            rc = add_side(&d, &v[side], c->by, side, err);
    }
    if (rc == 0)
        rc = sort_lines(&d, err);
    if (rc == 0)
        rc = write_diff(&d, v, c, operands, err);
    ks_trace_view_close(&v[0]);
    ks_trace_view_close(&v[1]);
    ks_names_release(&d.keys);
    free(d.lines);
    free(d.order);
    return rc;
}

const struct ks_analysis ks_trace_verb_diff = {
    .name = "trace diff",
    .summary =
        "Compare two traces by kernel, operator or shape: counts, times, rates, and what changed.",
    .usage = "trace diff A B [-o FILE] [--by kernel|operator|shape] [--name-a NAME] "
             "[--name-b NAME] [--format text|csv|json|markdown] [--top N] [--tolerance PERCENT] "
             "[--steps A..B] [--peaks FILE]",
    .opts = opts,
    .cfg_size = sizeof(struct config),
    .n_min = 2,
    .n_max = 2,
    .run = diff,
};
