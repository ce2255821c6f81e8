/* SPDX-License-Identifier: MIT */
/* test_text.c - what is printed of texts from outside: text.h, the log, and standard descriptors */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
/* cmocka.h wants the four above first. */
#include <cmocka.h>

#include "base/log.h"
#include "base/process.h"
#include "base/text.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

struct escape {
    const char *text, *none, *keep, *indent;
};

static const struct escape escapes[] = {
    { "plain \\ text", "plain \\ text", "plain \\ text", "plain \\ text" },
    { "\x1b[2J", "\\x1b[2J", "\\x1b[2J", "\\x1b[2J" },
    { "a\nb\n\n", "a\\nb\\n\\n", "a\nb\n\n", "a\n    b" },
    { "a\tb\r", "a\\tb\\r", "a\tb\\r", "a\tb\\r" },
    { "\x7f\x08", "\\x7f\\x08", "\\x7f\\x08", "\\x7f\\x08" },
    { "\xc2\x9b"
      "31m",
      "\\xc2\\x9b31m", "\\xc2\\x9b31m", "\\xc2\\x9b31m" }, /* CSI as one character */
    { "\xe2\x80\xae", "\\xe2\\x80\\xae", "\\xe2\\x80\\xae", "\\xe2\\x80\\xae" }, /* right to left */
    { "\xff\xc0\x80", "\\xff\\xc0\\x80", "\\xff\\xc0\\x80", "\\xff\\xc0\\x80" }, /* not UTF-8 */
    { "\xc3\xa4\xe2\x82\xac", "\xc3\xa4\xe2\x82\xac", "\xc3\xa4\xe2\x82\xac",
      "\xc3\xa4\xe2\x82\xac" },
    { "", "", "", "" },
};

static void check_escape(const char *text, enum ks_line_ends lines, const char *want)
{
    char fixed[128], stream[128] = "";
    FILE *f = fmemopen(stream, sizeof(stream), "w");
    struct ks_buf b;

    ks_buf_init(&b);
    ks_text_put(&b, text, strlen(text), lines);
    assert_string_equal(ks_buf_text(&b), want);
    assert_int_equal(ks_text_escape(fixed, sizeof(fixed), text, strlen(text), lines), strlen(want));
    assert_string_equal(fixed, want);
    assert_non_null(f);
    assert_true(ks_text_write(f, text, strlen(text), lines));
    fclose(f);
    assert_string_equal(stream, want);
    ks_buf_release(&b);
}

static void control_characters_are_escaped(void **state)
{
    char small[6];

    (void)state;
    for (size_t i = 0; i < sizeof(escapes) / sizeof(escapes[0]); i++) {
        check_escape(escapes[i].text, KS_LINES_NONE, escapes[i].none);
        check_escape(escapes[i].text, KS_LINES_KEEP, escapes[i].keep);
        check_escape(escapes[i].text, KS_LINES_INDENT, escapes[i].indent);
    }
    /* cut, but never within an escape */
    assert_int_equal(ks_text_escape(small, sizeof(small), "ab\x1b", 3, KS_LINES_NONE), 2);
    assert_string_equal(small, "ab");
    assert_int_equal(ks_text_escape(small, sizeof(small), "a\0b", 3, KS_LINES_NONE), 5);
    assert_string_equal(small, "a\\x00");
}

static void a_csv_field_is_one_line(void **state)
{
    static const char *const rows[][2] = {
        { "plain", "plain" },
        { "a,b", "\"a,b\"" },
        { "a\"b", "\"a\"\"b\"" },
        { "a\nb,1", "\"a\\nb,1\"" },
        { "a\r\nb", "a\\r\\nb" },
        { " a", "\" a\"" },
        { "\x1b[0m", "\\x1b[0m" },
        { "", "" },
        { "\"\n\"", "\"\"\"\\n\"\"\"" },
    };

    (void)state;
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        struct ks_buf b;

        ks_buf_init(&b);
        ks_csv_put(&b, rows[i][0]);
        assert_string_equal(ks_buf_text(&b), rows[i][1]);
        ks_buf_release(&b);
    }
}

static void a_markdown_cell_is_one_line(void **state)
{
    static const char *const rows[][2] = {
        { "plain_name é", "plain_name é" },
        { "a|b\\c", "a\\|b\\\\c" },
        { "<b>`*[x]", "&lt;b>\\`\\*\\[x\\]" },
        { "a\nb\x1b\xff", "a\\\\nb\\\\x1b\\\\xff" },
        { "a&lt;b", "a&amp;lt;b" },
        { "__half2 f__x_ (_y_) ~~z", "\\_\\_half2 f__x_ (\\_y_) \\~\\~z" },
        { "", "" },
    };

    (void)state;
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        struct ks_buf b;

        ks_buf_init(&b);
        ks_markdown_put(&b, rows[i][0]);
        assert_string_equal(ks_buf_text(&b), rows[i][1]);
        ks_buf_release(&b);
    }
}

