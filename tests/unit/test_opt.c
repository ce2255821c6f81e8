/* SPDX-License-Identifier: MIT */
/* test_opt.c - options: defaults, command lines, values, help, wrong tables */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
/* cmocka.h wants the four above first. */
#include <cmocka.h>

#include "base/opt.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct cfg {
    uint32_t repeats, deadline_ms;
    uint64_t seed;
    double limit;
    unsigned backend;
    bool keep;
    const char *out;
};

static const char *const backends[] = { "host", "hip", "cuda", NULL };

static const struct ks_opt table[] = {
    { .name = "repeats",
      .letter = 'r',
      .type = KS_OPT_U32,
      .offset = offsetof(struct cfg, repeats),
      .def = "20",
      .min = 1,
      .max = 64,
      .arg = "N",
      .help = "timed launches per cell" },
    { .name = "max-time",
      .type = KS_OPT_DURATION_MS,
      .offset = offsetof(struct cfg, deadline_ms),
      .def = "60s",
      .min = 100,
      .max = 3.6e6,
      .arg = "TIME",
      .help = "stop after this" },
    { .name = "seed",
      .type = KS_OPT_U64,
      .offset = offsetof(struct cfg, seed),
      .def = "1",
      .arg = "N",
      .help = "of the order" },
    { .name = "limit",
      .type = KS_OPT_F64,
      .offset = offsetof(struct cfg, limit),
      .def = "0.005",
      .min = 0,
      .max = 1,
      .arg = "X",
      .help = "relative error" },
    { .name = "backend",
      .letter = 'b',
      .type = KS_OPT_ENUM,
      .offset = offsetof(struct cfg, backend),
      .def = "host",
      .choices = backends,
      .arg = "NAME",
      .help = "device backend" },
    { .name = "keep",
      .letter = 'k',
      .type = KS_OPT_BOOL,
      .offset = offsetof(struct cfg, keep),
      .def = "no",
      .help = "keep scratch files" },
    { .name = "out",
      .letter = 'o',
      .type = KS_OPT_STR,
      .offset = offsetof(struct cfg, out),
      .arg = "DIR",
      .help = "where to" },
    KS_OPT_END,
};

static struct cfg defaults(void)
{
    struct cfg c;
    struct ks_err err = { 0 };

    memset(&c, 0xff, sizeof(c));
    assert_int_equal(ks_opt_defaults(table, &c, &err), 0);
    return c;
}

static void defaults_come_from_text(void **state)
{
    struct cfg c = defaults();

    (void)state;
    assert_int_equal(c.repeats, 20);
    assert_int_equal(c.deadline_ms, 60000);
    assert_true(c.seed == 1);
    assert_true(c.limit == 0.005);
    assert_int_equal(c.backend, 0);
    assert_false(c.keep);
    assert_null(c.out);
}

static void argv_in_any_order(void **state)
{
    char *argv[] = { "run", "job.json", "-r5", "--backend=cuda", "--max_time", "2s", "-k",
                     "-",   "-o",       "dir", "--limit=0.250",  "--",         "-x", "--help" };
    enum { ARGC = sizeof(argv) / sizeof(argv[0]) };
    const char *operands[ARGC];
    struct cfg c = defaults();
    struct ks_err err = { 0 };
    bool help = true;
    int n = -1;

    (void)state;
    assert_int_equal(ks_opt_argv(table, &c, ARGC, argv, operands, &n, &help, &err), 0);
    assert_int_equal(c.repeats, 5);
    assert_int_equal(c.backend, 2);
    assert_int_equal(c.deadline_ms, 2000);
    assert_true(c.keep);
    assert_true(c.limit == 0.25);
    assert_string_equal(c.out, "dir");
    assert_false(help);
    assert_int_equal(n, 4);
    assert_ptr_equal(operands[0], argv[1]);
    assert_string_equal(operands[1], "-");
    assert_string_equal(operands[2], "-x");
    assert_string_equal(operands[3], "--help");
}

