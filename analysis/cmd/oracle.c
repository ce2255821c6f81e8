/* SPDX-License-Identifier: MIT */
/* oracle.c - ksweep-analyze oracle: the chance of each instance to be a problem's best */
#include "analysis/learn/oracle.h"
#include "analysis/cmd/analyze.h"
#include "analysis/cmd/input.h"
#include "analysis/out/result.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

struct config {
    const char *output;
    unsigned format, statistic, over;
    double margin;
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
      .help = "report: the best instance of every problem; other formats: one row per problem and "
              "instance" },
    KS_OPT_STATISTIC(AT(statistic)),
    KS_OPT_OVER(AT(over)),
    { .name = "margin",
      .type = KS_OPT_F64,
      .offset = AT(margin),
      .def = "0.005",
      .min = 0.0001,
      .max = 0.1,
      .arg = "X",
      .help = "relative distance to the best time up to which an instance is as good as the best" },
    KS_OPT_END
};
#undef AT

/* ---- rows ---- */

enum {
    PROBLEM_ID,
    PROBLEM,
    DEVICE,
    INSTANCE_ID,
    INSTANCE,
    N_SWEEPS,
    N_ROUNDS,
    STATISTIC,
    TIME,
    TIME_LO,
    TIME_HI,
    SOURCE,
    OVER_BEST,
    SD,
    IS_LABEL,
    BEST,
    NEAR,
    REGRET,
    N_COLUMNS
};
static const struct ks_rows_column columns[N_COLUMNS] = {
    [PROBLEM_ID] = { "problem_id", "", KS_DF_I64, KS_AS_HEX },
    [PROBLEM] = { "problem_name", "", KS_DF_TEXT, 0 },
    [DEVICE] = { "device_model", "", KS_DF_TEXT, 0 },
    [INSTANCE_ID] = { "instance_id", "", KS_DF_I64, KS_AS_HEX },
    [INSTANCE] = { "instance_name", "", KS_DF_TEXT, 0 },
    [N_SWEEPS] = { "n_sweeps", "", KS_DF_I64, KS_AS_NUMBER },
    [N_ROUNDS] = { "n_rounds", "", KS_DF_I64, KS_AS_NUMBER },
    [STATISTIC] = { "label_statistic", "", KS_DF_TEXT, 0 },
    [TIME] = { "label_time_ns", "ns", KS_DF_F64, KS_AS_F32 },
    [TIME_LO] = { "label_ci95_lo_ns", "ns", KS_DF_F64, KS_AS_F32 },
    [TIME_HI] = { "label_ci95_hi_ns", "ns", KS_DF_F64, KS_AS_F32 },
    [SOURCE] = { "label_ci95_source", "", KS_DF_TEXT, 0 },
    [OVER_BEST] = { "time_over_best", "1", KS_DF_F64, KS_AS_F32 },
    [SD] = { "relative_sd", "1", KS_DF_F64, KS_AS_F32 },
    [IS_LABEL] = { "is_label", "", KS_DF_I64, KS_AS_NUMBER },
    [BEST] = { "chance_best", "1", KS_DF_F64, KS_AS_F32 },
    [NEAR] = { "chance_near_best", "1", KS_DF_F64, KS_AS_F32 },
    [REGRET] = { "expected_regret", "1", KS_DF_F64, KS_AS_F32 },
};

/* What says how wide a label's interval is. */
static const char *source_of(const struct ks_oracle *o, uint32_t domain)
{
    const struct ks_label_error *e = &o->error[domain];

    if (e->n_sweeps + e->n_rounds > 0)
        return e->n_sweeps > 0 ? "sweeps" : "rounds";
    return o->scatter[domain].anchors > 1 ? "anchors" : "prior";
}

