/* SPDX-License-Identifier: MIT */
/* race_table.c - prints races by kind of noise: regret, cost, violations of the guarantee */
#include "tests/bench/race_table.h"
#include "record/stats.h"

#include <stdio.h>
#include <stdlib.h>

void race_table_head(void)
{
    printf("# noise          races  violated best_dropped share_%% /round_0  P50_%%    P90_%%    "
           "max_%%  stops\n");
}

void race_table_count(struct race_table_row *row, const struct race_result *r)
{
    row->n_violated += r->is_violated;
    row->n_best += r->is_best_dropped;
    row->n_stop[r->stop]++;
    row->share += r->share;
    row->over[row->n] = r->over_first;
    if (row->plain)
        row->plain[row->n] = r->plain_regret;
    row->regret[row->n++] = r->regret;
}

static double mean(const double *x, uint32_t n)
{
    double sum = 0;

    for (uint32_t i = 0; i < n; i++)
        sum += x[i] / n;
    return sum;
}

static void print_plain(const char *name, const struct race_table_row *row)
{
    uint32_t n = row->n;

    ks_stats_sort(row->plain, n);
    printf("# %-13s regret mean %.4f %%, P90 %.3f %%; plain sampling in 1 / %.1f of the time mean "
           "%.4f %%, P90 %.3f %%\n",
           name, 100 * mean(row->regret, n), 100 * row->regret[n * 9 / 10], RACE_SIM_PART,
           100 * mean(row->plain, n), 100 * row->plain[n * 9 / 10]);
    printf("%s.regret_mean %.8f\n%s.plain_mean %.8f\n%s.plain_p90 %.6f\n", name,
           mean(row->regret, n), name, mean(row->plain, n), name, row->plain[n * 9 / 10]);
}

void race_table_print(const char *name, const struct race_table_row *row)
{
    uint32_t n = row->n;

    ks_stats_sort(row->regret, n);
    ks_stats_sort(row->over, n);
    printf("# %-13s %6u %9u %12u %7.1f %8.2f %8.3f %8.3f %8.3f  ", name, n, row->n_violated,
           row->n_best, 100 * row->share / n, row->over[n / 2], 100 * row->regret[n / 2],
           100 * row->regret[n * 9 / 10], 100 * row->regret[n - 1]);
    for (uint32_t k = KS_RACE_ALONE; k < KS_RACE_CUT; k++)
        printf(" %s %u", ks_race_stop_text(k), row->n_stop[k]);
    printf("\n%s.violations %.6f\n%s.share %.4f\n%s.regret_p90 %.6f\n", name,
           (double)row->n_violated / n, name, row->share / n, name, row->regret[n * 9 / 10]);
    if (row->plain)
        print_plain(name, row);
}
