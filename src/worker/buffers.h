/* SPDX-License-Identifier: MIT */
/* buffers.h - operands in device memory with a guard zone on either side of each.
 *
 * A zone is guard, payload, guard without a gap: the element before the first and the element after
 * the last one are guard. Input guards are NaN, so that a read outside shows in the result; output
 * and workspace guards are finite, so that adding to them changes them. */
#ifndef KS_WORKER_BUFFERS_H
#define KS_WORKER_BUFFERS_H

#include "device/device.h"
#include "op/op.h"
#include "op/signs.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define KS_GUARD_BYTES  4096u
#define KS_PATTERN_NAN  0x7fff7fffu /* NaN in fp32, fp16 and bf16 */
#define KS_PATTERN_EDGE 0xa5a5a5a5u /* a tiny finite number in all of them */

struct ks_zone {
    uint8_t *mem;  /* owned device memory: guard, payload, guard; NULL = empty zone */
    uint8_t *view; /* the same bytes for the host: mem itself, or an owned copy */
    bool is_copy;
    bool has_pulled; /* the copy holds what a kernel wrote */
    size_t bytes;    /* payload */
    size_t cap;      /* payload that fits without a new allocation */
    uint32_t guard;  /* pattern of the guards */
};

/* Set the payload's size, keeping the memory when it fits; writes both guards, the payload is
 * undefined. Starts from a zeroed struct. bytes 0 releases. KS_ENOMEM, KS_EDEVMEM and what the
 * device returns: the zone is then empty. */
int ks_zone_resize(struct ks_device *dev, struct ks_zone *z, size_t bytes, uint32_t guard,
                   struct ks_err *err);
void ks_zone_release(struct ks_device *dev, struct ks_zone *z);

void *ks_zone_device(const struct ks_zone *z); /* payload for kernels; NULL when empty */
void *ks_zone_host(const struct ks_zone *z);   /* payload for the host; NULL when empty */

/* Make the device see what the host wrote, and the reverse; nothing to do where they share memory.
 */
int ks_zone_push(struct ks_device *dev, struct ks_zone *z, struct ks_err *err);
int ks_zone_pull(struct ks_device *dev, struct ks_zone *z, struct ks_err *err);
int ks_zone_push_guards(struct ks_device *dev, struct ks_zone *z, struct ks_err *err);
int ks_zone_pull_guards(struct ks_device *dev, struct ks_zone *z, struct ks_err *err);

/* Fill the payload that the device sees with a 4-byte pattern. The host's view holds it only where
 * they share memory. */
int ks_zone_fill(struct ks_device *dev, struct ks_zone *z, uint32_t pattern, struct ks_err *err);

/* Whether both guards of the host's view hold their pattern; else the offset of the first changed
 * byte, from the payload's start (negative before it). */
bool ks_zone_is_intact(const struct ks_zone *z, int64_t *offset_out);
void ks_zone_fill_view(struct ks_zone *z, uint32_t pattern); /* the payload, for the host only */
/* Read and write every byte of the payload and change none; nothing where the host sees a copy. */
void ks_zone_rewrite(struct ks_zone *z);
void ks_zone_mend(struct ks_zone *z); /* write both guards into the host's view again */

/* A 64-bit sum that differs whenever one 4-byte word differs, and else almost surely. Not for
 * identities. */
uint64_t ks_quick_hash(const void *bytes, size_t n);

enum ks_zone_name {
    KS_Z_EXACT_A,
    KS_Z_EXACT_B,
    KS_Z_REAL_A,
    KS_Z_REAL_B,
    KS_Z_C,
    KS_Z_WORKSPACE,
    KS_Z_COUNT,
    KS_Z_INPUTS = KS_Z_C /* the first ones are inputs */
};

/* Everything a problem's kernels get. */
struct ks_workset {
    struct ks_device *dev; /* borrowed */
    struct ks_problem problem;
    const struct ks_operator *op;
    struct ks_abi_problem abi;
    struct ks_extents extents;
    size_t element_bytes;
    struct ks_zone zone[KS_Z_COUNT];
    uint64_t hash[KS_Z_INPUTS];
    struct ks_signs signs; /* of the random inputs and the output; of a virtual device zeroed */
};

/* Allocates and fills the inputs of both data kinds (only random ones when !has_exact), and the
 * output; a virtual device has no operands. KS_ENOMEM, KS_EDEVMEM and what the device returns;
 * *set_out untouched then. */
int ks_workset_create(struct ks_device *dev, const struct ks_problem *p, bool has_exact,
                      struct ks_workset *set_out, struct ks_err *err);
void ks_workset_release(struct ks_workset *set); /* a zeroed one is fine */

/* The arguments of a launch on one data kind. */
struct ks_abi_buffers ks_workset_buffers(const struct ks_workset *set, enum ks_data data);

/* Output and workspace guards, all damage repaired. Returns true when they were intact; else
 * *rc_out is 0 and reason_out [cap] says which and where, or *rc_out is KS_E* and *err says what
 * failed.
 * @has_output [in] the host's view holds the output's payload afterwards, too */
bool ks_workset_check_guards(struct ks_workset *set, bool has_output, char *reason_out, size_t cap,
                             int *rc_out, struct ks_err *err);
/* The device gets all inputs again as the host's view has them. */
int ks_workset_push_inputs(struct ks_workset *set, struct ks_err *err);
/* Inputs and their guards are as they were made; what is not is made again. Returns as above. All
 * of what the host does not see travels. */
bool ks_workset_check_inputs(struct ks_workset *set, char *reason_out, size_t cap, int *rc_out,
                             struct ks_err *err);
/* The same for one of them. */
bool ks_workset_check_input(struct ks_workset *set, size_t i_zone, char *reason_out, size_t cap,
                            int *rc_out, struct ks_err *err);
/* Output and workspace, on the device and in the host's copies, hold nothing of what a kernel wrote
 * there: the next one cannot have its result from them. What the device returns. */
int ks_workset_poison(struct ks_workset *set, struct ks_err *err);
/* ks_workset_flip() - change the signs of the random inputs or the output as set->signs say, on the
 * host: KS_Z_REAL_A, KS_Z_REAL_B: where the kernel finds them, whatever it left there; KS_Z_C: in
 * the host's view. Returns 0 or what the device returns. */
int ks_workset_flip(struct ks_workset *set, enum ks_zone_name zone, struct ks_err *err);

/* Whether the host sees only copies of what the device holds. */
bool ks_workset_is_hidden(const struct ks_workset *set);

#endif
