/* SPDX-License-Identifier: MIT */
#include "op/sums.h"
#include "op/clones.h"

#include <string.h>

#define INLINE static inline __attribute__((always_inline))
/* A block of lanes, and its bits. */
#define BLOCK double __attribute__((vector_size(KS_SUM_LANES * 8)))
#define BITS  int64_t __attribute__((vector_size(KS_SUM_LANES * 8)))

/* Accumulators stay in registers while the steps go by; n_rows and both flags are constants where
 * it is inlined. */
INLINE void add_block(const struct ks_sums *m, int64_t lane, int64_t row, int n_rows,
                      bool wants_abs, bool has_lanes)
{
    const double *w = m->w + lane / KS_SUM_LANES * m->w_block;
    const double *x = m->x + row * m->x_row + (has_lanes ? lane : 0);
    int64_t at = row * m->n_lanes + lane;
    BITS magnitude = (BITS){ 0 } + INT64_MAX;
    BLOCK r[KS_SUM_ROWS], s[KS_SUM_ROWS];

    for (int i = 0; i < n_rows; i++) {
        memcpy(&r[i], m->r + at + i * m->n_lanes, sizeof(r[i]));
        if (wants_abs)
            memcpy(&s[i], m->s + at + i * m->n_lanes, sizeof(s[i]));
    }
    for (int64_t step = 0; step < m->n_steps; step++, w += KS_SUM_LANES, x += m->x_step) {
        BLOCK factor;

        memcpy(&factor, w, sizeof(factor));
        for (int i = 0; i < n_rows; i++) {
            BLOCK other = x[i * m->x_row] - (BLOCK){ 0 };

            if (has_lanes)
                memcpy(&other, x + i * m->x_row, sizeof(other));
            r[i] += other * factor;
            if (wants_abs)
                s[i] += (BLOCK)((BITS)other & magnitude) * (BLOCK)((BITS)factor & magnitude);
        }
    }
    for (int i = 0; i < n_rows; i++) {
        memcpy(m->r + at + i * m->n_lanes, &r[i], sizeof(r[i]));
        if (wants_abs)
            memcpy(m->s + at + i * m->n_lanes, &s[i], sizeof(s[i]));
    }
}

INLINE void add_all(const struct ks_sums *m, bool wants_abs, bool has_lanes)
{
    for (int64_t lane = 0; lane < m->n_lanes; lane += KS_SUM_LANES) {
        int64_t row = 0;

        if (m->n_rows == 8) {
            add_block(m, lane, 0, 8, wants_abs, has_lanes);
            continue;
        }
        if (m->n_rows == 7) {
            add_block(m, lane, 0, 7, wants_abs, has_lanes);
            continue;
        }
        for (; row + 4 <= m->n_rows; row += 4)
            add_block(m, lane, row, 4, wants_abs, has_lanes);
        for (; row + 2 <= m->n_rows; row += 2)
            add_block(m, lane, row, 2, wants_abs, has_lanes);
        if (row < m->n_rows)
            add_block(m, lane, row, 1, wants_abs, has_lanes);
    }
}

KS_CLONES static void add_r(const struct ks_sums *m)
{
    add_all(m, false, false);
}

KS_CLONES static void add_both(const struct ks_sums *m)
{
    add_all(m, true, false);
}

KS_CLONES static void add_lanes_r(const struct ks_sums *m)
{
    add_all(m, false, true);
}

KS_CLONES static void add_lanes_both(const struct ks_sums *m)
{
    add_all(m, true, true);
}

void ks_sums_add(const struct ks_sums *sums)
{
    if (sums->s)
        add_both(sums);
    else
        add_r(sums);
}

void ks_sums_add_lanes(const struct ks_sums *sums)
{
    if (sums->s)
        add_lanes_both(sums);
    else
        add_lanes_r(sums);
}

KS_CLONES static void widen_rows(const struct ks_widen *m)
{
    for (int64_t row = 0; row < m->n_rows; row++) {
        const float *restrict from = m->from + row * m->from_row;
        double *restrict to = m->to + row * m->pitch;

        for (int64_t i = 0; i < m->n_columns; i++)
            to[i] = (double)from[i];
    }
}

/* Whole cache lines of `to` at a time, from as many streams. */
static void widen_columns(const struct ks_widen *m)
{
    for (int64_t first = 0; first < m->n_columns; first += KS_SUM_LANES) {
        int64_t rest = m->n_columns - first;
        int64_t n = rest < KS_SUM_LANES ? rest : KS_SUM_LANES;
        const float *from = m->from + first * m->from_column;

        for (int64_t row = 0; row < m->n_rows; row++)
            for (int64_t i = 0; i < n; i++)
                m->to[row * m->pitch + first + i] =
                    (double)from[row * m->from_row + i * m->from_column];
    }
}

void ks_widen(const struct ks_widen *m)
{
    struct ks_widen flat = *m;

    if (m->from_column != 1) {
        widen_columns(m);
        return;
    }
    if (m->pitch == m->n_columns && m->from_row == m->n_columns) {
        flat.n_columns *= m->n_rows;
        flat.n_rows = 1;
    }
    widen_rows(&flat);
}

void ks_spread(const struct ks_spread *m)
{
    for (int64_t row = 0; m->to_column == 1 && row < m->n_rows; row++)
        memcpy(m->to + row * m->to_row, m->from + row * m->pitch,
               (size_t)m->n_columns * sizeof(double));
    for (int64_t i = 0; m->to_column != 1 && i < m->n_columns; i++)
        for (int64_t row = 0; row < m->n_rows; row++)
            m->to[row * m->to_row + i * m->to_column] = m->from[row * m->pitch + i];
}
