/* SPDX-License-Identifier: MIT */
/* test_profiler_miopendriver.c - MIOpenDriver: command lines, and what its three modes print */
/* The modes are Find, immediate mode and a chosen solution. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
/* cmocka.h wants the four above first. */
#include <cmocka.h>

#include "profiler_kit.h"

#include <string.h>

#define SHAPE                                                                                      \
    " ndim=2 n=4 g=2 c_total=64 k_total=128 di=1 hi=56 wi=28 z=1 y=3 x=1 stride_d=1 stride_h=2 "   \
    "stride_w=1 dilation_d=1 dilation_h=1 dilation_w=1 pad_d_lo=0 pad_h_lo=1 pad_w_lo=0 "          \
    "pad_d_hi=0 pad_h_hi=1 pad_w_hi=0"
#define CONV(direction, dtype, layout)                                                             \
    "operator=grouped_conv direction=" direction " dtype=" dtype " layout=" layout

static void test_commands(void **state)
{
    static const struct ks_profiler_choice choice = { .index = 139 };
    static const struct {
        const char *options, *problem;
        const struct ks_profiler_choice *choice;
        const char *want;
    } rows[] = {
        { "", CONV("forward", "bf16", "nhwgc") SHAPE, NULL,
          "MIOpenDriver convbfp16 -n 4 -c 64 -H 56 -W 28 -k 128 -y 3 -x 1 -p 1 -q 0 -u 2 -v 1 -l 1 "
          "-j 1 --in_layout NHWC --fil_layout NHWC --out_layout NHWC -m conv -g 2 -F 1 -t 1 -V 0 "
          "-i 10" },
        { "{\"mode\": \"solutions\", \"verify\": true, \"iterations\": 3}",
          CONV("backward_weight", "fp32", "ngchw") SHAPE, &choice,
          "MIOpenDriver conv -n 4 -c 64 -H 56 -W 28 -k 128 -y 3 -x 1 -p 1 -q 0 -u 2 -v 1 -l 1 -j 1 "
          "-m conv -g 2 -F 4 -t 1 -V 1 -i 3 -S 139" },
        { "{\"search\": true}",
          CONV("backward_data", "fp16", "ngchw") " ndim=3 n=1 g=1 c_total=8 k_total=16 di=5 hi=6 "
                                                 "wi=7 z=3 y=3 x=3 stride_d=2 stride_h=1 "
                                                 "stride_w=1 dilation_d=1 dilation_h=1 "
                                                 "dilation_w=1 pad_d_lo=1 pad_h_lo=1 pad_w_lo=1 "
                                                 "pad_d_hi=1 pad_h_hi=1 pad_w_hi=1",
          NULL,
          "MIOpenDriver convfp16 -n 1 -c 8 -H 6 -W 7 -k 16 -y 3 -x 3 -p 1 -q 1 -u 1 -v 1 -l 1 -j 1 "
          "--in_d 5 --fil_d 3 --pad_d 1 --conv_stride_d 2 --dilation_d 1 --spatial_dim 3 -m conv "
          "-g 1 -F 2 -t 1 -V 0 -i 10 -s 1" },
        { "",
          CONV("forward", "fp16", "ngchw") " ndim=2 n=1 g=1 c_total=8 k_total=16 di=1 hi=6 wi=7 "
                                           "z=1 y=3 x=3 stride_d=1 stride_h=1 "
                                           "stride_w=1 dilation_d=1 dilation_h=1 dilation_w=1 "
                                           "pad_d_lo=0 pad_h_lo=1 pad_w_lo=1 "
                                           "pad_d_hi=0 pad_h_hi=1 pad_w_hi=2",
          NULL, "! MIOpenDriver has one padding for both sides, the problem has two" },
    };

    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        struct ks_problem p = profiler_problem(rows[i].problem);
        struct ks_buf got;

        ks_buf_init(&got);
        profiler_words("miopendriver", rows[i].options, &p, "MIOpenDriver", rows[i].choice, &got);
        assert_string_equal(ks_buf_text(&got), rows[i].want);
        ks_buf_release(&got);
    }
}

