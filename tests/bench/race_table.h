/* SPDX-License-Identifier: MIT */
/* race_table.h - what many races came to: one line per kind of noise. */
#ifndef KS_BENCH_RACE_TABLE_H
#define KS_BENCH_RACE_TABLE_H

#include "tests/bench/race_sim.h"

#define RACES_A_DEVICE 50u /* that share a pool; the first of them has pilots */

struct race_table_row {
    uint32_t n, n_violated, n_best, n_stop[KS_RACE_CUT + 1];
    double share;
    double *regret, *over; /* [races]; the caller's */
    double *plain;         /* likewise, of plain sampling; NULL: not known */
};

void race_table_head(void);
void race_table_count(struct race_table_row *row, const struct race_result *r);
/* Sorts regret, over and plain. Prints a line that begins with '#', then "NAME.violations X" and
 * the like.
 */
void race_table_print(const char *name, const struct race_table_row *row);

#endif
