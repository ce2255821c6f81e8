/* SPDX-License-Identifier: MIT */
/* test_profiler_lines.c - the adapter `lines`: templates; rows from JSON lines, CSV and patterns */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
/* cmocka.h wants the four above first. */
#include <cmocka.h>

#include "profiler_kit.h"

#include <stdio.h>
#include <string.h>

#define CONV                                                                                       \
    "operator=grouped_conv direction=forward dtype=bf16 layout=nhwgc ndim=2 n=4 g=2 c_total=64 "   \
    "k_total=128 di=1 hi=56 wi=28 z=1 y=3 x=3 stride_d=1 stride_h=2 stride_w=1 dilation_d=1 "      \
    "dilation_h=1 dilation_w=1 pad_d_lo=0 pad_h_lo=1 pad_w_lo=1 pad_d_hi=0 pad_h_hi=1 pad_w_hi=1"
#define JSON_FIELDS                                                                                \
    "\"output\": \"json\", \"fields\": {\"instance\": \"name\", \"time\": \"perf.ms\", "           \
    "\"rate\": \"perf.gflops\", \"outcome\": \"status\", \"tile\": \"tile\"}"

static const char json[] =
    "{\"command\": [\"{program}\"], " JSON_FIELDS ", \"outcomes\": {\"PASS\": \"ok\", "
    "\"FAIL\": \"wrong_result\", \"SKIP\": \"unsupported\"}}";
static const char csv[] =
    "{\"command\": [\"{program}\"], \"output\": \"csv\", \"fields\": {\"instance\": \"Op, name\", "
    "\"time\": \"us\", \"bandwidth\": \"GB/s\"}, \"units\": {\"time\": \"us\"}}";
static const char pattern[] =
    "{\"command\": [\"{program}\"], \"output\": \"pattern\", \"pattern\": "
    "[\"^run (?<instance>[^ ]+) k(?<split_k>-?[0-9]+)$\", \"time (?<time>[0-9.e+-]+) ms\", "
    "\"tile (?<tile>[0-9]+)(?: extra)?\"], \"start\": \"^start (?<instance>.*)$\", "
    "\"wrong\": \"^bad: (?<instance>[^ ]*)\", \"unsupported\": \"^(?<instance>.*) cannot$\", "
    "\"unimplemented\": \"^nothing for (?<reason>.*)$\", \"end\": \"^done$\"}";

static void test_rows(void **state)
{
    static const struct {
        const char *options, *output, *want;
    } rows[] = {
        { json,
          "{\"name\": {\"a\": 1}}\n{\"name\": \"a,b<1>\", \"perf\": {\"ms\": 1.5, \"gflops\": "
          "2e3}, \"tile\": 64}\n"
          "{\"name\": \"b\", \"perf\": {\"ms\": \"0.25\"}, \"status\": \"FAIL\"}\n"
          "{\"name\": \"c\", \"status\": \"SKIP\"}\n{\"name\": \"d\"}\n{\"name\": \"a,b<1>\", "
          "\"perf\": {\"ms\": 1}, \"status\": \"odd\"}\n{torn",
          "ok \"a,b<1>\" #0 t=1500000 f=2e+12 tile=64\nwrong_result \"b\" #0 t=250000\nunsupported "
          "\"c\" #0\nuntrusted \"d\" #0 ?no time was printed\nuntrusted \"a,b<1>\" #1 t=1000000 "
          "?the program printed 'odd', which options.outcomes does not list\n= 5 1 1 1 2 0 2" },
        { csv,
          "hello, world\n\"Op, name\",us,GB/s\n\"x \"\"y\"\", z\",12.5,3\r\nq,oops,1\n"
          "short\n\"Op, name\",us,GB/s\nlast,1e1,",
          "ok \"x \"y\", z\" #0 t=12500 b=3000000000\n"
          "untrusted \"q\" #0 b=1000000000 ?time 'oops' is not a number of 0 or more\n"
          "ok \"last\" #0 t=10000\n= 3 2 0 0 1 0 2" },
        { pattern,
          "start alpha\nrun alpha k4\n\033[32mtime 1e-1 ms\033[0m\ntile 32 extra\nbad: alpha off\n"
          "beta cannot\nrun alpha k4\nrun alpha k-1\ntime 2 ms\n\ndone",
          "wrong_result \"alpha\" #0 t=100000 k=4 ?bad: alpha off tile=32\n"
          "unsupported \"beta\" #0 ?beta cannot\n"
          "untrusted \"alpha\" #1 k=4 ?no time was printed\nok \"alpha\" #0 t=2000000 k=-1\n"
          "= 4 1 1 1 1 0 0 end" },
        { pattern, "run a k1\rtime 3 ms\r\nstart beta, the <2nd>\nSegmentation fault\n",
          "ok \"a\" #0 t=3000000 k=1\n= 1 1 0 0 0 0 1 running beta, the <2nd>" },
        { pattern, "beta cannot\nstart beta\n", /* the second of its name */
          "unsupported \"beta\" #0 ?beta cannot\n= 1 0 1 0 0 0 0 running beta #1" },
        { pattern, "nothing for bf16\n", "= 0 0 0 0 0 0 0 unimplemented says bf16" },
        { pattern, "", "= 0 0 0 0 0 0 0" },
    };

    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++)
        profiler_expect("lines", rows[i].options, rows[i].output, rows[i].want);
}

