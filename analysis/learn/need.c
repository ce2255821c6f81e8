/* SPDX-License-Identifier: MIT */
#include "analysis/learn/need.h"

#include <math.h>
#include <stdlib.h>

enum { N_COORDINATES = KS_MAX_DIMS + 4, N_BINS = 6, MOST_CALIBRATED = 1000, N_NEAREST = 5 };

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
    float edge[N_BINS];         /* largest distance of a bin */
    double bin_loss[N_BINS];    /* mean loss of the bin, not falling */
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
    for (size_t b = 0; b < N_BINS; b++) {
        size_t first = b * n / N_BINS, end = (b + 1) * n / N_BINS;
        double sum = 0;

        for (size_t i = first; i < end; i++)
            sum += samples[i].loss;
        ch->bin_loss[b] = end > first ? sum / (double)(end - first) : 0;
        if (b > 0 && ch->bin_loss[b] < ch->bin_loss[b - 1])
            ch->bin_loss[b] = ch->bin_loss[b - 1];
        ch->edge[b] = end > 0 ? samples[end - 1].distance : 0;
    }
    free(samples);
    return 0;
}

/* Beyond what training has seen it grows with the distance. */
static double loss_at(const struct chooser *ch, float d)
{
    float last = ch->edge[N_BINS - 1];

    for (size_t b = 0; b < N_BINS; b++)
        if (d <= ch->edge[b])
            return ch->bin_loss[b];
    return ch->bin_loss[N_BINS - 1] * (last > 0 ? (double)(d / last) : 1);
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

static int open_chooser(struct chooser *ch, const struct ks_problem *pool, struct ks_err *err)
{
    size_t n = ch->cells->n_problems;

    ch->known = malloc((n + 1) * sizeof(*ch->known));
    ch->pool = malloc((ch->n_pool + 1) * sizeof(*ch->pool));
    ch->nearest = malloc((ch->n_pool + 1) * sizeof(*ch->nearest));
    ch->local = malloc((ch->n_pool + 1) * sizeof(*ch->local));
    if (!ch->known || !ch->pool || !ch->nearest || !ch->local)
        return ks_fail(err, KS_ENOMEM, "out of memory for %zu problems", n + ch->n_pool);
    for (size_t i = 0; i < n; i++)
        ch->known[i] = place_of(&ch->cells->problems[i].problem);
    for (size_t i = 0; i < ch->n_pool; i++)
        ch->pool[i] = place_of(&pool[i]);
    for (size_t i = 0; i < ch->n_pool; i++)
        look_around(ch, i);
    return calibrate(ch, err);
}

static void choose(struct chooser *ch, const struct ks_problem *pool, bool use_counts,
                   size_t n_wanted, struct ks_needed *out)
{
    for (size_t k = 0; k < n_wanted; k++) {
        struct ks_needed best = { .value = -1 };

        for (uint32_t i = 0; i < ch->n_pool; i++) {
            double uses = use_counts && pool[i].count > 1 ? (double)pool[i].count : 1;
            double loss = (ch->local[i] + loss_at(ch, ch->nearest[i])) / 2;

            if (ch->nearest[i] >= 0 && loss * uses > best.value)
                best = (struct ks_needed){ i, (double)ch->nearest[i], loss, loss * uses };
        }
        out[k] = best;
        for (size_t i = 0; i < ch->n_pool; i++) {
            float d = distance(&ch->pool[i], &ch->pool[best.i]);

            ch->nearest[i] = d < ch->nearest[i] ? d : ch->nearest[i];
            ch->local[i] *= d < 1 ? 0.5 + 0.5 * (double)d : 1; /* it will know better there */
        }
        ch->nearest[best.i] = -1; /* taken */
    }
}

int ks_need_choose(const struct ks_cells *c, const uint8_t *fold, const double *loss,
                   const struct ks_problem *pool, size_t n_pool, bool use_counts, size_t n_wanted,
                   struct ks_needed *out, struct ks_err *err)
{
    struct chooser ch = { .cells = c, .fold = fold, .loss = loss, .n_pool = n_pool };
    int rc = open_chooser(&ch, pool, err);

    if (rc == 0)
        choose(&ch, pool, use_counts, n_wanted, out);
    free(ch.known);
    free(ch.pool);
    free(ch.nearest);
    free(ch.local);
    return rc;
}
