/* SPDX-License-Identifier: MIT */
/* test_import.c - CK's lists, ckProfiler's command lines, find-db keys; geometry made by hand */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
/* cmocka.h wants the four above first. */
#include <cmocka.h>

#include "fault.h"
#include "grid/problems.h"
#include "op/conv.h"

#include <stdio.h>
#include <string.h>

static const struct ks_importer *importer(const char *name)
{
    for (size_t i = 0; ks_importers[i]; i++)
        if (strcmp(ks_importers[i]->name, name) == 0)
            return ks_importers[i];
    fail_msg("no importer '%s'", name);
    return NULL;
}

/* What becomes of a text: one problem, or one refusal, or neither (lines without a command). */
struct row {
    const char *text;
    const char *says; /* of the refusal, or NULL */
    uint32_t direction, dtype, layout;
    int64_t dim[KS_CONV_N_DIMS]; /* all 0: no problem */
};

static void expect_problem(const struct ks_problem *p, const struct row *r)
{
    struct ks_buf b;

    if (p->direction == r->direction && p->dtype == r->dtype && p->layout == r->layout &&
        memcmp(p->dim, r->dim, sizeof r->dim) == 0)
        return;
    ks_buf_init(&b);
    ks_problem_canonical(p, &b);
    fail_msg("'%s' gives %s", r->text, ks_buf_text(&b));
}

static void expect(const char *name, const char *text, const struct row *r)
{
    struct ks_problem_set set;
    struct ks_err err = { 0 };
    uint64_t n_taken = !r->says && r->dim[KS_CONV_NDIM] > 0, n_refused = r->says != NULL;

    ks_problem_set_init(&set);
    if (importer(name)->read(&set, text, strlen(text), "dir/f", false, &err) < 0)
        fail_msg("'%s': %s", r->text, err.text);
    if (set.n_taken != n_taken || set.n_refused != n_refused)
        fail_msg("'%s': %d taken, %d refused: %s", r->text, (int)set.n_taken, (int)set.n_refused,
                 set.n_refusals ? set.refusals[0].reason : "");
    assert_int_equal(set.n_lines, set.n_commands + set.n_other);
    if (r->says && !strstr(set.refusals[0].reason, r->says))
        fail_msg("'%s': '%s', want '%s'", r->text, set.refusals[0].reason, r->says);
    if (n_taken) {
        const struct ks_problem p = ks_problem_table_get(&set.problems, 0);

        expect_problem(&p, r);
    }
    ks_problem_set_release(&set);
}

#define FORWARD(type) KS_FORWARD, type, KS_NHWGC
#define PLAIN                                                                                      \
    {                                                                                              \
        2, 4, 1, 64, 128, 1, 56, 28, 1, 3, 1, 1, 2, 1, 1, 1, 3, 0, 1, 0, 0, 1, 0                   \
    }

/* --- CSV of Composable Kernel */

#define CK_HEAD                                                                                    \
    "N,C,K,G,Di,Hi,Wi,Z,Y,X,stride_d,stride_h,stride_w,pad_d,pad_h,pad_w,dilation_d,dilation_h,"   \
    "dilation_w,direction\n"

