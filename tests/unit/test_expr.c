/* SPDX-License-Identifier: MIT */
/* test_expr.c - expressions: values, errors with columns, limits, plain forms, names */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
/* cmocka.h wants the four above first. */
#include <cmocka.h>

#include "base/buf.h"
#include "grid/expr.h"

#include <stdio.h>
#include <string.h>

struct known_name {
    const char *name;
    struct ks_expr_value value;
};

static const struct known_name names[] = {
    { "m", { .whole = 8 } },
    { "n", { .whole = -3 } },
    { "zero", { .whole = 0 } },
    { "big", { .whole = INT64_MAX } },
    { "low", { .whole = INT64_MIN } },
    { "order", { .whole = 2 } },
    { "c", { .whole = 5 } },
    { "r", { .kind = KS_EXPR_IS_REAL, .real = 2.5 } },
    { "p", { .kind = KS_EXPR_IS_TEXT, .text = "packed" } },
    { "q", { .kind = KS_EXPR_IS_TEXT, .text = "dot" } },
};

static bool a_name(const void *ctx, const char *name, struct ks_expr_value *out)
{
    (void)ctx;
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++)
        if (strcmp(names[i].name, name) == 0) {
            *out = names[i].value;
            return true;
        }
    return false;
}

/* 0 or 1; -1 refused by the parser, -2 by the evaluation; the text in *err. */
static int outcome(const char *text, struct ks_err *err)
{
    struct ks_expr *e = NULL;
    bool is_true = false;
    int rc = ks_expr_parse(text, &e, err);

    if (rc < 0) {
        assert_null(e);
        assert_int_equal(rc, KS_EINVAL);
        return -1;
    }
    rc = ks_expr_test(e, a_name, NULL, &is_true, err);
    ks_expr_free(e);
    return rc < 0 ? -2 : is_true;
}

