/* SPDX-License-Identifier: MIT */
/* test_lines.c - plain lines of words: they come back, mistakes are placed */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
/* cmocka.h wants the four above first. */
#include <cmocka.h>

#include "base/lines.h"

#include <stdio.h>
#include <string.h>

/* The lines with a first and a last one. */
static void seal(struct ks_buf *b, const char *lines)
{
    ks_buf_init(b);
    ks_lines_begin(b, "test", 2);
    ks_buf_put(b, lines, strlen(lines));
    ks_lines_finish(b);
}

static void words_come_back(void **state)
{
    static const char *const words[] = { "plain", "",     " ",          "a b",         "\"",
                                         "\\",    "\n\t", "\x7f\x01",   "caf\xc3\xa9", "x=1",
                                         "end",   "\\n",  "a\"b\\c\nd", "-",           "'" };
    enum { N = sizeof words / sizeof words[0] };
    struct ks_err err = { 0 };
    struct ks_lines l;
    struct ks_buf b;

    (void)state;
    ks_buf_init(&b);
    ks_lines_begin(&b, "test", 2);
    ks_lines_key(&b, "words");
    for (size_t i = 0; i < N; i++)
        ks_lines_word(&b, words[i]);
    ks_lines_end_line(&b);
    ks_lines_put(&b, "one", words[12]);
    ks_lines_key(&b, "numbers");
    ks_lines_number(&b, INT64_MIN);
    ks_lines_number(&b, INT64_MAX);
    ks_lines_end_line(&b);
    ks_lines_put_number(&b, "empty", 0);
    ks_lines_finish(&b);
    assert_int_equal(ks_lines_open(&l, ks_buf_text(&b), b.len, "t", "test", 2, &err), 0);
    assert_true(ks_lines_expect(&l, "words", N));
    for (size_t i = 0; i < N; i++)
        assert_string_equal(ks_lines_text(&l, i), words[i]);
    ks_lines_next(&l);
    assert_true(ks_lines_expect(&l, "one", 1));
    assert_string_equal(ks_lines_text(&l, 0), words[12]);
    ks_lines_next(&l);
    assert_true(ks_lines_int(&l, 0, INT64_MIN, 0) == INT64_MIN);
    assert_true(ks_lines_int(&l, 1, 0, INT64_MAX) == INT64_MAX);
    ks_lines_next(&l);
    assert_true(ks_lines_is(&l, "empty"));
    ks_lines_next(&l);
    assert_false(ks_lines_is(&l, "end"));
    assert_null(l.key);
    assert_int_equal(l.rc, 0);
    ks_lines_close(&l);
    ks_buf_release(&b);
}

static void opening_fails(const char *text, size_t n, const char *want)
{
    struct ks_err err = { 0 };
    struct ks_lines l;
    int rc = ks_lines_open(&l, text, n, "t", "test", 2, &err);

    if (rc != KS_EFORMAT || l.rc != rc || !strstr(err.text, want))
        fail_msg("'%.30s': %d '%s', wanted '%s'", text, rc, err.text, want);
    assert_null(l.key);
    ks_lines_next(&l);
    assert_null(l.key);
    ks_lines_close(&l);
}

static void only_whole_texts_are_read(void **state)
{
    struct ks_buf b;

    (void)state;
    seal(&b, "a 1\nb 2\n");
    for (size_t n = 0; n < b.len; n++) /* cut anywhere */
        opening_fails(ks_buf_text(&b), n, "t: ");
    for (size_t i = 7; i < b.len; i++) { /* a changed byte */
        b.data[i] ^= 1;
        opening_fails(ks_buf_text(&b), b.len, "t: ");
        b.data[i] ^= 1;
    }
    ks_buf_put(&b, "c 3\n", 4);
    opening_fails(ks_buf_text(&b), b.len, "t: cut off: its last line is not 'end DIGEST'");
    ks_buf_release(&b);
    opening_fails("", 0, "t: the first line must begin with 'test'");
    opening_fails("other 2\n", 8, "t: the first line must begin with 'test'");
    opening_fails("test 3\nend 0123456789abcdef\n", 28,
                  "t: version 3 of test; this program reads 2");
    opening_fails("test 2222222222222222\n", 22, "version 2222222222 of test");
    opening_fails("test 2\n\0", 8, "t: contains a NUL byte");
}

