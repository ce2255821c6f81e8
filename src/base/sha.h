/* SPDX-License-Identifier: MIT */
/* sha.h - private to src/base: the compression function of SHA-256 (FIPS 180-4, 6.2.2). */
#ifndef KS_BASE_SHA_H
#define KS_BASE_SHA_H

#include <stddef.h>
#include <stdint.h>

/* A big-endian word, as the standard reads and writes them. */
static inline uint32_t ks_load_be32(const uint8_t *p)
{
    return (uint32_t)p[0] << 24 | (uint32_t)p[1] << 16 | (uint32_t)p[2] << 8 | p[3];
}

/* Takes n_blocks blocks of 64 bytes into the state. Uses the SHA instructions where the CPU has
 * them. */
void ks_sha256_blocks(uint32_t state[8], const uint8_t *blocks, size_t n_blocks);
/* The same without them; visible so that a test can hold the two against each other. */
void ks_sha256_blocks_portable(uint32_t state[8], const uint8_t *blocks, size_t n_blocks);

#endif
