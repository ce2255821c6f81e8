/* SPDX-License-Identifier: MIT */
/* names.h - interned texts: each different text has one number, in order of appearance from 0. */
#ifndef KS_TRACE_NAMES_H
#define KS_TRACE_NAMES_H

#include "base/err.h"

#include <stddef.h>
#include <stdint.h>

struct ks_names {
    char *bytes; /* owned; NUL-terminated texts one behind the other */
    size_t n_bytes, cap_bytes;
    size_t *at;     /* [n] owned; offsets into bytes */
    uint64_t *hash; /* [n] owned */
    uint32_t n, cap;
    uint32_t *slots; /* [n_slots] owned; number + 1, 0 = free */
    uint32_t n_slots;
};

#define KS_NAME_NONE UINT32_MAX

void ks_names_init(struct ks_names *t);
void ks_names_release(struct ks_names *t);
/* KS_NAME_NONE: out of memory, or 2^31 texts. */
uint32_t ks_names_put(struct ks_names *t, const char *text, size_t n);
uint32_t ks_names_find(const struct ks_names *t, const char *text, size_t n);
static inline const char *ks_names_text(const struct ks_names *t, uint32_t i)
{
    return t->bytes + t->at[i];
}

#endif