static const struct {
    const char *text;
    int want;
} value_rows[] = {
    { "1", 1 },
    { "0", 0 },
    { "true", 1 },
    { "false or true", 1 },
    { "m == 8", 1 },
    { "m != 8", 0 },
    { "m<9 and m>7 and m<=8 and m>=8", 1 },
    { "c.m == 8", 1 },
    { "c == 5 and c.c == 5", 1 },
    { "c.p == 'packed' and p != \"dot\"", 1 },
    { "'packed' == p", 1 },
    { "p in ['dot', 'packed']", 1 },
    { "p not in ['dot', 'packed']", 0 },
    { "m in [1, 2, 4 + 4]", 1 },
    { "not m in [1, 2]", 1 },
    { "not not m", 1 },
    { "not m == 8", 0 },
    { "4 < m < 9", 1 },
    { "4 < m < 8", 0 },
    { "1 == 1 != 2 <= 2", 1 },
    { "3 <= m <= 8 in [8]", 1 },
    { "1 + 2 * 3 == 7", 1 },
    { "(1 + 2) * 3 == 9", 1 },
    { "10 - 2 - 3 == 5", 1 },
    { "24 / 4 / 2 == 3", 1 },
    { "-7 / 2 == -3.5 and 7 / 2 == 3.5", 1 },
    { "7 // 2 == 3 and -7 // 2 == -4 and 7 // -2 == -4 and -7 // -2 == 3", 1 },
    { "7 % 3 == 1 and -7 % 3 == 2 and 7 % -3 == -2 and -7 % -3 == -1", 1 },
    { "-7.5 // 2 == -4 and -7.5 % 2 == 0.5 and 7.5 % -2 == -0.5", 1 },
    { "2 ** 10 == 1024 and -2 ** 2 == -4 and (-2) ** 2 == 4 and 2 ** -1 == 0.5", 1 },
    { "2 ** 3 ** 2 == 512 and 0 ** 0 == 1 and (-1) ** 1000001 == -1", 1 },
    { "(-2) ** 63 == low and 2 ** 62 * 2 - 1 > 0", -2 },
    { "2 * 3 ** 2 == 18 and 2 ** 2 * 3 == 12 and 4 ** 0.5 == 2", 1 },
    { "abs(-3) == 3 and abs(n) == 3 and abs(-2.5) == r and abs(2) == 2", 1 },
    { "1 == 1.0 and 0.1 + 0.2 != 0.3 and 1e3 == 1000 and .5 == 5e-1 and 2. == 2", 1 },
    { "9007199254740993 == 9007199254740992.0", 0 },
    { "9007199254740993 > 9007199254740992.0 and big < 1e19 and low > -1e19", 1 },
    { "True and not False and True == 1 and True + True == 2", 1 },
    { "(m or 3) == 8 and (zero or 3) == 3 and (m and 3) == 3 and (zero and 3) == 0", 1 },
    { "p < 'q' and q < p and min(p, q) == 'dot' and max('a', 'b') == 'b'", 1 },
    { "'ack' in p and 'x' not in p and '' in q and p not in q", 1 },
    { "m in (1, 8) and m in (8,) and m not in () and m not in []", 1 },
    { "(m, p) in [(8, 'dot'), (8, 'packed')] and (m,) not in [(1, 2), ()]", 1 },
    { "(1, 2) != (1, 2, 3) and (1, 2) != (1,) and [] != [1] and () == ()", 1 },
    { "[1, 2] == [1, 2.0] and (1, 2) != (2, 1) and (1, (2, 3)) == (1, (2, 3))", 1 },
    { "min([3, 1, 2]) == 1 and max((1, 2)) == 2 and max([n]) == n and min(1, 2,) == 1", 1 },
    { "3 <= m <= 8 in [8] == [8]", 1 },
    { "+m == 8 and - + -m == 8", 1 },
    { "m == 8 # and 1 / 0", 1 },
    { "n == -3 and -n == 3 and - -n == n", 1 },
    { "min(m, 3, n) == -3", 1 },
    { "max(m, 3, n) == 8", 1 },
    { "m * n % 5 == 1", 1 },
    { "zero and 1 / zero", 0 },
    { "m or 1 / zero", 1 },
    { "false or false and true", 0 },
    { "true or true and false", 1 },
    { "big % -1 == 0 and low % -1 == 0", 1 },
    { "order == 2", 1 },
    { "\tm\n==\r8 ", 1 },
    { "'' == \"\"", 1 },
    { "(m == 8) + (m == 8) == 2", 1 },
};

static void values(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof value_rows / sizeof value_rows[0]; i++) {
        struct ks_err err = { 0 };
        int got = outcome(value_rows[i].text, &err);

        if (got != value_rows[i].want)
            fail_msg("%s: got %d (%s), want %d", value_rows[i].text, got, err.text,
                     value_rows[i].want);
    }
}

