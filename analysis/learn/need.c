/* SPDX-License-Identifier: MIT */
/* need.c - estimates the loss by distance and picks greedily the problem that saves most */
#include "analysis/learn/need.h"
#include "analysis/learn/features.h"

#include <math.h>
#include <stdlib.h>

enum { N_COORDINATES = KS_FX_N_QUANTITIES, N_NEAREST = 5 };
enum { MOST_CALIBRATED = 1000, MOST_PEERS = 1000 };

struct place {
    float at[N_COORDINATES];
};

struct chooser {
    const struct ks_cells *cells;
    const uint8_t *fold;
    const double *loss;
    struct place *known, *pool; /* [n_problems], [n_pool] */
    float *nearest;             /* [n_pool] distance to what is measured or chosen */
    double *per_distance;       /* [n_pool] expected loss at a distance of 1 */
    double *uses;               /* [n_pool] what its loss weighs */
    double *saves;              /* [n_pool] at most, what measuring it saves; < 0: chosen */
    size_t *n_chosen;           /* [n_pool] how many were chosen when `saves` was exact */
    size_t stride;              /* every so many-th problem of the pool stands for the others */
    size_t n_pool;
};

/* ---- distances ---- */

/* Dimensions as logarithms and all features of the problem; NaN: it has no such feature. */
static struct place place_of(const struct ks_problem *p)
{
    const struct ks_fx_problem x = ks_feature_problem(p);
    double q[KS_FX_N_QUANTITIES];
    struct place out;

    ks_fx_quantities(&x, q);
    for (int i = 0; i < KS_FX_N_QUANTITIES; i++)
        out.at[i] =
            i < KS_FX_DIMS ? log2f((float)(q[i] > 0 ? q[i] : 0) + 1) : ks_fx_problem_feature(q, i);
    return out;
}

static bool is_kind(int coordinate)
{
    return coordinate == KS_FX_DIRECTION || coordinate == KS_FX_DTYPE || coordinate == KS_FX_LAYOUT;
}

/* Place i of those that are measured and those of the pool. */
static struct place *place_at(const struct chooser *ch, size_t i)
{
    const size_t n_known = ch->cells->n_problems;

    return i < n_known ? &ch->known[i] : &ch->pool[i - n_known];
}

/* Mean 0 and standard deviation 1, so that no coordinate counts more than another; kinds of
 * problems lie far apart. */
static void standardize(struct chooser *ch, int k)
{
    const size_t n = ch->cells->n_problems + ch->n_pool;
    double sum = 0, squares = 0, n_there = 0, mean, scale;

    for (size_t i = 0; i < n; i++) {
        const double v = (double)place_at(ch, i)->at[k];

        if (isnan(v))
            continue;
        n_there++;
        sum += v;
        squares += v * v;
    }
    mean = n_there > 0 ? sum / n_there : 0;
    squares = n_there > 0 ? squares / n_there - mean * mean : 0;
    scale = is_kind(k) ? 10 : squares > 1e-9 * (1 + mean * mean) ? 1 / sqrt(squares) : 0;
    for (size_t i = 0; i < n; i++) {
        float *v = &place_at(ch, i)->at[k];

        *v = isnan(*v) ? 0 : (float)(((double)*v - mean) * scale);
    }
}

static float distance(const struct place *a, const struct place *b)
{
    float sum = 0;

    for (int i = 0; i < N_COORDINATES; i++)
        sum += (a->at[i] - b->at[i]) * (a->at[i] - b->at[i]);
    return sqrtf(sum);
}

/* The distance of training problem i to the nearest of another fold; INFINITY: there is none. */
static float held_out_distance(const struct chooser *ch, size_t i)
{
    float least = INFINITY;

    for (size_t j = 0; j < ch->cells->n_problems; j++) {
        float d = ch->fold[j] == ch->fold[i] ? INFINITY : distance(&ch->known[i], &ch->known[j]);

        least = d < least ? d : least;
    }
    return least;
}

/* ---- what distance costs ---- */

/* Mean over training problems: what out-of-fold picks lose, and how far from another fold they are.
 */
static void calibrate(const struct chooser *ch, double *loss_out, double *distance_out)
{
    const size_t n_all = ch->cells->n_problems;
    const size_t n = n_all < MOST_CALIBRATED ? n_all : MOST_CALIBRATED;
    double loss = 0, sum = 0, n_far = 0;

    for (size_t i = 0; i < n_all; i++)
        loss += ch->loss[i] / (double)n_all;
    for (size_t i = 0; i < n; i++) {
        const double d = (double)held_out_distance(ch, i * n_all / n);

        sum += isfinite(d) ? d : 0;
        n_far += isfinite(d);
    }
    *loss_out = loss > 1e-6 ? loss : 1e-6; /* where nothing is lost, distance alone decides */
    *distance_out = sum > 0 ? sum / n_far : 1;
}

/* ---- the pool ---- */

/* How far the nearest training problem is. Returns what is lost on the nearest few, mean. */
static double look_around(struct chooser *ch, size_t i)
{
    float far[N_NEAREST];
    double lost[N_NEAREST], sum = 0;
    size_t n = 0;

    for (size_t j = 0; j < ch->cells->n_problems; j++) {
        float d = distance(&ch->pool[i], &ch->known[j]);
        size_t k;

        if (n == N_NEAREST && d >= far[n - 1])
            continue;
        n += n < N_NEAREST;
        for (k = n - 1; k > 0 && d < far[k - 1]; k--) {
            far[k] = far[k - 1];
            lost[k] = lost[k - 1];
        }
        far[k] = d;
        lost[k] = ch->loss[j];
    }
    for (size_t k = 0; k < n; k++)
        sum += lost[k];
    ch->nearest[i] = n ? far[0] : INFINITY;
    return n ? sum / (double)n : 1;
}

