/* SPDX-License-Identifier: MIT */
/* fuzz_forest.c - any bytes as XGBoost's model.json: refused with a placed message, or trees */
/* Every row can walk them, and they predict the same when they are written and read again. */
#include "analysis/model/forest.h"
#include "tests/fuzz/fuzz.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void demand(bool holds)
{
    if (!holds)
        abort();
}

static double predict(const struct ks_forest *f, float value)
{
    float *row = malloc((f->n_features + 1u) * sizeof(*row));
    double sum;

    demand(row != NULL);
    for (uint16_t i = 0; i < f->n_features; i++)
        row[i] = value;
    row[f->n_features] = -INFINITY;
    sum = ks_forest_predict(f, row);
    free(row);
    return sum;
}

static void check_again(const struct ks_forest *f)
{
    static const float values[] = { 0, 1, -1e9f, NAN };
    const char **names = malloc((f->n_features + 1u) * sizeof(*names));
    struct ks_forest again = { 0 };
    struct ks_err err = { 0 };
    struct ks_buf b;

    demand(names != NULL);
    for (uint16_t i = 0; i < f->n_features; i++)
        names[i] = "x";
    ks_buf_init(&b);
    ks_forest_write_xgboost(f, names, &b);
    demand(ks_forest_parse(ks_buf_text(&b), b.len, "again", &again, &err) == 0);
    for (size_t i = 0; i < sizeof(values) / sizeof(values[0]); i++) {
        const double x = predict(f, values[i]), y = predict(&again, values[i]);

        demand(!isfinite(x) || fabs(x - y) <= 1e-6 * (1 + fabs(x)));
    }
    ks_forest_release(&again);
    ks_buf_release(&b);
    free(names);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n)
{
    struct ks_forest f = { 0 };
    struct ks_err err = { 0 };

    if (ks_forest_parse((const char *)bytes, n, "model", &f, &err) == 0)
        check_again(&f);
    else
        demand(err.code == KS_ENOMEM || strstr(err.text, "model"));
    ks_forest_release(&f);
    return 0;
}
