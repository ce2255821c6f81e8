/* SPDX-License-Identifier: MIT */
/* bootstrap.c - intervals by resampling problems */
#include "analysis/learn/bootstrap.h"
#include "base/hash.h"
#include "record/stats.h"

#include <stdbool.h>
#include <stdlib.h>

/* unit: [n_units]; values: [n_figures][n_draws]; drawn: [n_figures] */
static void draw(const struct ks_bootstrap *b, uint32_t *unit, double *values, double *drawn,
                 struct ks_interval *out)
{
    const double tail = (1 - b->level) / 2;
    uint64_t rng = b->seed;

    for (size_t i = 0; i < b->n_units; i++)
        unit[i] = (uint32_t)i;
    b->figures(b->ctx, unit, drawn);
    for (uint32_t k = 0; k < b->n_figures; k++)
        out[k].value = drawn[k];
    for (uint32_t d = 0; d < b->n_draws; d++) {
        for (size_t i = 0; i < b->n_units; i++)
            unit[i] = (uint32_t)ks_rng_below(&rng, b->n_units);
        b->figures(b->ctx, unit, drawn);
        for (uint32_t k = 0; k < b->n_figures; k++)
            values[(size_t)k * b->n_draws + d] = drawn[k];
    }
    for (uint32_t k = 0; k < b->n_figures; k++) {
        double *of = values + (size_t)k * b->n_draws;

        ks_stats_sort(of, b->n_draws);
        out[k].lo = ks_stats_quantile(of, b->n_draws, tail);
        out[k].hi = ks_stats_quantile(of, b->n_draws, 1 - tail);
    }
}

int ks_bootstrap(const struct ks_bootstrap *b, struct ks_interval *out, struct ks_err *err)
{
    uint32_t *unit = malloc((b->n_units + 1) * sizeof(*unit));
    double *values = malloc(((size_t)b->n_figures * b->n_draws + 1) * sizeof(*values));
    double *drawn = malloc((b->n_figures + 1u) * sizeof(*drawn));
    const bool is_enough = unit && values && drawn;

    if (is_enough)
        draw(b, unit, values, drawn, out);
    free(unit);
    free(values);
    free(drawn);
    return is_enough ? 0 : ks_fail(err, KS_ENOMEM, "out of memory for %zu units", b->n_units);
}
