/* SPDX-License-Identifier: MIT */
/* features.c - chooses the features of a specification from problems and instances */
#include "analysis/learn/features_impl.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

_Static_assert(KS_FX_DIMS >= KS_MAX_DIMS, "a problem's dimensions fit");

void ks_feature_spec_release(struct ks_feature_spec *s)
{
    for (size_t i = 0; i < s->n_instances; i++) {
        free(s->instances[i].name);
        free(s->instances[i].family);
        free(s->instances[i].value);
    }
    free(s->instances);
    free(s->features);
    *s = (struct ks_feature_spec){ 0 };
}

struct ks_fx_device ks_feature_device(const char *arch, uint32_t n_units)
{
    static const struct {
        const char *prefix;
        double fast_bytes;
    } known[] = { { "gfx950", 163840 }, { "gfx", 65536 },    { "sm_90", 232448 },
                  { "sm_10", 232448 },  { "sm_80", 166912 }, { "sm_", 101376 } };
    struct ks_fx_device d = { .units = n_units ? n_units : 1, .fast_bytes = 1 << 20 };

    for (size_t i = 0; arch && i < sizeof(known) / sizeof(known[0]); i++) {
        if (strncmp(arch, known[i].prefix, strlen(known[i].prefix)) != 0)
            continue;
        d.fast_bytes = known[i].fast_bytes;
        break;
    }
    return d;
}

struct ks_fx_problem ks_feature_problem(const struct ks_problem *p)
{
    struct ks_fx_problem x = {
        (int32_t)p->op, (int32_t)p->direction, (int32_t)p->dtype, (int32_t)p->layout, { 0 }
    };

    memcpy(x.dim, p->dim, sizeof(p->dim));
    return x;
}

/* ---- a specification under construction ---- */

static int no_memory(struct ks_err *err)
{
    return ks_fail(err, KS_ENOMEM, "out of memory for a feature specification");
}

/* Room for all features is there from the beginning. */
static int add_feature(struct ks_feature_spec *s, const struct ks_feature *f, struct ks_err *err)
{
    if (s->n_features == KS_FEATURES_MAX)
        return ks_fail(err, KS_EINVAL, "more than %d features, '%s' is the first too many",
                       KS_FEATURES_MAX, f->name);
    s->features[s->n_features++] = *f;
    return 0;
}

static bool differs(double a, double b)
{
    return isnan(a) != isnan(b) || (!isnan(a) && (a < b || a > b));
}

static void widen(struct ks_feature_spec *s, const struct ks_problem *problem)
{
    const struct ks_fx_problem p = ks_feature_problem(problem);
    double q[KS_FX_N_QUANTITIES];

    ks_fx_quantities(&p, q);
    for (int k = 0; k < KS_FX_N_QUANTITIES; k++) {
        s->lo[k] = isnan(s->lo[k]) || q[k] < s->lo[k] ? q[k] : s->lo[k];
        s->hi[k] = isnan(s->hi[k]) || q[k] > s->hi[k] ? q[k] : s->hi[k];
    }
}

/* Quantities that differ between the problems. */
static int add_problem_features(struct ks_feature_spec *s, const struct ks_problem *problems,
                                size_t n, struct ks_err *err)
{
    int rc = 0;

    for (int k = 0; k < KS_FX_N_QUANTITIES; k++)
        s->lo[k] = s->hi[k] = NAN;
    for (size_t i = 0; i < n; i++) {
        if (problems[i].op != s->op)
            return ks_fail(err, KS_EINVAL, "problems of two operators, '%s' and '%s'",
                           ks_operators[s->op]->name, ks_operators[problems[i].op]->name);
        widen(s, &problems[i]);
    }
    for (uint32_t k = 0; rc == 0 && k < KS_FX_N_QUANTITIES; k++) {
        struct ks_feature f;

        if (!differs(s->lo[k], s->hi[k]))
            continue;
        ks_feature_describe(s->op, KS_FEATURE_PROBLEM, k, &f);
        rc = add_feature(s, &f, err);
    }
    s->n_problem = s->n_features;
    return rc;
}

/* ---- features of instances ---- */

/* A feature of an instance as it is decided: value = a number; or 1 where the text is `text`; or
 * the rank of its text among `ranked`. */
struct choice {
    size_t column; /* of the traits; n_columns: family, + 1: name */
    const char *text;
    bool is_rank;
};
struct choices {
    struct choice *at; /* [n] */
    size_t n;
    const char **texts; /* scratch: [n_instances] sorted, distinct */
    size_t n_texts;
};

static const char *text_at(const struct ks_traits *t, size_t i, size_t column)
{
    if (column >= t->n_columns)
        return column == t->n_columns ? t->families[i] : t->names[i];
    return t->values[i * t->n_columns + column].text;
}

