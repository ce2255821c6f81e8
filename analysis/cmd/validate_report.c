/* SPDX-License-Identifier: MIT */
/* validate_report.c - prints what validate found: as text, as JSON */
#include "analysis/cmd/validate_report.h"
#include "analysis/out/quality.h"

#include <stdlib.h>
#include <string.h>

enum { MOST_LEAKED = 20 };

/* Of the instances of the evaluated problems those that the model can pick, and how often the best
 * is one of them: what another device's or an older model can reach at most. */
static void put_coverage(const struct ks_evaluation *eval, struct ks_buf *to)
{
    const struct ks_cells *c = &eval->cells;
    const struct ks_featurizer *f = &eval->features;
    bool *is_there = calloc(c->n_instances + 1, sizeof(*is_there));
    size_t n = 0, n_known = 0, n_problems = 0, n_best = 0;

    for (size_t i = 0; is_there && i < c->n; i++)
        if (eval->is_wanted[c->cells[i].problem])
            is_there[c->cells[i].instance] = true;
    for (uint32_t i = 0; is_there && i < c->n_instances; i++) {
        n += is_there[i];
        n_known += is_there[i] && (!f->knows || f->knows(f->ctx, i));
    }
    for (size_t i = 0; i < c->n_problems; i++) {
        const uint32_t best = c->cells[c->problems[i].best].instance;

        n_problems += eval->is_wanted[i];
        n_best += eval->is_wanted[i] && (!f->knows || f->knows(f->ctx, best));
    }
    if (is_there)
        ks_buf_printf(to,
                      "coverage: the model knows %zu of the %zu instances; the best is one of them "
                      "on %.1f %% of the problems\n",
                      n_known, n, 100 * (double)n_best / (double)(n_problems ? n_problems : 1));
    else
        to->failed = true;
    free(is_there);
}

static void put_more(size_t n, struct ks_buf *to)
{
    if (n > MOST_LEAKED)
        ks_buf_printf(to, "  and %zu more: --json lists all\n", n - MOST_LEAKED);
}

void ks_validation_inputs(const struct ks_validation *v,
                          struct ks_source_input inputs_out[KS_VALIDATION_INPUTS])
{
    inputs_out[0] = (struct ks_source_input){ "results", "validate", &v->data };
    inputs_out[1] = (struct ks_source_input){ "--ceiling", "validate --ceiling", &v->sweep };
    inputs_out[2] = (struct ks_source_input){ "--retime", "validate --retime", &v->again };
}

/* A ceiling of the same times; with --mixed whatever was not measured as the model's training. */
static void put_others(const struct ks_validation *v, struct ks_buf *to)
{
    const struct ks_time_source *model = &v->eval.model.device, *other = &v->other.model.device;
    struct ks_source_input inputs[KS_VALIDATION_INPUTS];

    ks_validation_inputs(v, inputs);
    if (v->shared)
        ks_buf_printf(to,
                      "NOT INDEPENDENT: --ceiling %s contains a run of the results: the ceiling "
                      "chooses by the times that it is judged by\n",
                      v->shared);
    ks_sources_text(inputs, KS_VALIDATION_INPUTS, model, to);
    if (v->against && !ks_source_is_of(other, model)) {
        ks_buf_printf(to, "NOT OF THE MODEL'S SOURCE: --against %s is for ", v->against);
        ks_source_text(other, to);
        ks_buf_printf(to, "\n");
    }
}

static size_t count_outside(const struct ks_model *m)
{
    size_t n = 0;

    for (size_t i = 0; i < m->cells.n_problems; i++)
        n += m->is_outside[i];
    return n;
}

static void put_leaks(const struct ks_validation *v, struct ks_buf *to)
{
    const char *line = ks_buf_text(&v->left_out);

    ks_buf_printf(
        to,
        "leakage: %llu problems are also in the training data; they are left out of all figures\n",
        (unsigned long long)v->data.n_left_out);
    for (int i = 0; i < MOST_LEAKED && *line; i++) {
        size_t n = strcspn(line, "\n");

        ks_buf_printf(to, "  %.*s\n", (int)n, line);
        line += n + (line[n] == '\n');
    }
    put_more(v->data.n_left_out, to);
    put_others(v, to);
    put_coverage(&v->eval, to);
    ks_buf_printf(to,
                  "outside of the training range: %zu problems, which get the first instance of "
                  "their class's static order, as in a selector\n",
                  v->eval.n_outside);
    for (size_t i = 0, n = 0; i < v->eval.cells.n_problems && n < MOST_LEAKED; i++) {
        if (!v->eval.outside[i])
            continue;
        ks_buf_printf(to, "  %s: ", v->eval.outside[i]);
        ks_problem_canonical(&v->eval.cells.problems[i].problem, to);
        ks_buf_printf(to, "\n");
        n++;
    }
    put_more(v->eval.n_outside, to);
    if (v->eval.model.format >= 3)
        ks_buf_printf(to,
                      "in the cross-validation of the model: %zu of its %zu training problems\n",
                      count_outside(&v->eval.model), v->eval.model.cells.n_problems);
    ks_buf_printf(to, "\n");
}

