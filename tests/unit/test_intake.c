/* SPDX-License-Identifier: MIT */
/* test_intake.c - other tools' files as results: stored, marked, refused; values made by hand */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
/* cmocka.h wants the four above first. */
#include <cmocka.h>

#include "analysis/data/sweeps.h"
#include "analysis/import/intake.h"
#include "base/file.h"
#include "fault.h"
#include "record/record.h"
#include "store/merge.h"
#include "store_place.h"

#include <math.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define FDB      "gfx942130.HIP.fdb.txt"
#define KEY      "64-28-28-1x1-256-28-28-16-0x0-1x1-1x1-0-NCHW-FP16-F"
#define GEMM(ms) "GemmFwd1x1_0_1:" ms ",0,miopenConvolutionFwdAlgoGEMM"
#define WINO(ms) "ConvBinWinogradRxSf3x2:" ms ",1024,miopenConvolutionFwdAlgoWinograd"
#define FFT(ms)  "fft:" ms ",0,miopenConvolutionFwdAlgoFFT"
#define FFT2(ms) "fft2:" ms ",0,miopenConvolutionFwdAlgoFFT"

#define CK24                                                                                       \
    "kernel,problem_idx,N,C,K,G,Di,Hi,Wi,Z,Y,X,stride_d,stride_h,stride_w,pad_d,pad_h,pad_w,"      \
    "dilation_d,dilation_h,dilation_w,latency_ms,tflops,non_zero\n"
#define CK17                                                                                       \
    "kernel,problem_idx,N,C,K,G,Hi,Wi,Y,X,stride_h,stride_w,pad_h,pad_w,latency_ms,tflops,"        \
    "non_zero\n"
#define CK18                                                                                       \
    "N,G,C,K,Hi,Wi,Y,X,stride_h,stride_w,pad_h,pad_w,tile_m,tile_n,tile_k,pipeline,tflops,"        \
    "latency_us\n"
#define CK_NAME "grouped_conv_forward_bf16_2d_16x64x64_compv3"

#define T4(unit, results)                                                                          \
    "{\"metadata\": {\"timeunit\": \"" unit "\"}, \"results\": [" results                          \
    "], \"schema_version\": \"1.0.0\"}"
#define T4_OK(x, runtimes) T4_OK_IN(x, runtimes, "")
#define T4_OK_IN(x, runtimes, unit)                                                                \
    "{\"timestamp\": \"2023-12-21 10:44:42.5+00:00\", \"configuration\": {\"x\": " x               \
    ", \"mode\": \"a b\"}, \"times\": {\"compilation\": 2.5, \"runtimes\": [" runtimes             \
    "]}, \"invalidity\": \"correct\", \"correctness\": 1, \"measurements\": [{\"name\": "          \
    "\"time\", \"value\": 3, \"unit\": \"" unit "\"}], \"objectives\": [\"time\"]}"
#define T4_BARE(runtimes)                                                                          \
    "{\"configuration\": {\"x\": 1}, \"times\": {\"runtimes\": [" runtimes                         \
    "]}, \"invalidity\": \"correct\"}"
#define T4_TIMEOUT "{\"configuration\": {\"x\": 1}, \"times\": {}, \"invalidity\": \"timeout\"}"
#define T4_FAILED(x)                                                                               \
    "{\"configuration\": {\"x\": " x ", \"mode\": \"c\"}, \"times\": {\"compilation\": 1}, "       \
    "\"invalidity\": \"runtime\", \"measurements\": [{\"name\": \"time\", \"value\": "             \
    "\"RuntimeFailedConfig\", \"unit\": \"\"}]}"

#define CACHE                                                                                      \
    "{\n\"device_name\": \"\", \"kernel_name\": \"conv\", \"problem_size\": [4096, 4096],\n"       \
    "\"tune_params_keys\": [\"x\", \"y\"], \"tune_params\": {\"x\": [1, 2], \"y\": [3]},\n"        \
    "\"cache\": {\n"
#define ENTRY(x, times)                                                                            \
    "\"" x ",3\": {\"x\": " x ", \"y\": 3, \"time\": 2, \"times\": [" times                        \
    "], \"compile_time\": 7, \"timestamp\": \"2023-12-21 10:44:42+00:00\"}"
#define FAILED(x) "\"" x ",3\": {\"x\": " x ", \"y\": 3, \"time\": \"CompilationFailedConfig\"}"

#define KTT(results)                                                                               \
    "{\"Metadata\": {\"Device\": \"NVIDIA GeForce RTX 3090\", \"KttVersion\": \"2.1.0\", "         \
    "\"TimeUnit\": \"Microseconds\"}, \"Results\": [" results "]}"
#define KTT_RESULT(value, durations, status)                                                       \
    "{\"Configuration\": [{\"Name\": \"X\", \"Value\": " value                                     \
    "}], \"ComputationResults\": [" durations "], \"Status\": \"" status "\"}"

