/* SPDX-License-Identifier: MIT */
/* peaks.h - what devices can do at most: analysis/peaks.json, or a file of the same form. */
#ifndef KS_ANALYSIS_TRACE_PEAKS_H
#define KS_ANALYSIS_TRACE_PEAKS_H

#include "analysis/trace/charge.h"

struct ks_peaks; /* the table */

/* How a device was found. */
enum ks_peak_match {
    KS_PEAK_NONE,
    KS_PEAK_NAME,
    KS_PEAK_UNITS,   /* by compute capability, units and memory */
    KS_PEAK_ESTIMATE /* from its units and an assumed clock */
};

struct ks_peak {
    enum ks_peak_match match;
    char name[96];                 /* of the entry, or how it was estimated */
    double flop_per_s[KS_N_UNITS]; /* dense; 0: unknown */
    double bytes_per_s;            /* 0: unknown */
};

/* path NULL: the shipped table. KS_ENOENT, KS_EFORMAT, KS_EINVAL with file and line. */
int ks_peaks_open(const char *path, struct ks_peaks **out, struct ks_err *err);
void ks_peaks_close(struct ks_peaks *p);
void ks_peaks_find(const struct ks_peaks *p, const struct ks_trace_device *d, struct ks_peak *out);

#endif
