/* SPDX-License-Identifier: MIT */
/* test_problem_text.c - problems as CSV and canonical text, which reads back */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
/* cmocka.h wants the four above first. */
#include <cmocka.h>

#include "tests/unit/fault.h"
#include "tests/unit/op_cases.h"

#include <stdio.h>
#include <string.h>

#define ARRAY_LEN(a) (sizeof(a) / sizeof((a)[0]))

static struct ks_problem good(const char *fields)
{
    struct ks_problem p;
    struct ks_err err;

    if (op_case(fields, &p, &err) < 0)
        fail_msg("'%s': %s", fields, err.text);
    return p;
}

static void csv_text(void **state)
{
    struct ks_problem p = good("stride_h=2 dilation_w=2");
    struct ks_buf b;

    (void)state;
    p.count = 3;
    ks_buf_init(&b);
    ks_problem_csv_header(p.op, &b);
    snprintf(p.name, sizeof(p.name), "layer1.0.conv2");
    ks_problem_csv_row(&p, &b);
    snprintf(p.name, sizeof(p.name), "a \"b\", c");
    ks_problem_csv_row(&p, &b);
    snprintf(p.name, sizeof(p.name), "a ");
    ks_problem_csv_row(&p, &b);
    assert_string_equal(
        ks_buf_text(&b),
        "operator,direction,dtype,layout,ndim,n,g,c_total,k_total,di,hi,wi,z,y,x,stride_d,stride_h,"
        "stride_w,dilation_d,dilation_h,dilation_w,pad_d_lo,pad_h_lo,pad_w_lo,pad_d_hi,pad_h_hi,"
        "pad_w_hi,count,name\n"
        "grouped_conv,forward,fp32,nhwgc,2,1,1,4,4,1,5,6,1,3,3,1,2,1,1,1,2,0,1,1,0,1,1,3,"
        "layer1.0.conv2\n"
        "grouped_conv,forward,fp32,nhwgc,2,1,1,4,4,1,5,6,1,3,3,1,2,1,1,1,2,0,1,1,0,1,1,3,"
        "\"a \"\"b\"\", c\"\n"
        "grouped_conv,forward,fp32,nhwgc,2,1,1,4,4,1,5,6,1,3,3,1,2,1,1,1,2,0,1,1,0,1,1,3,\"a \"\n");
    ks_buf_release(&b);
}

static void canonical_text_reads_back(void **state)
{
    uint64_t rng = 2;

    (void)state;
    for (int i = 0; i < 300; i++) {
        struct ks_problem p = op_case_random(&rng, KS_BF16), again;
        struct ks_buf b;

        p.direction = (uint32_t)i % KS_N_DIRECTIONS;
        p.layout = (uint32_t)i % KS_N_LAYOUTS;
        assert_int_equal(ks_problem_finish(&p, NULL), 0);
        ks_buf_init(&b);
        ks_problem_canonical(&p, &b);
        assert_int_equal(ks_problem_parse(ks_buf_text(&b), &again, NULL), 0);
        assert_memory_equal(&p, &again, sizeof(p));
        ks_buf_release(&b);
    }
}

/* Replaces the first `what` of the canonical text of the base case by `with`. */
static void parse_edited(const char *what, const char *with, int code, const char *reason)
{
    struct ks_problem p = good(""), out = { .id = 42 };
    struct ks_buf text, edited;
    struct ks_err err = { 0 };
    const char *at;

    ks_buf_init(&text);
    ks_buf_init(&edited);
    ks_problem_canonical(&p, &text);
    at = strstr(ks_buf_text(&text), what);
    assert_non_null(at);
    ks_buf_put(&edited, text.data, (size_t)(at - ks_buf_text(&text)));
    ks_buf_printf(&edited, "%s%s", with, at + strlen(what));
    assert_int_equal(ks_problem_parse(ks_buf_text(&edited), &out, &err), code);
    if (!strstr(err.text, reason))
        fail_msg("'%s' for '%s' gave '%s'", with, what, err.text);
    assert_int_equal(out.id, 42);
    ks_buf_release(&text);
    ks_buf_release(&edited);
}

static void parse_refuses(void **state)
{
    static const struct {
        const char *what, *with;
        int code;
        const char *reason;
    } rows[] = {
        { "operator=grouped_conv", "operator=pool", KS_EFORMAT, "unknown operator 'pool'" },
        { "operator=grouped_conv", "operator=gemm", KS_EFORMAT, "'batch=' expected" },
        { "operator=", "op=", KS_EFORMAT, "'operator=' expected at 'op=" },
        { "dtype=fp32", "dtype=fp8", KS_EFORMAT, "unknown dtype 'fp8'" },
        { " n=1", " n=01", KS_EFORMAT, "not in canonical form" },
        { " n=1", " n=+1", KS_EFORMAT, "not in canonical form" },
        { " n=1", " n=", KS_EFORMAT, "n = '' is not a number" },
        { " n=1", " n=1x", KS_EFORMAT, "n = '1x' is not a number" },
        { " n=1", " n=99999999999999999999", KS_EFORMAT, "is not a number" },
        { " n=1", " n=0000000000000000000000000000000001", KS_EFORMAT, "too long" },
        { " n=1", "", KS_EFORMAT, "'n=' expected" },
        { " n=1", "  n=1", KS_EFORMAT, "'n=' expected" },
        { " n=1", " n=0", KS_EINVAL, "n = 0, must be" },
        { " z=1", " z=0", KS_EFORMAT, "not in canonical form" },
        { "pad_w_hi=1", "pad_w_hi=1 ", KS_EFORMAT, "not in canonical form" },
        { "pad_w_hi=1", "pad_w_hi=1 more=2", KS_EFORMAT, "not in canonical form" },
        { " pad_w_hi=1", "", KS_EFORMAT, "'pad_w_hi=' expected at ''" },
    };
    static const char ends_early[] = "operator=grouped_conv\0direction=forward";
    struct ks_problem out;
    struct ks_err err;

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(rows); i++)
        parse_edited(rows[i].what, rows[i].with, rows[i].code, rows[i].reason);
    assert_int_equal(ks_problem_parse("", &out, NULL), KS_EFORMAT);
    assert_int_equal(ks_problem_parse(ends_early, &out, &err), KS_EFORMAT);
    assert_non_null(strstr(err.text, "'direction=' expected at ''"));
}

static void survives_no_memory(void **state)
{
    struct ks_problem fine = good("");
    struct ks_buf text;
    bool is_done = false;
    unsigned n;

    (void)state;
    ks_buf_init(&text);
    ks_problem_canonical(&fine, &text);
    for (n = 0; !is_done; n++) {
        struct ks_problem p = { .id = 42 };
        int rc;

        fault_arm(n);
        rc = ks_problem_parse(ks_buf_text(&text), &p, NULL);
        is_done = !fault_disarm();
        assert_int_equal(rc, is_done ? 0 : KS_ENOMEM);
        assert_int_equal(p.id, is_done ? fine.id : 42);
    }
    assert_true(n > 1);
    ks_buf_release(&text);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(csv_text),
        cmocka_unit_test(canonical_text_reads_back),
        cmocka_unit_test(parse_refuses),
        cmocka_unit_test(survives_no_memory),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
