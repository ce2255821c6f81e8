/* SPDX-License-Identifier: MIT */
/* keys.h - numbers small keys in order of first appearance, and arrays that grow. Used by
 * src/store, src/cmd and analysis/data. */
#ifndef KS_STORE_KEYS_H
#define KS_STORE_KEYS_H

#include "base/err.h"
#include "store/rows.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct ks_key {
    uint64_t part[4];
};

/* Key -> dense number 0, 1, 2 ... About 40 bytes a key. Zero-initialised = empty. */
struct ks_keys {
    struct ks_key *key; /* [n] */
    uint32_t *slot;     /* [n_slots] open addressing: number + 1, 0 = free */
    uint32_t n, cap, n_slots;
};

void ks_keys_release(struct ks_keys *k);
/* The key's number; it gets the next one when it is new. KS_ENOMEM. */
int ks_keys_add(struct ks_keys *k, const struct ks_key *key, uint32_t *number_out, bool *is_new_out,
                struct ks_err *err);
/* KS_NO_ROW when absent. */
uint32_t ks_keys_find(const struct ks_keys *k, const struct ks_key *key);

/* An array of equal elements. Zero-initialised apart from `size` = empty. */
struct ks_list {
    void *at;
    size_t n, cap, size; /* size: bytes of one element */
};

void ks_list_release(struct ks_list *l);
/* Room for one more, zeroed. element_out: the address of a pointer to the element's type; what it
 * receives is valid until the next add. KS_ENOMEM. */
int ks_list_add(struct ks_list *l, void *element_out, struct ks_err *err);
void *ks_list_at(const struct ks_list *l, size_t i);

#endif
