/* SPDX-License-Identifier: MIT */
/* sha.c - the block function of SHA-256, portable and with the SHA instructions of x86 */
#include "base/sha.h"

/* clang does not know how to ask for "sha". */
#if defined(__x86_64__) && !defined(__clang__)
#include <immintrin.h>
#endif

/* FIPS 180-4, 4.2.2. */
static const _Alignas(16) uint32_t sha_k[64] = {
    0x428a2f98, 0x71374491, 0xb5c0fbcf, 0xe9b5dba5, 0x3956c25b, 0x59f111f1, 0x923f82a4, 0xab1c5ed5,
    0xd807aa98, 0x12835b01, 0x243185be, 0x550c7dc3, 0x72be5d74, 0x80deb1fe, 0x9bdc06a7, 0xc19bf174,
    0xe49b69c1, 0xefbe4786, 0x0fc19dc6, 0x240ca1cc, 0x2de92c6f, 0x4a7484aa, 0x5cb0a9dc, 0x76f988da,
    0x983e5152, 0xa831c66d, 0xb00327c8, 0xbf597fc7, 0xc6e00bf3, 0xd5a79147, 0x06ca6351, 0x14292967,
    0x27b70a85, 0x2e1b2138, 0x4d2c6dfc, 0x53380d13, 0x650a7354, 0x766a0abb, 0x81c2c92e, 0x92722c85,
    0xa2bfe8a1, 0xa81a664b, 0xc24b8b70, 0xc76c51a3, 0xd192e819, 0xd6990624, 0xf40e3585, 0x106aa070,
    0x19a4c116, 0x1e376c08, 0x2748774c, 0x34b0bcb5, 0x391c0cb3, 0x4ed8aa4a, 0x5b9cca4f, 0x682e6ff3,
    0x748f82ee, 0x78a5636f, 0x84c87814, 0x8cc70208, 0x90befffa, 0xa4506ceb, 0xbef9a3f7, 0xc67178f2,
};

static uint32_t rotr(uint32_t x, unsigned n)
{
    return (x >> n) | (x << (32 - n));
}

/* One round; the caller renames the eight words instead of moving them. */
static inline void sha_round(uint32_t a, uint32_t b, uint32_t c, uint32_t *d, uint32_t e,
                             uint32_t f, uint32_t g, uint32_t *h, uint32_t kw)
{
    uint32_t s1 = rotr(e, 6) ^ rotr(e, 11) ^ rotr(e, 25);
    uint32_t s0 = rotr(a, 2) ^ rotr(a, 13) ^ rotr(a, 22);
    uint32_t t1 = *h + s1 + (g ^ (e & (f ^ g))) + kw;

    *d += t1;
    *h = t1 + s0 + ((a & b) | (c & (a | b)));
}

static void sha_schedule(const uint8_t block[64], uint32_t w[64])
{
    for (size_t i = 0; i < 16; i++)
        w[i] = ks_load_be32(block + 4 * i);
    for (size_t i = 16; i < 64; i++) {
        uint32_t s0 = rotr(w[i - 15], 7) ^ rotr(w[i - 15], 18) ^ (w[i - 15] >> 3);
        uint32_t s1 = rotr(w[i - 2], 17) ^ rotr(w[i - 2], 19) ^ (w[i - 2] >> 10);

        w[i] = w[i - 16] + s0 + w[i - 7] + s1;
    }
}

