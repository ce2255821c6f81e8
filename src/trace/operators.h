/* SPDX-License-Identifier: MIT */
/* operators.h - what an operator of a trace computes: its tensors, FLOPs, bytes, and whether it is
 * a convolution or a matrix product.
 * Source: the argument orders of PyTorch's native_functions.yaml; FLOPs count 2 per multiply-add,
 * taps in the padding included. */
#ifndef KS_TRACE_OPERATORS_H
#define KS_TRACE_OPERATORS_H

#include "trace/reader.h"

#define KS_SHAPE_MAX_INPUTS 24
#define KS_SHAPE_MAX_DIMS   8

/* Element types as traces word them ("c10::Half", "float", "long int", ...). */
enum ks_trace_dtype {
    KS_TD_UNKNOWN,
    KS_TD_FP64,
    KS_TD_FP32,
    KS_TD_FP16,
    KS_TD_BF16,
    KS_TD_FP8,
    KS_TD_INT64,
    KS_TD_INT32,
    KS_TD_INT16,
    KS_TD_INT8,
    KS_TD_UINT8,
    KS_TD_BOOL,
    KS_TD_COMPLEX64,
    KS_TD_COMPLEX128,
    KS_N_TD
};
enum ks_trace_dtype ks_trace_dtype_of(struct ks_span word);
uint32_t ks_trace_dtype_bytes(enum ks_trace_dtype t);   /* 0: unknown */
const char *ks_trace_dtype_name(enum ks_trace_dtype t); /* "fp16"; "unknown" */

/* One argument. A tensor has a dtype and dims (none: a scalar tensor); a list of tensors has
 * is_list and n_elements of all of them. */
struct ks_shape_input {
    enum ks_trace_dtype dtype;
    bool is_tensor, is_list;
    uint32_t n_dims;
    int64_t dim[KS_SHAPE_MAX_DIMS];
    bool has_strides;
    int64_t stride[KS_SHAPE_MAX_DIMS];
    double n_elements;
    struct ks_span dims;     /* the text of its dims */
    struct ks_span concrete; /* the text of a scalar or a list of scalars; absent or empty: none */
};
struct ks_shape {
    uint32_t n;
    struct ks_shape_input in[KS_SHAPE_MAX_INPUTS];
    bool is_cut; /* more inputs or dims than fit */
};
/* text: an entry of ks_trace.shapes; in[].concrete points into it. false: no dims, or not
 * readable. */
bool ks_shape_read(const char *text, struct ks_shape *out);

/* A convolution as it ran. Spatial entries are in the order of the tensors. */
enum ks_trace_direction { KS_TRACE_FORWARD, KS_TRACE_BACKWARD };
struct ks_trace_conv {
    enum ks_trace_direction direction;
    enum ks_trace_dtype dtype; /* of the input */
    bool is_transposed, has_bias;
    bool has_addend;                            /* fused with the addition of a tensor */
    bool wants_input, wants_weight, wants_bias; /* backward: the output mask */
    uint32_t n_spatial;                         /* 1, 2 or 3 */
    int64_t n, c, k, groups;
    int64_t in[3], filter[3], out[3], stride[3], pad[3], dilation[3], out_pad[3];
    /* Arguments that hold the input, the weight and (backward) the output's gradient, for their
     * strides; -1: none. */
    int i_input, i_weight, i_grad;
};
/* name: "aten::convolution", ... reason_out (static text, may be NULL) when it is one that cannot
 * be described. 1: yes; 0: not a convolution; -1: one that cannot be described. */
int ks_trace_conv_of(const char *name, const struct ks_shape *s, struct ks_trace_conv *out,
                     const char **reason_out);

/* out[batch][m][n] = sum over k. */
struct ks_trace_gemm {
    enum ks_trace_dtype dtype;
    int64_t batch, m, n, k;
    bool has_addend;      /* addmm, baddbmm, linear with bias */
    double addend;        /* elements of it that are read */
    int i_a, i_b;         /* the arguments that are multiplied */
    int i_addend;         /* -1: none */
    bool is_scaled;       /* _scaled_mm: two scales follow the factors, an argument tells the type
                           * of the output */
    bool is_b_transposed; /* linear: the weight is [n][k] */
    double n_c;           /* elements of the output */
};
int ks_trace_gemm_of(const char *name, const struct ks_shape *s, struct ks_trace_gemm *out,
                     const char **reason_out);

/* Assumptions that a trace does not decide. */
struct ks_trace_rules {
    bool halve_causal; /* attention with a causal mask: half of the products */
};

struct ks_trace_cost {
    bool has_flop;  /* a formula knows the FLOPs */
    bool has_bytes; /* from a formula or (is_estimate) the operator's tensors */
    bool is_estimate;
    double flop, bytes;
    enum ks_trace_dtype dtype; /* of the first tensor that takes part */
    bool is_matrix;            /* a product that matrix units can do */
};
/* What one call of the operator costs. reason_out: static text where a formula exists and cannot be
 * applied; else NULL. */
void ks_trace_cost_of(const char *name, const struct ks_shape *s,
                      const struct ks_trace_rules *rules, struct ks_trace_cost *out,
                      const char **reason_out);
/* Is there a formula for the FLOPs of operators of this name? */
bool ks_trace_has_formula(const char *name);

#endif
