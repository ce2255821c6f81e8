/* SPDX-License-Identifier: MIT */
/* quality_text.c - figures of choosers, re-timing, networks and the worst problems as text */
#include "analysis/out/quality.h"
#include "base/text.h"

#include <math.h>
#include <string.h>

static void put_number(struct ks_buf *to, double v)
{
    if (isnan(v))
        ks_buf_printf(to, "       -");
    else
        ks_buf_printf(to, "  %6.4f", v);
}

static void put_line(struct ks_buf *to, const char *name, const struct ks_quality *q)
{
    ks_buf_printf(to, "%-20s", name);
    put_number(to, q->measured.mean);
    put_number(to, q->measured.p10);
    put_number(to, q->measured.median);
    put_number(to, q->measured.p1);
    put_number(to, q->measured.min);
    ks_buf_printf(to, "  |");
    put_number(to, q->zero.mean);
    put_number(to, q->zero.p10);
    ks_buf_printf(to, "  |");
    put_number(to, q->left_out.mean);
    put_number(to, q->left_out.p10);
    put_number(to, q->share);
    ks_buf_printf(to, "\n");
}

static void put_head(struct ks_buf *to)
{
    ks_buf_printf(to,
                  "%-20s  among the instances measured for     |  among all instances,\n"
                  "%-20s  the problem (not deployable)           |  unmeasured = 0   |  unmeasured "
                  "left out\n"
                  "%-20s    mean     P10  median      P1     min  |    mean     P10  |    mean     "
                  "P10   share\n",
                  "efficiency", "", "");
}

static void put_ck(struct ks_buf *to, const char *tool, const struct ks_ck_scores *s)
{
    ks_buf_printf(to,
                  "as %s: %zu problems, mean %.2f %%, P10 %.2f, P50 %.2f, min %.2f, top-1 %.1f, "
                  "\"top-5\" (pick among the oracle's five) %.1f\n",
                  tool, s->n, s->mean, s->p10, s->p50, s->min, s->top1, s->top5);
}

static void put_model(struct ks_buf *to, const struct ks_quality *q)
{
    const struct ks_line *l = &q->measured;

    ks_buf_printf(to,
                  "\nmodel, among measured: mean %.4f [%.4f, %.4f], P10 %.4f [%.4f, %.4f] (95 %% "
                  "intervals, bootstrap over problems)\n",
                  l->mean, l->mean_lo, l->mean_hi, l->p10, l->p10_lo, l->p10_hi);
    put_ck(to, "compare_ml_vs_oracle.py (unmeasured = 0, sorted[n/10])", &q->ck_compare);
    put_ck(to, "validate_ml_vs_oracle.py (unmeasured left out, linear)", &q->ck_validate);
    ks_buf_printf(to, "oracle's best among the model's first %u, %u, %u: %.3f %.3f %.3f\n",
                  ks_top[0], ks_top[1], ks_top[2], q->hit[0], q->hit[1], q->hit[2]);
    ks_buf_printf(to, "model's first among the oracle's best %u, %u, %u: %.3f %.3f %.3f\n",
                  ks_top[0], ks_top[1], ks_top[2], q->inside[0], q->inside[1], q->inside[2]);
    ks_buf_printf(to, "model's first is the best or tied with it: %.3f\n", q->tied);
    ks_buf_printf(to,
                  "mean efficiency when the first %u, %u, %u among the instances measured for the "
                  "problem (not deployable) are measured at first use: %.4f %.4f %.4f\n",
                  ks_best_k[0], ks_best_k[1], ks_best_k[2], q->best_of_k[0], q->best_of_k[1],
                  q->best_of_k[2]);
    ks_buf_printf(to, "total best time over total time, weighted by use counts: %.4f\n",
                  q->weighted);
}

static void put_classes(struct ks_buf *to, const struct ks_scorecard *s)
{
    ks_buf_printf(to, "\nby shape class (model)  problems    mean     P10     min  unmeasured=0\n");
    for (size_t i = 0; i < s->n_classes; i++) {
        const struct ks_quality *q = &s->classes[i].quality;

        ks_buf_printf(to, "  %-20s %9zu", s->classes[i].name, q->n_problems);
        put_number(to, q->measured.mean);
        put_number(to, q->measured.p10);
        put_number(to, q->measured.min);
        put_number(to, q->zero.mean);
        ks_buf_printf(to, "\n");
    }
}

static void put_verdict(struct ks_buf *to, const struct ks_scorecard *s)
{
    double model = s->by[KS_BY_MODEL].measured.mean;

    if (s->is_useful)
        ks_buf_printf(to, "\nThe model beats every baseline; the best of them is '%s' with %.4f.\n",
                      ks_chooser_name(s->i_best_baseline), s->best_baseline);
    else
        ks_buf_printf(
            to, "\nTHE MODEL HAS NO BENEFIT: the baseline '%s' is as good (%.4f against %.4f).\n",
            ks_chooser_name(s->i_best_baseline), s->best_baseline, model);
}

void ks_quality_text(const struct ks_scorecard *s, struct ks_buf *to)
{
    ks_buf_printf(to, "%zu problems\n\n", s->n_problems);
    put_head(to);
    for (uint32_t i = 0; i < KS_N_CHOOSERS; i++)
        if (s->has[i])
            put_line(to, ks_chooser_name(i), &s->by[i]);
    if (s->has_unseen_class)
        put_line(to, "model, unseen class", &s->unseen_class);
    if (s->has[KS_BY_CEILING] && s->by[KS_BY_CEILING].n_problems < s->n_problems)
        ks_buf_printf(to, "the ceiling has %zu of the problems\n", s->by[KS_BY_CEILING].n_problems);
    if (!s->has[KS_BY_MODEL])
        return;
    put_model(to, &s->by[KS_BY_MODEL]);
    put_classes(to, s);
    put_verdict(to, s);
}

