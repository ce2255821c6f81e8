/* SPDX-License-Identifier: MIT */
/* derive.c - computes speeds, and the time and outcome of an alias's machine code, per batch */
#include "analysis/learn/derive.h"

#include <stdlib.h>
#include <string.h>

enum { GFLOPS, GBYTES, CODE_TIME, CODE_OVER_ANCHOR, CODE_ROUNDS_TIME, N_REALS };
static const char *const real_names[N_REALS] = { "gflops_per_s", "gbytes_per_s",
                                                 "code_time_median_ns", "code_time_over_anchor",
                                                 "code_rounds_time_ns" };
#define OUTCOME_NAME "code_outcome"

struct ks_derive {
    double *value[N_REALS];    /* [cap] */
    uint8_t *missing[N_REALS]; /* [cap] */
    uint32_t *outcome;         /* [cap] codes of the column `outcome` */
    struct ks_obs *rows;       /* [cap] */
    size_t cap;
    struct ks_join join;
    /* of the present batch */
    const struct ks_df_column *flops, *min_bytes, *outcomes, *rounds_time;
};

int ks_derive_need(struct ks_sources *sources, const struct ks_store_file *f, struct ks_err *err)
{
    static const char *const more[] = { "outcome", "flops", "min_bytes", "rounds_time_ns" };
    bool is_any = false;
    int rc = 0;

    for (size_t i = 0; i < sources->n; i++)
        is_any = is_any || sources->at[i].from == KS_FROM_LEARN;
    if (is_any)
        rc = ks_obs_need(sources, f, err);
    for (size_t i = 0; is_any && rc == 0 && i < sizeof(more) / sizeof(more[0]); i++)
        rc = ks_sources_need(sources, f, more[i], NULL, err);
    return rc;
}

static bool is_derived(const char *origin)
{
    bool is_it = strcmp(origin, OUTCOME_NAME) == 0;

    for (size_t i = 0; i < N_REALS; i++)
        is_it = is_it || strcmp(origin, real_names[i]) == 0;
    return is_it;
}

int ks_derive_create(struct ks_derive **d_out, struct ks_err *err)
{
    *d_out = calloc(1, sizeof(**d_out));
    return *d_out ? 0 : ks_fail(err, KS_ENOMEM, "out of memory");
}

static void release_rows(struct ks_derive *d)
{
    for (size_t i = 0; i < N_REALS; i++) {
        free(d->value[i]);
        free(d->missing[i]);
        d->value[i] = NULL;
        d->missing[i] = NULL;
    }
    free(d->outcome);
    free(d->rows);
    d->outcome = NULL;
    d->rows = NULL;
    d->cap = 0;
}

void ks_derive_destroy(struct ks_derive *d)
{
    if (!d)
        return;
    release_rows(d);
    ks_join_release(&d->join);
    free(d);
}

static int reserve(struct ks_derive *d, size_t n, struct ks_err *err)
{
    bool is_enough = true;

    if (n <= d->cap)
        return 0;
    release_rows(d);
    for (size_t i = 0; i < N_REALS; i++) {
        d->value[i] = malloc(n * sizeof(*d->value[i]));
        d->missing[i] = malloc(n);
        is_enough = is_enough && d->value[i] && d->missing[i];
    }
    d->outcome = malloc(n * sizeof(*d->outcome));
    d->rows = malloc(n * sizeof(*d->rows));
    if (!is_enough || !d->outcome || !d->rows)
        return ks_fail(err, KS_ENOMEM, "out of memory for %zu rows", n);
    d->cap = n;
    return 0;
}

static void put(struct ks_derive *d, size_t which, size_t row, bool has_value, double v)
{
    d->missing[which][row] = !has_value;
    d->value[which][row] = has_value ? v : 0;
}

/* flop/ns = Gflop/s, bytes/ns = GB/s. */
static void put_speeds(struct ks_derive *d, size_t row)
{
    bool is_usable = ks_is_usable(&d->rows[row]);
    double ns = d->rows[row].median_ns;
    double flops = ks_df_f64(d->flops, row, 0), bytes = ks_df_f64(d->min_bytes, row, 0);

    put(d, GFLOPS, row, is_usable && flops > 0, flops / ns);
    put(d, GBYTES, row, is_usable && bytes > 0, bytes / ns);
}

/* How the machine code did, whichever instance it was measured as. */
static void put_code(struct ks_derive *d, size_t row)
{
    const struct ks_obs *code = ks_join_code(&d->join, &d->rows[row]);
    const double rounds_ns = code ? ks_df_f64(d->rounds_time, (size_t)(code - d->rows), 0) : 0;

    put(d, CODE_TIME, row, code && code->median_ns > 0, code ? code->median_ns : 0);
    put(d, CODE_OVER_ANCHOR, row, code && code->time_over_anchor > 0,
        code ? code->time_over_anchor : 0);
    put(d, CODE_ROUNDS_TIME, row, rounds_ns > 0, rounds_ns);
    d->outcome[row] = code ? d->outcomes->code[code - d->rows] : KS_DF_NONE;
}

static int derive_problem(struct ks_derive *d, size_t first, size_t end, struct ks_err *err)
{
    int rc = ks_join_problem(&d->join, d->rows + first, end - first, err);

    for (size_t i = first; rc == 0 && i < end; i++) {
        put_speeds(d, i);
        put_code(d, i);
    }
    return rc;
}

static int bind(struct ks_derive *d, const struct ks_df *f, struct ks_err *err)
{
    struct ks_obs_reader reader;
    int rc = ks_obs_bind(f, &reader, err);

    if (rc == 0)
        rc = ks_df_need(f, "flops", KS_DF_F64, &d->flops, err);
    if (rc == 0)
        rc = ks_df_need(f, "min_bytes", KS_DF_F64, &d->min_bytes, err);
    if (rc == 0)
        rc = ks_df_need(f, "outcome", KS_DF_TEXT, &d->outcomes, err);
    if (rc == 0)
        rc = ks_df_need(f, "rounds_time_ns", KS_DF_F64, &d->rounds_time, err);
    for (size_t i = 0; rc == 0 && i < f->n_rows; i++)
        ks_obs_read(&reader, i, &d->rows[i]);
    return rc;
}

static void show(const struct ks_derive *d, struct ks_df *f)
{
    for (size_t i = 0; i < f->n_columns; i++) {
        struct ks_df_column *c = &f->columns[i];

        for (size_t k = 0; k < N_REALS; k++) {
            if (strcmp(c->origin, real_names[k]) != 0)
                continue;
            c->code = NULL;
            c->values.f64 = d->value[k];
            c->missing = d->missing[k];
            c->n_values = f->n_rows;
        }
        if (strcmp(c->origin, OUTCOME_NAME) == 0) {
            c->values.text = d->outcomes->values.text;
            c->n_values = d->outcomes->n_values;
            c->code = d->outcome;
        }
    }
}

int ks_derive(struct ks_derive *d, struct ks_df *f, struct ks_err *err)
{
    bool is_any = false;
    int rc = 0;

    for (size_t i = 0; i < f->n_columns; i++)
        is_any = is_any || is_derived(f->columns[i].origin);
    if (!is_any)
        return 0;
    rc = reserve(d, f->n_rows, err);
    if (rc == 0)
        rc = bind(d, f, err);
    for (size_t first = 0, end; rc == 0 && first < f->n_rows; first = end) {
        for (end = first + 1; end < f->n_rows && d->rows[end].problem == d->rows[first].problem;)
            end++;
        rc = derive_problem(d, first, end, err);
    }
    if (rc == 0)
        show(d, f);
    return rc;
}
