/* SPDX-License-Identifier: MIT */
/* test_json.c - the JSON reader: errors with their places, strings, numbers, trees, limits */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
/* cmocka.h wants the four above first. */
#include <cmocka.h>

#include "fault.h"
#include "tests/unit/temp_dir.h"
#include "json/json.h"

#include <cjson/cJSON.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static struct ks_json *parsed(const char *text)
{
    struct ks_json *doc = NULL;
    struct ks_err err = { 0 };

    if (ks_json_parse(text, strlen(text), "t.json", &doc, &err) < 0)
        fail_msg("'%s': %s", text, err.text);
    return doc;
}

static void refuses(const char *text, size_t len, const char *want)
{
    struct ks_json *doc = (void *)&doc, *before = doc;
    struct ks_err err = { 0 };
    int rc = ks_json_parse(text, len, "t.json", &doc, &err);

    if (rc != KS_EFORMAT || strcmp(err.text, want) != 0)
        fail_msg("'%s': %d '%s', wanted '%s'", text, rc, err.text, want);
    assert_ptr_equal(doc, before);
}

static void bad_grammar_is_located(void **state)
{
    static const struct {
        const char *text, *want;
    } rows[] = {
        { "", "t.json:1: expected a value, found the end of the text" },
        { " \n\n ", "t.json:3: expected a value, found the end of the text" },
        { "{} x", "t.json:1: expected the end of the text, found 'x'" },
        { "{}\n{}", "t.json:2: expected the end of the text, found '{'" },
        { "{\"a\" 1}", "t.json:1: expected ':' after a key, found '1'" },
        { "{a: 1}", "t.json:1: expected a key in double quotes, found 'a'" },
        { "{\"a\":1,}", "t.json:1: expected a key in double quotes, found '}'" },
        { "{\"a\":1", "t.json:1: expected ',' or '}', found the end of the text" },
        { "{", "t.json:1: expected a key in double quotes, found the end of the text" },
        { "[1,]", "t.json:1: expected a value, found ']'" },
        { "[1 2]", "t.json:1: expected ',' or ']', found '2'" },
        { "[1}", "t.json:1: expected ',' or ']', found '}'" },
        { "nul", "t.json:1: expected a value, found 'n'" },
        { "True", "t.json:1: expected a value, found 'T'" },
        { "nullx", "t.json:1: expected the end of the text, found 'x'" },
        { "NaN", "t.json:1: expected a value, found 'N'" },
        { "'a'", "t.json:1: expected a value, found '''" },
        { "// c\n1", "t.json:1: expected a value, found '/'" },
        { "\xef\xbb\xbf{}", "t.json:1: expected a value, found byte 0xef" },
        { "{\"a\":1,\n\"b\":2,\n\"a\":3}", "t.json:3: a: duplicate key 'a' (first on line 1)" },
        { "{\"ab\":1,\"\\u0061b\":2}", "t.json:1: ab: duplicate key 'ab' (first on line 1)" },
        { "[{\"x\":{\"k\":1,\n\"k\":1}}]",
          "t.json:2: [0].x.k: duplicate key 'k' (first on line 1)" },
    };

    (void)state;
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
        refuses(rows[i].text, strlen(rows[i].text), rows[i].want);
}