static void ck_rows(void **state)
{
    static const struct row rows[] = {
        { "4,64,128,1,1,56,28,1,3,1,1,2,1,0,1,0,1,1,3,forward", NULL, FORWARD(KS_BF16), PLAIN },
        { " 4 ,\"64\",128,1,1,56,28,1,3,1,1,2,1,0,1,0,1,1,3,fwd\r", NULL, FORWARD(KS_BF16), PLAIN },
        /* depth steps of a 2-D row mean nothing */
        { "4,64,128,1,1,56,28,1,3,1,2,2,1,0,1,0,0,1,3,forward", NULL, FORWARD(KS_BF16), PLAIN },
        { "8,32,64,4,1,7,7,1,1,1,1,1,1,0,0,0,1,1,1,bwd_data",
          NULL,
          KS_BACKWARD_DATA,
          KS_BF16,
          KS_NHWGC,
          { 2, 8, 4, 32, 64, 1, 7, 7, 1, 1, 1, 1, 1, 1, 1, 1, 1, 0, 0, 0, 0, 0, 0 } },
        { "2,16,16,16,8,9,10,3,2,1,2,1,3,1,0,2,2,1,1,bwd_weight",
          NULL,
          KS_BACKWARD_WEIGHT,
          KS_BF16,
          KS_NHWGC,
          { 3, 2, 16, 16, 16, 8, 9, 10, 3, 2, 1, 2, 1, 3, 2, 1, 1, 1, 0, 2, 1, 0, 2 } },
        { "4,64,128,1,1,56,28,1,3,1,1,2,1,0,1,0,1,1,3,bwdd", NULL, KS_BACKWARD_DATA, KS_BF16,
          KS_NHWGC, PLAIN },
        { "4,64,128,1,1,56,28,1,3,1,1,2,1,0,1,0,1,1,3,bwdw", NULL, KS_BACKWARD_WEIGHT, KS_BF16,
          KS_NHWGC, PLAIN },
        { "4,64,128,1,1,56,28,1,3,1,1,2,1,0,1,0,1,1,3,upward",
          .says = "'upward' is not a known direction" },
        { "0,64,128,1,1,56,28,1,3,1,1,2,1,0,1,0,1,1,3,forward",
          .says = "n = 0, must be between 1" },
        { "4,-64,128,1,1,56,28,1,3,1,1,2,1,0,1,0,1,1,3,forward",
          .says = "column 2 (C): '-64' has a sign" },
        { "4,64,130,4,1,56,28,1,3,1,1,2,1,0,1,0,1,1,3,forward",
          .says = "k_total = 130 is not divisible" },
        { "4,64,128,1,1,1,28,1,5,1,1,2,1,0,1,0,1,1,3,forward", .says = "no output: y = 5" },
        { "nan,64,128,1,1,56,28,1,3,1,1,2,1,0,1,0,1,1,3,forward",
          .says = "'nan' is not a whole number" },
        { "4.0,64,128,1,1,56,28,1,3,1,1,2,1,0,1,0,1,1,3,forward",
          .says = "'4.0' is not a whole number" },
        { "4,,128,1,1,56,28,1,3,1,1,2,1,0,1,0,1,1,3,forward", .says = "column 2 (C): '' is empty" },
        { "99999999999999999999,64,128,1,1,56,28,1,3,1,1,2,1,0,1,0,1,1,3,forward",
          .says = "is out of range" },
        { "4,64,128,1,1,56,28,1,3,1,1,2,1,0,1,0,1,1,3",
          .says = "19 fields, the header has 20 columns" },
        { "1000,40000,128,1,1,600,600,1,3,3,1,2,1,0,1,0,1,1,3,forward",
          .says = "input: more than 2^40 elements" },
        { "4,64,128,1,1,56,28,1,3,1,1,2,1,0,1,0,1,1,3,\"forward",
          .says = "closing quote is missing" },
        { "# 1,2,3", .says = NULL },
    };
    char text[2048];

    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        snprintf(text, sizeof text, "\xef\xbb\xbf%s%s\n", CK_HEAD, rows[i].text);
        expect("ck", text, &rows[i]);
    }
}

#define ORACLE "kernel,problem_idx,N,C,K,G,Hi,Wi,Y,X,stride_h,stride_w,pad_h,pad_w,tflops"