static const struct {
    const char *text;
    int want; /* -1: when parsed, -2: when evaluated */
    const char *says;
} error_rows[] = {
    { "", -1, "column 1: unexpected end" },
    { "m >= 8 and", -1, "column 11: unexpected end" },
    { "m == )", -1, "column 6: unexpected ')'" },
    { "m = 8", -1, "column 3: write == to compare" },
    { "m == 8 && n", -1, "column 8: write and, or, not" },
    { "!m", -1, "column 1: write and, or, not" },
    { "m == 'x", -1, "column 6: text without closing quote" },
    { "m == 1.5.2", -1, "column 6: '1.5.2' is not a decimal number" },
    { "m == 12x", -1, "column 6: '12x' is not a decimal number" },
    { "m == 0x10", -1, "column 6: '0x10' is not a decimal number" },
    { "m == 1_000", -1, "column 6: '1_000' is not a decimal number" },
    { "m == 1e", -1, "column 6: '1e' is not a decimal number" },
    { "m == 007", -1, "column 6: number with a leading zero '007'" },
    { "1e999", -1, "column 1: number out of range" },
    { "p == 'a\\n'", -1, "column 8: no backslash" },
    { "p == 'a\nb'", -1, "column 6: text without closing quote" },
    { "99999999999999999999", -1, "column 1: number out of range" },
    { "m m", -1, "column 3: unexpected 'm'" },
    { "(m", -1, "column 3: unexpected end" },
    { "m in 8", -2, "column 6: expected a list or a string after 'in'" },
    { "m in ['a'", -1, "column 10: unexpected end" },
    { "m in [,]", -1, "column 7: unexpected ','" },
    { "m, n", -1, "column 2: unexpected ','" },
    { "m in [1", -1, "column 8: unexpected end" },
    { "m in [8] == 1", -2, "column 10: a list is compared with a single value" },
    { "m not 8", -1, "column 7: unexpected '8'" },
    { "and", -1, "column 1: unexpected 'and'" },
    { "sqrt(m)", -1, "column 1: unknown function 'sqrt'" },
    { "min()", -1, "column 1: min() takes two or more values" },
    { "m + max(m)", -1, "column 5: max() takes two or more values" },
    { "max([])", -1, "column 1: max() takes two or more values" },
    { "abs(1, 2)", -1, "column 1: abs() takes one number" },
    { "__import__('os')", -1, "column 1: unknown function '__import__'" },
    { "m.real", -1, "column 1: only c. may stand before a name, not 'm.'" },
    { "m if n else 3", -1, "column 3: unexpected 'if'" },
    { "lambda: 1", -1, "column 7: unexpected ':'" },
    { "[m for m in [1]]", -1, "column 4: unexpected 'for'" },
    { "m[0]", -1, "column 2: unexpected '['" },
    { "m is 8", -1, "column 3: unexpected 'is'" },
    { "m & 1", -1, "column 3: write and, or, not instead of '&'" },
    { "c.and", -2, "column 1: unknown name 'and'" },
    { "c.min(1, 2)", -1, "column 6: unexpected '('" },
    { "p.m == 1", -1, "column 1: only c. may stand before a name" },
    { "c.1", -1, "column 1: only c." },
    { "m ; n", -1, "column 3: unexpected ';'" },
    { "m \xc3\xa4", -1, "column 3: unexpected byte outside ASCII" },
    { "m == 9 or x2 == 2", -2, "column 11: unknown name 'x2'" },
    { "p > 1", -2, "column 3: a string is compared with a number" },
    { "[1] < [2]", -2, "column 5: lists cannot be ordered: compare with == or !=" },
    { "(1, 2) == [1, 2]", -2, "column 8: a list [..] is compared with a tuple (..)" },
    { "min(m, [1])", -2, "column 1: a list is compared with a single value" },
    { "[1]", -2, "column 1: expected a number, found a list" },
    { "p == 1", -2, "column 3: a string is compared with a number" },
    { "m in ['a']", -2, "column 3: a string is compared with a number" },
    { "p and true", -2, "column 1: expected a number" },
    { "p", -2, "column 1: expected a number" },
    { "-p", -2, "column 2: expected a number" },
    { "min(m, p)", -2, "column 1: a string is compared with a number" },
    { "p + p", -2, "column 1: expected a number" },
    { "1 // zero", -2, "column 3: division by zero" },
    { "1.5 / zero", -2, "column 5: division by zero" },
    { "1.5 // zero", -2, "column 5: division by zero" },
    { "1 % 0.0", -2, "column 3: division by zero" },
    { "zero ** -1", -2, "column 6: division by zero" },
    { "(-8) ** 0.5", -2, "column 6: a negative number has no real power" },
    { "10 ** 19", -2, "column 4: number out of range" },
    { "10.0 ** 400", -2, "column 6: number out of range" },
    { "1e308 * 10", -2, "column 7: number out of range" },
    { "abs(low)", -2, "column 1: number out of range" },
    { "big / 2", -2, "column 5: / takes whole numbers up to 2^53" },
    { "1 / zero", -2, "column 3: division by zero" },
    { "1 % zero", -2, "column 3: division by zero" },
    { "big + 1", -2, "column 5: number out of range" },
    { "low - 1", -2, "column 5: number out of range" },
    { "big * 2", -2, "column 5: number out of range" },
    { "low // -1", -2, "column 5: number out of range" },
    { "-low", -2, "column 1: number out of range" },
};

