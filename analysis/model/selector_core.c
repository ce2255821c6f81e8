/* SPDX-License-Identifier: MIT */
/* selector_core.c - the selector: features, trees, lists and the k best instances (no libm) */
#include "analysis/model/selector_core.h"

#include <math.h>
#include <string.h>

#define LANES 8
#define TREES 2
#if defined(__GNUC__) && !defined(__clang__)
#define UNROLL _Pragma("GCC unroll 8")
#else
#define UNROLL
#endif

#if defined(__clang__)
#pragma STDC FP_CONTRACT OFF
#elif defined(__GNUC__)
#pragma GCC optimize("fp-contract=off")
#endif

/* Floats of a row: an odd number of cache lines, so that the same feature of different candidates
 * does not fall on the same place of the cache. */
#define ROW ((2 * (KS_SEL_FEATURES + 1) + 15) / 16 / 2 * 2 * 16 + 16)

/* Candidates of a block, with rows as trees want them. */
struct sel_block {
    int n;
    uint16_t instance[KS_SEL_BLOCK];
    double sum[KS_SEL_BLOCK];
    float row[KS_SEL_BLOCK][ROW];
};

/* The k best so far, best first; picks[].regret waits until all are known. */
struct sel_best {
    struct ks_sel_pick *picks;
    double *score; /* [k] */
    int n, k;
};

/* ---- trees ---- */

static const struct ks_sel_node *sel_step(const struct ks_sel_node *tree,
                                          const struct ks_sel_node *n, const float *row)
{
    return tree + n->left + (row[n->feature] >= n->value);
}

/* Whether a split looks at the problem only, in either half of a row. */
static int sel_is_of_problem(const struct ks_sel_model *m, uint32_t feature)
{
    return feature < m->n_problem || feature - m->n_features - 1u < m->n_problem;
}

/* Where a tree goes on after the splits that only look at the problem. */
static const struct ks_sel_node *sel_enter(const struct ks_sel_model *m,
                                           const struct ks_sel_node *tree, const float *row,
                                           int *depth_io)
{
    const struct ks_sel_node *at = tree;

    while (sel_is_of_problem(m, at->feature)) {
        at = sel_step(tree, at, row);
        --*depth_io;
    }
    return at;
}

/* Where the walk of a tree begins. */
struct sel_entry {
    const struct ks_sel_node *tree, *at;
};

/* LANES candidates through TREES trees at once, so that the walks wait for memory together. The
 * outputs are added tree after tree, whatever n is. */
static void sel_walk(const struct sel_entry *e, int n, int depth, struct sel_block *b, int first)
{
    const struct ks_sel_node *at[TREES][LANES];

    for (int l = 0; l < LANES; l++)
        for (int t = 0; t < TREES; t++)
            at[t][l] = e[t].at;
    for (int step = 0; step < depth; step++) {
        UNROLL
        for (int l = 0; l < LANES; l++) {
            at[0][l] = sel_step(e[0].tree, at[0][l], b->row[first + l]);
            at[1][l] = sel_step(e[1].tree, at[1][l], b->row[first + l]);
        }
    }
    for (int t = 0; t < n; t++)
        for (int l = 0; l < LANES; l++)
            b->sum[first + l] += (double)at[t][l]->value;
}

static void sel_score(const struct ks_sel_model *m, struct sel_block *b)
{
    for (int i = 0; i < KS_SEL_BLOCK; i++)
        b->sum[i] = m->base;
    for (uint32_t t = 0; t < m->n_trees; t += TREES) {
        const int n = m->n_trees - t < TREES ? (int)(m->n_trees - t) : TREES;
        struct sel_entry e[TREES];
        int depth = 0;

        for (int k = 0; k < TREES; k++) {
            const struct ks_sel_tree *tree = &m->trees[t + (uint32_t)(k < n ? k : 0)];
            int left = tree->depth;

            e[k].tree = m->nodes + tree->root;
            e[k].at = sel_enter(m, e[k].tree, b->row[0], &left);
            depth = left > depth ? left : depth;
        }
        for (int i = 0; i < b->n; i += LANES)
            sel_walk(e, n, depth, b, i);
    }
}

KS_SEL_API double ks_sel_predict(const struct ks_sel_model *m, const float *row)
{
    const int n = m->n_features;
    double sum = m->base;

    for (uint32_t t = 0; t < m->n_trees; t++) {
        const struct ks_sel_node *tree = m->nodes + m->trees[t].root, *at = tree;

        while (at->feature != n) {
            const float x = row[at->feature % (n + 1)];
            const int is_right = x == x ? x >= at->value : at->feature > n;

            at = tree + at->left + is_right;
        }
        sum += (double)at->value;
    }
    return sum;
}

/* ---- features ---- */

/* In both halves of a row of a block. */
static void sel_put(const struct ks_sel_model *m, float *row, int i, float x)
{
    row[i] = x == x ? x : -HUGE_VALF;
    row[m->n_features + 1 + i] = x == x ? x : HUGE_VALF;
}

