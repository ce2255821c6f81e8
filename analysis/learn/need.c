/* SPDX-License-Identifier: MIT */
#include "analysis/learn/need.h"

#include <math.h>
#include <stdlib.h>

enum { N_COORDINATES = KS_MAX_DIMS + 4, N_BINS = 6, MOST_CALIBRATED = 1000, N_NEAREST = 5 };
enum { MOST_PEERS = 1000 };

struct place {
    float at[N_COORDINATES];
};

struct chooser {
    const struct ks_cells *cells;
    const uint8_t *fold;
    const double *loss;
    struct place *known, *pool; /* [n_problems], [n_pool] */
    float *nearest;             /* [n_pool] distance to what is measured or chosen */
    double *local;              /* [n_pool] loss on the nearest training problems */
    double *uses;               /* [n_pool] what its loss weighs */
    double *saves;              /* [n_pool] at most, what measuring it saves; < 0: chosen */
    size_t *n_chosen;           /* [n_pool] how many were chosen when `saves` was exact */
    size_t stride;              /* every so many-th problem of the pool stands for the others */
    double at[N_BINS];          /* mean distance of a bin */
    double bin_loss[N_BINS];    /* mean loss of the bin, not falling */
    size_t n_bins;              /* none is empty */
    size_t n_pool;
};

/* ---- distances ---- */

/* Logarithms of the dimensions; kinds of problems lie far apart. */
static struct place place_of(const struct ks_problem *p)
{
    const uint32_t kinds[4] = { p->op, p->direction, p->dtype, p->layout };
    struct place out;

    for (int i = 0; i < KS_MAX_DIMS; i++)
        out.at[i] = log2f((float)(p->dim[i] > 0 ? p->dim[i] : 0) + 1);
    for (int i = 0; i < 4; i++)
        out.at[KS_MAX_DIMS + i] = 10 * (float)kinds[i];
    return out;
}

static float distance(const struct place *a, const struct place *b)
{
    float sum = 0;

    for (int i = 0; i < N_COORDINATES; i++)
        sum += (a->at[i] - b->at[i]) * (a->at[i] - b->at[i]);
    return sqrtf(sum);
}

/* ---- what distance costs ---- */

struct sample {
    float distance;
    double loss;
};

static int by_distance(const void *a, const void *b)
{
    const struct sample *x = a, *y = b;

    return (x->distance > y->distance) - (x->distance < y->distance);
}

/* The distance of training problem i to the nearest of another fold. */
static float held_out_distance(const struct chooser *ch, size_t i)
{
    float least = INFINITY;

    for (size_t j = 0; j < ch->cells->n_problems; j++) {
        float d = ch->fold[j] == ch->fold[i] ? INFINITY : distance(&ch->known[i], &ch->known[j]);

        least = d < least ? d : least;
    }
    return least;
}

/* Mean loss out of fold by distance, in bins of equal numbers of problems. */
static int calibrate(struct chooser *ch, struct ks_err *err)
{
    size_t n_all = ch->cells->n_problems;
    size_t n = n_all < MOST_CALIBRATED ? n_all : MOST_CALIBRATED;
    struct sample *samples = malloc((n + 1) * sizeof(*samples));

    if (!samples)
        return ks_fail(err, KS_ENOMEM, "out of memory for %zu problems", n);
    for (size_t i = 0; i < n; i++) {
        size_t at = i * n_all / n;

        samples[i] = (struct sample){ held_out_distance(ch, at), ch->loss[at] };
    }
    qsort(samples, n, sizeof(*samples), by_distance);
    ch->n_bins = n < N_BINS ? n : N_BINS;
    for (size_t b = 0; b < ch->n_bins; b++) {
        size_t first = b * n / ch->n_bins, end = (b + 1) * n / ch->n_bins;
        double n_here = (double)(end - first);

        for (size_t i = first; i < end; i++) {
            ch->at[b] += (double)samples[i].distance / n_here;
            ch->bin_loss[b] += samples[i].loss / n_here;
        }
        if (b > 0 && ch->bin_loss[b] < ch->bin_loss[b - 1])
            ch->bin_loss[b] = ch->bin_loss[b - 1];
    }
    free(samples);
    return 0;
}

/* 0 for what is measured itself. A neighbour costs what the nearest bin says, however near it is:
 * the instance that is best may change between two neighbours. Between the bins' means a line;
 * beyond what training has seen it grows on, to 1 at most. */
static double loss_at(const struct chooser *ch, float d)
{
    const double x = (double)d, *at = ch->at, *loss = ch->bin_loss;
    size_t b = 0;
    double beyond;

    if (x <= 0 || ch->n_bins == 0)
        return 0;
    while (b < ch->n_bins && at[b] < x)
        b++;
    if (b == 0)
        return loss[0];
    if (b < ch->n_bins)
        return loss[b - 1] + (loss[b] - loss[b - 1]) * (x - at[b - 1]) / (at[b] - at[b - 1]);
    beyond = at[b - 1] > 0 ? loss[b - 1] * x / at[b - 1] : loss[b - 1];
    return beyond < 1 ? beyond : 1;
}

/* ---- the pool ---- */

/* The nearest training problems: how far the first is, what is lost on them. */
static void look_around(struct chooser *ch, size_t i)
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
    ch->local[i] = n ? sum / (double)n : 1;
}

static int reserve(struct chooser *ch, struct ks_err *err)
{
    const size_t n = ch->cells->n_problems;

    ch->known = malloc((n + 1) * sizeof(*ch->known));
    ch->pool = malloc((ch->n_pool + 1) * sizeof(*ch->pool));
    ch->nearest = malloc((ch->n_pool + 1) * sizeof(*ch->nearest));
    ch->local = malloc((ch->n_pool + 1) * sizeof(*ch->local));
    ch->uses = malloc((ch->n_pool + 1) * sizeof(*ch->uses));
    ch->saves = malloc((ch->n_pool + 1) * sizeof(*ch->saves));
    ch->n_chosen = malloc((ch->n_pool + 1) * sizeof(*ch->n_chosen));
    return ch->known && ch->pool && ch->nearest && ch->local && ch->uses && ch->saves &&
                   ch->n_chosen
               ? 0
               : ks_fail(err, KS_ENOMEM, "out of memory for %zu problems", n + ch->n_pool);
}

static void release(struct chooser *ch)
{
    free(ch->known);
    free(ch->pool);
    free(ch->nearest);
    free(ch->local);
    free(ch->uses);
    free(ch->saves);
    free(ch->n_chosen);
}

static int open_chooser(struct chooser *ch, const struct ks_problem *pool, bool use_counts,
                        struct ks_err *err)
{
    int rc = reserve(ch, err);

    if (rc < 0)
        return rc;
    for (size_t i = 0; i < ch->cells->n_problems; i++)
        ch->known[i] = place_of(&ch->cells->problems[i].problem);
    for (size_t i = 0; i < ch->n_pool; i++) {
        ch->pool[i] = place_of(&pool[i]);
        ch->uses[i] = use_counts && pool[i].count > 1 ? (double)pool[i].count : 1;
        look_around(ch, i);
    }
    ch->stride = (ch->n_pool + MOST_PEERS - 1) / MOST_PEERS;
    return calibrate(ch, err);
}

/* ---- choosing ---- */

/* Expected loss on problem i when the nearest measured one is so far: 0 when it is measured itself,
 * else the mean of what is lost on its neighbours and of what is lost at that distance. */
static double expected(const struct chooser *ch, size_t i, float d)
{
    return d > 0 ? (ch->local[i] + loss_at(ch, d)) / 2 : 0;
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