static void mistakes_are_placed(void **state)
{
    static const struct {
        const char *line, *want;
    } rows[] = {
        { "", "t:2: a word that is empty or contains" },
        { " a", "t:2: a word that is empty or contains" },
        { "a  b", "t:2: a word that is empty or contains" },
        { "a ", "t:2: the line ends with a blank" },
        { "a b\"",
          "t:2: a word that is empty or contains blanks, quotes or backslashes must be quoted" },
        { "a b\\", "t:2: a word that is empty or contains" },
        { "a b\tc", "t:2: a word that is empty or contains" },
        { "a \"b", "t:2: a word has no closing quote" },
        { "a \"b\\", "t:2: a backslash must be followed by" },
        { "a \"\\q\"", "t:2: a backslash must be followed by" },
        { "a \"\\x4\"", "t:2: a backslash must be followed by" },
        { "a \"\\x00\"", "t:2: a backslash must be followed by" },
        { "a \"b\"c", "t:2: a blank must follow a closing quote" },
        { "a \"\t\"", "t:2: a word contains the control character 0x09" },
        { "b 1 2 3", "t:2: expected a line 'a', found 'b'" },
        { "a 1 2", "t:2: 'a' has 2 words, expected 3" },
        { "a 1 x 3", "t:2: 'x' is not a whole number" },
        { "a 1 - 3", "t:2: '-' is not a whole number" },
        { "a 1 9223372036854775808 3", "t:2: 9223372036854775808 is not from 0 to 5" },
        { "a 1 6 3", "t:2: 6 is not from 0 to 5" },
        { "a 1 -1 3", "t:2: -1 is not from 0 to 5" },
        { "a 1 2 0123456789abcde", "t:2: '0123456789abcde' is not 16 hex digits" },
        { "a longer 2 0123456789abcdef", "t:2: 'longer' has more than 5 characters" },
        { "a short 2 0123456789abcdef", "t:2: expected a line 'b', found the end of the file" },
    };

    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        struct ks_err err = { 0 };
        struct ks_lines l;
        struct ks_buf b;
        char line[64], text[6] = "";

        snprintf(line, sizeof line, "%s\n", rows[i].line);
        seal(&b, line);
        ks_lines_open(&l, ks_buf_text(&b), b.len, "t", "test", 2, &err);
        ks_lines_expect(&l, "a", 3);
        ks_lines_int(&l, 1, 0, 5);
        ks_lines_id(&l, 2);
        ks_lines_copy(&l, 0, text, sizeof text);
        ks_lines_next(&l);
        assert_false(ks_lines_expect(&l, "b", 1));
        if (l.rc != KS_EFORMAT || strncmp(err.text, rows[i].want, strlen(rows[i].want)) != 0)
            fail_msg("'%s': %d '%s', wanted '%s'", rows[i].line, l.rc, err.text, rows[i].want);
        assert_int_equal(ks_lines_int(&l, 0, 1, 5), 0);
        assert_string_equal(ks_lines_text(&l, 0), "");
        ks_lines_close(&l);
        ks_buf_release(&b);
    }
}

static void words_are_counted(void **state)
{
    struct ks_err err = { 0 };
    struct ks_lines l;
    struct ks_buf b;

    (void)state;
    for (int n = KS_LINES_WORDS; n <= KS_LINES_WORDS + 1; n++) {
        ks_buf_init(&b);
        ks_lines_begin(&b, "test", 2);
        ks_lines_key(&b, "a");
        for (int i = 0; i < n; i++)
            ks_lines_number(&b, i);
        ks_lines_end_line(&b);
        ks_lines_finish(&b);
        assert_int_equal(ks_lines_open(&l, ks_buf_text(&b), b.len, "t", "test", 2, &err),
                         n == KS_LINES_WORDS ? 0 : KS_EFORMAT);
        if (n > KS_LINES_WORDS)
            assert_string_equal(err.text, "t:2: more than 64 words");
        ks_lines_close(&l);
        ks_buf_release(&b);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(words_come_back),
        cmocka_unit_test(only_whole_texts_are_read),
        cmocka_unit_test(mistakes_are_placed),
        cmocka_unit_test(words_are_counted),
    };

    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests_name("lines", tests, NULL, NULL);
}
