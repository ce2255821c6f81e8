/* SPDX-License-Identifier: MIT */
/* compare.c - ksweep-analyze compare: what changed between two sides of runs, and what is noise */
#include "analysis/learn/compare.h"
#include "analysis/cmd/analyze.h"
#include "analysis/cmd/input.h"
#include "analysis/out/result.h"
#include "base/command.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct config {
    const char *output, *fail_if;
    unsigned format, statistic, over;
    double margin, rate;
};
#define AT(member) offsetof(struct config, member)
static const struct ks_opt opts[] = {
    KS_OPT_RESULT(AT(output)),
    { .name = "format",
      .type = KS_OPT_ENUM,
      .offset = AT(format),
      .def = "report",
      .choices = ks_input_formats,
      .arg = "NAME",
      .help = "report: a summary and the changed cells; other formats: one row per cell" },
    { .name = "margin",
      .type = KS_OPT_F64,
      .offset = AT(margin),
      .def = "0.01",
      .min = 0.0001,
      .max = 1,
      .arg = "X",
      .help = "relative difference up to which two times are the same" },
    { .name = "false-discoveries",
      .type = KS_OPT_F64,
      .offset = AT(rate),
      .def = "0.05",
      .min = 0.0001,
      .max = 0.5,
      .arg = "X",
      .help = "expected share of wrong calls among the cells called FASTER or SLOWER, and among "
              "those called SAME" },
    { .name = "fail-if",
      .type = KS_OPT_STR,
      .offset = AT(fail_if),
      .arg = "slower:P%",
      .help = "exit status 1 if a cell is called SLOWER at a margin of P %, 3 if nothing could be "
              "decided: no cell is called anything, and in none would a slowdown be found" },
    KS_OPT_STATISTIC(AT(statistic)),
    KS_OPT_OVER(AT(over)),
    KS_OPT_END
};
#undef AT

/* What there is to say. */
struct answer {
    const struct ks_input *in;
    const struct ks_comparison *c;
    const struct config *config;
    uint32_t n_a; /* sweeps of side A */
    double limit; /* of --fail-if, as a log; 0: none */
    size_t n_slower;
    size_t n_blind, n_undecided; /* at that margin */
    double smallest;             /* likewise: the median */
};

/* ---- rows ---- */

enum {
    PROBLEM_ID,
    PROBLEM,
    INSTANCE_ID,
    INSTANCE,
    SWEEPS_A,
    SWEEPS_B,
    N_ROUNDS,
    TIME_A,
    TIME_B,
    RATIO,
    SD,
    SMALLEST,
    P_CHANGED,
    P_SAME,
    CHANGE,
    N_COLUMNS
};
static const struct ks_rows_column columns[N_COLUMNS] = {
    [PROBLEM_ID] = { "problem_id", "", KS_DF_I64, KS_AS_HEX },
    [PROBLEM] = { "problem_name", "", KS_DF_TEXT, 0 },
    [INSTANCE_ID] = { "instance_id", "", KS_DF_I64, KS_AS_HEX },
    [INSTANCE] = { "instance_name", "", KS_DF_TEXT, 0 },
    [SWEEPS_A] = { "n_sweeps_a", "", KS_DF_I64, KS_AS_NUMBER },
    [SWEEPS_B] = { "n_sweeps_b", "", KS_DF_I64, KS_AS_NUMBER },
    [N_ROUNDS] = { "n_rounds", "", KS_DF_I64, KS_AS_NUMBER },
    [TIME_A] = { "label_time_a_ns", "ns", KS_DF_F64, KS_AS_F32 },
    [TIME_B] = { "label_time_b_ns", "ns", KS_DF_F64, KS_AS_F32 },
    [RATIO] = { "b_over_a", "1", KS_DF_F64, KS_AS_F32 },
    [SD] = { "relative_sd", "1", KS_DF_F64, KS_AS_F32 },
    [SMALLEST] = { "smallest_detectable", "1", KS_DF_F64, KS_AS_F32 },
    [P_CHANGED] = { "p_changed", "1", KS_DF_F64, KS_AS_F32 },
    [P_SAME] = { "p_same", "1", KS_DF_F64, KS_AS_F32 },
    [CHANGE] = { "change", "", KS_DF_TEXT, 0 },
};

