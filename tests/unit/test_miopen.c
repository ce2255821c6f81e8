/* SPDX-License-Identifier: MIT */
/* test_miopen.c - MIOpenDriver command lists and logs; the expected geometry is made by hand */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
/* cmocka.h wants the four above first. */
#include <cmocka.h>

#include "fault.h"
#include "grid/import.h"
#include "grid/problems.h"
#include "op/conv.h"

#include <stdio.h>
#include <string.h>

#define DATA KS_SOURCE_DIR "/tests/data/grid/"

static void read_file(struct ks_problem_set *set, const char *path)
{
    struct ks_err err = { 0 };

    ks_problem_set_init(set);
    if (ks_problem_set_read(set, path, "auto", false, &err) < 0)
        fail_msg("%s", err.text);
    assert_int_equal(set->n_commands, set->n_taken + set->n_refused);
    assert_int_equal(set->n_refused, set->n_refusals);
}

/* One problem of a list, as a person would write it. */
struct want {
    uint32_t direction, dtype, layout;
    int64_t ndim, n, g, c, k;
    int64_t in[3], filter[3], stride[3], dilation[3], lo[3], hi[3];
    int64_t count;
};

static void expect(const struct ks_problem *p, const struct want *w, const char *what, size_t i)
{
    const int64_t *d = p->dim;
    bool is_same = p->direction == w->direction && p->dtype == w->dtype && p->layout == w->layout &&
                   p->count == w->count && d[KS_CONV_NDIM] == w->ndim && d[KS_CONV_N] == w->n &&
                   d[KS_CONV_G] == w->g && d[KS_CONV_C_TOTAL] == w->c && d[KS_CONV_K_TOTAL] == w->k;

    is_same = is_same && memcmp(d + KS_CONV_DI, w->in, sizeof w->in) == 0 &&
              memcmp(d + KS_CONV_Z, w->filter, sizeof w->filter) == 0 &&
              memcmp(d + KS_CONV_STRIDE_D, w->stride, sizeof w->stride) == 0 &&
              memcmp(d + KS_CONV_DILATION_D, w->dilation, sizeof w->dilation) == 0 &&
              memcmp(d + KS_CONV_PAD_D_LO, w->lo, sizeof w->lo) == 0 &&
              memcmp(d + KS_CONV_PAD_D_HI, w->hi, sizeof w->hi) == 0;
    if (!is_same) {
        struct ks_buf b;

        ks_buf_init(&b);
        ks_problem_canonical(p, &b);
        fail_msg("%s, problem %zu: %s count=%lld", what, i, ks_buf_text(&b), (long long)p->count);
    }
}

static void expect_all(const char *file, const struct want *wants, size_t n)
{
    char path[512];
    struct ks_problem_set set;

    snprintf(path, sizeof path, DATA "%s", file);
    read_file(&set, path);
    assert_int_equal(set.n_refused, 0);
    assert_int_equal(set.n, n);
    for (uint32_t i = 0; i < n; i++) {
        const struct ks_problem p = ks_problem_table_get(&set.problems, i);

        expect(&p, &wants[i], file, i);
    }
    ks_problem_set_release(&set);
}

#define ONES                                                                                       \
    {                                                                                              \
        1, 1, 1                                                                                    \
    }
#define ZEROS                                                                                      \
    {                                                                                              \
        0, 0, 0                                                                                    \
    }
#define F(...)                                                                                     \
    {                                                                                              \
        KS_FORWARD, KS_FP32, KS_NGCHW, __VA_ARGS__                                                 \
    }

