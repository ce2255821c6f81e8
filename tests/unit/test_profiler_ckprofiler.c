/* SPDX-License-Identifier: MIT */
/* test_profiler_ckprofiler.c - ckProfiler: command lines by generation, and what each one prints */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
/* cmocka.h wants the four above first. */
#include <cmocka.h>

#include "profiler_kit.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* A problem but for operator, direction, dtype and layout. */
#define SHAPE                                                                                      \
    " ndim=2 n=4 g=2 c_total=64 k_total=128 di=1 hi=56 wi=28 z=1 y=3 x=1 stride_d=1 stride_h=2 "   \
    "stride_w=1 dilation_d=1 dilation_h=1 dilation_w=1 pad_d_lo=0 pad_h_lo=1 pad_w_lo=0 "          \
    "pad_d_hi=0 pad_h_hi=2 pad_w_hi=0"
#define VOLUME                                                                                     \
    " ndim=3 n=1 g=1 c_total=8 k_total=16 di=5 hi=6 wi=7 z=3 y=3 x=3 stride_d=1 stride_h=1 "       \
    "stride_w=1 dilation_d=1 dilation_h=1 dilation_w=1 pad_d_lo=1 pad_h_lo=1 pad_w_lo=1 "          \
    "pad_d_hi=1 pad_h_hi=1 pad_w_hi=1"
#define CONV(direction, dtype, layout)                                                             \
    "operator=grouped_conv direction=" direction " dtype=" dtype " layout=" layout

static const struct {
    const char *options, *problem, *program, *want;
} commands[] = {
    { "", CONV("forward", "bf16", "nhwgc") SHAPE, "ckProfiler",
      "ckProfiler grouped_conv_fwd 2 1 0 0 1 0 1 2 2 4 64 32 3 1 56 28 2 1 1 1 1 0 2 0" },
    { "", CONV("forward", "fp32", "ngchw") VOLUME, "ckProfiler",
      "ckProfiler grouped_conv_fwd 0 3 0 0 1 0 1 3 1 1 16 8 3 3 3 5 6 7 1 1 1 1 1 1 1 1 1 1 1 "
      "1" },
    { "{\"verify\": \"gpu\", \"init\": \"decimal\"}", CONV("backward_data", "bf16", "ngchw") SHAPE,
      "d/profile_grouped_conv_bwd_data",
      "d/profile_grouped_conv_bwd_data 2 3 2 2 0 1 2 2 4 64 32 3 1 56 28 2 1 1 1 1 0 2 0 0" },
    { "{\"version\": 2024}", CONV("backward_data", "fp16", "nhwgc") SHAPE, "grouped_conv_bwd_data",
      "grouped_conv_bwd_data 1 1 0 1 0 1 2 2 4 64 32 3 1 56 28 2 1 1 1 1 0 2 0" },
    { "{\"version\": 2024}", CONV("backward_data", "fp16", "ngchw") SHAPE, "ckProfiler",
      "! ckProfiler of 2024 has no backward data with layout ngchw" },
    { "", CONV("backward_weight", "bf16", "ngchw") SHAPE, "ckProfiler",
      "ckProfiler grouped_conv_bwd_weight 5 4 0 1 0 1 2 2 4 64 32 3 1 56 28 2 1 1 1 1 0 2 0 "
      "all" },
    { "{\"split_k\": -1}", CONV("backward_weight", "fp16", "nhwgc") SHAPE, "ckProfiler",
      "ckProfiler grouped_conv_bwd_weight 1 2 0 1 0 1 2 2 4 64 32 3 1 56 28 2 1 1 1 1 0 2 0 "
      "-1" },
    { "{\"split_k\": 4}", CONV("backward_data", "fp16", "nhwgc") SHAPE, "ckProfiler",
      "ckProfiler grouped_conv_bwd_data 1 1 0 1 0 1 2 2 4 64 32 3 1 56 28 2 1 1 1 1 0 2 0 4" },
    { "{\"compat\": \"code\"}", CONV("backward_data", "bf16", "nhwgc") SHAPE, "./build/bin",
      "./build/bin grouped_conv_bwd_data 1 3 0 1 0 1 2 2 4 64 32 3 1 56 28 2 1 1 1 1 0 2 0 "
      "all" },
    { "{\"compat\": \"readme\"}", CONV("forward", "bf16", "nhwgc") SHAPE,
      "./build/bin/profile_grouped_conv_fwd",
      "./build/bin/profile_grouped_conv_fwd 1 3 0 0 1 0 1 2 2 4 64 32 3 1 56 28 2 1 1 1 1 0 2 "
      "0" },
    { "", CONV("forward", "bf16", "nhwgc") SHAPE, "x/grouped_conv_bwd_weight",
      "! 'x/grouped_conv_bwd_weight' does not run grouped_conv_fwd" },
    { "",
      "operator=gemm direction=forward dtype=fp16 layout=nhwgc batch=1 m=8 n=8 k=8 trans_a=0 "
      "trans_b=0",
      "ckProfiler", "! ckProfiler is only used for grouped convolutions" },
    /* 2^31 elements and more want 64-bit offsets. */
    { "",
      CONV("forward", "fp16", "nhwgc") " ndim=2 n=2048 g=1 c_total=1024 k_total=8 di=1 hi=32 "
                                       "wi=33 z=1 y=1 x=1 stride_d=1 "
                                       "stride_h=1 stride_w=1 dilation_d=1 dilation_h=1 "
                                       "dilation_w=1 pad_d_lo=0 pad_h_lo=0 "
                                       "pad_w_lo=0 pad_d_hi=0 pad_h_hi=0 pad_w_hi=0",
      "ckProfiler",
      "ckProfiler grouped_conv_fwd 1 1 1 0 1 0 1 2 1 2048 8 1024 1 1 32 33 1 1 1 1 0 0 0 0" },
};