#define CK_COMMAND     "ckProfiler grouped_conv_fwd 2 1 0 0 1 0 1 2 1 4 64 32 3 3 8 8 1 1 1 1 1 1 1 1"
#define PERF(ms, name) "Perf:  " ms " ms, 1 TFlops, 2 GB/s, " name "\n"
#define TEN            "0123456789"
#define HUNDRED        TEN TEN TEN TEN TEN TEN TEN TEN TEN TEN
/* 500 characters, one of them of two bytes */
#define CUT_OUTPUT                                                                                 \
    "\\u00b5"                                                                                      \
    "123456789" TEN TEN TEN TEN TEN TEN TEN TEN TEN HUNDRED HUNDRED HUNDRED HUNDRED

struct expected {
    const char *name, *text;
    const struct ks_intake_format *format; /* what it must be recognised as */
    struct ks_intake_counts n;
    double median_ns[4]; /* of the rows of /measurements, 0 behind the last; -1: none */
    uint32_t outcome[4], flags[4];
    const char *instance, *canonical; /* of the first row; canonical: a part of the text */
    uint32_t n_samples;               /* of the first row */
};

#define IMPORTED     KS_FL_IMPORTED
#define MARKED(flag) (KS_FL_IMPORTED | (flag))

/* clang-format off */
static const struct expected files[] = {
    { FDB, KEY "=" GEMM("0.05") ";" WINO("0.1") "\n", &ks_intake_fdb, { .n_lists = 1, .n_rows = 2, .n_stored = 2 },
      { 50000, 100000 }, { 1, 1 }, { IMPORTED, IMPORTED }, "GemmFwd1x1_0_1",
      "direction=forward dtype=fp16 layout=ngchw ndim=2 n=16 g=1 c_total=64 k_total=256 di=1 "
      "hi=28", 0 },
    /* in a B key the input is the gradient of the output: C and K, and sizes, change places */
    { FDB, "256-14-14-1x1-64-28-28-16-0x0-2x2-1x1-0-NCHW-FP32-B_g2=GemmBwdRest:1,2,miopenConvolutionBwdDataAlgoGEMM",
      &ks_intake_fdb, { .n_lists = 1, .n_rows = 1, .n_stored = 1 }, { 1e6 }, { 1 }, { IMPORTED }, "GemmBwdRest",
      "direction=backward_data dtype=fp32 layout=ngchw ndim=2 n=16 g=2 c_total=64 k_total=256 "
      "di=1 hi=28", 0 },
    /* 3-D, W; a list of four may have been cut */
    { FDB, "32-4-6-8-3x3x3-16-4-6-8-2-1x1x1-1x1x1-1x1x1-0-NCDHW-BF16-W="
      "a:1,0,miopenConvolutionBwdWeightsAlgoGEMM;b:2,0,miopenConvolutionBwdWeightsAlgoGEMM;"
      "c:3,0,miopenConvolutionBwdWeightsAlgoGEMM;d:4,0,miopenConvolutionBwdWeightsAlgoGEMM\r\n",
      &ks_intake_fdb, { .n_lists = 1, .n_rows = 4, .n_stored = 4, .n_truncated_lists = 1 }, { 1e6, 2e6, 3e6, 4e6 }, { 1, 1, 1, 1 },
      { MARKED(KS_FL_TRUNCATED), MARKED(KS_FL_TRUNCATED), MARKED(KS_FL_TRUNCATED),
        MARKED(KS_FL_TRUNCATED) },
      "a", "direction=backward_weight dtype=bf16 layout=ngchw ndim=3 n=2 g=1 c_total=16 "
      "k_total=32 di=4 hi=6 wi=8 z=3", 0 },
    /* the older form: the best of each algorithm */
    { "gfx906_60.fdb.txt", KEY "=miopenConvolutionFwdAlgoGEMM:GemmFwd1x1_0_1,0.5,0,"
      "miopenConvolutionFwdAlgoGEMM,<unused>", &ks_intake_fdb, { .n_lists = 1, .n_rows = 1, .n_stored = 1, .n_truncated_lists = 1 },
      { 500000 }, { 1 }, { MARKED(KS_FL_TRUNCATED) }, "GemmFwd1x1_0_1", "dtype=fp16", 0 },
    /* 2 * 16 * 28 * 28 * 64 * 256 flops in 100 ns are 4110 Tflop/s: above 1307.5, but not above
     * 5.5 times that */
    { FDB, KEY "=" GEMM("0.0001") ";" WINO("0.0001"), &ks_intake_fdb, { .n_lists = 1, .n_rows = 2, .n_stored = 2, .n_impossible = 1 },
      { 100, 100 }, { 18, 1 }, { MARKED(KS_FL_IMPOSSIBLE), IMPORTED }, "GemmFwd1x1_0_1", "n=16", 0 },
    { FDB, KEY "=" GEMM("0") ";" WINO("0.1"), &ks_intake_fdb, { .n_lists = 1, .n_rows = 2, .n_stored = 2, .n_zero = 1 }, { -1, 100000 },
      { 18, 1 }, { MARKED(KS_FL_ZERO_TIME), IMPORTED }, "GemmFwd1x1_0_1", "n=16", 0 },
    /* the same key again: the same time is no news, another one contradicts */
    { FDB, KEY "=" GEMM("1") ";" WINO("2") "\n" KEY "=" GEMM("1") ";" WINO("3") "\n" KEY "=" WINO("4"),
      &ks_intake_fdb, { .n_lists = 3, .n_rows = 5, .n_stored = 4, .n_repeated = 1, .n_contradicted = 3 }, { 1e6, 2e6 }, { 1, 18 },
      { IMPORTED, MARKED(KS_FL_CONTRADICTED) }, "GemmFwd1x1_0_1", "n=16", 0 },
    /* output of 27 where the geometry gives 28; INT8 */
    { FDB, "64-28-28-1x1-256-27-28-16-0x0-1x1-1x1-0-NCHW-FP16-F=" GEMM("1") "\n"
      "64-28-28-1x1-256-28-28-16-0x0-1x1-1x1-0-NCHW-INT8-F=" GEMM("1"), &ks_intake_fdb,
      { .n_lists = 2, .n_rows = 2, .n_stored = 2, .n_undecoded = 2, .n_undecoded_lists = 2 }, { 1e6, 1e6 }, { 18, 18 },
      { MARKED(KS_FL_UNDECODED), MARKED(KS_FL_UNDECODED) }, "GemmFwd1x1_0_1",
      "miopen_fdb_key=64-28-28-1x1-256-27", 0 },
    /* 4 * 8 * 8 * 128 outputs */
    { "oracle_gfx942.csv", CK24
      CK_NAME ",0,4,64,128,1,1,8,8,1,3,3,1,1,1,0,1,1,1,1,1,0.25,1,32768\n"
      "grouped_conv_forward_bf16_2d_16x64x64_compv3_intrawave_gm2,0,4,64,128,1,1,8,8,1,3,3,1,1,1,0,1,1,1,1,1,"
      "0.5,1,30000\nmine_forward_bf16,0,4,64,128,1,1,8,8,1,3,3,1,1,1,0,1,1,1,1,1,0.5,1,3000\n",
      &ks_intake_ck, { .n_lists = 0 }, { 0 }, { 0 }, { 0 }, NULL, "is not the name of a grouped convolution", 0 },
    { "oracle_gfx942.csv", CK24
      CK_NAME ",0,4,64,128,1,1,8,8,1,3,3,1,1,1,0,1,1,1,1,1,0.25,1,32768\n"
      "grouped_conv_forward_bf16_2d_16x64x64_compv3_intrawave_gm2,0,4,64,128,1,1,8,8,1,3,3,1,1,1,0,1,1,1,1,1,"
      "0.5,1,3000\n" "grouped_conv_forward_bf16_2d_9x9x9_mine,0,4,64,128,1,1,8,8,1,3,3,1,1,1,0,1,1,1,1,1,0.5,1,32768\n",
      &ks_intake_ck, { .n_lists = 1, .n_rows = 3, .n_stored = 3, .n_partial = 1, .n_unknown_names = 1 }, { 250000, 500000, 500000 },
      { 1, 18, 1 }, { IMPORTED, MARKED(KS_FL_PARTIAL), IMPORTED },
      "grouped_conv_forward_bf16_2d_16x64x64_compv3_intrawave",
      "direction=forward dtype=bf16 layout=nhwgc ndim=2 n=4 g=1 c_total=64 k_total=128", 0 },
    { "a.csv", CK17 CK_NAME ",7,1,32,64,1,56,56,2,2,2,2,0,0,0.004,1,50176\n", &ks_intake_ck, { .n_lists = 1, .n_rows = 1, .n_stored = 1 },
      { 4000 }, { 1 }, { IMPORTED }, "grouped_conv_forward_bf16_2d_16x64x64_compv3_intrawave",
      "hi=56 wi=56 z=1 y=2", 0 },
    { "sweep.csv", CK18 "1,2,32,64,56,56,3,3,1,1,1,1,64,64,32,compv4,10,12.5\n", &ks_intake_ck, { .n_lists = 1, .n_rows = 1, .n_stored = 1 },
      { 12500 }, { 1 }, { IMPORTED }, "64x64x32_compv4", "direction=forward dtype=fp16", 0 },
    { "conv_milo_MI250X_T4.json", T4("miliseconds", T4_OK("1", "3, 1, 2") "," T4_FAILED("2")),
      &ks_intake_t4, { .n_lists = 2, .n_rows = 2, .n_stored = 2, .n_failed = 1, .n_odd_units = 1 }, { 2e6, -1 }, { 1, 10 },
      { IMPORTED, MARKED(KS_FL_UNCONFIRMED) }, "1,a_b", "tool=t4 kernel=conv_milo", 3 },
    { "conv_RTX_3090.json", T4("seconds", T4_OK("1", "0, 1")), &ks_intake_t4,
      { .n_lists = 1, .n_rows = 1, .n_stored = 1, .n_zero = 1 }, { -1 }, { 18 }, { MARKED(KS_FL_ZERO_TIME) }, "1,a_b",
      "tool=t4 kernel=conv", 0 },
    { "conv_A100.json", CACHE ENTRY("1", "1, 2, 4") ",\n" FAILED("2") "}\n}\n", &ks_intake_kernel_tuner,
      { .n_lists = 2, .n_rows = 2, .n_stored = 2, .n_failed = 1 }, { 2e6, -1 }, { 1, 7 }, { IMPORTED, MARKED(KS_FL_UNCONFIRMED) },
      "1,3", "tool=kernel_tuner kernel=conv size=4096x4096", 3 },
    /* an older version's failure */
    { "conv_A100.json", CACHE ENTRY("1", "1, 2, 4") ",\n\"2,3\": {\"x\": 2, \"y\": 3, \"time\": 1e20}}\n}\n", &ks_intake_kernel_tuner,
      { .n_lists = 2, .n_rows = 2, .n_stored = 2, .n_failed = 1 }, { 2e6, -1 }, { 1, 10 }, { IMPORTED, MARKED(KS_FL_UNCONFIRMED) },
      "1,3", "tool=kernel_tuner kernel=conv size=4096x4096", 3 },
    /* a session that runs, and one that was killed */
    { "conv_A100.json", CACHE ENTRY("1", "1, 2, 4") ",\n", &ks_intake_kernel_tuner, { .n_lists = 1, .n_rows = 1, .n_stored = 1 }, { 2e6 },
      { 1 }, { IMPORTED }, "1,3", "kernel=conv", 3 },
    { "conv_A100.json", CACHE ENTRY("1", "1, 2, 4") ",\n\"2,3\": {\"x\": 2, \"ti", &ks_intake_kernel_tuner,
      { .n_lists = 1, .n_rows = 1, .n_stored = 1, .n_cut = 1 }, { 2e6 }, { 1 }, { IMPORTED }, "1,3", "kernel=conv", 3 },
    /* without a `time` samples tell repeats; a failure repeats no time of 0 */
    { "conv_A100.json", T4("ms", T4_BARE("2") "," T4_BARE("4") "," T4_BARE("2")), &ks_intake_t4,
      { .n_lists = 3, .n_rows = 3, .n_stored = 2, .n_repeated = 1, .n_contradicted = 2 }, { 2e6 }, { 18 },
      { MARKED(KS_FL_CONTRADICTED) }, "1", "tool=t4 kernel=conv", 1 },
    { "conv_A100.json", T4("ms", T4_BARE("0") "," T4_TIMEOUT), &ks_intake_t4,
      { .n_lists = 2, .n_rows = 2, .n_stored = 2, .n_failed = 1, .n_zero = 1, .n_contradicted = 2 }, { -1 }, { 18 },
      { MARKED(KS_FL_ZERO_TIME | KS_FL_CONTRADICTED) }, "1", "tool=t4 kernel=conv", 0 },
    /* it contradicts itself */
    { "conv_A100.json", T4("ms", "{\"configuration\": {\"x\": 1}, \"times\": {\"runtimes\": [2]}, "
      "\"invalidity\": \"correct\", \"correctness\": 0}"), &ks_intake_t4,
      { .n_lists = 1, .n_rows = 1, .n_stored = 1, .n_inconsistent = 1 }, { -1 }, { 18 },
      { MARKED(KS_FL_UNCONFIRMED) }, "1", "tool=t4 kernel=conv", 0 },
    { "conv_A100.json", T4("ms", "{\"configuration\": {\"x\": 2}, \"times\": {}, \"invalidity\": \"correct\"}," T4_TIMEOUT),
      &ks_intake_t4, { .n_lists = 2, .n_rows = 2, .n_stored = 2, .n_failed = 1, .n_inconsistent = 1 }, { -1, -1 }, { 18, KS_O_TIMEOUT },
      { MARKED(KS_FL_UNCONFIRMED), MARKED(KS_FL_UNCONFIRMED) }, "2", "tool=t4 kernel=conv", 0 },
    /* a unit of one measurement */
    { "conv_A100.json", T4("ms", T4_OK_IN("1", "3, 1, 2", "miliseconds") "," T4_OK_IN("2", "4", "us")), &ks_intake_t4,
      { .n_lists = 2, .n_rows = 2, .n_stored = 2, .n_odd_units = 1 }, { 2e6, 4e6 }, { 1, 1 }, { IMPORTED, IMPORTED },
      "1,a_b", "tool=t4 kernel=conv", 3 },
    { "conv_A100.json", T4("ms", T4_OK_IN("1", "3, 1, 2", "milliseconds")), &ks_intake_t4,
      { .n_lists = 1, .n_rows = 1, .n_stored = 1 }, { 2e6 }, { 1 }, { IMPORTED }, "1,a_b", "tool=t4 kernel=conv", 3 },
    /* what is stored is UTF-8 */
    { FDB, KEY "=Gemm\xe9:1,0,miopenConvolutionFwdAlgoGEMM", &ks_intake_fdb, { .n_lists = 1, .n_rows = 1, .n_stored = 1 },
      { 1e6 }, { 1 }, { IMPORTED }, "Gemm?", "n=16", 0 },
    /* output of programs: two commands, an instance that cannot, one that fails its check */
    { "run.log", "+ " CK_COMMAND "\nckProfiler found 2 instances\n" PERF("0.05", "A<1, 2>") "B does not support "
      "this problem\n+ MIOpenDriver convfp16 -n 4 -c 8 -H 9 -W 9 -k 8 -y 3 -x 3 -F 2 -t 1\nMIOpen Backward Data "
      "Conv. Algorithm: 1, Solution: 87/Naive\nGPU Kernel Time Backward Data Conv. Elapsed: 2.5 ms (average)\n",
      &ks_intake_profiler_log, { .n_lists = 2, .n_rows = 3, .n_stored = 3, .n_failed = 1 }, { 50000, -1, 2.5e6 },
      { 1, 5, 1 }, { IMPORTED, MARKED(KS_FL_UNCONFIRMED), IMPORTED }, "A<1, 2>",
      "direction=forward dtype=bf16 layout=nhwgc ndim=2 n=4 g=1 c_total=32 k_total=64", 0 },
    /* without a command nobody knows the problem */
    { "run.log", PERF("0.05", "A"), &ks_intake_profiler_log,
      { .n_rows = 1, .n_stored = 1, .n_undecoded = 1 }, { 50000 }, { 18 }, { MARKED(KS_FL_UNDECODED) }, "A",
      "program without a command", 0 },
    /* the script's results: its own form of the command; one output is whole, one cut */
    { "profiler_results.json", "{\"timestamp\": \"t\", \"stats\": {\"total\": 2}, \"results\": [{\"operation\": "
      "\"x\", \"elapsed_time\": 1.5, \"command\": \"./build/bin grouped_conv_bwd_weight 1 2 0 1 0 1 2 1 4 64 32 3 3 "
      "8 8 1 1 1 1 1 1 1 1 all\", \"stdout\": \"" "Perf: 2 ms, 1 TFlops, 2 GB/s, W, SplitK 4 (best occupancy)\\n\"}, "
      "{\"command\": [\"./x\", \"y\"], \"stdout\": \"" CUT_OUTPUT "\"}]}", &ks_intake_profiler_results,
      { .n_lists = 1, .n_rows = 1, .n_stored = 1, .n_cut = 1 }, { 2e6 }, { 1 }, { IMPORTED }, "W",
      "direction=backward_weight dtype=fp16 layout=nhwgc", 0 },
    { "profiler_results.json", "{\"stats\": {}, \"results\": [{\"elapsed_time\": 1, \"stdout\": \"" CUT_OUTPUT "\"}]}",
      &ks_intake_profiler_results, { 0 }, { 0 }, { 0 }, { 0 }, NULL, "all outputs are truncated to 500 characters", 0 },
    { "r.json", "{\"stats\": 1, \"elapsed_time\": 1, \"results\": 1}", &ks_intake_profiler_results, { 0 }, { 0 }, { 0 },
      { 0 }, NULL, "expected", 0 },
    { "r.json", "{\"stats\": 1, \"results\": [{\"elapsed_time\": 1, \"command\": \"make\", \"stdout\": \"x\"}]}",
      &ks_intake_profiler_results, { 0 }, { 0 }, { 0 }, { 0 }, NULL, "'make' is not a command", 0 },
    { "conv.json", KTT(KTT_RESULT("8", "{\"Duration\": 2.5}, {\"Duration\": 1}", "Ok") ","
                       KTT_RESULT("9", "", "ComputationFailed")), &ks_intake_ktt,
      { .n_lists = 2, .n_rows = 2, .n_stored = 2, .n_failed = 1 }, { 3500, -1 }, { 1, 10 }, { IMPORTED, MARKED(KS_FL_UNCONFIRMED) }, "8",
      "tool=ktt kernel=conv", 0 },
    /* 16 * 28 * 28 * 256 outputs of fp16 in 50 ns are 128 TB/s: 304 units store at most 81.7, by
     * whatever algorithm */
    { FDB, KEY "=" FFT("0.0001") ";" FFT2("0.00005"), &ks_intake_fdb, { .n_lists = 1, .n_rows = 2, .n_stored = 2, .n_impossible = 1 },
      { 100, 50 }, { 1, 18 }, { IMPORTED, MARKED(KS_FL_IMPOSSIBLE) }, "fft", "n=16", 0 },
};
/* clang-format on */
#define N_FILES (sizeof(files) / sizeof(files[0]))

