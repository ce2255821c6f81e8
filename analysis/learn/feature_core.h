/* SPDX-License-Identifier: MIT */
/* feature_core.h - the arithmetic of all features: C99, no other header of ours, no allocation, no
 * state. ksweep-analyze compiles it, and `select` copies it with feature_core.c into every
 * selector, so training and selector compute the same bits.
 *
 * Rules that keep it so: doubles, one rounding to float at the end, a logarithm of our own, no
 * fused multiply-add (-ffp-contract=off), no call of libm. A change of any result is a new
 * KS_FX_VERSION. */
#ifndef KS_FX_CORE_H
#define KS_FX_CORE_H

#include <stdint.h>

#ifndef KS_FX_API
#define KS_FX_API /* a selector says `static` */
#endif

#define KS_FX_VERSION 1
#define KS_FX_DIMS    32
#define KS_FX_NEEDS   12

/* A problem: the numbers of operators, directions, data types, layouts and dimensions are those of
 * op/op.h. */
struct ks_fx_problem {
    int32_t op, direction, dtype, layout;
    int64_t dim[KS_FX_DIMS];
};

/* What follows from a problem alone. The first KS_FX_DIMS quantities are its dimensions. */
enum ks_fx_quantity {
    KS_FX_DIRECTION = KS_FX_DIMS,
    KS_FX_DTYPE,
    KS_FX_LAYOUT,
    KS_FX_M, /* rows, columns and terms of the matrix product that the problem is, per group */
    KS_FX_N,
    KS_FX_K,
    KS_FX_GROUPS, /* groups or batch: how many such products */
    KS_FX_C,      /* channels per group */
    KS_FX_F,      /* filters per group */
    KS_FX_OUT_D,
    KS_FX_OUT_H,
    KS_FX_OUT_W,
    KS_FX_TAPS,
    KS_FX_FLOPS,
    KS_FX_BYTES_IN, /* input, or operand A */
    KS_FX_BYTES_WEIGHTS,
    KS_FX_BYTES_OUT,
    KS_FX_BYTES,
    KS_FX_INTENSITY,
    KS_FX_ALIGN_C, /* largest power of two that divides, at most 64 */
    KS_FX_ALIGN_F,
    KS_FX_ALIGN_W, /* of the output width */
    KS_FX_PAD_C8,  /* padded to a multiple of 8 / as it is */
    KS_FX_PAD_C16,
    KS_FX_PAD_C32,
    KS_FX_PAD_F8,
    KS_FX_PAD_F16,
    KS_FX_PAD_F32,
    KS_FX_SHAPE,        /* m / n */
    KS_FX_CHANNELS,     /* c / f */
    KS_FX_REACH,        /* padding over filter extent: share of taps beyond the edge, at most */
    KS_FX_IS_POINTWISE, /* one tap, no padding */
    KS_FX_IS_DEPTHWISE,
    KS_FX_IS_UNIT, /* every stride and dilation is 1 */
    KS_FX_N_QUANTITIES
};

/* Traits of an instance that interactions use; NaN = it has none such. */
enum ks_fx_trait {
    KS_FX_TILE_M, /* elements */
    KS_FX_TILE_N,
    KS_FX_TILE_K,
    KS_FX_VECTOR_A, /* elements */
    KS_FX_VECTOR_B,
    KS_FX_VECTOR_C,
    KS_FX_MERGED, /* groups computed together */
    KS_FX_SPLIT_K,
    KS_FX_BUFFERS,  /* copies of a tile's operands in LDS */
    KS_FX_RESIDENT, /* blocks per compute unit */
    KS_FX_LDS,      /* bytes, as the code object says */
    KS_FX_BIAS,     /* log2 of measured over modelled time, from calibration */
    KS_FX_N_TRAITS
};

/* What an instance demands of a problem. */
enum ks_fx_need_kind {
    KS_FX_NEED_NONE,
    KS_FX_NEED_MULTIPLE, /* quantity % value == 0 */
    KS_FX_NEED_EQUAL,
    KS_FX_NEED_LEAST, /* quantity >= value */
    KS_FX_NEED_MOST
};
struct ks_fx_need {
    int16_t kind, quantity; /* enum ks_fx_quantity, or a dimension */
    int32_t factor, value;  /* quantity * factor is tested */
};

