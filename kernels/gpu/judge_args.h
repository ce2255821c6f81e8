/* SPDX-License-Identifier: MIT */
/* judge_args.h - what the judge's kernels are launched with, and what they write: the same bytes in
 * both halves. The device's half sees neither abi.h nor judge.h; the host's half holds this to
 * them. */
#ifndef KS_GPU_JUDGE_ARGS_H
#define KS_GPU_JUDGE_ARGS_H

#include "args.h"

#define KS_JUDGE_BLOCK  256 /* threads of every kernel */
#define KS_JUDGE_DIGITS 8   /* of an element of the output */
#define KS_JUDGE_X      2   /* the digit that is x; y and z follow */
#define KS_JUDGE_RUN    64  /* products of a run, at most */
/* First words of masks: KS_JUDGE_MASK_R, KS_JUDGE_MASK_ABS. */
#define KS_JUDGE_BASE_R   (1ull << 48)
#define KS_JUDGE_BASE_ABS (2ull << 48)
/* Bytes of LDS: the sums of all threads, or what they counted. */
#define KS_JUDGE_SUMS_LDS (KS_JUDGE_BLOCK * 2 * 8)
#define KS_JUDGE_LOOK_LDS (KS_JUDGE_BLOCK * 5 * 8)

/* The index of an element of the output is digits, the first varies fastest; each brings the
 * operands so many elements further. */
struct ks_judge_digit {
    long a, b;
    int extent;
};

/* One axis, x first. A pixel (a tap, where taps are the output) at `to` and a step of the sum at
 * `step` meet at pixel (to * by_to + step * by_step + offset) / divisor of a, where that is whole,
 * not negative and below `limit`. */
struct ks_judge_axis {
    int by_to, by_step, offset, divisor, limit;
    int extent; /* steps of the sum */
    struct ks_magic by_extent, by_divisor;
    long a, b; /* elements from one pixel of a, from one step in b */
};

/* The references: a sum for every element of the output. It is made of runs, of which the first
 * index is the part of `run`, then the steps along x, y and z, then the image; runs go to the lanes
 * in turn and each lane adds its own in their order; last, the lanes are added as a tree. All of it
 * depends on the problem alone. */
struct ks_judge_sums {
    double *abs; /* NULL: not wanted */
    unsigned long long mask[2];
    long n, first; /* elements; the first of this launch */
    struct ks_judge_digit digit[KS_JUDGE_DIGITS];
    struct ks_judge_axis axis[3];
    long image_a, image_b; /* from one image to the next, where images are summed over */
    int lanes,
        log2_outputs; /* of an element; elements of a block: lanes << log2_outputs is a block */
    int n_runs;
    int n_parts; /* of the longest run */
    struct ks_magic by_parts;
    int run;           /* products of the longest run */
    long run_a, run_b; /* elements from one product to the next */
    int is_row;        /* a run goes along x: it has the products whose pixel of a is inside */
    int row_step;      /* pixels of a from one product to the next */
    struct ks_magic by_row_step;
};

/* All the others; what they do not need is zero. */
struct ks_judge_look {
    const double *abs;
    unsigned long long mask[2];
    long n;
    long stride; /* threads of the grid */
    double u_out, scale_a, tiny;
    int is_c_masked;
};

/* Signs are changed: struct ks_judge_signs. */
#define KS_JUDGE_N_AXES    4
#define KS_JUDGE_N_CLASSES 3
struct ks_judge_turn {
    void *elements;
    long n;
    long stride; /* threads of the grid */
    int extent[KS_JUDGE_N_AXES];
    long step[KS_JUDGE_N_AXES][KS_JUDGE_N_CLASSES];
    const unsigned char *byte[KS_JUDGE_N_CLASSES]; /* NULL: changes nothing */
};

/* struct ks_judge_part; max_error by its bits. */
struct ks_judge_share {
    unsigned long long n_wrong, first, n_zero, digest, max_error;
};

/* struct ks_judge_tick. */
struct ks_judge_moment {
    unsigned long long unit, cycles, ns;
};

#endif