static const struct ks_intake_options nothing_given;

static int take(struct ks_stage *stage, const struct expected *e, struct ks_intake_counts *n,
                struct ks_err *err)
{
    struct ks_text_in in = { 0 };
    int rc = ks_text_in_bytes(&in, e->text, strlen(e->text), e->name, err);

    if (rc == 0)
        rc = ks_intake_read(stage, &in, e->name, e->format, &nothing_given, n, err);
    ks_text_in_close(&in);
    return rc;
}

static void expect_rows(struct ks_store_file *f, const struct expected *e)
{
    size_t n = 0;

    while (n < 4 && fabs(e->median_ns[n]) > 0)
        n++;
    assert_int_equal(ks_store_info(f)->n_measurements, n);
    assert_int_equal(ks_store_info(f)->n_attempts, e->n.n_stored);
    for (size_t i = 0; i < n; i++) {
        struct ks_row row = measurement(f, i);

        same_f32(row.time_median_ns, e->median_ns[i]);
        assert_int_equal(row.outcome, e->outcome[i]);
        assert_int_equal(row.outcome_flags, e->flags[i] | KS_FL_IMPORTED);
        assert_int_equal(row.exact_check, 0);
        assert_true((row.outcome == KS_O_OK) == (row.reason[0] == '\0'));
        if (i > 0)
            continue;
        assert_int_equal(row.n_samples, e->n_samples);
        assert_string_equal(ks_store_kernel(f, row.kernel)->instance_name, e->instance);
        if (strstr(e->name, "run.log")) /* a log does not tell which version printed it */
            assert_non_null(
                strstr(ks_store_kernel(f, row.kernel)->canonical, "version= operator="));
        if (!strstr(ks_store_problem(f, row.problem)->canonical, e->canonical))
            fail_msg("'%s' is not in '%s'", e->canonical,
                     ks_store_problem(f, row.problem)->canonical);
    }
}

