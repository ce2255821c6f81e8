/* SPDX-License-Identifier: MIT */
#include "base/hash.h"
#include "base/clock.h"

#include <errno.h>
#include <string.h>
#include <sys/random.h>
#include <unistd.h>

/* FIPS 180-4, 4.2.2. */
static const uint32_t sha_k[64] = {
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

static uint32_t load_be32(const uint8_t *p)
{
    return (uint32_t)p[0] << 24 | (uint32_t)p[1] << 16 | (uint32_t)p[2] << 8 | p[3];
}

static uint64_t load_be64(const uint8_t *p)
{
    return (uint64_t)load_be32(p) << 32 | load_be32(p + 4);
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
        w[i] = load_be32(block + 4 * i);
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

void ks_sha256_init(struct ks_sha256 *h)
{
    static const uint32_t start[8] = { 0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a,
                                       0x510e527f, 0x9b05688c, 0x1f83d9ab, 0x5be0cd19 };

    memcpy(h->state, start, sizeof(start));
    h->n_bytes = 0;
}

void ks_sha256_add(struct ks_sha256 *h, const void *bytes, size_t n)
{
    const uint8_t *p = bytes;

    while (n) {
        size_t used = h->n_bytes % 64;
        size_t take = n < 64 - used ? n : 64 - used;

        memcpy(h->block + used, p, take);
        h->n_bytes += take;
        p += take;
        n -= take;
        if (used + take == 64)
            sha_block(h->state, h->block);
    }
}

void ks_sha256_end(struct ks_sha256 *h, uint8_t digest_out[32])
{
    static const uint8_t pad[64] = { 0x80 };
    uint64_t n_bits = h->n_bytes * 8;
    size_t used = h->n_bytes % 64;
    uint8_t length[8];

    ks_sha256_add(h, pad, used < 56 ? 56 - used : 120 - used);
    for (size_t i = 0; i < 8; i++)
        length[i] = (uint8_t)(n_bits >> (56 - 8 * i));
    ks_sha256_add(h, length, sizeof(length));
    for (size_t i = 0; i < 32; i++)
        digest_out[i] = (uint8_t)(h->state[i / 4] >> (24 - 8 * (i % 4)));
}

struct ks_id128 ks_sha256_id128(struct ks_sha256 *h)
{
    uint8_t digest[32];

    ks_sha256_end(h, digest);
    return (struct ks_id128){ .hi = load_be64(digest), .lo = load_be64(digest + 8) };
}

struct ks_id128 ks_id128(const void *bytes, size_t n)
{
    struct ks_sha256 h;

    ks_sha256_init(&h);
    ks_sha256_add(&h, bytes, n);
    return ks_sha256_id128(&h);
}

uint64_t ks_id64(const void *bytes, size_t n)
{
    return ks_id128(bytes, n).hi;
}

bool ks_id128_eq(struct ks_id128 a, struct ks_id128 b)
{
    return a.hi == b.hi && a.lo == b.lo;
}

bool ks_id128_is_zero(struct ks_id128 a)
{
    return !a.hi && !a.lo;
}

/* For a kernel that refuses getrandom(2): unique on this host, which is all that ids need. */
static struct ks_id128 id_from_clocks(void)
{
    uint64_t seed[4] = { ks_realtime_ns(), ks_now_ns(), ks_thread_cpu_ns(), (uint64_t)getpid() };

    return ks_id128(seed, sizeof(seed));
}

struct ks_id128 ks_id128_random(void)
{
    struct ks_id128 id = { 0 };

    /* 16 bytes are never cut short. */
    while (ks_id128_is_zero(id))
        if (getrandom(&id, sizeof(id), 0) < 0 && errno != EINTR)
            id = id_from_clocks();
    return id;
}

void ks_hex64(uint64_t id, char text_out[17])
{
    for (unsigned i = 0; i < 16; i++)
        text_out[i] = "0123456789abcdef"[id >> (60 - 4 * i) & 15];
    text_out[16] = '\0';
}

void ks_hex128(struct ks_id128 id, char text_out[33])
{
    ks_hex64(id.hi, text_out);
    ks_hex64(id.lo, text_out + 16);
}

static bool unhex(const char *text, uint64_t *out)
{
    uint64_t v = 0;

    for (unsigned i = 0; i < 16; i++) {
        char c = text[i];
        unsigned digit;

        if (c >= '0' && c <= '9')
            digit = (unsigned)(c - '0');
        else if (c >= 'a' && c <= 'f')
            digit = (unsigned)(c - 'a') + 10;
        else if (c >= 'A' && c <= 'F')
            digit = (unsigned)(c - 'A') + 10;
        else
            return false;
        v = v << 4 | digit;
    }
    *out = v;
    return true;
}

bool ks_unhex64(const char *text, uint64_t *id_out)
{
    uint64_t id;

    if (strlen(text) != 16 || !unhex(text, &id))
        return false;
    *id_out = id;
    return true;
}

bool ks_unhex128(const char *text, struct ks_id128 *id_out)
{
    struct ks_id128 id;

    if (strlen(text) != 32 || !unhex(text, &id.hi) || !unhex(text + 16, &id.lo))
        return false;
    *id_out = id;
    return true;
}

#define GOLDEN_GAMMA 0x9e3779b97f4a7c15u

uint64_t ks_mix64(uint64_t x)
{
    x += GOLDEN_GAMMA;
    x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
    x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
    return x ^ (x >> 31);
}

uint64_t ks_rng_next(uint64_t *state)
{
    uint64_t v = ks_mix64(*state);

    *state += GOLDEN_GAMMA;
    return v;
}

uint64_t ks_rng_below(uint64_t *state, uint64_t bound)
{
    /* 2^64 mod bound values at the bottom are rejected, so that every residue is equally likely. */
    uint64_t reject = (0 - bound) % bound;
    uint64_t v;

    do
        v = ks_rng_next(state);
    while (v < reject);
    return v % bound;
}