static void help_stops(void **state)
{
    static const char *const words[] = { "--help", "-h" };

    (void)state;
    for (size_t i = 0; i < 2; i++) {
        char word[8], *argv[] = { "run", word, "--nonsense" };
        const char *operands[3];
        struct cfg c = defaults();
        struct ks_err err = { 0 };
        bool help = false;
        int n;

        snprintf(word, sizeof(word), "%s", words[i]);
        assert_int_equal(ks_opt_argv(table, &c, 3, argv, operands, &n, &help, &err), 0);
        assert_true(help);
    }
}

static void argv_errors_name_the_word(void **state)
{
    static const struct {
        const char *word, *next, *want;
    } rows[] = {
        { "--repaets=3", NULL, "unknown option '--repaets=3'; did you mean '--repeats'?" },
        { "--zzzzzzzz", NULL, "unknown option '--zzzzzzzz'" },
        { "-q", NULL, "unknown option '-q'" },
        { "--max-time", NULL, "--max-time needs TIME" },
        { "-r", NULL, "-r needs N" },
        { "-r", "0", "-r: 0 is not in the range 1 to 64" },
        { "--repeats=3q", NULL, "--repeats: '3q' is not a whole number" },
        { "-kv", NULL, "'-kv': -k takes no value" },
        { "--keep=maybe", NULL, "--keep: 'maybe' is neither yes nor no" },
    };

    (void)state;
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        char word[32], next[32], *argv[] = { "run", word, next };
        const char *operands[3];
        struct cfg c = defaults();
        struct ks_err err = { 0 };
        bool help;
        int n, argc = rows[i].next ? 3 : 2;

        snprintf(word, sizeof(word), "%s", rows[i].word);
        snprintf(next, sizeof(next), "%s", rows[i].next ? rows[i].next : "");
        assert_int_equal(ks_opt_argv(table, &c, argc, argv, operands, &n, &help, &err), KS_EINVAL);
        assert_string_equal(err.text, rows[i].want);
        assert_int_equal(c.repeats, 20);
    }
}

static void good_values(void **state)
{
    static const struct {
        const char *name, *value, *printed;
    } rows[] = {
        { "repeats", "64", "64" },
        { "repeats", "0x10", "16" },
        { "max_time", "500ms", "500ms" },
        { "max-time", "500ms", "500ms" },
        { "max-time", "1.5s", "1500ms" },
        { "max-time", "0.3s", "300ms" },
        { "max-time", "2m", "120000ms" },
        { "max-time", "1h", "3600000ms" },
        { "seed", "0xffffffffffffffff", "18446744073709551615" },
        { "seed", "9007199254740993", "9007199254740993" },
        { "limit", "1e-3", "0.001" },
        { "limit", ".5", "0.5" },
        { "backend", "hip", "hip" },
        { "keep", "true", "yes" },
        { "keep", "yes", "yes" },
        { "keep", "false", "no" },
        { "out", "a b", "a b" },
        { "out", "", "" },
    };

    (void)state;
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        const struct ks_opt *o = table;
        struct cfg c = defaults(), again = defaults();
        struct ks_err err = { 0 };
        char text[64], text_again[64];

        while (strncmp(o->name, rows[i].name, 3) != 0)
            o++;
        assert_int_equal(ks_opt_set(table, &c, rows[i].name, rows[i].value, &err), 0);
        ks_opt_print(o, &c, text, sizeof(text));
        assert_string_equal(text, rows[i].printed);
        assert_int_equal(ks_opt_set(table, &again, o->name, text, &err), 0);
        ks_opt_print(o, &again, text_again, sizeof(text_again));
        assert_string_equal(text_again, text);
    }
}

