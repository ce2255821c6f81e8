/* SPDX-License-Identifier: MIT */
/* test_filters.c - filter files that are read or refused, and a set that is filtered */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
/* cmocka.h wants the four above first. */
#include <cmocka.h>

#include "base/file.h"
#include "grid/family.h"
#include "grid/filters.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void files_that_are_read(void **state)
{
    static const struct {
        const char *text;
        uint32_t n;
        const char *last; /* expression */
        unsigned line, column;
    } rows[] = {
        { "a > 1", 1, "a > 1", 1, 1 },
        { "a > 1\nb < 2", 2, "b < 2", 2, 1 },
        { "# which\n\n  a > 1  # why\r\n\t# end\n  b == '#' # why", 2, "b == '#' # why", 5, 3 },
        { "def filter_config(c): return c.a > 1", 1, "c.a > 1", 1, 30 },
        { "# a filter\n\ndef  filter_config ( c ) :\n    # body\n\n    return (c.a > 1 and # "
          "first\n"
          "            c.b in [1,\n  2] and c.p != '(')  # end\n\n# end\n",
          1, "(c.a > 1 and # first\n            c.b in [1,\n  2] and c.p != '(')  # end", 6, 12 },
        { "def filter_config(c):\n\treturn(c.a)", 1, "(c.a)", 2, 8 },
    };

    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        struct ks_filters f = { 0 };
        struct ks_err err = { 0 };

        if (ks_filters_parse(rows[i].text, strlen(rows[i].text), "f.txt", &f, &err) < 0)
            fail_msg("row %zu: %s", i, err.text);
        assert_int_equal(f.n, rows[i].n);
        assert_string_equal(f.list[f.n - 1].text, rows[i].last);
        assert_string_equal(f.list[f.n - 1].place.file, "f.txt");
        assert_int_equal(f.list[f.n - 1].place.line, rows[i].line);
        assert_int_equal(f.list[f.n - 1].place.column, rows[i].column);
        ks_filters_release(&f);
    }
}

static void files_that_are_refused(void **state)
{
    static const char form[] = "a Python filter must be exactly 'def filter_config(c): return "
                               "EXPRESSION', with line breaks only inside brackets";
    static const struct {
        const char *text, *where, *says;
    } rows[] = {
        { "", "f.txt: ", "no expression in this filter file" },
        { "# nothing\n\n", "f.txt: ", "no expression in this filter file" },
        { "a > 1\n  b <", "f.txt:2:6: ", "unexpected end" },
        { "a > 1 b", "f.txt:1:7: ", "unexpected 'b'" },
        { "(a > 1\nor b)", "f.txt:1:7: ", "unexpected end" },
        { "import os\ndef filter_config(c): return 1", "f.txt:1:1: ", form },
        { "def filter_config(k): return k.a", "f.txt:1:19: ", form },
        { "def filter_config(c, d): return c.a", "f.txt:1:20: ", form },
        { "def filter_config2(c): return c.a", "f.txt:1:5: ", form },
        { "def filter_config(c) -> bool: return c.a", "f.txt:1:22: ", form },
        { "def filter_config(c):\n    x = 1\n    return x", "f.txt:2:5: ", form },
        { "def filter_config(c):\n    if c.a: return 1", "f.txt:2:5: ", form },
        { "def filter_config(c):\n    'text'\n    return 1", "f.txt:2:5: ", form },
        { "def filter_config(c): returned", "f.txt:1:23: ", form },
        { "def filter_config(c): return", "f.txt:1:29: ", "unexpected end" },
        { "def filter_config(c): return c.a >\n 1", "f.txt:1:35: ", "unexpected end" },
        { "def filter_config(c): return (c.a >\n 1", "f.txt:2:3: ", "unexpected end" },
        { "def filter_config(c): return eval('1')", "f.txt:1:30: ", "unknown function 'eval'" },
        { "def filter_config(c): return lambda: 1", "f.txt:1:36: ", "unexpected ':'" },
        { "def filter_config(c): return 1; x", "f.txt:1:31: ", "unexpected ';'" },
        { "def filter_config(c): return 1\nprint(1)",
          "f.txt:2:1: ", "nothing may follow the return of a Python filter" },
    };

    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        struct ks_filters f = { 0 };
        struct ks_err err = { 0 };
        int rc = ks_filters_parse(rows[i].text, strlen(rows[i].text), "f.txt", &f, &err);

        if (rc != KS_EINVAL || strncmp(err.text, rows[i].where, strlen(rows[i].where)) != 0 ||
            !strstr(err.text, rows[i].says))
            fail_msg("row %zu: %d '%s'", i, rc, err.text);
        assert_null(f.list);
    }
}

