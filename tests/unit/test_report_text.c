/* SPDX-License-Identifier: MIT */
/* test_report_text.c - the report as text, Markdown and CSV, from made-up summaries */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
/* cmocka.h wants the four above first. */
#include <cmocka.h>

#include "analysis/out/labels.h"
#include "analysis/out/report.h"

#include <string.h>

/* ---- names in columns ---- */

static void names_lose_what_they_share(void **state)
{
    static const struct {
        const char *names[3], *prefix, *shown[3];
    } rows[] = {
        { { "host_gconv_4x16", "host_gconv_6x64", "host_gconv_p8" },
          "host_gconv_",
          { "...4x16", "...6x64", "...p8" } },
        { { "host_gconv_4x16", "host_gconv_4x64", "host_gconv_4x16" },
          "host_gconv_",
          { "...4x16", "...4x64", "...4x16" } },
        { { "conv_1", "conv_2", "conv_3" }, "", { "conv_1", "conv_2", "conv_3" } },
        { { "the_same_name", "the_same_name", "the_same_name" },
          "the_same_",
          { "...name", "...name", "...name" } },
        { { "resnet50.", "resnet50.conv1", "resnet50.b" },
          "",
          { "resnet50.", "resnet50.conv1", "resnet50.b" } },
    };

    (void)state;
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        struct ks_labels names = { 0 };

        for (size_t k = 0; k < 3; k++)
            assert_int_equal(ks_labels_add(&names, rows[i].names[k], NULL), 0);
        ks_labels_end(&names);
        assert_int_equal(names.prefix, strlen(rows[i].prefix));
        for (size_t k = 0; k < 3; k++) {
            struct ks_buf b;

            ks_buf_init(&b);
            names.width = 0;
            ks_labels_put(&names, k, &b);
            assert_string_equal(ks_buf_text(&b), rows[i].shown[k]);
            ks_buf_release(&b);
        }
        ks_labels_release(&names);
    }
}

/* ---- a summary as text ---- */

#define LONG_NAME                                                                                  \
    "an_instance_whose_name_is_far_longer_than_any_column_that_a_terminal_has_room_for_"           \
    "and_that_must_still_be_printed_whole_to_its_very_last_character_z"

static const struct ks_problem_ref first_problem = { 1, "b0|<b>\n", "", 1e6 },
                                   second_problem = { 2, "b1", "", 1e6 };
static const struct ks_instance_ref winner = { 10, LONG_NAME, "", 0, UINT32_MAX };

static struct ks_summary made_summary(struct ks_best best[2])
{
    best[0] = (struct ks_best){ .problem = &first_problem,
                                .kernel = &winner,
                                .median_ns = 9912.4,
                                .se_ns = 20000,
                                .lo95_ns = 3300,
                                .hi95_ns = 60100,
                                .gflops = 100.9,
                                .gflops_se = 200,
                                .gflops_lo95 = 16.6,
                                .gflops_hi95 = 303,
                                .worst_over_best = 2,
                                .n_ok = 3,
                                .n_rows = 4,
                                .n_contaminated = 2,
                                .is_contaminated = true };
    best[1] = (struct ks_best){ .problem = &second_problem,
                                .median_ns = -1,
                                .lo95_ns = -1,
                                .hi95_ns = -1,
                                .gflops = -1,
                                .gflops_lo95 = -1,
                                .gflops_hi95 = -1,
                                .worst_over_best = -1,
                                .n_rows = 4 };
    return (struct ks_summary){ .n_cells = 8,
                                .problems = best,
                                .n_problems = 2,
                                .median_worst_over_best = 2,
                                .n_winners = 1,
                                .n_codes = 3,
                                .fixed = &winner,
                                .fixed_share = 0.414 };
}

static bool has(const struct ks_buf *b, const char *text)
{
    return strstr(ks_buf_text(b), text) != NULL;
}

