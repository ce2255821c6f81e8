/* SPDX-License-Identifier: MIT */
/* test_expr_python.c - expressions mean what they mean in Python: random ones, evaluated by both */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
/* cmocka.h wants the four above first. */
#include <cmocka.h>

#include "base/buf.h"
#include "base/hash.h"
#include "grid/expr.h"
#include "tests/unit/temp_dir.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static bool a_name(const void *ctx, const char *name, struct ks_expr_value *out)
{
    static const struct {
        const char *name;
        struct ks_expr_value value;
    } rows[] = { /* as in `python` below */
                 { "m", { .whole = 8 } },
                 { "n", { .whole = -3 } },
                 { "zero", { .whole = 0 } },
                 { "big", { .whole = INT64_MAX } },
                 { "order", { .whole = 2 } },
                 { "r", { .kind = KS_EXPR_IS_REAL, .real = 2.5 } },
                 { "p", { .kind = KS_EXPR_IS_TEXT, .text = "packed" } },
                 { "q", { .kind = KS_EXPR_IS_TEXT, .text = "dot" } }
    };

    (void)ctx;
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++)
        if (strcmp(rows[i].name, name) == 0) {
            *out = rows[i].value;
            return true;
        }
    return false;
}

/* Random expressions of the whole language; each production is valid wherever it lands or wrong in
 * Python, too. */
struct random_text {
    uint64_t state;
    struct ks_buf text;
};

static void put_one(struct random_text *r, const char *const *words, size_t n)
{
    ks_buf_printf(&r->text, "%s", words[ks_rng_below(&r->state, n)]);
}
#define PUT_ONE(r, words) put_one((r), (words), sizeof(words) / sizeof((words)[0]))

static void put_number(struct random_text *r, int depth);
static void put_truth(struct random_text *r, int depth);

static void put_leaf(struct random_text *r)
{
    static const char *const leaves[] = {
        "0",   "1",    "2",     "3",     "5",     "7",  "10",         "64",  "1024",
        "0.5", ".25",  "2.",    "1e3",   "1.5e1", "m",  "n",          "r",   "zero",
        "c.m", "True", "False", "order", "c.r",   "00", "4294967296", "big",
    };

    PUT_ONE(r, leaves);
}

static void put_text(struct random_text *r)
{
    static const char *const texts[] = { "p", "q", "c.p", "'packed'", "\"dot\"", "''", "'a c'" };

    PUT_ONE(r, texts);
}

/* A list of numbers; "a, b" between brackets. */
static void put_items(struct random_text *r, int depth, const char *open, const char *close)
{
    uint64_t n = 2 + ks_rng_below(&r->state, 2);

    ks_buf_printf(&r->text, "%s", open);
    for (uint64_t i = 0; i < n; i++) {
        put_number(r, depth - 1);
        ks_buf_printf(&r->text, i + 1 < n ? ", " : "");
    }
    ks_buf_printf(&r->text, "%s", close);
}

static void put_binary(struct random_text *r, int depth)
{
    static const char *const signs[] = { " + ", " - ",  "*",     "/",   " // ",
                                         "%",   " ** ", " and ", " or " };
    bool is_bracket = ks_rng_below(&r->state, 2) == 0;

    ks_buf_printf(&r->text, is_bracket ? "(" : "");
    put_number(r, depth - 1);
    PUT_ONE(r, signs);
    put_number(r, depth - 1);
    ks_buf_printf(&r->text, is_bracket ? ")" : "");
}

static void put_number(struct random_text *r, int depth)
{
    static const char *const calls[] = { "min(", "max(", "max([" };
    uint64_t which = depth <= 0 ? 0 : ks_rng_below(&r->state, 10);

    if (which < 3) {
        put_leaf(r);
    } else if (which < 7) {
        put_binary(r, depth);
    } else if (which == 7) {
        ks_buf_printf(&r->text, ks_rng_below(&r->state, 3) ? "-" : "+");
        put_number(r, depth - 1);
    } else if (which == 8) {
        uint64_t i = ks_rng_below(&r->state, 3);

        put_items(r, depth, calls[i], i == 2 ? "])" : ")");
    } else if (ks_rng_below(&r->state, 2)) {
        ks_buf_printf(&r->text, "abs(");
        put_number(r, depth - 1);
        ks_buf_printf(&r->text, ")");
    } else {
        ks_buf_printf(&r->text, "(");
        put_truth(r, depth - 1);
        ks_buf_printf(&r->text, ")");
    }
}