static void put_gate(const struct ks_validation *v, struct ks_buf *to)
{
    const struct ks_gate *g = &v->gate;

    ks_buf_printf(to, "\nagainst %s: mean %+.4f (at least -0.0050), P10 %+.4f (at least -0.0200), ",
                  v->against, g->mean, g->p10);
    ks_buf_printf(to, "%zu problems more than 10 %% slower", g->n_slower);
    if (g->slowest != UINT32_MAX && g->ratio > 1) {
        ks_buf_printf(to, ", the most by %.1f %%: ", 100 * (g->ratio - 1));
        ks_problem_canonical(&v->eval.cells.problems[g->slowest].problem, to);
    }
    ks_buf_printf(to, "\n%s\n", g->is_passed ? "passed" : "FAILED");
}

void ks_validation_text(const struct ks_validation *v, struct ks_buf *to)
{
    put_leaks(v, to);
    ks_quality_text(&v->card, to);
    ks_networks_text(v->networks, v->n_networks, to);
    if (v->again.n_files)
        ks_retimed_text(&v->retimed, ks_chooser_name(v->card.i_best_baseline), &v->pair, to);
    ks_worst_text(v->worst, v->n_worst, v->files, to);
    if (v->against)
        put_gate(v, to);
}

static void put_leaks_json(const struct ks_validation *v, struct ks_jw *w)
{
    struct ks_buf text;

    ks_buf_init(&text);
    ks_jw_open(w, "leaked", '[');
    for (const char *line = ks_buf_text(&v->left_out); *line; line += *line == '\n') {
        const size_t n = strcspn(line, "\n");

        ks_buf_clear(&text);
        ks_buf_put(&text, line, n);
        ks_jw_str(w, NULL, ks_buf_text(&text));
        line += n;
    }
    ks_jw_close(w, ']');
    ks_jw_open(w, "outside", '[');
    for (size_t i = 0; i < v->eval.cells.n_problems; i++) {
        if (!v->eval.outside[i])
            continue;
        ks_buf_clear(&text);
        ks_problem_canonical(&v->eval.cells.problems[i].problem, &text);
        ks_jw_open(w, NULL, '{');
        ks_jw_str(w, "problem", ks_buf_text(&text));
        ks_jw_str(w, "why", v->eval.outside[i]);
        ks_jw_close(w, '}');
    }
    ks_jw_close(w, ']');
    ks_buf_release(&text);
}

static void put_gate_json(const struct ks_gate *g, struct ks_jw *w)
{
    ks_jw_open(w, "against", '{');
    ks_jw_real(w, "mean", g->mean);
    ks_jw_real(w, "p10", g->p10);
    ks_jw_u64(w, "n_slower", g->n_slower);
    ks_jw_bool(w, "is_passed", g->is_passed);
    ks_jw_close(w, '}');
}

void ks_validation_json(const struct ks_validation *v, struct ks_buf *to)
{
    struct ks_source_input inputs[KS_VALIDATION_INPUTS];
    struct ks_jw w;

    ks_jw_init(&w, to, true);
    ks_jw_open(&w, NULL, '{');
    ks_jw_u64(&w, "n_leaked", v->data.n_left_out);
    ks_jw_u64(&w, "n_outside", v->eval.n_outside);
    if (v->eval.model.format >= 3)
        ks_jw_u64(&w, "n_outside_in_training", count_outside(&v->eval.model));
    ks_validation_inputs(v, inputs);
    ks_sources_json(inputs, KS_VALIDATION_INPUTS, &v->eval.model.device, &w);
    if (v->sweep.n_files)
        ks_jw_bool(&w, "is_ceiling_independent", !v->shared);
    put_leaks_json(v, &w);
    ks_quality_json(&v->card, "validation", &w);
    ks_networks_json(v->networks, v->n_networks, "networks", &w);
    if (v->again.n_files) {
        ks_retimed_json(&v->retimed, "retimed", &w);
        ks_retimed_json(&v->pair.model, "retimed_beside_baseline", &w);
        ks_retimed_json(&v->pair.baseline, "retimed_baseline", &w);
    }
    ks_worst_json(v->worst, v->n_worst, v->files, "worst", &w);
    if (v->against)
        put_gate_json(&v->gate, &w);
    ks_jw_close(&w, '}');
    ks_buf_u8(to, '\n');
}