static void put_row(struct ks_rows *r, const struct ks_sweeps *s, const struct ks_pair *p)
{
    ks_rows_next(r);
    ks_rows_i64(r, PROBLEM_ID, (int64_t)s->problems[p->problem].id);
    ks_rows_text(r, PROBLEM, s->problems[p->problem].name);
    ks_rows_i64(r, INSTANCE_ID, (int64_t)s->instances[p->instance].id);
    ks_rows_text(r, INSTANCE, s->instances[p->instance].name);
    ks_rows_i64(r, SWEEPS_A, p->n_sweeps[0]);
    ks_rows_i64(r, SWEEPS_B, p->n_sweeps[1]);
    ks_rows_i64(r, N_ROUNDS, p->n_rounds);
    ks_rows_f64(r, TIME_A, exp(p->log_ns[0]));
    ks_rows_f64(r, TIME_B, exp(p->log_ns[1]));
    ks_rows_f64(r, RATIO, exp(p->difference));
    ks_rows_f64(r, SD, p->sd);
    ks_rows_f64(r, SMALLEST, expm1(p->smallest));
    ks_rows_f64(r, P_CHANGED, p->p_changed);
    ks_rows_f64(r, P_SAME, p->p_same);
    ks_rows_text(r, CHANGE, ks_change_names[p->change]);
}

static int put_rows(const struct answer *a, struct ks_sink *to, struct ks_err *err)
{
    struct ks_rows *r = NULL;
    int rc = ks_rows_create(columns, N_COLUMNS, a->c->n_pairs, &r, err);

    for (size_t i = 0; rc == 0 && i < a->c->n_pairs; i++)
        put_row(r, &a->in->sweeps, &a->c->pairs[i]);
    if (rc == 0)
        rc = ks_rows_write(r, ks_input_writer(a->config->format), to, err);
    ks_rows_destroy(r);
    return rc;
}

/* ---- report ---- */

/* Of the sweeps [first, end) what they were made with, each once. */
static void put_fact(const struct ks_sweeps *s, uint32_t first, uint32_t end, enum ks_fact which,
                     struct ks_buf *to)
{
    const char *between = "";

    for (uint32_t i = first; i < end; i++) {
        const char *text = ks_buf_text(&s->sweeps[i].fact[which]);
        bool is_new = true;

        for (uint32_t k = first; k < i; k++)
            is_new = is_new && strcmp(ks_buf_text(&s->sweeps[k].fact[which]), text) != 0;
        if (!is_new)
            continue;
        ks_buf_printf(to, "%s", between);
        ks_input_put_name(to, text[0] ? text : "unknown");
        between = "; ";
    }
}

static void put_sides(const struct answer *a, struct ks_buf *to)
{
    const struct ks_sweeps *s = &a->in->sweeps;

    for (uint32_t side = 0; side < 2; side++) {
        uint32_t first = side ? a->n_a : 0, end = side ? s->n_sweeps : a->n_a;

        ks_buf_printf(to, "%s: %u sweep%s", side ? "B" : "A", end - first,
                      end - first == 1 ? "" : "s");
        for (uint32_t i = first; i < end; i++) {
            ks_buf_printf(to, "%s", i == first ? " (" : ", ");
            ks_input_put_name(to, s->sweeps[i].path);
        }
        ks_buf_printf(to, ")\n");
    }
    for (unsigned k = 0; k < KS_N_FACTS; k++) {
        struct ks_buf x, y;

        ks_buf_init(&x);
        ks_buf_init(&y);
        put_fact(s, 0, a->n_a, k, &x);
        put_fact(s, a->n_a, s->n_sweeps, k, &y);
        if (strcmp(ks_buf_text(&x), ks_buf_text(&y)) == 0)
            ks_buf_printf(to, "%s: %s\n", ks_fact_names[k], ks_buf_text(&x));
        else
            ks_buf_printf(to, "%s differs: A %s | B %s\n", ks_fact_names[k], ks_buf_text(&x),
                          ks_buf_text(&y));
        to->failed = to->failed || x.failed || y.failed;
        ks_buf_release(&x);
        ks_buf_release(&y);
    }
}