static void short_and_long_flags(void **state)
{
    static const struct want wants[] = {
        F(2, 128, 1, 3, 64, { 1, 32, 32 }, { 1, 3, 3 }, ONES, ONES, { 0, 1, 1 }, { 0, 1, 1 }, 1),
        { KS_BACKWARD_DATA,
          KS_FP16,
          KS_NGCHW,
          2,
          2,
          32,
          64,
          128,
          { 1, 56, 28 },
          { 1, 5, 3 },
          { 1, 2, 1 },
          { 1, 2, 3 },
          { 0, 2, 1 },
          { 0, 2, 1 },
          1 },
        { KS_BACKWARD_WEIGHT,
          KS_BF16,
          KS_NHWGC,
          2,
          1,
          1,
          8,
          8,
          { 1, 9, 9 },
          { 1, 3, 3 },
          ONES,
          ONES,
          ZEROS,
          ZEROS,
          1 },
        /* all defaults of the driver */
        F(2, 100, 1, 3, 32, { 1, 32, 32 }, { 1, 3, 3 }, ONES, ONES, ZEROS, ZEROS, 1),
        /* the last of a repeated flag counts; redirections are the shell's */
        F(2, 8, 1, 1, 1, { 1, 32, 32 }, { 1, 3, 3 }, ONES, ONES, ZEROS, ZEROS, 1),
        F(2, 1, 1, 1, 1, { 1, 7, 7 }, { 1, 3, 3 }, ONES, ONES, ZEROS, ZEROS, 1),
        F(2, 2, 1, 1, 1, { 1, 7, 7 }, { 1, 3, 3 }, ONES, ONES, ZEROS, ZEROS, 1),
        /* same: 12 -> 6 with stride 2 needs one row, behind the end */
        F(2, 1, 1, 4, 4, { 1, 12, 12 }, { 1, 3, 3 }, { 1, 2, 2 }, ONES, ZEROS, { 0, 1, 1 }, 1),
        /* valid: the padding flags are ignored */
        F(2, 1, 1, 4, 4, { 1, 12, 12 }, { 1, 3, 3 }, { 1, 2, 2 }, ONES, ZEROS, ZEROS, 1),
        /* with dilation the driver leaves the flags alone */
        F(2, 1, 1, 4, 4, { 1, 12, 12 }, { 1, 3, 3 }, ONES, { 1, 2, 2 }, { 0, 1, 1 }, { 0, 1, 1 },
          1),
        /* group_count 0 means 1 */
        F(2, 1, 1, 4, 4, { 1, 12, 12 }, { 1, 3, 3 }, ONES, ONES, ZEROS, ZEROS, 1),
    };

    (void)state;
    expect_all("miopen-short.txt", wants, sizeof wants / sizeof wants[0]);
}

static void three_dims(void **state)
{
    static const struct want wants[] = {
        F(3, 2, 4, 16, 32, { 8, 28, 30 }, { 3, 5, 7 }, { 2, 1, 2 }, ONES, { 1, 2, 3 }, { 1, 2, 3 },
          1),
        { KS_FORWARD,
          KS_FP16,
          KS_NGCHW,
          3,
          2,
          4,
          16,
          32,
          { 8, 28, 30 },
          { 3, 5, 7 },
          { 2, 1, 2 },
          ONES,
          { 1, 2, 3 },
          { 1, 2, 3 },
          1 },
        { KS_BACKWARD_WEIGHT,
          KS_FP16,
          KS_NGCHW,
          3,
          2,
          4,
          16,
          32,
          { 8, 28, 30 },
          { 3, 5, 7 },
          { 2, 1, 2 },
          ONES,
          { 1, 2, 3 },
          { 1, 2, 3 },
          1 },
        F(3, 1, 1, 4, 4, { 32, 32, 32 }, { 3, 3, 3 }, ONES, ONES, ZEROS, ZEROS, 1),
        { KS_FORWARD,
          KS_FP32,
          KS_NHWGC,
          3,
          1,
          1,
          4,
          4,
          { 32, 32, 32 },
          { 3, 3, 3 },
          ONES,
          ONES,
          ZEROS,
          ZEROS,
          1 },
    };

    (void)state;
    expect_all("miopen-3d.txt", wants, sizeof wants / sizeof wants[0]);
}

/* 14 x 10 grows to 2 * 13 + 1 + 3 - 2 = 28 by 3 * 9 + 1 + 2 * 2 = 32; the plain convolution maps
 * 32 channels of 28 x 32 to 64 channels of 14 x 10. */
static void transposed_is_mirrored(void **state)
{
#define T(direction, h, w, count)                                                                  \
    {                                                                                              \
        (direction), KS_FP32, KS_NGCHW, 2, 2, 2, 32, 64, { 1, (h), (w) }, { 1, 4, 3 },             \
            { 1, 2, 3 }, { 1, 1, 2 }, { 0, 1, 0 }, { 0, 1, 0 }, (count)                            \
    }
    static const struct want wants[] = {
        T(KS_BACKWARD_DATA, 28, 32, 2), /* with the log line, which prints k of one group */
        T(KS_FORWARD, 28, 32, 1), T(KS_BACKWARD_WEIGHT, 28, 32, 1),
        T(KS_BACKWARD_DATA, 29, 34, 1), /* trans_output_pad */
    };
#undef T
    struct ks_problem_set set;

    (void)state;
    expect_all("miopen-trans.txt", wants, sizeof wants / sizeof wants[0]);
    read_file(&set, DATA "miopen-trans.txt");
    for (uint32_t i = 0; i < set.n; i++) {
        const struct ks_problem p = ks_problem_table_get(&set.problems, i);

        assert_int_equal(ks_conv_out(&p, 1), 14);
        assert_int_equal(ks_conv_out(&p, 2), 10);
    }
    ks_problem_set_release(&set);
}

