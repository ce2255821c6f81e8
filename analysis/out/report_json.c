/* SPDX-License-Identifier: MIT */
/* report_json.c - the summary of a report as JSON */
#include "analysis/out/report.h"
#include "json/json.h"

#include <inttypes.h>

static void json_problem(struct ks_jw *w, const struct ks_best *p)
{
    ks_jw_open(w, NULL, '{');
    if (p->problem)
        ks_jw_id(w, "problem_id", p->problem->id);
    ks_jw_str(w, "name", ks_best_name(p));
    ks_jw_str(w, "best_instance", p->kernel ? p->kernel->name : NULL);
    if (p->kernel)
        ks_jw_id(w, "instance_id", p->kernel->id);
    ks_jw_known(w, "gflops", p->gflops);
    ks_jw_known(w, "gflops_se", p->gflops_se);
    ks_jw_known(w, "gflops_lo95", p->gflops_lo95);
    ks_jw_known(w, "gflops_hi95", p->gflops_hi95);
    ks_jw_known(w, "time_median_ns", p->median_ns);
    ks_jw_known(w, "time_se_ns", p->se_ns);
    ks_jw_known(w, "time_ci95_lo_ns", p->lo95_ns);
    ks_jw_known(w, "time_ci95_hi_ns", p->hi95_ns);
    ks_jw_known(w, "worst_over_best", p->worst_over_best);
    ks_jw_u64(w, "n_tied", p->n_tied);
    ks_jw_u64(w, "n_ok", p->n_ok);
    ks_jw_u64(w, "n_codes", p->n_codes);
    ks_jw_u64(w, "n_rows", p->n_rows);
    ks_jw_u64(w, "n_contaminated", p->n_contaminated);
    ks_jw_bool(w, "is_contaminated", p->is_contaminated);
    ks_jw_close(w, '}');
}

static void json_counts(struct ks_jw *w, const struct ks_summary *s)
{
    ks_jw_u64(w, "n_cells", s->n_cells);
    ks_jw_u64(w, "n_pending", s->n_pending);
    ks_jw_u64(w, "n_dropped", s->n_dropped);
    ks_jw_u64(w, "n_contaminated", s->n_contaminated);
    ks_jw_open(w, "outcomes", '{');
    for (uint32_t o = 1; o < KS_O_LIMIT; o++)
        if (s->outcome[o])
            ks_jw_u64(w, ks_outcome_text(o), s->outcome[o]);
    ks_jw_close(w, '}');
}

static void json_ranks(struct ks_jw *w, const struct ks_summary *s)
{
    ks_jw_open(w, "ranks", '[');
    for (size_t i = 0; i < s->n_ranks; i++) {
        const struct ks_device_ref *d = s->ranks[i].device;

        ks_jw_open(w, NULL, '{');
        ks_jw_u64(w, "rank", d->rank);
        ks_jw_str(w, "host", d->host);
        ks_jw_id(w, "device_id", d->id);
        ks_jw_str(w, "model", d->model);
        ks_jw_str(w, "core_set", d->core_set);
        ks_jw_u64(w, "n_cells", s->ranks[i].n_cells);
        ks_jw_close(w, '}');
    }
    ks_jw_close(w, ']');
}

static void json_controls(struct ks_jw *w, const struct ks_aliases_found *a)
{
    ks_jw_open(w, "controls", '{');
    ks_jw_u64(w, "n", a->n_controls);
    ks_jw_u64(w, "n_other_outcome", a->n_other_outcome);
    ks_jw_u64(w, "n_compared", a->n_compared);
    ks_jw_u64(w, "n_apart", a->n_apart);
    if (a->n_compared) {
        ks_jw_known(w, "difference", a->difference);
        ks_jw_known(w, "noise", a->noise);
        ks_jw_str(w, "problem", a->problem ? a->problem->name : NULL);
        ks_jw_str(w, "instance", a->control ? a->control->name : NULL);
        ks_jw_str(w, "alias_of", a->first ? a->first->name : NULL);
    }
    ks_jw_close(w, '}');
}

static void json_aliases(struct ks_jw *w, const struct ks_aliases_found *a)
{
    ks_jw_open(w, "aliases", '{');
    ks_jw_u64(w, "n_aliased", a->n_aliased);
    json_controls(w, a);
    ks_jw_open(w, "groups", '[');
    for (size_t i = 0; i < a->n_groups; i++) {
        ks_jw_open(w, NULL, '{');
        ks_jw_str(w, "code_id", a->groups[i].members[0]->code_id);
        ks_jw_u64(w, "n_aliased", a->groups[i].n_aliased);
        ks_jw_open(w, "instances", '[');
        for (uint32_t k = 0; k < a->groups[i].n; k++)
            ks_jw_str(w, NULL, a->groups[i].members[k]->name);
        ks_jw_close(w, ']');
        ks_jw_close(w, '}');
    }
    ks_jw_close(w, ']');
    ks_jw_close(w, '}');
}

static void json_pruned(struct ks_jw *w, const struct ks_pruned_found *p)
{
    ks_jw_open(w, "pruned", '{');
    ks_jw_u64(w, "n_left_out", p->n_left_out);
    ks_jw_u64(w, "n_controls", p->n_controls);
    ks_jw_u64(w, "n_compared", p->n_compared);
    ks_jw_u64(w, "n_better", p->n_better);
    if (p->n_compared) {
        ks_jw_known(w, "ratio", p->ratio);
        ks_jw_str(w, "problem", p->problem ? p->problem->name : NULL);
        ks_jw_str(w, "instance", p->control ? p->control->name : NULL);
    }
    ks_jw_close(w, '}');
}

void ks_report_json(const struct ks_summary *s, const char *file, struct ks_buf *b)
{
    struct ks_jw w;

    ks_jw_init(&w, b, true);
    ks_jw_open(&w, NULL, '{');
    ks_jw_str(&w, "file", file);
    json_counts(&w, s);
    json_ranks(&w, s);
    ks_jw_u64(&w, "n_codes", s->n_codes);
    ks_jw_u64(&w, "n_winners", s->n_winners);
    ks_jw_known(&w, "median_worst_over_best", s->median_worst_over_best);
    ks_jw_str(&w, "fixed_instance", s->fixed ? s->fixed->name : NULL);
    ks_jw_known(&w, "fixed_share", s->fixed ? s->fixed_share : KS_NOT_KNOWN);
    json_aliases(&w, &s->aliases);
    json_pruned(&w, &s->pruned);
    ks_jw_open(&w, "problems", '[');
    for (size_t i = 0; i < s->n_problems; i++)
        json_problem(&w, &s->problems[i]);
    ks_jw_close(&w, ']');
    ks_jw_close(&w, '}');
    ks_buf_printf(b, "\n");
}