/* Direction, dtype and ndim from a kernel's name; output extents are checked. */
static void ck_columns(void **state)
{
    static const struct row rows[] = {
        { ORACLE "\ngrouped_conv_forward_fp16_2d_64x64x64_compv3,7,1,8,8,1,9,9,3,3,1,1,1,1,nan",
          NULL,
          FORWARD(KS_FP16),
          { 2, 1, 1, 8, 8, 1, 9, 9, 1, 3, 3, 1, 1, 1, 1, 1, 1, 0, 1, 1, 0, 1, 1 } },
        { ORACLE "\ngrouped_conv_bwd_weight_fp32_nhwgc_2d_mem,7,1,8,8,1,9,9,3,3,1,1,1,1,1",
          NULL,
          KS_BACKWARD_WEIGHT,
          KS_FP32,
          KS_NHWGC,
          { 2, 1, 1, 8, 8, 1, 9, 9, 1, 3, 3, 1, 1, 1, 1, 1, 1, 0, 1, 1, 0, 1, 1 } },
        { ORACLE "\ngrouped_conv_forward_fp16_3d_64x64x64,7,1,8,8,1,9,9,3,3,1,1,1,1,1",
          NULL,
          FORWARD(KS_FP16),
          { 3, 1, 1, 8, 8, 1, 9, 9, 1, 3, 3, 1, 1, 1, 1, 1, 1, 0, 1, 1, 0, 1, 1 } },
        { ORACLE "\ngrouped_conv_forward_fp8_2d_64x64x64,7,1,8,8,1,9,9,3,3,1,1,1,1,1",
          .says = "names a dtype that is not supported" },
        { ORACLE "\ngemm_fp16_2d,7,1,8,8,1,9,9,3,3,1,1,1,1,1",
          .says = "is not the name of a grouped" },
        { ORACLE "\ngrouped_conv_forward,7,1,8,8,1,9,9,3,3,1,1,1,1,1",
          .says = "names no direction" },
        { "variant,dtype," ORACLE
          "\nforward,bf16,grouped_conv_forward_fp16_2d_x,7,1,8,8,1,9,9,3,3,1,1,1,1,1",
          .says = "names another dtype than its row" },
        { "variant," ORACLE "\nbwd_data,grouped_conv_forward_fp16_2d_x,7,1,8,8,1,9,9,3,3,1,1,1,1,1",
          .says = "names another direction than its row" },
        { "Ho,Wo," ORACLE "\n9,8,grouped_conv_forward_fp16_2d_x,7,1,8,8,1,9,9,3,3,1,1,1,1,1",
          .says = "Wo = 8, but the geometry gives 9" },
        { "variant,direction,N,C,K,G,Hi,Wi,Y,X,stride_h,stride_w,pad_h,pad_w\n"
          "forward,bwd_data,1,8,8,1,9,9,3,3,1,1,1,1",
          .says = "'bwd_data' contradicts another column" },
        { "ndim_spatial,direction,N,C,K,G,Hi,Wi,Y,X,stride_h,stride_w,pad_h,pad_w\n"
          "1,forward,1,8,8,1,1,9,1,3,1,1,0,1",
          NULL,
          FORWARD(KS_BF16),
          { 1, 1, 1, 8, 8, 1, 1, 9, 1, 1, 3, 1, 1, 1, 1, 1, 1, 0, 0, 1, 0, 0, 1 } },
    };

    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++)
        expect("ck", rows[i].text, &rows[i]);
}

static void ck_headers(void **state)
{
    static const struct {
        const char *text, *says;
    } rows[] = {
        { "N,C,K,G,Hi,Wi,Y,X,stride_h,stride_w,direction\n", "f:1: column 'pad_h' is missing" },
        { "N,C,K,G,Hi,Wi,Y,X,stride_h,stride_w,pad_h,pad_w\n", "no column gives the direction" },
        { "N,C,K,G,Hi,Wi,Y,X,dilaton_h\n",
          "unknown column 'dilaton_h', did you mean 'dilation_h'" },
        { "N,C,K,G,Hi,Wi,Y,X,N\n", "duplicate column 'N'" },
        { "N,C,K,G,Hi,Wi,Y,\"X\n", "f:1: closing quote is missing" },
        { "# nothing\n", "f: no header" },
    };

    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        struct ks_problem_set set;
        struct ks_err err = { 0 };
        int rc;

        ks_problem_set_init(&set);
        rc = importer("ck")->read(&set, rows[i].text, strlen(rows[i].text), "f", false, &err);
        if (rc != KS_EFORMAT || !strstr(err.text, rows[i].says))
            fail_msg("'%s': %d '%s'", rows[i].text, rc, err.text);
        ks_problem_set_release(&set);
    }
}

/* --- ckProfiler */

#define TWO_D " 3 1 56 28 2 1 1 3 1 0 1 0" /* filter, input, strides, dilations, pads */