static void files_are_read(void **state)
{
    const struct place *p = *state;

    for (size_t i = 0; i < N_FILES; i++) {
        const struct expected *e = &files[i];
        struct ks_intake_counts n = { 0 };
        struct ks_stage *stage = NULL;
        struct ks_err err = { 0 };
        size_t k = 0;
        int rc;

        assert_int_equal(ks_stage_create(&stage, &err), 0);
        while (!ks_intake_formats[k]->sniff(e->text, strlen(e->text)))
            k++;
        assert_ptr_equal(ks_intake_formats[k], e->format);
        rc = take(stage, e, &n, &err);
        if (!e->instance) {
            assert_int_equal(rc, KS_EFORMAT);
            assert_non_null(strstr(err.text, e->canonical));
            ks_stage_destroy(stage);
            continue;
        }
        if (rc < 0 || memcmp(&n, &e->n, sizeof(n)) != 0)
            fail_msg("file %zu: %s; %llu lists, %llu rows, %llu stored", i, err.text,
                     (unsigned long long)n.n_lists, (unsigned long long)n.n_rows,
                     (unsigned long long)n.n_stored);
        assert_int_equal(ks_stage_write(stage, p->file, NULL, NULL, &err), 0);
        ks_stage_destroy(stage);
        struct ks_store_file *f = place_open(p);

        expect_rows(f, e);
        ks_store_close(f);
    }
}