static void put_retimed(struct ks_buf *to, const char *who, const struct ks_line *l)
{
    ks_buf_printf(to,
                  "%s, by the new times: mean %.4f [%.4f, %.4f], P10 %.4f [%.4f, %.4f], min %.4f\n",
                  who, l->mean, l->mean_lo, l->mean_hi, l->p10, l->p10_lo, l->p10_hi, l->min);
}

/* The model beside the best baseline. Where new times are missing, the problems that are left are
 * no fair choice: those on which the baseline picks the oracle need no new time. So there is no
 * verdict then. */
static void put_pair(struct ks_buf *to, const char *name, const struct ks_retimed_pair *p,
                     size_t n_missing)
{
    const double model = p->model.again.mean, baseline = p->baseline.again.mean;

    if (p->baseline.n_timed + p->baseline.n_same == 0) {
        ks_buf_printf(to, "%s: without new times\n", name);
        return;
    }
    if (p->model.n_missing > n_missing) {
        ks_buf_printf(to, "on the %zu problems with new times for both picks:\n",
                      p->model.n_timed + p->model.n_same);
        put_retimed(to, "model", &p->model.again);
    }
    put_retimed(to, name, &p->baseline.again);
    if (p->model.n_missing == n_missing && !(model > baseline))
        ks_buf_printf(to, "By the new times the model does not beat '%s'.\n", name);
}

void ks_retimed_text(const struct ks_retimed *r, const char *name,
                     const struct ks_retimed_pair *pair, struct ks_buf *to)
{
    const struct ks_line *a = &r->first;

    ks_buf_printf(to,
                  "\nre-timed: %zu problems; on %zu more the pick is the oracle's; %zu without new "
                  "times are left out\n",
                  r->n_timed, r->n_same, r->n_missing);
    ks_buf_printf(to, "picks are those among the instances measured for the problem (not "
                      "deployable)\n");
    ks_buf_printf(to, "model, by the times that chose the oracle: mean %.4f, P10 %.4f, min %.4f\n",
                  a->mean, a->p10, a->min);
    put_retimed(to, "model", &r->again);
    put_pair(to, name, pair, r->n_missing);
    ks_buf_printf(to, "new time over first time: oracle %.4f, picks %.4f (geometric means)\n",
                  r->oracle_ratio, r->pick_ratio);
}

static void put_network(struct ks_buf *to, const struct ks_network *n)
{
    ks_buf_printf(to, "  ");
    ks_text_put(to, n->name, strlen(n->name), KS_LINES_NONE);
    ks_buf_printf(to, ": %llu of %llu problems, %llu of %llu uses, best %.3f ms\n",
                  (unsigned long long)n->n_counted, (unsigned long long)n->n_problems,
                  (unsigned long long)n->n_counted_uses, (unsigned long long)n->n_uses,
                  n->best_ns / 1e6);
    if (n->n_counted_uses)
        ks_buf_printf(to,
                      "    the model's pick among all instances was measured for %.1f %% of these "
                      "uses\n",
                      100 * (double)n->n_free_uses / (double)n->n_counted_uses);
    for (uint32_t i = 0; i < KS_N_CHOOSERS && n->n_counted; i++) {
        if (isnan(n->ns[i]))
            continue;
        ks_buf_printf(to, "    %-20s %8.2f %%", ks_chooser_name(i),
                      100 * (n->ns[i] / n->best_ns - 1));
        if (i == KS_BY_MODEL && !isnan(n->regret_lo))
            ks_buf_printf(to, " [%.2f, %.2f]", 100 * n->regret_lo, 100 * n->regret_hi);
        ks_buf_printf(to, "\n");
    }
}

void ks_networks_text(const struct ks_network *networks, size_t n, struct ks_buf *to)
{
    if (n)
        ks_buf_printf(to,
                      "\nregret per network: time of the picks among the instances measured "
                      "for the problem (not deployable) over that of the best, less 1, weighted "
                      "by use counts\n");
    for (size_t i = 0; i < n; i++)
        put_network(to, &networks[i]);
}

void ks_worst_look(const struct ks_worst *w, const char *file, struct ks_buf *to)
{
    ks_buf_printf(to, "ksweep-analyze table ");
    ks_shell_put(to, file);
    ks_buf_printf(to, " | grep %016llx", (unsigned long long)w->problem_id);
}

static void put_look(struct ks_buf *to, const struct ks_worst *w, const char *file)
{
    ks_buf_printf(to, "        look: ");
    ks_worst_look(w, file, to);
    ks_buf_printf(to, "\n");
}

void ks_worst_text(const struct ks_worst *worst, size_t n, const char *const *files,
                   struct ks_buf *to)
{
    ks_buf_printf(to, "\nthe %zu worst\n", n);
    for (size_t i = 0; i < n; i++) {
        const struct ks_worst *w = &worst[i];

        ks_buf_printf(to, "%6.4f  %s: %s\n        pick ", w->eff, w->class_name, w->canonical);
        ks_text_put(to, w->pick, strlen(w->pick), KS_LINES_NONE);
        ks_buf_printf(to, " %.2f us, best ", w->pick_ns / 1e3);
        ks_text_put(to, w->best, strlen(w->best), KS_LINES_NONE);
        ks_buf_printf(to, " %.2f us\n        %s\n", w->best_ns / 1e3, w->reason);
        put_look(to, w, files[w->pick_file]);
        if (w->best_file != w->pick_file)
            put_look(to, w, files[w->best_file]);
    }
}
