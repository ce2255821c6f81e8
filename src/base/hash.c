/* SPDX-License-Identifier: MIT */
/* hash.c - SHA-256 and ids made of it, random ids, hex texts, a seeded random generator */
#include "base/hash.h"
#include "base/clock.h"
#include "base/sha.h"

#include <errno.h>
#include <string.h>
#include <sys/random.h>
#include <unistd.h>

static uint64_t load_be64(const uint8_t *p)
{
    return (uint64_t)ks_load_be32(p) << 32 | ks_load_be32(p + 4);
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
    size_t used = h->n_bytes % 64, take = n < 64 - used ? n : 64 - used;

    if (n == 0) /* bytes may be NULL then */
        return;
    h->n_bytes += n;
    if (used) { /* fill the block that was begun */
        memcpy(h->block + used, p, take);
        p += take;
        n -= take;
        if (used + take < 64)
            return;
        ks_sha256_blocks(h->state, h->block, 1);
    }
    ks_sha256_blocks(h->state, p, n / 64);
    memcpy(h->block, p + n / 64 * 64, n % 64);
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
