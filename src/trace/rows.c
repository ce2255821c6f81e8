/* SPDX-License-Identifier: MIT */
/* rows.c - tables of columns that grow together, and a radix sort of row numbers */
#include "trace/rows.h"

#include <stdlib.h>
#include <string.h>

enum { RADIX_BITS = 11, RADIX = 1 << RADIX_BITS };

bool ks_rows_room(void *table, const struct ks_rows_column *columns, size_t n_columns, uint32_t n,
                  uint32_t *cap)
{
    const size_t more = *cap < 1024 ? 1024 : *cap + (size_t)*cap / 2;

    if (n < *cap)
        return true;
    if (more >= UINT32_MAX)
        return false;
    for (size_t i = 0; i < n_columns; i++) {
        void **at = (void **)(void *)((char *)table + columns[i].at);
        void *grown = realloc(*at, more * columns[i].size);

        if (!grown)
            return false;
        *at = grown;
    }
    *cap = (uint32_t)more;
    return true;
}

void ks_rows_release(void *table, const struct ks_rows_column *columns, size_t n_columns)
{
    for (size_t i = 0; i < n_columns; i++) {
        void **at = (void **)(void *)((char *)table + columns[i].at);

        free(*at);
        *at = NULL;
    }
}

static bool is_sorted(const uint32_t *order, uint32_t n, const uint64_t *key)
{
    for (uint32_t i = 1; i < n; i++)
        if (key[order[i - 1]] > key[order[i]])
            return false;
    return true;
}

/* By one digit, from order to spare. */
static void pass(const uint32_t *order, uint32_t *spare, uint32_t n, const uint64_t *key,
                 uint64_t low, unsigned shift)
{
    uint32_t at[RADIX] = { 0 }, sum = 0;

    for (uint32_t i = 0; i < n; i++)
        at[(key[order[i]] - low) >> shift & (RADIX - 1)]++;
    for (unsigned d = 0; d < RADIX; d++) {
        const uint32_t count = at[d];

        at[d] = sum;
        sum += count;
    }
    for (uint32_t i = 0; i < n; i++)
        spare[at[(key[order[i]] - low) >> shift & (RADIX - 1)]++] = order[i];
}

void ks_rows_sort(uint32_t *order, uint32_t *spare, uint32_t n, const uint64_t *key)
{
    uint64_t low = UINT64_MAX, high = 0;
    uint32_t *from = order, *to = spare;

    if (n < 2 || is_sorted(order, n, key))
        return;
    for (uint32_t i = 0; i < n; i++) {
        low = key[order[i]] < low ? key[order[i]] : low;
        high = key[order[i]] > high ? key[order[i]] : high;
    }
    for (unsigned shift = 0; shift < 64 && (high - low) >> shift; shift += RADIX_BITS) {
        uint32_t *swap = from;

        pass(from, to, n, key, low, shift);
        from = to;
        to = swap;
    }
    if (from != order)
        memcpy(order, from, n * sizeof(*order));
}
