/* SPDX-License-Identifier: MIT */
/* sums.h - sums of products in double, the inner loops of the references.
 *
 * Operands are no wider than fp32, so a product of two is exact in double and a fused and an
 * unfused multiply-add give the same bits. The order of the sums is fixed: every vector width gives
 * the same result. */
#ifndef KS_OP_SUMS_H
#define KS_OP_SUMS_H

#include <stdbool.h>
#include <stdint.h>

#define KS_SUM_LANES 8 /* n_lanes is a multiple of this */
#define KS_SUM_ROWS  8 /* rows that share a pass over w at most */

/* r[row][lane] += sum over steps of x w, and s[row][lane] += sum of |x||w| where s is wanted.
 * w lies in blocks of KS_SUM_LANES lanes: w[lane / 8 * w_block + step * 8 + lane % 8]. */
struct ks_sums {
    double *r, *s; /* [n_rows][n_lanes]; s NULL: not wanted */
    const double *x;
    int64_t x_row, x_step; /* doubles from one row, from one step to the next in x */
    const double *w;
    int64_t w_block;
    int64_t n_rows, n_steps, n_lanes; /* n_rows <= KS_SUM_ROWS */
    bool is_first;                    /* r and s are set, not added to */
};

/* One x for all lanes: x[row * x_row + step * x_step]. */
void ks_sums_add(const struct ks_sums *sums);
/* An x for each lane: x[row * x_row + step * x_step + lane]. */
void ks_sums_add_lanes(const struct ks_sums *sums);

/* to[row * pitch + column] = from[row * from_row + column * from_column] */
struct ks_widen {
    double *to;
    int64_t pitch;
    const float *from;
    int64_t from_row, from_column, n_rows, n_columns;
};
void ks_widen(const struct ks_widen *m);

/* The same from double to double. */
struct ks_spread {
    double *to;
    int64_t to_row, to_column;
    const double *from;
    int64_t pitch, n_rows, n_columns;
};
void ks_spread(const struct ks_spread *m);

static inline int64_t ks_sum_lanes(int64_t n)
{
    return (n + KS_SUM_LANES - 1) / KS_SUM_LANES * KS_SUM_LANES;
}

/* Erases and frees an array from the heap, NULL is fine: kernels use the same heap, and results
 * must not be found there. */
void ks_sums_free(double *sums);

#endif