/* What bash makes of the word that we print. */
static void check_shell(const char *word)
{
    struct ks_buf command;
    char got[256] = "";
    FILE *p;

    ks_buf_init(&command);
    ks_shell_words(&command,
                   (const char *[]){ "exec", "bash", "-c", "printf %s \"$1\"", "sh", word, NULL });
    for (const char *c = ks_buf_text(&command); *c; c++)
        assert_true((unsigned char)*c >= 0x20 && *c != 0x7f);
    assert_int_equal(setenv("KS_LINE", ks_buf_text(&command), 1), 0);
    p = popen("exec bash -c \"$KS_LINE\"", "r");
    assert_non_null(p);
    got[fread(got, 1, sizeof(got) - 1, p)] = '\0';
    assert_int_equal(pclose(p), 0);
    assert_string_equal(got, word);
    ks_buf_release(&command);
}

static void a_word_stays_a_word(void **state)
{
    static const char *const words[] = { "plain-1.0/x",
                                         "",
                                         "two words",
                                         "x';touch P;'",
                                         "$(touch P)`touch P`\"$HOME\"",
                                         "a\\b*?[x]{1,2}~!#&|<>;()",
                                         "line\nwith\ttabs\r\x1b[31m\\'\x7f",
                                         "\x01"
                                         "1\xff\xc2\x9b"
                                         "7",
                                         "\xc3\xa4 \xe2\x82\xac" };

    (void)state;
    for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++)
        check_shell(words[i]);
}

static void a_text_forges_no_line_of_the_log(void **state)
{
    char text[512] = "";
    FILE *f = fmemopen(text, sizeof(text), "w");
    struct ks_log log = { .to = f, .level = KS_INFO, .rank = 0 };
    const char *second;

    (void)state;
    assert_non_null(f);
    ks_logf(&log, KS_WARN, "instance '%s'", "x\n2026-01-01T00:00:00Z error 0 forged\x1b[2J\n");
    fclose(f);
    assert_null(strchr(text, '\x1b'));
    second = strchr(text, '\n') + 1;
    assert_int_equal(strncmp(second, "    2026", 8), 0);
    assert_non_null(strstr(second, "forged\\x1b[2J"));
}

/* In a process that has none of the three, the next file must not get one of their numbers. */
static void standard_descriptors_are_filled(void **state)
{
    struct stat null, st;
    int status;
    pid_t pid;

    (void)state;
    assert_int_equal(stat("/dev/null", &null), 0);
    fflush(NULL);
    pid = fork();
    if (pid == 0) {
        int bad = 0;

        for (int fd = 0; fd < 3; fd++)
            close(fd);
        ks_process_fill_fds();
        for (int fd = 0; fd < 3; fd++)
            bad |= fstat(fd, &st) < 0 || st.st_rdev != null.st_rdev;
        bad |= open("/proc/self/stat", O_RDONLY) < 3;
        _exit(bad);
    }
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_int_equal(status, 0);
    assert_true(ks_process_space() > 0);
}

static void a_text_ends(void **state)
{
    (void)state;
    assert_true(ks_text_ends_in("a.json.gz", ".json.gz"));
    assert_true(ks_text_ends_in(".json", ".json"));
    assert_false(ks_text_ends_in("a.json.gz", ".json"));
    assert_false(ks_text_ends_in("json", ".json"));
    assert_true(ks_text_ends_in("", ""));
}

/* Pieces of every size: the tail is always the end of what came. */
static void a_tail_keeps_the_end(void **state)
{
    static const char all[] = "abcdefghijklmnopqrstuvwxyz";

    (void)state;
    for (size_t step = 1; step <= 26; step++) {
        char tail[8];
        uint32_t n = 0;

        for (size_t at = 0; at < 26; at += step) {
            const size_t end = at + step < 26 ? at + step : 26, want = end < 8 ? end : 8;

            n = ks_tail_keep(tail, n, sizeof(tail), all + at, end - at);
            assert_int_equal(n, want);
            assert_memory_equal(tail, all + end - want, want);
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(control_characters_are_escaped),
        cmocka_unit_test(a_csv_field_is_one_line),
        cmocka_unit_test(a_markdown_cell_is_one_line),
        cmocka_unit_test(a_word_stays_a_word),
        cmocka_unit_test(a_text_ends),
        cmocka_unit_test(a_tail_keeps_the_end),
        cmocka_unit_test(a_text_forges_no_line_of_the_log),
        cmocka_unit_test(standard_descriptors_are_filled),
    };

    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests_name("text", tests, NULL, NULL);
}