static void test_commands(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof commands / sizeof commands[0]; i++) {
        struct ks_problem p = profiler_problem(commands[i].problem);
        struct ks_buf got;

        ks_buf_init(&got);
        profiler_words("ckprofiler", commands[i].options, &p, commands[i].program, NULL, &got);
        assert_string_equal(ks_buf_text(&got), commands[i].want);
        ks_buf_release(&got);
    }
}

static void test_choice(void **state)
{
    struct ks_problem p = profiler_problem(CONV("forward", "fp16", "nhwgc") SHAPE);
    struct ks_profiler_choice choice = { .index = 7 };
    struct ks_buf got;

    (void)state;
    ks_buf_init(&got);
    profiler_words("ckprofiler", "{\"version\": \"2026\"}", &p, "ckProfiler", &choice, &got);
    assert_non_null(strstr(ks_buf_text(&got), " 2 0 --instance 7"));
    ks_buf_clear(&got);
    profiler_words("ckprofiler", "", &p, "ckProfiler", &choice, &got);
    assert_string_equal(ks_buf_text(&got), "! ckProfiler of 2025 cannot choose an instance");
    ks_buf_release(&got);
}

#define FWD "DeviceGroupedConvFwdMultipleABD_Xdl_CShuffle"
#define FWD_TRAITS                                                                                 \
    "kind=" FWD " block_size=64 m_per_block=32 n_per_block=16 k_per_block=8 "                      \
    "specialization=Default"
#define NAME_X "X<1, S<4,64,1>, PipelineVersion: v1, BlkGemmPipelineScheduler: Intrawave>"
#define NAME_X_TRAITS                                                                              \
    "kind=X pipeline_version=v1 blk_gemm_pipeline_scheduler=Intrawave +1, S<4,64,1>"

