/* SPDX-License-Identifier: MIT */
/* compare.c - ksweep-analyze compare: what changed between two sides of runs, and what is noise */
#include "analysis/cmd/analyze.h"
#include "analysis/cmd/compare_report.h"
#include "analysis/out/result.h"
#include "base/command.h"
#include "record/outcome.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

struct config {
    const char *output;
    struct ks_opt_list fail_if;
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
      .type = KS_OPT_LIST,
      .offset = AT(fail_if),
      .arg = "RULE",
      .help = "slower:P%: exit status 1 if a cell is called SLOWER at a margin of P %, 3 if more "
              "than half of the cells are UNSURE and too noisy to find even twice that; failed: "
              "exit status 1 if a cell that is ok in A failed in B; can be given once for each" },
    KS_OPT_STATISTIC(AT(statistic)),
    KS_OPT_OVER(AT(over)),
    KS_OPT_END
};
#undef AT

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
    OUTCOME_A,
    OUTCOME_B,
    AT_LIMIT,
    IS_REFUSED,
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
    [OUTCOME_A] = { "outcome_a", "", KS_DF_TEXT, 0 },
    [OUTCOME_B] = { "outcome_b", "", KS_DF_TEXT, 0 },
    [AT_LIMIT] = { "change_at_limit", "", KS_DF_TEXT, 0 },
    [IS_REFUSED] = { "is_refused", "", KS_DF_I64, KS_AS_NUMBER },
};

static void put_comparison(struct ks_rows *r, const struct ks_compare_answer *a,
                           const struct ks_pair *p)
{
    ks_rows_f64(r, RATIO, exp(p->difference));
    ks_rows_f64(r, SD, p->sd);
    ks_rows_f64(r, SMALLEST, expm1(p->smallest));
    ks_rows_f64(r, P_CHANGED, p->p_changed);
    ks_rows_f64(r, P_SAME, p->p_same);
    ks_rows_text(r, CHANGE, ks_change_names[p->change]);
    if (a->slower)
        ks_rows_text(r, AT_LIMIT, ks_change_names[p->at_limit]);
}

static void put_row(struct ks_rows *r, const struct ks_compare_answer *a, const struct ks_pair *p)
{
    static const uint32_t times[] = { TIME_A, TIME_B }, outcomes[] = { OUTCOME_A, OUTCOME_B };
    const struct ks_sweeps *s = &a->in->sweeps;

    ks_rows_next(r);
    ks_rows_i64(r, PROBLEM_ID, (int64_t)s->problems[p->problem].id);
    ks_rows_text(r, PROBLEM, s->problems[p->problem].name);
    ks_rows_i64(r, INSTANCE_ID, (int64_t)s->instances[p->instance].id);
    ks_rows_text(r, INSTANCE, s->instances[p->instance].name);
    ks_rows_i64(r, SWEEPS_A, p->n_sweeps[0]);
    ks_rows_i64(r, SWEEPS_B, p->n_sweeps[1]);
    ks_rows_i64(r, N_ROUNDS, p->n_rounds);
    for (uint32_t side = 0; side < 2; side++) {
        if (p->n_sweeps[side])
            ks_rows_f64(r, times[side], exp(p->log_ns[side]));
        if (p->outcome[side] != KS_O_NONE)
            ks_rows_text(r, outcomes[side], ks_outcome_text(p->outcome[side]));
    }
    if (p->n_sweeps[0] && p->n_sweeps[1])
        put_comparison(r, a, p);
    else
        ks_rows_text(r, CHANGE, p->n_sweeps[0] ? "LOST" : "NEW");
    if (a->slower || a->refuses_failures)
        ks_rows_i64(r, IS_REFUSED, ks_compare_is_refused(a, p));
}

static int put_rows(const struct ks_compare_answer *a, unsigned format, struct ks_sink *to,
                    struct ks_err *err)
{
    struct ks_rows *r = NULL;
    int rc = ks_rows_create(columns, N_COLUMNS, a->c->n_pairs + a->c->n_lone, &r, err);

    for (size_t i = 0; rc == 0 && i < a->c->n_pairs; i++)
        put_row(r, a, &a->c->pairs[i]);
    for (size_t i = 0; rc == 0 && i < a->c->n_lone; i++)
        put_row(r, a, &a->c->lone[i]);
    if (rc == 0)
        rc = ks_rows_write(r, ks_input_writer(format), to, err);
    ks_rows_destroy(r);
    return rc;
}

static int print(const struct ks_compare_answer *a, const struct config *config, struct ks_err *err)
{
    struct ks_result out;
    int rc = ks_result_open(&out, config->output, err);

    if (rc == 0 && config->format)
        rc = put_rows(a, config->format, &out.sink, err);
    else if (rc == 0)
        ks_compare_report(a, &out.sink.text);
    return ks_result_close(&out, rc, err);
}

