/* SPDX-License-Identifier: MIT */
/* test_json_write.c - the JSON writer: compact and pretty, misuse, escapes, no memory */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
/* cmocka.h wants the four above first. */
#include <cmocka.h>

#include "fault.h"
#include "json/json.h"

#include <cjson/cJSON.h>
#include <math.h>
#include <stdlib.h>

static void write_sample(struct ks_jw *w)
{
    ks_jw_open(w, NULL, '{');
    ks_jw_str(w, "s", "a\"\\\n\x01\xc3\xa9\xff");
    ks_jw_open(w, "list", '[');
    ks_jw_int(w, NULL, INT64_MIN);
    ks_jw_u64(w, NULL, UINT64_MAX);
    ks_jw_real(w, NULL, 0.1 + 0.2);
    ks_jw_real(w, NULL, 5);
    ks_jw_real(w, NULL, 1e22);
    ks_jw_bool(w, NULL, true);
    ks_jw_null(w, NULL);
    ks_jw_str(w, NULL, NULL);
    ks_jw_close(w, ']');
    ks_jw_open(w, "e", '{');
    ks_jw_close(w, '}');
    ks_jw_bool(w, "k\t", false);
    ks_jw_str(w, ":\t", ":\t:");
    ks_jw_close(w, '}');
}

static void writes_compact_and_pretty(void **state)
{
    static const char compact[] =
        "{\"s\":\"a\\\"\\\\\\n\\u0001\xc3\xa9\xef\xbf\xbd\",\"list\":[-9223372036854775808,"
        "18446744073709551615,0.30000000000000004,5.0,1e+22,true,null,null],\"e\":{},"
        "\"k\\t\":false,\":\\t\":\":\\t:\"}";
    static const char pretty[] =
        "{\n  \"s\": \"a\\\"\\\\\\n\\u0001\xc3\xa9\xef\xbf\xbd\",\n"
        "  \"list\": [-9223372036854775808, 18446744073709551615, 0.30000000000000004, 5.0, 1e+22, "
        "true, null, null],\n  \"e\": {\n  },\n  \"k\\t\": false,\n  \":\\t\": \":\\t:\"\n}";
    struct ks_buf b;
    struct ks_jw w;

    (void)state;
    ks_buf_init(&b);
    ks_jw_init(&w, &b, false);
    write_sample(&w);
    assert_string_equal(ks_buf_text(&b), compact);
    ks_buf_clear(&b);
    ks_jw_init(&w, &b, true);
    write_sample(&w);
    assert_string_equal(ks_buf_text(&b), pretty);
    assert_true(ks_buf_ok(&b));
    ks_buf_release(&b);
}

static void odd_close(struct ks_jw *w)
{
    ks_jw_open(w, NULL, '[');
    ks_jw_close(w, '}');
}

static void close_too_many(struct ks_jw *w)
{
    ks_jw_close(w, '}');
}

static void not_finite(struct ks_jw *w)
{
    ks_jw_open(w, NULL, '[');
    ks_jw_real(w, NULL, NAN);
    ks_jw_close(w, ']');
}

static void key_in_array(struct ks_jw *w)
{
    ks_jw_open(w, NULL, '[');
    ks_jw_int(w, "k", 1);
    ks_jw_close(w, ']');
}

static void member_without_key(struct ks_jw *w)
{
    ks_jw_open(w, NULL, '{');
    ks_jw_open(w, NULL, '[');
}

static void key_outside(struct ks_jw *w)
{
    ks_jw_null(w, "k");
}

static void deeper_than_32(struct ks_jw *w)
{
    for (int i = 0; i < 32; i++)
        ks_jw_open(w, NULL, '[');
    assert_true(ks_buf_ok(w->to));
    ks_jw_open(w, NULL, '[');
}

/* Whatever follows is ignored, nothing is written, and what was open is released. */
static void writer_misuse_fails_the_buffer(void **state)
{
    static void (*const misuse[])(
        struct ks_jw *) = { odd_close,   close_too_many,     not_finite,    key_in_array,
                            key_outside, member_without_key, deeper_than_32 };

    (void)state;
    for (size_t i = 0; i < sizeof(misuse) / sizeof(misuse[0]); i++) {
        struct ks_buf b;
        struct ks_jw w;

        ks_buf_init(&b);
        ks_jw_init(&w, &b, false);
        misuse[i](&w);
        assert_false(ks_buf_ok(&b));
        write_sample(&w);
        assert_false(ks_buf_ok(&b));
        assert_true(b.len <= 1); /* of a list its bracket */
        ks_buf_release(&b);
    }
}

/* Nothing is written before the outermost bracket closes; what ks_jw_drop() drops is not written.
 */