static void bad_strings(void **state)
{
    static const struct {
        const char *text, *want;
    } rows[] = {
        { "\"a", "t.json:1: a string has no closing quote" },
        { "\"a\\", "t.json:1: expected one of \"\\/bfnrtu after a backslash, found the end of the "
                   "text" },
        { "\"\\x\"", "t.json:1: expected one of \"\\/bfnrtu after a backslash, found 'x'" },
        { "\"a\nb\"", "t.json:1: a string contains the control character 0x0a" },
        { "\"a\tb\"", "t.json:1: a string contains the control character 0x09" },
        { "\"\\u12g4\"", "t.json:1: expected four hexadecimal digits after \\u, found 'g'" },
        { "\"\\u12", "t.json:1: expected four hexadecimal digits after \\u, found the end of the "
                     "text" },
        { "\"\\u0000\"", "t.json:1: a string contains the character \\u0000" },
        { "\"\\ud800\"", "t.json:1: \\ud800 is one half of a surrogate pair" },
        { "\"\\udc00\"", "t.json:1: \\udc00 is one half of a surrogate pair" },
        { "\"\\ud800\\u0041\"", "t.json:1: \\ud800\\u0041 is not a surrogate pair" },
        { "\"\x80\"", "t.json:1: byte 0x80 is not valid UTF-8" },
        { "\"\xc0\x80\"", "t.json:1: byte 0xc0 is not valid UTF-8" },
        { "\"\xc1\xbf\"", "t.json:1: byte 0xc1 is not valid UTF-8" },
        { "\"\xc3\"", "t.json:1: byte 0xc3 is not valid UTF-8" },
        { "\"\xc3", "t.json:1: byte 0xc3 is not valid UTF-8" },
        { "\"\xe0\x9f\xbf\"", "t.json:1: byte 0xe0 is not valid UTF-8" },
        { "\"\xed\xa0\x80\"", "t.json:1: byte 0xed is not valid UTF-8" },
        { "\"\xf0\x8f\xbf\xbf\"", "t.json:1: byte 0xf0 is not valid UTF-8" },
        { "\"\xf4\x90\x80\x80\"", "t.json:1: byte 0xf4 is not valid UTF-8" },
        { "\"\xf5\x80\x80\x80\"", "t.json:1: byte 0xf5 is not valid UTF-8" },
        { "\"\xff\"", "t.json:1: byte 0xff is not valid UTF-8" },
    };

    (void)state;
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
        refuses(rows[i].text, strlen(rows[i].text), rows[i].want);
    refuses("\"a\0b\"", 5, "t.json:1: a string contains the control character 0x00");
    refuses("1\0", 2, "t.json:1: expected the end of the text, found byte 0x00");
}

static void bad_numbers(void **state)
{
    static const struct {
        const char *text, *want;
    } rows[] = {
        { "01", "t.json:1: a number has a leading zero" },
        { "-", "t.json:1: expected a digit, found the end of the text" },
        { "-a", "t.json:1: expected a digit, found 'a'" },
        { "+1", "t.json:1: expected a value, found '+'" },
        { ".5", "t.json:1: expected a value, found '.'" },
        { "1.", "t.json:1: expected a digit after the decimal point, found the end of the text" },
        { "1e", "t.json:1: expected a digit in the exponent, found the end of the text" },
        { "1e+", "t.json:1: expected a digit in the exponent, found the end of the text" },
        { "0x10", "t.json:1: expected the end of the text, found 'x'" },
        { "9223372036854775808", "t.json:1: 9223372036854775808 does not fit a 64-bit integer" },
        { "-9223372036854775809", "t.json:1: -9223372036854775809 does not fit a 64-bit integer" },
        { "1e309", "t.json:1: 1e309 does not fit a double" },
        { "-1e309", "t.json:1: -1e309 does not fit a double" },
        { "1.5e-400", "t.json:1: 1.5e-400 does not fit a double" },
        { "0.1111111111111111111111111111111111111111111111111111111111111",
          "t.json:1: a number has more than 60 characters" },
    };

    (void)state;
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
        refuses(rows[i].text, strlen(rows[i].text), rows[i].want);
}

