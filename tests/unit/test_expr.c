/* SPDX-License-Identifier: MIT */
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

static bool a_name(const void *ctx, const char *name, int64_t *value_out, const char **text_out)
{
    static const struct {
        const char *name;
        int64_t value;
        const char *text;
    } rows[] = { { "m", 8, NULL },           { "n", -3, NULL },
                 { "zero", 0, NULL },        { "big", INT64_MAX, NULL },
                 { "low", INT64_MIN, NULL }, { "p", 1, "packed" },
                 { "order", 2, NULL },       { "c", 5, NULL } };

    (void)ctx;
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++)
        if (strcmp(rows[i].name, name) == 0) {
            *value_out = rows[i].value;
            *text_out = rows[i].text;
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

static void values(void **state)
{
    static const struct {
        const char *text;
        int want;
    } rows[] = {
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
        { "-7 / 2 == -3 and -7 % 2 == -1", 1 },
        { "n == -3 and -n == 3 and - -n == n", 1 },
        { "min(m, 3, n) == -3", 1 },
        { "max(m) == 8 and max(m, 3, n) == 8", 1 },
        { "m * n % 5 == -4", 1 },
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

    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        struct ks_err err = { 0 };
        int got = outcome(rows[i].text, &err);

        if (got != rows[i].want)
            fail_msg("%s: got %d (%s), want %d", rows[i].text, got, err.text, rows[i].want);
    }
}

static void errors_name_the_column(void **state)
{
    static const struct {
        const char *text;
        int want; /* -1: when parsed, -2: when evaluated */
        const char *says;
    } rows[] = {
        { "", -1, "column 1: unexpected end" },
        { "m >= 8 and", -1, "column 11: unexpected end" },
        { "m == )", -1, "column 6: unexpected ')'" },
        { "m = 8", -1, "column 3: write == to compare" },
        { "m == 8 && n", -1, "column 8: write and, or, not" },
        { "!m", -1, "column 1: write and, or, not" },
        { "m == 'x", -1, "column 6: text without closing quote" },
        { "m == 1.5", -1, "column 6: only whole numbers" },
        { "m == 12x", -1, "column 6: only whole numbers" },
        { "99999999999999999999", -1, "column 1: number out of range" },
        { "m m", -1, "column 3: unexpected 'm'" },
        { "(m", -1, "column 3: unexpected end" },
        { "m in 8", -1, "column 6: unexpected '8'" },
        { "m in []", -1, "column 7: unexpected ']'" },
        { "m in [1", -1, "column 8: unexpected end" },
        { "m in [1] == 1", -1, "column 10: unexpected '=='" },
        { "m not 8", -1, "column 7: unexpected '8'" },
        { "and", -1, "column 1: unexpected 'and'" },
        { "sqrt(m)", -1, "column 1: unknown function 'sqrt'" },
        { "min()", -1, "column 5: unexpected ')'" },
        { "p.m == 1", -1, "column 1: only c. may stand before a name" },
        { "c.1", -1, "column 1: only c." },
        { "m ; n", -1, "column 3: unexpected ';'" },
        { "m \xc3\xa4", -1, "column 3: unexpected 'byte that is no ASCII text'" },
        { "m == 9 or x2 == 2", -2, "column 11: unknown name 'x2'" },
        { "p > 'a'", -2, "column 3: texts have no order" },
        { "p == 1", -2, "column 3: a text is compared with a number" },
        { "m in ['a']", -2, "column 3: a text is compared with a number" },
        { "p and true", -2, "column 1: a number is wanted here" },
        { "p", -2, "column 1: a number is wanted here" },
        { "-p", -2, "column 2: a number is wanted here" },
        { "min(m, p)", -2, "column 8: a number is wanted here" },
        { "1 / zero", -2, "column 3: division by zero" },
        { "1 % zero", -2, "column 3: division by zero" },
        { "big + 1", -2, "column 5: number out of range" },
        { "low - 1", -2, "column 5: number out of range" },
        { "big * 2", -2, "column 5: number out of range" },
        { "low / -1", -2, "column 5: number out of range" },
        { "-low", -2, "column 1: number out of range" },
    };

    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        struct ks_err err = { 0 };
        int got = outcome(rows[i].text, &err);

        if (got != rows[i].want || !strstr(err.text, rows[i].says))
            fail_msg("'%s': got %d '%s', want %d '%s'", rows[i].text, got, err.text, rows[i].want,
                     rows[i].says);
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
        { "1+", "1", "too many terms", 1000, -1 },
        { "1+", "1", "", 200, 1 },
        { "1 < (", "1", "nested too deeply", 100, -1 },
        { "1111111111", "", "number out of range", 100, -1 },
        { "aaaaaaaaaa", "", "longer than", 500, -1 },
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
    static const char *const names[] = { "m", "n", "order", "p", NULL };
    static const struct {
        const char *text;
        const char *says; /* NULL: passes */
    } rows[] = {
        { "m == 8 or 1 / 0", NULL },
        { "p == 'indirect' or p in ['packed', 'indirect']", NULL },
        { "true or ordr == 1", "column 9: unknown name 'ordr', did you mean 'order'" },
        { "true or p == 'pakced'",
          "column 14: 'pakced' is no value of 'p', did you mean 'packed'" },
        { "false and 'x' != p", "column 11: 'x' is no value of 'p'" },
        { "p in ['packed', 'dott']", "column 17: 'dott' is no value of 'p'" },
        { "true or p == 1", "column 11: a text is compared with a number" },
        { "true or p < 'packed'", "column 11: texts have no order" },
        { "true or m in [1, 'a']", "column 11: a text is compared with a number" },
        { "true or min(1, p)", "column 16: a number is wanted" },
        { "true or -p", "column 10: a number is wanted" },
        { "p", "column 1: a number is wanted" },
    };

    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        struct ks_err err = { 0 };
        struct ks_expr *e = NULL;
        int rc;

        assert_int_equal(ks_expr_parse(rows[i].text, &e, &err), 0);
        rc = ks_expr_check(e, a_name, a_value, names, NULL, &err);
        ks_expr_free(e);
        if (rc != (rows[i].says ? KS_EINVAL : 0) ||
            (rows[i].says && !strstr(err.text, rows[i].says)))
            fail_msg("'%s': %d '%s'", rows[i].text, rc, err.text);
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
    };

    return cmocka_run_group_tests_name("expr", tests, NULL, NULL);
}
