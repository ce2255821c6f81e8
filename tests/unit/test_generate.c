/* SPDX-License-Identifier: MIT */
/* test_generate.c - generated problem sets, and Composable Kernel's forward sets among them */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
/* cmocka.h wants the four above first. */
#include <cmocka.h>

#include "base/hash.h"
#include "fault.h"
#include "grid/problems.h"
#include "op/conv.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int generate(struct ks_problem_set *set, const char *text, bool strict, struct ks_err *err)
{
    ks_problem_set_init(set);
    for (size_t i = 0; ks_importers[i]; i++)
        if (strcmp(ks_importers[i]->name, "generator") == 0)
            return ks_importers[i]->read(set, text, strlen(text), "f.json", strict, err);
    fail_msg("no generator");
    return -1;
}

#define WORDS                                                                                      \
    "\"let\": { \"direction\": \"forward\", \"dtype\": \"fp32\", \"layout\": \"nhwgc\" }, "
#define DOC(sets) "{ \"operator\": \"grouped_conv\", " WORDS "\"sets\": [\n" sets "\n] }\n"
#define REST      "\"di\": 1, \"wi\": \"hi\", \"z\": 1, \"y\": 1, \"x\": \"y\""

/* "n,g,c_total,k_total,hi,y,stride_h direction dtype count" of every problem. */
static void expect(const char *text, const char *want)
{
    struct ks_problem_set set;
    struct ks_err err = { 0 };
    struct ks_buf got;

    if (generate(&set, text, true, &err) < 0)
        fail_msg("%s", err.text);
    ks_buf_init(&got);
    for (uint32_t i = 0; i < set.n; i++) {
        const struct ks_problem p = ks_problem_table_get(&set.problems, i);

        ks_buf_printf(&got, "%d,%d,%d,%d,%d,%d,%d %s %s %d %s\n", (int)p.dim[KS_CONV_N],
                      (int)p.dim[KS_CONV_G], (int)p.dim[KS_CONV_C_TOTAL],
                      (int)p.dim[KS_CONV_K_TOTAL], (int)p.dim[KS_CONV_HI], (int)p.dim[KS_CONV_Y],
                      (int)p.dim[KS_CONV_STRIDE_H], ks_direction_name(p.direction),
                      ks_dtype_name(p.dtype), (int)p.count, p.name);
    }
    assert_string_equal(ks_buf_text(&got), want);
    ks_buf_release(&got);
    ks_problem_set_release(&set);
}

static void loops_run_the_first_slowest(void **state)
{
    (void)state;
    expect(DOC("{ \"name\": \"a\", \"for\": { \"hi\": [8, 16], \"c_total\": [4, 5] },"
               "  \"let\": { \"k_total\": \"2 * c_total\", " REST " } }"),
           "1,1,4,8,8,1,1 forward fp32 1 a\n1,1,5,10,8,1,1 forward fp32 1 a\n"
           "1,1,4,8,16,1,1 forward fp32 1 a\n1,1,5,10,16,1,1 forward fp32 1 a\n");
}

static void several_names_take_their_values_together(void **state)
{
    (void)state;
    expect(DOC("{ \"name\": \"a\","
               "  \"for\": { \"c_total,  k_total, direction\": [[4, 8, \"forward\"],"
               "             [5, 9, \"backward_data\"]], \"dtype\": [\"bf16\", \"fp16\"] },"
               "  \"let\": { \"hi\": 7, " REST " } }"),
           "1,1,4,8,7,1,1 forward bf16 1 a\n1,1,4,8,7,1,1 forward fp16 1 a\n"
           "1,1,5,9,7,1,1 backward_data bf16 1 a\n1,1,5,9,7,1,1 backward_data fp16 1 a\n");
}

