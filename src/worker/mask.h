/* SPDX-License-Identifier: MIT */
/* mask.h - the stream that references are masked with, so that a kernel that finds them cannot copy
 * the answer. The key is in memory only while the harness works with it (vault.h).
 *
 * The stream is 64-bit words in counter mode: word i depends on the key and i alone, so that any
 * piece can be masked by itself; kernels/judge.h says the same of devices. It is no cipher: it
 * keeps out programs that search memory for the answer, not somebody who studies the harness. */
#ifndef KS_WORKER_MASK_H
#define KS_WORKER_MASK_H

#include <stddef.h>
#include <stdint.h>

struct ks_mask {
    uint64_t key[2];
};

/* Word i is ks_mask_mix(key[0] + i * KS_MASK_STEP, key[1]), here for loops that the compiler
 * vectorises. The finaliser of splitmix64 (Steele, Lea, Flood 2014) with the second half of the key
 * between its multiplications, so that plain inversion of a known word does not give the key away.
 */
#define KS_MASK_STEP 0x9e3779b97f4a7c15u
static inline uint64_t ks_mask_mix(uint64_t x, uint64_t key)
{
    x = (x ^ (x >> 32)) * 0xbf58476d1ce4e5b9u;
    x ^= key;
    x = (x ^ (x >> 29)) * 0x94d049bb133111ebu;
    return x ^ (x >> 32);
}
uint64_t ks_mask_word(const struct ks_mask *m, uint64_t i);

/* ks_mask_apply() - XORs the stream from word `word` on; masks, and unmasks what was masked so.
 * @from [in]  [bytes], any alignment
 * @to   [out] [bytes], any alignment; may be `from` */
void ks_mask_apply(const struct ks_mask *m, uint64_t word, const void *from, void *to,
                   size_t bytes);

/* Masked data: `at` is masked with words `word`, `word` + 1 and so on; mask NULL: it is not. All
 * pointers are borrowed. */
struct ks_masked {
    const void *at;
    uint64_t word;
    const struct ks_mask *mask;
};

/* The same data from byte `bytes` on, a multiple of 8. */
struct ks_masked ks_masked_from(const struct ks_masked *d, size_t bytes);
/* The first `bytes` bytes as they were before they were masked: in `scratch` [bytes], or where they
 * lie when nothing is masked. */
const void *ks_masked_read(const struct ks_masked *d, size_t bytes, void *scratch);

#endif
