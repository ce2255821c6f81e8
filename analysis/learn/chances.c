/* SPDX-License-Identifier: MIT */
/* chances.c - looks up the oracle's chances of a row's problem, instance and condition */
#include "analysis/learn/chances.h"
#include "base/order.h"

#include <stdlib.h>
#include <string.h>

enum { BEST, NEAR, REGRET, N_REALS };
static const char *const names[N_REALS] = { "chance_best", "chance_near_best", "expected_regret" };

enum { PROBLEM, INSTANCE, CONDITION, CLASS, N_KEYS };
static const char *const keys[N_KEYS] = { "problem_id", "instance_id", "condition_id",
                                          "device_class_id" };

struct entry {
    uint64_t key[N_KEYS];
    const struct ks_chance *chance;
};
struct ks_chances {
    struct entry *entries; /* [n] sorted */
    size_t n;
    double *value[N_REALS];    /* [cap] */
    uint8_t *missing[N_REALS]; /* [cap] */
    size_t cap;
};

static int by_key(const void *x, const void *y)
{
    const struct entry *a = x, *b = y;
    int d = 0;

    for (size_t i = 0; d == 0 && i < N_KEYS; i++)
        d = ks_compare_u64(a->key[i], b->key[i]);
    return d;
}

int ks_chances_create(const struct ks_sweeps *s, const struct ks_oracle *o, struct ks_chances **out,
                      struct ks_err *err)
{
    struct ks_chances *c = calloc(1, sizeof(*c));

    if (c)
        c->entries = calloc(o->n_chances + 1, sizeof(*c->entries));
    if (!c || !c->entries) {
        ks_chances_destroy(c);
        return ks_fail(err, KS_ENOMEM, "out of memory for %zu rows", o->n_chances);
    }
    for (size_t i = 0; i < o->n_answers; i++) {
        const struct ks_answer *a = &o->answers[i];
        const struct ks_sweep_domain *d = &s->domains[a->domain];

        for (size_t k = a->first; k < a->first + a->n; k++)
            c->entries[c->n++] = (struct entry){
                .key = { [PROBLEM] = s->problems[a->problem].id,
                         [INSTANCE] = s->instances[o->chances[k].instance].id,
                         [CONDITION] = d->condition,
                         [CLASS] = d->device_class },
                .chance = &o->chances[k],
            };
    }
    qsort(c->entries, c->n, sizeof(*c->entries), by_key);
    *out = c;
    return 0;
}

static void release_values(struct ks_chances *c)
{
    for (size_t k = 0; k < N_REALS; k++) {
        free(c->value[k]);
        free(c->missing[k]);
        c->value[k] = NULL;
        c->missing[k] = NULL;
    }
    c->cap = 0;
}

void ks_chances_destroy(struct ks_chances *c)
{
    if (!c)
        return;
    release_values(c);
    free(c->entries);
    free(c);
}

static int reserve(struct ks_chances *c, size_t n, struct ks_err *err)
{
    bool is_enough = true;

    if (n <= c->cap)
        return 0;
    release_values(c);
    for (size_t k = 0; k < N_REALS; k++) {
        c->value[k] = calloc(n, sizeof(double));
        c->missing[k] = calloc(n, 1);
        is_enough = is_enough && c->value[k] && c->missing[k];
    }
    if (!is_enough)
        return ks_fail(err, KS_ENOMEM, "out of memory for %zu rows", n);
    c->cap = n;
    return 0;
}

static void put_row(struct ks_chances *c, size_t row, const struct entry *key)
{
    const struct entry *e = bsearch(key, c->entries, c->n, sizeof(*e), by_key);
    const double value[N_REALS] = { [BEST] = e ? e->chance->best : -1,
                                    [NEAR] = e ? e->chance->near : -1,
                                    [REGRET] = e ? e->chance->regret : -1 };

    for (size_t k = 0; k < N_REALS; k++) {
        c->value[k][row] = value[k];
        c->missing[k][row] = value[k] < 0;
    }
}

static void show(const struct ks_chances *c, struct ks_df *f)
{
    for (size_t i = 0; i < f->n_columns; i++)
        for (size_t k = 0; k < N_REALS; k++) {
            struct ks_df_column *column = &f->columns[i];

            if (strcmp(column->origin, names[k]) != 0)
                continue;
            column->code = NULL;
            column->values.f64 = c->value[k];
            column->missing = c->missing[k];
            column->n_values = f->n_rows;
        }
}

int ks_chances_fill(struct ks_chances *c, struct ks_df *f, struct ks_err *err)
{
    const struct ks_df_column *at[N_KEYS];
    int rc = reserve(c, f->n_rows, err);

    for (size_t k = 0; rc == 0 && k < N_KEYS; k++)
        rc = ks_df_need(f, keys[k], KS_DF_I64, &at[k], err);
    for (size_t row = 0; rc == 0 && row < f->n_rows; row++) {
        struct entry key = { .chance = NULL };

        for (size_t k = 0; k < N_KEYS; k++)
            key.key[k] = (uint64_t)ks_df_i64(at[k], row, 0);
        put_row(c, row, &key);
    }
    if (rc == 0)
        show(c, f);
    return rc;
}