/* Helpers, words in conditions, defaults of dims in expressions, counts, merged doubles. */
static void conditions_and_expressions(void **state)
{
    (void)state;
    expect(DOC("{ \"name\": \"a\", \"for\": { \"per_group\": [2, 3], \"g\": [1, 2, 4],"
               "  \"direction\": [\"forward\", \"backward_weight\"] },"
               "  \"let\": { \"c_total\": \"g * per_group\", \"k_total\": \"c_total // per_group\","
               "             \"hi\": \"stride_h + 8\", \"count\": \"g + 1\", " REST " },"
               "  \"when\": \"direction == 'forward' and (g > 1 or per_group == 3)\" },\n"
               "{ \"name\": \"b\", \"let\": { \"c_total\": 3, \"k_total\": 1, \"hi\": 9, " REST
               " } }"),
           "1,2,4,2,9,1,1 forward fp32 3 a\n1,4,8,4,9,1,1 forward fp32 5 a\n"
           "1,1,3,1,9,1,1 forward fp32 3 a\n1,2,6,2,9,1,1 forward fp32 3 a\n"
           "1,4,12,4,9,1,1 forward fp32 5 a\n");
}

static void the_set_is_stronger_than_the_document(void **state)
{
    (void)state;
    expect("{ \"operator\": \"grouped_conv\", \"why\": \"x\",\n"
           "  \"let\": { \"direction\": \"forward\", \"dtype\": \"bf16\", \"layout\": \"nhwgc\","
           "             \"k_total\": \"c_total\", \"stride_h\": \"y\", " REST " },\n"
           "  \"sets\": [ { \"name\": \"a\", \"why\": \"y\", \"for\": { \"hi\": [9] },"
           "    \"let\": { \"y\": 3, \"c_total\": 7 } },\n"
           "   { \"name\": \"b\", \"for\": { \"hi\": [9], \"stride_h\": [2] },"
           "    \"let\": { \"dtype\": \"fp16\", \"c_total\": 7 } } ] }",
           "1,1,7,7,9,3,3 forward bf16 1 a\n1,1,7,7,9,1,2 forward fp16 1 b\n");
}

static void another_operator(void **state)
{
    static const char text[] =
        "{ \"operator\": \"gemm\", " WORDS
        "\"sets\": [ { \"name\": \"square\", \"for\": { \"m\": [8, 16],"
        "  \"trans_a\": [0, 1] }, \"let\": { \"n\": \"m\", \"k\": \"2 * m\" } } ] }";
    struct ks_problem_set set;
    struct ks_err err = { 0 };

    (void)state;
    if (generate(&set, text, true, &err) < 0)
        fail_msg("%s", err.text);
    assert_int_equal(set.n, 4);
    assert_string_equal(ks_operators[ks_problem_table_get(&set.problems, 3).op]->name, "gemm");
    assert_int_equal(ks_problem_table_get(&set.problems, 3)
                         .dim[ks_problem_dim(ks_problem_table_get(&set.problems, 3).op, "k")],
                     32);
    assert_int_equal(ks_problem_table_get(&set.problems, 3)
                         .dim[ks_problem_dim(ks_problem_table_get(&set.problems, 3).op, "trans_a")],
                     1);
    ks_problem_set_release(&set);
}

