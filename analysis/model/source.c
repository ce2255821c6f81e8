/* SPDX-License-Identifier: MIT */
/* source.c - feature sources of training: fitted to training problems, or given by a model */
#include "analysis/model/source.h"
#include "analysis/learn/analytic.h"

#include <math.h>
#include <stdlib.h>

struct context {
    struct ks_feature_spec *specs; /* [n_specs] one per device; the first is the model's; owned */
    size_t n_specs;
    const uint32_t *device_of; /* [sources of times]; NULL: of the same number */
    const struct ks_cells *cells;
    uint32_t *instance; /* [cells' n_instances] in the specification; UINT32_MAX: not there */
    bool *is_measured;  /* [cells' n_instances] in training, on some problem */
    const char **names; /* [n_features] */
};

/* The specification can have instances that training never measured, such as those that the filters
 * of the training data left out: a selector does not offer them. */
static bool knows(void *ctx, uint32_t instance)
{
    const struct context *x = ctx;

    return x->instance[instance] != UINT32_MAX && x->is_measured[instance];
}

/* As a selector tests it. */
static bool applies(void *ctx, uint32_t problem, uint32_t instance)
{
    const struct context *x = ctx;

    return ks_feature_applies(x->specs, &x->cells->problems[problem].problem,
                              x->instance[instance]);
}

static size_t device_of(const uint32_t *map, const struct ks_cells *c, uint32_t problem)
{
    const uint32_t source = c->problems[problem].source;

    return map ? map[source] : source;
}

static void fill(void *ctx, uint32_t problem, uint32_t instance, float *row_out)
{
    const struct context *x = ctx;
    const size_t k = x->n_specs > 1 ? device_of(x->device_of, x->cells, problem) : 0;
    const struct ks_feature_spec *spec = &x->specs[k];

    if (x->instance[instance] == UINT32_MAX) {
        for (size_t i = 0; i < spec->n_features; i++)
            row_out[i] = NAN;
        return;
    }
    ks_features_row(spec, &x->cells->problems[problem].problem, x->instance[instance], row_out);
}

static const char *outside(void *ctx, uint32_t problem)
{
    const struct context *x = ctx;

    return ks_feature_outside(x->specs, &x->cells->problems[problem].problem);
}

static void release_specs(struct ks_feature_spec *specs, size_t n)
{
    for (size_t i = 0; specs && i < n; i++)
        ks_feature_spec_release(&specs[i]);
    free(specs);
}

