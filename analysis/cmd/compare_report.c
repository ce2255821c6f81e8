/* SPDX-License-Identifier: MIT */
/* compare_report.c - the report of `compare`: both sides, what changed, and what became of the best
 * instances */
#include "analysis/cmd/compare_report.h"
#include "record/outcome.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define MOST_CELLS 20u /* that a rule of --fail-if names */
#define MOST_LOST  5u  /* best instances without a time that are named */

/* ---- the sides ---- */

static const char *fact_of(const struct ks_sweeps *s, uint32_t sweep, enum ks_fact which)
{
    const char *text = ks_buf_text(&s->sweeps[sweep].fact[which]);

    return text[0] ? text : "unknown";
}

/* One of the sweeps [first, end) was made with it. */
static bool has_fact(const struct ks_sweeps *s, uint32_t first, uint32_t end, enum ks_fact which,
                     const char *text)
{
    for (uint32_t i = first; i < end; i++)
        if (strcmp(fact_of(s, i, which), text) == 0)
            return true;
    return false;
}

/* Of the sweeps [first, end) what they were made with, each once. */
static void put_fact(const struct ks_sweeps *s, uint32_t first, uint32_t end, enum ks_fact which,
                     struct ks_buf *to)
{
    for (uint32_t i = first; i < end; i++) {
        const char *text = fact_of(s, i, which);

        if (has_fact(s, first, i, which, text))
            continue;
        ks_buf_printf(to, "%s", i > first ? "; " : "");
        ks_input_put_name(to, text);
    }
}

static bool is_same_fact(const struct ks_compare_answer *a, enum ks_fact which)
{
    const struct ks_sweeps *s = &a->in->sweeps;

    for (uint32_t i = 0; i < s->n_sweeps; i++) {
        const uint32_t first = i < a->n_a ? a->n_a : 0, end = i < a->n_a ? s->n_sweeps : a->n_a;

        if (!has_fact(s, first, end, which, fact_of(s, i, which)))
            return false;
    }
    return true;
}

static void put_sides(const struct ks_compare_answer *a, struct ks_buf *to)
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
        bool is_same = is_same_fact(a, k);

        ks_buf_printf(to, "%s%s", ks_fact_names[k], is_same ? ": " : " differs: A ");
        put_fact(s, 0, a->n_a, k, to);
        if (!is_same) {
            ks_buf_printf(to, " | B ");
            put_fact(s, a->n_a, s->n_sweeps, k, to);
        }
        ks_buf_printf(to, "\n");
    }
}

/* ---- cells ---- */

static void put_names(const struct ks_compare_answer *a, uint32_t problem, uint32_t instance,
                      struct ks_buf *to)
{
    ks_buf_printf(to, "  ");
    ks_input_put_name(to, a->in->sweeps.problems[problem].name);
    ks_buf_printf(to, "  ");
    ks_input_put_name(to, a->in->sweeps.instances[instance].name);
    ks_buf_printf(to, "\n");
}

static void put_difference(const struct ks_compare_answer *a, const struct ks_pair *p,
                           struct ks_buf *to)
{
    ks_buf_printf(to, "%+.2f %% +- %.2f %%", 100 * expm1(p->difference), 100 * p->sd);
    put_names(a, p->problem, p->instance, to);
}

static void put_changed(const struct ks_compare_answer *a, uint32_t change, struct ks_buf *to)
{
    for (size_t i = 0; i < a->c->n_pairs; i++) {
        if (a->c->pairs[i].change != change)
            continue;
        ks_buf_printf(to, "%s ", ks_change_names[change]);
        put_difference(a, &a->c->pairs[i], to);
    }
}

static void put_more(size_t n, size_t most, struct ks_buf *to)
{
    if (n > most)
        ks_buf_printf(to, "  and %zu more\n", n - most);
}

/* ---- the best of every problem ---- */

static void put_interval(struct ks_buf *to, const char *what, double scale, const char *unit,
                         const struct ks_interval *v)
{
    if (isnan(v->value))
        ks_buf_printf(to, "%-34s not defined\n", what);
    else
        ks_buf_printf(to, "%-34s %.5g%s [%.5g, %.5g]\n", what, scale * v->value, unit,
                      scale * v->lo, scale * v->hi);
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
    ks_buf_printf(to, "%-34s", "largest regret of each");
    for (uint32_t side = 0; side < 2; side++) {
        if (isnan(c->worst_regret[side]))
            ks_buf_printf(to, "%s not defined", side ? "," : "");
        else
            ks_buf_printf(to, "%s %.5g %%", side ? "," : "", 100 * c->worst_regret[side]);
    }
    ks_buf_printf(to, "\n");
}