static void bad_values(void **state)
{
    static const struct {
        const char *name, *value, *want;
    } rows[] = {
        { "repeats", "0", "repeats: 0 is not in the range 1 to 64" },
        { "repeats", "65", "not in the range" },
        { "repeats", "1.5", "not a whole number" },
        { "repeats", "-1", "not a whole number >= 0" },
        { "repeats", " 1", "not a whole number" },
        { "repeats", "", "not a whole number" },
        { "repeats", "4294967297", "too large" },
        { "repeats", "0x", "not a whole number" },
        { "seed", "18446744073709551616", "too large" },
        { "limit", "nan", "not a number" },
        { "limit", "inf", "not a number" },
        { "limit", "0x1p-3", "not a number" },
        { "limit", "1e999", "not a finite number" },
        { "limit", "0.5x", "not a number" },
        { "limit", "0.5z", "not a number" },
        { "limit", "-0.1", "not in the range" },
        { "limit", ".", "not a finite number" },
        { "max-time", "5d", "unknown unit" },
        { "max-time", "99ms", "'99ms' is not in the range" },
        { "max-time", "30", "max-time: '30' has no unit: write 30s, 30m or 30h" },
        { "max-time", "0.0005s", "milliseconds" },
        { "max-time", "soon", "not a number" },
        { "backend", "hop", "unknown value 'hop'; did you mean 'hip'? known are host, hip, cuda" },
        { "backend", "metal", "unknown value 'metal'; known are host, hip, cuda" },
        { "keep", "1", "neither yes nor no" },
        { "max_tme", "1s", "unknown option 'max_tme'; did you mean 'max-time'?" },
        { "", "1", "unknown option ''" },
    };

    (void)state;
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        struct cfg c = defaults(), before = defaults();
        struct ks_err err = { 0 };

        assert_int_equal(ks_opt_set(table, &c, rows[i].name, rows[i].value, &err), KS_EINVAL);
        if (!strstr(err.text, rows[i].want))
            fail_msg("'%s' lacks '%s'", err.text, rows[i].want);
        assert_memory_equal(&c, &before, sizeof(c));
    }
}

/* Each entry is wrong in one way. */
static void wrong_tables_are_found(void **state)
{
    static const char *const none[] = { NULL };
    static const struct ks_opt good = {
        .name = "n", .type = KS_OPT_U32, .def = "1", .arg = "N", .help = "x"
    };
    static const struct {
        struct ks_opt first, second;
        const char *want;
    } rows[] = {
        { good, { .name = "m", .type = KS_OPT_U32, .def = "1", .arg = "N" }, "no help" },
        { good, { .name = "m", .type = KS_OPT_U32, .arg = "N", .help = "x" }, "no default" },
        { good, { .name = "m", .type = KS_OPT_U32, .def = "1", .help = "x" }, "arg" },
        { good, { .name = "m", .type = KS_OPT_BOOL, .def = "no", .arg = "N", .help = "x" }, "arg" },
        { good,
          { .name = "m", .type = KS_OPT_U32, .def = "9", .max = 8, .arg = "N", .help = "x" },
          "not in the range" },
        { good,
          { .name = "m",
            .type = KS_OPT_U32,
            .def = "9",
            .min = 9,
            .max = 8,
            .arg = "N",
            .help = "x" },
          "'min' is greater than 'max'" },
        { good,
          { .name = "m",
            .type = KS_OPT_ENUM,
            .def = "a",
            .choices = none,
            .arg = "N",
            .help = "x" },
          "no choices" },
        { good, good, "duplicate name" },
        { { .name = "n", .letter = 'x', .type = KS_OPT_BOOL, .def = "no", .help = "x" },
          { .name = "m", .letter = 'x', .type = KS_OPT_BOOL, .def = "no", .help = "x" },
          "duplicate letter 'x'" },
    };

    (void)state;
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        const struct ks_opt both[] = { rows[i].first, rows[i].second, KS_OPT_END };
        struct ks_err err = { 0 };
        struct cfg c;

        assert_int_equal(ks_opt_defaults(both, &c, &err), KS_EINVAL);
        if (!strstr(err.text, rows[i].want))
            fail_msg("'%s' lacks '%s'", err.text, rows[i].want);
    }
}

static bool has(const struct ks_buf *text, const char *line)
{
    return strstr(ks_buf_text(text), line) != NULL;
}

