/* SPDX-License-Identifier: MIT */
/* charge.h - FLOPs and bytes of a trace's operators, and what each kernel carries of them.
 *
 * An operator with a formula is charged once, to the set of the kernels that it launched. Of nested
 * operators with formulas only the innermost is charged; a kernel below the outer one alone is
 * charged to neither. A kernel carries its operator's FLOPs and bytes in proportion to its time, so
 * that sums are exact and no kernel is faster than its operator. */
#ifndef KS_ANALYSIS_TRACE_CHARGE_H
#define KS_ANALYSIS_TRACE_CHARGE_H

#include "trace/model.h"
#include "trace/operators.h"

/* How a kernel's FLOPs or bytes are known. */
enum ks_known {
    KS_KNOWN_NOT,
    KS_KNOWN_FORMULA,
    KS_KNOWN_TENSORS, /* bytes only: the inputs of its operator, without outputs */
    KS_KNOWN_FILE     /* stands in the trace already */
};

/* The units that a kernel's arithmetic ran on, for its peak. */
enum ks_units {
    KS_UNITS_UNKNOWN,
    KS_UNITS_FP64,
    KS_UNITS_FP64_MATRIX,
    KS_UNITS_FP32,
    KS_UNITS_FP32_MATRIX,
    KS_UNITS_TF32,
    KS_UNITS_FP16,
    KS_UNITS_BF16,
    KS_UNITS_FP8,
    KS_UNITS_INT8,
    KS_N_UNITS
};
extern const char *const ks_units_names[KS_N_UNITS]; /* as the keys of peaks.json */

/* Per row of trace->gpu; kernels only. Units: FLOP, bytes. */
struct ks_charge {
    uint32_t n;
    uint32_t *op; /* charged operator, else the innermost one; KS_TRACE_NONE */
    double *flop, *bytes;
    uint8_t *flop_known, *bytes_known; /* enum ks_known */
    uint8_t *units;                    /* enum ks_units */
    uint8_t *dtype;                    /* enum ks_trace_dtype of the operator */
    /* Per row of trace->ops: */
    double *op_flop, *op_bytes; /* of a charged operator, else of its inputs; 0 unless known */
    uint8_t *op_flop_known, *op_bytes_known;
    int64_t *op_ns; /* time of the kernels whose `op` it is */
    uint32_t *op_kernels;
    const char *refused_why; /* static text: why a formula could not be applied; NULL */
};

/* KS_ENOMEM. Owns: caller releases with ks_charge_release(). */
int ks_charge(const struct ks_trace *t, const struct ks_trace_rules *rules, struct ks_charge *out,
              struct ks_err *err);
void ks_charge_release(struct ks_charge *c);

#endif
