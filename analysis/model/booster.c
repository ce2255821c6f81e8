/* SPDX-License-Identifier: MIT */
/* booster.c - XGBoost through its C API: training rounds, predicting, saving, loading */
#include "analysis/model/booster.h"

#include <xgboost/c_api.h>

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* How to predict: by the trees up to a round, 0 = all. */
#define TREES(end, more)                                                                           \
    "{\"type\":1,\"training\":false,\"iteration_begin\":0,\"iteration_end\":" end                  \
    ",\"strict_shape\":false" more "}"

struct ks_booster {
    BoosterHandle handle;
    DMatrixHandle *data; /* [n_data] the training matrix, then those that are watched */
    size_t *n_rows;      /* [n_data] */
    size_t n_data;
    float *derivatives; /* [2 n_rows[0]] */
    int n_start;        /* rounds of the model that it continues */
    uint32_t n_scoring; /* rounds that ks_booster_predict() sums; 0: all */
};

static int failed(struct ks_err *err, const char *doing)
{
    const char *text = XGBGetLastError();
    char line[160];
    size_t n = strcspn(text, "\n");

    snprintf(line, sizeof(line), "%.*s", (int)(n < sizeof(line) ? n : sizeof(line) - 1), text);
    return ks_fail(err, KS_EINVAL, "XGBoost failed %s: %s", doing, line);
}

static int set(struct ks_booster *b, const char *name, const char *value, struct ks_err *err)
{
    return XGBoosterSetParam(b->handle, name, value) ? failed(err, "setting a parameter") : 0;
}

static int set_number(struct ks_booster *b, const char *name, double value, struct ks_err *err)
{
    char text[32];

    ks_f64_text(value, text);
    return set(b, name, text, err);
}

static int set_params(struct ks_booster *b, const struct ks_booster_params *p, struct ks_err *err)
{
    const char *const texts[][2] = {
        { "booster", "gbtree" },   { "objective", "reg:squarederror" },
        { "tree_method", "hist" }, { "grow_policy", p->leaves ? "lossguide" : "depthwise" },
        { "base_score", "0" },     { "verbosity", "0" }
    };
    const struct {
        const char *name;
        double value;
    } numbers[] = { { "max_depth", p->depth },
                    { "max_leaves", p->leaves },
                    { "num_parallel_tree", p->n_parallel },
                    { "max_bin", p->max_bin },
                    { "eta", p->eta },
                    { "min_child_weight", p->min_child },
                    { "subsample", p->subsample },
                    { "colsample_bytree", p->colsample },
                    { "lambda", p->lambda },
                    { "nthread", p->n_threads },
                    { "seed", (double)p->seed } };
    int rc = 0;

    for (size_t i = 0; rc == 0 && i < sizeof(texts) / sizeof(texts[0]); i++)
        rc = set(b, texts[i][0], texts[i][1], err);
    for (size_t i = 0; rc == 0 && i < sizeof(numbers) / sizeof(numbers[0]); i++)
        rc = set_number(b, numbers[i].name, numbers[i].value, err);
    return rc;
}

static int add_data(struct ks_booster *b, const struct ks_matrix *m, struct ks_err *err)
{
    if (XGDMatrixCreateFromMat(m->x, m->n_rows, m->n_cols, NAN, &b->data[b->n_data]))
        return failed(err, "reading a matrix");
    b->n_rows[b->n_data++] = m->n_rows;
    return 0;
}

static int add_names(struct ks_booster *b, const char *const *names, size_t n, struct ks_err *err)
{
    return XGBoosterSetStrFeatureInfo(b->handle, "feature_name", (const char **)(uintptr_t)names, n)
               ? failed(err, "naming the features")
               : 0;
}

static struct ks_booster *blank(size_t n_data, size_t n_rows)
{
    struct ks_booster *b = calloc(1, sizeof(*b));

    if (!b)
        return NULL;
    b->data = calloc(n_data + 1, sizeof(*b->data));
    b->n_rows = calloc(n_data + 1, sizeof(*b->n_rows));
    b->derivatives = malloc((2 * n_rows + 1) * sizeof(*b->derivatives));
    if (b->data && b->n_rows && b->derivatives)
        return b;
    ks_booster_destroy(b);
    return NULL;
}

/* Before the parameters: they are those of the further trees. */
static int begin_with(struct ks_booster *b, const struct ks_buf *start, size_t n_cols,
                      struct ks_err *err)
{
    size_t n = 0;
    int rc;

    if (!start)
        return 0;
    if (XGBoosterLoadModelFromBuffer(b->handle, start->data, start->len))
        return failed(err, "reading the model to continue");
    if (XGBoosterBoostedRounds(b->handle, &b->n_start))
        return failed(err, "counting the rounds of the model to continue");
    rc = ks_booster_n_features(b, &n, err);
    if (rc == 0 && n != n_cols)
        rc = ks_fail(err, KS_EINVAL, "the model to continue has %zu features, but the data %zu", n,
                     n_cols);
    return rc;
}

int ks_booster_create(struct ks_booster **b_out, const struct ks_booster_params *params,
                      const struct ks_matrix *train, const char *const *names,
                      const struct ks_matrix *const *watched, size_t n_watched, struct ks_err *err)
{
    struct ks_booster *b = blank(1 + n_watched, train->n_rows);
    int rc = b ? add_data(b, train, err) : ks_fail(err, KS_ENOMEM, "out of memory");

    for (size_t i = 0; rc == 0 && i < n_watched; i++)
        rc = add_data(b, watched[i], err);
    if (rc == 0 && XGBoosterCreate(b->data, b->n_data, &b->handle))
        rc = failed(err, "creating a model");
    if (rc == 0)
        rc = begin_with(b, params->start, train->n_cols, err);
    if (rc == 0)
        rc = set_params(b, params, err);
    if (rc == 0)
        rc = add_names(b, names, train->n_cols, err);
    if (rc < 0)
        ks_booster_destroy(b);
    else
        *b_out = b;
    return rc;
}