static void put_in(struct random_text *r, int depth)
{
    static const char *const in[] = { " in ", " not in " };
    uint64_t which = ks_rng_below(&r->state, 4);

    if (which == 0) {
        put_text(r);
        PUT_ONE(r, in);
        put_text(r);
    } else if (which == 1) {
        put_items(r, depth, "(", ")");
        PUT_ONE(r, in);
        ks_buf_printf(&r->text, "[(1, 2), (8, -3), (0.5, m), (2, 3, 5)]");
    } else {
        put_number(r, depth - 1);
        PUT_ONE(r, in);
        put_items(r, depth, which == 2 ? "[" : "(", which == 2 ? "]" : ",)");
    }
}

static void put_truth(struct random_text *r, int depth)
{
    static const char *const signs[] = { " < ", " <= ", " == ", " != ", " > ", ">=" };
    uint64_t which = ks_rng_below(&r->state, 10);

    if (which < 5) {
        put_number(r, depth - 1);
        PUT_ONE(r, signs);
        put_number(r, depth - 1);
        if (which == 0) {
            PUT_ONE(r, signs);
            put_number(r, depth - 1);
        }
    } else if (which == 5) {
        put_text(r);
        PUT_ONE(r, signs);
        put_text(r);
    } else if (which == 6) {
        ks_buf_printf(&r->text, "not ");
        put_truth(r, depth - 1);
    } else if (which == 7 && depth > 0) {
        put_truth(r, depth - 1);
        ks_buf_printf(&r->text, ks_rng_below(&r->state, 2) ? " and " : " or ");
        put_truth(r, depth - 1);
    } else {
        put_in(r, depth);
    }
}

/* A character taken out, doubled or put in. */
static void spoil(struct random_text *r, char *text, size_t cap)
{
    static const char letters[] = "()[],.0123456789 +-*/%<>=!'\"cmnpq#e_&";
    size_t n = strlen(text), at = (size_t)ks_rng_below(&r->state, n);

    if (ks_rng_below(&r->state, 3) == 0) {
        memmove(text + at, text + at + 1, n - at);
    } else if (n + 2 < cap) {
        memmove(text + at + 1, text + at, n - at + 1);
        if (ks_rng_below(&r->state, 2))
            text[at] = letters[ks_rng_below(&r->state, sizeof letters - 1)];
    }
}

enum { N_RANDOM = 6000, RANDOM_TEXT = 2000 };

struct trial {
    char text[RANDOM_TEXT];
    bool is_spoilt;
    char ours; /* '0', '1', 'Z' division by zero, 'S' refused by the parser, '?' stricter than
                  Python */
};

static char judge(const char *text)
{
    struct ks_err err = { 0 };
    struct ks_expr *e = NULL;
    bool is_true = false;
    int rc = ks_expr_parse(text, &e, &err);

    if (rc < 0)
        return strstr(err.text, "nested too deeply") || strstr(err.text, "number out of range")
                   ? '?'
                   : 'S';
    rc = ks_expr_test(e, a_name, NULL, &is_true, &err);
    ks_expr_free(e);
    if (rc == 0)
        return is_true ? '1' : '0';
    return strstr(err.text, "division by zero") ? 'Z' : '?';
}

/* Truths, numbers, and spoilt ones. */
static void make_trials(struct trial *trials, size_t n)
{
    struct random_text r = { .state = 11 };

    ks_buf_init(&r.text);
    for (size_t i = 0; i < n; i++) {
        int depth = 1 + (int)ks_rng_below(&r.state, 4);

        do {
            ks_buf_clear(&r.text);
            if (i % 3 == 0)
                put_number(&r, depth);
            else
                put_truth(&r, depth);
        } while (r.text.len + 8 > RANDOM_TEXT);
        memcpy(trials[i].text, r.text.data, r.text.len + 1);
        trials[i].is_spoilt = i % 3 == 2;
        if (trials[i].is_spoilt)
            spoil(&r, trials[i].text, RANDOM_TEXT);
        trials[i].ours = judge(trials[i].text);
    }
    ks_buf_release(&r.text);
}

