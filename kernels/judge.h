/* SPDX-License-Identifier: MIT */
/* judge.h - between the worker and the kernels that verify others where they ran.
 *
 * On a GPU an output is compared where it is: bringing it to the host costs more than most kernels
 * take. The judge is the family `gpu_judge`, one instance per element type, an artefact like any
 * other (abi.h); what it is asked is a struct ks_judge_call that it is given as its problem. It is
 * held to the host's arithmetic bit for bit, and nothing that it makes is used unproved (V3). */
#ifndef KS_KERNELS_JUDGE_H
#define KS_KERNELS_JUDGE_H

#include "abi.h"

#define KS_JUDGE_PARTS 1024u /* partial results of a call, at most: one of a block */
#define KS_JUDGE_NONE  UINT64_MAX

/* References are masked where they lie in device memory, since any kernel can read it: XORed with
 * 64-bit words that depend on struct ks_judge_call.mask and their number alone. Word i of the
 * stream
 *
 *     x = mask[0] + i * 0x9e3779b97f4a7c15
 *     x = (x ^ x >> 32) * 0xbf58476d1ce4e5b9 ^ mask[1]
 *     x = (x ^ x >> 29) * 0x94d049bb133111eb
 *     x ^ x >> 32
 *
 * (worker/mask.h) masks bytes 8 (i - base) .. of an array, in the order of a little-endian machine.
 * mask {0, 0}: nothing is masked. */
#define KS_JUDGE_MASK_EXACT UINT64_C(0) /* base of the rounded exact reference */
#define KS_JUDGE_MASK_R     (UINT64_C(1) << 48)
#define KS_JUDGE_MASK_ABS   (UINT64_C(2) << 48)

enum ks_judge_task {
    /* a, b: operands of the problem -> r[n]: the exact sums in double, and abs[n]: the sums of
     * |a||b|; abs NULL: not wanted. Each sum in an order that depends on the problem alone. Both
     * are masked. */
    KS_JUDGE_REFERENCE,
    /* r[n], masked -> c: elements, rounded to nearest, ties to even; masked where is_c_masked */
    KS_JUDGE_ROUND,
    /* a, b: n elements each, b masked; wrong is what differs in its bits, but for zeros of either
     * sign */
    KS_JUDGE_EXACT,
    /* a: n elements; wrong is what is not within u_out |r| + scale_a abs + tiny of r, both masked:
     * the same operations in the same order as worker/verify.c, none of them fused */
    KS_JUDGE_REAL,
    /* a: n elements; wrong is a NaN */
    KS_JUDGE_WRITTEN,
    /* a: n BYTES, 4-byte aligned; see ks_judge_part.digest */
    KS_JUDGE_DIGEST,
    /* c: n elements: signs are changed in place where the call's `signs` say so; twice is nothing.
     * digest: how many were changed */
    KS_JUDGE_FLIP,
    /* workspace: struct ks_judge_tick[n_parts], one per block. Takes microseconds; run before and
     * after others it tells the mean clock between. */
    KS_JUDGE_CLOCK,
    KS_JUDGE_N_TASKS
};

/* Where signs change. The elements are an array of four axes, slowest first; an element's place in
 * byte[c] is the sum over the axes of its place there times step[c]. Its sign changes when an odd
 * number of these bytes have their highest bit set. */
#define KS_JUDGE_AXES    4
#define KS_JUDGE_CLASSES 3
struct ks_judge_signs {
    int64_t extent[KS_JUDGE_AXES];
    int64_t step[KS_JUDGE_AXES][KS_JUDGE_CLASSES];
    const uint8_t *byte[KS_JUDGE_CLASSES]; /* device memory; NULL: the class changes nothing */
};

/* A block's share of the answer, in the workspace of the call: [n_parts]. All of it is written;
 * what a task does not say is zero, `first` KS_JUDGE_NONE. */
struct ks_judge_part {
    uint64_t n_wrong, first; /* the lowest index that is wrong; KS_JUDGE_NONE: none */
    uint64_t n_zero;         /* REAL: elements equal to zero */
    /* DIGEST: sum modulo 2^64 of mix(i << 32 | w) over the 4-byte words w, i = 0, 1..; missing
     * bytes of the last are zeros; mix is ks_mix64 of base/hash.h, so one changed word always shows
     */
    uint64_t digest;
    double max_error; /* REAL: largest |o - r| / tolerance where |o - r| is a finite number */
};

/* When a block ran, by the counters of the compute unit it ran on: two ticks of one unit give its
 * mean clock. */
struct ks_judge_tick {
    uint64_t unit;
    uint64_t cycles; /* of the unit's clock; 0: it has no counter */
    uint64_t ns;     /* of a clock with a constant rate, since any moment */
};

/* problem.bytes is sizeof(struct ks_judge_call); unsupported() gives a reason for problems whose
 * references it does not compute, run() fails when it is not asked as said here. */
struct ks_judge_call {
    struct ks_abi_problem problem; /* first */
    uint32_t task;                 /* enum ks_judge_task */
    /* Blocks of the tasks that answer, all but REFERENCE and ROUND: 1..KS_JUDGE_PARTS. CLOCK: at
     * least one per compute unit. */
    uint32_t n_parts;
    uint64_t n;                  /* see the tasks; REFERENCE: elements of the output */
    double *r, *abs;             /* device memory */
    double u_out, scale_a, tiny; /* REAL */
    uint64_t mask[2];            /* key of the mask; both 0: none */
    uint32_t is_c_masked;        /* ROUND */
    struct ks_judge_signs signs; /* FLIP: n is the product of its extents */
};

#endif
