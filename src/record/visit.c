/* SPDX-License-Identifier: MIT */
/* visit.c - sorts passes into visits and decides which of these are closed */
#include "record/visit.h"
#include "base/order.h"

#include <stdlib.h>

static int by_round(const struct ks_visit_pass *a, const struct ks_visit_pass *b)
{
    int d = ks_compare_u64(a->race, b->race);

    d = d ? d : ks_compare_u64(a->device_id, b->device_id);
    return d ? d : ks_compare_u64(a->round, b->round);
}

static int by_visit(const struct ks_visit_pass *a, const struct ks_visit_pass *b)
{
    int d = by_round(a, b);

    return d ? d : ks_compare_u64(a->block_id, b->block_id);
}

static int by_instance(const struct ks_visit_pass *a, const struct ks_visit_pass *b)
{
    int d = by_visit(a, b);

    return d ? d : ks_compare_u64(a->instance, b->instance);
}

static int by_place(const void *x, const void *y)
{
    const struct ks_visit_pass *a = x, *b = y;
    int d = by_instance(a, b);

    return d ? d : ks_compare_u64(a->i, b->i);
}

/* Of the passes from `first` on the end of those that are equal by this order. */
static size_t end_of(const struct ks_visit_pass *p, size_t first, size_t n,
                     int (*by)(const struct ks_visit_pass *, const struct ks_visit_pass *))
{
    size_t end = first + 1;

    while (end < n && by(&p[first], &p[end]) == 0)
        end++;
    return end;
}

struct part { /* an instance in a visit */
    uint32_t n_timed, n_visit;
    bool is_void, has_failed, is_clean;
};

static struct part part_of(const struct ks_visit_pass *p, size_t n)
{
    struct part part = { .is_clean = true };

    for (size_t i = 0; i < n; i++) {
        part.n_timed += p[i].is_timed;
        part.n_visit = p[i].n_visit > part.n_visit ? p[i].n_visit : part.n_visit;
        part.is_void |= p[i].is_void;
        part.has_failed |= !p[i].is_timed;
        part.is_clean &= p[i].is_clean;
    }
    return part;
}

/* p: [n] of one visit. */
static bool is_closed(const struct ks_visit_pass *p, size_t n, uint32_t passes)
{
    uint32_t n_done = 0, n_visit = 0;

    for (size_t i = 0, end; i < n; i = end) {
        struct part part;

        end = end_of(p, i, n, by_instance);
        part = part_of(&p[i], end - i);
        n_visit = part.n_visit > n_visit ? part.n_visit : n_visit;
        if (!part.is_void && !part.has_failed && part.n_timed < passes)
            return false;
        n_done += !part.is_void;
    }
    return n_done >= n_visit;
}

void ks_visits_close(struct ks_visit_pass *p, size_t n, uint32_t passes)
{
    const struct ks_visit_pass *last = NULL; /* of the closed visit before */

    if (n)
        qsort(p, n, sizeof(*p), by_place);
    for (size_t i = 0, end; i < n; i = end) {
        bool closes, counts;

        end = end_of(p, i, n, by_visit);
        closes = is_closed(&p[i], end - i, passes);
        counts = closes && !(last && by_round(last, &p[i]) == 0);
        last = closes ? &p[i] : last;
        for (size_t k = i; k < end; k++) {
            p[k].is_closed = closes;
            p[k].counts = counts;
        }
    }
}

/* Of the values on the device that the passes from `first` on are of. */
static size_t count_clean(const struct ks_visit_pass *p, size_t first, size_t n)
{
    size_t n_clean = 0;

    for (size_t i = first, end; i < n && p[i].device_id == p[first].device_id; i = end) {
        struct part part;

        end = end_of(p, i, n, by_instance);
        part = part_of(&p[i], end - i);
        n_clean += p[i].counts && part.is_clean && !part.has_failed;
    }
    return n_clean;
}

uint64_t ks_visits_device(const struct ks_visit_pass *p, size_t n, uint64_t own)
{
    uint64_t best = own;
    size_t n_best = 0;

    for (size_t i = 0; i < n; i++) {
        const uint64_t id = p[i].device_id;
        size_t n_clean;

        if (i > 0 && p[i - 1].device_id == id)
            continue;
        n_clean = count_clean(p, i, n);
        if (n_clean > n_best || (n_clean == n_best && n_clean > 0 && id == own)) {
            best = id;
            n_best = n_clean;
        }
    }
    return best;
}