/* 3 + 3 + 2 + 2 + 2 + 3 problems of one geometry: 3 distinct. */
static void direction_masks(void **state)
{
    struct ks_problem_set set;

    (void)state;
    read_file(&set, DATA "miopen-all.txt");
    assert_int_equal(set.n_commands, 6);
    assert_int_equal(set.n_problems_raw, 15);
    assert_int_equal(set.n, 3);
    assert_int_equal(ks_problem_table_get(&set.problems, 0).direction, KS_FORWARD);
    assert_int_equal(ks_problem_table_get(&set.problems, 0).count, 5);
    assert_int_equal(ks_problem_table_get(&set.problems, 1).direction, KS_BACKWARD_DATA);
    assert_int_equal(ks_problem_table_get(&set.problems, 1).count, 5);
    assert_int_equal(ks_problem_table_get(&set.problems, 2).direction, KS_BACKWARD_WEIGHT);
    assert_int_equal(ks_problem_table_get(&set.problems, 2).count, 5);
    assert_string_equal(ks_problem_table_name(&set.problems, 0), "miopen-all.txt:1");
    ks_problem_set_release(&set);
}

static void dirt_is_refused_with_a_reason(void **state)
{
    static const char *const reasons[] = {
        "unknown flag '--fil_high', did you mean '--fil_h'",
        "-k has no value",
        "-n has no value",
        "--batchsize: 'four' is not a whole number",
        "n = 0",
        "hi = 0",
        "a stride is below 1",
        "--in_h: 99999999999 is out of range",
        "more than 2^40 elements",
        "no output",
        "c_total = 9 is not divisible by g = 2",
        "convint8: int8 convolutions are not supported",
        "convfp8: fp8 convolutions are not supported",
        "convbfp8: bf8 convolutions are not supported",
        "unknown convolution 'convfp64'",
        "forw must be a mask between 0 and 7",
        "forw must be a mask between 0 and 7",
        "mode must be conv or trans",
        "pad_mode must be default, same or valid",
        "spatial_dim must be 2 or 3",
        "layout is not one of NCHW, NCDHW, NHWC, NDHWC",
        "layouts of input and weights differ",
        "vectorised layouts are not supported",
        "trans_output_pad must be smaller than the stride",
        "conversions to other types are not supported",
        "expected a flag, found '128'",
        "unknown flag '-n128'",
        "unknown flag '-Q'",
    };
    enum { N = sizeof reasons / sizeof reasons[0] };
    struct ks_problem_set set;

    (void)state;
    read_file(&set, DATA "miopen-dirt.txt");
    assert_int_equal(set.n_refused, N);
    assert_int_equal(set.n_taken, 1);
    assert_int_equal(set.n_other, 6); /* pool, bnorm, blank, log text, another program, comment */
    assert_int_equal(set.n_lines, N + 1 + 6);
    for (uint32_t i = 0; i < N; i++) {
        assert_int_equal(set.refusals[i].line, i + 1);
        assert_string_equal(set.refusals[i].file, DATA "miopen-dirt.txt");
        if (!strstr(set.refusals[i].reason, reasons[i]))
            fail_msg("line %u: '%s', want '%s'", i + 1, set.refusals[i].reason, reasons[i]);
    }
    ks_problem_set_release(&set);
}

static void strict_stops_at_the_first(void **state)
{
    struct ks_problem_set set;
    struct ks_err err = { 0 };

    (void)state;
    ks_problem_set_init(&set);
    assert_int_equal(ks_problem_set_read(&set, DATA "miopen-dirt.txt", "miopen", true, &err),
                     KS_EFORMAT);
    assert_non_null(strstr(err.text, "miopen-dirt.txt:1: unknown flag '--fil_high'"));
    assert_int_equal(set.n_refusals, 0);
    ks_problem_set_release(&set);
}