static void put_interval(struct ks_buf *to, const char *what, double scale, const char *unit,
                         const struct ks_interval *v)
{
    ks_buf_printf(to, "%-34s %.5g%s [%.5g, %.5g]\n", what, scale * v->value, unit, scale * v->lo,
                  scale * v->hi);
}

static void put_problems(const struct ks_comparison *c, struct ks_buf *to)
{
    ks_buf_printf(to, "\nover %zu problems, with 95 %% bootstrap intervals\n", c->n_problems);
    put_interval(to, "time B / A, geometric mean of cells", 1, "", &c->cells);
    put_interval(to, "time B / A of the best instances", 1, "", &c->best);
    put_interval(to, "sum of count x best time, A", 1e-6, " ms", &c->sum[0]);
    put_interval(to, "sum of count x best time, B", 1e-6, " ms", &c->sum[1]);
    put_interval(to, "B / A", 1, "", &c->ratio);
    put_interval(to, "same winner", 100, " %", &c->same_winner);
    put_interval(to, "same winner, or tied within 0.5 %", 100, " %", &c->same_or_tied);
    put_interval(to, "regret of A's winner on B, mean", 100, " %", &c->regret[0]);
    put_interval(to, "regret of B's winner on A, mean", 100, " %", &c->regret[1]);
    ks_buf_printf(to, "%-34s %.5g %%, %.5g %%\n", "largest regret of each",
                  100 * c->worst_regret[0], 100 * c->worst_regret[1]);
}

static void put_changed(const struct answer *a, uint32_t change, struct ks_buf *to)
{
    for (size_t i = 0; i < a->c->n_pairs; i++) {
        const struct ks_pair *p = &a->c->pairs[i];

        if (p->change != change)
            continue;
        ks_buf_printf(to, "%s %+.2f %% +- %.2f %%  ", ks_change_names[change],
                      100 * expm1(p->difference), 100 * p->sd);
        ks_input_put_name(to, a->in->sweeps.problems[p->problem].name);
        ks_buf_printf(to, "  ");
        ks_input_put_name(to, a->in->sweeps.instances[p->instance].name);
        ks_buf_printf(to, "\n");
    }
}

/* Over the cells in which a slowdown can be found; NAN: there are none, or no memory. */
static double median_smallest(const struct ks_comparison *c)
{
    double *x = calloc(c->n_pairs + 1, sizeof(*x)), middle = NAN;
    size_t n = 0;

    for (size_t i = 0; x && i < c->n_pairs; i++)
        if (isfinite(c->pairs[i].smallest))
            x[n++] = c->pairs[i].smallest;
    if (n > 0)
        middle = expm1(ks_over_rounds(x, n, KS_OVER_MEDIAN, x));
    free(x);
    return middle;
}

static void put_smallest(size_t n_blind, size_t n_pairs, double smallest, struct ks_buf *to)
{
    if (isfinite(smallest))
        ks_buf_printf(to,
                      "smallest detectable slowdown of one cell: %.2f %% (median over %zu cells)",
                      100 * smallest, n_pairs - n_blind);
    if (n_blind > 0)
        ks_buf_printf(to, "%sno slowdown of one cell alone can be found in %zu of %zu cells",
                      n_blind < n_pairs ? "; " : "", n_blind, n_pairs);
}

