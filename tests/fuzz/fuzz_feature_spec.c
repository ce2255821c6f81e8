/* SPDX-License-Identifier: MIT */
/* fuzz_feature_spec.c - any bytes as a feature_spec.json: refused with a place, or written alike */
#include "analysis/learn/features.h"
#include "tests/fuzz/fuzz.h"

#include <stdlib.h>
#include <string.h>

static void demand(bool holds)
{
    if (!holds)
        abort();
}

/* What is accepted has features for any problem of the operator. */
static void use(const struct ks_feature_spec *s)
{
    float *row = calloc(s->n_features + 1, sizeof(*row));
    struct ks_problem p = ks_problem_blank(s->op);
    struct ks_err err;

    demand(row != NULL);
    if (ks_problem_finish(&p, &err) == 0) {
        for (uint32_t i = 0; i < s->n_instances; i++) {
            ks_features_row(s, &p, i, row);
            (void)ks_feature_applies(s, &p, i);
        }
        (void)ks_feature_outside(s, &p);
    }
    free(row);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n)
{
    struct ks_feature_spec s = { 0 }, again = { 0 };
    struct ks_err err = { 0 };
    struct ks_buf b;

    if (ks_feature_spec_parse((const char *)bytes, n, "spec", &s, &err) < 0) {
        demand(err.code == KS_ENOMEM || strstr(err.text, "spec:") || strstr(err.text, "operator"));
        return 0;
    }
    use(&s);
    ks_buf_init(&b);
    ks_feature_spec_write(&s, &b);
    demand(ks_feature_spec_parse(ks_buf_text(&b), b.len, "again", &again, &err) == 0);
    demand(again.digest == s.digest && again.n_features == s.n_features &&
           again.n_instances == s.n_instances);
    ks_buf_release(&b);
    ks_feature_spec_release(&s);
    ks_feature_spec_release(&again);
    return 0;
}