static void sha_block(uint32_t state[8], const uint8_t block[64])
{
    uint32_t w[64];
    uint32_t a = state[0], b = state[1], c = state[2], d = state[3];
    uint32_t e = state[4], f = state[5], g = state[6], h = state[7];

    sha_schedule(block, w);
    for (size_t i = 0; i < 64; i += 8) {
        const uint32_t *k = sha_k + i, *x = w + i;

        sha_round(a, b, c, &d, e, f, g, &h, k[0] + x[0]);
        sha_round(h, a, b, &c, d, e, f, &g, k[1] + x[1]);
        sha_round(g, h, a, &b, c, d, e, &f, k[2] + x[2]);
        sha_round(f, g, h, &a, b, c, d, &e, k[3] + x[3]);
        sha_round(e, f, g, &h, a, b, c, &d, k[4] + x[4]);
        sha_round(d, e, f, &g, h, a, b, &c, k[5] + x[5]);
        sha_round(c, d, e, &f, g, h, a, &b, k[6] + x[6]);
        sha_round(b, c, d, &e, f, g, h, &a, k[7] + x[7]);
    }
    state[0] += a;
    state[1] += b;
    state[2] += c;
    state[3] += d;
    state[4] += e;
    state[5] += f;
    state[6] += g;
    state[7] += h;
}

void ks_sha256_blocks_portable(uint32_t state[8], const uint8_t *blocks, size_t n_blocks)
{
    for (; n_blocks; n_blocks--, blocks += 64)
        sha_block(state, blocks);
}

#if defined(__x86_64__) && !defined(__clang__)

#define SHA_NI __attribute__((target("sha,sse4.1")))

/* Sixteen times four rounds; m holds the last sixteen words of the schedule. */
SHA_NI static void sha_block_x86(__m128i *abef, __m128i *cdgh, const uint8_t block[64])
{
    const __m128i swap = _mm_set_epi64x(0x0c0d0e0f08090a0b, 0x0405060700010203);
    __m128i m[4], x = *abef, y = *cdgh;

    for (size_t i = 0; i < 4; i++)
        m[i] = _mm_shuffle_epi8(_mm_loadu_si128((const __m128i *)(const void *)block + i), swap);
#pragma GCC unroll 16
    for (size_t i = 0; i < 16; i++) {
        __m128i *w = &m[i % 4], before = m[(i + 3) % 4], k;

        if (i >= 4) {
            k = _mm_add_epi32(_mm_sha256msg1_epu32(*w, m[(i + 1) % 4]),
                              _mm_alignr_epi8(before, m[(i + 2) % 4], 4));
            *w = _mm_sha256msg2_epu32(k, before);
        }
        k = _mm_add_epi32(*w, _mm_load_si128((const __m128i *)(const void *)sha_k + i));
        y = _mm_sha256rnds2_epu32(y, x, k);
        x = _mm_sha256rnds2_epu32(x, y, _mm_shuffle_epi32(k, 0x0e));
    }
    *abef = _mm_add_epi32(*abef, x);
    *cdgh = _mm_add_epi32(*cdgh, y);
}

SHA_NI static void sha_blocks_x86(uint32_t state[8], const uint8_t *blocks, size_t n_blocks)
{
    __m128i *at = (__m128i *)(void *)state;
    __m128i abcd = _mm_shuffle_epi32(_mm_loadu_si128(at), 0xb1);
    __m128i efgh = _mm_shuffle_epi32(_mm_loadu_si128(at + 1), 0x1b);
    __m128i abef = _mm_alignr_epi8(abcd, efgh, 8), cdgh = _mm_blend_epi16(efgh, abcd, 0xf0);

    for (; n_blocks; n_blocks--, blocks += 64)
        sha_block_x86(&abef, &cdgh, blocks);
    abcd = _mm_shuffle_epi32(abef, 0x1b);
    efgh = _mm_shuffle_epi32(cdgh, 0xb1);
    _mm_storeu_si128(at, _mm_blend_epi16(abcd, efgh, 0xf0));
    _mm_storeu_si128(at + 1, _mm_alignr_epi8(efgh, abcd, 8));
}

void ks_sha256_blocks(uint32_t state[8], const uint8_t *blocks, size_t n_blocks)
{
    if (__builtin_cpu_supports("sha"))
        sha_blocks_x86(state, blocks, n_blocks);
    else
        ks_sha256_blocks_portable(state, blocks, n_blocks);
}

#else

void ks_sha256_blocks(uint32_t state[8], const uint8_t *blocks, size_t n_blocks)
{
    ks_sha256_blocks_portable(state, blocks, n_blocks);
}

#endif