static void test_command(void **state)
{
    static const struct {
        const char *words, *want;
    } rows[] = {
        { "[\"{program}\", \"--n={n}\", \"c{c_total}/{c_per_group}k{k_per_group}\", "
          "\"{ho}x{wo}x{do}\", \"{direction} {dtype}\", \"{{{layout}}}\"]",
          "./b --n=4 c64/32k64 28x28x1 'FWD bf16' '{nhwgc}'" },
        { "[\"{program}\", \"{m}\"]", "! this problem of grouped_conv has no 'm'" },
        { "[\"{program}\", \"{ndim}\"]", "! ndim 2 is missing in options.words.ndim" },
    };
    struct ks_problem p = profiler_problem(CONV);

    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        char options[512];
        struct ks_buf got;

        ks_buf_init(&got);
        snprintf(options, sizeof options,
                 "{\"command\": %s, \"words\": {\"direction\": {\"forward\": \"FWD\"}, \"ndim\": "
                 "{\"3\": \"x\"}}, %s}",
                 rows[i].words, JSON_FIELDS);
        profiler_words("lines", options, &p, "./b", NULL, &got);
        assert_string_equal(ks_buf_text(&got), rows[i].want);
        ks_buf_release(&got);
    }
}

static void test_refused(void **state)
{
    static const struct {
        const char *options, *want;
    } rows[] = {
        { "", "needs options" },
        { "{\"comand\": []}", "comand" },
        { "{\"command\": \"x\"}", "list of words" },
        { "{\"command\": [\"{nn}\"]}", "unknown field '{nn}'" },
        { "{\"command\": [\"{n\"]}", "write it twice" },
        { "{\"command\": [\"n}\"]}", "write it twice" },
        { "{\"command\": [\"x\"]}", "\"output\" must be" },
        { "{\"command\": [\"x\"], \"output\": \"xml\"}", "'xml' is not one of" },
        { "{\"command\": [\"x\"], \"output\": \"json\"}", "\"fields\"" },
        { "{\"command\": [\"x\"], \"output\": \"json\", \"fields\": {\"time\": \"t\"}}",
          "\"instance\" is missing" },
        { "{\"command\": [\"x\"], \"output\": \"pattern\"}", "must be given together" },
        { "{\"command\": [\"x\"], \"output\": \"pattern\", \"pattern\": \"(?<time>x)\"}",
          "the pattern needs a group for the instance" },
        { "{\"command\": [\"x\"], \"output\": \"pattern\", \"pattern\": \"(?<instance>x\"}",
          "regular expression" },
        { "{\"command\": [\"x\"], \"output\": \"pattern\", \"pattern\": \"(?<in stance>x)\"}",
          "the name of a group" },
        { "{\"command\": [\"x\"], \"output\": \"pattern\", \"pattern\": "
          "\"(?<instance>a)(?<instance>b)\"}",
          "two groups" },
        { "{\"command\": [\"x\"], \"output\": \"json\", \"fields\": {\"instance\": \"n\"}, "
          "\"units\": {\"time\": \"min\"}}",
          "'min' is not one of" },
        { "{\"command\": [\"x\"], \"output\": \"json\", \"fields\": {\"instance\": \"n\"}, "
          "\"outcomes\": {\"X\": \"crashed\"}}",
          "'crashed' is not one of" },
        { "{\"command\": [\"x\"], \"output\": \"json\", \"fields\": {\"instance\": \"n\"}, "
          "\"words\": {\"dtyp\": {}}}",
          "did you mean 'dtype'" },
    };

    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++)
        profiler_refuses("lines", rows[i].options, rows[i].want);
}