/* What only names and provenance say. */
static void who_measured_is_kept(void **state)
{
    static const struct {
        const char *name, *arch, *model;
        uint32_t n_units, i_file;
    } rows[] = {
        { "x/gfx942130.HIP.fdb.txt", "gfx942", "", 304, 0 },
        { "gfx90a68.HIP.fdb.txt", "gfx90a", "", 104, 0 },
        { "gfx906_60_head.txt", "gfx906", "", 60, 0 },
        { "oracle_bf16_gfx950_sample.csv", "gfx950", "", 0, 10 },
        { "convolution_milo_MI250X_T4.json", "", "MI250X", 0, 12 },
        { "conv_RTX_3090.json", "", "RTX_3090", 0, 12 },
        { "conv.json", "", "NVIDIA GeForce RTX 3090", 0, N_FILES - 2 },
    };
    const struct place *p = *state;

    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        struct expected e = files[rows[i].i_file];
        struct ks_intake_counts n;
        struct ks_stage *stage;
        struct ks_store_file *f;
        struct ks_err err;
        bool is_said = false;

        e.name = rows[i].name;
        assert_int_equal(ks_stage_create(&stage, &err), 0);
        assert_int_equal(take(stage, &e, &n, &err), 0);
        assert_int_equal(ks_stage_write(stage, p->file, NULL, NULL, &err), 0);
        ks_stage_destroy(stage);
        f = place_open(p);
        assert_int_equal(ks_store_info(f)->n_devices, 1);
        assert_string_equal(ks_store_device(f, 0)->rec.arch, rows[i].arch);
        assert_string_equal(ks_store_device(f, 0)->rec.model, rows[i].model);
        assert_int_equal(ks_store_device(f, 0)->rec.n_units, rows[i].n_units);
        for (uint32_t k = 0; k < ks_store_info(f)->n_hosts; k++)
            is_said = is_said || (strcmp(ks_store_host(f, k)->key, "verified_by") == 0 &&
                                  strcmp(ks_store_host(f, k)->value, "nobody") == 0);
        assert_true(is_said);
        ks_store_close(f);
    }
}

