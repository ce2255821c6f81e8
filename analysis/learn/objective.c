/* SPDX-License-Identifier: MIT */
/* objective.c - the targets, and the gradients of squared error and pairwise logistic loss */
#include "analysis/learn/objective.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* In a problem with many candidates each of the fastest so many is paired with all others. */
enum { PAIRED = 8 };

static const char *const names[] = {
#define X(constant, name, meaning) name,
    KS_TARGET_LIST(X)
#undef X
};
static const char *const meanings[] = {
#define X(constant, name, meaning) meaning,
    KS_TARGET_LIST(X)
#undef X
};

const char *ks_target_name(uint32_t target)
{
    return target < KS_N_TARGETS ? names[target] : "?";
}

const char *ks_target_meaning(uint32_t target)
{
    return target < KS_N_TARGETS ? meanings[target] : "?";
}

uint32_t ks_target_from(const char *name)
{
    uint32_t i = 0;

    while (i < KS_N_TARGETS && strcmp(names[i], name) != 0)
        i++;
    return i;
}

/* ---- what the score should be ---- */

static double wanted(enum ks_target target, const struct ks_cells *c, const struct ks_pair_row *row)
{
    const struct ks_cell_problem *p = &c->problems[row->problem];
    double best = c->cells[p->best].time_ns;
    double time = row->cell == KS_NO_CELL ? KS_LOST_FACTOR * best : c->cells[row->cell].time_ns;

    switch (target) {
    case KS_TARGET_LOG_TIME:
        return log(time / best);
    case KS_TARGET_LOG_RATE:
        return log(time / ks_problem_flops(&p->problem));
    case KS_TARGET_LOSS:
        return 1 - best / time;
    default:
        return log(time);
    }
}

static void scale_to_mean_1(double *weight, size_t n)
{
    double sum = 0;

    for (size_t i = 0; i < n; i++)
        sum += weight[i];
    for (size_t i = 0; i < n; i++)
        weight[i] *= (double)n / sum;
}

static void centre(double *y, size_t n)
{
    double sum = 0;

    for (size_t i = 0; i < n; i++)
        sum += y[i];
    for (size_t i = 0; i < n; i++)
        y[i] -= sum / (double)n;
}

static void fill(struct ks_objective *o, const struct ks_cells *c, const struct ks_pair_row *rows,
                 bool use_counts)
{
    uint32_t problem = UINT32_MAX;

    for (size_t i = 0; i < o->n; i++) {
        const struct ks_pair_row *row = &rows[i];
        const struct ks_cell_problem *p = &c->problems[row->problem];
        double weight = row->cell == KS_NO_CELL ? KS_LOST_WEIGHT : c->cells[row->cell].weight;
        double count = p->problem.count > 1 ? (double)p->problem.count : 1;

        if (row->problem != problem)
            o->first[o->n_groups++] = i;
        problem = row->problem;
        o->y[i] = wanted(o->target, c, row);
        o->weight[i] =
            (o->target == KS_TARGET_PAIRWISE ? 1 : weight) * (use_counts ? log(1 + count) : 1);
    }
    o->first[o->n_groups] = o->n;
    scale_to_mean_1(o->weight, o->n);
    if (o->target == KS_TARGET_LOG_RATE)
        centre(o->y, o->n);
}

/* ---- derivatives ---- */

/* Half the squared error. */
static void squared(const struct ks_objective *o, const float *scores, float *first_out,
                    float *second_out)
{
    for (size_t i = 0; i < o->n; i++) {
        first_out[i] = (float)(o->weight[i] * (scores[i] - o->y[i]));
        second_out[i] = (float)o->weight[i];
    }
}

/* Of the logistic loss of the difference of two scores, weighted by what choosing the slower one
 * loses of the rate. */