static const struct {
    const char *text, *says;
} mistakes[] = {
    { "{", "f.json:" },
    { "[]", "expected an object { ... }" },
    { "{ \"operator\": \"gruoped_conv\", \"sets\": [] }", "f.json:1: operator: unknown operator" },
    { "{ \"operator\": \"grouped_conv\" }", "key 'sets' is missing" },
    { "{ \"operator\": \"grouped_conv\", \"sets\": [], \"wy\": 1 }", "did you mean 'why'" },
    { DOC("3"), "f.json:2: sets[0]: expected an object" },
    { DOC("{ \"for\": {} }"), "key 'name' is missing" },
    { DOC("{ \"name\": \"a\", \"fro\": {} }"), "did you mean 'for'" },
    { DOC("{ \"name\": \"a\", \"for\": [] }"), "for: expected an object" },
    { DOC("{ \"name\": \"a\", \"let\": [] }"), "let: expected an object" },
    { DOC("{ \"name\": \"a\", \"for\": { \"hi\": [] } }"), "hi: expected a list of values" },
    { DOC("{ \"name\": \"a\", \"for\": { \"hi\": 3 } }"), "hi: expected a list of values" },
    { DOC("{ \"name\": \"a\", \"for\": { \"hi\": [1.5] } }"), "hi[0]" },
    { DOC("{ \"name\": \"a\", \"for\": { \"hi\": [\"x\"] } }"), "hi[0]" },
    { DOC("{ \"name\": \"a\", \"for\": { \"dtype\": [\"fp31\"] } }"),
      "'fp31' is not a known dtype" },
    { DOC("{ \"name\": \"a\", \"for\": { \"dtype\": [3] } }"), "dtype[0]" },
    { DOC("{ \"name\": \"a\", \"for\": { \"hi,wi\": [[1, 2], [3]] } }"),
      "expected a list of 2 values" },
    { DOC("{ \"name\": \"a\", \"for\": { \"hi,wi\": [1] } }"), "expected a list of 2 values" },
    { DOC("{ \"name\": \"a\", \"for\": { \"hi,hi\": [[1, 2]] } }"), "duplicate 'hi'" },
    { DOC("{ \"name\": \"a\", \"for\": { \"hi\": [1] }, \"let\": { \"hi\": 2 } }"),
      "duplicate 'hi'" },
    { DOC("{ \"name\": \"a\", \"for\": { \"Hi\": [1] } }"), "'Hi' is not a name" },
    { DOC("{ \"name\": \"a\", \"for\": { \"hi,\": [[1, 2]] } }"), "'' is not a name" },
    { DOC("{ \"name\": \"a\", \"for\": { \"hj\": [1] } }"),
      "'hj' is not a dimension of grouped_conv and no expression uses it, did you mean 'hi'" },
    { DOC("{ \"name\": \"a\", \"let\": { \"hj\": 1 } }"), "'hj' is not a dimension" },
    { DOC("{ \"name\": \"a\", \"let\": { \"hi\": \"wj\" } }"),
      "set 'a': f.json:2: sets[0].let.hi: column 1: unknown name 'wj'" },
    { DOC("{ \"name\": \"a\", \"let\": { \"hi\": \"wi\", \"wi\": 1 } }"), "unknown name 'wi'" },
    { DOC("{ \"name\": \"a\", \"let\": { \"hi\": \"1 +\" } }"), "unexpected end" },
    { DOC("{ \"name\": \"a\", \"let\": { \"dtype\": \"half\" } }"),
      "is not a known dtype; did you mean 'fp16'?" },
    { DOC("{ \"name\": \"a\", \"when\": \"hi ==\" }"), "when:" },
    { DOC("{ \"name\": \"a\", \"when\": 3 }"), "when:" },
    { "{ \"operator\": \"gemm\", \"sets\": [\n{ \"name\": \"a\" } ] }",
      "set 'a': f.json:2: sets[0]: 'direction' is missing: set it in 'let' or 'for'" },
    { "{ \"operator\": \"gemm\", \"let\": { \"direction\": \"forward\", \"layout\": \"nhwgc\" "
      "},"
      " \"sets\": [ { \"name\": \"a\" } ] }",
      "'dtype' is missing" },
    { "{ \"operator\": \"gemm\", \"let\": { \"direction\": \"forward\", \"dtype\": \"fp32\" },"
      " \"sets\": [ { \"name\": \"a\" } ] }",
      "'layout' is missing" },
};

static void errors_say_where(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof mistakes / sizeof mistakes[0]; i++) {
        struct ks_problem_set set;
        struct ks_err err = { 0 };
        int rc = generate(&set, mistakes[i].text, false, &err);

        if ((rc != KS_EINVAL && rc != KS_EFORMAT) || !strstr(err.text, mistakes[i].says))
            fail_msg("row %zu: %d '%s', want '%s'", i, rc, err.text, mistakes[i].says);
        ks_problem_set_release(&set);
    }
}

