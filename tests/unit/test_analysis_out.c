/* SPDX-License-Identifier: MIT */
/* test_analysis_out.c - frames as text: numbers, formats, and no trace of batches and buffers */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
/* cmocka.h wants the four above first. */
#include <cmocka.h>

#include "analysis/out/number.h"
#include "analysis_kit.h"
#include "base/file.h"
#include "json/json.h"

#include <fcntl.h>
#include <float.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* ---- numbers ---- */

static void slow_f32(double v, char text_out[32])
{
    for (int digits = 6; digits <= 9; digits++) {
        snprintf(text_out, 32, "%.*g", digits, v);
        if (strtof(text_out, NULL) == (float)v)
            return;
    }
}

static void check_f32(float v)
{
    char got[KS_NUMBER_TEXT], want[32];
    size_t n = ks_f32_text((double)v, got);

    slow_f32((double)v, want);
    if (strcmp(got, want) != 0 || n != strlen(want))
        fail_msg("%.9g: got '%s' of %zu, want '%s'", (double)v, got, n, want);
}

static void check_f64(double v)
{
    char got[KS_NUMBER_TEXT], want[32];
    size_t n = ks_real_text(v, got);

    ks_f64_text(v, want);
    if (strcmp(got, want) != 0 || n != strlen(want))
        fail_msg("%.17g: got '%s' of %zu, want '%s'", v, got, n, want);
}

static void check_near(double v)
{
    check_f64(v);
    check_f64(nextafter(v, 0));
    check_f64(nextafter(v, (double)INFINITY));
    check_f64(-v);
    check_f32((float)v);
    check_f32(nextafterf((float)v, 0));
    check_f32(nextafterf((float)v, INFINITY));
    check_f32(-(float)v);
}

/* Powers of two and of ten, where intervals are uneven, digits carry and layouts change. */
static void numbers_at_edges(void **state)
{
    static const double edges[] = { 0,          -0.0,    1,       0.1,        1.0 / 3,  2.0 / 3,
                                    999999.5,   9999995, 0.0001,  0.00009999, 0.5,      1e15 - 0.5,
                                    123456.789, 1e-45,   FLT_MAX, FLT_MIN,    DBL_MAX,  DBL_MIN,
                                    1e22,       1e23,    5e-324,  16777217,   99999.95, 0.3 };

    (void)state;
    for (size_t i = 0; i < sizeof(edges) / sizeof(edges[0]); i++) {
        check_f64(edges[i]);
        check_f32((float)edges[i]);
    }
    for (int e = -40; e < 70; e++)
        check_near(ldexp(1, e));
    for (int e = -8; e < 20; e++)
        for (int k = 1; k < 10; k++)
            check_near(k * pow(10, e));
}

static void numbers_at_random(void **state)
{
    uint64_t seed = 1;

    (void)state;
    for (int i = 0; i < 60000; i++) {
        double fraction = (double)(ks_rng_next(&seed) >> 11) * 0x1p-53;
        double v = fraction * pow(10, (int)ks_rng_below(&seed, 24) - 6);

        check_f64(v);
        check_f64(round(v * 1000) / 1000); /* short ones, too */
        check_f32((float)v);
        check_f32(roundf((float)v * 100) / 100);
    }
}

static void integers(void **state)
{
    char text[KS_NUMBER_TEXT];

    (void)state;
    assert_int_equal(ks_i64_text(INT64_MIN, text), 20);
    assert_string_equal(text, "-9223372036854775808");
    assert_int_equal(ks_u64_text(UINT64_MAX, text), 20);
    assert_string_equal(text, "18446744073709551615");
    assert_int_equal(ks_i64_text(0, text), 1);
    assert_string_equal(text, "0");
    assert_int_equal(ks_hex_text(0xc0ffee01, text), 16);
    assert_string_equal(text, "00000000c0ffee01");
}

/* ---- formats ---- */

/* Two runs, outcomes of every kind, and a name that needs escapes everywhere. */
static struct ks_view *some_rows(const struct place *p)
{
    skit_run(p->dir[0], 1, 9, 17, 5, 11);
    skit_run(p->dir[1], 8, 9, 17, 5, 0);
    place_gather(p, 2, NULL);
    return akit_view(p, KS_MERGE_ALL);
}

static const struct ks_format *const formats[] = { &ks_format_csv, &ks_format_markdown,
                                                   &ks_format_json, &ks_format_parquet };

static void batches_leave_no_trace(void **state)
{
    static const size_t sizes[] = { 1, 17, 40, 100000 };
    struct ks_view *v = some_rows(*state);

    for (size_t i = 0; i < sizeof(formats) / sizeof(formats[0]); i++) {
        struct ks_buf whole, parts;

        akit_write(v, formats[i], KS_COLUMNS_V2, 0, &whole);
        for (size_t k = 0; k < sizeof(sizes) / sizeof(sizes[0]); k++) {
            akit_write(v, formats[i], KS_COLUMNS_V2, sizes[k], &parts);
            assert_int_equal(whole.len, parts.len); /* Parquet is no text */
            assert_memory_equal(whole.data, parts.data, whole.len);
            ks_buf_release(&parts);
        }
        ks_buf_release(&whole);
    }
    ks_view_close(v);
}