static void test_output(void **state)
{
    static const struct {
        const char *output, *want;
    } rows[] = {
        /* Find, with the log of stderr between */
        { "MIOpenDriver convfp16 -n 1 -c 256 -F 1 -t 1\nPRNG seed: 12345678\n"
          "MIOpen(HIP): Warning [GenericSearch] Perf Db: load skipped\n"
          "MIOpen Forward Conv. Algorithm: 3, Solution: 139/ConvWinoFuryRxS<2-3>\n"
          "GPU Kernel Time Forward Conv. Elapsed: 2.539060 ms (average)\n"
          "stats: name, n, c, ho, wo, x, y, k, flopCnt, bytesRead, bytesWritten, GFLOPs, GB/s, "
          "timeMs\nstats: fwd-conv3x3u1, 1, 256, 512, 512, 3, 3, 256,  309237645312, 135397376, "
          "134217728, 121792, 106, 2.539060\n"
          "Forward Convolution Verifies OK on GPU reference (0.00037644 < 0.0082)\n",
          "ok \"ConvWinoFuryRxS<2-3>\" #0 t=2539060 i=139 v algorithm=3\n= 1 1 0 0 0 0 0 end" },
        /* immediate mode: the listing, then the one that ran, whose result is wrong */
        { "Backward Weights Conv solutions available: 2\n"
          "- id: 87 algo: 1, time: 0.5 ms, ws: 0, name: ConvDirectNaiveConvWrw\n"
          "- id: 53 algo: 5, time: 0.7 ms, ws: 4096, name: ConvB, the <2nd>\n"
          "MIOpen Backward Weights Conv. Algorithm: 1, Solution: 87/ConvDirectNaiveConvWrw\n"
          "GPU Kernel Time Backward Weights Conv. Elapsed: 1.2e-02 ms (average)\n"
          "Backward Convolution Weights FAILED: 0.3 > 3e-06",
          "listed \"ConvDirectNaiveConvWrw\" #0 i=87 workspace_bytes=0\n"
          "listed \"ConvB, the <2nd>\" #0 i=53 workspace_bytes=4096\n"
          "wrong_result \"ConvDirectNaiveConvWrw\" #0 t=12000 i=87 "
          "?Backward Convolution Weights FAILED: 0.3 > 3e-06 algorithm=1\n"
          "= 3 0 0 1 0 2 0 end found 2 valid 2" },
        /* an older driver, and a crash before the time */
        { "GPU Kernel Time Forward Conv. Elapsed: 18.477495 ms (average)\n"
          "GPU Kernel Time Forward Conv. Bias Elapsed: 1 ms\nnonsense\n",
          "ok \"UNKNOWN\" #0 t=18477495\n= 1 1 0 0 0 0 1" },
        { "MIOpen Forward Conv. Algorithm: 3, Solution: 139/A\n",
          "untrusted \"A\" #0 i=139 ?no time was printed algorithm=3\n= 1 0 0 0 1 0 0" },
        { "RunForwardGPU() FAILED, rc = 0x300003\n",
          "= 0 0 0 0 0 0 0 says RunForwardGPU() FAILED, rc = 0x300003" },
    };

    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++)
        profiler_expect("miopendriver", "", rows[i].output, rows[i].want);
}

/* A chosen solution is what runs, until its row is there. */
static void test_running(void **state)
{
    static const struct ks_profiler_choice choice = { .index = 87, .name = "ConvA" };
    static const char begin[] = "Forward Conv solutions available: 1\n"
                                "- id: 87 algo: 1, time: 0.5 ms, ws: 0, name: ConvA\n";
    static const char end[] = "MIOpen Forward Conv. Algorithm: 1, Solution: 87/ConvA\n"
                              "GPU Kernel Time Forward Conv. Elapsed: 2 ms (average)\n";
    struct ks_buf got, all;

    (void)state;
    ks_buf_init(&got);
    ks_buf_init(&all);
    profiler_read("miopendriver", "", NULL, &choice, begin, strlen(begin), 5, &got);
    assert_string_equal(ks_buf_text(&got), "= 0 0 0 0 0 0 0 found 1 valid 1 running ConvA");
    ks_buf_clear(&got);
    ks_buf_printf(&all, "%s%s", begin, end);
    profiler_read("miopendriver", "", NULL, &choice, all.data, all.len, 5, &got);
    assert_string_equal(ks_buf_text(&got), "ok \"ConvA\" #0 t=2000000 i=87 algorithm=1\n"
                                           "= 1 1 0 0 0 0 0 found 1 valid 1");
    ks_buf_clear(&got); /* an older driver, which does not print what it runs */
    ks_buf_clear(&all);
    ks_buf_printf(&all, "%s%s", begin, strstr(end, "GPU Kernel"));
    profiler_read("miopendriver", "", NULL, &choice, all.data, all.len, 5, &got);
    assert_string_equal(ks_buf_text(&got), "ok \"ConvA\" #0 t=2000000 i=87\n"
                                           "= 1 1 0 0 0 0 0 found 1 valid 1");
    ks_buf_release(&got);
    ks_buf_release(&all);
}

static void test_refused(void **state)
{
    (void)state;
    profiler_refuses("miopendriver", "{\"mode\": \"best\"}",
                     "not one of find, immediate, solutions");
    profiler_refuses("miopendriver", "{\"mode\": \"immediate\", \"search\": true}",
                     "needs \"mode\"");
    profiler_refuses("miopendriver", "{\"iterations\": 0}", "not in the range 1 to");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_commands),
        cmocka_unit_test(test_output),
        cmocka_unit_test(test_running),
        cmocka_unit_test(test_refused),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