/* Shape classes, as grid/problem_class.h has them. */
enum ks_fx_class {
    KS_FX_CLASS_OTHER_OPERATOR,
    KS_FX_CLASS_3D,
    KS_FX_CLASS_1D,
    KS_FX_CLASS_FULLY_CONNECTED,
    KS_FX_CLASS_DEPTHWISE,
    KS_FX_CLASS_GROUPED,
    KS_FX_CLASS_STEM,
    KS_FX_CLASS_DILATED,
    KS_FX_CLASS_STRIDED,
    KS_FX_CLASS_POINTWISE,
    KS_FX_CLASS_3X3,
    KS_FX_CLASS_LARGE_FILTER,
    KS_FX_CLASS_OTHER,
    KS_FX_N_CLASSES
};

struct ks_fx_instance {
    int32_t op, direction, dtype, layout; /* its domain; -1 = any */
    int32_t ndim;                         /* 1, 2, 3; 0 = any */
    double trait[KS_FX_N_TRAITS];
    struct ks_fx_need need[KS_FX_NEEDS]; /* ends at KS_FX_NEED_NONE */
};

/* A device as the analytic model sees it; the rates are calibrated. */
struct ks_fx_device {
    double units;        /* compute units, or 1 */
    double fast_bytes;   /* LDS or cache of a unit */
    double launch_ns;    /* cost of a launch */
    double flops_per_ns; /* all units together */
    double bytes_per_ns; /* from memory */
    double fast_per_ns;  /* bytes between tiles and caches, all units together */
};

/* What follows from a problem, an instance and a device. */
enum ks_fx_pair {
    KS_FX_TILES_M,
    KS_FX_TILES_N,
    KS_FX_STEPS_K,
    KS_FX_TILES, /* all tiles: of both dimensions, groups and parts of a split sum */
    KS_FX_WAVES, /* tiles over units and resident blocks */
    KS_FX_TAIL,  /* whole waves / waves */
    KS_FX_WASTE_M,
    KS_FX_WASTE_N,
    KS_FX_WASTE_K,
    KS_FX_WASTE, /* computed / needed */
    KS_FX_TILE_FLOPS,
    KS_FX_TILE_BYTES,
    KS_FX_TILE_INTENSITY,
    KS_FX_FOOTPRINT, /* LDS or cache of a tile / capacity */
    KS_FX_TRAFFIC,   /* bytes that tiles read and write / bytes of the operands */
    KS_FX_LOOSE_A,   /* channels beyond the last whole vector / channels */
    KS_FX_LOOSE_B,
    KS_FX_LOOSE_C,
    KS_FX_LOOSE_G,  /* groups padded to whole merged ones / groups */
    KS_FX_BOUND,    /* 0 compute, 1 memory, 2 caches: what limits the modelled time */
    KS_FX_ROOF_NS,  /* compute or memory roof, no tiles */
    KS_FX_MODEL_NS, /* the analytic model without the instance's bias */
    KS_FX_EXPECT,   /* log2 of it in ns, with the bias */
    KS_FX_N_PAIRS
};

/* Own log2: equal on every machine with IEEE doubles; exact for powers of two. x > 0, finite. */
KS_FX_API double ks_fx_log2(double x);

/* q_out: [KS_FX_N_QUANTITIES]; NaN where the operator has no such quantity. */
KS_FX_API void ks_fx_quantities(const struct ks_fx_problem *p, double *q_out);
/* pair_out: [KS_FX_N_PAIRS]; NaN where the instance lacks a trait. */
KS_FX_API void ks_fx_pairs(const double *q, const struct ks_fx_instance *i,
                           const struct ks_fx_device *d, double *pair_out);
/* The features: logarithms of sizes, the other quantities as they are; rounded once. */
KS_FX_API float ks_fx_problem_feature(const double *q, int quantity);
KS_FX_API float ks_fx_pair_feature(const double *pair, int which);
/* 1 if the value is taken to its logarithm. */
KS_FX_API int ks_fx_is_log(int quantity);
KS_FX_API int ks_fx_is_log_pair(int which);

/* Whether the instance computes this problem, as far as its domain and needs say. */
KS_FX_API int ks_fx_applies(const struct ks_fx_problem *p, const double *q,
                            const struct ks_fx_instance *i);

/* Whether a quantity of the problem lies outside of these limits, [KS_FX_N_QUANTITIES] each; NaN =
 * no limit. Alignment and flags are not checked. */
KS_FX_API int ks_fx_is_outside(const double *q, const double *least, const double *most);

/* The shape class of a valid problem: enum ks_fx_class. */
KS_FX_API int ks_fx_class(const struct ks_fx_problem *p);

#endif