static const struct {
    const char *options, *output, *want;
} outputs[] = {
    /* forward of 2024 */
    { "",
      "input: dim 5, lengths {2, 4, 32, 56, 28}, strides {1, 2}\n"
      "weight: dim 5, lengths {2, 64, 32, 3, 1}, strides {1, 2}\n"
      "output: dim 5, lengths {2, 4, 64, 28, 28}, strides {1, 2}\n"
      "ckProfiler found 3 instances\n"
      "Perf:    0.01234 ms, 45.6 TFlops, 1e+02 GB/s, " FWD "<64, 32, 16, 8, Default>\n"
      "Perf:  1.5e-05 ms, 1.2e+03 TFlops, 7 GB/s, " FWD "<64, 32, 16, 8, Default>\n" FWD
      "<64, 32, 16, 8, Default> does not support this problem\n"
      "Best configuration parameters:\nname: " FWD "<64, 32, 16, 8, Default>\n"
      "avg_time: 1.5e-05\ntflops: 1200\nGB/s: 7\n",
      "ok \"" FWD "<64, 32, 16, 8, Default>\" #0 t=12340 f=4.56e+13 b=100000000000 " FWD_TRAITS
      "\nok \"" FWD "<64, 32, 16, 8, Default>\" #1 t=15 f=1.2e+15 b=7000000000 " FWD_TRAITS
      "\nunsupported \"" FWD
      "<64, 32, 16, 8, Default>\" #2 ?does not support this problem " FWD_TRAITS
      "\n= 3 2 1 0 0 0 0 end found 3 best " FWD "<64, 32, 16, 8, Default> 15" },
    /* weight: split-k, best occupancy, wrong results, colours, text of another stream, no
     * newline at the end */
    { "{\"verify\": \"cpu\"}",
      "found 2 instances\n"
      "warning: \033[1mnearPerf:          2 ms, 3 TFlops, 4 GB/s, " NAME_X
      ", SplitK 4 (best occupancy)\n"
      "Perf:          1 ms, 3 TFlops, 4 GB/s, " NAME_X ", SplitK 2\n"
      "Error: Incorrect results! out[0] != ref[0]: 1 != 2\n"
      "Relative error threshold: 0.1 Absolute error threshold: 0.2\n"
      "Fail info: splitK: 2 " NAME_X "\n"
      "Warning: Unable to determine split_k value for this instance!\n"
      "Perf:          1 ms, 3 TFlops, 4 GB/s, Y, SplitK -1\n"
      "\033[36mvalids: 3\033[0m\n"
      "Best configuration parameters:\nname: Y (instance 2)\navg_time: 1\ntflops: 3\n"
      "GB/s: 4, SplitK -1",
      "ok \"" NAME_X "\" #0 t=2000000 f=3e+12 b=4000000000 k=-1/4 v " NAME_X_TRAITS
      "\nwrong_result \"" NAME_X "\" #0 t=1000000 f=3e+12 b=4000000000 k=2/2 ?the program found "
      "the result wrong " NAME_X_TRAITS "\nok \"Y\" #0 t=1000000 f=3e+12 b=4000000000 k=-1 v\n"
      "= 3 2 0 1 0 0 1 end found 2 valid 3 best Y 1000000" },
    /* a failure of an instance without a line of its own; a crash in the middle of a line */
    { "", "Fail info: A<1>\nPerf:    1 ms, 2 TFlops, 3 GB/s, B\nPerf:    7 ms, 2 TF",
      "wrong_result \"A<1>\" #0 ?the program found the result wrong kind=A +1\nok \"B\" #0 "
      "t=1000000 f=2e+12 b=3000000000\n= 2 1 0 1 0 0 1" },
    /* a listing */
    { "{\"version\": \"2026\"}",
      "\nValid instances for this problem:\n[0] P<1, 2> (SplitK=4 (best occupancy))\n"
      "[1] Q\n[2] P<1, 2> (SplitK=8)\n[x] no\n\nTotal: 3 valid instances\n",
      "listed \"P<1, 2>\" #0 k=-1/4 i=0 kind=P +1, 2\nlisted \"Q\" #0 i=1\n"
      "listed \"P<1, 2>\" #0 k=8/8 i=2 kind=P +1, 2\n= 3 0 0 0 0 3 1 end valid 3" },
    { "", "this data_type & layout is not implemented\n",
      "= 0 0 0 0 0 0 0 unimplemented says this data_type & layout is not implemented" },
    { "",
      "terminate called after throwing an instance of 'std::invalid_argument'\n  what():  "
      "stoi\n",
      "= 0 0 0 0 0 0 1 says terminate called after throwing an instance of "
      "'std::invalid_argument'" },
    { "", "Perf:    0 ms, inf TFlops, nan GB/s, Z\nPerf: x\n",
      "untrusted \"Z\" #0 ?no time was printed\n= 1 0 0 0 1 0 1" },
};

static void test_output(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof outputs / sizeof outputs[0]; i++)
        profiler_expect("ckprofiler", outputs[i].options, outputs[i].output, outputs[i].want);
}

/* 50,000 lines of names of 400 characters: all are rows, and equal names have ordinals. */
static void test_many(void **state)
{
    enum { N = 50000, N_NAMES = 500 };
    struct ks_buf output, got;
    const char *last;

    (void)state;
    ks_buf_init(&output);
    ks_buf_init(&got);
    for (int i = 0; i < N; i++)
        ks_buf_printf(&output, "Perf: %10.4g ms, 1 TFlops, 2 GB/s, K%0400d<1, 2>\n", 1e-3 * (i + 1),
                      i % N_NAMES);
    profiler_read("ckprofiler", "", NULL, NULL, output.data, output.len, 4096, &got);
    assert_non_null(strstr(ks_buf_text(&got), "\n= 50000 50000 0 0 0 0 0"));
    last = strstr(ks_buf_text(&got), " #99 t=50000000 ");
    assert_non_null(last);
    assert_null(strstr(ks_buf_text(&got), " #100 "));
    ks_buf_release(&output);
    ks_buf_release(&got);
}

/* A line without end is cut, counted, and what follows is read. */
static void test_cut(void **state)
{
    static const char tail[] = "\nPerf: 1 ms, 2 TFlops, 3 GB/s, A\n";
    const size_t n = KS_PROFILER_LINE_MAX + 5000;
    char *text = malloc(n + sizeof tail);
    struct ks_buf got;

    (void)state;
    assert_non_null(text);
    memset(text, 'x', n);
    memcpy(text + n, tail, sizeof tail);
    ks_buf_init(&got);
    profiler_read("ckprofiler", "", NULL, NULL, text, n + sizeof tail - 1, 1000, &got);
    assert_string_equal(ks_buf_text(&got),
                        "ok \"A\" #0 t=1000000 f=2e+12 b=3000000000\n= 1 1 0 0 0 0 1");
    ks_buf_release(&got);
    free(text);
}