static void help_and_markdown_show_the_table(void **state)
{
    static const char *const help_lines[] = {
        "  -r, --repeats N              timed launches per cell (1 to 64; default 20)\n",
        "      --max-time TIME          stop after this (ms, s, m or h, from 100ms to 1h; default "
        "60s)\n",
        "  -b, --backend NAME           device backend (host, hip, cuda; default host)\n",
        "  -k, --keep                   keep scratch files\n",
        "  -o, --out DIR                where to\n",
        "--help",
    };
    static const char *const rows[] = {
        "| `-r`, `--repeats N` | `repeats` | 20 | 1 to 64 | timed launches per cell |\n",
        "| `--max-time TIME` | `max_time` | 60s | ms, s, m or h, from 100ms to 1h | stop after "
        "this |\n",
        "| `-b`, `--backend NAME` | `backend` | host | host, hip, cuda | device backend |\n",
        "| `-k`, `--keep` | `keep` | no | yes, no | keep scratch files |\n",
        "| `--seed N` | `seed` | 1 |  | of the order |\n",
    };
    struct ks_buf text;

    (void)state;
    ks_buf_init(&text);
    ks_opt_help(table, 0, &text);
    for (size_t i = 0; i < sizeof(help_lines) / sizeof(help_lines[0]); i++)
        if (!has(&text, help_lines[i]))
            fail_msg("'%s' is not in\n%s", help_lines[i], ks_buf_text(&text));
    ks_buf_clear(&text);
    ks_opt_markdown(table, &text);
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
        if (!has(&text, rows[i]))
            fail_msg("'%s' is not in\n%s", rows[i], ks_buf_text(&text));
    ks_buf_release(&text);
}

/* Two columns where there is room for both, else the meaning below the names. */
static void help_fits_the_width(void **state)
{
    struct ks_buf text;

    (void)state;
    ks_buf_init(&text);
    ks_opt_help(table, 60, &text);
    assert_true(has(&text, "  -r, --repeats N              timed launches per cell (1\n"
                           "                               to 64; default 20)\n"));
    ks_buf_clear(&text);
    ks_opt_help(table, 40, &text);
    assert_true(has(&text, "  -r, --repeats N\n"
                           "      timed launches per cell (1 to 64;\n"
                           "      default 20)\n"));
    ks_buf_release(&text);
}

static void a_list_keeps_every_value(void **state)
{
    static const struct ks_opt lists[] = { { .name = "without",
                                             .letter = 'w',
                                             .type = KS_OPT_LIST,
                                             .arg = "FILE",
                                             .help = "leave out" },
                                           KS_OPT_END };
    char *argv[] = { "x", "--without", "a", "-wb", "c", "--without=d" };
    struct ks_opt_list got = { NULL, 7 };
    const char *operands[6];
    char last[8];
    struct ks_err err;
    bool is_help;
    int n = 0;

    (void)state;
    assert_int_equal(ks_opt_defaults(lists, &got, &err), 0);
    assert_int_equal(got.n, 0);
    assert_int_equal(ks_opt_argv(lists, &got, 6, argv, operands, &n, &is_help, &err), 0);
    assert_int_equal(n, 1);
    assert_string_equal(operands[0], "c");
    assert_int_equal(got.n, 3);
    assert_string_equal(got.text[0], "a");
    assert_string_equal(got.text[1], "b");
    assert_string_equal(got.text[2], "d");
    ks_opt_print(&lists[0], &got, last, sizeof(last));
    assert_string_equal(last, "d");
    ks_opt_release(lists, &got);
    assert_null(got.text);
    assert_int_equal(got.n, 0);
}

static void nearest_word(void **state)
{
    static const char *const names[] = { "warmup_ms", "min_samples", "max_samples", "cache", NULL };
    static const struct {
        const char *word, *want;
    } rows[] = {
        { "warmup-ms", "warmup_ms" },
        { "warmup", "warmup_ms" },
        { "cahce", "cache" },
        { "Max_Samples", "max_samples" },
        { "samples", NULL },
        { "x", NULL },
        { "", NULL },
        { "min_sample", "min_samples" },
    };

    (void)state;
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        const char *got = ks_nearest(rows[i].word, names);

        if (!rows[i].want)
            assert_null(got);
        else
            assert_string_equal(got ? got : "(none)", rows[i].want);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(defaults_come_from_text),
        cmocka_unit_test(argv_in_any_order),
        cmocka_unit_test(help_stops),
        cmocka_unit_test(argv_errors_name_the_word),
        cmocka_unit_test(good_values),
        cmocka_unit_test(bad_values),
        cmocka_unit_test(wrong_tables_are_found),
        cmocka_unit_test(help_and_markdown_show_the_table),
        cmocka_unit_test(help_fits_the_width),
        cmocka_unit_test(a_list_keeps_every_value),
        cmocka_unit_test(nearest_word),
    };

    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests_name("opt", tests, NULL, NULL);
}
