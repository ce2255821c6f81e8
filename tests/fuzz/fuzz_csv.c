/* SPDX-License-Identifier: MIT */
/* fuzz_csv.c - any bytes as a CSV list: counts add up, its problems read back as the same set */
#include "grid/problems.h"
#include "tests/fuzz/fuzz.h"

#include <stdlib.h>
#include <string.h>

static void demand(bool holds)
{
    if (!holds)
        abort();
}

static int read_csv(struct ks_problem_set *set, const void *bytes, size_t n, bool strict,
                    struct ks_err *err)
{
    ks_problem_set_init(set);
    return ks_importers[0]->read(set, bytes, n, "f", strict, err);
}

static void check_again(const struct ks_problem_set *set)
{
    struct ks_problem_set again;
    struct ks_err err = { 0 };
    struct ks_buf b;

    ks_buf_init(&b);
    for (uint32_t i = 0; i < set->n; i++) {
        const struct ks_problem p = ks_problem_table_get(&set->problems, i);

        if (i == 0 || set->problems.rows[i - 1].op != p.op)
            ks_problem_csv_header(p.op, &b);
        ks_problem_csv_row(&p, &b);
    }
    if (ks_buf_ok(&b)) {
        demand(read_csv(&again, b.data, b.len, true, &err) == 0);
        demand(again.n == set->n);
        for (uint32_t i = 0; i < set->n; i++)
            demand(ks_problem_table_id(&again.problems, i) ==
                       ks_problem_table_id(&set->problems, i) &&
                   again.problems.rows[i].count == set->problems.rows[i].count);
        ks_problem_set_release(&again);
    }
    ks_buf_release(&b);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n)
{
    struct ks_problem_set set;
    struct ks_err err = { 0 };
    int rc = read_csv(&set, bytes, n, false, &err);

    demand(set.n_commands == set.n_taken + set.n_refused);
    demand(set.n_refused == set.n_refusals);
    demand(rc == 0 || strstr(err.text, "f:"));
    if (rc == 0)
        demand(set.n_lines == set.n_commands + set.n_other);
    if (rc == 0 && set.n > 0)
        check_again(&set);
    ks_problem_set_release(&set);
    return 0;
}