static void put_row(struct ks_rows *r, const struct ks_sweeps *s, const struct ks_oracle *o,
                    const struct ks_answer *a, const struct ks_chance *c, const char *statistic)
{
    const struct ks_chance *first = &o->chances[a->first];

    ks_rows_next(r);
    ks_rows_i64(r, PROBLEM_ID, (int64_t)s->problems[a->problem].id);
    ks_rows_text(r, PROBLEM, s->problems[a->problem].name);
    ks_rows_text(r, DEVICE, s->domains[a->domain].device);
    ks_rows_i64(r, INSTANCE_ID, (int64_t)s->instances[c->instance].id);
    ks_rows_text(r, INSTANCE, s->instances[c->instance].name);
    ks_rows_i64(r, N_SWEEPS, c->n_sweeps);
    ks_rows_i64(r, N_ROUNDS, c->n_rounds);
    ks_rows_text(r, STATISTIC, statistic);
    ks_rows_f64(r, TIME, exp(c->label));
    ks_rows_f64(r, TIME_LO, exp(c->label - c->half_width));
    ks_rows_f64(r, TIME_HI, exp(c->label + c->half_width));
    ks_rows_text(r, SOURCE, source_of(o, a->domain));
    ks_rows_f64(r, OVER_BEST, exp(c->estimate - first->estimate));
    ks_rows_f64(r, SD, c->sd);
    ks_rows_i64(r, IS_LABEL, c == first);
    ks_rows_f64(r, BEST, c->best);
    ks_rows_f64(r, NEAR, c->near);
    ks_rows_f64(r, REGRET, c->regret);
}

static int put_rows(const struct ks_input *in, const struct ks_oracle *o, const struct config *c,
                    const char *statistic, struct ks_sink *to, struct ks_err *err)
{
    struct ks_rows *r = NULL;
    int rc = ks_rows_create(columns, N_COLUMNS, o->n_chances, &r, err);

    for (size_t i = 0; rc == 0 && i < o->n_answers; i++) {
        const struct ks_answer *a = &o->answers[i];

        for (size_t k = 0; k < a->n; k++)
            put_row(r, &in->sweeps, o, a, &o->chances[a->first + k], statistic);
    }
    if (rc == 0)
        rc = ks_rows_write(r, ks_input_writer(c->format), to, err);
    ks_rows_destroy(r);
    return rc;
}

/* ---- report ---- */

static void put_error(const struct ks_oracle *o, uint32_t domain, struct ks_buf *to)
{
    const struct ks_label_error *e = &o->error[domain];
    double anchors = o->scatter[domain].anchors;
    char from[160] = "assumed";

    if (e->n_sweeps + e->n_rounds > 0)
        snprintf(from, sizeof(from), "from %zu differences between sweeps, %zu between rounds",
                 e->n_sweeps, e->n_rounds);
    else if (anchors > 1)
        snprintf(from, sizeof(from),
                 "assumed, for a machine on which anchors vary %.1f times as much as usual",
                 sqrt(anchors));
    ks_buf_printf(
        to,
        "  the time of one round, as measured: %.2f %% near the best, %.2f %%, and %.2f %% "
        "for the slowest; t with %.1f degrees of freedom; %s\n",
        100 * sqrt(e->round[KS_LABEL_NEAR]), 100 * sqrt(e->round[KS_LABEL_MIDDLE]),
        100 * sqrt(e->round[KS_LABEL_FAR]), e->freedom, from);
}

/* Devices of one model can be of several classes, such as ranks with different memory. */
static void put_device(const struct ks_sweeps *s, uint32_t domain, struct ks_buf *to)
{
    const struct ks_sweep_domain *d = &s->domains[domain];
    uint32_t n_alike = 0;

    for (uint32_t i = 0; i < s->n_domains; i++)
        n_alike += strcmp(s->domains[i].device, d->device) == 0;
    ks_input_put_name(to, d->device[0] ? d->device : "unknown device");
    if (n_alike > 1)
        ks_buf_printf(to, " (class %016llx, condition %016llx)",
                      (unsigned long long)d->device_class, (unsigned long long)d->condition);
}

static void put_scatter(const struct ks_input *in, const struct ks_oracle *o, uint32_t domain,
                        struct ks_buf *to)
{
    const struct ks_scatter *s = &o->scatter[domain];

    put_device(&in->sweeps, domain, to);
    ks_buf_printf(to,
                  ": against the others of its problem a time of one round varies by %.2f %% "
                  "between sweeps, a round by %.2f %%\n",
                  100 * sqrt(s->single), 100 * sqrt(s->rounds));
    put_error(o, domain, to);
    if (s->n_rounds <= 0)
        ks_buf_printf(to,
                      "  no cell has several rounds: the variation between rounds is assumed\n");
    if (s->n_sweeps <= 0)
        ks_buf_printf(to,
                      "  only one sweep: the variation between sweeps is assumed (%.2f %%); give "
                      "several runs to measure it\n",
                      100 * sqrt(s->sweeps));
}