static void json_is_json(void **state)
{
    struct ks_view *v = some_rows(*state);
    const struct ks_node *row;
    struct ks_json *doc;
    struct ks_buf b;
    struct ks_err err = { 0 };
    const char *id, *name;
    double median;

    akit_write(v, &ks_format_json, KS_COLUMNS_V2, 0, &b);
    if (ks_json_parse(ks_buf_text(&b), b.len, "rows", &doc, &err) < 0)
        fail_msg("%s", err.text);
    assert_int_equal(ks_node_size(ks_json_root(doc)), ks_view_n_rows(v));
    row = ks_node_first(ks_json_root(doc));
    assert_int_equal(ks_node_str(doc, ks_node_at(row, "condition_id"), &id, &err), 0);
    assert_string_equal(id, "00000000c0ffee01");
    assert_int_equal(ks_node_str(doc, ks_node_at(row, "problem_name"), &name, &err), 0);
    assert_string_equal(name, "conv_0");
    assert_int_equal(ks_node_real(doc, ks_node_at(row, "time_median_ns"), &median, &err), 0);
    assert_true(median > 0);
    assert_int_equal(ks_node_kind(ks_node_at(row, "trait_tile_m")), KS_JSON_INT);
    assert_int_equal(ks_node_kind(ks_node_at(row, "reason")), KS_JSON_NULL);
    ks_json_close(doc);
    ks_buf_release(&b);
    ks_view_close(v);
}

/* A frame by hand: a text with all that is special, a number, a missing one. */
static void put_by_hand(const struct ks_format *w, struct ks_buf *b)
{
    static const char *const words[] = { "a|b\\c,\"d\"\n\x1b", "é" };
    static const uint32_t codes[] = { 0, 1, KS_DF_NONE };
    static const double values[] = { 0.5, 1e300, 0 };
    static const uint8_t missing[] = { 0, 0, 1 };
    struct ks_df_column columns[] = {
        { .name = "text", .type = KS_DF_TEXT, .code = codes, .n_values = 2, .values.text = words },
        { .name = "v", .type = KS_DF_F64, .n_values = 3, .values.f64 = values, .missing = missing },
        { .name = "hidden", .type = KS_DF_F64, .n_values = 3, .values.f64 = values },
    };
    const struct ks_df f = { .columns = columns, .n_columns = 3, .n_rows = 3 };
    void *state = calloc(1, w->state_size);
    struct ks_sink to;

    ks_sink_init(&to, -1, "nowhere");
    assert_int_equal(w->begin(state, &f, 2, &to, NULL), 0);
    assert_int_equal(w->put(state, &f, 2, &to, NULL), 0);
    assert_int_equal(w->end(state, &to, NULL), 0);
    w->release(state);
    free(state);
    *b = to.text;
}

static void what_is_special_is_escaped(void **state)
{
    static const struct {
        const struct ks_format *w;
        const char *want;
    } rows[] = {
        { &ks_format_csv, "text,v\n\"a|b\\c,\"\"d\"\"\\n\\x1b\",0.5\né,1e+300\n,\n" },
        { &ks_format_markdown,
          "| text | v |\n| --- | ---: |\n"
          "| a\\|b\\\\c,\"d\"\\\\n\\\\x1b | 0.5 |\n| é | 1e+300 |\n|  |  |\n" },
        { &ks_format_text, "text                  v\n"
                           "a|b\\c,\"d\"\\n\\x1b     0.5\n"
                           "é                1e+300\n"
                           "                       \n" },
    };

    (void)state;
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        struct ks_buf b;

        put_by_hand(rows[i].w, &b);
        assert_string_equal(ks_buf_text(&b), rows[i].want);
        ks_buf_release(&b);
    }
}

/* ---- the sink ---- */

static void memory_stays_bounded(void **state)
{
    const struct place *p = *state;
    struct ks_buf whole;
    struct ks_sink to;
    struct ks_err err = { 0 };
    char path[128];
    int fd;

    snprintf(path, sizeof(path), "%s/text", p->root);
    fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
    assert_true(fd >= 0);
    ks_sink_init(&to, fd, "text");
    for (uint32_t i = 0; i < 200000; i++) {
        ks_buf_printf(&to.text, "line %u\n", i);
        assert_int_equal(ks_sink_step(&to, &err), 0);
        assert_true(to.text.cap <= 2 * KS_SINK_BYTES);
    }
    assert_int_equal(ks_sink_flush(&to, &err), 0);
    ks_sink_release(&to);
    close(fd);
    ks_buf_init(&whole);
    assert_int_equal(ks_file_read(path, &whole, &err), 0);
    assert_int_equal(whole.len, 10 * 7 + 90 * 8 + 900 * 9 + 9000 * 10 + 90000 * 11 + 100000 * 12);
    assert_string_equal(ks_buf_text(&whole) + whole.len - 12, "line 199999\n");
    ks_buf_release(&whole);
}

static void a_full_disk_is_an_error(void **state)
{
    struct ks_sink to;
    struct ks_err err = { 0 };
    int fd = open("/dev/full", O_WRONLY | O_CLOEXEC);

    (void)state;
    assert_true(fd >= 0);
    ks_sink_init(&to, fd, "full");
    ks_buf_printf(&to.text, "x");
    assert_int_equal(ks_sink_flush(&to, &err), KS_ENOSPC);
    assert_non_null(strstr(err.text, "'full'"));
    ks_sink_release(&to);
    close(fd);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
#define TEST(f) cmocka_unit_test_setup_teardown(f, place_make, place_remove)
        cmocka_unit_test(numbers_at_edges),
        cmocka_unit_test(numbers_at_random),
        cmocka_unit_test(integers),
        TEST(batches_leave_no_trace),
        TEST(json_is_json),
        cmocka_unit_test(what_is_special_is_escaped),
        TEST(memory_stays_bounded),
        cmocka_unit_test(a_full_disk_is_an_error),
#undef TEST
    };

    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests_name("analysis_out", tests, NULL, NULL);
}
