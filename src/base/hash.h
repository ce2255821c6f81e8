/* SPDX-License-Identifier: MIT */
/* hash.h - SHA-256 for identities, CRC-32C for frames, hex text for ids. */
#ifndef KS_BASE_HASH_H
#define KS_BASE_HASH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct ks_sha256 {
    uint32_t state[8];
    uint64_t n_bytes;
    uint8_t block[64];
};
void ks_sha256_init(struct ks_sha256 *h);
void ks_sha256_add(struct ks_sha256 *h, const void *bytes, size_t n);
void ks_sha256_end(struct ks_sha256 *h, uint8_t digest_out[32]); /* Source: FIPS 180-4 */

/* 64-bit identity: the first 8 bytes of SHA-256, read big-endian, so that its hex text is the
 * beginning of the digest's hex text. Fixed by golden tests. */
uint64_t ks_id64(const void *bytes, size_t n);

/* 128-bit identity (build_id, code_id, run_id, nonce). */
struct ks_id128 {
    uint64_t hi, lo;
};
struct ks_id128 ks_id128(const void *bytes, size_t n);
struct ks_id128 ks_sha256_id128(struct ks_sha256 *h); /* ends h */
bool ks_id128_eq(struct ks_id128 a, struct ks_id128 b);
bool ks_id128_is_zero(struct ks_id128 a);
struct ks_id128 ks_id128_random(void); /* getrandom(2); never zero */

void ks_hex64(uint64_t id, char text_out[17]);
void ks_hex128(struct ks_id128 id, char text_out[33]);
bool ks_unhex64(const char *text, uint64_t *id_out);         /* exactly 16 hex digits */
bool ks_unhex128(const char *text, struct ks_id128 *id_out); /* exactly 32 hex digits */

/* CRC-32C (Castagnoli), as in iSCSI (RFC 3720); crc of "123456789" is 0xe3069283. Start with 0 and
 * chain. Uses the SSE4.2 instruction where the CPU has it. */
uint32_t ks_crc32c(uint32_t crc, const void *bytes, size_t n);
/* The same without the instruction; public so that a test can hold the two against each other. */
uint32_t ks_crc32c_portable(uint32_t crc, const void *bytes, size_t n);

/* splitmix64 (Steele, Lea, Flood 2014): counter-based, same on every machine. ks_mix64(x) is the
 * first number of a generator whose state is x. */
uint64_t ks_mix64(uint64_t x);
uint64_t ks_rng_next(uint64_t *state);                  /* full 64 bits */
uint64_t ks_rng_below(uint64_t *state, uint64_t bound); /* unbiased, bound > 0 */

#endif
