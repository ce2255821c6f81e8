/* SPDX-License-Identifier: MIT */
/* quality_json.c - figures of choosers, re-timing and networks as JSON */
#include "analysis/out/quality.h"

#include <math.h>

static void put_number(struct ks_jw *w, const char *key, double v)
{
    if (isfinite(v))
        ks_jw_real(w, key, v);
}

static void put_line(struct ks_jw *w, const char *key, const struct ks_line *l)
{
    ks_jw_open(w, key, '{');
    ks_jw_u64(w, "n", l->n);
    put_number(w, "mean", l->mean);
    put_number(w, "median", l->median);
    put_number(w, "p10", l->p10);
    put_number(w, "p1", l->p1);
    put_number(w, "min", l->min);
    put_number(w, "mean_lo95", l->mean_lo);
    put_number(w, "mean_hi95", l->mean_hi);
    put_number(w, "p10_lo95", l->p10_lo);
    put_number(w, "p10_hi95", l->p10_hi);
    ks_jw_close(w, '}');
}

static void put_ck(struct ks_jw *w, const char *key, const struct ks_ck_scores *s)
{
    ks_jw_open(w, key, '{');
    ks_jw_u64(w, "total_problems", s->n);
    put_number(w, "mean_efficiency", s->mean);
    put_number(w, "p10_efficiency", s->p10);
    put_number(w, "p50_efficiency", s->p50);
    put_number(w, "min_efficiency", s->min);
    put_number(w, "max_efficiency", s->max);
    put_number(w, "top1_accuracy", s->top1);
    put_number(w, "top5_hit_rate", s->top5);
    ks_jw_close(w, '}');
}

static void put_list(struct ks_jw *w, const char *key, const double *v, size_t n)
{
    ks_jw_open(w, key, '[');
    for (size_t i = 0; i < n; i++)
        put_number(w, NULL, v[i]);
    ks_jw_close(w, ']');
}

static void put_quality(struct ks_jw *w, const char *name, const struct ks_quality *q)
{
    ks_jw_open(w, NULL, '{');
    ks_jw_str(w, "name", name);
    ks_jw_u64(w, "n_problems", q->n_problems);
    put_line(w, "among_measured", &q->measured);
    put_line(w, "unmeasured_is_zero", &q->zero);
    put_line(w, "unmeasured_left_out", &q->left_out);
    put_number(w, "share_measured", q->share);
    put_ck(w, "compare_ml_vs_oracle", &q->ck_compare);
    put_ck(w, "validate_ml_vs_oracle", &q->ck_validate);
    put_list(w, "best_in_first_1_3_5", q->hit, KS_N_TOP);
    put_list(w, "first_in_best_1_3_5", q->inside, KS_N_TOP);
    put_number(w, "first_is_best_or_tied", q->tied);
    put_list(w, "best_of_1_2_4", q->best_of_k, KS_N_BEST_K);
    put_number(w, "weighted_by_uses", q->weighted);
    ks_jw_close(w, '}');
}

void ks_retimed_json(const struct ks_retimed *r, const char *key, struct ks_jw *w)
{
    ks_jw_open(w, key, '{');
    ks_jw_u64(w, "n_timed", r->n_timed);
    ks_jw_u64(w, "n_same", r->n_same);
    ks_jw_u64(w, "n_missing", r->n_missing);
    put_line(w, "first_times", &r->first);
    put_line(w, "new_times", &r->again);
    put_number(w, "oracle_new_over_first", r->oracle_ratio);
    put_number(w, "pick_new_over_first", r->pick_ratio);
    ks_jw_close(w, '}');
}

static void put_network(struct ks_jw *w, const struct ks_network *n)
{
    ks_jw_open(w, NULL, '{');
    ks_jw_str(w, "name", n->name);
    ks_jw_u64(w, "n_problems", n->n_problems);
    ks_jw_u64(w, "n_counted", n->n_counted);
    ks_jw_u64(w, "n_uses", n->n_uses);
    ks_jw_u64(w, "n_counted_uses", n->n_counted_uses);
    put_number(w, "share_measured", (double)n->n_free_uses / (double)n->n_counted_uses);
    ks_jw_real(w, "best_ns", n->best_ns);
    ks_jw_open(w, "regret", '{');
    for (uint32_t i = 0; i < KS_N_CHOOSERS && n->n_counted; i++)
        put_number(w, ks_chooser_name(i), n->ns[i] / n->best_ns - 1);
    ks_jw_close(w, '}');
    put_number(w, "regret_model_lo95", n->regret_lo);
    put_number(w, "regret_model_hi95", n->regret_hi);
    ks_jw_close(w, '}');
}

void ks_networks_json(const struct ks_network *networks, size_t n, const char *key, struct ks_jw *w)
{
    ks_jw_open(w, key, '[');
    for (size_t i = 0; i < n; i++)
        put_network(w, &networks[i]);
    ks_jw_close(w, ']');
}

static void put_worst(struct ks_jw *w, const struct ks_worst *worst, const char *const *files)
{
    const uint32_t at[] = { worst->pick_file, worst->best_file };
    struct ks_buf look;

    ks_buf_init(&look);
    ks_jw_open(w, NULL, '{');
    ks_jw_str(w, "problem", worst->canonical);
    ks_jw_id(w, "problem_id", worst->problem_id);
    ks_jw_str(w, "class", worst->class_name);
    put_number(w, "efficiency", worst->eff);
    ks_jw_str(w, "pick", worst->pick);
    ks_jw_str(w, "best", worst->best);
    put_number(w, "pick_ns", worst->pick_ns);
    put_number(w, "best_ns", worst->best_ns);
    ks_jw_str(w, "reason", worst->reason);
    ks_jw_open(w, "look", '[');
    for (size_t i = 0; i < (at[0] == at[1] ? 1 : 2); i++) {
        ks_buf_clear(&look);
        ks_worst_look(worst, files[at[i]], &look);
        ks_jw_str(w, NULL, ks_buf_text(&look));
    }
    ks_jw_close(w, ']');
    ks_jw_close(w, '}');
    ks_buf_release(&look);
}

void ks_worst_json(const struct ks_worst *worst, size_t n, const char *const *files,
                   const char *key, struct ks_jw *w)
{
    ks_jw_open(w, key, '[');
    for (size_t i = 0; i < n; i++)
        put_worst(w, &worst[i], files);
    ks_jw_close(w, ']');
}

void ks_quality_json(const struct ks_scorecard *s, const char *key, struct ks_jw *w)
{
    ks_jw_open(w, key, '{');
    ks_jw_u64(w, "n_problems", s->n_problems);
    ks_jw_open(w, "choosers", '[');
    for (uint32_t i = 0; i < KS_N_CHOOSERS; i++)
        if (s->has[i])
            put_quality(w, ks_chooser_name(i), &s->by[i]);
    ks_jw_close(w, ']');
    ks_jw_open(w, "classes", '[');
    for (size_t i = 0; i < s->n_classes; i++)
        put_quality(w, s->classes[i].name, &s->classes[i].quality);
    ks_jw_close(w, ']');
    ks_jw_open(w, "unseen_class", '[');
    if (s->has_unseen_class)
        put_quality(w, "model", &s->unseen_class);
    ks_jw_close(w, ']');
    ks_jw_str(w, "best_baseline", ks_chooser_name(s->i_best_baseline));
    put_number(w, "best_baseline_mean", s->best_baseline);
    ks_jw_bool(w, "is_useful", s->is_useful);
    ks_jw_close(w, '}');
}
