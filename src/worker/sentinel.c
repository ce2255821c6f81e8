/* SPDX-License-Identifier: MIT */
/* sentinel.c - surrounds heap chunks with sentinels that show out-of-bounds writes */
#include "worker/sentinel.h"

#include <malloc.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#define STEP        16u   /* classes of the C library's malloc */
#define SMALL_MAX   4096u /* every class up to here */
#define HOLES_SMALL 7u    /* what the allocator caches of a class */
#define HOLES_LARGE 3u
#define STRAY_BYTES (64u << 10) /* of a class that may lie about in the heap, and 64 chunks */
#define CAPACITY    (1u << 17)
#define PATTERN     0xe7u
#define SIZE_FLAGS  7u /* of the allocator's word: they change with the neighbour */

static const size_t large[] = { 8192, 16384, 32768, 65536 };

#define N_LARGE (sizeof(large) / sizeof(large[0]))

struct chunk {
    uint8_t *at;
    size_t bytes; /* all that may be used of it */
    size_t word;  /* of the allocator, before it */
};

/* Mapped, so that the table itself is not in the heap it watches. */
struct ks_sentinel {
    size_t n;
    struct chunk chunk[CAPACITY];
};

/* The word before a chunk is the allocator's: its size, and a few flags. A sanitizer would call
 * that an overflow. */
__attribute__((noinline, no_sanitize("address"))) static size_t word_before(const uint8_t *at)
{
    return ((const volatile size_t *)(const void *)at)[-1] & ~(size_t)SIZE_FLAGS;
}

static void add(struct ks_sentinel *s, uint8_t *at)
{
    struct chunk c = { .at = at, .bytes = malloc_usable_size(at), .word = word_before(at) };

    memset(at, PATTERN, c.bytes);
    s->chunk[s->n++] = c;
}

/* Allocate until n_holes chunks have a sentinel right behind them, then free these. What does not
 * fit so, because the heap had such chunks lying about, becomes a sentinel as well: nothing of the
 * class stays free but the holes. An allocator that never puts two side by side gets no holes.
 * false: out of memory. */
static bool plant(struct ks_sentinel *s, size_t bytes, size_t n_holes)
{
    size_t n = 0, stray = 0, most = STRAY_BYTES / bytes + 64;
    uint8_t *hole[HOLES_SMALL], *last = malloc(bytes), *next = last;

    while (last && next && n < n_holes && stray < most && s->n + 2 < CAPACITY) {
        next = malloc(bytes);
        if (!next)
            break;
        if (next == last + word_before(last)) {
            hole[n++] = last;
            add(s, next);
            last = malloc(bytes);
        } else {
            add(s, last);
            last = next;
            stray++;
        }
    }
    if (last)
        add(s, last);
    for (size_t i = 0; i < n; i++)
        free(hole[i]);
    return last && next;
}

struct ks_sentinel *ks_sentinel_create(void)
{
    struct ks_sentinel *s =
        mmap(NULL, sizeof(*s), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    bool is_full = s != MAP_FAILED;

    if (!is_full)
        return NULL;
    /* 8 below a multiple: what can be asked for at most without going to the next class. */
    for (size_t bytes = 2 * STEP - 8; bytes <= SMALL_MAX + STEP && is_full; bytes += STEP)
        is_full = plant(s, bytes, HOLES_SMALL);
    for (size_t i = 0; i < N_LARGE && is_full; i++)
        is_full = plant(s, large[i] + 8, HOLES_LARGE);
    if (is_full)
        return s;
    ks_sentinel_destroy(s);
    return NULL;
}

static bool is_damaged(const struct chunk *c, ptrdiff_t *offset_out)
{
    *offset_out = -(ptrdiff_t)sizeof(size_t);
    if (word_before(c->at) != c->word)
        return true;
    for (size_t i = 0; i < c->bytes; i++) {
        *offset_out = (ptrdiff_t)i;
        if (c->at[i] != PATTERN)
            return true;
    }
    return false;
}

struct ks_sentinel_hit ks_sentinel_find(const struct ks_sentinel *s)
{
    struct ks_sentinel_hit hit = { .chunk = NULL };
    ptrdiff_t offset;

    for (size_t i = 0; i < s->n; i++)
        if (is_damaged(&s->chunk[i], &offset)) {
            hit.chunk = s->chunk[i].at;
            hit.chunk_bytes = s->chunk[i].bytes;
            hit.offset = offset;
            break;
        }
    return hit;
}

bool ks_sentinel_check(const struct ks_sentinel *s)
{
    return ks_sentinel_find(s).chunk == NULL;
}

/* More of each class than its holes, so that cached, binned and fresh chunks are all taken; written
 * to, and given back in another order. */
static void churn_class(size_t bytes)
{
    enum { N = 2 * HOLES_SMALL };
    uint8_t *p[N];

    for (size_t i = 0; i < N; i++) {
        p[i] = malloc(bytes);
        if (p[i])
            memset(p[i], (int)i, bytes);
    }
    for (size_t i = 0; i < N; i += 2)
        free(p[i]);
    for (size_t i = 1; i < N; i += 2)
        free(p[i]);
}

void ks_sentinel_churn(const struct ks_sentinel *s)
{
    size_t last = 0;

    for (size_t i = 0; i < s->n; i++) {
        if (s->chunk[i].bytes != last)
            churn_class(s->chunk[i].bytes);
        last = s->chunk[i].bytes;
    }
    (void)malloc_trim(0); /* merges all that is free: every neighbour is looked at */
}

void ks_sentinel_destroy(struct ks_sentinel *s)
{
    if (!s)
        return;
    for (size_t i = 0; i < s->n; i++)
        free(s->chunk[i].at);
    (void)malloc_trim(0);
    (void)munmap(s, sizeof(*s));
}
