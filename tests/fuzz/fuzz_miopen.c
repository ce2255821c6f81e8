/* SPDX-License-Identifier: MIT */
/* Any bytes as a command list: counts add up, every problem taken is valid, every refusal has a
 * reason and a line. */
#include "grid/problems.h"
#include "tests/fuzz/fuzz.h"

#include <stdlib.h>
#include <string.h>

static void demand(bool holds)
{
    if (!holds)
        abort();
}

static const struct ks_importer *miopen(void)
{
    for (size_t i = 0; ks_importers[i]; i++)
        if (strcmp(ks_importers[i]->name, "miopen") == 0)
            return ks_importers[i];
    abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n)
{
    struct ks_problem_set set;
    struct ks_err err = { 0 };
    int64_t count = 0;

    ks_problem_set_init(&set);
    demand(miopen()->read(&set, (const char *)bytes, n, "f", false, &err) == 0);
    demand(set.n_commands == set.n_taken + set.n_refused);
    demand(set.n_refused == set.n_refusals);
    demand(set.n_problems_raw >= set.n_taken && set.n_problems_raw <= 3 * set.n_taken);
    for (uint32_t i = 0; i < set.n; i++) {
        struct ks_problem p = set.problems[i];

        demand(ks_problem_finish(&p, &err) == 0 && p.id == set.problems[i].id);
        count += p.count;
    }
    demand(count == (int64_t)set.n_problems_raw);
    for (uint32_t i = 0; i < set.n_refusals; i++)
        demand(set.refusals[i].reason[0] && set.refusals[i].line >= 1 &&
               set.refusals[i].line <= set.n_lines);
    ks_problem_set_release(&set);
    return 0;
}