static void bad_files_are_one_error(void **state)
{
    static const struct {
        const char *name, *text, *says;
        const struct ks_intake_format *format;
    } rows[] = {
        { FDB, "", "no results", &ks_intake_fdb },
        { FDB, "\n\n", "no results", &ks_intake_fdb },
        { FDB, KEY "=" GEMM("1") "\nx", ":2: no '='", &ks_intake_fdb },
        { FDB, KEY "=" GEMM("1") "\n1-2=" GEMM("1"), ":2: the key does not have", &ks_intake_fdb },
        { FDB, KEY "=" GEMM("-1"), ":1: entry 1: the time", &ks_intake_fdb },
        { FDB, KEY "=" GEMM("1e999"), ":1: entry 1: the time", &ks_intake_fdb },
        { FDB, KEY "=" GEMM("0x1"), ":1: entry 1: the time", &ks_intake_fdb },
        { FDB, KEY "=" GEMM("nan"), ":1: entry 1: the time", &ks_intake_fdb },
        { FDB, KEY "=" GEMM("1") ";a:1,2", ":1: entry 2: a solver has no algorithm",
          &ks_intake_fdb },
        { FDB, KEY "=a", ":1: entry 1: no ':'", &ks_intake_fdb },
        { "find.txt", KEY "=" GEMM("1"), "give --device", &ks_intake_fdb },
        { "a.csv", CK17 CK_NAME ",7,1,32,64,1,56,56,2,2,2,2,0,0,fast,1,50176\n",
          ":2: 'fast' is not a number", &ks_intake_ck },
        { "a.csv", CK17 CK_NAME ",7,1,32\n", ":2: 4 fields", &ks_intake_ck },
        { "a_T4.json", "{\"results\": [", "a_T4.json:1: the file is truncated", &ks_intake_t4 },
        { "a_T4.json", T4("fortnights", T4_OK("1", "1")), "unknown unit of time", &ks_intake_t4 },
        { "a_T4.json", T4("ms", T4_OK("1", "-1")), "a negative time", &ks_intake_t4 },
        { "a_T4.json", T4("ms", T4_OK("1", "\"1\"")), "number", &ks_intake_t4 },
        { "a_T4.json", T4("ms", T4_OK("1", "1e300")), "more than 31 years", &ks_intake_t4 },
        { "a_T4.json", T4("ms", "{\"configuration\": {}}"), "without a configuration",
          &ks_intake_t4 },
        { "a_T4.json", T4("ms", T4_OK("1", "1")) "x", "data after the last", &ks_intake_t4 },
        { "a_T4.json", T4("ms", T4_OK("1", "1") " " T4_OK("2", "1")),
          "expected the end of the text", &ks_intake_t4 },
        { "a_T4.json", T4("ms", T4_OK("1", "1 1")), "value from line 1 on", &ks_intake_t4 },
        { "a.json", "{\"cache\": {" ENTRY("1", "1") "}}", "must come after `tune_params_keys`",
          &ks_intake_kernel_tuner },
        { "a.json", CACHE "\"1\": {\"x\": 1}}}", "no value of parameter 'y'",
          &ks_intake_kernel_tuner },
        { "a.json", CACHE, "no results", &ks_intake_kernel_tuner },
        { "a.json", KTT(KTT_RESULT("1", "", "Strange")), "unknown status 'Strange'",
          &ks_intake_ktt },
        { "a.json", "{\"Results\": [" KTT_RESULT("1", "", "Ok") "]}", "must come after `Metadata`",
          &ks_intake_ktt },
    };

    (void)state;
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        struct expected e = { .name = rows[i].name,
                              .text = rows[i].text,
                              .format = rows[i].format };
        struct ks_intake_counts n;
        struct ks_stage *stage;
        struct ks_err err = { 0 };
        int rc;

        assert_int_equal(ks_stage_create(&stage, &err), 0);
        rc = take(stage, &e, &n, &err);
        if (rc >= 0 || ks_code_exit(err.code) != 2 || !strstr(err.text, rows[i].says))
            fail_msg("row %zu: %d '%s', not '%s'", i, rc, err.text, rows[i].says);
        ks_stage_destroy(stage);
    }
}