void ks_booster_destroy(struct ks_booster *b)
{
    if (!b)
        return;
    if (b->handle)
        (void)XGBoosterFree(b->handle);
    for (size_t i = 0; b->data && i < b->n_data; i++)
        (void)XGDMatrixFree(b->data[i]);
    free(b->data);
    free(b->n_rows);
    free(b->derivatives);
    free(b);
}

static int scores_of(struct ks_booster *b, size_t i_data, const float **scores_out,
                     struct ks_err *err)
{
    const bst_ulong *shape;
    bst_ulong n_dims;

    return XGBoosterPredictFromDMatrix(b->handle, b->data[i_data], TREES("0", ""), &shape, &n_dims,
                                       scores_out)
               ? failed(err, "predicting")
               : 0;
}

int ks_booster_round(struct ks_booster *b, const struct ks_objective *o, struct ks_err *err)
{
    const float *scores = NULL;
    float *second = b->derivatives + o->n;
    int rc = scores_of(b, 0, &scores, err);

    if (rc < 0)
        return rc;
    ks_objective_gradient(o, scores, b->derivatives, second);
    return XGBoosterBoostOneIter(b->handle, b->data[0], b->derivatives, second, o->n)
               ? failed(err, "growing a tree")
               : 0;
}

int ks_booster_watch(struct ks_booster *b, size_t i_watched, const float **scores_out,
                     struct ks_err *err)
{
    return scores_of(b, 1 + i_watched, scores_out, err);
}

void ks_booster_score_by(struct ks_booster *b, uint32_t n_rounds)
{
    b->n_scoring = n_rounds ? n_rounds + (uint32_t)b->n_start : 0;
}

int ks_booster_n_features(struct ks_booster *b, size_t *n_out, struct ks_err *err)
{
    bst_ulong n = 0;

    if (XGBoosterGetNumFeature(b->handle, &n))
        return failed(err, "counting the features");
    *n_out = n;
    return 0;
}

int ks_booster_predict(struct ks_booster *b, const struct ks_matrix *m, float *scores_out,
                       struct ks_err *err)
{
    const bst_ulong *shape;
    const float *scores;
    bst_ulong n_dims;
    char array[160], how[160];

    if (m->n_rows == 0)
        return 0;
    snprintf(how, sizeof(how), TREES("%u", ",\"cache_id\":0,\"missing\":NaN"), b->n_scoring);
    snprintf(array, sizeof(array),
             "{\"data\":[%zu,true],\"shape\":[%zu,%zu],\"typestr\":\"<f4\",\"version\":3}",
             (size_t)(uintptr_t)m->x, m->n_rows, m->n_cols);
    if (XGBoosterPredictFromDense(b->handle, array, how, NULL, &shape, &n_dims, &scores))
        return failed(err, "predicting");
    memcpy(scores_out, scores, m->n_rows * sizeof(*scores_out));
    return 0;
}

/* ---- files ---- */

int ks_booster_save(struct ks_booster *b, struct ks_buf *json_out, struct ks_err *err)
{
    bst_ulong len;
    const char *json;

    if (XGBoosterSaveModelToBuffer(b->handle, "{\"format\":\"json\"}", &len, &json))
        return failed(err, "saving a model");
    ks_buf_put(json_out, json, len);
    return ks_buf_ok(json_out) ? 0 : ks_fail(err, KS_ENOMEM, "out of memory for the model");
}

int ks_booster_load(struct ks_booster **b_out, const void *json, size_t len, const char *name,
                    uint32_t n_threads, struct ks_err *err)
{
    struct ks_booster *b = blank(0, 0);
    int rc = 0;

    if (!b)
        return ks_fail(err, KS_ENOMEM, "out of memory");
    if (XGBoosterCreate(NULL, 0, &b->handle))
        rc = failed(err, "creating a model");
    if (rc == 0)
        rc = set(b, "verbosity", "0", err);
    if (rc == 0 && XGBoosterLoadModelFromBuffer(b->handle, json, len))
        rc = ks_err_context(err, failed(err, "reading a model"), "%s", name);
    if (rc == 0)
        rc = set_number(b, "nthread", n_threads, err);
    if (rc < 0)
        ks_booster_destroy(b);
    else
        *b_out = b;
    return rc;
}

int ks_booster_gain(struct ks_booster *b, const char *const *names, size_t n_cols, double *gain_out,
                    struct ks_err *err)
{
    const bst_ulong *shape;
    const char **features;
    const float *scores;
    bst_ulong n, n_dims;

    for (size_t i = 0; i < n_cols; i++)
        gain_out[i] = 0;
    if (XGBoosterFeatureScore(b->handle, "{\"importance_type\":\"total_gain\"}", &n, &features,
                              &n_dims, &shape, &scores))
        return failed(err, "weighing the features");
    for (size_t i = 0; i < n; i++)
        for (size_t j = 0; j < n_cols; j++)
            if (strcmp(features[i], names[j]) == 0)
                gain_out[j] = scores[i];
    return 0;
}

void ks_booster_version(char text_out[32])
{
    int major, minor, patch;

    XGBoostVersion(&major, &minor, &patch);
    snprintf(text_out, 32, "%d.%d.%d", major, minor, patch);
}