static void put_limit(const struct answer *a, struct ks_buf *to)
{
    ks_buf_printf(to, "\n--fail-if %s: %zu cells; ", a->config->fail_if, a->n_slower);
    put_smallest(a->n_blind, a->c->n_pairs, a->smallest, to);
    ks_buf_printf(to, "\n");
}

static void put_report(const struct answer *a, struct ks_buf *to)
{
    const struct ks_comparison *c = a->c;
    const bool is_single = a->n_a < 2 || a->in->sweeps.n_sweeps < a->n_a + 2; /* one of the sides */
    char label[96];

    ks_input_label_text(a->in->statistic, a->config->over, label, sizeof(label));
    put_sides(a, to);
    ks_buf_printf(to, "\n%zu cells on both sides; label: %s\n", c->n_pairs, label);
    ks_buf_printf(to, "%zu only in A (%zu of them failed in B), %zu only in B (%zu failed in A)\n",
                  c->n_only[0], c->n_failed[1], c->n_only[1], c->n_failed[0]);
    ks_buf_printf(to, "margin %.3g %%, false discovery rate %.3g %%: ", 100 * a->config->margin,
                  100 * a->config->rate);
    for (uint32_t k = 0; k < KS_N_CHANGES; k++)
        ks_buf_printf(to, "%s%zu %s", k ? ", " : "", c->n_change[k], ks_change_names[k]);
    ks_buf_printf(to, "\n");
    put_smallest(c->n_blind, c->n_pairs, median_smallest(c), to);
    ks_buf_printf(to, "\n");
    if (c->n_together > 0)
        ks_buf_printf(to,
                      "%zu cells differ, but so do most cells of their problems: that is a change "
                      "of the whole problem or a disturbed machine%s\n",
                      c->n_together,
                      is_single ? "; several runs per side, in turn, tell which" : "");
    if (!c->is_repeated)
        ks_buf_printf(to,
                      "one sweep per side: the noise is estimated from the differences, assuming "
                      "that most cells did not change; give several runs per side to measure it\n");
    if (c->has_few_steps)
        ks_buf_printf(to,
                      "hardly any visits to tell late rounds from changes: fewer than %.0f changes "
                      "in one direction are not called\n",
                      ceil(1 / a->config->rate));
    put_problems(c, to);
    if (c->n_change[KS_SLOWER] + c->n_change[KS_FASTER])
        ks_buf_printf(to, "\n");
    put_changed(a, KS_SLOWER, to);
    put_changed(a, KS_FASTER, to);
    if (a->limit > 0)
        put_limit(a, to);
}

static int print(const struct answer *a, struct ks_err *err)
{
    struct ks_result out;
    int rc = ks_result_open(&out, a->config->output, err);

    if (rc == 0 && a->config->format)
        rc = put_rows(a, &out.sink, err);
    else if (rc == 0)
        put_report(a, &out.sink.text);
    return ks_result_close(&out, rc, err);
}

/* ---- the command ---- */

static int parse_limit(const char *text, double *limit_out, struct ks_err *err)
{
    static const char kind[] = "slower:";
    char *end;
    double percent;

    *limit_out = 0;
    if (!text)
        return 0;
    if (strncmp(text, kind, sizeof(kind) - 1) == 0) {
        percent = strtod(text + sizeof(kind) - 1, &end);
        if (end != text + sizeof(kind) - 1 && strcmp(end, "%") == 0 && percent > 0 &&
            percent <= 1000) {
            *limit_out = log1p(percent / 100);
            return 0;
        }
    }
    return ks_fail(err, KS_EINVAL, "--fail-if '%s': write slower:P%%, for example slower:3%%",
                   text);
}

/* Side A is the first *n_a_out operands, side B those from *b_out on: behind an operand "--", or
 * the second of two. */