static int by_text(const void *a, const void *b)
{
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

/* Distinct texts of a column in c->texts; returns whether some instance has none. */
static bool collect(const struct ks_traits *t, size_t column, struct choices *c)
{
    size_t n = 0, kept = 0;

    for (size_t i = 0; i < t->n_instances; i++)
        if (text_at(t, i, column))
            c->texts[n++] = text_at(t, i, column);
    qsort(c->texts, n, sizeof(*c->texts), by_text);
    for (size_t i = 0; i < n; i++)
        if (i == 0 || strcmp(c->texts[i], c->texts[kept - 1]) != 0)
            c->texts[kept++] = c->texts[i];
    c->n_texts = kept;
    return n < t->n_instances;
}

static int choose(struct choices *c, size_t column, const char *text, bool is_rank,
                  struct ks_err *err)
{
    if (c->n == KS_FEATURES_MAX)
        return ks_fail(err, KS_EINVAL, "the traits give more than %d features", KS_FEATURES_MAX);
    c->at[c->n++] = (struct choice){ column, text, is_rank };
    return 0;
}

/* A text of two values needs one feature, of a few one each, of many its rank. */
static int choose_texts(const struct ks_traits *t, size_t column, struct choices *c,
                        struct ks_err *err)
{
    const bool is_partial = collect(t, column, c);
    int rc = 0;

    if (c->n_texts == 0 || (c->n_texts == 1 && !is_partial))
        return 0;
    if (c->n_texts > KS_ONE_HOT_MAX)
        return choose(c, column, NULL, true, err);
    for (size_t k = c->n_texts == 2 && !is_partial; rc == 0 && k < c->n_texts; k++)
        rc = choose(c, column, c->texts[k], false, err);
    return rc;
}

static int choose_column(const struct ks_traits *t, size_t column, struct choices *c,
                         struct ks_err *err)
{
    bool has_text = false, is_varied = false;
    double first = NAN;

    for (size_t i = 0; column < t->n_columns && i < t->n_instances; i++) {
        const struct ks_trait_value *v = &t->values[i * t->n_columns + column];

        first = i == 0 ? v->number : first;
        is_varied = is_varied || differs(v->number, first);
        has_text = has_text || v->text;
    }
    if (column >= t->n_columns || has_text)
        return choose_texts(t, column, c, err);
    return is_varied ? choose(c, column, NULL, false, err) : 0;
}

static size_t rank_of(const struct choices *c, const char *text)
{
    size_t k = 0;

    while (k < c->n_texts && strcmp(c->texts[k], text) != 0)
        k++;
    return k;
}

static double value_of(const struct ks_traits *t, size_t i, const struct choice *c,
                       const struct choices *all)
{
    const char *text = text_at(t, i, c->column);

    if (c->is_rank)
        return text ? (double)rank_of(all, text) : NAN;
    if (c->text)
        return text ? strcmp(text, c->text) == 0 : NAN;
    return t->values[i * t->n_columns + c->column].number;
}

static int name_choice(const struct ks_traits *t, const struct choice *c, uint32_t index,
                       struct ks_feature *out, struct ks_err *err)
{
    const char *column = c->column < t->n_columns    ? t->columns[c->column]
                         : c->column == t->n_columns ? "family"
                                                     : "instance";
    int n = snprintf(out->name, sizeof(out->name), "%s%s%s", column,
                     c->is_rank ? "_rank"
                     : c->text  ? "="
                                : "",
                     c->text ? c->text : "");

    out->kind = KS_FEATURE_INSTANCE;
    out->index = index;
    out->unit[0] = '\0';
    snprintf(out->meaning, sizeof(out->meaning), "%s",
             c->is_rank ? "rank of the text among those of training"
             : c->text  ? "1: the instance has this value"
                        : "of the instance");
    if (n >= (int)sizeof(out->name))
        return ks_fail(err, KS_EINVAL, "the name of feature '%s...' is too long", out->name);
    return 0;
}

static int set_values(struct ks_feature_spec *s, const struct ks_traits *t, struct choices *c,
                      struct ks_err *err)
{
    int rc = 0;

    s->n_values = c->n;
    for (size_t k = 0; rc == 0 && k < c->n; k++) {
        struct ks_feature f = { 0 };

        rc = name_choice(t, &c->at[k], (uint32_t)k, &f, err);
        if (rc == 0)
            rc = add_feature(s, &f, err);
        if (c->at[k].is_rank)
            collect(t, c->at[k].column, c);
        for (size_t i = 0; i < t->n_instances; i++)
            s->instances[i].value[k] = value_of(t, i, &c->at[k], c);
    }
    return rc;
}

static int add_instances(struct ks_feature_spec *s, const struct ks_traits *t, size_t n_values,
                         struct ks_err *err)
{
    for (size_t i = 0; i < t->n_instances; i++) {
        struct ks_feature_instance *x = &s->instances[i];

        s->n_instances++;
        x->id = t->ids[i];
        x->name = strdup(t->names[i]);
        x->family = strdup(t->families[i]);
        x->value = malloc((n_values + 1) * sizeof(*x->value));
        if (!x->name || !x->family || !x->value)
            return no_memory(err);
        ks_feature_instance_set(t, i, s->op, &x->fx);
    }
    return 0;
}

static int add_instance_features(struct ks_feature_spec *s, const struct ks_traits *t,
                                 struct ks_err *err)
{
    struct choices c = { .at = calloc(KS_FEATURES_MAX, sizeof(*c.at)),
                         .texts = calloc(t->n_instances, sizeof(*c.texts)) };
    int rc = c.at && c.texts ? 0 : no_memory(err);

    for (size_t k = 0; rc == 0 && k <= t->n_columns; k++)
        rc = choose_column(t, k, &c, err);
    if (rc == 0 && c.n == 0) /* nothing tells the instances apart but their names */
        rc = choose_column(t, t->n_columns + 1, &c, err);
    if (rc == 0)
        rc = add_instances(s, t, c.n, err);
    if (rc == 0)
        rc = set_values(s, t, &c, err);
    free(c.texts);
    free(c.at);
    return rc;
}

/* ---- features of pairs ---- */

static bool has_trait(const struct ks_feature_spec *s, int trait, double above)
{
    for (size_t i = 0; i < s->n_instances; i++)
        if (s->instances[i].fx.trait[trait] > above)
            return true;
    return false;
}

static bool is_wanted(const struct ks_feature_spec *s, uint32_t pair)
{
    const bool is_tiled = has_trait(s, KS_FX_TILE_M, 0) && has_trait(s, KS_FX_TILE_N, 0);

    switch (pair) {
    case KS_FX_LOOSE_A:
    case KS_FX_LOOSE_B:
    case KS_FX_LOOSE_C:
        return has_trait(s, KS_FX_VECTOR_A + (int)(pair - KS_FX_LOOSE_A), 1);
    case KS_FX_LOOSE_G:
        return is_tiled && has_trait(s, KS_FX_MERGED, 1);
    case KS_FX_STEPS_K:
    case KS_FX_WASTE_K:
        return is_tiled && has_trait(s, KS_FX_TILE_K, 1);
    case KS_FX_ROOF_NS:
    case KS_FX_EXPECT:
        return true;
    default:
        return is_tiled;
    }
}

static int add_pair_features(struct ks_feature_spec *s, struct ks_err *err)
{
    int rc = 0;

    for (uint32_t k = 0; rc == 0 && k < KS_FX_N_PAIRS; k++) {
        struct ks_feature f;

        ks_feature_describe(s->op, KS_FEATURE_PAIR, k, &f);
        rc = is_wanted(s, k) ? add_feature(s, &f, err) : 0;
    }
    return rc;
}

int ks_feature_spec_create(const struct ks_problem *problems, size_t n_problems,
                           const struct ks_traits *traits, const struct ks_fx_device *device,
                           struct ks_feature_spec *spec_out, struct ks_err *err)
{
    struct ks_feature_spec s = { .device = device ? *device : ks_feature_device(NULL, 0) };
    int rc = 0;

    if (n_problems == 0 || traits->n_instances == 0)
        return ks_fail(err, KS_EINVAL, "no %s to choose features from",
                       n_problems == 0 ? "problem" : "instance");
    s.op = problems[0].op;
    s.features = calloc(KS_FEATURES_MAX, sizeof(*s.features));
    s.instances = calloc(traits->n_instances, sizeof(*s.instances));
    if (!s.features || !s.instances)
        rc = no_memory(err);
    if (rc == 0)
        rc = add_problem_features(&s, problems, n_problems, err);
    if (rc == 0)
        rc = add_instance_features(&s, traits, err);
    if (rc == 0)
        rc = add_pair_features(&s, err);
    if (rc == 0 && s.n_features == 0)
        rc =
            ks_fail(err, KS_EINVAL,
                    "no feature found: problems and instances do not differ in any known property");
    if (rc == 0)
        rc = ks_feature_spec_sign(&s, &s.digest, err);
    if (rc < 0)
        ks_feature_spec_release(&s);
    else
        *spec_out = s;
    return rc;
}

int ks_feature_spec_widen(struct ks_feature_spec *s, const struct ks_problem *problems, size_t n,
                          struct ks_err *err)
{
    for (size_t i = 0; i < n; i++)
        widen(s, &problems[i]);
    return ks_feature_spec_sign(s, &s->digest, err);
}
