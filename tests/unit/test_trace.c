/* SPDX-License-Identifier: MIT */
/* test_trace.c - traces: scanned, timed, repaired, refused; kernels find their operators */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
/* cmocka.h wants the four above first. */
#include <cmocka.h>

#include "base/buf.h"
#include "base/file.h"
#include "base/hash.h"
#include "trace/model.h"
#include "trace/scan.h"
#include "trace/text.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

static struct ks_span span(const char *text)
{
    return (struct ks_span){ text, strlen(text) };
}

/* ---- scanning ---- */

static void every_scan_finds_the_same(void **state)
{
    static const char letters[] = "\"\\[]{}ab ;z:\x7f\xdb\xfb\x02";
    const struct ks_scan *scans[4];
    char text[256 + KS_SCAN_PAD];
    uint64_t random = 7;

    (void)state;
    ks_scan_all(scans);
    assert_ptr_equal(scans[0], &ks_scan_portable);
    for (int turn = 0; turn < 200; turn++) {
        const size_t n = ks_rng_below(&random, 256);

        memset(text, '"', sizeof(text));
        for (size_t i = 0; i < n; i++)
            text[i] = turn % 2 ? 'x' : letters[ks_rng_below(&random, sizeof(letters) - 1)];
        for (size_t at = 0; at < n; at++)
            for (int k = 1; scans[k]; k++) {
                assert_ptr_equal(scans[k]->quote(text + at), scans[0]->quote(text + at));
                assert_ptr_equal(scans[k]->mark(text + at), scans[0]->mark(text + at));
                assert_ptr_equal(ks_scan_quote(scans[k], text + at), scans[0]->quote(text + at));
            }
    }
}

/* ---- numbers and strings ---- */

static void times_are_exact_nanoseconds(void **state)
{
    static const struct {
        const char *text;
        bool is_ok;
        int64_t ns;
    } rows[] = {
        { "0", true, 0 },
        { "1.5", true, 1500 },
        { "1680000000000000.123", true, 1680000000000000123 },
        { "1680000000000000.1235", true, 1680000000000000124 },
        { "-2.001", true, -2001 },
        { "1e3", true, 1000000 },
        { "2.5E-1", true, 250 },
        { "9223372036854775.807", true, INT64_MAX },
        { "9223372036854775.808", false, 0 },
        { "99999999999999999999", false, 0 },
        { "1e300", false, 0 },
        { "NaN", false, 0 },
        { "Infinity", false, 0 },
        { "-Infinity", false, 0 },
        { "", false, 0 },
        { "-", false, 0 },
        { "1.2.3", false, 0 },
        { "0x10", false, 0 },
    };

    (void)state;
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        int64_t ns = 0;

        assert_int_equal(ks_trace_ns(span(rows[i].text), &ns), rows[i].is_ok);
        assert_int_equal(ns, rows[i].ns);
    }
}

static void strings_lose_their_escapes(void **state)
{
    static const char *const rows[][2] = { { "a\\\"b\\\\c", "a\"b\\c" },
                                           { "\\u00e9\\ud83d\\ude00", "\xc3\xa9\xf0\x9f\x98\x80" },
                                           { "\\ud83d x", "\\ud83d x" },
                                           { "\\u0000\\q\\", "\\u0000\\q\\" },
                                           { "\xff\\n", "\xff\n" } };
    struct ks_buf b;

    (void)state;
    ks_buf_init(&b);
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        ks_buf_clear(&b);
        ks_trace_unescape(span(rows[i][0]), &b);
        assert_string_equal(ks_buf_text(&b), rows[i][1]);
    }
    ks_buf_release(&b);
}

/* ---- whole texts ---- */

static int read_text(const void *bytes, size_t n, struct ks_trace **out, struct ks_err *err)
{
    struct ks_trace_source *s;
    int rc;

    assert_int_equal(ks_trace_source_memory(bytes, n, "t", &s, err), 0);
    rc = ks_trace_read(s, out, err);
    ks_trace_source_close(s);
    return rc;
}

#define K(ts) "{\"ph\":\"X\",\"cat\":\"kernel\",\"name\":\"k\",\"ts\":" ts ",\"dur\":2}"