/* ---- the command ---- */

static bool read_limit(const char *text, double *limit_out)
{
    static const char kind[] = "slower:";
    const char *number = text + sizeof(kind) - 1;
    char *end;
    double percent;

    if (strncmp(text, kind, sizeof(kind) - 1) != 0)
        return false;
    percent = strtod(number, &end);
    *limit_out = log1p(percent / 100);
    return end != number && strcmp(end, "%") == 0 && percent > 0 && percent <= 1000;
}

static int read_rules(const struct ks_opt_list *rules, struct ks_compare_answer *a,
                      struct ks_err *err)
{
    for (uint32_t i = 0; i < rules->n; i++) {
        const char *text = rules->text[i];
        const bool is_failed = strcmp(text, "failed") == 0;

        if (!is_failed && !read_limit(text, &a->limit))
            return ks_fail(err, KS_EINVAL,
                           "--fail-if '%s': write failed or slower:P%%, for example slower:3%%",
                           text);
        if (is_failed ? a->refuses_failures : a->slower != NULL)
            return ks_fail(err, KS_EINVAL, "--fail-if '%s': there already is such a rule", text);
        if (is_failed)
            a->refuses_failures = true;
        else
            a->slower = text;
    }
    return 0;
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

static int decide(struct ks_comparison *c, struct ks_compare_answer *a, struct ks_err *err)
{
    int rc = a->slower ? ks_compare_limit(c, a->limit, a->rate, err) : 0;

    if (a->slower && rc == 0) {
        a->n_slower = c->n_change[KS_SLOWER];
        a->n_blind = c->n_blind;
        a->smallest = ks_compare_smallest(c);
    }
    return rc == 0 ? ks_compare_decide(c, log1p(a->margin), a->rate, err) : rc;
}

#define NOTE "ksweep-analyze compare: "

/* What the rules say; returns the exit status. */
static int apply_rules(const struct ks_compare_answer *a, struct ks_buf *notes)
{
    const struct ks_comparison *c = a->c;
    bool is_decided = c->n_pairs > 0 && 2 * c->n_unseen <= c->n_pairs;

    if (a->n_slower > 0)
        ks_buf_printf(notes, NOTE "%zu cells are slower than '%s' allows\n", a->n_slower,
                      a->slower);
    if ((a->slower || a->refuses_failures) && c->n_broken > 0)
        ks_buf_printf(notes, NOTE "%zu cells that are ok in A failed in B%s\n", c->n_broken,
                      a->refuses_failures ? "" : "; '--fail-if failed' refuses that");
    if (a->slower && c->n_unseen > 0)
        ks_buf_printf(notes,
                      NOTE "'%s' says nothing of %zu of %zu cells (%.3g %%): they are UNSURE, and "
                           "not even a slowdown of twice that would be found\n",
                      a->slower, c->n_unseen, c->n_pairs,
                      100 * (double)c->n_unseen / (double)c->n_pairs);
    if (a->n_slower > 0 || (a->refuses_failures && c->n_broken > 0))
        return KS_EXIT_LOOK;
    if (!a->slower || is_decided)
        return KS_EXIT_OK;
    ks_buf_printf(
        notes, NOTE "too little is decided about '%s'; give several runs per side, with visits\n",
        a->slower);
    return KS_EXIT_INCOMPLETE;
}

static int compare(const void *cfg, const char *const *operands, int n, struct ks_buf *notes,
                   struct ks_err *err)
{
    const struct config *config = cfg;
    struct ks_input in = { .sweeps = { 0 } };
    struct ks_comparison c = { 0 };
    struct ks_compare_answer a = {
        .in = &in, .c = &c, .over = config->over, .margin = config->margin, .rate = config->rate
    };
    int rc = read_rules(&config->fail_if, &a, err);

    if (rc == 0)
        rc = load_sides(&in, config, operands, n, &a.n_a, err);
    if (rc == 0)
        rc = ks_compare_make(&in.sweeps, &in.trials, a.n_a, &c, err);
    if (rc == 0)
        rc = decide(&c, &a, err);
    if (rc == 0)
        rc = print(&a, config, err);
    if (rc == 0)
        rc = apply_rules(&a, notes);
    ks_compare_release(&c);
    ks_input_release(&in);
    return rc;
}

const struct ks_analysis ks_analysis_compare = {
    .name = "compare",
    .summary = "Compare two sides of one or more runs each: what changed, and what is noise.",
    .usage = "compare [--margin X] [--fail-if RULE]... [-o FILE] [--format NAME] A... -- B...",
    .opts = opts,
    .cfg_size = sizeof(struct config),
    .n_min = 2,
    .n_max = 0,
    .has_sides = true,
    .run = compare,
};
