/* SPDX-License-Identifier: MIT */
/* references.h - what a problem's outputs must be; computed once per problem, proved (V3), and
 * shared by every worker of the rank through a sealed memfd.
 *
 * memfd layout, in the host's byte order (it never leaves the machine):
 *   0    struct ks_reference_header, 64 bytes; crc = CRC-32C of the bytes before it
 *   64   per part, each aligned to 64 bytes, in this order:
 *        exact  [n] elements of dtype: the exact result rounded to dtype (parts & KS_PART_EXACT)
 *        real   [n] double: R         (parts & KS_PART_REAL)
 *        abs    [n] double: A         (parts & KS_PART_REAL)
 * All behind the header is masked (mask.h), byte i with word i / 8 of the stream, so that neither
 * the mapping nor the memfd shows the answer to a kernel. Where the references lie on devices
 * (judge.h) the memfd holds only what identifies them (parts & KS_PART_DIGESTS), unmasked: struct
 * ks_reference_digests. */
#ifndef KS_WORKER_REFERENCES_H
#define KS_WORKER_REFERENCES_H

#include "op/op.h"
#include "worker/mask.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define KS_REFERENCE_MAGIC   0x3146455250454553ull /* "SEEPREF1" */
#define KS_REFERENCE_SAMPLES 64                    /* of prove_real */

enum { KS_PART_EXACT = 1, KS_PART_REAL = 2, KS_PART_DIGESTS = 4 };

/* Of proved references that no host keeps: ks_judge_digest_host() of each as it lies on the device,
 * masked; 0 what is not wanted. */
struct ks_reference_digests {
    uint64_t exact, real, abs;
};

struct ks_reference_header {
    uint64_t magic, problem, n_elements, total_bytes;
    uint32_t parts, dtype, reserved[5], crc;
};

/* Mapped read-only: a wild kernel that writes here dies instead. All three are masked. */
struct ks_references {
    const void *exact, *real, *abs;
    uint32_t parts;
    void *map; /* owned */
    size_t map_bytes;
};

/* Operands for the host; a part that is not wanted may have NULL. */
struct ks_reference_inputs {
    const void *exact_a, *exact_b, *real_a, *real_b;
};

/* ks_references_compute() - compute, prove, mask, keep.
 * @parts  [in]  KS_PART_*
 * @fd     [in]  empty or half-written memfd to fill and seal, or -1: private memory; borrowed
 * @mask   [in]  the same for all that open the memfd
 * Returns 0; KS_EDEVICE: a proof failed; KS_ENOMEM; KS_EIO. */
int ks_references_compute(const struct ks_problem *p, const struct ks_reference_inputs *in,
                          uint32_t parts, int fd, const struct ks_mask *mask,
                          struct ks_references *out, struct ks_err *err);

/* One of exact, real and abs of r, for those who have the key. */
struct ks_masked ks_references_part(const struct ks_references *r, const void *part,
                                    const struct ks_mask *mask);

/* ks_references_open() - map what another worker computed.
 * Returns 0; KS_EPROTO: not sealed, damaged, of another problem, or without a wanted part. */
int ks_references_open(const struct ks_problem *p, uint32_t parts, int fd,
                       struct ks_references *out, struct ks_err *err);

/* The same for digests instead of what they are of. parts [in] without KS_PART_DIGESTS. Keeping:
 * KS_EIO, KS_ENOSPC; opening: KS_EPROTO as above. */
int ks_references_keep_digests(const struct ks_problem *p, uint32_t parts, int fd,
                               const struct ks_reference_digests *d, struct ks_err *err);
int ks_references_open_digests(const struct ks_problem *p, uint32_t parts, int fd,
                               struct ks_reference_digests *out, struct ks_err *err);

/* What a finished memfd holds, KS_PART_*; 0: it is not finished or damaged. */
uint32_t ks_references_parts(int fd);
/* Whether the memfd is finished. */
bool ks_references_are_sealed(int fd);

void ks_references_release(struct ks_references *r); /* a zeroed one is fine */

#endif
