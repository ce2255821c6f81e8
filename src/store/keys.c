/* SPDX-License-Identifier: MIT */
/* keys.c - open-addressing table of keys of four words; an array that doubles when full */
#include "store/keys.h"
#include "base/hash.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

void ks_keys_release(struct ks_keys *k)
{
    free(k->key);
    free(k->slot);
    *k = (struct ks_keys){ 0 };
}

static uint64_t hash_of(const struct ks_key *key)
{
    uint64_t h = 0;

    for (size_t i = 0; i < 4; i++)
        h = ks_mix64(h ^ key->part[i]);
    return h;
}

/* The slot that holds the key, or the free one where it belongs. */
static uint32_t probe(const struct ks_keys *k, const struct ks_key *key)
{
    uint32_t mask = k->n_slots - 1;
    uint32_t i = (uint32_t)hash_of(key) & mask;

    while (k->slot[i] && memcmp(&k->key[k->slot[i] - 1], key, sizeof(*key)) != 0)
        i = (i + 1) & mask;
    return i;
}

static int grow(struct ks_keys *k, struct ks_err *err)
{
    uint32_t n_slots = k->n_slots ? k->n_slots * 2 : 64;
    struct ks_key *key = realloc(k->key, (size_t)n_slots / 2 * sizeof(*key));
    uint32_t *slot;

    if (!key)
        return ks_fail(err, KS_ENOMEM, "out of memory for %u keys", n_slots / 2);
    k->key = key;
    k->cap = n_slots / 2;
    slot = calloc(n_slots, sizeof(*slot));
    if (!slot)
        return ks_fail(err, KS_ENOMEM, "out of memory for %u keys", n_slots / 2);
    free(k->slot);
    k->slot = slot;
    k->n_slots = n_slots;
    for (uint32_t i = 0; i < k->n; i++)
        k->slot[probe(k, &k->key[i])] = i + 1;
    return 0;
}

int ks_keys_add(struct ks_keys *k, const struct ks_key *key, uint32_t *number_out, bool *is_new_out,
                struct ks_err *err)
{
    uint32_t i;

    /* An earlier failure may have left room for keys but not for their slots. */
    if (k->n * 2 >= k->n_slots) {
        int rc = grow(k, err);

        if (rc < 0)
            return rc;
    }
    i = probe(k, key);
    *is_new_out = k->slot[i] == 0;
    if (*is_new_out) {
        k->key[k->n] = *key;
        k->slot[i] = ++k->n;
    }
    *number_out = k->slot[i] - 1;
    return 0;
}

uint32_t ks_keys_find(const struct ks_keys *k, const struct ks_key *key)
{
    uint32_t i;

    if (k->n_slots == 0)
        return KS_NO_ROW;
    i = probe(k, key);
    return k->slot[i] ? k->slot[i] - 1 : KS_NO_ROW;
}

void ks_list_release(struct ks_list *l)
{
    free(l->at);
    *l = (struct ks_list){ .size = l->size };
}

int ks_list_add(struct ks_list *l, void *element_out, struct ks_err *err)
{
    void *element;

    assert(l->size > 0);
    if (l->n == l->cap) {
        size_t cap = l->cap ? l->cap * 2 : 16;
        void *at = realloc(l->at, cap * l->size);

        if (!at)
            return ks_fail(err, KS_ENOMEM, "out of memory for %zu rows of %zu bytes", cap, l->size);
        l->at = at;
        l->cap = cap;
    }
    element = (char *)l->at + l->n++ * l->size;
    memset(element, 0, l->size);
    memcpy(element_out, &element, sizeof(element));
    return 0;
}

void *ks_list_at(const struct ks_list *l, size_t i)
{
    assert(i < l->n);
    return (char *)l->at + i * l->size;
}
