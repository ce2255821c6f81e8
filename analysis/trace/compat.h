/* SPDX-License-Identifier: MIT */
/* compat.h - what PyTorch's script torch/_inductor/analysis/profile_analysis.py computes, its
 * errors included, for `ksweep-analyze trace --compat pytorch`. Nothing else may use these figures.
 *
 * Where the script stops with an exception, this code goes on: a kernel whose External id names no
 * operator has no FLOPs and bytes, a formula that does not fit its arguments gives 0, a device that
 * only events name is added, a kernel without duration has no rates. */
#ifndef KS_ANALYSIS_TRACE_COMPAT_H
#define KS_ANALYSIS_TRACE_COMPAT_H

#include "base/buf.h"
#include "trace/model.h"

/* An event of the categories "kernel" or "cpu_op". */
struct ks_compat_row {
    uint32_t name;    /* of names */
    uint32_t shape;   /* of shapes: Input Dims, Input type, Concrete Inputs, '\n' between them */
    int64_t external; /* KS_TRACE_NO_ID: none */
    int64_t device;   /* INT64_MIN: no such arg */
    int64_t dur_ns;
    double flop, gb;             /* kernel_flop and kernel_num_gb; NaN: none */
    bool is_flop_new, is_gb_new; /* not in the file */
    struct ks_trace_place place;
};

struct ks_compat_device {
    int64_t id;
    char name[128];
};

struct ks_compat {
    struct ks_names names, shapes, externals; /* externals: 8 bytes each, numbered as ops */
    struct ks_compat_row *kernels, *ops;      /* in the order of the file */
    size_t n_kernels, cap_kernels, n_ops, cap_ops;
    struct ks_compat_device *devices; /* described ones first */
    size_t n_devices, cap_devices;
};

/* Reads a trace and fills in FLOPs and bytes as the script's augment_trace does.
 * KS_EFORMAT, KS_EIO, KS_ENOMEM. To be released in any case. */
int ks_compat_read(struct ks_trace_source *source, struct ks_compat *out, struct ks_buf *notes,
                   struct ks_err *err);
void ks_compat_release(struct ks_compat *t);

/* The script's FLOPs and gigabytes of a call. shape: a text of ks_compat.shapes. 0: none, or the
 * formula does not fit. */
double ks_compat_flop(const char *name, const char *shape);
double ks_compat_gb(const char *name, const char *shape);

struct ks_compat_options {
    const char *dtype; /* the word on the command line */
    long name_limit;   /* code points of a name; as in Python, a negative one counts from the end */
};

/* Appends the script's report of one trace (b NULL) or two, without a line end behind it. names
 * [2]: of the two. KS_EINVAL: the peak of a known device is wanted for a type that is not given or
 * that the script's table lacks. */
int ks_compat_report(const struct ks_compat *a, const struct ks_compat *b, const char *const *names,
                     const struct ks_compat_options *o, struct ks_buf *to, struct ks_err *err);

#endif
