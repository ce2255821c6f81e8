/* SPDX-License-Identifier: MIT */
/* words.c - hash table over the texts that it owns */
#include "analysis/data/words.h"

#include <stdlib.h>
#include <string.h>

void ks_words_release(struct ks_words *w)
{
    for (uint32_t i = 0; i < w->n; i++)
        free(w->text[i]);
    free(w->text);
    free(w->hash);
    free(w->slot);
    *w = (struct ks_words){ 0 };
}

/* FNV-1a. */
static uint32_t hash_of(const char *text, size_t n)
{
    uint32_t h = 2166136261u;

    for (size_t i = 0; i < n; i++)
        h = (h ^ (unsigned char)text[i]) * 16777619u;
    return h;
}

static void place(struct ks_words *w, uint32_t number)
{
    uint32_t at = w->hash[number] & (w->n_slots - 1);

    while (w->slot[at])
        at = (at + 1) & (w->n_slots - 1);
    w->slot[at] = number + 1;
}

static int grow(struct ks_words *w, struct ks_err *err)
{
    uint32_t cap = w->cap ? 2 * w->cap : 32;
    char **text = realloc(w->text, cap * sizeof(*text));
    uint32_t *hash, *slot;

    if (text)
        w->text = text;
    hash = text ? realloc(w->hash, cap * sizeof(*hash)) : NULL;
    if (hash)
        w->hash = hash;
    slot = hash ? calloc(2 * (size_t)cap, sizeof(*slot)) : NULL;
    if (!slot)
        return ks_fail(err, KS_ENOMEM, "out of memory for %u texts", cap);
    free(w->slot);
    w->slot = slot;
    w->n_slots = 2 * cap;
    w->cap = cap;
    for (uint32_t i = 0; i < w->n; i++)
        place(w, i);
    return 0;
}

static uint32_t find(const struct ks_words *w, const char *text, size_t n, uint32_t hash)
{
    uint32_t at = hash & (w->n_slots - 1);

    for (; w->n_slots && w->slot[at]; at = (at + 1) & (w->n_slots - 1)) {
        uint32_t i = w->slot[at] - 1;

        if (w->hash[i] == hash && strncmp(w->text[i], text, n) == 0 && !w->text[i][n])
            return i;
    }
    return UINT32_MAX;
}

int ks_words_add(struct ks_words *w, const char *text, size_t n, uint32_t *number_out,
                 struct ks_err *err)
{
    const char *end = memchr(text, '\0', n);
    uint32_t hash, i;
    char *copy;

    n = end ? (size_t)(end - text) : n;
    hash = hash_of(text, n);
    i = find(w, text, n, hash);
    if (i == UINT32_MAX) {
        if (w->n == w->cap && grow(w, err) < 0)
            return KS_ENOMEM;
        copy = strndup(text, n);
        if (!copy)
            return ks_fail(err, KS_ENOMEM, "out of memory for a text");
        i = w->n++;
        w->text[i] = copy;
        w->hash[i] = hash;
        place(w, i);
    }
    *number_out = i;
    return 0;
}