static void texts_become_values(void **state)
{
    bool is_odd;
    double v;

    (void)state;
    assert_int_equal(ks_intake_time("1970-01-02 00:00:00"), 86400000000000u);
    assert_int_equal(ks_intake_time("2023-12-21 10:44:42.25+02:00"), 1703148282250000000u);
    assert_int_equal(ks_intake_time("2024-04-20T03:41:57 UTC"), 1713584517000000000u);
    assert_int_equal(ks_intake_time("yesterday"), 0);
    assert_true(ks_intake_number("1.5e-3", &v) && fabs(v - 0.0015) < 1e-18);
    assert_false(ks_intake_number("", &v) || ks_intake_number(" 1", &v) ||
                 ks_intake_number("1 ", &v) || ks_intake_number("inf", &v));
    same_f32(ks_intake_unit_ns("Microseconds", &is_odd), 1e3);
    assert_false(is_odd);
    same_f32(ks_intake_unit_ns("miliseconds", &is_odd), 1e6);
    assert_true(is_odd);
}

/* Two sources, then the same file again, then both as one. */
static void files_are_joined(void **state)
{
    const struct place *p = *state;
    char first[120], second[120];
    const char *const paths[] = { first, second, first };
    struct ks_merge_totals t;
    struct ks_store_file *f;
    struct ks_err err = { 0 };

    snprintf(first, sizeof(first), "%s/first.h5", p->root);
    snprintf(second, sizeof(second), "%s/second.h5", p->root);
    for (size_t i = 0; i < 2; i++) {
        struct ks_intake_counts n;
        struct ks_stage *stage;

        assert_int_equal(ks_stage_create(&stage, &err), 0);
        assert_int_equal(take(stage, &files[i ? 12 : 0], &n, &err), 0);
        assert_int_equal(take(stage, &files[i ? 12 : 0], &n, &err), KS_EEXIST);
        ks_stage_destroy(stage);
        assert_int_equal(ks_stage_create(&stage, &err), 0);
        assert_int_equal(take(stage, &files[i ? 12 : 0], &n, &err), 0);
        assert_int_equal(ks_stage_write(stage, paths[i], NULL, NULL, &err), 0);
        ks_stage_destroy(stage);
    }
    assert_int_equal(ks_store_merge(paths, 3, p->file, NULL, &t, &err), 0);
    assert_int_equal(t.n_runs, 2);
    assert_int_equal(t.n_runs_repeated, 1);
    assert_int_equal(t.n_devices, 2);
    assert_int_equal(t.n_cells, 4);
    f = place_open(p);
    assert_int_equal(ks_store_info(f)->n_measurements, 4);
    assert_int_equal(ks_store_info(f)->n_samples, 3);
    for (uint32_t i = 0; i < 4; i++) {
        struct ks_row row = measurement(f, i), made = attempt(f, row.attempt_row);

        assert_int_equal(row.run, i < 2 ? 0 : 1);
        assert_int_equal(ks_store_kernel(f, row.kernel)->run, row.run);
        assert_int_equal(ks_store_kernel(f, row.kernel)->instance_id, row.instance_id);
        assert_int_equal(ks_store_problem(f, row.problem)->problem_id, row.problem_id);
        assert_int_equal(made.instance_id, row.instance_id);
        assert_int_equal(ks_store_device(f, row.device)->run, row.run);
    }
    ks_store_close(f);
    unlink(first);
    unlink(second);
}

