/* SPDX-License-Identifier: MIT */
/* analytic.c - fits rates and the bias of instances to measured times; predicts and picks */
#include "analysis/learn/analytic.h"
#include "analysis/learn/features_impl.h"
#include "base/hash.h"
#include "record/stats.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* One pair while rates are fitted: what its instance and problem are, and its time. */
struct sample {
    double q[KS_FX_N_QUANTITIES];
    uint32_t instance;
    double log2_ns;
};
struct fit {
    const struct ks_feature_spec *s;
    struct sample *samples; /* [n] */
    size_t n;
};

static double modelled(const struct fit *f, const struct sample *x, const struct ks_fx_device *d)
{
    struct ks_fx_instance i = f->s->instances[x->instance].fx;
    double pair[KS_FX_N_PAIRS];

    i.trait[KS_FX_BIAS] = 0;
    ks_fx_pairs(x->q, &i, d, pair);
    return pair[KS_FX_EXPECT];
}

static double error_of(const struct fit *f, const struct ks_fx_device *d)
{
    double sum = 0;

    for (size_t i = 0; i < f->n; i++)
        sum += fabs(f->samples[i].log2_ns - modelled(f, &f->samples[i], d));
    return sum;
}

/* ---- rates ---- */

/* Rates that no sample exceeds, and a launch that takes half of the shortest time. */
static struct ks_fx_device begin(const struct fit *f)
{
    struct ks_fx_device d = f->s->device;

    d.flops_per_ns = d.bytes_per_ns = 1e-12;
    d.launch_ns = INFINITY;
    for (size_t i = 0; i < f->n; i++) {
        const struct sample *x = &f->samples[i];
        const double ns = exp2(x->log2_ns);

        d.flops_per_ns = fmax(d.flops_per_ns, x->q[KS_FX_FLOPS] / ns);
        d.bytes_per_ns = fmax(d.bytes_per_ns, x->q[KS_FX_BYTES] / ns);
        d.launch_ns = fmin(d.launch_ns, ns / 2);
    }
    d.fast_per_ns = 8 * d.bytes_per_ns;
    return d;
}

static double *parameter(struct ks_fx_device *d, int which)
{
    double *const all[] = { &d->flops_per_ns, &d->bytes_per_ns, &d->fast_per_ns, &d->launch_ns };

    return all[which];
}

/* One factor up or down where that lessens the error. */
static bool improve(const struct fit *f, struct ks_fx_device *d, int which, double factor,
                    double *error_io)
{
    struct ks_fx_device up = *d, down = *d;
    double e_up, e_down;

    *parameter(&up, which) *= factor;
    *parameter(&down, which) /= factor;
    e_up = error_of(f, &up);
    e_down = error_of(f, &down);
    if (fmin(e_up, e_down) >= *error_io)
        return false;
    *d = e_up < e_down ? up : down;
    *error_io = fmin(e_up, e_down);
    return true;
}

static struct ks_fx_device search(const struct fit *f)
{
    struct ks_fx_device d = begin(f);
    double error = error_of(f, &d);

    for (double factor = 4; factor > 1.02; factor = sqrt(factor)) {
        bool is_better = true;

        for (int turn = 0; is_better && turn < 8; turn++) {
            is_better = false;
            for (int which = 0; which < 4; which++)
                is_better |= improve(f, &d, which, factor, &error);
        }
    }
    return d;
}

/* ---- bias of instances ---- */

static double bias_of(const struct fit *f, const struct ks_fx_device *d, uint32_t instance,
                      double *scratch)
{
    size_t n = 0;

    for (size_t i = 0; i < f->n; i++)
        if (f->samples[i].instance == instance)
            scratch[n++] = f->samples[i].log2_ns - modelled(f, &f->samples[i], d);
    ks_stats_sort(scratch, n);
    return n < 3 ? 0 : scratch[n / 2];
}

/* ---- samples ---- */