static void sel_problem(const struct ks_sel_model *m, const double *q, float *row)
{
    for (int i = 0; i < m->n_problem; i++)
        sel_put(m, row, i, ks_fx_problem_feature(q, m->index[i]));
    row[m->n_features] = -HUGE_VALF;
    row[2 * m->n_features + 1] = 0;
}

static void sel_candidate(const struct ks_sel_model *m, const double *q, int instance, float *row)
{
    const int first = m->n_problem + m->n_values;
    double pair[KS_FX_N_PAIRS];

    for (int i = 0; i < m->n_values; i++)
        sel_put(m, row, m->n_problem + i, m->values[instance * m->n_values + i]);
    if (first == m->n_features)
        return;
    ks_fx_pairs(q, &m->instances[instance], &m->device, pair);
    for (int i = first; i < m->n_features; i++)
        sel_put(m, row, i, ks_fx_pair_feature(pair, m->index[i]));
}

KS_SEL_API void ks_sel_features(const struct ks_sel_model *m, const struct ks_fx_problem *p,
                                int instance, float *row_out)
{
    const int first = m->n_problem + m->n_values;
    double q[KS_FX_N_QUANTITIES], pair[KS_FX_N_PAIRS];

    ks_fx_quantities(p, q);
    ks_fx_pairs(q, &m->instances[instance], &m->device, pair);
    for (int i = 0; i < m->n_problem; i++)
        row_out[i] = ks_fx_problem_feature(q, m->index[i]);
    for (int i = 0; i < m->n_values; i++)
        row_out[m->n_problem + i] = m->values[instance * m->n_values + i];
    for (int i = first; i < m->n_features; i++)
        row_out[i] = ks_fx_pair_feature(pair, m->index[i]);
}

KS_SEL_API uint32_t ks_sel_bits(const float *row, int n)
{
    uint32_t sum = 2166136261u;

    for (int i = 0; i < n; i++) {
        uint32_t bits = 0x7fc00000u;

        if (row[i] == row[i])
            memcpy(&bits, &row[i], sizeof(bits));
        for (int k = 0; k < 4; k++)
            sum = (sum ^ (bits >> 8 * k & 0xff)) * 16777619u;
    }
    return sum;
}

/* ---- the k best ---- */

static void sel_offer(struct sel_best *best, int instance, double score)
{
    int at = best->n < best->k ? best->n++ : best->k;

    while (at > 0 && score < best->score[at - 1]) {
        if (at < best->k) {
            best->score[at] = best->score[at - 1];
            best->picks[at] = best->picks[at - 1];
        }
        at--;
    }
    if (at >= best->k)
        return;
    best->score[at] = score;
    best->picks[at].instance = instance;
}

static void sel_offer_block(const struct ks_sel_model *m, struct sel_block *b,
                            struct sel_best *best)
{
    for (int i = b->n; i < (b->n + LANES - 1) / LANES * LANES; i++)
        for (int k = 0; k < 2 * (m->n_features + 1); k++)
            b->row[i][k] = b->row[0][k];
    sel_score(m, b);
    for (int i = 0; i < b->n; i++)
        sel_offer(best, b->instance[i], b->sum[i]);
    b->n = 0;
}

static void sel_add(const struct ks_sel_model *m, const double *q, int instance,
                    struct sel_block *b, struct sel_best *best)
{
    float *row = b->row[b->n];

    if (b->n == 0)
        sel_problem(m, q, row);
    else
        for (int i = 0; i < 2 * (m->n_features + 1); i++)
            row[i] = b->row[0][i];
    sel_candidate(m, q, instance, row);
    b->instance[b->n++] = (uint16_t)instance;
    if (b->n == KS_SEL_BLOCK)
        sel_offer_block(m, b, best);
}

static int sel_allows(const struct ks_sel_model *m, const struct ks_fx_problem *p, const double *q,
                      const uint8_t *mask, int instance)
{
    return (!mask || mask[instance]) && ks_fx_applies(p, q, &m->instances[instance]);
}

/* ---- lists ---- */

static int sel_is_picked(const struct ks_sel_pick *picks, int n_picks, int instance)
{
    int i = 0;

    while (i < n_picks && picks[i].instance != instance)
        i++;
    return i < n_picks;
}

/* Behind n_picks picks those of a list that apply and are not picked yet, up to k; ends at n or
 * KS_SEL_NONE. Returns how many picks there are. */
static int sel_first(const struct ks_sel_model *m, const struct ks_fx_problem *p, const double *q,
                     const uint8_t *mask, const uint16_t *list, int n, struct ks_sel_pick *picks,
                     int n_picks, int k)
{
    const int n_before = n_picks;

    for (int i = 0; i < n && n_picks < k && list[i] != KS_SEL_NONE; i++) {
        if (!sel_allows(m, p, q, mask, list[i]) || sel_is_picked(picks, n_before, list[i]))
            continue;
        picks[n_picks].instance = list[i];
        picks[n_picks++].regret = (float)NAN;
    }
    return n_picks;
}

