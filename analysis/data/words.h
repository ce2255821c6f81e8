/* SPDX-License-Identifier: MIT */
/* words.h - the dictionary of a text column: every distinct text once, numbered in order of first
 * appearance. */
#ifndef KS_ANALYSIS_WORDS_H
#define KS_ANALYSIS_WORDS_H

#include "base/err.h"

#include <stddef.h>
#include <stdint.h>

/* Zero-initialised = empty. */
struct ks_words {
    char **text;           /* [n], each owned; the array may move, the texts do not */
    uint32_t *hash, *slot; /* [n], [n_slots] number + 1, 0 = free */
    uint32_t n, cap, n_slots;
};

void ks_words_release(struct ks_words *w);
/* The number of the text that ends at its first NUL or after n bytes. KS_ENOMEM. */
int ks_words_add(struct ks_words *w, const char *text, size_t n, uint32_t *number_out,
                 struct ks_err *err);

#endif