static int take(struct fit *f, const struct ks_timed_pair *pairs, size_t n, struct ks_err *err)
{
    f->n = n < KS_CALIBRATION_PAIRS ? n : KS_CALIBRATION_PAIRS;
    f->samples = calloc(f->n, sizeof(*f->samples));
    if (!f->samples)
        return ks_fail(err, KS_ENOMEM, "out of memory for the analytic model");
    for (size_t i = 0; i < f->n; i++) {
        const size_t first = i * n / f->n, room = (i + 1) * n / f->n - first;
        const struct ks_timed_pair *p = &pairs[first + ks_mix64(i) % room];
        struct ks_fx_problem x = ks_feature_problem(p->problem);

        if (!(p->time_ns > 0) || !isfinite(p->time_ns))
            return ks_fail(err, KS_EINVAL, "a time for the calibration is not above 0");
        ks_fx_quantities(&x, f->samples[i].q);
        f->samples[i].instance = p->instance;
        f->samples[i].log2_ns = ks_fx_log2(p->time_ns);
    }
    return 0;
}

int ks_feature_spec_calibrate(struct ks_feature_spec *s, const struct ks_timed_pair *pairs,
                              size_t n, struct ks_err *err)
{
    struct fit f = { .s = s };
    struct ks_fx_device d;
    double *scratch, *bias;
    int rc = n ? 0 : ks_fail(err, KS_EINVAL, "no measurement for the calibration");

    if (rc == 0)
        rc = take(&f, pairs, n, err);
    scratch = malloc((f.n + 1) * sizeof(*scratch));
    bias = malloc((s->n_instances + 1) * sizeof(*bias));
    if (rc == 0 && (!scratch || !bias))
        rc = ks_fail(err, KS_ENOMEM, "out of memory for the analytic model");
    if (rc == 0) {
        d = search(&f);
        for (uint32_t i = 0; i < s->n_instances; i++)
            bias[i] = bias_of(&f, &d, i, scratch);
        s->device = d;
        s->is_calibrated = true;
        for (uint32_t i = 0; i < s->n_instances; i++)
            s->instances[i].fx.trait[KS_FX_BIAS] = bias[i];
        rc = ks_feature_spec_sign(s, &s->digest, err);
    }
    free(bias);
    free(scratch);
    free(f.samples);
    return rc;
}

int ks_feature_spec_take_rates(struct ks_feature_spec *s, const struct ks_feature_spec *from,
                               struct ks_err *err)
{
    const struct ks_fx_device own = s->device;

    s->device = from->device;
    s->device.units = own.units;
    s->device.fast_bytes = own.fast_bytes;
    for (size_t i = 0; i < s->n_instances; i++)
        s->instances[i].fx.trait[KS_FX_BIAS] = from->instances[i].fx.trait[KS_FX_BIAS];
    s->is_calibrated = from->is_calibrated;
    return ks_feature_spec_sign(s, &s->digest, err);
}

/* ---- use ---- */

double ks_analytic_time_ns(const struct ks_feature_spec *s, const struct ks_problem *p,
                           uint32_t i_instance)
{
    const struct ks_fx_problem x = ks_feature_problem(p);
    double q[KS_FX_N_QUANTITIES], pair[KS_FX_N_PAIRS];

    ks_fx_quantities(&x, q);
    ks_fx_pairs(q, &s->instances[i_instance].fx, &s->device, pair);
    return exp2(pair[KS_FX_EXPECT]);
}

uint32_t ks_analytic_pick(const struct ks_feature_spec *s, const struct ks_problem *p)
{
    uint32_t best = UINT32_MAX;
    double least = INFINITY;

    for (uint32_t i = 0; i < s->n_instances; i++) {
        const double ns = ks_feature_applies(s, p, i) ? ks_analytic_time_ns(s, p, i) : INFINITY;

        if (ns < least) {
            least = ns;
            best = i;
        }
    }
    return best;
}
