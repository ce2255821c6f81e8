/* SPDX-License-Identifier: MIT */
/* freivalds.h - arithmetic of Freivalds' check modulo 2^61 - 1, for the proofs of exact references.
 *
 * With v random, v C = (v A) B holds for a C that is not A B with probability 1 / KS_MODULUS for
 * each wrong row of C. A residue is kept as low + high 2^31 in two arrays of int32, so that
 * products with small integers fit int64 and loops vectorise. Source: Freivalds 1977. */
#ifndef KS_OP_FREIVALDS_H
#define KS_OP_FREIVALDS_H

#include "base/err.h"

#include <stdbool.h>
#include <stdint.h>

#define KS_MODULUS    (((uint64_t)1 << 61) - 1) /* a prime */
#define KS_EXACT_MAX  3                         /* magnitude of exact data */
#define KS_RESULT_MAX ((int64_t)1 << 24)        /* magnitude of sums that are exact in fp32 */

struct ks_residues {
    int32_t *low, *high; /* < 2^31, < 2^30 */
};

/* Sums of small integers times residues. */
struct ks_residue_sums {
    int64_t *low, *high; /* [n] */
    int64_t n, room;     /* what may be added before the sums must be settled */
};

uint64_t ks_modulo(__int128 value);
void ks_residue_set(const struct ks_residues *r, int64_t i, uint64_t value);
uint64_t ks_residue_get(const struct ks_residues *r, int64_t i);
/* n random ones. */
void ks_residues_draw(const struct ks_residues *r, int64_t n, uint64_t *rng);

/* KS_EINVAL when one is no integer of magnitude at most KS_EXACT_MAX. */
int ks_exact_data(const float *src, int64_t n, int32_t *dst, struct ks_err *err);
/* False when one is no integer of magnitude at most KS_RESULT_MAX. */
bool ks_exact_results(const double *src, int64_t n, int32_t *dst);
/* to[column][row] = from[row][column] */
void ks_turn(const int32_t *from, int64_t n_rows, int64_t n_columns, int32_t *to);

/* sum x r over n terms; |x| <= max. */
__int128 ks_residue_dot(const int32_t *x, const struct ks_residues *r, int64_t first, int64_t n,
                        int64_t max);

void ks_residue_sums_clear(struct ks_residue_sums *s);
/* Before every s->n new products at most, with factors of magnitude at most max. */
void ks_residue_sums_reserve(struct ks_residue_sums *s, int64_t max);
/* s[i] += x[i] v */
void ks_residue_sums_add(struct ks_residue_sums *s, const int32_t *x, uint64_t v);
/* s[first + i] += x[i] r[i] for n of them */
void ks_residue_sums_add_each(struct ks_residue_sums *s, int64_t first, const int32_t *x,
                              const struct ks_residues *r, int64_t n);
uint64_t ks_residue_sums_get(const struct ks_residue_sums *s, int64_t i);

#endif
