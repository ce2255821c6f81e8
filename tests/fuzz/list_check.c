/* SPDX-License-Identifier: MIT */
/* list_check.c - what holds for every importer of problem lists, whatever the bytes are */
#include "tests/fuzz/list_check.h"

#include "grid/problem_class.h"
#include "grid/problems.h"

#include <stdlib.h>
#include <string.h>

static void demand(bool holds)
{
    if (!holds)
        abort();
}

static const struct ks_importer *find(const char *name)
{
    for (size_t i = 0; ks_importers[i]; i++)
        if (strcmp(ks_importers[i]->name, name) == 0)
            return ks_importers[i];
    abort();
}

static void check_problems(const struct ks_problem_set *set)
{
    int64_t count = 0;

    for (uint32_t i = 0; i < set->n; i++) {
        struct ks_problem p = ks_problem_table_get(&set->problems, i);
        struct ks_err err;
        uint64_t line = 0;

        demand(ks_problem_finish(&p, &err) == 0 && p.id == ks_problem_table_id(&set->problems, i));
        demand(ks_problem_class(&p) < KS_N_PROBLEM_CLASSES);
        demand(ks_problem_set_find(set, p.id) == i);
        demand(strcmp(ks_problem_set_origin(set, i, &line), "f") == 0 && line >= 1);
        count += p.count;
    }
    demand(count >= (int64_t)set->n_problems_raw);
}

static void check_refusals(const struct ks_problem_set *set, bool has_lines)
{
    demand(set->n_commands == set->n_taken + set->n_refused);
    demand(set->n_refused == set->n_refusals);
    for (uint32_t i = 0; i < set->n_refusals; i++)
        demand(set->refusals[i].reason[0] && set->refusals[i].line >= 1 &&
               (!has_lines || set->refusals[i].line <= set->n_lines));
}

/* The CSV of a set reads back as the same set. */
static void check_csv(const struct ks_problem_set *set)
{
    struct ks_problem_set again;
    struct ks_err err;
    struct ks_buf b;

    ks_buf_init(&b);
    ks_problem_set_init(&again);
    for (uint32_t i = 0; i < set->n; i++) {
        const struct ks_problem p = ks_problem_table_get(&set->problems, i);

        if (i == 0 || set->problems.rows[i - 1].op != p.op)
            ks_problem_csv_header(p.op, &b);
        ks_problem_csv_row(&p, &b);
    }
    if (set->n > 0)
        demand(find("csv")->read(&again, ks_buf_text(&b), b.len, "f", true, &err) == 0);
    demand(again.n == set->n);
    for (uint32_t i = 0; i < set->n; i++) {
        demand(ks_problem_table_id(&again.problems, i) == ks_problem_table_id(&set->problems, i));
        demand(again.problems.rows[i].count == set->problems.rows[i].count);
        demand(strcmp(ks_problem_table_name(&again.problems, i),
                      ks_problem_table_name(&set->problems, i)) == 0);
    }
    ks_problem_set_release(&again);
    ks_buf_release(&b);
}

void list_check(const char *importer, enum list_kind kind, const uint8_t *bytes, size_t n)
{
    struct ks_problem_set set;
    struct ks_err err = { 0 };
    int rc;

    ks_problem_set_init(&set);
    rc = find(importer)->read(&set, (const char *)bytes, n, "f", false, &err);
    demand(rc == 0 || kind == LIST_WITH_HEADER || kind >= LIST_GENERATED);
    demand(rc == 0 || (err.text[0] && (rc == KS_EFORMAT || rc == KS_EINVAL)));
    check_refusals(&set, rc == 0 && kind != LIST_OF_OPERATORS);
    check_problems(&set);
    if (set.n <= 1000)
        check_csv(&set);
    if (kind == LIST_OF_COMMANDS)
        demand(set.n_problems_raw >= set.n_taken && set.n_problems_raw <= 3 * set.n_taken);
    else if (kind == LIST_OF_OPERATORS)
        demand(set.n_problems_raw <= 2 * set.n_taken);
    else
        demand(set.n_problems_raw == set.n_taken);
    if (rc == 0 && (kind == LIST_OF_LINES || kind == LIST_WITH_HEADER))
        demand(set.n_lines == set.n_commands + set.n_other);
    ks_problem_set_release(&set);
}