static const struct {
    const char *text;
    uint64_t taken, refused, other;
} commands[] = {
    { "MIOpen(HIP): Command [LogCmdConvolution] ./bin/MIOpenDriver conv -n 1 -F 1\n", 1, 0, 0 },
    { "MIOpen: Command [LogCmdFindConvolution] ./bin/MIOpenDriver conv -n 2 -c 3", 1, 0, 0 },
    { "MIOpen(OpenCL): Command [LogCmdConvolution] ./bin/MIOpenDriver conv -F 2\r\n", 1, 0, 0 },
    { "miopenFindConvolutionForwardAlgorithm: ./bin/MIOpenDriver conv -c 8\n", 1, 0, 0 },
    { "MIOPEN_FIND_MODE=1 \"./bin/MIOpenDriver\" conv -c 8 2> log\n", 1, 0, 0 },
    { "MIOpenDriver pool -F 1; MIOpenDriver conv -F 1\n", 1, 0, 0 },
    { "MIOpenDriver conv -F 1 && MIOpenDriver conv -F 9\n", 1, 1, 0 },
    { "MIOpenDriver conv\n", 1, 0, 0 },
    { "MIOpenDriver\n", 0, 0, 1 },
    { "MIOpenDriver conv -in_h\n", 0, 1, 0 },
    { "MIOpenDriver conv --\n", 0, 1, 0 },
    { "MIOpenDriver conv -\n", 0, 1, 0 },
    { "MIOpenDriver conv -F '1\n", 0, 1, 0 },
    { "\xef\xbb\xbfMIOpenDriver conv -F 1\n", 1, 0, 0 },
    { "stats: name, n, c, ho, wo, x, y, k, flopCnt\n\n", 0, 0, 2 },
    { "MIOpenDriver conv -n 1 \\\n -c 8 \\  \r\n  -F 1\nMIOpenDriver conv -F 1", 2, 0, 0 },
    { "MIOpenDriver conv -n 1\\\n28 -F 1\n", 1, 0, 0 }, /* 128, as the shell joins it */
    { "MIOpenDriver conv -F 1 \\", 1, 0, 0 },
    { "MIOpenDriver conv -F \\\\\n1\n", 0, 1, 1 }, /* an escaped backslash */
    { "# MIOpenDriver conv \\\nMIOpenDriver conv -F 1\n", 1, 0, 1 },
    { "MIOpenDriver conv -F 1 # x \\\nMIOpenDriver conv -F 1\n", 2, 0, 0 },
    { "> > MIOpenDriver conv -F 1\n >MIOpenDriver conv -F 1\n>\n", 2, 0, 1 },
    { "> # MIOpenDriver conv -F 1\n", 0, 0, 1 },
    { "see `MIOpenDriver conv -F 1`, or `MIOpenDriver conv -F 2`.\n", 2, 0, 0 },
    { "x=$(MIOpenDriver conv -F 1)\n", 1, 0, 0 },
    { "MIOpenDriver conv -F 1 $A ${B} $@ \"$C\" $1 \"${D[@]}\"\n", 1, 0, 0 },
    { "MIOpenDriver conv $A -F 1\n", 0, 1, 0 },
    { "MIOpenDriver conv -n $N -F 1\n", 0, 1, 0 },
    { "MIOpenDriver conv -F 1 $A.txt\n", 0, 1, 0 },
    { "MIOpenDriver conv -F 1 $\n", 0, 1, 0 },
    { "MIOpenDriver conv --forw=1 --in_h=9 --solution=-1 --in_layout=\n", 1, 0, 0 },
    { "MIOpenDriver conv --forw=\n", 0, 1, 0 },
    { "MIOpenDriver conv --in_hh=3\n", 0, 1, 0 },
    { "MIOpenDriver conv -F=1\n", 0, 1, 0 },
    { "      0 MIOpenDriver conv -F 1\n", 0, 1, 0 },
    { "9999999999 MIOpenDriver conv -F 1\nMIOpenDriver conv -F 1\n", 1, 1, 0 },
    { "3MIOpenDriver conv -F 1\n", 1, 0, 0 },
    { "MIOpenDriver conv -F 1 \\\n    > log\n", 1, 0, 0 },
    { "MIOpenDriver conv -F 1 \\\n  >>$DIR/log\n", 0, 1, 0 },
    { "$ MIOpenDriver conv -n 1 \\\n> -F 9\n", 0, 1, 0 }, /* a prompt: the flag is read */
};

/* Text of one driver line and what becomes of it: taken, refused, other lines. */
static void lines(void **state)
{

    (void)state;
    for (size_t i = 0; i < sizeof commands / sizeof commands[0]; i++) {
        struct ks_problem_set set;
        struct ks_err err = { 0 };

        ks_problem_set_init(&set);
        for (int k = 0; ks_importers[k]; k++)
            if (strcmp(ks_importers[k]->name, "miopen") == 0)
                assert_int_equal(ks_importers[k]->read(&set, commands[i].text,
                                                       strlen(commands[i].text), "f", false, &err),
                                 0);
        if (set.n_taken != commands[i].taken || set.n_refused != commands[i].refused ||
            set.n_other != commands[i].other)
            fail_msg("%s: taken %d refused %d other %d (%s)", commands[i].text, (int)set.n_taken,
                     (int)set.n_refused, (int)set.n_other,
                     set.n_refusals ? set.refusals[0].reason : "");
        ks_problem_set_release(&set);
    }
}

