/* SPDX-License-Identifier: MIT */
/* judge.h - verification on the device: references, comparisons and digests by the kernels of
 * kernels/judge.h, so that an output never crosses the bus unless it is wrong.
 *
 * Nothing that the device says is believed unproved: of a problem's first worker the host proves
 * the references (V3) and keeps their digests in the memfd of references.h; a later worker's must
 * have the same digests. Before a cell is judged, one planted wrong element must be found, and
 * nothing else. What is found wrong is looked at again by the host, whose verdict counts. */
#ifndef KS_WORKER_JUDGE_H
#define KS_WORKER_JUDGE_H

#include "device/device.h"
#include "kernels/judge.h"
#include "worker/buffers.h"
#include "worker/references.h"
#include "worker/vault.h"
#include "worker/verify.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The same number as KS_JUDGE_DIGEST, by the host. */
uint64_t ks_judge_digest_host(const void *bytes, size_t n);
/* That of n bytes that follow `before` others, to be added up. before: a multiple of 4. */
uint64_t ks_judge_digest_part(const void *bytes, size_t n, size_t before);

/* The judge of the problem in hand; all zeros: the host verifies. References lie in device memory
 * that a wild kernel can reach, without guards: their digests tell. They are masked there, and the
 * judge gets the key as an argument of each launch that needs it. */
struct ks_judge {
    struct ks_device *dev;            /* borrowed; NULL: the host verifies */
    const struct ks_vault *vault;     /* borrowed: the key */
    const struct ks_abi_entry *entry; /* borrowed */
    struct ks_judge_call call;        /* what is the same in all calls */
    struct ks_zone answers;           /* [KS_JUDGE_PARTS] struct ks_judge_part */
    uint8_t *signs;                   /* owned: all bytes of a struct ks_signs ... */
    uint64_t n_set;                   /* ... as they were with this number; 0: none yet */
    uint32_t parts;                   /* KS_PART_*: what is verified */
    size_t n, element_bytes;          /* of the output */
    void *exact;                      /* owned, [n] elements; as the next, NULL: not wanted */
    double *r, *abs;                  /* owned, [n] each; all three masked */
    uint64_t inputs[KS_Z_INPUTS];     /* digests, with guards, as made */
    struct ks_reference_digests references;
    bool is_proved; /* taken up: from now on it must not fail */
};

/* All parts of an answer together, as in struct ks_judge_part. */
struct ks_judged {
    uint64_t n_wrong, first, n_zero, digest;
    double max_error;
};

/* Whether an error of opening or taking up means that the host can do it instead: no memory on the
 * device for the references, a problem or a device that the judge is not made for, not loadable. */
bool ks_judge_is_refusal(int rc);

/* ks_judge_open() - buffers for a problem.
 * @entry [in] the judge of the problem's element type; must live longer
 * @set   [in] the problem, operands in hidden memory
 * @parts [in] KS_PART_*
 * @vault [in] holds the key; must live longer
 * Returns 0; KS_EUNSUPPORTED: entry->unsupported() says why; KS_EDEVMEM; what the device returns.
 * *judge_out untouched then. */
int ks_judge_open(const struct ks_abi_entry *entry, const struct ks_workset *set, uint32_t parts,
                  const struct ks_vault *vault, struct ks_judge *judge_out, struct ks_err *err);
void ks_judge_close(struct ks_judge *j); /* a zeroed one is fine */

/* ks_judge_take_up() - inputs are on the device as made; references are computed there, and the
 * judge finds what is planted and nothing else. The output serves as scratch.
 * @known [in] digests that the references must have; NULL: the host proves them
 * Returns 0 with j->inputs and j->references; KS_EDEVICE: a proof failed, or the judge lies. */
int ks_judge_take_up(struct ks_judge *j, struct ks_workset *set,
                     const struct ks_reference_digests *known, struct ks_err *err);

/* Digests now. Inputs: [KS_Z_INPUTS], guards included, 0 where there is none; references: 0 what is
 * not wanted. */
int ks_judge_digest_inputs(struct ks_judge *j, const struct ks_workset *set, uint64_t *digests_out,
                           struct ks_err *err);
int ks_judge_digest_references(struct ks_judge *j, struct ks_reference_digests *out,
                               struct ks_err *err);

/* One launch each; KS_EDEVICE also when the answer is none: not written, not possible, or written
 * where none belongs. Pointers are the device's. */
int ks_judge_exact(struct ks_judge *j, const void *output, struct ks_judged *out,
                   struct ks_err *err);
int ks_judge_written(struct ks_judge *j, const void *output, struct ks_judged *out,
                     struct ks_err *err);
int ks_judge_real(struct ks_judge *j, const void *output, const struct ks_tolerance *t,
                  struct ks_judged *out, struct ks_err *err);
int ks_judge_digest(struct ks_judge *j, const void *bytes, size_t n, uint64_t *digest_out,
                    struct ks_err *err);
/* Operands -> r and abs; r -> elements, masked where they are j->exact. */
int ks_judge_reference(struct ks_judge *j, const void *a, const void *b, struct ks_err *err);
int ks_judge_round(struct ks_judge *j, void *elements, struct ks_err *err);
/* Changes the signs of operand 'a', 'b' or 'c', in place. */
int ks_judge_flip(struct ks_judge *j, const struct ks_signs *signs, char operand, void *elements,
                  struct ks_err *err);

/* ks_judge_fetch() - n numbers of j->r or j->abs, from number `first` on, unmasked.
 * @to [out] [n]; the caller erases it before a kernel runs */
int ks_judge_fetch(struct ks_judge *j, const double *array, size_t first, size_t n, double *to,
                   struct ks_err *err);
/* The mask of j->exact, j->r or j->abs from byte `byte` on, a multiple of 8, for a copy of it at
 * `copy`. */
struct ks_masked ks_judge_masked(const struct ks_judge *j, const void *array, size_t byte,
                                 const void *copy, const struct ks_mask *mask);

#endif
