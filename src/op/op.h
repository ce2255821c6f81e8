/* SPDX-License-Identifier: MIT */
/* op.h - operators: what a problem is, its geometry, cost, inputs and references.
 *
 * To add an operator: 1. one file op_<name>.c with a `const struct ks_operator`; 2. one row in
 * ks_operators[] (op.c); 3. its number in kernels/abi.h; 4. tests/unit/test_<name>.c. */
#ifndef KS_OP_H
#define KS_OP_H

#include "base/buf.h"
#include "base/err.h"
#include "kernels/abi.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define KS_MAX_DIMS 32
#define KS_NAME_MAX 96

enum ks_dtype { KS_FP32, KS_FP16, KS_BF16, KS_N_DTYPES };
enum ks_direction { KS_FORWARD, KS_BACKWARD_DATA, KS_BACKWARD_WEIGHT, KS_N_DIRECTIONS };
enum ks_layout { KS_NHWGC, KS_NGCHW, KS_N_LAYOUTS };

/* One problem, plain data. dim[] is named by the operator's schema; a problem obtained from any
 * ks_* function is valid (checked by ks_problem_finish) and has its id. */
struct ks_problem {
    uint64_t id; /* digest of the canonical text: never count or name */
    uint32_t op; /* index into ks_operators */
    uint32_t direction, dtype, layout;
    int64_t dim[KS_MAX_DIMS];
    int64_t count;          /* how often the source uses it; merged duplicates are added up */
    char name[KS_NAME_MAX]; /* free text for people, one line */
};

/* Number of elements of the operands in the order of struct ks_abi_buffers. */
struct ks_extents {
    int64_t a, b, c;
};

/* What no direct kernel can leave out. An element takes part in the result when it meets another in
 * a product; taps that lie in the padding for every output do not. */
struct ks_work {
    double flops; /* 2 per product of elements that exist */
    double a, b;  /* elements that take part */
    double c;     /* elements of the output, all of which are written */
};

enum ks_data {
    KS_DATA_EXACT, /* non-zero integers +-1..+-q: every partial sum is exact in fp32 (DESIGN V1) */
    KS_DATA_RANDOM /* full-mantissa random values in +-[0.5, 1.5) (DESIGN V2) */
};

/* How an instance rounds, so what verification may demand of it: values of a family's trait of role
 * "numerics", by these names in lower case. */
enum ks_numerics {
    KS_NUMERICS_FP32,       /* exact data bit for bit; u_acc = 2^-24 */
    KS_NUMERICS_TRUNCATING, /* exact data bit for bit; u_acc = 2^-22 */
    KS_NUMERICS_V2_ONLY,    /* exact data only shows that everything was written; u_acc = 2^-24 */
    KS_N_NUMERICS
};

struct ks_sign_map;

/* Contract of every slot: pure; p is valid; outputs only on success. */
struct ks_operator {
    const char *name;             /* column 1 of the CSV */
    uint32_t abi;                 /* enum ks_abi_operator */
    const char *const *dim_names; /* NULL-terminated: CSV columns after layout, before count */
    const int64_t *dim_defaults;  /* [same]; INT64_MIN = must be given */
    /* KS_EINVAL with the reason a person can act on: zero or negative sizes, output below 1,
     * channels not divisible by groups, more than 2^40 elements, unsupported direction. Also brings
     * the dims into canonical form (e.g. unused leading dims). */
    int (*check)(struct ks_problem *p, struct ks_err *err);
    struct ks_extents (*extents)(const struct ks_problem *p);
    int64_t (*reduction)(const struct ks_problem *p); /* L: products per output element, at most */
    double (*flops)(const struct ks_problem *p);      /* 2 per multiply-add, padding taps counted */
    struct ks_work (*work)(const struct ks_problem *p);
    void (*to_abi)(const struct ks_problem *p, struct ks_abi_problem *out);
    /* Output extents as up to 6 dims, slowest first, for mismatch boxes; returns how many. */
    int (*shape_c)(const struct ks_problem *p, int64_t shape_out[6]);
    /* Rows, columns and summands of operand 'a', 'b' or 'c' (signs.h). */
    void (*signs)(const struct ks_problem *p, char operand, struct ks_sign_map *out);
    /* R = exact result, A = sum |x||w| (NULL: not wanted), in double, from operands given as the
     * element type. Serves both data kinds: for KS_DATA_EXACT R is an exact integer. */
    int (*reference)(const struct ks_problem *p, const void *a, const void *b, double *r_out,
                     double *abs_out, struct ks_err *err);
    /* V3. Freivalds' check modulo 2^61 - 1 of an exact-data reference: KS_EDEVICE when R is wrong.
     * KS_EINVAL when the operands are not exact data. seed chooses the random vector. Cost 1/K of
     * the reference, K = extent of the dim that is folded: output channels per group, input
     * channels for backward data, columns of a gemm. */
    int (*prove_exact)(const struct ks_problem *p, const void *a, const void *b, const double *r,
                       uint64_t seed, struct ks_err *err);
    /* V3. Recomputes n_sample elements of R and A directly, element by element, in another order:
     * KS_EDEVICE naming the first that differs by more than double rounding allows. abs NULL: R
     * only. */
    int (*prove_real)(const struct ks_problem *p, const void *a, const void *b, const double *r,
                      const double *abs, uint64_t seed, int n_sample, struct ks_err *err);
};