static void errors_name_the_column(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof error_rows / sizeof error_rows[0]; i++) {
        struct ks_err err = { 0 };
        int got = outcome(error_rows[i].text, &err);

        if (got != error_rows[i].want || !strstr(err.text, error_rows[i].says))
            fail_msg("'%s': got %d '%s', want %d '%s'", error_rows[i].text, got, err.text,
                     error_rows[i].want, error_rows[i].says);
    }
}

static void repeat(struct ks_buf *to, const char *what, size_t n)
{
    for (size_t i = 0; i < n; i++)
        ks_buf_printf(to, "%s", what);
}

static void depth_and_size_are_limited(void **state)
{
    static const struct {
        const char *what, *end, *says;
        size_t n;
        int want;
    } rows[] = {
        { "(", "1", "nested too deeply", 1000, -1 },
        { "-", "1", "nested too deeply", 1000, -1 },
        { "not ", "1", "nested too deeply", 500, -1 },
        { "1+", "1", "too many terms", 3000, -1 },
        { "1+", "1", "", 200, 1 },
        { "1 < (", "1", "nested too deeply", 100, -1 },
        { "1111111111", "", "number out of range", 100, -1 },
        { "[", "1", "nested too deeply", 1000, -1 },
        { "2**", "1", "nested too deeply", 1000, -1 },
        { "min(1,", "1", "nested too deeply", 1000, -1 },
        { "aaaaaaaaaa", "", "longer than", 2000, -1 },
    };

    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        struct ks_err err = { 0 };
        struct ks_buf text;
        int got;

        ks_buf_init(&text);
        repeat(&text, rows[i].what, rows[i].n);
        ks_buf_printf(&text, "%s", rows[i].end);
        got = outcome(ks_buf_text(&text), &err);
        ks_buf_release(&text);
        if (got != rows[i].want || !strstr(err.text, rows[i].says))
            fail_msg("%zu x '%s': got %d '%s'", rows[i].n, rows[i].what, got, err.text);
    }
}

/* The middle of a chain belongs to two comparisons: nested chains must not double the work each
 * time (2^50 steps would not end). */
static void nested_chains_are_linear(void **state)
{
    struct ks_err err = { 0 };
    struct ks_buf text;

    (void)state;
    ks_buf_init(&text);
    repeat(&text, "1 <= (", 50);
    repeat(&text, "1", 1);
    repeat(&text, ") <= 1", 50);
    assert_int_equal(outcome(ks_buf_text(&text), &err), 1);
    ks_buf_release(&text);
}

static bool a_value(const void *ctx, const char *name, const char *text,
                    const char *const **known_out)
{
    static const char *const known[] = { "indirect", "packed", NULL };

    (void)ctx;
    (void)name;
    *known_out = known;
    return strcmp(text, "indirect") == 0 || strcmp(text, "packed") == 0;
}