static const struct row profiler_rows[] = {
    { "./bin/ckProfiler grouped_conv_fwd 1 1 0 1 1 0 1 2 1 4 128 64" TWO_D, NULL, FORWARD(KS_FP16),
      PLAIN },
    { "> * `ckProfiler grouped_conv_fwd 1 1 0 1 1 0 1 2 1 4 128 64" TWO_D "`, see", NULL,
      FORWARD(KS_FP16), PLAIN },
    { "ckProfiler grouped_conv_fwd 2 1 1 0 2 0 1 2 1 4 128 64" TWO_D
      " --instance 3 --list-instances",
      NULL, FORWARD(KS_BF16), PLAIN },
    { "ckProfiler grouped_conv_fwd --raw-invocation 0 1 0 1 1 0 1 2 1 4 128 64" TWO_D " > log",
      NULL, FORWARD(KS_FP32), PLAIN },
    /* K and C of one group: 8 x 32 and 8 x 16 */
    { "ckProfiler grouped_conv_fwd 1 3 0 1 1 0 1 2 8 4 32 16 3 3 9 10 1 1 1 1 1 2 0 3",
      NULL,
      KS_FORWARD,
      KS_FP16,
      KS_NGCHW,
      { 2, 4, 8, 128, 256, 1, 9, 10, 1, 3, 3, 1, 1, 1, 1, 1, 1, 0, 1, 2, 0, 0, 3 } },
    { "ckProfiler grouped_conv_fwd 1 1 0 1 1 0 1 1 2 4 32 16 3 9 1 1 1 2",
      NULL,
      FORWARD(KS_FP16),
      { 1, 4, 2, 32, 64, 1, 1, 9, 1, 1, 3, 1, 1, 1, 1, 1, 1, 0, 0, 1, 0, 0, 2 } },
    { "ckProfiler grouped_conv_fwd 1 1 0 1 1 0 1 3 2 4 32 16 1 2 3 7 8 9 1 2 1 1 1 2 0 1 2 3 4 "
      "5",
      NULL,
      FORWARD(KS_FP16),
      { 3, 4, 2, 32, 64, 7, 8, 9, 1, 2, 3, 1, 2, 1, 1, 1, 2, 0, 1, 2, 3, 4, 5 } },
    /* the help of 2024: index type before the layout */
    { "ckProfiler grouped_conv_fwd 1 0 3 1 1 0 1 2 1 4 128 64" TWO_D, NULL, KS_FORWARD, KS_FP16,
      KS_NGCHW, PLAIN },
    { "ckProfiler grouped_conv_bwd_data 2 1 1 1 0 1 2 1 4 128 64" TWO_D, NULL, KS_BACKWARD_DATA,
      KS_BF16, KS_NHWGC, PLAIN },
    { "ckProfiler grouped_conv_bwd_data 2 1 1 1 0 1 2 1 4 128 64" TWO_D " -1", NULL,
      KS_BACKWARD_DATA, KS_BF16, KS_NHWGC, PLAIN },
    { "ckProfiler grouped_conv_bwd_weight 5 2 1 1 0 1 2 1 4 128 64" TWO_D " all", NULL,
      KS_BACKWARD_WEIGHT, KS_BF16, KS_NHWGC, PLAIN },
    { "ckProfiler grouped_conv_bwd_weight 1 4 1 1 0 1 2 1 4 128 64" TWO_D " 8; echo", NULL,
      KS_BACKWARD_WEIGHT, KS_FP16, KS_NGCHW, PLAIN },
    { "ckProfiler conv_fwd 1 1 1 1 0 1 2 1 4 128 64" TWO_D, NULL, FORWARD(KS_FP16), PLAIN },
    { "ckProfiler conv_fwd 1 1 1 1 0 1 2 4 128 64" TWO_D, NULL, FORWARD(KS_FP16), PLAIN },
    { "ckProfiler conv_bwd_data 1 0 1 1 0 1 2 4 128 64" TWO_D, NULL, KS_BACKWARD_DATA, KS_FP16,
      KS_NGCHW, PLAIN },
    { "ckProfiler conv_bwd_weight 0 1 1 1 0 1 2 1 4 128 64" TWO_D " 1", NULL, KS_BACKWARD_WEIGHT,
      KS_FP32, KS_NHWGC, PLAIN },
    /* groups outside of the images, and weights of the other layout: only where memory agrees
     */
    { "ckProfiler grouped_conv_fwd 1 0 0 1 1 0 1 2 1 4 128 64" TWO_D, NULL, FORWARD(KS_FP16),
      PLAIN },
    { "ckProfiler grouped_conv_fwd 1 0 0 1 1 0 1 2 2 4 128 64" TWO_D,
      .says = "are not supported for g" },
    { "ckProfiler grouped_conv_fwd 1 2 0 1 1 0 1 2 1 4 128 64" TWO_D, .says = "weights GKYXC" },
    { "ckProfiler grouped_conv_fwd 1 2 0 1 1 0 1 2 2 4 8 8 1 1 9 9 1 1 1 1 0 0 0 0",
      NULL,
      KS_FORWARD,
      KS_FP16,
      KS_NGCHW,
      { 2, 4, 2, 16, 16, 1, 9, 9, 1, 1, 1, 1, 1, 1, 1, 1, 1, 0, 0, 0, 0, 0, 0 } },
    { "ckProfiler grouped_conv_fwd 1 9 0 1 1 0 1 2 1 4 128 64" TWO_D, .says = "unknown layout" },
    { "ckProfiler grouped_conv_fwd 1 -1 0 1 1 0 1 2 1 4 128 64" TWO_D, .says = "unknown layout" },
    { "ckProfiler conv_fwd 1 2 1 1 0 1 2 4 128 64" TWO_D, .says = "unknown layout" },
    { "ckProfiler grouped_conv_fwd 3 1 0 1 1 0 1 2 1 4 128 64" TWO_D,
      .says = "type 3: int8 is not" },
    { "ckProfiler grouped_conv_fwd 7 1 0 1 1 0 1 2 1 4 128 64" TWO_D, .says = "8-bit floats" },
    { "ckProfiler grouped_conv_fwd 8 1 0 1 1 0 1 2 1 4 128 64" TWO_D, .says = "tf32 is not" },
    { "ckProfiler grouped_conv_fwd 9 1 0 1 1 0 1 2 1 4 128 64" TWO_D, .says = "unknown data type" },
    { "ckProfiler grouped_conv_bwd_weight 2 2 1 1 0 1 2 1 4 128 64" TWO_D " 1",
      .says = "bf16 with fp32 weights" },
    { "ckProfiler grouped_conv_fwd 1 1 0 1 1 0 1 2 1 4 128 64 3 1 56 28 2 1 1 3 1 0 1",
      .says = "26 words are needed for ndim 2, not 25" },
    { "ckProfiler grouped_conv_bwd_data 2 1 1 1 0 1 2 1 4 128 64" TWO_D " 1 1",
      .says = "25 or 26 words are needed for ndim 2, not 27" },
    { "ckProfiler grouped_conv_fwd 1 1 0 1 1 0 1 4 1 4 128 64" TWO_D, .says = "ndim = 4" },
    { "ckProfiler grouped_conv_fwd 1 1", .says = "too few arguments" },
    { "ckProfiler grouped_conv_fwd 1 1 0 1 1 0 1 2 1 4 128 64" TWO_D TWO_D,
      .says = "too many arguments" },
    { "ckProfiler grouped_conv_fwd_bias_clamp 1 1 0 1 1 0 1 2 1 4 128 64" TWO_D,
      .says = "unknown operation 'grouped_conv_fwd_bias_clamp'" },
    { "ckProfiler grouped_conv_fwd 1 1 0 1 1 0 1 2 1 x 128 64" TWO_D,
      .says = "argument 11: 'x' is not a whole number" },
    { "ckProfiler grouped_conv_fwd 1 1 0 1 1 0 1 2 0 4 128 64" TWO_D, .says = "g = 0, must be" },
    { "ckProfiler grouped_conv_fwd 1 1 0 1 1 0 1 2 -2 4 128 64" TWO_D, .says = "g = -2, must be" },
    { "ckProfiler grouped_conv_fwd 1 1 0 1 1 0 1 2 3000000000 4 128 64" TWO_D,
      .says = "g = 3000000000, must be" },
    { "ckProfiler grouped_conv_fwd 1 1 0 1 1 0 1 2 65536 4 65536 64" TWO_D,
      .says = "k_total = 4294967296, must be" },
    { "ckProfiler grouped_conv_fwd 1 1 0 1 1 0 1 2 2 4 128 99999999999" TWO_D,
      .says = "c_total = 99999999999, must be" },
    { "ckProfiler grouped_conv_fwd 1 1 0 1 1 0 1 2 2 4 3000000000 64" TWO_D,
      .says = "k_total = 3000000000, must be" },
    { "ckProfiler grouped_conv_fwd 1 1 0 1 1 0 1 2 2 4 -128 64" TWO_D,
      .says = "k_total = -128, must be" },
    { "ckProfiler grouped_conv_fwd 1 1 0 1 1 0 1 2 1 4 128 64 99 1 56 28 2 1 1 3 1 0 1 0",
      .says = "no output: y = 99" },
    { "ckProfiler gemm 1 1 0 1 1 0 1 2 1 4 128 64", .says = NULL },
    { "ckProfiler found 3 instances", .says = NULL },
    { "ckProfiler grouped_conv_fwd fp16 nhwgc 2 --instances", .says = NULL },
    { "# ckProfiler grouped_conv_fwd", .says = NULL },
    { "Perf: 1.2 ms, ckProfiler_x grouped_conv_fwd", .says = NULL },
};

