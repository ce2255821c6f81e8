/* SPDX-License-Identifier: MIT */
/* spans.c - averages semivariances over cells, with bootstrap intervals */
#include "analysis/learn/spans.h"
#include "analysis/learn/bootstrap.h"
#include "record/stats.h"

#include <math.h>
#include <stdlib.h>

#define SEED 3u

const char *const ks_span_names[] = { "0.1 s",         "1 s",          "10 s",        "100 s",
                                      "other buffers", "other worker", "other sweep", NULL };

static enum ks_span span_of(const struct ks_moment *a, const struct ks_moment *b)
{
    double apart = fabs(a->at_s - b->at_s);

    if (a->sweep != b->sweep)
        return KS_SPAN_SWEEP;
    if (a->worker != b->worker)
        return KS_SPAN_WORKER;
    if (a->buffer != b->buffer)
        return KS_SPAN_BUFFER;
    return apart < 0.3  ? KS_SPAN_0_1S
           : apart < 3  ? KS_SPAN_1S
           : apart < 30 ? KS_SPAN_10S
                        : KS_SPAN_100S;
}

struct sums { /* of one cell */
    double square[KS_N_SPANS];
    size_t n[KS_N_SPANS];
};

/* Every step-th pair, so that no kind has many more than `most`. */
static void add_cell(const struct ks_moment *m, size_t n, size_t most, struct sums *out)
{
    size_t count[KS_N_SPANS] = { 0 }, step[KS_N_SPANS], seen[KS_N_SPANS] = { 0 };

    for (size_t i = 0; i < n; i++)
        for (size_t k = i + 1; k < n; k++)
            count[span_of(&m[i], &m[k])]++;
    for (unsigned s = 0; s < KS_N_SPANS; s++)
        step[s] = 1 + count[s] / (most ? most : 1);
    for (size_t i = 0; i < n; i++)
        for (size_t k = i + 1; k < n; k++) {
            enum ks_span s = span_of(&m[i], &m[k]);

            if (seen[s]++ % step[s])
                continue;
            out->square[s] += pow(m[i].value - m[k].value, 2) / 2;
            out->n[s]++;
        }
}

/* Mean over cells, each cell counting once. cells: NULL = all n. */
static double over_cells(const struct sums *sums, size_t n, const uint32_t *cells, enum ks_span s)
{
    double sum = 0;
    size_t kept = 0;

    for (size_t i = 0; i < n; i++) {
        const struct sums *c = &sums[cells ? cells[i] : i];

        if (c->n[s] == 0)
            continue;
        sum += c->square[s] / (double)c->n[s];
        kept++;
    }
    return kept ? sqrt(sum / (double)kept) : 0;
}

struct drawing {
    const struct sums *sums;
    size_t n;
};

static void figures(void *ctx, const uint32_t *cells, double *out)
{
    const struct drawing *d = ctx;

    for (unsigned s = 0; s < KS_N_SPANS; s++)
        out[s] = over_cells(d->sums, d->n, cells, s);
}

/* scratch: [n] */
static void summarize(const struct sums *sums, size_t n, enum ks_span s,
                      const struct ks_interval *all, double *scratch, struct ks_spread_at *out)
{
    *out = (struct ks_spread_at){ 0 };
    for (size_t i = 0; i < n; i++) {
        if (sums[i].n[s] == 0)
            continue;
        out->n_pairs += sums[i].n[s];
        scratch[out->n_cells++] = sqrt(sums[i].square[s] / (double)sums[i].n[s]);
    }
    if (out->n_cells == 0)
        return;
    ks_stats_sort(scratch, out->n_cells);
    out->typical = (scratch[(out->n_cells - 1) / 2] + scratch[out->n_cells / 2]) / 2;
    out->all = all->value;
    out->lo = all->lo;
    out->hi = all->hi;
}

static int summarize_all(const struct sums *sums, size_t n, double *scratch,
                         struct ks_spread_at *out, struct ks_err *err)
{
    struct drawing d = { sums, n };
    const struct ks_bootstrap b = { .n_units = n,
                                    .n_figures = KS_N_SPANS,
                                    .n_draws = KS_BOOTSTRAP_DRAWS,
                                    .level = 0.95,
                                    .seed = SEED,
                                    .ctx = &d,
                                    .figures = figures };
    struct ks_interval all[KS_N_SPANS];
    int rc = n ? ks_bootstrap(&b, all, err) : 0;

    for (unsigned s = 0; rc == 0 && s < KS_N_SPANS; s++)
        summarize(sums, n, s, &all[s], scratch, &out[s]);
    return rc;
}

int ks_spans(const struct ks_moment *m, size_t n, size_t most, struct ks_spread_at out[KS_N_SPANS],
             struct ks_err *err)
{
    struct sums *sums = calloc(n + 1, sizeof(*sums));
    double *scratch = calloc(n + 1, sizeof(*scratch));
    size_t n_cells = 0;
    int rc = sums && scratch ? 0 : ks_fail(err, KS_ENOMEM, "out of memory for %zu values", n);

    for (size_t i = 0, end; rc == 0 && i < n; i = end) {
        for (end = i + 1; end < n && m[end].cell == m[i].cell;)
            end++;
        add_cell(&m[i], end - i, most, &sums[n_cells++]);
    }
    if (rc == 0)
        rc = summarize_all(sums, n_cells, scratch, out, err);
    free(sums);
    free(scratch);
    return rc;
}
