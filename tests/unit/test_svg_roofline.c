/* SPDX-License-Identifier: MIT */
/* test_svg_roofline.c - rooflines as SVG: names, dots, roofs, what may be missing */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
/* cmocka.h wants the four above first. */
#include <cmocka.h>

#include "analysis/out/svg_roofline.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static const struct ks_roof roofs[] = { { "HBM", 1000e9, true },
                                        { "fp32", 20.0e12, false },
                                        { "fp64", 19.5e12, false },
                                        { "bf16", 170e12, false } };

/* The chart's place of the `number`-th element whose text begins so: two numbers behind names. */
static void place(const char *svg, const char *element, unsigned number, const char *x_name,
                  const char *y_name, double *x, double *y)
{
    const char *at = svg;

    for (unsigned i = 0; i <= number; i++) {
        at = strstr(at, element);
        assert_non_null(at);
        at += strlen(element);
    }
    *x = strtod(strstr(at, x_name) + strlen(x_name), NULL);
    *y = strtod(strstr(at, y_name) + strlen(y_name), NULL);
}

static unsigned count_of(const char *text, const char *what)
{
    unsigned n = 0;

    for (const char *at = text; (at = strstr(at, what)) != NULL; at += strlen(what))
        n++;
    return n;
}

/* Names from a trace never become markup, wherever they stand. */
static void names_are_escaped(void **state)
{
    static const struct ks_roof_dot dots[] = { { "</title><script>alert(\"1\")</script>",
                                                 "a&b\x01\xff", "H<M", 1, 1e9, 1000, 1 } };
    static const struct ks_roof bad[] = { { "<x a='1'>", 1e12, true }, { "<y>", 1e13, false } };
    const struct ks_roofline r = { .title = "<t>&",
                                   .subtitle = "\"s\"",
                                   .roofs = bad,
                                   .n_roofs = 2,
                                   .dots = dots,
                                   .n_dots = 1,
                                   .n_undrawn = 1,
                                   .undrawn_why = "<why>" };
    struct ks_buf b;

    (void)state;
    ks_buf_init(&b);
    ks_html_rooflines(&r, 1, &b);
    assert_true(ks_buf_ok(&b));
    assert_null(strstr(ks_buf_text(&b), "<script"));
    assert_null(strstr(ks_buf_text(&b), "<x"));
    assert_null(strstr(ks_buf_text(&b), "<y>"));
    assert_null(strstr(ks_buf_text(&b), "<t>"));
    assert_null(strstr(ks_buf_text(&b), "<why>"));
    assert_null(strstr(ks_buf_text(&b), "H<M"));
    assert_non_null(strstr(ks_buf_text(&b), "&#60;script&#62;alert(&#34;1&#34;)"));
    assert_non_null(strstr(ks_buf_text(&b), "a&#38;b\xef\xbf\xbd\xef\xbf\xbd\n"));
    ks_buf_release(&b);
}

/* A dot at a roof's ridge lies on both lines; ten times the rate is one decade higher. */
static void dots_and_roofs_agree(void **state)
{
    static const struct ks_roof_dot dots[] = { { "ridge", "", NULL, 170, 170e12, 4e6, 1 },
                                               { "below", "", NULL, 170, 17e12, 1e6, 3 },
                                               { "left", "", NULL, 17, 17e12, 0, 3 } };
    const struct ks_roofline r = { .title = "t",
                                   .subtitle = "s",
                                   .roofs = roofs,
                                   .n_roofs = 4,
                                   .dots = dots,
                                   .n_dots = 3,
                                   .total_ns = 8e6 };
    double x[4], y[4], rx;
    const char *svg, *roof;
    struct ks_buf b;

    (void)state;
    ks_buf_init(&b);
    ks_svg_roofline(&r, true, 7, &b);
    svg = ks_buf_text(&b);
    assert_int_equal(count_of(svg, "class=\"roof\""), 3); /* fp32 and fp64 share one */
    assert_int_equal(count_of(svg, "<circle"), 3);
    assert_non_null(strstr(svg, ">fp32, fp64 20 TFLOP/s<"));
    assert_non_null(strstr(svg, ">HBM 1 TB/s<"));
    assert_non_null(strstr(svg, "50.0 % of the time"));
    assert_non_null(strstr(svg, "id=\"plot7\""));
    for (unsigned i = 0; i < 3; i++)
        place(svg, "<circle", i, "cx=\"", "cy=\"", &x[i], &y[i]);
    assert_true(fabs(x[0] - x[1]) < 0.11 && y[1] > y[0] + 20);
    assert_true(fabs(y[2] - y[1]) < 0.11 && x[2] < x[1] - 20);
    place(svg, "class=\"roof\"", 1, "d=\"M", " ", &rx, &y[3]); /* bf16, from the ridge */
    roof = strstr(strstr(svg, "class=\"roof\"") + 1, "class=\"roof\"");
    y[3] = strtod(strchr(strstr(roof, "d=\"M"), ' '), NULL);
    assert_true(fabs(rx - x[0]) < 0.11 && fabs(y[3] - y[0]) < 0.11);
    place(svg, "<circle", 0, "cx=\"", " r=\"", &x[0], &y[0]);
    place(svg, "<circle", 1, "cx=\"", " r=\"", &x[1], &y[1]);
    assert_true(fabs((y[0] - 3.5) - 2 * (y[1] - 3.5)) < 0.11); /* area = time: 4 and 1 ms */
    ks_buf_release(&b);
}

/* Without roofs, dots, or both there is still a chart, with finite numbers only. */
static void anything_may_be_missing(void **state)
{
    static const struct ks_roof_dot far[] = { { "far", NULL, NULL, 1e-30, 1e30, 1, 1 },
                                              { "near", NULL, NULL, 1e30, 1e-30, 1, 1 } };
    struct ks_roofline r = { .title = "", .subtitle = "" };
    struct ks_buf b;

    (void)state;
    ks_buf_init(&b);
    for (unsigned i = 0; i < 4; i++) {
        r.roofs = roofs;
        r.n_roofs = i & 1 ? 4 : 0;
        r.dots = far;
        r.n_dots = i & 2 ? 2 : 0;
        ks_buf_clear(&b);
        ks_svg_roofline(&r, true, 0, &b);
        assert_non_null(strstr(ks_buf_text(&b), "</svg>"));
        assert_null(strstr(ks_buf_text(&b), "inf"));
        assert_null(strstr(ks_buf_text(&b), "nan"));
    }
    ks_buf_release(&b);
}

static void numbers_have_prefixes(void **state)
{
    static const struct {
        double v;
        const char *text;
    } rows[] = { { 0, "0" },          { 1, "1" },           { 999.4, "999" },
                 { 999.6, "1.00 k" }, { 1389e9, "1.39 T" }, { 67.04e12, "67.0 T" },
                 { 3.5, "3.50" } };
    char text[16];

    (void)state;
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        ks_si_text(rows[i].v, text);
        assert_string_equal(text, rows[i].text);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(names_are_escaped),
                                        cmocka_unit_test(dots_and_roofs_agree),
                                        cmocka_unit_test(anything_may_be_missing),
                                        cmocka_unit_test(numbers_have_prefixes) };

    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