/* What is no valid problem is refused one by one, in strict reading it stops. */
static void invalid_combinations_are_refused(void **state)
{
    static const char text[] =
        DOC("{ \"name\": \"odd\", \"for\": { \"g\": [1, 2, 0], \"c_total\": [3, 4] },"
            "  \"let\": { \"k_total\": \"12 // g\", \"hi\": 7, " REST " } }");
    struct ks_problem_set set;
    struct ks_err err = { 0 };

    (void)state;
    assert_int_equal(generate(&set, text, false, &err), 0);
    assert_int_equal(set.n_commands, 6);
    assert_int_equal(set.n_taken, 3);
    assert_int_equal(set.n_refused, 3);
    assert_int_equal(set.n_lines, 3);
    assert_int_equal(set.n_other, 3);
    assert_int_equal(set.refusals[0].line, 2);
    assert_string_equal(set.refusals[0].reason,
                        "set 'odd', g=2 c_total=3: c_total = 3 is not divisible by g = 2");
    assert_non_null(strstr(set.refusals[1].reason, "set 'odd': k_total: "));
    ks_problem_set_release(&set);
    /* A name that no line of CSV can hold. */
    assert_int_equal(generate(&set,
                              DOC("{ \"name\": \"a\\nb\", \"for\": { \"hi\": [7] },"
                                  "  \"let\": { \"c_total\": 1, \"k_total\": 1, " REST " } }"),
                              false, &err),
                     0);
    assert_int_equal(set.n_refused, 1);
    assert_non_null(strstr(set.refusals[0].reason, "name has a line break"));
    ks_problem_set_release(&set);
    assert_int_equal(generate(&set, text, true, &err), KS_EFORMAT);
    assert_int_equal(strncmp(err.text, "f.json:2: set 'odd'", 19), 0);
    ks_problem_set_release(&set);
}

/* "name": [1, 2, ... n] */
static void put_list(struct ks_buf *b, const char *name, int n)
{
    ks_buf_printf(b, "\"%s\": [1", name);
    for (int i = 2; i <= n; i++)
        ks_buf_printf(b, ", %d", i);
    ks_buf_printf(b, "]");
}

/* All sets of a document count, and none of the one that is too many is looked at. */
static void too_many_combinations_of_all_sets(void **state)
{
    static const char rest[] = " }, \"let\": { \"c_total\": 1, \"k_total\": 1, " REST " } }";
    struct ks_problem_set set;
    struct ks_err err = { 0 };
    struct ks_buf b;

    (void)state;
    ks_buf_init(&b);
    ks_buf_printf(&b, "{ \"operator\": \"grouped_conv\", " WORDS "\"sets\": [ { \"name\": \"a\", "
                      "\"for\": {");
    put_list(&b, "hi", 2);
    ks_buf_printf(&b, "%s,\n{ \"name\": \"b\", \"for\": {", rest);
    put_list(&b, "hi", 999); /* 999 * 1001 + 2 is one too many */
    ks_buf_printf(&b, ", ");
    put_list(&b, "n", 1001);
    ks_buf_printf(&b, "%s ] }", rest);
    assert_int_equal(generate(&set, ks_buf_text(&b), false, &err), KS_EINVAL);
    if (!strstr(err.text, "f.json:2: sets[1]: the file has more than 1000000 combinations"))
        fail_msg("%s", err.text);
    assert_int_equal(set.n_taken, 2);
    ks_problem_set_release(&set);
    ks_buf_release(&b);
}

static void too_many_combinations_are_refused(void **state)
{
    struct ks_problem_set set;
    struct ks_err err = { 0 };
    struct ks_buf b;

    (void)state;
    ks_buf_init(&b);
    ks_buf_printf(&b, "{ \"operator\": \"grouped_conv\", " WORDS
                      "\"sets\": [ { \"name\": \"a\", \"for\": {");
    for (int i = 0; i < 20; i++)
        ks_buf_printf(&b, "%s\"v%d\": [1, 2]", i ? ", " : "", i);
    ks_buf_printf(&b, " }, \"let\": { \"hi\": \"v0");
    for (int i = 1; i < 20; i++)
        ks_buf_printf(&b, " + v%d", i);
    ks_buf_printf(&b, "\" }, \"when\": \"false\" } ] }");
    assert_int_equal(generate(&set, ks_buf_text(&b), false, &err), KS_EINVAL);
    assert_non_null(strstr(err.text, "more than 1000000 combinations"));
    ks_problem_set_release(&set);
    ks_buf_release(&b);
}

