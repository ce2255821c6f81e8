/* SPDX-License-Identifier: MIT */
/* ck_arguments.h - the positional arguments of ckProfiler's grouped convolutions, and the config
 * array that a converter of Composable Kernel writes from PyTorch's operators. */
#ifndef KS_PROFILER_CK_ARGUMENTS_H
#define KS_PROFILER_CK_ARGUMENTS_H

#include "op/op.h"
#include "json/json.h"

#include <stdbool.h>
#include <stdint.h>

/* 2024: bwd_data has no split_k, and only layouts with channels last. 2025: bwd_data ends in
 * split_k. 2026: instances can be listed and chosen. */
enum ks_ck_version { KS_CK_2024, KS_CK_2025, KS_CK_2026, KS_CK_N_VERSIONS };
extern const char *const ks_ck_version_names[]; /* NULL-terminated */

/* What the converter's code writes, and what its README shows: fp16 and layout 3 whatever the
 * problem says, split_k "all". code: index type 1, operation as the first argument; readme: index
 * type 0, a program profile_OP for each operation. */
enum ks_ck_compat { KS_CK_TRUE, KS_CK_README, KS_CK_CODE };
extern const char *const ks_ck_compat_names[]; /* "none", "readme", "code", NULL */

struct ks_ck_options {
    int version, compat; /* enum ks_ck_version, enum ks_ck_compat */
    int verify, init;    /* 0 none, 1 CPU, 2 GPU; 0 none, 1 integers, 2 decimals */
    int64_t split_k;     /* KS_CK_SPLIT_K_ALL, else the one value */
};
#define KS_CK_SPLIT_K_ALL INT64_MIN

enum { KS_CK_MOST_SPATIAL = 3 };

/* One operation in the names of the config array. K and C count one group. */
struct ks_ck_arguments {
    const char *operation; /* "grouped_conv_fwd": static */
    int64_t data_type, layout;
    int64_t index_type; /* -1: the operation has none */
    int64_t verify, init, log, time;
    int64_t n_spatial, g, n, k, c;
    /* filter, input, strides, dilations, left pads, right pads; [n_spatial] of each are used */
    int64_t spatial[6][KS_CK_MOST_SPATIAL];
    bool has_split_k;
    int64_t split_k; /* KS_CK_SPLIT_K_ALL is written as "all" */
};

/* "grouped_conv_fwd" and so on, by direction; NULL: there is none for the operator. */
const char *ks_ck_operation(const struct ks_problem *p);
extern const char *const ks_ck_operations[]; /* by direction; NULL-terminated */
/* KS_EUNSUPPORTED: this generation cannot run the problem; the text says why. */
int ks_ck_arguments_of(const struct ks_ck_options *o, const struct ks_problem *p,
                       struct ks_ck_arguments *out, struct ks_err *err);

/* What the config array tells of one operation beside its arguments. */
struct ks_ck_metadata {
    int64_t priority_rank;  /* 0: not known, left out */
    const char *pytorch_op; /* "": left out */
    int64_t count;          /* 0: left out */
};
/* One element of the array. */
void ks_ck_config_put(const struct ks_ck_options *o, const struct ks_ck_arguments *a,
                      const struct ks_ck_metadata *m, struct ks_jw *w);
/* "Forward conv: G=1, N=10, K=64, C=64, [3, 3] kernel, [56, 56] input" */
void ks_ck_description(const struct ks_ck_arguments *a, struct ks_buf *out);

#endif
