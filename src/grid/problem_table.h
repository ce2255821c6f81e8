/* SPDX-License-Identifier: MIT */
/* problem_table.h - many problems in little memory: about 70 bytes each instead of the 400 of a
 * struct ks_problem, which stays the form to work with. */
#ifndef KS_GRID_PROBLEM_TABLE_H
#define KS_GRID_PROBLEM_TABLE_H

#include "base/err.h"
#include "op/op.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Of one problem, what has a fixed size. */
struct ks_packed_problem {
    uint64_t id;
    int64_t count;
    size_t at;       /* in the table's bytes: the operator's dims as LEB128, then the name, NUL */
    uint16_t n_dims; /* bytes of the dims */
    uint8_t op, direction, dtype, layout;
};

/* rows[i] may be read directly, its count also changed. All zero is an empty table. */
struct ks_problem_table {
    struct ks_packed_problem *rows; /* [n] */
    uint8_t *bytes;                 /* [n_bytes] */
    uint32_t n, cap;
    size_t n_bytes, cap_bytes;
};

void ks_problem_table_release(struct ks_problem_table *t);
/* Appends a finished problem (op.h). KS_ENOMEM, also beyond 2^28 problems; the table is unchanged
 * then. */
int ks_problem_table_add(struct ks_problem_table *t, const struct ks_problem *p,
                         struct ks_err *err);

static inline uint64_t ks_problem_table_id(const struct ks_problem_table *t, uint32_t i)
{
    return t->rows[i].id;
}

/* Problem i as it was added. */
struct ks_problem ks_problem_table_get(const struct ks_problem_table *t, uint32_t i);
/* Its name; borrowed until the table changes. */
const char *ks_problem_table_name(const struct ks_problem_table *t, uint32_t i);
/* Is p the same problem as i, whatever their ids, counts and names? */
bool ks_problem_table_is(const struct ks_problem_table *t, uint32_t i, const struct ks_problem *p);
/* Keeps the problems i with is_kept[i], in their order, and frees what the others took. KS_ENOMEM:
 * the table is unchanged. */
int ks_problem_table_keep(struct ks_problem_table *t, const bool *is_kept, struct ks_err *err);
/* Problem order[i] becomes problem i. @order [n], a permutation. Returns false when there is no
 * memory; the table is unchanged then. Spare capacity is given back. */
bool ks_problem_table_reorder(struct ks_problem_table *t, const uint32_t *order);
/* Bytes that the table has allocated. */
size_t ks_problem_table_size(const struct ks_problem_table *t);

#endif
