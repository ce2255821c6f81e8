/* SPDX-License-Identifier: MIT */
/* counter_formula.h - what counters say of a launch: floating-point operations and bytes at each
 * level of the memory. The weights are data (counter_formula.c); their source is named there. */
#ifndef KS_TRACE_COUNTER_FORMULA_H
#define KS_TRACE_COUNTER_FORMULA_H

#include "analysis/trace/counter_table.h"

enum ks_quantity {
    KS_Q_FLOP_FP16,
    KS_Q_FLOP_FP32,
    KS_Q_FLOP_FP64,
    KS_Q_FLOP_MATRIX, /* tensor cores, MFMA */
    KS_Q_BYTES_DRAM,
    KS_Q_BYTES_L2,
    KS_Q_BYTES_L1,
    KS_Q_BYTES_LDS,
    KS_Q_TIME_NS,
    KS_N_QUANTITIES
};
extern const char *const ks_quantity_names[KS_N_QUANTITIES];

struct ks_quantities {
    double value[KS_N_QUANTITIES];
    bool has[KS_N_QUANTITIES]; /* false: a counter that it needs was not collected */
    double flop;               /* the sum of the kinds that were counted: a lower bound of all */
    bool has_flop;             /* at least one was */
};

/* Which columns the formulas need of this table, found once. */
struct ks_formulas;
int ks_formulas_create(const struct ks_counter_table *t, struct ks_formulas **out,
                       struct ks_err *err);
void ks_formulas_destroy(struct ks_formulas *f);
void ks_formulas_row(const struct ks_formulas *f, uint32_t row, struct ks_quantities *out);

#endif