static void put_others(const struct ks_input *in, const struct ks_oracle *o,
                       const struct ks_answer *a, struct ks_buf *to)
{
    for (size_t i = 1; i < a->n_near; i++) {
        const struct ks_chance *c = &o->chances[a->first + i];

        ks_buf_printf(to, "    %+6.2f %%  best %5.1f %%  near %5.1f %%  ",
                      100 * expm1(c->estimate - o->chances[a->first].estimate), 100 * c->best,
                      100 * c->near);
        ks_input_put_name(to, in->sweeps.instances[c->instance].name);
        ks_buf_printf(to, "\n");
    }
}

static void put_answer(const struct ks_input *in, const struct ks_oracle *o,
                       const struct ks_answer *a, struct ks_buf *to)
{
    const struct ks_chance *c = &o->chances[a->first];
    char text[32];

    ks_input_time_text(exp(c->label), text, sizeof(text));
    ks_input_put_name(to, in->sweeps.problems[a->problem].name);
    ks_buf_printf(to, "\n  %s +- %.2f %%  best %5.1f %%  near %5.1f %%  expected regret %.2f %%  ",
                  text, 100 * c->half_width, 100 * c->best, 100 * c->near, 100 * c->regret);
    ks_input_put_name(to, in->sweeps.instances[c->instance].name);
    ks_buf_printf(to, "\n");
    put_others(in, o, a, to);
}

static void put_report(const struct ks_input *in, const struct ks_oracle *o, const struct config *c,
                       const char *statistic, struct ks_buf *to)
{
    double best = 0, near = 0, regret = 0, n = (double)(o->n_answers ? o->n_answers : 1);

    ks_buf_printf(to,
                  "%zu problems, %zu times of instances, %u sweep%s; label: %s; near: within %.2f "
                  "%% of the best\n",
                  o->n_answers, o->n_chances, in->sweeps.n_sweeps,
                  in->sweeps.n_sweeps == 1 ? "" : "s", statistic, 100 * c->margin);
    for (uint32_t d = 0; d < o->n_domains; d++)
        put_scatter(in, o, d, to);
    for (size_t i = 0; i < o->n_answers; i++) {
        const struct ks_chance *first = &o->chances[o->answers[i].first];

        best += first->best / n;
        near += first->near / n;
        regret += first->regret / n;
    }
    ks_buf_printf(to, "labels: best %.1f %%, near %.1f %%, expected regret %.3f %% (means)\n\n",
                  100 * best, 100 * near, 100 * regret);
    for (size_t i = 0; i < o->n_answers; i++)
        put_answer(in, o, &o->answers[i], to);
}

static int print(const struct ks_input *in, const struct ks_oracle *o, const struct config *c,
                 struct ks_err *err)
{
    char statistic[96];
    struct ks_result out;
    int rc = ks_result_open(&out, c->output, err);

    ks_input_label_text(in->statistic, c->over, statistic, sizeof(statistic));
    if (rc == 0 && c->format)
        rc = put_rows(in, o, c, statistic, &out.sink, err);
    else if (rc == 0)
        put_report(in, o, c, statistic, &out.sink.text);
    return ks_result_close(&out, rc, err);
}

static int oracle(const void *cfg, const char *const *operands, int n, struct ks_buf *notes,
                  struct ks_err *err)
{
    const struct config *c = cfg;
    struct ks_input in;
    struct ks_oracle o = { 0 };
    int rc = ks_input_load(&in, operands, (size_t)n, c->statistic, c->over, err);

    (void)notes;
    if (rc == 0)
        rc = ks_oracle_make(&in.trials, in.sweeps.n_domains, c->over, c->margin, &o, err);
    if (rc == 0)
        rc = print(&in, &o, c, err);
    ks_oracle_release(&o);
    ks_input_release(&in);
    return rc;
}

const struct ks_analysis ks_analysis_oracle = {
    .name = "oracle",
    .summary = "Find the best instance of every problem, with the probability that it is the best, "
               "from one or more runs.",
    .usage = "oracle FILE|DIR... [-o FILE] [--format report|csv|text|markdown|json] "
             "[--statistic NAME] [--over NAME] [--margin X]",
    .opts = opts,
    .cfg_size = sizeof(struct config),
    .n_min = 1,
    .n_max = 0,
    .run = oracle,
};