static void text_says_everything(void **state)
{
    struct ks_best best[2];
    struct ks_summary s = made_summary(best);
    struct ks_buf b;

    (void)state;
    ks_buf_init(&b);
    assert_int_equal(ks_report_text(&s, 0, &b, NULL), 0);
    assert_true(has(&b, LONG_NAME));   /* nothing is cut */
    assert_true(has(&b, "9.912 us*")); /* contaminated is marked */
    assert_true(has(&b, "* contaminated: other processes used the machine"));
    assert_true(has(&b, "3.3 to 60.1")); /* an interval, not "+- 200" */
    assert_true(has(&b, "16.6 to 303"));
    assert_false(has(&b, "+-"));
    assert_true(has(&b, "b1"));
    assert_true(has(&b, "no instance is ok (4 rows)"));
    assert_true(has(&b, "One fixed instance would reach 41 % of the best: choosing per problem is "
                        "2.4 times as fast"));
    assert_true(has(&b, "b0|<b>\\n  ")); /* a name is one line */
    assert_false(has(&b, "b1 0000000000000002"));
    best[1].shares_name = true;
    assert_int_equal(ks_report_text(&s, 0, &b, NULL), 0);
    assert_true(has(&b, "b1 0000000000000002"));
    ks_buf_release(&b);
}

/* No line is longer, but those that a name makes longer. */
static void check_widths(const char *text, size_t width)
{
    for (size_t n; *text; text += n + (text[n] == '\n')) {
        n = strcspn(text, "\n");
        if (n > width && strncmp(text, "    " LONG_NAME, 20) != 0)
            fail_msg("%zu columns of %zu: %.*s", n, width, (int)n, text);
    }
}

/* Where a terminal has no room for the table, each problem has lines of its own; no number is cut.
 */
static void narrow_terminals_get_a_list(void **state)
{
    static const unsigned widths[] = { 48, 60, 80, 200 };
    static const struct ks_instance_ref short_name = { 10, "short", "", 0, UINT32_MAX };
    struct ks_best best[2];
    struct ks_summary s = made_summary(best);
    struct ks_buf b;

    (void)state;
    ks_buf_init(&b);
    for (size_t i = 0; i < sizeof(widths) / sizeof(widths[0]); i++) {
        ks_buf_clear(&b);
        assert_int_equal(ks_report_text(&s, widths[i], &b, NULL), 0);
        check_widths(ks_buf_text(&b), widths[i]);
        assert_true(has(&b, "b0|<b>\\n\n    " LONG_NAME "\n    9.912 us* [3.3 to 60.1]"));
        assert_true(has(&b, "[16.6 to 303]"));
        assert_true(has(&b, "b1  no instance is ok (4 rows)\n"));
    }
    best[0].kernel = &short_name;
    ks_buf_clear(&b);
    assert_int_equal(ks_report_text(&s, 200, &b, NULL), 0);
    assert_true(has(&b, "3.3 to 60.1")); /* there is room for the table */
    assert_false(has(&b, "[3.3 to 60.1]"));
    ks_buf_release(&b);
}

static void other_formats(void **state)
{
    struct ks_best best[2];
    struct ks_summary s = made_summary(best);
    struct ks_buf b;

    (void)state;
    ks_buf_init(&b);
    ks_report_markdown(&s, &b);
    assert_true(has(&b, "| b0\\|&lt;b>\\\\n | 9.912 us (contaminated) | 3.3 to 60.1 | 100.9 |"));
    assert_true(has(&b, "| b1 |  |  |  |  | none is ok |  | 0 | 0/4 |\n"));
    ks_buf_clear(&b);
    ks_report_rows_csv(&s, &b);
    assert_true(has(&b, "\n0000000000000001,b0|<b>\\n,9912.4,3300,60100,100.9,16.6,303,2,"
                        "000000000000000a," LONG_NAME ",0,3,4,1,2\n"));
    assert_true(has(&b, "\n0000000000000002,b1,,,,,,,,,,0,0,4,0,0\n"));
    ks_buf_release(&b);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(names_lose_what_they_share),
        cmocka_unit_test(text_says_everything),
        cmocka_unit_test(narrow_terminals_get_a_list),
        cmocka_unit_test(other_formats),
    };

    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