static const uint16_t *sel_list(const struct ks_sel_model *m, const double *q)
{
    uint32_t at = 0;

    while (m->splits[at].quantity >= 0) /* right with a NaN */
        at = (uint32_t)m->splits[at].left + !(q[m->splits[at].quantity] <= m->splits[at].at);
    return m->lists + (uint32_t)m->splits[at].left * m->width;
}

/* The first of a list that the mask allows; -1: none. */
static int sel_allowed(const uint8_t *mask, const uint16_t *list, int n)
{
    int i = 0;

    while (i < n && mask && !mask[list[i]])
        i++;
    return i < n ? list[i] : -1;
}

/* A static order; at last what the mask allows, unasked. */
static int sel_fall_back(const struct ks_sel_model *m, const struct ks_fx_problem *p,
                         const double *q, const uint8_t *mask, int rule, struct ks_sel_pick *picks,
                         int k, int *rule_out)
{
    const uint32_t *first = m->class_first + (p->op == m->op ? ks_fx_class(p) : 0);
    const uint16_t *own = m->class_orders + first[0];
    const int n_own = p->op == m->op ? (int)(first[1] - first[0]) : 0;
    int safe, n = sel_first(m, p, q, mask, own, n_own, picks, 0, k);

    n = sel_first(m, p, q, mask, m->order, m->n_instances, picks, n, k);
    *rule_out = rule == KS_SEL_OUTSIDE && n_own ? KS_SEL_BY_CLASS : rule;
    if (n)
        return n;
    safe = sel_allowed(mask, own, n_own);
    if (safe < 0)
        safe = sel_allowed(mask, m->order, m->n_instances);
    if (safe < 0)
        return 0;
    picks[0].instance = safe;
    picks[0].regret = (float)NAN;
    *rule_out = KS_SEL_SAFE;
    return 1;
}

/* ---- choice ---- */

/* e^x - 1 for a difference of logarithms, 0 <= x; no libm. */
static double sel_growth(double x)
{
    double term = 1, sum = 1;
    int n_halved = 0;

    for (x = x < 40 ? x : 40; x > 0.25; x /= 2)
        n_halved++;
    for (int k = 1; k < 12; k++) {
        term *= x / k;
        sum += term;
    }
    while (n_halved-- > 0)
        sum *= sum;
    return sum - 1;
}

static float sel_regret(const struct ks_sel_model *m, double score, double best)
{
    if (m->meaning == KS_SEL_LOG)
        return (float)sel_growth(score - best);
    if (m->meaning == KS_SEL_LOSS)
        return score < 0.99 ? (float)((1 - best) / (1 - score) - 1) : 99;
    return m->scale > 0 ? (float)sel_growth(m->scale * (score - best)) : (float)NAN;
}

/* By the trees, among the n instances of a list (NULL: all). */
static int sel_by_model(const struct ks_sel_model *m, const struct ks_fx_problem *p,
                        const double *q, const uint8_t *mask, const uint16_t *list, int n,
                        struct ks_sel_pick *picks, int k, int *rule_out)
{
    struct sel_block b;
    double score[64];
    struct sel_best best = { picks, score, 0, k < 64 ? k : 64 };
    int n_candidates = 0;

    b.n = 0;
    for (int i = 0; i < n && (!list || list[i] != KS_SEL_NONE); i++) {
        const int instance = list ? list[i] : i;

        if (!sel_allows(m, p, q, mask, instance))
            continue;
        sel_add(m, q, instance, &b, &best);
        n_candidates++;
    }
    if (b.n > 0)
        sel_offer_block(m, &b, &best);
    for (int i = 0; i < best.n; i++)
        picks[i].regret = sel_regret(m, score[i], score[0]);
    *rule_out = n_candidates == 1 ? KS_SEL_ONLY : KS_SEL_BY_MODEL;
    return best.n;
}

KS_SEL_API int ks_sel_select(const struct ks_sel_model *m, const struct ks_fx_problem *p,
                             const uint8_t *mask, struct ks_sel_pick *picks_out, int k,
                             int *rule_out)
{
    double q[KS_FX_N_QUANTITIES];
    const uint16_t *list = 0;
    int n = 0;

    *rule_out = KS_SEL_SAFE;
    if (k < 1)
        return 0;
    if (p->op != m->op) {
        for (int i = 0; i < KS_FX_N_QUANTITIES; i++)
            q[i] = (double)NAN;
        return sel_fall_back(m, p, q, mask, KS_SEL_SAFE, picks_out, k, rule_out);
    }
    ks_fx_quantities(p, q);
    if (ks_fx_is_outside(q, m->least, m->most))
        return sel_fall_back(m, p, q, mask, KS_SEL_OUTSIDE, picks_out, k, rule_out);
    if (m->splits)
        list = sel_list(m, q);
    *rule_out = KS_SEL_BY_TABLE;
    if (m->size == KS_SEL_DISTILLED)
        n = sel_first(m, p, q, mask, list, m->width, picks_out, 0, k);
    else
        n = sel_by_model(m, p, q, mask, list, list ? m->width : m->n_instances, picks_out, k,
                         rule_out);
    return n ? n : sel_fall_back(m, p, q, mask, KS_SEL_UNLISTED, picks_out, k, rule_out);
}