static void check_sees_every_branch(void **state)
{
    static const char *const words[] = { "m", "n", "order", "p", NULL };
    static const struct {
        const char *text;
        const char *says; /* NULL: passes */
    } rows[] = {
        { "m == 8 or 1 / 0", NULL },
        { "p == 'indirect' or p in ['packed', 'indirect']", NULL },
        { "true or ordr == 1",
          "column 9: unknown name 'ordr', did you mean 'order'; known are m, n, order, p" },
        { "true or p == 'pakced'",
          "column 14: 'pakced' is not a value of 'p', did you mean 'packed'" },
        { "false and 'x' != p", "column 11: 'x' is not a value of 'p'" },
        { "p in ['packed', 'dott']", "column 17: 'dott' is not a value of 'p'" },
        { "true or p == 1", "column 11: a string is compared with a number" },
        { "true or p < 3", "column 11: a string is compared with a number" },
        { "p < 'zzz' or 'x' in p", NULL },
        { "(m, p) in [(1, 'packed'), (2, 'indirect')] or r > 1.5", NULL },
        { "(m, p) in [(1, 'packed'), (2, 'indirct')]",
          "column 31: 'indirct' is not a value of 'p', did you mean 'indirect'" },
        { "(m, p) in [(1, 2)]", "column 8: a string is compared with a number" },
        { "m in 3", "column 6: expected a list or a string" },
        { "true or m in p", "column 11: a string is compared with a number" },
        { "true or [1] < [2]", "column 13: lists cannot be ordered" },
        { "true or (1,) == [1]", "column 14: a list [..] is compared with a tuple" },
        { "true or max(1, [1])", "column 9: a list is compared with a single value" },
        { "true or max(p, 'a') == 1", "column 21: a string is compared with a number" },
        { "true or m in [1, 'a']", "column 11: a string is compared with a number" },
        { "true or min(1, p)", "column 9: a string is compared with a number" },
        { "true or -p", "column 10: expected a number" },
        { "p", "column 1: expected a number" },
    };

    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        struct ks_err err = { 0 };
        struct ks_expr *e = NULL;
        int rc;

        assert_int_equal(ks_expr_parse(rows[i].text, &e, &err), 0);
        rc = ks_expr_check(e, a_name, a_value, words, NULL, &err);
        ks_expr_free(e);
        if (rc != (rows[i].says ? KS_EINVAL : 0) ||
            (rows[i].says && !strstr(err.text, rows[i].says)))
            fail_msg("'%s': %d '%s'", rows[i].text, rc, err.text);
    }
}

static void places_in_files(void **state)
{
    static const struct {
        const char *text, *says;
    } rows[] = {
        { "m ==\n  8 and\n  x2 == 1", "f.txt:5:3: unknown name 'x2'" },
        { "m == )", "f.txt:3:12: unexpected ')'" },
        { "m ==\n)", "f.txt:4:1: unexpected ')'" },
        { "(m ==\n8", "f.txt:4:2: unexpected end" },
    };
    const struct ks_expr_place place = { "f.txt", 3, 7 };

    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        struct ks_err err = { 0 };
        struct ks_expr *e = NULL;
        bool is_true;
        int rc = ks_expr_parse_at(rows[i].text, &place, &e, &err);

        if (rc == 0)
            rc = ks_expr_test(e, a_name, NULL, &is_true, &err);
        ks_expr_free(e);
        assert_int_equal(rc, KS_EINVAL);
        assert_string_equal(err.text, rows[i].says);
    }
}

static void names_are_listed(void **state)
{
    static const char *const want[] = { "m", "n", "p", "m", NULL };
    struct ks_err err = { 0 };
    struct ks_expr *e = NULL;
    int32_t at = 0;

    (void)state;
    assert_int_equal(ks_expr_parse("min(m, n + 1) < 3 or 'x' in c.p and m in [1]", &e, &err), 0);
    for (size_t i = 0; want[i]; i++)
        assert_string_equal(ks_expr_next_name(e, &at), want[i]);
    assert_null(ks_expr_next_name(e, &at));
    ks_expr_free(e);
}

static const char *same_name(const void *ctx, const char *name)
{
    (void)ctx;
    return strcmp(name, "zero") == 0 ? NULL : name;
}