static void damage_is_skipped_and_counted(void **state)
{
    static const struct {
        const char *text;
        uint32_t n_kernels;
        uint64_t n_bad, n_numbers, n_twice;
        bool is_cut, has_rest;
    } rows[] = {
        { "[" K("1") "," K("2") "]", 2, 0, 0, 0, false, false },
        { "[" K("1") "," K("2") ",", 2, 0, 0, 0, true, false },
        { "{\"traceEvents\":[" K("1") ",{\"ph\":\"X\",\"cat\":\"ker", 1, 0, 0, 0, true, false },
        { "{\"traceEvents\":[" K("1") "]", 1, 0, 0, 0, true, false },
        { "{\"traceEvents\":[" K("1") "]} x", 1, 0, 0, 0, false, true },
        { "\xef\xbb\xbf{\"a\":[[{}]],\"traceEvents\":[" K("1") "],\"b\":1}", 1, 0, 0, 0, false,
          false },
        { "[" K("1") ",{\"ph\" \"X\"}," K("2") "]", 2, 1, 0, 0, false, false },
        { "[" K("1") ",{\"a\":[1}," K("2") "]", 2, 1, 0, 0, false, false },
        { "[" K("1") ",{\"a\":[1}}," K("2") "]", 2, 1, 0, 0, false, false },
        { "[" K("1") ",7,null," K("2") "]", 2, 1, 0, 0, false, false },
        { "[" K("NaN") "," K("1e400") "," K("2") "]", 1, 0, 2, 0, false, false },
        { "[" K("Infinity") "," K("99999999999999999999") "," K("2") "]", 1, 0, 2, 0, false,
          false },
        { "[{\"ph\":\"X\",\"cat\":\"kernel\",\"ts\":1,\"dur\":2,\"args\":{\"a\":NaN,"
          "\"correlation\":"
          "99999999999999999999,\"stream\":-Infinity,\"bytes\":1e99}}]",
          1, 0, 0, 0, false, false },
        { "[{\"ts\":1,\"ts\":3,\"ph\":\"X\",\"cat\":\"kernel\",\"dur\":1}]", 1, 0, 0, 1, false,
          false },
        { "[{\"ph\":\"X\",\"cat\":\"kernel\",\"name\":\"\xff\xfe\",\"ts\":1,\"dur\":1}]", 1, 0, 0,
          0, false, false },
    };

    (void)state;
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        struct ks_err err = { 0 };
        struct ks_trace *t;

        assert_int_equal(read_text(rows[i].text, strlen(rows[i].text), &t, &err), 0);
        assert_int_equal(t->links.n_kernels, rows[i].n_kernels);
        assert_int_equal(t->dirt.n_bad, rows[i].n_bad);
        assert_int_equal(t->dirt.n_numbers, rows[i].n_numbers);
        assert_int_equal(t->dirt.n_twice, rows[i].n_twice);
        assert_int_equal(t->dirt.is_cut, rows[i].is_cut);
        assert_int_equal(t->dirt.has_rest, rows[i].has_rest);
        ks_trace_release(t);
    }
}

static void what_is_no_trace_is_refused_with_its_place(void **state)
{
    static const char *const rows[][2] = {
        { "", "byte 0: the file is empty" },
        { "hello", "byte 0: not JSON" },
        { "\x0a\x12\x08\x02\x10", "a native Perfetto trace" },
        { "{\"traceEvents\"", "byte 14: expected a key and a colon" },
        { "{\"traceEvents\":[]}", "has no events" },
        { "{\"a\":1}", "neither a traceEvents array" },
        { "{1:2}", "byte 1: expected a key in quotes" },
        { "{\"a\":}", "byte 5: not a JSON value" },
    };

    (void)state;
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        struct ks_err err = { 0 };
        struct ks_trace *t = NULL;

        assert_int_equal(read_text(rows[i][0], strlen(rows[i][0]), &t, &err), KS_EFORMAT);
        assert_non_null(strstr(err.text, rows[i][1]));
        assert_null(t);
    }
}

/* 10^6 levels, a window that cuts tokens anywhere, and a value that is longer than what is kept. */
static void depth_and_length_cost_nothing(void **state)
{
    struct ks_err err = { 0 };
    struct ks_trace *t;
    struct ks_buf b;

    (void)state;
    ks_buf_init(&b);
    ks_buf_printf(&b, "{\"metadata\":{\"env\":\"");
    for (int i = 0; i < 200000; i++)
        ks_buf_printf(&b, "%s", i % 3 ? "{[x\\\"" : "\\\\\\u00e9");
    ks_buf_printf(&b, "\"},\"deep\":");
    for (int i = 0; i < 1000000; i++)
        ks_buf_u8(&b, '[');
    for (int i = 0; i < 1000000; i++)
        ks_buf_u8(&b, ']');
    ks_buf_printf(&b, ",\"traceEvents\":[{\"ph\":\"X\",\"args\":{\"a\":");
    for (int i = 0; i < 1000000; i++)
        ks_buf_u8(&b, '[');
    for (int i = 0; i < 1000000; i++)
        ks_buf_u8(&b, ']');
    ks_buf_printf(&b, "}}");
    for (int i = 0; i < 5000; i++)
        ks_buf_printf(&b, "," K("%d.%03d"), i, i % 1000);
    ks_buf_printf(&b, "]}");
    assert_int_equal(read_text(b.data, b.len, &t, &err), 0);
    assert_int_equal(t->links.n_kernels, 5000);
    assert_int_equal(t->gpu.ts_ns[4999], 4999999);
    assert_int_equal(t->dirt.n_bad + t->dirt.is_cut + t->dirt.has_rest, 0);
    assert_int_equal(t->gpu.place[0].has_args, 0);
    assert_int_equal(b.data[t->gpu.place[4999].at], '}');
    assert_int_equal(b.data[t->events_end], ']');
    ks_trace_release(t);
    ks_buf_release(&b);
}