static void profiler_lines(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof profiler_rows / sizeof profiler_rows[0]; i++)
        expect("ckprofiler", profiler_rows[i].text, &profiler_rows[i]);
}

/* --- find-db */

static void fdb_keys(void **state)
{
    static const struct row rows[] = {
        { "64-56-28-3x1-128-28-24-4-1x0-2x1-1x3-0-NCHW-FP16-F=Gemm:0.05,0,algo",
          .says = "is inconsistent: its output is 24, but its geometry gives 28" },
        { "64-56-28-3x1-128-28-28-4-1x0-2x1-1x3-0-NHWC-NHWC-NHWC-BF16-F=x", NULL, FORWARD(KS_BF16),
          PLAIN },
        { "64-56-28-3x1-128-28-28-4-1x0-2x1-1x3-0-NCHW-FP32-F=algo:Gemm,0.1,0,algo,<unused>\r\n",
          NULL, KS_FORWARD, KS_FP32, KS_NGCHW, PLAIN },
        /* dy is the key's input */
        { "128-28-28-3x1-64-56-28-4-1x0-2x1-1x3-0-NCHW-FP16-B=x", NULL, KS_BACKWARD_DATA, KS_FP16,
          KS_NGCHW, PLAIN },
        { "128-28-28-3x1-64-56-28-4-1x0-2x1-1x3-0-NCHW-FP16-W=", NULL, KS_BACKWARD_WEIGHT, KS_FP16,
          KS_NGCHW, PLAIN },
        { "16-7-8-9-1x2x3-32-7-8-9-2-0x1x2-1x1x1-1x2x2-0-NCDHW-BF16-F_g4=x",
          NULL,
          KS_FORWARD,
          KS_BF16,
          KS_NGCHW,
          { 3, 2, 4, 16, 32, 7, 8, 9, 1, 2, 3, 1, 1, 1, 1, 2, 2, 0, 1, 2, 0, 1, 2 } },
        { "64-56-28-3x1-128-28-28-4-1x0-2x1-1x3-0-NHWC-NCHW-NHWC-BF16-F=x",
          .says = "layouts of input" },
        { "64-56-28-3x1-128-28-28-4-1x0-2x1-1x3-0-CHWN-BF16-F=x",
          .says = "the layout is not one of" },
        { "64-56-28-3x1-128-28-28-4-1x0-2x1-1x3-0-NCHW-NCHW-BF16-F=x",
          .says = "does not have the parts" },
        { "64-56-28-3x1-128-28-28-4-1x0-2x1-1x3-0-NCHW-INT8-F=x",
          .says = "the data type is not one of" },
        { "64-56-28-3x1-128-28-28-4-1x0-2x1-1x3-0-NCHW-FP16-Q=x",
          .says = "the direction is not one of" },
        { "64-56-28-3x1-128-28-28-4-1x0-2x1-1x3-0-NCHW-FP16-F_ciFP8=x",
          .says = "conversions to other types" },
        { "64-56-28-3x1-128-28-28-4-1x0-2x1-1x3-1-NCHW-FP16-F=x",
          .says = "a bias is not supported" },
        { "64-56-28-3x1-128-28-28-4-1-2x1-1x3-0-NCHW-FP16-F=x",
          .says = "does not have one number per dimension" },
        { "64-56-28-3x1x1-128-28-28-4-1x0-2x1-1x3-0-NCHW-FP16-F=x",
          .says = "does not have one number per dimension" },
        { "64-56-2y-3x1-128-28-28-4-1x0-2x1-1x3-0-NCHW-FP16-F=x", .says = "is not a whole number" },
        { "64-56-28-3x1-128-28-28-4-1x0-2x1-1x3-0-NCHW-FP16-F", .says = "no '=' after a key" },
        { "1-2-3=x", .says = "does not have the parts" },
        { "1-1-1-1-1-1-1-1-1-1-1-1-1-1-1-1-1-1-1-1-1-1-1-1-1-1=x", .says = "too many parts" },
        { "1-1-1-4x4-512-1-1-128-0x0-1x1-1x1-0-NCHW-FP32-B=x", .says = "no output: y = 4" },
        { "64-56-28-3x1-129-28-28-4-1x0-2x1-1x3-0-NCHW-FP16-F_g4=x",
          .says = "129 is not divisible" },
        { "# a comment", .says = NULL },
        { "", .says = NULL },
    };

    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++)
        expect("fdb", rows[i].text, &rows[i]);
}

