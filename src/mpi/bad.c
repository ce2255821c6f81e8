/* SPDX-License-Identifier: MIT */
/* bad.c - a hash table of the cells that failed, by problem and instance */
#include "mpi/bad.h"

#include "base/hash.h"

#include <stdlib.h>

#define LEAST 64u /* a power of two, as the number of lists is */
#define NONE  UINT32_MAX

static uint32_t *list_of(const struct ks_bad *l, uint32_t ip, uint32_t ii)
{
    return &l->first[ks_mix64((uint64_t)ip << 32 | ii) & (l->cap - 1)];
}

static void put(struct ks_bad *l, uint32_t at)
{
    uint32_t *first = list_of(l, l->v[at].i_problem, l->v[at].i_instance);
    l->v[at].next = *first;
    *first = at;
}

static void take(struct ks_bad *l, uint32_t at)
{
    uint32_t *p = list_of(l, l->v[at].i_problem, l->v[at].i_instance);
    while (*p != at)
        p = &l->v[*p].next;
    *p = l->v[at].next;
}

static int grow(struct ks_bad *l, struct ks_err *err)
{
    uint32_t want = l->cap ? l->cap * 2 : LEAST;
    uint32_t *first = malloc(want * sizeof(*first));
    struct ks_bad_cell *v = first ? realloc(l->v, want * sizeof(*v)) : NULL;
    if (!v) {
        free(first);
        return ks_fail(err, KS_ENOMEM, "out of memory for %u failures", want);
    }
    free(l->first);
    l->v = v;
    l->first = first;
    l->cap = want;
    for (uint32_t k = 0; k < want; k++)
        first[k] = NONE;
    for (uint32_t k = 0; k < l->n; k++)
        put(l, k);
    return 0;
}

struct ks_bad_cell *ks_bad_find(const struct ks_bad *l, uint32_t ip, uint32_t ii)
{
    uint32_t k = l->n ? *list_of(l, ip, ii) : NONE;
    while (k != NONE && (l->v[k].i_problem != ip || l->v[k].i_instance != ii))
        k = l->v[k].next;
    return k == NONE ? NULL : &l->v[k];
}

struct ks_bad_cell *ks_bad_add(struct ks_bad *l, uint32_t ip, uint32_t ii, struct ks_err *err)
{
    if (l->n == l->cap && grow(l, err) < 0)
        return NULL;
    l->v[l->n] = (struct ks_bad_cell){ .rank = KS_NO_DEVICE, .i_problem = ip, .i_instance = ii };
    put(l, l->n);
    return &l->v[l->n++];
}

void ks_bad_drop(struct ks_bad *l, struct ks_bad_cell *b)
{
    uint32_t at = (uint32_t)(b - l->v), last = l->n - 1;
    take(l, at);
    if (at != last) {
        take(l, last);
        l->v[at] = l->v[last];
        put(l, at);
    }
    l->n = last;
}

void ks_bad_release(struct ks_bad *l)
{
    free(l->v);
    free(l->first);
    *l = (struct ks_bad){ .n = 0 };
}