/* An unclosed bracket swallows what follows only up to the longest event, which then shrinks. */
static void an_unclosed_event_ends_somewhere(void **state)
{
    struct ks_err err = { 0 };
    struct ks_trace *t;
    struct ks_buf b;

    (void)state;
    ks_buf_init(&b);
    ks_buf_printf(&b, "[");
    for (int i = 0; i < 3; i++)
        ks_buf_printf(&b, "{\"args\":{\"a\":[," K("1") ",");
    while (b.len < KS_TRACE_EVENT_MAX + (1u << 20))
        ks_buf_printf(&b, K("2") ",");
    ks_buf_printf(&b, K("3") "]");
    assert_int_equal(read_text(b.data, b.len, &t, &err), 0);
    assert_true(t->dirt.n_long >= 1);
    assert_int_equal(t->dirt.first_bad, 1);
    assert_int_equal(t->gpu.ts_ns[t->gpu.n - 1], 3000);
    assert_true(t->gpu.n > 100000);
    ks_trace_release(t);
    ks_buf_release(&b);
}

/* Sums of durations and distances of times fit in int64. */
static void times_that_would_overflow_are_skipped(void **state)
{
    static const char text[] = "[" K("4611686018427387.904") "," K("-4611686018427387.904") "," K(
        "1") ",{\"ph\":\"X\",\"cat\":\"kernel\",\"ts\":1,\"dur\":4e15},"
             "{\"ph\":\"X\",\"cat\":\"kernel\",\"ts\":2,\"dur\":4e15}]";
    struct ks_err err = { 0 };
    struct ks_trace *t;

    (void)state;
    assert_int_equal(read_text(text, strlen(text), &t, &err), 0);
    assert_int_equal(t->gpu.n, 2);
    assert_int_equal(t->gpu.dur_ns[1], 4000000000000000000);
    assert_int_equal(t->n_negative, 3);
    ks_trace_release(t);
}

/* ---- gzip ---- */

static void pack(const char *text, struct ks_buf *to)
{
    z_stream z = { 0 };

    assert_int_equal(deflateInit2(&z, 9, Z_DEFLATED, 15 + 16, 8, Z_DEFAULT_STRATEGY), Z_OK);
    assert_true(ks_buf_reserve(to, strlen(text) + 64));
    z.next_in = (unsigned char *)(uintptr_t)text;
    z.avail_in = (unsigned)strlen(text);
    z.next_out = to->data + to->len;
    z.avail_out = (unsigned)(to->cap - to->len);
    assert_int_equal(deflate(&z, Z_FINISH), Z_STREAM_END);
    to->len += z.total_out;
    deflateEnd(&z);
}

static void gzip_members_follow_each_other_and_may_be_cut(void **state)
{
    struct ks_err err = { 0 };
    struct ks_trace *t;
    struct ks_buf b;

    (void)state;
    ks_buf_init(&b);
    pack("[" K("1") ",", &b);
    pack(K("2") "]", &b);
    assert_int_equal(read_text(b.data, b.len, &t, &err), 0);
    assert_int_equal(t->links.n_kernels, 2);
    assert_null(t->dirt.damage);
    ks_trace_release(t);
    assert_int_equal(read_text(b.data, b.len - 9, &t, &err), 0);
    assert_non_null(strstr(t->dirt.damage, "is truncated"));
    assert_true(t->links.n_kernels >= 1);
    ks_trace_release(t);
    assert_int_equal(read_text(b.data, 12, &t, &err), KS_EFORMAT);
    ks_buf_release(&b);
}

/* ---- links ---- */