/* --- all of them */

static const struct {
    const char *importer, *good, *bad;
} kinds[] = {
    { "ck", CK_HEAD "1,8,8,1,1,9,9,1,1,1,1,1,1,0,0,0,1,1,1,forward\n",
      "0,8,8,1,1,9,9,1,1,1,1,1,1,0,0,0,1,1,1,forward\n" },
    { "ckprofiler", "ckProfiler conv_fwd 1 1 1 1 0 1 2 4 128 64" TWO_D "\n",
      "ckProfiler conv_fwd 1\n" },
    { "fdb", "64-56-28-3x1-128-28-28-4-1x0-2x1-1x3-0-NCHW-FP16-F=x\n", "1-2=x\n" },
};

static void problems_know_their_line(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof kinds / sizeof kinds[0]; i++) {
        struct ks_problem_set set;
        struct ks_err err = { 0 };
        uint64_t line = 0, want = strcmp(kinds[i].importer, "ck") == 0 ? 2 : 1;
        char name[32];

        ks_problem_set_init(&set);
        assert_int_equal(
            importer(kinds[i].importer)
                ->read(&set, kinds[i].good, strlen(kinds[i].good), "dir/f", true, &err),
            0);
        assert_string_equal(ks_problem_set_origin(&set, 0, &line), "dir/f");
        assert_int_equal(line, want);
        snprintf(name, sizeof name, "f:%d", (int)want);
        assert_string_equal(ks_problem_table_name(&set.problems, 0), name);
        ks_problem_set_release(&set);
    }
}

