/* SPDX-License-Identifier: MIT */
/* names.c - a table of distinct texts, each with a number */
#include "trace/names.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

void ks_names_init(struct ks_names *t)
{
    memset(t, 0, sizeof(*t));
}

void ks_names_release(struct ks_names *t)
{
    free(t->bytes);
    free(t->at);
    free(t->hash);
    free(t->slots);
    ks_names_init(t);
}

static uint64_t mix(uint64_t a, uint64_t b)
{
    const __uint128_t product = (__uint128_t)(a ^ 0x9e3779b97f4a7c15u) * (b ^ 0xe7037ed1a0b428dbu);

    return (uint64_t)product ^ (uint64_t)(product >> 64);
}

static uint64_t word(const char *p, size_t n)
{
    uint64_t v = 0;

    memcpy(&v, p, n);
    return v;
}

/* Multiply and fold, 16 bytes per step, as in wyhash. */
static uint64_t hash_of(const char *p, size_t n)
{
    uint64_t h = mix(n, 0);

    for (; n >= 16; p += 16, n -= 16)
        h = mix(word(p, 8) ^ h, word(p + 8, 8));
    if (n > 8)
        return mix(word(p, 8) ^ h, word(p + 8, n - 8));
    return mix(word(p, n) ^ h, 0);
}

static bool is_text(const struct ks_names *t, uint32_t i, const char *text, size_t n)
{
    const size_t end = i + 1 < t->n ? t->at[i + 1] : t->n_bytes;

    return end - t->at[i] - 1 == n && memcmp(t->bytes + t->at[i], text, n) == 0;
}

static uint32_t *slot_of(const struct ks_names *t, uint64_t hash, const char *text, size_t n)
{
    uint32_t i = (uint32_t)hash & (t->n_slots - 1);

    for (;; i = (i + 1) & (t->n_slots - 1)) {
        const uint32_t at = t->slots[i];

        if (at == 0 || (t->hash[at - 1] == hash && is_text(t, at - 1, text, n)))
            return &t->slots[i];
    }
}

static bool grow_slots(struct ks_names *t)
{
    const uint32_t n_slots = t->n_slots ? 2 * t->n_slots : 256;
    uint32_t *slots = calloc(n_slots, sizeof(*slots));

    if (!slots)
        return false;
    for (uint32_t i = 0; i < t->n; i++) {
        uint32_t at = (uint32_t)t->hash[i] & (n_slots - 1);

        while (slots[at])
            at = (at + 1) & (n_slots - 1);
        slots[at] = i + 1;
    }
    free(t->slots);
    t->slots = slots;
    t->n_slots = n_slots;
    return true;
}

static bool grow_rows(struct ks_names *t)
{
    const uint32_t cap = t->cap ? 2 * t->cap : 64;
    size_t *at = realloc(t->at, cap * sizeof(*at));
    uint64_t *hash;

    if (at)
        t->at = at;
    hash = realloc(t->hash, cap * sizeof(*hash));
    if (hash)
        t->hash = hash;
    if (!at || !hash)
        return false;
    t->cap = cap;
    return true;
}

static bool grow_bytes(struct ks_names *t, size_t n)
{
    size_t cap = t->cap_bytes ? t->cap_bytes : 4096;
    char *bytes;

    if (t->n_bytes + n + 1 <= t->cap_bytes)
        return true;
    while (cap < t->n_bytes + n + 1)
        cap *= 2;
    bytes = realloc(t->bytes, cap);
    if (!bytes)
        return false;
    t->bytes = bytes;
    t->cap_bytes = cap;
    return true;
}

uint32_t ks_names_put(struct ks_names *t, const char *text, size_t n)
{
    const uint64_t hash = hash_of(text, n);
    uint32_t *slot;

    if (t->n_slots < 2 * (t->n + 1) && !grow_slots(t))
        return KS_NAME_NONE;
    slot = slot_of(t, hash, text, n);
    if (*slot)
        return *slot - 1;
    if (t->n >= INT32_MAX || (t->n == t->cap && !grow_rows(t)) || !grow_bytes(t, n))
        return KS_NAME_NONE;
    memcpy(t->bytes + t->n_bytes, text, n);
    t->bytes[t->n_bytes + n] = '\0';
    t->at[t->n] = t->n_bytes;
    t->hash[t->n] = hash;
    t->n_bytes += n + 1;
    *slot = ++t->n;
    return t->n - 1;
}

uint32_t ks_names_find(const struct ks_names *t, const char *text, size_t n)
{
    uint32_t slot;

    if (t->n_slots == 0)
        return KS_NAME_NONE;
    slot = *slot_of(t, hash_of(text, n), text, n);
    return slot ? slot - 1 : KS_NAME_NONE;
}