static void writes_whole_values(void **state)
{
    struct ks_buf b;
    struct ks_jw w;

    (void)state;
    ks_buf_init(&b);
    ks_jw_init(&w, &b, false);
    ks_jw_open(&w, NULL, '{');
    ks_jw_open(&w, "a", '[');
    ks_jw_drop(&w);
    ks_jw_int(&w, NULL, 7);
    assert_string_equal(ks_buf_text(&b), "7");
    ks_jw_open(&w, NULL, '{');
    assert_string_equal(ks_buf_text(&b), "7");
    ks_jw_close(&w, '}');
    assert_string_equal(ks_buf_text(&b), "7{}");
    ks_jw_drop(&w);
    assert_true(ks_buf_ok(&b));
    ks_buf_release(&b);
}

static void escapes_what_terminals_obey(void **state)
{
    static const char text[] =
        "\x7f \xc2\x80 \xc2\x9b \xc2\xa0 \xe2\x80\xa7 \xe2\x80\xa8 \xe2\x80\xae "
        "\xe2\x80\xaf \xe2\x81\xa5 \xe2\x81\xa6 \xe2\x81\xa9 \xe2\x81\xaa \xe2\x82\xac";
    static const char want[] =
        "\"\\u007f \\u0080 \\u009b \xc2\xa0 \xe2\x80\xa7 \\u2028 \\u202e "
        "\xe2\x80\xaf \xe2\x81\xa5 \\u2066 \\u2069 \xe2\x81\xaa \xe2\x82\xac\"";
    struct ks_json *doc = NULL;
    struct ks_err err = { 0 };
    const char *back = NULL;
    struct ks_buf b;
    struct ks_jw w;

    (void)state;
    ks_buf_init(&b);
    ks_jw_init(&w, &b, false);
    ks_jw_str(&w, NULL, text);
    assert_string_equal(ks_buf_text(&b), want);
    assert_int_equal(ks_json_parse(ks_buf_text(&b), b.len, "t", &doc, &err), 0);
    assert_int_equal(ks_node_str(doc, ks_json_root(doc), &back, &err), 0);
    assert_string_equal(back, text);
    ks_json_close(doc);
    ks_buf_release(&b);
}

static void write_list(struct ks_jw *w)
{
    ks_jw_open(w, NULL, '[');
    ks_jw_int(w, NULL, 1);
    ks_jw_open(w, NULL, '{');
    ks_jw_open(w, "a", '[');
    ks_jw_open(w, NULL, '{');
    ks_jw_str(w, "b", "\n\t");
    ks_jw_close(w, '}');
    ks_jw_close(w, ']');
    ks_jw_close(w, '}');
    ks_jw_open(w, NULL, '[');
    ks_jw_null(w, NULL);
    ks_jw_close(w, ']');
    ks_jw_close(w, ']');
}

/* The elements of an outermost list are written one by one, in the layout of the whole. */
static void writes_lists_by_element(void **state)
{
    static const char pretty[] = "[1, {\n    \"a\": [{\n        \"b\": \"\\n\\t\"\n      }]\n"
                                 "  }, [null]]";
    struct ks_buf b;
    struct ks_jw w;

    (void)state;
    ks_buf_init(&b);
    ks_jw_init(&w, &b, true);
    write_list(&w);
    assert_string_equal(ks_buf_text(&b), pretty);
    ks_buf_clear(&b);
    ks_jw_init(&w, &b, false);
    write_list(&w);
    write_list(&w);
    ks_jw_open(&w, NULL, '[');
    ks_jw_close(&w, ']');
    assert_string_equal(ks_buf_text(&b), "[1,{\"a\":[{\"b\":\"\\n\\t\"}]},[null]]"
                                         "[1,{\"a\":[{\"b\":\"\\n\\t\"}]},[null]][]");
    ks_buf_clear(&b);
    ks_jw_open(&w, NULL, '[');
    ks_jw_open(&w, NULL, '{');
    assert_string_equal(ks_buf_text(&b), "["); /* what is open is not written yet */
    ks_jw_close(&w, '}');
    assert_string_equal(ks_buf_text(&b), "[{}");
    ks_jw_open(&w, NULL, '{');
    ks_jw_drop(&w);
    assert_string_equal(ks_buf_text(&b), "[{}");
    assert_true(ks_buf_ok(&b));
    ks_buf_release(&b);
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

static void writes_without_memory(void **state)
{
    bool is_done = false;
    unsigned n;

    (void)state;
    for (n = 0; !is_done; n++) {
        struct ks_buf b;
        struct ks_jw w;

        ks_buf_init(&b);
        fault_arm(n);
        ks_jw_init(&w, &b, n % 2);
        write_sample(&w);
        write_list(&w);
        is_done = !fault_disarm();
        assert_int_equal(ks_buf_ok(&b), is_done);
        assert_int_equal(w.depth, 0);
        ks_buf_release(&b);
    }
    assert_true(n > 30);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(writes_compact_and_pretty),
        cmocka_unit_test(writer_misuse_fails_the_buffer),
        cmocka_unit_test(writes_whole_values),
        cmocka_unit_test(writes_lists_by_element),
        cmocka_unit_test(escapes_what_terminals_obey),
        cmocka_unit_test_setup_teardown(writes_without_memory, library_fails_too, library_as_ever),
    };

    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests_name("json_write", tests, NULL, NULL);
}