static void exact_numbers(void **state)
{
    static const struct {
        const char *text;
        enum ks_json_kind kind;
        int64_t i;
        double d;
    } rows[] = {
        { "0", KS_JSON_INT, 0, 0 },
        { "-0", KS_JSON_INT, 0, 0 },
        { "9007199254740993", KS_JSON_INT, 9007199254740993, 9007199254740992.0 },
        { "9223372036854775807", KS_JSON_INT, INT64_MAX, 9223372036854775808.0 },
        { "-9223372036854775808", KS_JSON_INT, INT64_MIN, -9223372036854775808.0 },
        { "0.1", KS_JSON_REAL, 0, 0.1 },
        { "1E3", KS_JSON_REAL, 0, 1000 },
        { "0e5", KS_JSON_REAL, 0, 0 },
        { "0.0e-999", KS_JSON_REAL, 0, 0 },
        { "5e-324", KS_JSON_REAL, 0, 4.9406564584124654e-324 },
        { "1.7976931348623157e308", KS_JSON_REAL, 0, 1.7976931348623157e308 },
    };

    (void)state;
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        struct ks_json *doc = parsed(rows[i].text);
        const struct ks_node *n = ks_json_root(doc);
        struct ks_err err = { 0 };
        int64_t v = 77;
        double d = 77;

        assert_int_equal(ks_node_kind(n), rows[i].kind);
        assert_int_equal(ks_node_real(doc, n, &d, &err), 0);
        assert_true(d == rows[i].d);
        if (rows[i].kind == KS_JSON_INT) {
            assert_int_equal(ks_node_int(doc, n, &v, &err), 0);
            assert_true(v == rows[i].i);
        } else {
            assert_int_equal(ks_node_int(doc, n, &v, &err), KS_EINVAL);
            assert_string_equal(err.text, "t.json:1: expected a whole number, found a number");
            assert_int_equal(v, 77);
        }
        ks_json_close(doc);
    }
}

static void strings_are_decoded(void **state)
{
    static const struct {
        const char *text, *want;
    } rows[] = {
        { "\"\"", "" },
        { "\"a\\\"\\\\\\/\\b\\f\\n\\r\\tz\"", "a\"\\/\b\f\n\r\tz" },
        { "\"\\u00e9\\u20AC\"", "\xc3\xa9\xe2\x82\xac" },
        { "\"\\ud83d\\ude00\"", "\xf0\x9f\x98\x80" },
        { "\"\xed\x9f\xbf\xee\x80\x80\xf4\x8f\xbf\xbf\x7f\"",
          "\xed\x9f\xbf\xee\x80\x80\xf4\x8f\xbf\xbf\x7f" },
    };

    (void)state;
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        struct ks_json *doc = parsed(rows[i].text);
        const char *got = NULL;
        struct ks_err err = { 0 };

        assert_int_equal(ks_node_str(doc, ks_json_root(doc), &got, &err), 0);
        assert_string_equal(got, rows[i].want);
        ks_json_close(doc);
    }
}

static void nests_to_64(void **state)
{
    char text[200];

    (void)state;
    memset(text, '[', 64);
    memset(text + 64, ']', 64);
    text[128] = '\0';
    ks_json_close(parsed(text));
    memset(text, '[', 65);
    memset(text + 65, ']', 65);
    refuses(text, 130, "t.json:1: nested deeper than 64");
}

static const char a_job[] = "{ \"name\": \"x\",\n"
                            "  \"Name\": true,\n"
                            "  \"kernels\": [\n"
                            "    { \"config\": \"a.json\" },\n"
                            "    { \"config\": 7, \"empty\": {}, \"none\": null }\n"
                            "  ],\n"
                            "  \"list\": [1, [2, 3], 4.5]\n"
                            "}\n";