static int reserve(struct chooser *ch, struct ks_err *err)
{
    const size_t n = ch->cells->n_problems;

    ch->known = malloc((n + 1) * sizeof(*ch->known));
    ch->pool = malloc((ch->n_pool + 1) * sizeof(*ch->pool));
    ch->nearest = malloc((ch->n_pool + 1) * sizeof(*ch->nearest));
    ch->per_distance = malloc((ch->n_pool + 1) * sizeof(*ch->per_distance));
    ch->uses = malloc((ch->n_pool + 1) * sizeof(*ch->uses));
    ch->saves = malloc((ch->n_pool + 1) * sizeof(*ch->saves));
    ch->n_chosen = malloc((ch->n_pool + 1) * sizeof(*ch->n_chosen));
    return ch->known && ch->pool && ch->nearest && ch->per_distance && ch->uses && ch->saves &&
                   ch->n_chosen
               ? 0
               : ks_fail(err, KS_ENOMEM, "out of memory for %zu problems", n + ch->n_pool);
}

static void release(struct chooser *ch)
{
    free(ch->known);
    free(ch->pool);
    free(ch->nearest);
    free(ch->per_distance);
    free(ch->uses);
    free(ch->saves);
    free(ch->n_chosen);
}

static int open_chooser(struct chooser *ch, const struct ks_problem *pool, bool use_counts,
                        struct ks_err *err)
{
    double loss, far;
    int rc = reserve(ch, err);

    if (rc < 0)
        return rc;
    for (size_t i = 0; i < ch->cells->n_problems; i++)
        ch->known[i] = place_of(&ch->cells->problems[i].problem);
    for (size_t i = 0; i < ch->n_pool; i++)
        ch->pool[i] = place_of(&pool[i]);
    for (int k = 0; k < N_COORDINATES; k++)
        standardize(ch, k);
    calibrate(ch, &loss, &far);
    for (size_t i = 0; i < ch->n_pool; i++) {
        ch->per_distance[i] = (look_around(ch, i) + 3 * loss) / 4 / far;
        ch->uses[i] = use_counts && pool[i].count > 1 ? (double)pool[i].count : 1;
    }
    ch->stride = (ch->n_pool + MOST_PEERS - 1) / MOST_PEERS;
    return 0;
}

/* ---- choosing ---- */

/* Expected loss on problem i when the nearest measured one is so far: in proportion, 1 at most. */
static double expected(const struct chooser *ch, size_t i, float d)
{
    const double loss = ch->per_distance[i] * (double)d;

    return loss < 1 ? loss : 1;
}

/* What measuring problem i saves on problem k. */
static double saving(const struct chooser *ch, size_t i, size_t k)
{
    const float d = i == k ? 0 : distance(&ch->pool[i], &ch->pool[k]);

    return d < ch->nearest[k] ? ch->uses[k] * (expected(ch, k, ch->nearest[k]) - expected(ch, k, d))
                              : 0;
}

/* On the whole pool. */
static double all_savings(const struct chooser *ch, size_t i)
{
    double sum = 0;

    for (size_t k = 0; k < ch->n_pool; k += ch->stride)
        sum += k == i ? 0 : saving(ch, i, k);
    return sum * (double)ch->stride + saving(ch, i, i);
}

/* The problem that saves most. What one saves only falls as others are chosen, so a value of
 * earlier is a bound: only the largest is computed again. */
static size_t best_next(struct chooser *ch, size_t n_chosen)
{
    for (;;) {
        size_t best = 0;

        for (size_t i = 1; i < ch->n_pool; i++)
            best = ch->saves[i] > ch->saves[best] ? i : best;
        if (ch->n_chosen[best] == n_chosen)
            return best;
        ch->saves[best] = all_savings(ch, best);
        ch->n_chosen[best] = n_chosen;
    }
}

static void choose(struct chooser *ch, size_t n_wanted, struct ks_needed *out)
{
    for (size_t i = 0; i < ch->n_pool; i++) {
        ch->saves[i] = all_savings(ch, i);
        ch->n_chosen[i] = 0;
    }
    for (size_t n = 0; n < n_wanted; n++) {
        const size_t best = best_next(ch, n);

        out[n] = (struct ks_needed){ (uint32_t)best, (double)ch->nearest[best],
                                     expected(ch, best, ch->nearest[best]), ch->saves[best] };
        for (size_t i = 0; i < ch->n_pool; i++) {
            const float d = i == best ? 0 : distance(&ch->pool[i], &ch->pool[best]);

            ch->nearest[i] = d < ch->nearest[i] ? d : ch->nearest[i];
        }
        ch->saves[best] = -1;
    }
}

int ks_need_choose(const struct ks_cells *c, const uint8_t *fold, const double *loss,
                   const struct ks_problem *pool, size_t n_pool, bool use_counts, size_t n_wanted,
                   struct ks_needed *out, struct ks_err *err)
{
    struct chooser ch = { .cells = c, .fold = fold, .loss = loss, .n_pool = n_pool };
    int rc = open_chooser(&ch, pool, use_counts, err);

    if (rc == 0)
        choose(&ch, n_wanted, out);
    release(&ch);
    return rc;
}
