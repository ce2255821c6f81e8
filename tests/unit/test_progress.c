/* SPDX-License-Identifier: MIT */
/* test_progress.c - what is told of a running sweep: lines, the bar, the file that status reads */
#include "base/file.h"
#include "mpi/progress.h"
#include "mpi/show.h"
#include "tests/unit/temp_dir.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define N_ROWS(a) (sizeof(a) / sizeof((a)[0]))
#define S         1000000000ull

static struct ks_progress *some(void)
{
    struct ks_progress *p = calloc(1, sizeof(*p));

    assert_non_null(p);
    *p = (struct ks_progress){ .realtime_ns = 1700000000 * S,
                               .pid = 42,
                               .is_measuring = true,
                               .n_cells = 200,
                               .n_done = 50,
                               .n_done_here = 40,
                               .n_contaminated = 7,
                               .n_problems = 12,
                               .n_settled = 3,
                               .has_visits = true,
                               .n_instances = 33,
                               .n_built = 33,
                               .n_devices = 2,
                               .rate = 4,
                               .left_s = 300,
                               .low_s = 200,
                               .high_s = 450,
                               .visited_each = 12.5,
                               .n_shown = 1,
                               .n_failures = 8 };
    p->outcome[KS_O_OK] = 48;
    p->outcome[KS_O_CRASHED] = 2;
    p->device[0] = (struct ks_progress_device){ 3, "node\n1", "measuring", "b0.head", 25, 6.5 };
    for (uint32_t i = 0; i < KS_PROGRESS_FAILURES; i++)
        p->failure[i] = (struct ks_progress_failure){ KS_O_CRASHED, 0xfedcba9876543210, i,
                                                      "b0.head kernel", "\033[2Jsegfault" };
    return p;
}

static void check_text(void (*put)(const struct ks_progress *, struct ks_buf *),
                       const struct ks_progress *p, const char *want)
{
    struct ks_buf b;

    ks_buf_init(&b);
    put(p, &b);
    assert_string_equal(ks_buf_text(&b), want);
    ks_buf_release(&b);
}

static void test_lines(void **state)
{
    struct ks_progress *p = some();

    (void)state;
    check_text(
        ks_progress_line, p,
        "50 of 200 cells, 4.0/s, about 5 min left (4 min to 8 min); 3 of 12 problems settled "
        "by visits; ok 48, crashed 2, contaminated 7");
    p->left_s = -1;
    p->has_visits = false;
    p->rate = 0;
    p->n_contaminated = 0;
    check_text(ks_progress_line, p, "50 of 200 cells; ok 48, crashed 2");
    p->is_measuring = false;
    p->n_built = 12;
    p->left_s = p->low_s = p->high_s = 30;
    check_text(ks_progress_line, p, "12 of 33 instances compiled, about 30 s left");
    free(p);
}

static void test_times(void **state)
{
    static const struct {
        double s;
        const char *want;
    } rows[] = { { 0, "0 s" },        { 0.2, "1 s" },    { 119, "119 s" },      { 121, "3 min" },
                 { 7199, "120 min" }, { 7200, "2.0 h" }, { 172800, "2.0 days" } };
    char text[32];

    (void)state;
    for (size_t i = 0; i < N_ROWS(rows); i++) {
        ks_progress_time(rows[i].s, text, sizeof(text));
        assert_string_equal(text, rows[i].want);
    }
}

static void check_bar(const struct ks_progress *p, struct ks_term t, const char *want)
{
    struct ks_buf b;

    ks_buf_init(&b);
    ks_progress_bar(p, &t, &b);
    assert_string_equal(ks_buf_text(&b), want);
    ks_buf_release(&b);
}

/* Never wider than the terminal, no fact cut in two; no color and no UTF-8 where they are not
 * wanted. */
static void test_bar(void **state)
{
    struct ks_progress *p = some();
    struct ks_term plain = { .is_terminal = true, .width = 60 }, rich = plain;

    (void)state;
    check_bar(p, plain, "[###............]  25 %  50/200, 2 failed, 4.0/s");
    plain.width = 20;
    check_bar(p, plain, "[##........]  25 %");
    rich.width = 40;
    rich.has_utf8 = true;
    check_bar(
        p, rich,
        "\u2588\u2588\u2591\u2591\u2591\u2591\u2591\u2591\u2591\u2591  25 %  50/200, 2 failed");
    rich.has_utf8 = false;
    rich.has_color = true;
    check_bar(p, rich, "[\033[32m##\033[2m........\033[0m]  25 %  50/200, 2 failed");
    p->is_measuring = false;
    p->n_built = 12;
    plain.width = 80;
    check_bar(p, plain, "[#######.............]  36 %  12 of 33 compiled, about 5 min left");
    free(p);
}