static int by_value(const void *a, const void *b)
{
    const uint64_t *x = a, *y = b;

    return *x < *y ? -1 : *x > *y;
}

/* SHA-256 of the ids in ascending order, eight bytes each, big-endian. */
static void digest_of(const struct ks_problem_set *set, char hex_out[33])
{
    uint64_t *ids = calloc(set->n, sizeof *ids);
    struct ks_sha256 h;

    assert_non_null(ids);
    for (uint32_t i = 0; i < set->n; i++)
        ids[i] = ks_problem_table_id(&set->problems, i);
    qsort(ids, set->n, sizeof *ids, by_value);
    ks_sha256_init(&h);
    for (uint32_t i = 0; i < set->n; i++) {
        uint8_t bytes[8];

        for (int k = 0; k < 8; k++)
            bytes[k] = (uint8_t)(ids[i] >> (56 - 8 * k));
        ks_sha256_add(&h, bytes, sizeof bytes);
    }
    ks_hex128(ks_sha256_id128(&h), hex_out);
    free(ids);
}

/* The digests are those of Composable Kernel's own lists, read by the importer; e2e/20-problem-sets
 * compares with the lists themselves where they are. */
static void composable_kernels_forward_sets(void **state)
{
    static const struct {
        const char *file;
        uint64_t n_raw;
        uint32_t n;
        const char *digest;
    } rows[] = {
        { "ck_forward_2d.json", 1718, 1614, "08dd8df3ab8cc948d3cf9d9caf8cab8c" },
        { "ck_forward_3d.json", 168, 168, "e103998d2ba518ba1f8eafe97c21d85d" },
    };

    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        char path[512], digest[33];
        struct ks_problem_set set;
        struct ks_err err = { 0 };

        snprintf(path, sizeof path, "%s/jobs/problems/%s", KS_SOURCE_DIR, rows[i].file);
        ks_problem_set_init(&set);
        if (ks_problem_set_read(&set, path, "auto", true, &err) < 0)
            fail_msg("%s", err.text);
        assert_int_equal(set.n_problems_raw, rows[i].n_raw);
        assert_int_equal(set.n, rows[i].n);
        digest_of(&set, digest);
        assert_string_equal(digest, rows[i].digest);
        ks_problem_set_release(&set);
    }
}

static void memory_may_run_out_anywhere(void **state)
{
    static const char text[] =
        DOC("{ \"name\": \"a\", \"for\": { \"hi\": [7], \"m\": [2, 3] }, \"when\": \"m > 0\","
            "  \"let\": { \"c_total\": \"m\", \"k_total\": \"2 * m\", " REST " } }");
    unsigned n = 0;
    bool was_hit = true;

    (void)state;
    for (; was_hit; n++) {
        struct ks_problem_set set;
        struct ks_err err = { 0 };
        int rc;

        fault_arm(n);
        rc = generate(&set, text, false, &err);
        was_hit = fault_disarm();
        if (rc != (was_hit ? KS_ENOMEM : 0) || set.n_refused != 0)
            fail_msg("allocation %u: %d '%s'", n, rc, err.text);
        ks_problem_set_release(&set);
    }
    assert_true(n > 10);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(loops_run_the_first_slowest),
        cmocka_unit_test(several_names_take_their_values_together),
        cmocka_unit_test(conditions_and_expressions),
        cmocka_unit_test(the_set_is_stronger_than_the_document),
        cmocka_unit_test(another_operator),
        cmocka_unit_test(errors_say_where),
        cmocka_unit_test(invalid_combinations_are_refused),
        cmocka_unit_test(too_many_combinations_are_refused),
        cmocka_unit_test(too_many_combinations_of_all_sets),
        cmocka_unit_test(composable_kernels_forward_sets),
        cmocka_unit_test(memory_may_run_out_anywhere),
    };

    return cmocka_run_group_tests_name("generate", tests, NULL, NULL);
}