static void strict_stops_at_the_first(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof kinds / sizeof kinds[0]; i++) {
        struct ks_problem_set set;
        struct ks_err err = { 0 };
        char text[512];

        snprintf(text, sizeof text, "%s%s", kinds[i].good, kinds[i].bad);
        ks_problem_set_init(&set);
        assert_int_equal(
            importer(kinds[i].importer)->read(&set, text, strlen(text), "f", true, &err),
            KS_EFORMAT);
        assert_int_equal(strncmp(err.text, "f:", 2), 0);
        assert_int_equal(set.n_refusals, 0);
        assert_int_equal(set.n, 1);
        ks_problem_set_release(&set);
    }
}

/* Every allocation fails once: an error, never a refusal of a good line. */
static void memory_may_run_out_anywhere(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof kinds / sizeof kinds[0]; i++) {
        const char *text = kinds[i].good;
        unsigned n = 0;
        bool was_hit = true;

        for (; was_hit; n++) {
            struct ks_problem_set set;
            struct ks_err err = { 0 };
            int rc;

            ks_problem_set_init(&set);
            fault_arm(n);
            rc = importer(kinds[i].importer)->read(&set, text, strlen(text), "f", false, &err);
            was_hit = fault_disarm();
            if (rc != (was_hit ? KS_ENOMEM : 0) || set.n_refused != 0)
                fail_msg("%s, allocation %u: %d '%s'", kinds[i].importer, n, rc, err.text);
            ks_problem_set_release(&set);
        }
        assert_true(n > 4);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(ck_rows),
        cmocka_unit_test(ck_columns),
        cmocka_unit_test(ck_headers),
        cmocka_unit_test(profiler_lines),
        cmocka_unit_test(fdb_keys),
        cmocka_unit_test(problems_know_their_line),
        cmocka_unit_test(strict_stops_at_the_first),
        cmocka_unit_test(memory_may_run_out_anywhere),
    };

    return cmocka_run_group_tests_name("import", tests, NULL, NULL);
}
