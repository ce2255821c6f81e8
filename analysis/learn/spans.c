/* SPDX-License-Identifier: MIT */
#include "analysis/learn/spans.h"
#include "base/hash.h"
#include "record/stats.h"

#include <math.h>
#include <stdlib.h>

#define N_DRAWS 1000u
#define SEED    3u

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
static double over_cells(const struct sums *sums, size_t n, const size_t *cells, enum ks_span s)
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

static void summarize(const struct sums *sums, size_t n, enum ks_span s, double *scratch,
                      size_t *drawn, struct ks_spread_at *out)
{
    uint64_t rng = SEED;
    double draws[N_DRAWS];

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
    out->all = over_cells(sums, n, NULL, s);
    for (size_t d = 0; d < N_DRAWS; d++) {
        for (size_t i = 0; i < n; i++)
            drawn[i] = ks_rng_below(&rng, n);
        draws[d] = over_cells(sums, n, drawn, s);
    }
    ks_stats_sort(draws, N_DRAWS);
    out->lo = draws[N_DRAWS / 40];
    out->hi = draws[N_DRAWS - 1 - N_DRAWS / 40];
}

int ks_spans(const struct ks_moment *m, size_t n, size_t most, struct ks_spread_at out[KS_N_SPANS],
             struct ks_err *err)
{
    struct sums *sums = calloc(n + 1, sizeof(*sums));
    double *scratch = calloc(n + 1, sizeof(*scratch));
    size_t *drawn = calloc(n + 1, sizeof(*drawn)), n_cells = 0;
    bool is_enough = sums && scratch && drawn;

    for (size_t i = 0, end; is_enough && i < n; i = end) {
        for (end = i + 1; end < n && m[end].cell == m[i].cell;)
            end++;
        add_cell(&m[i], end - i, most, &sums[n_cells++]);
    }
    for (unsigned s = 0; is_enough && s < KS_N_SPANS; s++)
        summarize(sums, n_cells, s, scratch, drawn, &out[s]);
    free(sums);
    free(scratch);
    free(drawn);
    return is_enough ? 0 : ks_fail(err, KS_ENOMEM, "out of memory for %zu values", n);
}