static void destroy(struct context *x)
{
    if (!x)
        return;
    release_specs(x->specs, x->n_specs);
    free(x->instance);
    free(x->is_measured);
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

/* known: as in struct ks_spec_source. */
static void mark_measured(struct context *x, const bool *is_training, const struct ks_cells *known)
{
    const struct ks_cells *c = x->cells;

    for (size_t i = 0; i < c->n; i++)
        if (is_training[c->cells[i].problem])
            x->is_measured[c->cells[i].instance] = true;
    for (size_t i = 0; known && i < c->n_instances; i++)
        if (ks_cells_find_instance(known, c->instances[i].id) != UINT32_MAX)
            x->is_measured[i] = true;
}

/* specs: [n] taken on success. */
static int make_featurizer(struct ks_feature_spec *specs, size_t n, const uint32_t *device_map,
                           const struct ks_cells *c, struct ks_featurizer *f_out,
                           struct ks_err *err)
{
    struct context *x = calloc(1, sizeof(*x));

    if (x) {
        x->cells = c;
        x->device_of = device_map;
        x->instance = malloc((c->n_instances + 1) * sizeof(*x->instance));
        x->is_measured = calloc(c->n_instances + 1, sizeof(*x->is_measured));
        x->names = malloc((specs->n_features + 1) * sizeof(*x->names));
    }
    if (!x || !x->instance || !x->is_measured || !x->names) {
        destroy(x);
        return ks_fail(err, KS_ENOMEM, "out of memory for %zu features", specs->n_features);
    }
    x->specs = specs;
    x->n_specs = n;
    for (size_t i = 0; i < c->n_instances; i++)
        x->instance[i] = ks_feature_spec_find(specs, c->instances[i].id);
    for (size_t i = 0; i < specs->n_features; i++)
        x->names[i] = specs->features[i].name;
    *f_out = (struct ks_featurizer){ .n_cols = specs->n_features,
                                     .names = x->names,
                                     .analytic = analytic_column(specs),
                                     .ctx = x,
                                     .fill = fill,
                                     .knows = knows,
                                     .applies = applies,
                                     .outside = outside };
    return 0;
}

int ks_spec_featurizer(struct ks_feature_spec *spec, const struct ks_cells *c,
                       const bool *is_training, struct ks_featurizer *f_out, struct ks_err *err)
{
    struct ks_feature_spec *own = malloc(sizeof(*own));
    int rc;

    if (!own)
        return ks_fail(err, KS_ENOMEM, "out of memory for %zu features", spec->n_features);
    *own = *spec;
    rc = make_featurizer(own, 1, NULL, c, f_out, err);
    if (rc < 0) {
        free(own);
        return rc;
    }
    mark_measured(f_out->ctx, is_training, NULL);
    *spec = (struct ks_feature_spec){ 0 };
    return 0;
}

void ks_spec_release(struct ks_featurizer *f)
{
    destroy(f->ctx);
    *f = (struct ks_featurizer){ 0 };
}

const struct ks_feature_spec *ks_spec_of(const struct ks_featurizer *f)
{
    return ((const struct context *)f->ctx)->specs;
}

/* ---- fitting ---- */

/* A fit: features from some problems. */
struct fitting {
    const struct ks_spec_source *from;
    const struct ks_cells *c;
    const bool *is_training;
    struct ks_problem *problems; /* [n_problems] of training */
    size_t n_problems;
    struct ks_feature_spec *specs; /* [from->n_devices] */
    struct ks_timed_pair *pairs;   /* [c->n] room */
};

/* The training times of a device; returns how many there are. */
static size_t list_pairs(const struct fitting *f, size_t k)
{
    const struct ks_cells *c = f->c;
    size_t n = 0;

    for (size_t i = 0; i < c->n; i++) {
        const uint32_t p = c->cells[i].problem;
        const uint32_t at =
            ks_feature_spec_find(&f->specs[k], c->instances[c->cells[i].instance].id);

        if (f->is_training[p] && at != UINT32_MAX && device_of(f->from->device_of, c, p) == k)
            f->pairs[n++] =
                (struct ks_timed_pair){ &c->problems[p].problem, at, c->cells[i].time_ns };
    }
    return n;
}

/* A specification that is given keeps its calibration. */
static int calibrate(const struct fitting *f, struct ks_err *err)
{
    const size_t n_devices = f->from->n_devices;
    size_t base = n_devices;
    int rc = 0;

    for (size_t k = 0; rc == 0 && k < n_devices; k++) {
        const bool is_given = f->from->given && k == 0;
        const size_t n = is_given ? 0 : list_pairs(f, k);

        if (n)
            rc = ks_feature_spec_calibrate(&f->specs[k], f->pairs, n, err);
        else if (!is_given)
            continue;
        base = base < k ? base : k;
    }
    if (rc == 0 && base == n_devices) /* which says so */
        return ks_feature_spec_calibrate(&f->specs[0], f->pairs, 0, err);
    for (size_t k = 0; rc == 0 && k < n_devices; k++)
        if (!f->specs[k].is_calibrated)
            rc = ks_feature_spec_take_rates(&f->specs[k], &f->specs[base], err);
    return rc;
}

static int make_spec(const struct fitting *f, size_t k, struct ks_err *err)
{
    const struct ks_spec_source *from = f->from;
    struct ks_feature_spec *spec = &f->specs[k];
    int rc;

    if (!from->given)
        return ks_feature_spec_create(f->problems, f->n_problems, from->traits, &from->devices[k],
                                      spec, err);
    rc = ks_feature_spec_parse((const char *)from->given->data, from->given->len,
                               "feature_spec.json", spec, err);
    if (rc == 0 && k > 0) {
        spec->device = from->devices[k];
        spec->is_calibrated = false;
    }
    return rc == 0 ? ks_feature_spec_widen(spec, f->problems, f->n_problems, err) : rc;
}

static int make_specs(struct fitting *f, struct ks_err *err)
{
    const struct ks_cells *c = f->c;
    int rc = 0;

    f->problems = malloc((c->n_problems + 1) * sizeof(*f->problems));
    f->pairs = malloc((c->n + 1) * sizeof(*f->pairs));
    f->specs = calloc(f->from->n_devices, sizeof(*f->specs));
    if (!f->problems || !f->pairs || !f->specs)
        return ks_fail(err, KS_ENOMEM, "out of memory for %zu problems", c->n_problems);
    for (size_t i = 0; i < c->n_problems; i++)
        if (f->is_training[i])
            f->problems[f->n_problems++] = c->problems[i].problem;
    for (size_t k = 0; rc == 0 && k < f->from->n_devices; k++)
        rc = make_spec(f, k, err);
    return rc == 0 ? calibrate(f, err) : rc;
}

static int fit(void *ctx, const struct ks_cells *c, const bool *is_training,
               struct ks_featurizer *f_out, struct ks_err *err)
{
    const struct ks_spec_source *from = ctx;
    struct fitting f = { .from = from, .c = c, .is_training = is_training };
    int rc = make_specs(&f, err);

    if (rc == 0)
        rc = make_featurizer(f.specs, from->n_devices, from->device_of, c, f_out, err);
    if (rc == 0)
        mark_measured(f_out->ctx, is_training, from->known);
    if (rc < 0)
        release_specs(f.specs, from->n_devices);
    free(f.problems);
    free(f.pairs);
    return rc;
}

struct ks_feature_source ks_spec_source(struct ks_spec_source *from)
{
    return (struct ks_feature_source){ .ctx = from, .fit = fit, .release = ks_spec_release };
}