static void put_pair(const struct ks_objective *o, const float *scores, size_t fast, size_t slow,
                     double weight, float *first_out, float *second_out)
{
    double loss = 1 - exp(o->y[fast] - o->y[slow]);
    double wrong = 1 / (1 + exp((double)scores[slow] - (double)scores[fast]));
    double first = weight * loss * wrong;
    double second = weight * loss * wrong * (1 - wrong);

    first_out[fast] += (float)first;
    first_out[slow] -= (float)first;
    second_out[fast] += (float)second;
    second_out[slow] += (float)second;
}

static void pairwise(const struct ks_objective *o, const float *scores, float *first_out,
                     float *second_out)
{
    memset(first_out, 0, o->n * sizeof(*first_out));
    for (size_t i = 0; i < o->n; i++)
        second_out[i] = 1e-6f;
    for (size_t g = 0; g < o->n_groups; g++) {
        size_t begin = o->first[g], end = o->first[g + 1];
        size_t n_fast = end - begin < PAIRED ? end - begin : PAIRED;
        double weight = o->weight[begin] / (double)(n_fast ? n_fast : 1);

        for (size_t i = begin; i < end; i++) {
            for (size_t j = begin; o->is_fast[i] && j < end; j++)
                if (o->y[j] > o->y[i])
                    put_pair(o, scores, i, j, weight, first_out, second_out);
        }
    }
}

/* How many rows of the group are faster than row i, of equal ones those before it. */
static size_t rank_of(const struct ks_objective *o, size_t begin, size_t end, size_t i)
{
    size_t rank = 0;

    for (size_t j = begin; j < end; j++)
        rank += o->y[j] < o->y[i] || (o->y[j] == o->y[i] && j < i);
    return rank;
}

/* Which rows are paired with all others of their group, and the scale of the weights. */
static int prepare_pairs(struct ks_objective *o, struct ks_err *err)
{
    float *scores = calloc(3 * o->n + 1, sizeof(*scores));
    double sum = 0;

    if (!scores)
        return ks_fail(err, KS_ENOMEM, "out of memory for %zu labels", o->n);
    for (size_t g = 0; g < o->n_groups; g++)
        for (size_t i = o->first[g]; i < o->first[g + 1]; i++)
            o->is_fast[i] = rank_of(o, o->first[g], o->first[g + 1], i) < PAIRED;
    pairwise(o, scores, scores + o->n, scores + 2 * o->n);
    for (size_t i = 0; i < o->n; i++)
        sum += scores[2 * o->n + i];
    for (size_t i = 0; i < o->n; i++)
        o->weight[i] *= (double)o->n / sum;
    free(scores);
    return 0;
}

int ks_objective_init(struct ks_objective *o_out, enum ks_target target, const struct ks_cells *c,
                      const struct ks_pair_row *rows, size_t n, bool use_counts, struct ks_err *err)
{
    struct ks_objective o = { .target = target, .n = n };
    int rc;

    o.y = malloc((n + 1) * sizeof(*o.y));
    o.weight = malloc((n + 1) * sizeof(*o.weight));
    o.first = malloc((n + 1) * sizeof(*o.first));
    o.is_fast = calloc(n + 1, sizeof(*o.is_fast));
    if (o.y && o.weight && o.first && o.is_fast) {
        fill(&o, c, rows, use_counts);
        rc = target == KS_TARGET_PAIRWISE ? prepare_pairs(&o, err) : 0;
    } else {
        rc = ks_fail(err, KS_ENOMEM, "out of memory for %zu labels", n);
    }
    if (rc < 0)
        ks_objective_release(&o);
    else
        *o_out = o;
    return rc;
}

void ks_objective_release(struct ks_objective *o)
{
    free(o->y);
    free(o->weight);
    free(o->first);
    free(o->is_fast);
    *o = (struct ks_objective){ 0 };
}

void ks_objective_gradient(const struct ks_objective *o, const float *scores, float *first_out,
                           float *second_out)
{
    if (o->target == KS_TARGET_PAIRWISE)
        pairwise(o, scores, first_out, second_out);
    else
        squared(o, scores, first_out, second_out);
}
