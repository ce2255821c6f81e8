/* SPDX-License-Identifier: MIT */
/* sentinel.h - finds the kernel that writes beyond its heap chunks, for the suspects' worker.
 *
 * Chunks of every size class up to 4 KiB and some larger ones are allocated side by side, filled
 * with a pattern, and every second one is freed again: what a kernel allocates lands in the holes,
 * and what it writes beyond its chunk lands in a sentinel or in the word the allocator keeps before
 * it. Works for the main arena of the C library's malloc; slack inside a chunk, below its usable
 * size, cannot be seen and hurts nobody. */
#ifndef KS_WORKER_SENTINEL_H
#define KS_WORKER_SENTINEL_H

#include <stdbool.h>
#include <stddef.h>

struct ks_sentinel;

/* Where a sentinel was damaged. */
struct ks_sentinel_hit {
    const void *chunk;  /* the sentinel; NULL = none is damaged */
    size_t chunk_bytes; /* its size */
    ptrdiff_t offset;   /* first damaged byte from its start; < 0: the allocator's word before it */
};

/* Some 9 MB of heap. NULL when out of memory: then nothing is watched. */
struct ks_sentinel *ks_sentinel_create(void);
/* true: all are intact. */
bool ks_sentinel_check(const struct ks_sentinel *s);
/* The first damaged one, in order of size. */
struct ks_sentinel_hit ks_sentinel_find(const struct ks_sentinel *s);
/* malloc and free through all size classes, so that damaged metadata is found by the allocator,
 * which then aborts. Returns when there is none. */
void ks_sentinel_churn(const struct ks_sentinel *s);
void ks_sentinel_destroy(struct ks_sentinel *s); /* NULL is fine; aborts like churn */

#endif