static void kernels_find_the_operator_around_their_launch(void **state)
{
    static const char text[] =
        "[{\"ph\":\"X\",\"cat\":\"cpu_op\",\"name\":\"outer\",\"pid\":1,\"tid\":1,\"ts\":0,\"dur\":"
        "100,"
        "\"args\":{\"External id\":7}},"
        "{\"ph\":\"X\",\"cat\":\"cpu_op\",\"name\":\"inner\",\"pid\":1,\"tid\":1,\"ts\":10,\"dur\":"
        "20,"
        "\"args\":{\"External id\":8}},"
        "{\"ph\":\"X\",\"cat\":\"cpu_op\",\"name\":\"other thread\",\"pid\":1,\"tid\":2,\"ts\":10,"
        "\"dur\":20,\"args\":{\"External id\":9}},"
        "{\"ph\":\"X\",\"cat\":\"cuda_runtime\",\"name\":\"launch\",\"pid\":1,\"tid\":1,\"ts\":15,"
        "\"dur\":1,\"args\":{\"correlation\":9}},"
        "{\"ph\":\"X\",\"cat\":\"cuda_runtime\",\"name\":\"launch\",\"pid\":1,\"tid\":1,\"ts\":40,"
        "\"dur\":1,\"args\":{\"correlation\":5}},"
        "{\"ph\":\"X\",\"cat\":\"kernel\",\"name\":\"a\",\"ts\":50,\"dur\":1,"
        "\"args\":{\"correlation\":9,\"External id\":9}},"
        "{\"ph\":\"X\",\"cat\":\"kernel\",\"name\":\"b\",\"ts\":60,\"dur\":1,"
        "\"args\":{\"correlation\":5,\"External id\":7}},"
        "{\"ph\":\"X\",\"cat\":\"kernel\",\"name\":\"c\",\"ts\":70,\"dur\":1,"
        "\"args\":{\"correlation\":77,\"External id\":8}},"
        "{\"ph\":\"X\",\"cat\":\"kernel\",\"name\":\"d\",\"ts\":80,\"dur\":1,"
        "\"args\":{\"correlation\":8,\"External id\":8}}]";
    struct ks_err err = { 0 };
    struct ks_trace *t;

    (void)state;
    assert_int_equal(read_text(text, strlen(text), &t, &err), 0);
    assert_int_equal(t->ops.parent[1], 0);
    assert_int_equal(t->ops.parent[0], KS_TRACE_NONE);
    assert_int_equal(t->gpu.op[0], 1); /* its External id names the other thread's operator */
    assert_int_equal(t->gpu.op[1], 0);
    assert_int_equal(t->gpu.op[2], 1);             /* no call: the External id */
    assert_int_equal(t->gpu.op[3], KS_TRACE_NONE); /* which is the correlation here */
    assert_int_equal(t->links.n_external_wrong, 2);
    assert_int_equal(t->links.n_by_external, 1);
    assert_int_equal(t->links.n_no_call, 2);
    ks_trace_release(t);
}

/* Counted independently of this program (expected/ref of the shared traces). */
static void real_traces_are_linked_as_expected(void **state)
{
    static const struct {
        const char *name;
        uint32_t n_kernels, n_no_op, n_no_call, n_wrong;
    } rows[] = {
        { "a100_alexnet_critical_path", 79, 0, 0, 1 },
        { "compare_base", 6, 6, 4, 0 },
        { "h100_bert_small", 60, 0, 0, 0 },
        { "mi210_gpu_only", 562, 562, 0, 0 },
        { "mi300x_resnet_act_checkpoint", 2995, 757, 757, 0 },
        { "mi355_vllm_piecewise", 413, 361, 0, 0 },
        { "et_linear_kineto", 8716, 0, 0, 3197 },
    };
    const char *dir = getenv("KSWEEP_TEST_DATA");

    (void)state;
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        struct ks_err err = { 0 };
        struct ks_trace *t;
        char path[512];

        snprintf(path, sizeof(path), "%s/traces/%s.json.gz",
                 dir ? dir : KS_SOURCE_DIR "/../shared/data", rows[i].name);
        if (!ks_path_exists(path))
            skip();
        assert_int_equal(ks_trace_load(path, &t, &err), 0);
        assert_int_equal(t->links.n_kernels, rows[i].n_kernels);
        assert_int_equal(t->links.n_no_op, rows[i].n_no_op);
        assert_int_equal(t->links.n_no_call, rows[i].n_no_call);
        assert_int_equal(t->links.n_external_wrong, rows[i].n_wrong);
        ks_trace_release(t);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_scan_finds_the_same),
        cmocka_unit_test(times_are_exact_nanoseconds),
        cmocka_unit_test(strings_lose_their_escapes),
        cmocka_unit_test(damage_is_skipped_and_counted),
        cmocka_unit_test(what_is_no_trace_is_refused_with_its_place),
        cmocka_unit_test(depth_and_length_cost_nothing),
        cmocka_unit_test(an_unclosed_event_ends_somewhere),
        cmocka_unit_test(times_that_would_overflow_are_skipped),
        cmocka_unit_test(gzip_members_follow_each_other_and_may_be_cut),
        cmocka_unit_test(kernels_find_the_operator_around_their_launch),
        cmocka_unit_test(real_traces_are_linked_as_expected),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
