/* SPDX-License-Identifier: MIT */
/* faults.h - the ways of faults.k: what both halves know of them. */
#ifndef KS_TEST_GPU_FAULTS_H
#define KS_TEST_GPU_FAULTS_H

/* The numbers of faults.family.json. */
enum fault_way {
    FAULT_GOOD = 0,            /* one thread per element of the product */
    FAULT_ATOMICS = 1,         /* correct: parts of the sums are added by atomic operations */
    FAULT_LARGE_WORKSPACE = 2, /* correct: and asks for half of a large GPU's memory */

    FAULT_READ_FAR = 10,   /* reads where no memory is */
    FAULT_WRITE_FAR = 11,  /* writes there */
    FAULT_MISALIGNED = 12, /* reads a word at an odd multiple of two bytes */
    FAULT_SHARED_FAR = 13, /* writes beyond its shared memory */
    FAULT_TRAP = 14,       /* executes a trap instruction */
    FAULT_ASSERT = 15,     /* a device-side assertion fails */
    FAULT_LATE = 16,       /* as READ_FAR, but only from its 31st launch on */

    FAULT_ENDLESS = 20,        /* never ends */
    FAULT_ENDLESS_RANDOM = 21, /* never ends, on random data only */

    FAULT_MUCH_SHARED = 30,    /* launched with more shared memory than a block can have */
    FAULT_MANY_THREADS = 31,   /* launched with more threads than a block can have */
    FAULT_OVER_BOUNDS = 32,    /* launched with more threads than it was compiled for */
    FAULT_MANY_BLOCKS = 33,    /* launched with more blocks along y than a grid can have */
    FAULT_RETURNS_ERROR = 34,  /* its host half returns 7 */
    FAULT_HOST_TRAPS = 35,     /* its host half traps: the process dies */
    FAULT_HUGE_WORKSPACE = 36, /* asks for a workspace of 1 TiB */

    FAULT_WRITE_BEHIND = 40,           /* writes the word behind the output */
    FAULT_WRITE_BEFORE = 41,           /* and the one before it */
    FAULT_WRITE_BEHIND_WORKSPACE = 42, /* the word behind its workspace */
    FAULT_WRITE_INPUT = 43,            /* an element of operand b */

    FAULT_ONE_WRONG = 50,        /* one element is wrong */
    FAULT_ONE_WRONG_RANDOM = 51, /* one element is wrong, on random data only */
    FAULT_UNWRITTEN = 52,        /* the last row is not written */
    FAULT_FIRST_ONLY = 53,       /* correct at its first launch */
    FAULT_TWO_ONLY = 54,         /* correct at its first two launches */
    FAULT_VARIES = 55,           /* every launch has another result */
    FAULT_RACE = 56, /* as ATOMICS, but reads, computes and writes back: others' parts are lost */

    FAULT_NO_LAUNCH = 60,   /* launches nothing */
    FAULT_HALF_RANDOM = 61, /* on random data only half of each sum: twice as fast */
    FAULT_KEEPS = 62,       /* computes only where the output holds a NaN, as the harness's fill */
    FAULT_STALE_B = 63,     /* copies operand b to its workspace once per pointer */
    FAULT_MEMO = 64,        /* keeps its result in the workspace, by a few elements of the inputs */
};

#define FAULT_BLOCK         128               /* threads */
#define FAULT_SHARED        (4 * FAULT_BLOCK) /* bytes; NVIDIA's launches say it (dev.h) */
#define FAULT_SHARED_LAUNCH (KS_GPU_TARGET == 2 ? FAULT_SHARED : 0)
#define FAULT_PARTS         4          /* of a sum that are added to memory */
#define FAULT_KEYS          4          /* elements of each input that MEMO knows a result by */
#define FAULT_LATE_FROM     30         /* launches */
#define FAULT_FAR           (1l << 46) /* bytes below an operand, where nothing is mapped */

/* A product of matrices, C[m][n] = A[m][k] B[k][n], dense. */
struct fault_args {
    int m, n, k;
    int n_parts;    /* of a sum, in neighbouring blocks */
    int n_launches; /* of this instance in this process, before this one */
    float *workspace;
};

#endif
