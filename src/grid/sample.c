/* SPDX-License-Identifier: MIT */
/* sample.c - draws seeded samples of a problem set, of all problems alike or by shape class */
#include "base/hash.h"
#include "grid/problem_class.h"
#include "grid/problems.h"

#include <stdlib.h>
#include <string.h>

static int class_of(const struct ks_problem_set *s, uint32_t i)
{
    const struct ks_problem p = ks_problem_table_get(&s->problems, i);

    return (int)ks_problem_class(&p);
}

/* Marks n of the problems whose class is wanted (or of all: -1), of which there are `total`.
 * Selection sampling: each is taken with probability wanted / left. Source: Knuth, TAOCP 2,
 * algorithm 3.4.2 S. */
static void choose(const struct ks_problem_set *s, int wanted, uint32_t total, uint32_t n,
                   uint64_t seed, bool *is_kept)
{
    uint32_t n_kept = 0, n_seen = 0;

    for (uint32_t i = 0; n_kept < n; i++) {
        if (wanted >= 0 && class_of(s, i) != wanted)
            continue;
        if (ks_rng_below(&seed, total - n_seen++) < n - n_kept) {
            is_kept[i] = true;
            n_kept++;
        }
    }
}

int ks_problem_set_sample(struct ks_problem_set *s, uint32_t n, uint64_t seed, struct ks_err *err)
{
    bool *is_kept;
    int rc;

    if (n >= s->n)
        return 0;
    is_kept = calloc((size_t)s->n + 1, sizeof *is_kept);
    if (!is_kept)
        return ks_fail(err, KS_ENOMEM, "no memory for a sample");
    choose(s, -1, s->n, n, seed, is_kept);
    rc = ks_problem_set_keep(s, is_kept, err);
    free(is_kept);
    return rc;
}

/* Shares of n problems among the classes: each is n x size / total, rounded so that they add up and
 * none that occurs is without one. A share's error times total is share x total - n x size. */
static int64_t error_of(uint64_t share, uint64_t size, uint64_t n, uint64_t total)
{
    return (int64_t)(share * total) - (int64_t)(n * size);
}

static int most_short(const uint32_t *share, const uint32_t *size, uint32_t n, uint32_t total)
{
    int best = -1;

    for (int c = 0; c < KS_N_PROBLEM_CLASSES; c++)
        if (share[c] < size[c] && (best < 0 || error_of(share[c], size[c], n, total) <
                                                   error_of(share[best], size[best], n, total)))
            best = c;
    return best;
}

static int most_over(const uint32_t *share, const uint32_t *size, uint32_t n, uint32_t total)
{
    int best = -1;

    for (int c = 0; c < KS_N_PROBLEM_CLASSES; c++)
        if (share[c] > 1 && (best < 0 || error_of(share[c], size[c], n, total) >
                                             error_of(share[best], size[best], n, total)))
            best = c;
    return best;
}

static void allot(const uint32_t size[KS_N_PROBLEM_CLASSES], uint32_t n, uint32_t total,
                  uint32_t share_out[KS_N_PROBLEM_CLASSES])
{
    uint32_t sum = 0;

    for (int c = 0; c < KS_N_PROBLEM_CLASSES; c++) {
        share_out[c] = (uint32_t)((uint64_t)n * size[c] / total);
        if (share_out[c] == 0 && size[c] > 0)
            share_out[c] = 1;
        sum += share_out[c];
    }
    for (; sum < n; sum++)
        share_out[most_short(share_out, size, n, total)]++;
    for (; sum > n; sum--)
        share_out[most_over(share_out, size, n, total)]--;
}

int ks_problem_set_stratify(struct ks_problem_set *s, uint32_t n, uint64_t seed, struct ks_err *err)
{
    uint32_t size[KS_N_PROBLEM_CLASSES] = { 0 }, share[KS_N_PROBLEM_CLASSES], n_classes = 0;
    bool *is_kept;
    int rc;

    if (n >= s->n)
        return 0;
    for (uint32_t i = 0; i < s->n; i++)
        n_classes += size[class_of(s, i)]++ == 0;
    if (n < n_classes)
        return ks_fail(err, KS_EINVAL,
                       "a stratified sample of %u cannot hold one of each of the %u shape classes",
                       n, n_classes);
    is_kept = calloc((size_t)s->n + 1, sizeof *is_kept);
    if (!is_kept)
        return ks_fail(err, KS_ENOMEM, "no memory for a sample");
    allot(size, n, s->n, share);
    for (int c = 0; c < KS_N_PROBLEM_CLASSES; c++)
        choose(s, c, size[c], share[c], ks_mix64(seed ^ ks_mix64((uint64_t)c)), is_kept);
    rc = ks_problem_set_keep(s, is_kept, err);
    free(is_kept);
    return rc;
}
