/* SPDX-License-Identifier: MIT */
/* report_rows.c - the problems of a report as aligned text, Markdown and CSV */
#include "analysis/out/labels.h"
#include "analysis/out/number.h"
#include "analysis/out/report.h"
#include "base/text.h"
#include "base/wrap.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

const char *ks_best_name(const struct ks_best *p)
{
    if (!p->problem)
        return "(name lost)";
    return p->problem->name[0] ? p->problem->name : p->problem->canonical;
}

/* For people: with the id behind it where other problems have the name, too. */
static void put_label(const struct ks_best *p, struct ks_buf *to)
{
    const char *name = ks_best_name(p);

    ks_buf_put(to, name, strlen(name));
    if (p->shares_name)
        ks_buf_printf(to, " %016" PRIx64, p->problem->id);
}

/* ---- numbers with their interval, in one unit ---- */

struct shown {
    char value[48], interval[64];
};

/* Four digits; no exponent where whole numbers are short. */
static void put_digits(char *out, size_t cap, double v)
{
    snprintf(out, cap, v >= 1000 && v < 1e9 ? "%.0f" : "%.4g", v);
}

static struct shown show(double value, double lo, double hi, double scale, const char *unit)
{
    struct shown s = { "", "" };
    char least[24], most[24];

    if (value <= 0)
        return s;
    put_digits(least, sizeof(least), value / scale);
    snprintf(s.value, sizeof(s.value), "%s%s", least, unit);
    if (lo <= 0 || hi < lo)
        return s;
    put_digits(least, sizeof(least), lo / scale);
    put_digits(most, sizeof(most), hi / scale);
    snprintf(s.interval, sizeof(s.interval), "%s to %s", least, most);
    return s;
}

static struct shown show_time(const struct ks_best *p)
{
    static const char *const units[] = { " ns", " us", " ms", " s" };
    double scale = 1;
    size_t unit = 0;

    for (; unit < 3 && p->median_ns / scale >= 1000; unit++)
        scale *= 1000;
    return show(p->median_ns, p->lo95_ns, p->hi95_ns, scale, units[unit]);
}

static struct shown show_rate(const struct ks_best *p)
{
    return show(p->gflops, p->gflops_lo95, p->gflops_hi95, 1, "");
}

/* ---- text ---- */

#define COLUMNS "  %9s%s  %-18s  %8s  %-18s  "
enum {
    NUMBERS = 64 + 26, /* columns of a row beside its names */
    INDENT = 4         /* of a problem's facts in a list */
};

static int list_names(const struct ks_summary *s, struct ks_labels *problems,
                      struct ks_labels *instances, struct ks_err *err)
{
    struct ks_buf label;
    int rc = 0;

    ks_buf_init(&label);
    for (size_t i = 0; rc == 0 && i < s->n_problems; i++) {
        ks_buf_clear(&label);
        put_label(&s->problems[i], &label);
        rc = ks_buf_ok(&label) ? ks_labels_add(problems, ks_buf_text(&label), err)
                               : ks_fail(err, KS_ENOMEM, "out of memory");
        if (rc == 0 && s->problems[i].kernel)
            rc = ks_labels_add(instances, s->problems[i].kernel->name, err);
    }
    ks_buf_release(&label);
    ks_labels_end(problems);
    ks_labels_end(instances);
    if (problems->width < (int)strlen("problem"))
        problems->width = (int)strlen("problem");
    if (instances->width < (int)strlen("best instance"))
        instances->width = (int)strlen("best instance");
    return rc;
}

static void put_prefix(const struct ks_labels *n, const char *what, struct ks_buf *b)
{
    if (n->prefix)
        ks_buf_printf(b, "%s: %s stands for \"%.*s\"\n", what, KS_LABEL_DOTS, (int)n->prefix,
                      ks_buf_text(&n->text[0]));
}

static void put_row(const struct ks_best *p, const struct ks_labels *instances, size_t i,
                    struct ks_buf *b)
{
    struct shown time = show_time(p), rate = show_rate(p);

    ks_buf_printf(b, COLUMNS, time.value, p->is_contaminated ? "*" : " ", time.interval, rate.value,
                  rate.interval);
    ks_labels_put(instances, i, b);
    ks_buf_printf(b, "  %10.2f  %4" PRIu32 "  %4" PRIu32 "/%" PRIu32 "\n", p->worst_over_best,
                  p->n_tied, p->n_ok, p->n_rows);
}

static void put_header(const struct ks_labels *problems, const struct ks_labels *instances,
                       unsigned width, struct ks_buf *b)
{
    put_prefix(problems, "problems", b);
    put_prefix(instances, "best instances", b);
    if (!width) {
        ks_buf_printf(b, "%-*s" COLUMNS "%-*s  %10s  %4s  %s\n", problems->width, "problem", "time",
                      " ", "95 % interval", "GFLOP/s", "95 % interval", instances->width,
                      "best instance", "worst/best", "tied", "ok/all");
        return;
    }
    ks_wrap_put(b,
                "of each problem the best instance, its time and rate [95 % interval], the slowest "
                "time over the best, how many tie with the best, how many of all are ok:",
                0, 0, width);
    ks_buf_u8(b, '\n');
}

