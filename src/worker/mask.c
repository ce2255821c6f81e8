/* SPDX-License-Identifier: MIT */
/* mask.c - masks references by a key, so that a kernel cannot copy them */
#include "worker/mask.h"

#include "op/clones.h"

#include <string.h>

#define WORD sizeof(uint64_t)

uint64_t ks_mask_word(const struct ks_mask *m, uint64_t i)
{
    return ks_mask_mix(m->key[0] + i * KS_MASK_STEP, m->key[1]);
}

KS_CLONES static void apply_words(const struct ks_mask *m, uint64_t word, const uint8_t *from,
                                  uint8_t *to, size_t n_words)
{
    uint64_t x = m->key[0] + word * KS_MASK_STEP, key = m->key[1];

    for (size_t i = 0; i < n_words; i++) {
        uint64_t v;

        memcpy(&v, from + i * WORD, WORD);
        v ^= ks_mask_mix(x, key);
        memcpy(to + i * WORD, &v, WORD);
        x += KS_MASK_STEP;
    }
}

void ks_mask_apply(const struct ks_mask *m, uint64_t word, const void *from, void *to, size_t bytes)
{
    const uint8_t *f = from;
    uint8_t *t = to, last[WORD] = { 0 };
    size_t n = bytes / WORD, rest = bytes % WORD;

    apply_words(m, word, f, t, n);
    if (rest == 0)
        return;
    memcpy(last, f + n * WORD, rest);
    apply_words(m, word + n, last, last, 1);
    memcpy(t + n * WORD, last, rest);
    explicit_bzero(last, sizeof(last));
}

struct ks_masked ks_masked_from(const struct ks_masked *d, size_t bytes)
{
    struct ks_masked from = *d;

    from.at = (const uint8_t *)d->at + bytes;
    from.word += bytes / WORD;
    return from;
}

const void *ks_masked_read(const struct ks_masked *d, size_t bytes, void *scratch)
{
    if (d->mask == NULL)
        return d->at;
    ks_mask_apply(d->mask, d->word, d->at, scratch, bytes);
    return scratch;
}
