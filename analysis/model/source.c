/* SPDX-License-Identifier: MIT */
/* source.c - feature sources of training: fitted to training problems, or given by a model */
#include "analysis/model/source.h"
#include "analysis/learn/analytic.h"

#include <math.h>
#include <stdlib.h>

struct context {
    struct ks_feature_spec spec;
    const struct ks_cells *cells;
    uint32_t *instance; /* [cells' n_instances] in the specification; UINT32_MAX: not there */
    const char **names; /* [n_features] */
};

static bool knows(void *ctx, uint32_t instance)
{
    return ((const struct context *)ctx)->instance[instance] != UINT32_MAX;
}

static void fill(void *ctx, uint32_t problem, uint32_t instance, float *row_out)
{
    const struct context *x = ctx;

    if (!knows(ctx, instance)) {
        for (size_t i = 0; i < x->spec.n_features; i++)
            row_out[i] = NAN;
        return;
    }
    ks_features_row(&x->spec, &x->cells->problems[problem].problem, x->instance[instance], row_out);
}

static const char *outside(void *ctx, uint32_t problem)
{
    const struct context *x = ctx;

    return ks_feature_outside(&x->spec, &x->cells->problems[problem].problem);
}

static void destroy(struct context *x)
{
    if (!x)
        return;
    ks_feature_spec_release(&x->spec);
    free(x->instance);
    free(x->names);
    free(x);
}

static size_t analytic_column(const struct ks_feature_spec *s)
{
    for (size_t i = 0; s->is_calibrated && i < s->n_features; i++)
        if (s->features[i].kind == KS_FEATURE_PAIR && s->features[i].index == KS_FX_EXPECT)
            return i;
    return SIZE_MAX;
}

int ks_spec_featurizer(struct ks_feature_spec *spec, const struct ks_cells *c,
                       struct ks_featurizer *f_out, struct ks_err *err)
{
    struct context *x = calloc(1, sizeof(*x));

    if (x) {
        x->cells = c;
        x->instance = malloc((c->n_instances + 1) * sizeof(*x->instance));
        x->names = malloc((spec->n_features + 1) * sizeof(*x->names));
    }
    if (!x || !x->instance || !x->names) {
        destroy(x);
        return ks_fail(err, KS_ENOMEM, "out of memory for %zu features", spec->n_features);
    }
    x->spec = *spec;
    *spec = (struct ks_feature_spec){ 0 };
    for (size_t i = 0; i < c->n_instances; i++)
        x->instance[i] = ks_feature_spec_find(&x->spec, c->instances[i].id);
    for (size_t i = 0; i < x->spec.n_features; i++)
        x->names[i] = x->spec.features[i].name;
    *f_out = (struct ks_featurizer){ .n_cols = x->spec.n_features,
                                     .names = x->names,
                                     .analytic = analytic_column(&x->spec),
                                     .ctx = x,
                                     .fill = fill,
                                     .knows = knows,
                                     .outside = outside };
    return 0;
}

void ks_spec_release(struct ks_featurizer *f)
{
    destroy(f->ctx);
    *f = (struct ks_featurizer){ 0 };
}

const struct ks_feature_spec *ks_spec_of(const struct ks_featurizer *f)
{
    return &((const struct context *)f->ctx)->spec;
}

/* ---- fitting ---- */

static int calibrate(struct ks_feature_spec *s, const struct ks_cells *c, const bool *is_training,
                     struct ks_err *err)
{
    struct ks_timed_pair *pairs = malloc((c->n + 1) * sizeof(*pairs));
    size_t n = 0;
    int rc = pairs ? 0 : ks_fail(err, KS_ENOMEM, "out of memory for %zu times", c->n);

    for (size_t i = 0; rc == 0 && i < c->n; i++) {
        uint32_t at = ks_feature_spec_find(s, c->instances[c->cells[i].instance].id);

        if (is_training[c->cells[i].problem] && at != UINT32_MAX)
            pairs[n++] = (struct ks_timed_pair){ &c->problems[c->cells[i].problem].problem, at,
                                                 c->cells[i].time_ns };
    }
    if (rc == 0)
        rc = ks_feature_spec_calibrate(s, pairs, n, err);
    free(pairs);
    return rc;
}

static int fit(void *ctx, const struct ks_cells *c, const bool *is_training,
               struct ks_featurizer *f_out, struct ks_err *err)
{
    const struct ks_spec_source *from = ctx;
    struct ks_problem *problems = malloc((c->n_problems + 1) * sizeof(*problems));
    struct ks_feature_spec spec = { 0 };
    size_t n = 0;
    int rc =
        problems ? 0 : ks_fail(err, KS_ENOMEM, "out of memory for %zu problems", c->n_problems);

    for (size_t i = 0; rc == 0 && i < c->n_problems; i++)
        if (is_training[i])
            problems[n++] = c->problems[i].problem;
    if (rc == 0)
        rc = ks_feature_spec_create(problems, n, from->traits, &from->device, &spec, err);
    free(problems);
    if (rc == 0)
        rc = calibrate(&spec, c, is_training, err);
    if (rc == 0)
        rc = ks_spec_featurizer(&spec, c, f_out, err);
    ks_feature_spec_release(&spec);
    return rc;
}

struct ks_feature_source ks_spec_source(struct ks_spec_source *from)
{
    return (struct ks_feature_source){ .ctx = from, .fit = fit, .release = ks_spec_release };
}

static int parse_given(void *ctx, const struct ks_cells *c, const bool *is_training,
                       struct ks_featurizer *f_out, struct ks_err *err)
{
    const struct ks_buf *text = ctx;
    struct ks_feature_spec spec = { 0 };
    int rc =
        ks_feature_spec_parse((const char *)text->data, text->len, "feature_spec.json", &spec, err);

    (void)is_training;
    if (rc == 0)
        rc = ks_spec_featurizer(&spec, c, f_out, err);
    ks_feature_spec_release(&spec);
    return rc;
}

struct ks_feature_source ks_given_source(struct ks_buf *feature_spec)
{
    return (struct ks_feature_source){ .ctx = feature_spec,
                                       .fit = parse_given,
                                       .release = ks_spec_release };
}