/* What a directory is searched for, the identity of the options, and who timed. */
static void test_setup(void **state)
{
    static const char *const names[] = { "profile_grouped_conv_bwd_data", "grouped_conv_bwd_data",
                                         "ckProfiler" };
    struct ks_problem p = profiler_problem(CONV("backward_data", "fp16", "nhwgc") SHAPE);
    const struct ks_profiler *a = NULL;
    struct ks_profiler_setup *s = NULL;
    struct ks_profiler_protocol protocol;
    struct ks_buf text;
    struct ks_err err;

    (void)state;
    ks_buf_init(&text);
    assert_int_equal(ks_profiler_find("ckprofiler", &a, &err), 0);
    assert_int_equal(ks_profiler_setup_parse(a, "{\"split_k\": 2}", &s, &err), 0);
    for (unsigned i = 0; i < 3; i++) {
        assert_true(ks_profiler_program_name(s, &p, i, &text));
        assert_string_equal(ks_buf_text(&text), names[i]);
    }
    assert_false(ks_profiler_program_name(s, &p, 3, &text));
    ks_buf_clear(&text);
    ks_profiler_setup_text(s, &text);
    for (const char *const *part =
             (const char *const[]){ "\"version\":", "\"2025\"", "\"split_k\":", NULL };
         *part; part++)
        assert_non_null(strstr(ks_buf_text(&text), *part));
    ks_profiler_protocol_of(s, &p, &protocol);
    assert_string_equal(protocol.cache, "warm");
    assert_int_equal(protocol.n_repeats, 50);
    p.direction = KS_BACKWARD_WEIGHT;
    ks_profiler_protocol_of(s, &p, &protocol);
    assert_string_equal(protocol.cache, "flushed");
    ks_profiler_setup_destroy(s);
    ks_buf_release(&text);
}

static void test_refused(void **state)
{
    (void)state;
    profiler_refuses("ckprofiler", "{\"version\": \"2023\"}",
                     "'2023' is not one of 2024, 2025, 2026");
    profiler_refuses("ckprofiler", "{\"verfy\": \"cpu\"}", "verfy");
    profiler_refuses("ckprofiler", "{\"split_k\": \"some\"}", "neither a number nor");
    profiler_refuses("ckprofiler", "{\"split_k\": -7}",
                     "-7 is not in the range -1 to 4096, nor \"all\"");
    profiler_refuses("ckprofiler", "[]", "expected an object");
}

/* An id is of the adapter, version, operator, direction, dtype, layout, name, split-k, ordinal. */
static void test_ids(void **state)
{
    const struct ks_profiler *a = NULL;
    struct ks_profiler_setup *s = NULL;
    struct ks_problem p = profiler_problem(CONV("forward", "fp16", "nhwgc") SHAPE), other = p;
    struct ks_profiler_row row = { .instance = "A<1>",
                                   .n_instance = 4,
                                   .split_k_requested = KS_PROFILER_UNTOLD };
    struct ks_err err;
    uint64_t id;

    (void)state;
    assert_int_equal(ks_profiler_find("ckprofiler", &a, &err), 0);
    assert_int_equal(ks_profiler_setup_parse(a, "", &s, &err), 0);
    id = ks_profiler_instance_id(s, "6.4", &p, &row);
    other.dim[1] = 999; /* another shape: the same instance */
    assert_int_equal(ks_profiler_instance_id(s, "6.4", &other, &row), id);
    other.layout = !p.layout;
    assert_int_not_equal(ks_profiler_instance_id(s, "6.4", &other, &row), id);
    assert_int_not_equal(ks_profiler_instance_id(s, "6.5", &p, &row), id);
    row.ordinal = 1;
    assert_int_not_equal(ks_profiler_instance_id(s, "6.4", &p, &row), id);
    row.ordinal = 0;
    row.split_k_requested = -1;
    assert_int_not_equal(ks_profiler_instance_id(s, "6.4", &p, &row), id);
    ks_profiler_setup_destroy(s);
    assert_int_equal(ks_profiler_find("ckprofilr", &a, &err), KS_ENOENT);
    assert_non_null(strstr(err.text, "did you mean 'ckprofiler'"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_commands), cmocka_unit_test(test_choice),
        cmocka_unit_test(test_output),   cmocka_unit_test(test_many),
        cmocka_unit_test(test_cut),      cmocka_unit_test(test_setup),
        cmocka_unit_test(test_refused),  cmocka_unit_test(test_ids),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