extern const struct ks_operator *const ks_operators[]; /* NULL-terminated */

/* Index into ks_operators, or KS_ENOENT (err lists the known names). */
int ks_operator_find(const char *name, uint32_t *op_out, struct ks_err *err);

/* Indices into enum ks_dtype/direction/layout by name; -1 when unknown. */
int ks_dtype_from(const char *name);     /* fp32 fp16 bf16 */
int ks_direction_from(const char *name); /* forward backward_data backward_weight, or fwd bwd_data
                                            bwd_weight; printed is always the long name */
int ks_layout_from(const char *name);    /* nhwgc ngchw */
/* Of names (NULL-terminated): the one that others call by this text ("float32", "nhwc"), else the
 * nearest (ks_nearest); NULL: none. */
const char *ks_word_nearest(const char *text, const char *const *names);
/* "; did you mean 'fp32'? Known are fp32, fp16, bf16", appended: for a text that is no such word.
 * of: "dtype", "direction" or "layout". Knows what other programs call them ("float32", "nhwc"). */
void ks_word_put_known(const char *of, const char *text, struct ks_buf *to);
const char *ks_dtype_name(uint32_t dtype);
const char *ks_direction_name(uint32_t direction);
const char *ks_layout_name(uint32_t layout);
size_t ks_dtype_bytes(uint32_t dtype);

/* A zeroed problem of an operator with its defaults filled in. */
struct ks_problem ks_problem_blank(uint32_t op);
/* Check, canonicalise and compute the id. */
int ks_problem_finish(struct ks_problem *p, struct ks_err *err);
/* Index of a dim by name, -1 when the operator has none of that name. */
int ks_problem_dim(uint32_t op, const char *name);
/* "operator=grouped_conv direction=forward ... pad_w_hi=1": the text that is hashed. */
void ks_problem_canonical(const struct ks_problem *p, struct ks_buf *text_out);
void ks_problem_csv_header(uint32_t op, struct ks_buf *text_out); /* with newline */
void ks_problem_csv_row(const struct ks_problem *p, struct ks_buf *text_out);
/* Parses what ks_problem_canonical printed (journal); id recomputed. */
int ks_problem_parse(const char *canonical, struct ks_problem *p_out, struct ks_err *err);

double ks_problem_flops(const struct ks_problem *p);
double ks_problem_min_bytes(const struct ks_problem *p); /* each operand touched once */

/* Fill n elements of operand 'a' or 'b' (from the problem's id as seed: the same for every
 * instance, on every machine) in the problem's dtype. */
void ks_problem_inputs(const struct ks_problem *p, enum ks_data data, char operand, void *dst);
/* The q of KS_DATA_EXACT: largest of 3, 2, 1 with q^2 L < 2^22; 0 = even q = 1 is too long, then
 * inputs are sparse (non-zero with a density that keeps every sum below 2^22). */
int ks_problem_exact_q(const struct ks_problem *p);

/* One element of a dtype to double and back (round to nearest even). */
double ks_element_get(const void *base, int64_t i, uint32_t dtype);
void ks_element_set(void *base, int64_t i, uint32_t dtype, double v);
/* The first n elements as fp32; exact, every type here is a part of it. */
void ks_elements_to_floats(const void *base, int64_t n, uint32_t dtype, float *floats_out);
/* ks_element_set() of n elements; quick where all are whole numbers up to 2^24. */
void ks_elements_round(const double *src, int64_t n, uint32_t dtype, void *dst);
/* An operand of n elements as fp32: borrowed from src, or owned (caller frees; else NULL). */
int ks_operand_floats(const void *src, int64_t n, uint32_t dtype, float **owned_out,
                      const float **floats_out, struct ks_err *err);

#endif