/* Texts from outside move no cursor. */
static void test_details(void **state)
{
    struct ks_progress *p = some();
    struct ks_buf b;

    (void)state;
    ks_buf_init(&b);
    ks_progress_details(p, "a dir", &b);
    assert_non_null(strstr(ks_buf_text(&b),
                           "  rank 3   measuring       25 done  node\\n1  b0.head  "
                           "(silent for 6 s)\n"));
    assert_non_null(strstr(ks_buf_text(&b), "failures  8 since the start, most recent:\n"
                                            "  crashed b0.head kernel: \\x1b[2Jsegfault\n"
                                            "    ksweep cell 'a dir' fedcba9876543210:"
                                            "0000000000000000\n"));
    assert_null(strchr(ks_buf_text(&b), '\033'));
    ks_buf_release(&b);
    free(p);
}

static void test_age(void **state)
{
    struct ks_progress *p = some();

    (void)state;
    ks_progress_age(p, p->realtime_ns + 250 * S);
    assert_in_range((int)(p->left_s + 0.5), 50, 50);
    assert_in_range((int)(p->high_s + 0.5), 200, 200);
    assert_true(p->low_s <= 0);
    p->left_s = -1;
    ks_progress_age(p, p->realtime_ns + S);
    assert_true(p->left_s < 0);
    free(p);
}

/* What is written is read; what is cut or changed is refused and changes nothing. */
static void test_file(void **state)
{
    struct ks_progress *p = some(), *got = calloc(1, sizeof(*got));
    char dir[TEMP_DIR_MAX], path[TEMP_DIR_MAX + 16];
    struct ks_buf text;
    struct ks_err err;

    (void)state;
    assert_non_null(got);
    temp_dir_make(dir, sizeof(dir));
    assert_int_equal(ks_progress_read(dir, got, &err), KS_ENOENT);
    assert_int_equal(ks_progress_write(p, dir, NULL), 0);
    p->n_done = 51;
    assert_int_equal(ks_progress_write(p, dir, NULL), 0);
    assert_int_equal(ks_progress_read(dir, got, &err), 0);
    assert_memory_equal(got->outcome, p->outcome, sizeof(p->outcome));
    assert_int_equal(got->n_done, 51);
    assert_true((int)(got->left_s + 0.5) == 300 && got->is_measuring && got->has_visits);
    assert_true((int)(got->visited_each * 2 + 0.5) == 25);
    assert_string_equal(got->device[0].host, "node\n1");
    assert_true(got->failure[4].problem == 0xfedcba9876543210 && got->failure[4].instance == 4);
    assert_string_equal(got->failure[4].reason, p->failure[4].reason);
    snprintf(path, sizeof(path), "%s/progress", dir);
    ks_buf_init(&text);
    assert_int_equal(ks_file_read(path, &text, NULL), 0);
    got->n_done = 1;
    for (size_t n = 0; n < text.len; n += 97) {
        assert_int_equal(ks_file_replace(path, text.data, n, NULL), 0);
        assert_int_equal(ks_progress_read(dir, got, &err), KS_EFORMAT);
        assert_int_equal(got->n_done, 1);
    }
    ks_buf_release(&text);
    temp_dir_remove(dir);
    assert_int_equal(ks_progress_write(p, dir, &err), KS_ENOENT);
    free(got);
    free(p);
}

/* Lines become sparse: a day has some hundred. */
static void test_gaps(void **state)
{
    uint64_t now = 0, n = 0;

    (void)state;
    assert_int_equal(ks_show_gap_ns(0), 5 * S);
    assert_int_equal(ks_show_gap_ns(80 * S), 10 * S);
    for (; now < 86400 * S; n++)
        now += ks_show_gap_ns(now);
    assert_in_range(n, 250, 400);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_lines),   cmocka_unit_test(test_times), cmocka_unit_test(test_bar),
        cmocka_unit_test(test_details), cmocka_unit_test(test_age),   cmocka_unit_test(test_file),
        cmocka_unit_test(test_gaps),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