static void walks_the_tree(void **state)
{
    struct ks_json *doc = parsed(a_job);
    const struct ks_node *root = ks_json_root(doc), *kernels, *second, *list;
    static const char *const keys[] = { "name", "Name", "kernels", "list" };
    size_t i = 0;

    (void)state;
    assert_string_equal(ks_json_name(doc), "t.json");
    assert_int_equal(ks_node_kind(root), KS_JSON_OBJECT);
    assert_int_equal(ks_node_size(root), 4);
    assert_null(ks_node_key(root));
    assert_null(ks_node_next(root));
    for (const struct ks_node *c = ks_node_first(root); c; c = ks_node_next(c))
        assert_string_equal(ks_node_key(c), keys[i++]);
    assert_int_equal(i, 4);
    assert_int_equal(ks_node_kind(ks_node_at(root, "name")), KS_JSON_STRING);
    assert_int_equal(ks_node_kind(ks_node_at(root, "Name")), KS_JSON_BOOL);
    assert_null(ks_node_at(root, "NAME"));
    kernels = ks_node_at(root, "kernels");
    assert_int_equal(ks_node_size(kernels), 2);
    assert_null(ks_node_at(kernels, "config"));
    second = ks_node_next(ks_node_first(kernels));
    assert_int_equal(ks_node_line(second), 5);
    assert_int_equal(ks_node_size(second), 3);
    assert_int_equal(ks_node_size(ks_node_at(second, "empty")), 0);
    assert_null(ks_node_first(ks_node_at(second, "empty")));
    assert_int_equal(ks_node_kind(ks_node_at(second, "none")), KS_JSON_NULL);
    assert_null(ks_node_next(second));
    list = ks_node_at(root, "list");
    assert_int_equal(ks_node_size(list), 3);
    assert_int_equal(ks_node_kind(ks_node_next(ks_node_next(ks_node_first(list)))), KS_JSON_REAL);
    assert_null(ks_node_next(list));
    assert_null(ks_node_first(NULL));
    assert_null(ks_node_next(NULL));
    assert_null(ks_node_key(NULL));
    assert_null(ks_node_at(NULL, "x"));
    assert_int_equal(ks_node_size(NULL), 0);
    ks_json_close(doc);
    ks_json_close(NULL);
}

static void messages_name_the_place(void **state)
{
    struct ks_json *doc = parsed(a_job);
    const struct ks_node *root = ks_json_root(doc);
    const struct ks_node *second = ks_node_next(ks_node_first(ks_node_at(root, "kernels")));
    const struct ks_node *inner = ks_node_next(ks_node_first(ks_node_at(root, "list")));
    struct ks_err err = { 0 };
    const char *s = NULL;
    char where[64], small[8];
    bool b = true;
    double d = 7;

    (void)state;
    assert_int_equal(ks_node_str(doc, ks_node_at(second, "config"), &s, &err), KS_EINVAL);
    assert_string_equal(err.text,
                        "t.json:5: kernels[1].config: expected a string, found a whole number");
    assert_null(s);
    assert_int_equal(ks_node_bool(doc, ks_node_at(root, "absent"), &b, &err), KS_EINVAL);
    assert_string_equal(err.text, "t.json: a boolean is missing");
    assert_true(b);
    b = false;
    assert_int_equal(ks_node_bool(doc, ks_node_at(root, "Name"), &b, &err), 0);
    assert_true(b);
    assert_int_equal(ks_node_real(doc, second, &d, &err), KS_EINVAL);
    assert_string_equal(err.text, "t.json:5: kernels[1]: expected a number, found an object");
    ks_node_where(doc, ks_node_next(ks_node_first(inner)), where, sizeof(where));
    assert_string_equal(where, "t.json:7: list[1][1]");
    ks_node_where(doc, root, where, sizeof(where));
    assert_string_equal(where, "t.json:1");
    ks_node_where(doc, inner, small, sizeof(small));
    assert_string_equal(small, "t.json:");
    assert_int_equal(ks_node_fail(doc, second, &err, "no %d", 5), KS_EINVAL);
    assert_string_equal(err.text, "t.json:5: kernels[1]: no 5");
    ks_json_close(doc);
}

/* Line and key are told however long the path is. */
static void long_names_are_shown_by_their_end(void **state)
{
    static const char text[] = "{\n\"a\": {\"b\": 1}}";
    struct ks_json *doc = NULL;
    const struct ks_node *b;
    struct ks_err err = { 0 };
    char name[600], want[256];
    const char *s = NULL;

    (void)state;
    for (size_t i = 0; i < 592; i += 2)
        memcpy(name + i, "\xc3\xa9", 3);
    memcpy(name + 592, "/t.json", 8); /* the last 160 bytes begin inside of a character */
    assert_int_equal(ks_json_parse(text, strlen(text), name, &doc, &err), 0);
    b = ks_node_at(ks_node_at(ks_json_root(doc), "a"), "b");
    assert_int_equal(ks_node_str(doc, b, &s, &err), KS_EINVAL);
    snprintf(want, sizeof(want), "...%s:2: a.b: expected a string, found a whole number",
             name + 440);
    assert_string_equal(err.text, want);
    ks_json_close(doc);
}