/* More samples than a record of ours can have. */
static void long_lists_of_samples_are_read(void **state)
{
    const struct place *p = *state;
    struct ks_intake_counts n;
    struct ks_sweeps sweeps = { 0 };
    struct ks_stage *stage;
    struct ks_err err = { 0 };
    struct ks_buf text;
    struct expected e = { .name = "conv_A100.json", .format = &ks_intake_t4 };

    ks_buf_init(&text);
    ks_buf_printf(
        &text, "%s",
        "{\"metadata\": {\"timeunit\": \"ns\"}, \"results\": [{\"configuration\": {\"x\": "
        "1}, \"invalidity\": \"correct\", \"times\": {\"runtimes\": [5");
    for (unsigned i = 0; i < 2 * KS_SAMPLES_MAX; i++)
        ks_buf_printf(&text, ",%u", 4 + i % 3);
    ks_buf_printf(&text, "]}}]}");
    e.text = ks_buf_text(&text);
    assert_int_equal(ks_stage_create(&stage, &err), 0);
    assert_int_equal(take(stage, &e, &n, &err), 0);
    assert_int_equal(ks_stage_write(stage, p->file, NULL, NULL, &err), 0);
    ks_stage_destroy(stage);
    assert_int_equal(ks_sweeps_load(&sweeps, p->file, &err), 0);
    assert_int_equal(sweeps.n_rounds, 1);
    assert_int_equal(sweeps.rounds[0].n_samples, 2 * KS_SAMPLES_MAX + 1);
    assert_true(fabs(sweeps.rounds[0].log_ns[KS_STATISTIC_MEDIAN] - log(5)) < 1e-9);
    ks_sweeps_release(&sweeps);
    ks_buf_release(&text);
}

/* Every allocation fails once: KS_ENOMEM, and nothing is leaked or written. */
static void memory_runs_out(void **state)
{
    static const size_t which[] = { 6, 9, 12, 14 };
    const struct place *p = *state;

    for (size_t i = 0; i < sizeof(which) / sizeof(which[0]); i++) {
        bool has_failed = true;

        for (unsigned k = 0; has_failed && k < 4000; k += 1 + k / 16) {
            struct ks_intake_counts n;
            struct ks_stage *stage = NULL;
            struct ks_err err = { 0 };
            int rc;

            fault_arm(k);
            rc = ks_stage_create(&stage, &err);
            if (rc == 0)
                rc = take(stage, &files[which[i]], &n, &err);
            if (rc == 0)
                rc = ks_stage_write(stage, p->file, NULL, NULL, &err);
            has_failed = fault_disarm();
            ks_stage_destroy(stage);
            if (rc < 0 && err.code != KS_ENOMEM)
                fail_msg("allocation %u: %s", k, err.text);
            assert_true(rc == 0 || has_failed);
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(files_are_read, place_make, place_remove),
        cmocka_unit_test_setup_teardown(who_measured_is_kept, place_make, place_remove),
        cmocka_unit_test(bad_files_are_one_error),
        cmocka_unit_test(texts_become_values),
        cmocka_unit_test_setup_teardown(files_are_joined, place_make, place_remove),
        cmocka_unit_test_setup_teardown(long_lists_of_samples_are_read, place_make, place_remove),
        cmocka_unit_test_setup_teardown(memory_runs_out, place_make, place_remove),
    };

    return cmocka_run_group_tests_name("intake", tests, NULL, NULL);
}