static void nul_bytes_and_sizes(void **state)
{
    struct ks_filters f = { 0 };
    struct ks_err err = { 0 };
    struct ks_buf b;

    (void)state;
    assert_int_equal(ks_filters_parse("a\0b", 3, "f.txt", &f, &err), KS_EINVAL);
    assert_string_equal(err.text, "f.txt:1:2: a NUL byte in a filter file");
    ks_buf_init(&b);
    for (int i = 0; i < 257; i++)
        ks_buf_printf(&b, "a\n");
    assert_int_equal(ks_filters_parse(ks_buf_text(&b), b.len, "f.txt", &f, &err), KS_EINVAL);
    assert_string_equal(err.text, "f.txt:257:1: too many filters");
    ks_buf_release(&b);
    assert_int_equal(ks_filters_open("/no/such/file", &f, &err), KS_ENOENT);
}

/* A set takes those that pass the file and the filter of the call, and says where one is wrong. */
static void a_set_is_filtered(void **state)
{
    static const struct {
        const char *text, *filter;
        uint32_t n_left; /* 0: an error */
        const char *says;
    } rows[] = {
        { "tile_m <= 2\nc.pipe == 'slow'", "", 4, NULL },
        { "tile_m <= 2\nc.pipe == 'slow'", "shift == 0", 2, NULL },
        { "def filter_config(c): return (\n  c.tile_m <= 2)", "pipe == 'fast'", 2, NULL },
        { "tile_m <= 2\ntile_n > 3", "", 0, "f.txt:2:1: unknown name 'tile_n', did you mean" },
        { "tile_m > 2\n  pipe != 'slwo'", "", 0, "f.txt:2:11: 'slwo' is not a value of 'pipe'" },
        { "tile_m // shift == 1", "", 0, "f.txt:1:8: division by zero" },
        { "tile_m > 100", "", 0, "the filter excludes all 9 instances" },
    };

    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        struct ks_kernel_set set = { 0 };
        struct ks_filters f = { 0 };
        struct ks_err err = { 0 };
        int rc;

        assert_int_equal(ks_filters_parse(rows[i].text, strlen(rows[i].text), "f.txt", &f, &err),
                         0);
        set.filters = &f;
        rc = ks_kernel_set_add(&set, KS_SOURCE_DIR "/tests/data/grid/tiny.json", rows[i].filter,
                               NULL, &err);
        if ((rc == 0) != (rows[i].n_left > 0) || set.n_instances != rows[i].n_left ||
            (rows[i].says && !strstr(err.text, rows[i].says)))
            fail_msg("row %zu: %u '%s'", i, set.n_instances, err.text);
        assert_int_equal(set.n_filtered, rc == 0 ? 9 - rows[i].n_left : 0);
        ks_kernel_set_release(&set);
        ks_filters_release(&f);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(files_that_are_read),
        cmocka_unit_test(files_that_are_refused),
        cmocka_unit_test(nul_bytes_and_sizes),
        cmocka_unit_test(a_set_is_filtered),
    };

    return cmocka_run_group_tests_name("filters", tests, NULL, NULL);
}