static void scalars_as_option_text(void **state)
{
    static const char *const want[] = { "5", "0.005", "yes", "no", "warm", "-9223372036854775808" };
    struct ks_json *doc =
        parsed("[5, 5e-3, true, false, \"warm\", -9223372036854775808, null, []]");
    const struct ks_node *n = ks_node_first(ks_json_root(doc));
    struct ks_err err = { 0 };
    char text[32], small[4] = "old";

    (void)state;
    for (size_t i = 0; i < 6; i++, n = ks_node_next(n)) {
        assert_int_equal(ks_node_text(doc, n, text, sizeof(text), &err), 0);
        assert_string_equal(text, want[i]);
        if (strlen(want[i]) > 3)
            assert_int_equal(ks_node_text(doc, n, small, sizeof(small), &err), KS_EINVAL);
    }
    assert_string_equal(small, "old");
    assert_int_equal(ks_node_text(doc, n, text, sizeof(text), &err), KS_EINVAL);
    assert_int_equal(ks_node_text(doc, ks_node_next(n), text, sizeof(text), &err), KS_EINVAL);
    assert_string_equal(err.text, "t.json:1: [7]: expected a number, a boolean or a string");
    assert_int_equal(ks_node_text(doc, NULL, text, sizeof(text), &err), KS_EINVAL);
    assert_int_equal(ks_node_text(NULL, n, text, sizeof(text), NULL), KS_EINVAL);
    ks_json_close(doc);
}

static void unknown_keys(void **state)
{
    static const char *const keys[] = { "name", "kernels", "list", NULL };
    static const char *const more[] = { "name", "Name", "kernels", "list", NULL };
    struct ks_json *doc = parsed(a_job), *odd = parsed("{\"qqqqqqqq\": 1}");
    struct ks_err err = { 0 };

    (void)state;
    assert_int_equal(ks_node_only(doc, ks_json_root(doc), more, &err), 0);
    assert_int_equal(ks_node_only(doc, ks_json_root(doc), keys, &err), KS_EINVAL);
    assert_string_equal(err.text, "t.json:2: Name: unknown key 'Name'; did you mean 'name'?");
    assert_int_equal(ks_node_only(odd, ks_json_root(odd), keys, &err), KS_EINVAL);
    assert_string_equal(err.text, "t.json:1: qqqqqqqq: unknown key 'qqqqqqqq'");
    assert_int_equal(ks_node_only(doc, ks_node_at(ks_json_root(doc), "list"), keys, &err),
                     KS_EINVAL);
    assert_int_equal(ks_node_only(doc, NULL, keys, &err), KS_EINVAL);
    ks_json_close(doc);
    ks_json_close(odd);
}

/* Copying a parsed document and parsing the copy gives the same text again. */
static void node_copy_is_stable(void **state)
{
    struct ks_json *doc = parsed(a_job), *again;
    struct ks_buf b, c;
    struct ks_jw w;

    (void)state;
    ks_buf_init(&b);
    ks_buf_init(&c);
    ks_jw_init(&w, &b, false);
    ks_jw_node(&w, NULL, ks_json_root(doc));
    assert_string_equal(ks_buf_text(&b),
                        "{\"name\":\"x\",\"Name\":true,\"kernels\":[{\"config\":\"a.json\"},"
                        "{\"config\":7,\"empty\":{},\"none\":null}],\"list\":[1,[2,3],4.5]}");
    again = parsed(ks_buf_text(&b));
    ks_jw_init(&w, &c, false);
    ks_jw_node(&w, NULL, ks_json_root(again));
    assert_string_equal(ks_buf_text(&b), ks_buf_text(&c));
    ks_json_close(doc);
    ks_json_close(again);
    ks_buf_release(&b);
    ks_buf_release(&c);
}