/* The plain form of an expression has its value; "" where it has none. */
static void plain_forms(void **state)
{
    static const struct {
        const char *text;
        bool is_negated;
        const char *want;
    } rows[] = {
        { "c.m >= 8 and 4 <= n < 9", false, "((m >= 8) and ((4 <= n) and (n < 9)))" },
        { "not m == 8", true, "(m == 8)" },
        { "m == 8", true, "(not (m == 8))" },
        { "m not in [1, 2]", false, "(not ((m == 1) or (m == 2)))" },
        { "m in ()", false, "(1 == 0)" },
        { "(m, p) in [(8, 'a'), (1, \"b'\")]", false,
          "(((m == 8) and (p == 'a')) or ((m == 1) and (p == \"b'\")))" },
        { "(m, n) != (1, 2)", false, "(not ((m == 1) and (n == 2)))" },
        { "(m, n) == (1, 2, 3)", false, "((m == 1) and (n == 2) and 1 == 0)" },
        { "() == ()", false, "(1 == 1)" },
        { "abs(n - 1) // 2 > -3 % 2.0", false, "((max((n - 1), (-(n - 1))) // 2) > ((-3) % 2.0))" },
        { "min([m, n, 3]) ** +2 / 1e300", false, "((min(m, n, 3) ** 2) / 1e+300)" },
        { "max((m,)) > True", false, "(m > 1)" },
        { "'x' in p", false, "" },
        { "zero > 1", false, "" },
        { "m == 8 or m == 1234567", false, "" },
    };

    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        struct ks_err err = { 0 };
        struct ks_expr *e = NULL;
        struct ks_buf text;
        bool is_said;
        size_t most = strstr(rows[i].text, "1234567") ? 20 : 200;

        ks_buf_init(&text);
        assert_int_equal(ks_expr_parse(rows[i].text, &e, &err), 0);
        is_said = ks_expr_print_plain(e, rows[i].is_negated, same_name, NULL, most, &text);
        if (is_said != (rows[i].want[0] != '\0') ||
            (is_said && strcmp(ks_buf_text(&text), rows[i].want) != 0))
            fail_msg("'%s': %d '%s'", rows[i].text, is_said, ks_buf_text(&text));
        if (is_said)
            assert_int_equal(outcome(ks_buf_text(&text), &err), rows[i].is_negated
                                                                    ? !outcome(rows[i].text, &err)
                                                                    : outcome(rows[i].text, &err));
        ks_buf_release(&text);
        ks_expr_free(e);
    }
}

static void numbers(void **state)
{
    static const struct {
        const char *text;
        int rc;
        int64_t want;
        const char *says;
    } rows[] = {
        { "m * 3 - 1", 0, 23, NULL },
        { "m / 2", 0, 4, NULL },
        { "m > 3", 0, 1, NULL },
        { "big", 0, INT64_MAX, NULL },
        { "-2.0 ** 53", 0, -9007199254740992, NULL },
        { "m / 3", KS_EINVAL, 0, "column 3: expected a whole number" },
        { "2.0 ** 54", KS_EINVAL, 0, "column 5: expected a whole number" },
        { "p", KS_EINVAL, 0, "column 1: expected a number, found a string" },
        { "m // zero", KS_EINVAL, 0, "column 3: division by zero" },
    };

    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        struct ks_err err = { 0 };
        struct ks_expr *e = NULL;
        int64_t v = 0;
        int rc;

        assert_int_equal(ks_expr_parse(rows[i].text, &e, &err), 0);
        rc = ks_expr_value(e, a_name, NULL, &v, &err);
        ks_expr_free(e);
        if (rc != rows[i].rc || v != rows[i].want ||
            (rows[i].says && !strstr(err.text, rows[i].says)))
            fail_msg("'%s': %d %lld '%s'", rows[i].text, rc, (long long)v, err.text);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(values),
        cmocka_unit_test(errors_name_the_column),
        cmocka_unit_test(depth_and_size_are_limited),
        cmocka_unit_test(nested_chains_are_linear),
        cmocka_unit_test(check_sees_every_branch),
        cmocka_unit_test(plain_forms),
        cmocka_unit_test(numbers),
        cmocka_unit_test(places_in_files),
        cmocka_unit_test(names_are_listed),
    };

    return cmocka_run_group_tests_name("expr", tests, NULL, NULL);
}
