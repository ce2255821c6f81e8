/* SPDX-License-Identifier: MIT */
/* power.h - how much the verification of src/worker/verify.h sees: correct outputs computed in many
 * legitimate ways must pass, faults put into them must not. For the unit test and the bench. */
#ifndef KS_TEST_POWER_H
#define KS_TEST_POWER_H

#include "products.h"
#include "worker/verify.h"

/* Legitimate ways to sum products in fp32; the result is rounded once to the output type. */
enum way {
    WAY_FORWARD,  /* one by one */
    WAY_BACKWARD, /* from the last */
    WAY_LANES,    /* 16 partial sums, added up at the end: a vector kernel */
    WAY_BLOCKS,   /* partial sums over blocks of 64: a blocked reduction */
    WAY_PAIRS,    /* binary tree */
    WAY_FUSED,    /* fused multiply-add */
    WAY_DOUBLES,  /* accumulated in double, rounded to fp32: better than asked */
    WAY_ATOMIC,   /* split-k with atomics: 8 partial sums of strided parts, in random order */
    N_WAYS
};
const char *way_name(enum way w);

enum fault_kind {
    FAULT_DROPPED,    /* one product is missing in one element */
    FAULT_OFF,        /* one element is off by a little more than the tolerance of V2 */
    FAULT_TAIL,       /* the tail of a dim is zero: a tail tile was not computed */
    FAULT_TRANSPOSED, /* a block of two dims is transposed */
    FAULT_STALE,      /* a row holds what its neighbour holds */
    FAULT_SWAPPED,    /* two indices of a dim are exchanged everywhere */
    FAULT_RACE,       /* some elements lost the update of one half of the sum */
    FAULT_UNWRITTEN,  /* a few elements are still poison */
    FAULT_NAN,        /* one element is NaN or infinite */
    FAULT_GROUP,      /* a group (batch) was computed with the operand b of another */
    FAULT_ROUNDING,   /* results truncated (16 bit), or inputs cut to 10 bits of mantissa (fp32) */
    N_FAULTS
};
const char *fault_name(enum fault_kind k);

/* One problem with its data, references and tolerance; owns all. */
struct subject {
    struct ks_problem p;
    struct products products;
    struct ks_shape shape;
    struct ks_tolerance tolerance;
    void *a[2], *b[2];        /* by enum ks_data */
    double *r[2], *magnitude; /* references of both; sum of |x||w| for KS_DATA_RANDOM */
    void *want;               /* exact results rounded to the type */
    size_t element;
};
/* A small random problem of any operator, direction, dtype and layout. */
void subject_make(uint64_t *rng, struct subject *out);
void subject_release(struct subject *s);

/* Computes the whole output. */
void subject_compute(const struct subject *s, enum ks_data data, enum way way, uint64_t *rng,
                     void *out);
/* Puts a fault into a correct output; false when the problem has no room for it. */
bool subject_break(const struct subject *s, enum ks_data data, enum fault_kind kind, uint64_t *rng,
                   void *out);

struct sight {          /* what is to be seen in an output, by plain loops of our own */
    bool differs_exact; /* some element is not the rounded exact result; zeros have no sign */
    bool is_above;      /* some element is beyond the tolerance, or no number */
    int64_t n_zero;     /* elements that are zero */
    double worst;       /* largest error / tolerance of the finite elements */
};
struct sight subject_look(const struct subject *s, enum ks_data data, const void *out);

/* V1 and V2 as the worker calls them: elements found wrong. */
uint64_t subject_v1(const struct subject *s, const void *out);
uint64_t subject_v2(const struct subject *s, const void *out);

/* Tallies of a campaign. */
struct power {
    struct fault_row {
        uint32_t n1, caught1, identical1; /* under V1; identical: nothing changed */
        uint32_t n2, caught2;             /* under V2 */
        uint32_t same2, below2; /* not to be seen: nothing changed; within the tolerance */
        uint32_t nonzero; /* V2 faults with as many non-zeros as the correct output, or more */
        uint32_t any;     /* V2 faults in which at least one element is not zero */
    } fault[N_FAULTS];
    uint32_t n_correct, n_false_1, n_false_2; /* cells, each under both */
    uint32_t n_missed_1, n_missed_2;          /* to be seen, not seen */
    uint32_t n_wrongly_2;                     /* within the tolerance, refused */
    double worst_correct;                     /* of all correct cells: error / tolerance */
    uint32_t by_direction[KS_N_DIRECTIONS], by_dtype[KS_N_DTYPES], n_gemm, n_ngchw; /* subjects */
};
/* Correct cells and faults on one subject: every way once, every kind of fault once under both. */
void power_add(struct power *t, const struct subject *s, uint64_t *rng);

#endif