static void opens_files(void **state)
{
    char path[TEMP_DIR_MAX], want[TEMP_DIR_MAX + 80];
    int fd = temp_file_make(path, sizeof(path));
    struct ks_json *doc = NULL;
    struct ks_err err = { 0 };

    (void)state;
    assert_true(fd >= 0);
    assert_int_equal(write(fd, "{\"a\":\n 1}x", 10), 10);
    assert_int_equal(ks_json_open(path, &doc, &err), KS_EFORMAT);
    snprintf(want, sizeof(want), "%s:2: expected the end of the text, found 'x'", path);
    assert_string_equal(err.text, want);
    assert_int_equal(ftruncate(fd, 9), 0);
    assert_int_equal(ks_json_open(path, &doc, &err), 0);
    assert_int_equal(ks_node_line(ks_node_at(ks_json_root(doc), "a")), 2);
    ks_json_close(doc);
    close(fd);
    unlink(path);
    assert_int_equal(ks_json_open(path, &doc, &err), KS_ENOENT);
}

/* 64 MiB are read, a byte more is refused before it is read: the text behind `one` is not there. */
static void refuses_large_texts(void **state)
{
    static const char one[] = "1";
    const size_t most = (size_t)64 << 20;
    char path[TEMP_DIR_MAX], want[TEMP_DIR_MAX + 80];
    char *text = malloc(most);
    int fd = temp_file_make(path, sizeof(path));
    struct ks_json *doc = NULL;
    struct ks_err err = { 0 };

    (void)state;
    assert_true(text && fd >= 0);
    memset(text, ' ', most);
    text[most - 1] = '7';
    assert_int_equal(ks_json_parse(text, most, "t.json", &doc, &err), 0);
    ks_json_close(doc);
    free(text);
    doc = NULL;
    assert_int_equal(ks_json_parse(one, most + 1, "t.json", &doc, &err), KS_EFORMAT);
    assert_string_equal(err.text, "t.json: larger than 64 MiB, the limit for JSON");
    assert_int_equal(ftruncate(fd, (off_t)most + 1), 0);
    assert_int_equal(ks_json_open(path, &doc, &err), KS_EFORMAT);
    snprintf(want, sizeof(want), "%s: larger than 64 MiB, the limit for JSON", path);
    assert_string_equal(err.text, want);
    assert_null(doc);
    close(fd);
    unlink(path);
}

/* What --wrap does not reach: the allocations inside of the shared library. */
static int library_fails_too(void **state)
{
    cJSON_Hooks hooks = { .malloc_fn = fault_malloc, .free_fn = free };

    (void)state;
    cJSON_InitHooks(&hooks);
    return 0;
}

static int library_as_ever(void **state)
{
    (void)state;
    cJSON_InitHooks(NULL);
    return 0;
}

/* Every allocation fails once; the sanitizer build sees any leak. */
static void reads_without_memory(void **state)
{
    bool is_done = false;
    unsigned n;

    (void)state;
    for (n = 0; !is_done; n++) {
        struct ks_json *doc = NULL;
        struct ks_err err = { 0 };
        int rc;

        fault_arm(n);
        rc = ks_json_parse(a_job, strlen(a_job), "t.json", &doc, &err);
        is_done = !fault_disarm();
        assert_int_equal(rc, is_done ? 0 : KS_ENOMEM);
        assert_true(is_done == (doc != NULL));
        ks_json_close(doc);
    }
    /* Document, name, nodes, sorted keys; 16 values, 9 keys and 2 strings of cJSON's. */
    assert_true(n > 30);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(bad_grammar_is_located),
        cmocka_unit_test(bad_strings),
        cmocka_unit_test(bad_numbers),
        cmocka_unit_test(exact_numbers),
        cmocka_unit_test(strings_are_decoded),
        cmocka_unit_test(nests_to_64),
        cmocka_unit_test(walks_the_tree),
        cmocka_unit_test(long_names_are_shown_by_their_end),
        cmocka_unit_test(messages_name_the_place),
        cmocka_unit_test(scalars_as_option_text),
        cmocka_unit_test(unknown_keys),
        cmocka_unit_test(node_copy_is_stable),
        cmocka_unit_test(opens_files),
        cmocka_unit_test(refuses_large_texts),
        cmocka_unit_test_setup_teardown(reads_without_memory, library_fails_too, library_as_ever),
    };

    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests_name("json", tests, NULL, NULL);
}
