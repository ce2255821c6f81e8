/* SPDX-License-Identifier: MIT */
/* rows.h - columns that grow together, and sorting of rows. */
#ifndef KS_TRACE_ROWS_H
#define KS_TRACE_ROWS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct ks_rows_column {
    size_t at;   /* of the pointer within the table */
    size_t size; /* of an entry */
};

/* Room for one more row in every column; false: no memory, or 2^32 - 2 rows. n rows are in use,
 * *cap allocated. */
bool ks_rows_room(void *table, const struct ks_rows_column *columns, size_t n_columns, uint32_t n,
                  uint32_t *cap);
void ks_rows_release(void *table, const struct ks_rows_column *columns, size_t n_columns);

/* Stable: order [n] holds row numbers and is brought into ascending order of key[row].
 * @spare [in] [n] scratch */
void ks_rows_sort(uint32_t *order, uint32_t *spare, uint32_t n, const uint64_t *key);

#endif
