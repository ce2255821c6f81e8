/* SPDX-License-Identifier: MIT */
/* sums.c - inner loops of the references: sums of products, widening, transposing */
#include "op/sums.h"
#include "op/clones.h"

#include <malloc.h>
#include <stdlib.h>
#include <string.h>

#define INLINE static inline __attribute__((always_inline))
/* A block of lanes, and its bits. */
#define BLOCK   double __attribute__((vector_size(KS_SUM_LANES * 8)))
#define BITS    int64_t __attribute__((vector_size(KS_SUM_LANES * 8)))
#define SINGLES float __attribute__((vector_size(KS_SUM_LANES * 4)))
#ifdef __clang__
#define PICK(a, b, ...) __builtin_shufflevector(a, b, __VA_ARGS__)
#else
#define PICK(a, b, ...) __builtin_shuffle(a, b, (BITS){ __VA_ARGS__ })
#endif

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
        r[i] = s[i] = (BLOCK){ 0 };
        if (m->is_first)
            continue;
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

/* Transposes 8 x 8: pairs of rows swap single elements, then pairs, then halves. */
INLINE void turn_block(BLOCK rows[8])
{
    for (int i = 0; i < 8; i += 2) {
        BLOCK a = rows[i], b = rows[i + 1];

        rows[i] = PICK(a, b, 0, 8, 2, 10, 4, 12, 6, 14);
        rows[i + 1] = PICK(a, b, 1, 9, 3, 11, 5, 13, 7, 15);
    }
    for (int i = 0; i < 8; i += i % 4 == 1 ? 3 : 1) {
        BLOCK a = rows[i], b = rows[i + 2];

        rows[i] = PICK(a, b, 0, 1, 8, 9, 4, 5, 12, 13);
        rows[i + 2] = PICK(a, b, 2, 3, 10, 11, 6, 7, 14, 15);
    }
    for (int i = 0; i < 4; i++) {
        BLOCK a = rows[i], b = rows[i + 4];

        rows[i] = PICK(a, b, 0, 1, 2, 3, 8, 9, 10, 11);
        rows[i + 4] = PICK(a, b, 4, 5, 6, 7, 12, 13, 14, 15);
    }
}

/* Elements one by one, whole cache lines of `to` at a time, from as many streams. */
static void widen_few(const struct ks_widen *m)
{
    for (int64_t row = 0; row < m->n_rows; row++)
        for (int64_t i = 0; i < m->n_columns; i++)
            m->to[row * m->pitch + i] = (double)m->from[row * m->from_row + i * m->from_column];
}

/* Rows of `to` that lie side by side in `from`: 8 x 8 are turned at a time. */
KS_CLONES static void widen_turned(const struct ks_widen *m, int64_t n_rows)
{
    for (int64_t row = 0; row < n_rows; row += KS_SUM_LANES) {
        BLOCK block[KS_SUM_LANES];

        for (int64_t i = 0; i < KS_SUM_LANES; i++) {
            SINGLES few;

            memcpy(&few, m->from + row + i * m->from_column, sizeof(few));
            block[i] = __builtin_convertvector(few, BLOCK);
        }
        turn_block(block);
        for (int64_t i = 0; i < KS_SUM_LANES; i++)
            memcpy(m->to + (row + i) * m->pitch, &block[i], sizeof(block[i]));
    }
}

static void widen_columns(const struct ks_widen *m)
{
    for (int64_t first = 0; first < m->n_columns; first += KS_SUM_LANES) {
        struct ks_widen some = *m;
        int64_t n_turned = 0;

        some.to += first;
        some.from += first * m->from_column;
        if (m->n_columns - first >= KS_SUM_LANES) {
            some.n_columns = KS_SUM_LANES;
            n_turned = m->from_row == 1 ? m->n_rows / KS_SUM_LANES * KS_SUM_LANES : 0;
            widen_turned(&some, n_turned);
        } else {
            some.n_columns = m->n_columns - first;
        }
        some.n_rows -= n_turned;
        some.to += n_turned * m->pitch;
        some.from += n_turned * m->from_row;
        widen_few(&some);
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

/* 8 rows that lie side by side in `to`, n_columns of them turned at a time. */
KS_CLONES static void spread_turned(const struct ks_spread *m, int64_t n_columns)
{
    for (int64_t column = 0; column < n_columns; column += KS_SUM_LANES) {
        BLOCK block[KS_SUM_LANES];

        for (int64_t i = 0; i < KS_SUM_LANES; i++)
            memcpy(&block[i], m->from + i * m->pitch + column, sizeof(block[i]));
        turn_block(block);
        for (int64_t i = 0; i < KS_SUM_LANES; i++)
            memcpy(m->to + (column + i) * m->to_column, &block[i], sizeof(block[i]));
    }
}

/* At most 8 rows. */
static void spread_columns(const struct ks_spread *m)
{
    bool can_turn = m->to_row == 1 && m->n_rows == KS_SUM_LANES;
    int64_t n_turned = can_turn ? m->n_columns / KS_SUM_LANES * KS_SUM_LANES : 0;

    spread_turned(m, n_turned);
    for (int64_t i = n_turned; i < m->n_columns; i++)
        for (int64_t row = 0; row < m->n_rows; row++)
            m->to[row * m->to_row + i * m->to_column] = m->from[row * m->pitch + i];
}

void ks_spread(const struct ks_spread *m)
{
    struct ks_spread some = *m;

    for (int64_t row = 0; m->to_column == 1 && row < m->n_rows; row++)
        memcpy(m->to + row * m->to_row, m->from + row * m->pitch,
               (size_t)m->n_columns * sizeof(double));
    for (int64_t row = 0; m->to_column != 1 && row < m->n_rows; row += some.n_rows) {
        some.to = m->to + row * m->to_row;
        some.from = m->from + row * m->pitch;
        some.n_rows = m->n_rows - row < KS_SUM_LANES ? m->n_rows - row : KS_SUM_LANES;
        spread_columns(&some);
    }
}

void ks_sums_free(double *sums)
{
    if (sums != NULL)
        explicit_bzero(sums, malloc_usable_size(sums));
    free(sums);
}