/* The options of a shipped description, and what its program prints. */
static void template_reads(const char *name, const char *output, const char *want)
{
    const struct ks_node *options;
    struct ks_json *doc = NULL;
    struct ks_buf text;
    struct ks_jw w;
    char path[512];
    struct ks_err err;

    snprintf(path, sizeof path, KS_SOURCE_DIR "/jobs/programs/%s.json", name);
    if (ks_json_open(path, &doc, &err) < 0)
        fail_msg("%s", err.text);
    options = ks_node_at(ks_json_root(doc), "options");
    ks_buf_init(&text);
    ks_jw_init(&w, &text, false);
    ks_jw_node(&w, NULL, options);
    profiler_expect("lines", ks_buf_text(&text), output, want);
    if (strcmp(name, "benchdnn") == 0) {
        struct ks_problem p = profiler_problem(CONV);
        struct ks_buf words;

        ks_buf_init(&words);
        profiler_words("lines", ks_buf_text(&text), &p, "benchdnn", NULL, &words);
        assert_non_null(strstr(ks_buf_text(&words), "--dir=FWD_D --dt=bf16 --stag=axb --dtag=axb"));
        assert_non_null(
            strstr(ks_buf_text(&words), "g2mb4ic64ih56iw28oc128oh28ow28kh3kw3sh2sw1ph1pw1dh0dw0"));
        ks_buf_release(&words);
    }
    ks_buf_release(&text);
    ks_json_close(doc);
}

static void test_templates(void **state)
{
    (void)state;
    template_reads("benchdnn",
                   "row|jit:avx512_core|0.5|1000|0.25\n"
                   "tests:1 passed:1 skipped:0 mistrusted:0 unimplemented:0 failed:0\n",
                   "ok \"jit:avx512_core\" #0 t=500000 f=1e+12 least_ms=0.25\n"
                   "= 1 1 0 0 0 0 0 end");
    template_reads("benchdnn", "0:UNIMPLEMENTED __REPRO: --conv\ntests:1 passed:0\n",
                   "= 0 0 0 0 0 0 0 end unimplemented says  __REPRO: --conv");
    template_reads("cutlass_profiler",
                   "=============================\n  Problem ID: 1\n\n        Provider: CUTLASS\n"
                   "   OperationKind: conv2d\n       Operation: cutlass_tensorop_s16816fprop_a\n\n"
                   "          Status: Success\n    Verification: ON\n     Disposition: Passed\n\n"
                   "           Bytes: 1130659840  bytes\n           FLOPs: 118482796544  flops\n\n"
                   "         Runtime: 0.5  ms\n          Memory: 2 GiB/s\n\n"
                   "            Math: 17146 GFLOP/s\n",
                   "ok \"cutlass_tensorop_s16816fprop_a\" #0 t=500000 f=1.7146e+13 "
                   "b=2147483648\n= 1 1 0 0 0 0 8");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_rows),
        cmocka_unit_test(test_command),
        cmocka_unit_test(test_refused),
        cmocka_unit_test(test_templates),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
