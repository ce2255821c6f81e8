/* SPDX-License-Identifier: MIT */
/* spans.h - how far apart two values of one cell lie, by what is between them: moments in one
 * buffer, other buffers, another worker, another sweep. Half the mean square difference at a
 * distance is the semivariance (Matheron 1963); its root is the standard deviation of one value
 * that differs from another in all that lies between. */
#ifndef KS_ANALYSIS_SPANS_H
#define KS_ANALYSIS_SPANS_H

#include "base/err.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct ks_moment {                        /* a value of a cell */
    uint32_t cell, sweep, worker, buffer; /* worker within its sweep, buffer within its worker */
    double at_s;                          /* time since any fixed moment */
    double value;                         /* log of ns */
};

enum ks_span {
    KS_SPAN_0_1S, /* in one buffer, less than 0.3 s apart */
    KS_SPAN_1S,   /* 0.3 to 3 s */
    KS_SPAN_10S,  /* 3 to 30 s */
    KS_SPAN_100S, /* longer */
    KS_SPAN_BUFFER,
    KS_SPAN_WORKER,
    KS_SPAN_SWEEP,
    KS_N_SPANS
};
extern const char *const ks_span_names[];

struct ks_spread_at { /* standard deviations of logs */
    size_t n_pairs, n_cells;
    double typical;     /* median over cells of the cell's own */
    double all, lo, hi; /* over all cells, with a 95 % interval: bootstrap over cells */
};

/* @m [in] [n] sorted by cell; a cell's values in any order. Of each kind at most `most` pairs per
 * cell count, spread evenly. Returns 0 or KS_ENOMEM. */
int ks_spans(const struct ks_moment *m, size_t n, size_t most, struct ks_spread_at out[KS_N_SPANS],
             struct ks_err *err);

#endif