static int split(const char *const *operands, int n, int *n_a_out, int *b_out, struct ks_err *err)
{
    for (int i = 0; i < n; i++)
        if (strcmp(operands[i], "--") == 0) {
            *n_a_out = i;
            *b_out = i + 1;
            if (i > 0 && i + 1 < n)
                return 0;
            return ks_fail(err, KS_EINVAL, "one side has no run; usage: ksweep-analyze %s",
                           ks_analysis_compare.usage);
        }
    *n_a_out = *b_out = 1;
    return n == 2 ? 0
                  : ks_fail(err, KS_EINVAL,
                            "separate the runs of the two sides with --; usage: ksweep-analyze %s",
                            ks_analysis_compare.usage);
}

static int load_sides(struct ks_input *in, const struct config *c, const char *const *operands,
                      int n, uint32_t *n_a_out, struct ks_err *err)
{
    const char **paths = calloc((size_t)n + 1, sizeof(*paths));
    int n_a, b, rc = paths ? 0 : ks_fail(err, KS_ENOMEM, "out of memory");

    *in = (struct ks_input){ .sweeps = { 0 } };
    if (rc == 0)
        rc = split(operands, n, &n_a, &b, err);
    if (rc == 0) {
        memcpy(paths, operands, (size_t)n_a * sizeof(*paths));
        memcpy(paths + n_a, operands + b, (size_t)(n - b) * sizeof(*paths));
        rc = ks_input_load(in, paths, (size_t)(n_a + n - b), c->statistic, c->over, err);
    }
    if (rc == 0)
        *n_a_out = ks_input_sweeps_of(in, paths, (size_t)n_a);
    free(paths);
    return rc;
}

static int decide(struct ks_comparison *c, struct answer *a, struct ks_err *err)
{
    int rc = 0;

    if (a->limit > 0)
        rc = ks_compare_decide(c, a->limit, a->config->rate, err);
    if (a->limit > 0 && rc == 0) {
        a->n_slower = c->n_change[KS_SLOWER];
        a->n_blind = c->n_blind;
        a->n_undecided = c->n_undecided;
        a->smallest = median_smallest(c);
    }
    return rc == 0 ? ks_compare_decide(c, log1p(a->config->margin), a->config->rate, err) : rc;
}

static int compare(const void *cfg, const char *const *operands, int n, struct ks_buf *notes,
                   struct ks_err *err)
{
    struct ks_input in = { .sweeps = { 0 } };
    struct ks_comparison c = { 0 };
    struct answer a = { .in = &in, .c = &c, .config = cfg };
    int rc = parse_limit(a.config->fail_if, &a.limit, err);

    if (rc == 0)
        rc = load_sides(&in, cfg, operands, n, &a.n_a, err);
    if (rc == 0)
        rc = ks_compare_make(&in.sweeps, &in.trials, a.n_a, &c, err);
    if (rc == 0)
        rc = decide(&c, &a, err);
    if (rc == 0)
        rc = print(&a, err);
    if (rc == 0 && a.n_slower > 0) {
        ks_buf_printf(notes, "ksweep-analyze compare: %zu cells are slower than '%s' allows\n",
                      a.n_slower, a.config->fail_if);
        rc = KS_EXIT_LOOK;
    } else if (rc == 0 && a.limit > 0 && a.n_undecided == c.n_pairs) {
        ks_buf_printf(
            notes,
            "ksweep-analyze compare: nothing is decided about '%s': all cells are UNSURE, and "
            "in none would a slowdown be found; give several runs per side, with visits\n",
            a.config->fail_if);
        rc = KS_EXIT_INCOMPLETE;
    }
    ks_compare_release(&c);
    ks_input_release(&in);
    return rc;
}

const struct ks_analysis ks_analysis_compare = {
    .name = "compare",
    .summary = "Compare two sides of one or more runs each: what changed, and what is noise.",
    .usage = "compare [--margin X] [--fail-if slower:P%] [-o FILE] [--format NAME] A... -- B...",
    .opts = opts,
    .cfg_size = sizeof(struct config),
    .n_min = 2,
    .n_max = 0,
    .has_sides = true,
    .run = compare,
};