/* Commands as people quote them: continued, in fences, bullets and quotes, with variables. */
static void a_markdown_page_is_read(void **state)
{
    static const struct want wants[] = {
        F(2, 128, 1, 3, 64, { 1, 32, 32 }, { 1, 3, 3 }, ONES, ONES, { 0, 1, 1 }, { 0, 1, 1 }, 5),
        { KS_BACKWARD_DATA,
          KS_FP16,
          KS_NGCHW,
          2,
          1,
          1,
          8,
          16,
          { 1, 9, 9 },
          { 1, 3, 3 },
          ONES,
          ONES,
          ZEROS,
          ZEROS,
          1 },
        { KS_BACKWARD_WEIGHT,
          KS_BF16,
          KS_NGCHW,
          2,
          1,
          1,
          8,
          16,
          { 1, 9, 9 },
          { 1, 3, 3 },
          ONES,
          ONES,
          ZEROS,
          ZEROS,
          1 },
    };
    struct ks_problem_set set;

    (void)state;
    expect_all("miopen-page.md", wants, sizeof wants / sizeof wants[0]);
    read_file(&set, DATA "miopen-page.md");
    assert_int_equal(set.n_lines, 21);
    assert_int_equal(set.n_commands, 7);
    /* a continued command is named after its first line */
    assert_string_equal(ks_problem_table_name(&set.problems, 0), "miopen-page.md:6");
    ks_problem_set_release(&set);
}

/* `sort | uniq -c`: the number is the count of what the line names, and a timestamp is no count. */
static void counts_of_uniq_are_counts(void **state)
{
    struct ks_problem_set set;

    (void)state;
    read_file(&set, DATA "miopen-uniq.txt");
    assert_int_equal(set.n_refused, 0);
    assert_int_equal(set.n, 3);
    assert_int_equal(ks_problem_table_get(&set.problems, 0).count, 12 + 1000000);
    assert_int_equal(ks_problem_table_get(&set.problems, 1).direction, KS_BACKWARD_DATA);
    assert_int_equal(ks_problem_table_get(&set.problems, 1).count, 3 + 1);
    assert_int_equal(ks_problem_table_get(&set.problems, 2).direction, KS_BACKWARD_WEIGHT);
    assert_int_equal(ks_problem_table_get(&set.problems, 2).count, 1);
    assert_int_equal(set.n_other, 1);
    assert_int_equal(set.n_problems_raw, 5);
    ks_problem_set_release(&set);
}

/* `cat -n` writes a tab behind the number of a line. */
static void numbers_of_lines_are_no_counts(void **state)
{
    static const char text[] = "     7\tMIOpenDriver conv -F 1\n";
    struct ks_problem_set set;
    struct ks_err err = { 0 };

    (void)state;
    ks_problem_set_init(&set);
    assert_int_equal(ks_import_miopen.read(&set, text, sizeof text - 1, "cat.txt", true, &err), 0);
    assert_int_equal(set.n, 1);
    assert_int_equal(ks_problem_table_get(&set.problems, 0).count, 1);
    ks_problem_set_release(&set);
}

/* Every allocation fails once: an error, never a refusal of a good line. */
static void memory_may_run_out_anywhere(void **state)
{
    unsigned n = 0;
    bool was_hit = true;

    (void)state;
    for (; was_hit; n++) {
        struct ks_problem_set set;
        struct ks_err err = { 0 };
        int rc;

        ks_problem_set_init(&set);
        fault_arm(n);
        rc = ks_problem_set_read(&set, DATA "miopen-all.txt", "auto", false, &err);
        was_hit = fault_disarm();
        if (rc != (was_hit ? KS_ENOMEM : 0) || set.n_refused != 0)
            fail_msg("allocation %u: %d '%s'", n, rc, err.text);
        ks_problem_set_release(&set);
    }
    assert_true(n > 5);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(short_and_long_flags),
        cmocka_unit_test(three_dims),
        cmocka_unit_test(transposed_is_mirrored),
        cmocka_unit_test(direction_masks),
        cmocka_unit_test(dirt_is_refused_with_a_reason),
        cmocka_unit_test(strict_stops_at_the_first),
        cmocka_unit_test(lines),
        cmocka_unit_test(a_markdown_page_is_read),
        cmocka_unit_test(counts_of_uniq_are_counts),
        cmocka_unit_test(numbers_of_lines_are_no_counts),
        cmocka_unit_test(memory_may_run_out_anywhere),
    };

    return cmocka_run_group_tests_name("miopen", tests, NULL, NULL);
}