/* One line for each: what Python says, and the value where there is one. What ours does not compute
 * may be without bound in Python: it is not evaluated. */
static const char python[] =
    "import sys, types\n"
    "v = dict(m=8, n=-3, zero=0, big=2**63-1, order=2, r=2.5, p='packed', q='dot')\n"
    "v['c'] = types.SimpleNamespace(**v)\n"
    "def judge(ours, text):\n"
    "    try:\n"
    "        code = compile(text, 'x', 'eval')\n"
    "        if ours in '?S':\n"
    "            return ours\n"
    "        value = eval(code, dict(v))\n"
    "        return ('1' if value else '0') + repr(value)\n"
    "    except (SyntaxError, ValueError):\n"
    "        return 's'\n"
    "    except ZeroDivisionError:\n"
    "        return 'Z'\n"
    "    except Exception:\n"
    "        return 'E'\n"
    "for line in open(sys.argv[1]):\n"
    "    print(judge(line[0], line[1:].strip()))\n";

/* The pipe that Python's lines come from; path_out: for the caller to remove. */
static FILE *ask_python(const struct trial *trials, size_t n, char path_out[TEMP_DIR_MAX])
{
    char command[4096];
    FILE *f;
    int fd;

    fd = temp_file_make(path_out, TEMP_DIR_MAX);
    f = fdopen(fd, "w");
    assert_non_null(f);
    for (size_t i = 0; i < n; i++)
        fprintf(f, "%c%s\n", trials[i].ours, trials[i].text);
    assert_int_equal(fclose(f), 0);
    snprintf(command, sizeof command, "/usr/bin/python3 -W ignore -c \"%s\" %s", python, path_out);
    f = popen(command, "r");
    assert_non_null(f);
    return f;
}

/* What ours computes Python computes, too, to the same value, and what ours calls no expression is
 * none in Python, unless it was spoilt: Python has more than ours. */
static bool agree(const struct trial *t, const char *python_says)
{
    char same[RANDOM_TEXT + 64];

    if (t->ours == '?')
        return true;
    if (t->ours == 'S')
        return python_says[0] == 's' || t->is_spoilt;
    if (t->ours != python_says[0])
        return false;
    if (t->ours == 'Z')
        return true;
    snprintf(same, sizeof same, "(%s\n) == %s", t->text, python_says + 1);
    return judge(same) == '1';
}

static void compare(struct trial *trials, FILE *answers)
{
    size_t n_compared = 0, n_of[2] = { 0 }, cap = 0;
    char *line = NULL;

    for (size_t i = 0; i < N_RANDOM; i++) {
        assert_true(getline(&line, &cap, answers) > 0);
        line[strcspn(line, "\n")] = '\0';
        if (!agree(&trials[i], line))
            fail_msg("'%s': %c, Python says %s", trials[i].text, trials[i].ours, line);
        n_compared += trials[i].ours != '?';
        if (trials[i].ours == '0' || trials[i].ours == '1')
            n_of[trials[i].ours - '0']++;
    }
    free(line);
    assert_true(n_compared > N_RANDOM * 7 / 10);
    assert_true(n_of[0] > 1000 && n_of[1] > 1000);
}

static void python_agrees(void **state)
{
    struct trial *trials;
    char path[TEMP_DIR_MAX];
    FILE *answers;

    (void)state;
    if (access("/usr/bin/python3", X_OK) != 0) {
        print_message("no /usr/bin/python3 to compare with\n");
        skip();
    }
    trials = calloc(N_RANDOM, sizeof *trials);
    assert_non_null(trials);
    make_trials(trials, N_RANDOM);
    answers = ask_python(trials, N_RANDOM, path);
    compare(trials, answers);
    assert_int_equal(pclose(answers), 0);
    unlink(path);
    free(trials);
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(python_agrees) };

    return cmocka_run_group_tests_name("expr_python", tests, NULL, NULL);
}