/* The same facts below the problem's name. */
static void put_facts(const struct ks_best *p, const struct ks_labels *instances, size_t i,
                      unsigned width, struct ks_buf *b)
{
    const struct shown time = show_time(p), rate = show_rate(p);
    char facts[400];

    ks_buf_printf(b, "\n%*s", INDENT, "");
    ks_labels_put(instances, i, b);
    ks_buf_printf(b, "\n%*s", INDENT, "");
    snprintf(facts, sizeof(facts),
             "%s%s%s%s%s%s%s%s%s%s%s, worst/best %.2f, %" PRIu32 " tied, %" PRIu32 "/%" PRIu32
             " ok",
             time.value, p->is_contaminated ? "*" : "", time.interval[0] ? " [" : "", time.interval,
             time.interval[0] ? "]" : "", rate.value[0] ? ", " : "", rate.value,
             rate.value[0] ? " GFLOP/s" : "", rate.interval[0] ? " [" : "", rate.interval,
             rate.interval[0] ? "]" : "", p->worst_over_best, p->n_tied, p->n_ok, p->n_rows);
    ks_wrap_put(b, facts, INDENT, INDENT, width);
    ks_buf_u8(b, '\n');
}

/* width: of a list; 0: a table. */
static void put_text(const struct ks_summary *s, const struct ks_labels *problems,
                     const struct ks_labels *instances, unsigned width, struct ks_buf *b)
{
    size_t n_best = 0, n_contaminated = 0;
    char note[160];

    for (size_t i = 0; i < s->n_problems; i++) {
        const struct ks_best *p = &s->problems[i];

        ks_labels_put(problems, i, b);
        if (!p->kernel)
            ks_buf_printf(b, "  no instance is ok (%" PRIu32 " rows)\n", p->n_rows);
        else if (width)
            put_facts(p, instances, n_best++, width, b);
        else
            put_row(p, instances, n_best++, b);
        n_contaminated += p->is_contaminated;
    }
    if (!n_contaminated)
        return;
    snprintf(note, sizeof(note),
             "* contaminated: other processes used the machine meanwhile (%zu of %zu problems); "
             "the time may "
             "be too long\n",
             n_contaminated, s->n_problems);
    ks_wrap_put(b, note, 0, 0, width);
}

int ks_report_rows_text(const struct ks_summary *s, unsigned width, struct ks_buf *to,
                        struct ks_err *err)
{
    struct ks_labels problems = { 0 }, instances = { 0 };
    int rc = list_names(s, &problems, &instances, err);

    if (rc == 0 && (unsigned)problems.width + (unsigned)instances.width + NUMBERS <= width)
        width = 0;
    if (width)
        problems.width = instances.width = 0; /* nothing stands behind them */
    if (rc == 0) {
        put_header(&problems, &instances, width, to);
        put_text(s, &problems, &instances, width, to);
    }
    ks_labels_release(&problems);
    ks_labels_release(&instances);
    return rc;
}

/* ---- Markdown ---- */

void ks_report_rows_markdown(const struct ks_summary *s, struct ks_buf *to)
{
    ks_buf_printf(to,
                  "| problem | time | 95 %% interval | GFLOP/s | 95 %% interval | best instance "
                  "| worst/best | tied | ok/all |\n|---|--:|---|--:|---|---|--:|--:|--:|\n");
    for (size_t i = 0; i < s->n_problems; i++) {
        const struct ks_best *p = &s->problems[i];
        struct shown time = show_time(p), rate = show_rate(p);

        ks_buf_printf(to, "| ");
        ks_markdown_put(to, ks_best_name(p));
        if (p->shares_name)
            ks_buf_printf(to, " %016" PRIx64, p->problem->id);
        ks_buf_printf(to, " | %s%s | %s | %s | %s | ", time.value,
                      p->is_contaminated ? " (contaminated)" : "", time.interval, rate.value,
                      rate.interval);
        ks_markdown_put(to, p->kernel ? p->kernel->name : "none is ok");
        ks_buf_printf(to, " | ");
        if (p->kernel)
            ks_buf_printf(to, "%.2f", p->worst_over_best);
        ks_buf_printf(to, " | %" PRIu32 " | %" PRIu32 "/%" PRIu32 " |\n", p->n_tied, p->n_ok,
                      p->n_rows);
    }
}

/* ---- CSV ---- */

static void put_real(struct ks_buf *to, double v)
{
    char text[KS_NUMBER_TEXT] = "";

    if (v >= 0)
        ks_real_text(v, text);
    ks_buf_printf(to, ",%s", text);
}

void ks_report_rows_csv(const struct ks_summary *s, struct ks_buf *to)
{
    ks_buf_printf(to, "problem_id,problem_name,time_median_ns,time_ci95_lo_ns,time_ci95_hi_ns,"
                      "gflops_per_s,gflops_lo95,gflops_hi95,worst_over_best,instance_id,"
                      "instance_name,n_tied,n_ok,n_rows,is_contaminated,n_contaminated\n");
    for (size_t i = 0; i < s->n_problems; i++) {
        const struct ks_best *p = &s->problems[i];
        const double reals[] = { p->median_ns,   p->lo95_ns,     p->hi95_ns,        p->gflops,
                                 p->gflops_lo95, p->gflops_hi95, p->worst_over_best };

        ks_buf_printf(to, "%016" PRIx64 ",", p->problem ? p->problem->id : 0);
        ks_csv_put(to, ks_best_name(p));
        for (size_t k = 0; k < sizeof(reals) / sizeof(reals[0]); k++)
            put_real(to, reals[k]);
        if (p->kernel)
            ks_buf_printf(to, ",%016" PRIx64 ",", p->kernel->id);
        else
            ks_buf_printf(to, ",,");
        ks_csv_put(to, p->kernel ? p->kernel->name : "");
        ks_buf_printf(to, ",%" PRIu32 ",%" PRIu32 ",%" PRIu32 ",%d,%" PRIu32 "\n", p->n_tied,
                      p->n_ok, p->n_rows, p->is_contaminated, p->n_contaminated);
    }
}
