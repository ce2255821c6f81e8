/* SPDX-License-Identifier: MIT */
/* roofline.c - trace roofline: charts of kernels or operators against the roofs of their device */
#include "analysis/out/result.h"
#include "analysis/trace/roofline_chart.h"
#include "analysis/trace/verbs.h"
#include "analysis/trace/view.h"
#include "base/text.h"
#include "trace/output.h"

#include <string.h>

static const char *const by_names[] = { "kernel", "operator", "shape", NULL };
static const char *const level_names[] = { "dram", "l2", "l1", "lds", NULL };
static const enum ks_quantity levels[] = { KS_Q_BYTES_DRAM, KS_Q_BYTES_L2, KS_Q_BYTES_L1,
                                           KS_Q_BYTES_LDS };

struct config {
    const char *output, *roofs, *peaks;
    unsigned by, level;
    uint32_t top;
};
#define AT(member) offsetof(struct config, member)
static const struct ks_opt opts[] = {
    { .name = "output",
      .letter = 'o',
      .type = KS_OPT_STR,
      .offset = AT(output),
      .arg = "FILE",
      .is_output = true,
      .help = "write to this file instead of standard output; if the name ends in .svg: the chart "
              "of one device, else an HTML page with all charts and tables" },
    { .name = "by",
      .type = KS_OPT_ENUM,
      .offset = AT(by),
      .def = "kernel",
      .choices = by_names,
      .arg = "WHAT",
      .help =
          "one dot per kernel, operator, or operator and shape; with counters always per kernel" },
    { .name = "level",
      .type = KS_OPT_ENUM,
      .offset = AT(level),
      .def = "dram",
      .choices = level_names,
      .arg = "NAME",
      .help = "memory level whose bytes give the intensity; with counters only" },
    { .name = "top",
      .type = KS_OPT_U32,
      .offset = AT(top),
      .def = "100",
      .arg = "N",
      .help = "number of dots per chart, longest time first; 0: all" },
    { .name = "roofs",
      .type = KS_OPT_STR,
      .offset = AT(roofs),
      .arg = "FILE",
      .is_input = true,
      .help =
          "measured roofs: roofline.csv of rocprof-compute; found automatically beside counters" },
    KS_OPT_PEAKS(AT(peaks)),
    KS_OPT_END
};
#undef AT

/* Traces one by one, everything else together: its files may belong to the same launches. */
static int add_charts(struct ks_charts *charts, const char *const *paths, int n,
                      const struct ks_chart_options *o, struct ks_buf *notes, struct ks_err *err)
{
    int rc = 0, n_traces = 0;

    for (int i = 0; i < n; i++)
        n_traces += ks_is_trace_name(paths[i]);
    if (n_traces > 0 && n_traces < n)
        return ks_fail(
            err, KS_EINVAL,
            "traces (.json, .json.gz) and counters cannot be in one chart: use two commands");
    if (n_traces == 0)
        return ks_charts_add_counters(charts, paths, n, o, err);
    for (int i = 0; rc == 0 && i < n; i++)
        rc = ks_charts_add_trace(charts, paths[i], o, notes, err);
    return rc;
}

static int put_charts(const struct ks_charts *charts, bool is_svg, const struct config *c,
                      struct ks_err *err)
{
    struct ks_result o;
    int rc = ks_result_open(&o, c->output, err);

    if (rc == 0 && is_svg)
        ks_svg_roofline(&charts->at[0], true, 0, &o.sink.text);
    else if (rc == 0)
        ks_html_rooflines(charts->at, charts->n, &o.sink.text);
    return ks_result_close(&o, rc, err);
}

static int roofline(const void *cfg, const char *const *operands, int n, struct ks_buf *notes,
                    struct ks_err *err)
{
    const struct config *c = cfg;
    const struct ks_chart_options o = { .roofs = c->roofs,
                                        .peaks = c->peaks,
                                        .by = (enum ks_group_by)c->by,
                                        .level = levels[c->level],
                                        .top = c->top };
    const bool is_svg = c->output && ks_text_ends_in(c->output, ".svg");
    struct ks_charts charts = { 0 };
    int rc = c->output ? ks_trace_output_check(c->output, operands, (size_t)n, err) : 0;

    if (rc == 0)
        rc = add_charts(&charts, operands, n, &o, notes, err);
    if (rc == 0 && charts.n == 0)
        rc = ks_fail(err, KS_EFORMAT, "no device ran a kernel, so there is nothing to draw");
    if (rc == 0 && is_svg && charts.n > 1)
        rc = ks_fail(err, KS_EINVAL,
                     "an SVG file has one chart, but there are %zu devices: use -o FILE.html",
                     charts.n);
    if (rc == 0)
        rc = put_charts(&charts, is_svg, c, err);
    for (size_t i = 0; rc == 0 && i < charts.n; i++)
        if (charts.at[i].n_dots == 0)
            ks_buf_printf(notes, "ksweep-analyze trace roofline: '%s' is not drawn: %s\n",
                          charts.at[i].title, charts.at[i].undrawn_why);
    ks_charts_release(&charts);
    return rc;
}

const struct ks_analysis ks_trace_verb_roofline = {
    .name = "trace roofline",
    .summary = "Draw roofline charts of kernels or operators.",
    .usage = "trace roofline FILE|DIR... [-o FILE.svg|FILE.html] [--by kernel|operator|shape] "
             "[--level dram|l2|l1|lds] [--top N] [--roofs FILE] [--peaks FILE]",
    .opts = opts,
    .cfg_size = sizeof(struct config),
    .n_min = 1,
    .n_max = 0,
    .run = roofline,
};