static void put_lost(const struct ks_compare_answer *a, struct ks_buf *to)
{
    const struct ks_comparison *c = a->c;
    const struct ks_lost_best *l = c->lost;

    if (c->n_problems_only[0] + c->n_problems_only[1] > 0)
        ks_buf_printf(to, "%zu problems have times in A only, %zu in B only\n",
                      c->n_problems_only[0], c->n_problems_only[1]);
    for (uint32_t side = 0; side < 2; l += c->n_lost[side++]) {
        if (c->n_lost[side] == 0)
            continue;
        ks_buf_printf(
            to,
            "the best instance of %s has no time in %s in %zu problem%s, where its regret "
            "is not defined:\n",
            side ? "B" : "A", side ? "A" : "B", c->n_lost[side], c->n_lost[side] == 1 ? "" : "s");
        for (size_t i = 0; i < c->n_lost[side] && i < MOST_LOST; i++) {
            ks_buf_printf(to, "  %s",
                          l[i].outcome == KS_O_NONE ? "not measured"
                                                    : ks_outcome_text(l[i].outcome));
            put_names(a, l[i].problem, l[i].instance, to);
        }
        put_more(c->n_lost[side], MOST_LOST, to);
    }
}

/* ---- rules ---- */

double ks_compare_smallest(const struct ks_comparison *c)
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

static bool is_over(const struct ks_compare_answer *a, const struct ks_pair *p)
{
    return a->slower && p->at_limit == KS_SLOWER;
}

bool ks_compare_is_refused(const struct ks_compare_answer *a, const struct ks_pair *p)
{
    return is_over(a, p) || (a->refuses_failures && ks_compare_is_broken(p));
}

static void put_slower(const struct ks_compare_answer *a, struct ks_buf *to)
{
    const struct ks_comparison *c = a->c;
    size_t n = 0;

    ks_buf_printf(to, "\n--fail-if %s: %zu cells", a->slower, a->n_slower);
    if (c->n_pairs > 0) {
        ks_buf_printf(to, "; ");
        put_smallest(a->n_blind, c->n_pairs, a->smallest, to);
    }
    ks_buf_printf(to, "\n");
    for (size_t i = 0; i < c->n_pairs; i++) {
        if (!is_over(a, &c->pairs[i]) || n++ >= MOST_CELLS)
            continue;
        ks_buf_printf(to, "  ");
        put_difference(a, &c->pairs[i], to);
    }
    put_more(n, MOST_CELLS, to);
}

static void put_failures(const struct ks_compare_answer *a, struct ks_buf *to)
{
    const struct ks_comparison *c = a->c;
    size_t n = 0;

    ks_buf_printf(to, "\n--fail-if failed: %zu cells\n", c->n_broken);
    for (size_t i = 0; i < c->n_pairs + c->n_lone; i++) {
        const struct ks_pair *p = i < c->n_pairs ? &c->pairs[i] : &c->lone[i - c->n_pairs];

        if (!ks_compare_is_broken(p) || n++ >= MOST_CELLS)
            continue;
        ks_buf_printf(to, "  %s", ks_outcome_text(p->outcome[1]));
        put_names(a, p->problem, p->instance, to);
    }
    put_more(n, MOST_CELLS, to);
}

/* ---- all of it ---- */

static void put_counts(const struct ks_compare_answer *a, struct ks_buf *to)
{
    const struct ks_comparison *c = a->c;
    char label[96];

    ks_input_label_text(a->in->statistic, a->over, label, sizeof(label));
    ks_buf_printf(to, "\n%zu cells on both sides; label: %s\n", c->n_pairs, label);
    ks_buf_printf(to, "%zu only in A (%zu of them failed in B), %zu only in B (%zu failed in A)\n",
                  c->n_only[0], c->n_failed[1], c->n_only[1], c->n_failed[0]);
    ks_buf_printf(to, "margin %.3g %%, false discovery rate %.3g %%: ", 100 * a->margin,
                  100 * a->rate);
    for (uint32_t k = 0; k < KS_N_CHANGES; k++)
        ks_buf_printf(to, "%s%zu %s", k ? ", " : "", c->n_change[k], ks_change_names[k]);
    ks_buf_printf(to, "\n");
    if (c->n_pairs == 0)
        return;
    put_smallest(c->n_blind, c->n_pairs, ks_compare_smallest(c), to);
    ks_buf_printf(to, "\n");
}

static void put_doubts(const struct ks_compare_answer *a, struct ks_buf *to)
{
    const struct ks_comparison *c = a->c;
    const bool is_single = a->n_a < 2 || a->in->sweeps.n_sweeps < a->n_a + 2; /* one of the sides */

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
                      ceil(1 / a->rate));
}

void ks_compare_report(const struct ks_compare_answer *a, struct ks_buf *to)
{
    const struct ks_comparison *c = a->c;

    put_sides(a, to);
    put_counts(a, to);
    if (c->n_pairs > 0)
        put_doubts(a, to);
    put_problems(c, to);
    put_lost(a, to);
    if (c->n_change[KS_SLOWER] + c->n_change[KS_FASTER])
        ks_buf_printf(to, "\n");
    put_changed(a, KS_SLOWER, to);
    put_changed(a, KS_FASTER, to);
    if (a->slower)
        put_slower(a, to);
    if (a->refuses_failures)
        put_failures(a, to);
}
