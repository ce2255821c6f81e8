/* SPDX-License-Identifier: MIT */
/* alias.c - groups instances that share machine code, and draws which are measured as control */
#include "mpi/alias.h"

#include "base/order.h"

#include <stdlib.h>

struct entry {
    struct ks_id128 code;
    uint32_t seniority, instance;
};

static int by_code(const void *x, const void *y)
{
    const struct entry *a = x, *b = y;
    int d = ks_compare_u64(a->code.hi, b->code.hi);
    if (d == 0)
        d = ks_compare_u64(a->code.lo, b->code.lo);
    return d ? d : ks_compare_u64(a->seniority, b->seniority);
}

/* Entries with a code, sorted. */
static uint32_t sort_codes(const struct ks_id128 *code, const uint32_t *seniority, uint32_t n,
                           struct entry *e)
{
    uint32_t known = 0;
    for (uint32_t i = 0; i < n; i++)
        if (!ks_id128_is_zero(code[i]))
            e[known++] = (struct entry){ code[i], seniority ? seniority[i] : i, i };
    qsort(e, known, sizeof(*e), by_code);
    return known;
}

static void fill(struct ks_aliases *a, const struct entry *e, uint32_t known)
{
    uint32_t at = 0;
    for (uint32_t i = 0, end; i < known; i = end) {
        for (end = i + 1; end < known && ks_id128_eq(e[i].code, e[end].code);)
            end++;
        if (end - i < 2)
            continue;
        a->first[a->n_groups] = at;
        for (uint32_t k = i; k < end; k++) {
            a->group[e[k].instance] = a->n_groups;
            a->member[at++] = e[k].instance;
        }
        a->n_groups++;
    }
    a->first[a->n_groups] = at;
}

int ks_aliases_make(const struct ks_id128 *code, const uint32_t *seniority, uint32_t n,
                    struct ks_aliases *out, struct ks_err *err)
{
    size_t bytes = (n + 1u) * sizeof(uint32_t);
    struct entry *e = malloc((n + 1u) * sizeof(*e));
    struct ks_aliases a = { .group = malloc(bytes),
                            .first = malloc(bytes),
                            .member = malloc(bytes) };
    if (!e || !a.group || !a.first || !a.member) {
        free(e);
        ks_aliases_release(&a);
        return ks_fail(err, KS_ENOMEM, "aliases of %u instances: out of memory", n);
    }
    for (uint32_t i = 0; i < n; i++)
        a.group[i] = KS_NO_ALIAS;
    fill(&a, e, sort_codes(code, seniority, n, e));
    free(e);
    *out = a;
    return 0;
}

void ks_aliases_release(struct ks_aliases *a)
{
    free(a->group);
    free(a->first);
    free(a->member);
    *a = (struct ks_aliases){ 0 };
}

bool ks_alias_is_control(uint64_t problem, uint64_t instance, double share)
{
    uint64_t draw = ks_mix64(ks_mix64(problem) ^ instance) >> 11; /* 53 bits */
    return (double)draw * 0x1p-53 < share;
}
