/* SPDX-License-Identifier: MIT */
/* same_problems.h - compares tables of problems. Include it behind cmocka.h. */
#ifndef TESTS_UNIT_SAME_PROBLEMS_H
#define TESTS_UNIT_SAME_PROBLEMS_H

#include "grid/problem_table.h"

/* The first n problems of both are the same, count and name included. */
static inline void expect_same(const struct ks_problem_table *a, const struct ks_problem_table *b,
                               uint32_t n)
{
    assert_true(a->n >= n && b->n >= n);
    for (uint32_t i = 0; i < n; i++) {
        const struct ks_problem p = ks_problem_table_get(a, i), q = ks_problem_table_get(b, i);

        assert_memory_equal(&p, &q, sizeof p);
    }
}

#endif
