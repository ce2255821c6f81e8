/* SPDX-License-Identifier: MIT */
/* Physical identity of code: what must not change it, what must, and objects that are not sound. */
#include "base/file.h"
#include "build/codeid.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static const char source[] =
    "typedef int (*fn)(const int *, int);\n"
    "struct entry { const char *name; fn a, b; };\n"
    /* equal code under other names, at other addresses */
    "__attribute__((noinline)) static int help1(int x) { return x * 7 + 1; }\n"
    "__attribute__((noinline)) static int help2(int x) { return x * 7 + 1; }\n"
    "__attribute__((noinline)) static int help3(int x) { return x * 9 + 1; }\n"
    "int same1(const int *p, int n) { return help1(p[n]); }\n"
    "int same2(const int *p, int n) { return help2(p[n]); }\n"
    "int other_helper(const int *p, int n) { return help3(p[n]); }\n"
    /* the code is equal, a constant table is not */
    "static const int t1[] = {1,2,3,4,5,6,7,8}, t2[] = {1,2,3,4,5,6,7,8}, t3[] = "
    "{1,2,3,4,5,6,7,9};\n"
    "int table1(const int *p, int n) { return t1[p[n] & 7]; }\n"
    "int table2(const int *p, int n) { return t2[p[n] & 7]; }\n"
    "int table3(const int *p, int n) { return t3[p[n] & 7]; }\n"
    /* literals in mergeable sections */
    "double lit1(double x) { return x * 3.25; }\n"
    "double lit2(double x) { return x * 3.25; }\n"
    "double lit3(double x) { return x * 3.5; }\n"
    "const char *text1(void) { return \"needs c\"; }\n"
    "const char *text2(void) { return \"needs c\"; }\n"
    "const char *text3(void) { return \"needs k\"; }\n"
    /* tables of pointers */
    "static int (*const f1[])(int) = {help1, help3}, (*const f2[])(int) = {help2, help3},\n"
    "  (*const f3[])(int) = {help3, help1};\n"
    "int point1(int i) { return f1[i & 1](i); }\n"
    "int point2(int i) { return f2[i & 1](i); }\n"
    "int point3(int i) { return f3[i & 1](i); }\n"
    /* recursion through each other */
    "int odd1(int); int odd2(int);\n"
    "__attribute__((noinline)) int even1(int n) { return n ? odd1(n - 1) * 3 + 1 : 1; }\n"
    "__attribute__((noinline)) int odd1(int n) { return n ? even1(n - 1) * 5 + 2 : 0; }\n"
    "__attribute__((noinline)) int even2(int n) { return n ? odd2(n - 1) * 3 + 1 : 1; }\n"
    "__attribute__((noinline)) int odd2(int n) { return n ? even2(n - 1) * 5 + 2 : 0; }\n"
    /* what is outside counts by name */
    "extern int out1(int), out2(int);\n"
    "int ext1(int n) { return out1(n) + 1; }\n"
    "int ext1b(int n) { return out1(n) + 1; }\n"
    "int ext2(int n) { return out2(n) + 1; }\n"
    /* switches */
    "int sw1(int n) { switch (n) { case 0: return 5; case 1: return out1(1); case 2: return "
    "out2(3); case 3: return out1(9); case 4: return out2(8); case 5: return out1(4); } return 0; "
    "}\n"
    "int sw2(int n) { switch (n) { case 0: return 5; case 1: return out1(1); case 2: return "
    "out2(3); case 3: return out1(9); case 4: return out2(8); case 5: return out1(4); } return 0; "
    "}\n"
    /* written data */
    "static int counter; int count(void) { return ++counter; }\n"
    "int written[4] = {1,2,3,4}; int read_written(int i) { return written[i]; }\n"
    "int common[4]; int read_common(int i) { return common[i]; }\n"
    "__thread int local; int read_local(void) { return local; }\n"
    "int calls_count(void) { return count() + 1; }\n"
    /* entries: the functions count, the name does not */
    "const struct entry e1 = {\"one\", same1, table1}, e2 = {\"two\", same2, table2},\n"
    "  e3 = {\"one\", table1, same1}, e4 = {\"one\", same1, table3};\n"
    "const struct entry e_written = {\"w\", same1, (fn)(void *)count};\n"
    /* constants too long for a mergeable section */
    "typedef int v16 __attribute__((vector_size(64)));\n"
    "#define BIG(last) (v16){11,12,13,14,15,16,17,18,19,20,21,22,23,24,25,last}\n"
    "v16 big1(v16 x) { return x * BIG(26); }\n"
    "v16 big2(v16 x) { return x * BIG(26); }\n"
    "v16 big3(v16 x) { return x * BIG(27); }\n"
    "const int no_code = 3;\n";

struct object {
    struct ks_buf bytes;
};

/* Compiles the source above; flags as the build uses them. */
static int setup(void **state)
{
    char dir[] = "/tmp/ks_codeid_XXXXXX", path[64], command[300];
    struct object *o = calloc(1, sizeof(*o));
    struct ks_err err;
    assert_non_null(o);
    assert_non_null(mkdtemp(dir));
    snprintf(path, sizeof(path), "%s/u.c", dir);
    assert_int_equal(ks_file_replace(path, source, sizeof(source) - 1, &err), 0);
    snprintf(command, sizeof(command),
             "cc -O2 -fPIC -fcommon -fno-ipa-icf -mavx512f -fno-builtin -ffunction-sections "
             "-fdata-sections "
             "-w -c %s/u.c -o %s/u.o",
             dir, dir);
    assert_int_equal(system(command), 0);
    snprintf(path, sizeof(path), "%s/u.o", dir);
    assert_int_equal(ks_file_read(path, &o->bytes, &err), 0);
    assert_int_equal(ks_remove_tree(dir, &err), 0);
    *state = o;
    return 0;
}

static int teardown(void **state)
{
    struct object *o = *state;
    ks_buf_release(&o->bytes);
    free(o);
    return 0;
}

static struct ks_id128 id_of(const struct object *o, const char *symbol)
{
    struct ks_id128 id;
    struct ks_err err;
    if (ks_code_id(o->bytes.data, o->bytes.len, symbol, &id, &err) < 0)
        fail_msg("%s: %s", symbol, err.text);
    return id;
}

static void test_equal_and_different(void **state)
{
    static const struct {
        const char *a, *b;
        bool is_equal;
    } row[] = {
        { "same1", "same2", true },   { "same1", "other_helper", false },
        { "table1", "table2", true }, { "table1", "table3", false },
        { "lit1", "lit2", true },     { "lit1", "lit3", false },
        { "text1", "text2", true },   { "text1", "text3", false },
        { "point1", "point2", true }, { "point1", "point3", false },
        { "even1", "even2", true },   { "odd1", "odd2", true },
        { "even1", "odd1", false },   { "ext1", "ext1b", true },
        { "ext1", "ext2", false },    { "sw1", "sw2", true },
        { "e1", "e2", true },         { "e1", "e3", false },
        { "e1", "e4", false },        { "help1", "help2", true },
        { "big1", "big2", true },     { "big1", "big3", false },
    };
    for (size_t i = 0; i < sizeof(row) / sizeof(*row); i++) {
        const struct ks_id128 a = id_of(*state, row[i].a), b = id_of(*state, row[i].b);
        assert_false(ks_id128_is_zero(a));
        if (ks_id128_eq(a, b) != row[i].is_equal)
            fail_msg("%s and %s: %s", row[i].a, row[i].b, row[i].is_equal ? "differ" : "are equal");
    }
}

static void test_written_data_is_never_equal(void **state)
{
    static const char *const names[] = { "count",      "read_written", "read_common",
                                         "read_local", "calls_count",  "e_written" };
    for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++)
        if (!ks_id128_is_zero(id_of(*state, names[i])))
            fail_msg("%s has an identity", names[i]);
}

static void test_refused(void **state)
{
    static const struct {
        const char *symbol;
        int code;
    } row[] = { { "no_such", KS_ENOENT }, { "out1", KS_ENOENT }, { "no_code", KS_EFORMAT } };
    const struct object *o = *state;
    for (size_t i = 0; i < sizeof(row) / sizeof(*row); i++) {
        struct ks_err err;
        struct ks_id128 id = { 1, 2 };
        assert_int_equal(ks_code_id(o->bytes.data, o->bytes.len, row[i].symbol, &id, &err),
                         row[i].code);
        assert_non_null(strstr(err.text, row[i].symbol));
        assert_true(id.hi == 1 && id.lo == 2);
    }
}

/* Every truncation, and every byte of the headers changed, is refused or harmless. */
static void test_damaged_objects(void **state)
{
    const struct object *o = *state;
    uint32_t n_refused = 0;
    struct ks_id128 id;
    struct ks_err err;
    for (size_t n = 0; n < o->bytes.len; n += n < 256 ? 1 : 97) {
        uint8_t *part = malloc(n ? n : 1); /* its own block, so that a sanitizer sees its end */
        assert_non_null(part);
        memcpy(part, o->bytes.data, n);
        n_refused += ks_code_id(part, n, "e1", &id, &err) < 0;
        free(part);
    }
    assert_true(n_refused > 256);
    uint8_t *copy = malloc(o->bytes.len);
    assert_non_null(copy);
    for (size_t i = 0; i < 64; i++) {
        for (int bit = 0; bit < 8; bit++) {
            memcpy(copy, o->bytes.data, o->bytes.len);
            copy[i] = (uint8_t)(copy[i] ^ (1u << bit));
            (void)ks_code_id(copy, o->bytes.len, "e1", &id, &err);
        }
    }
    free(copy);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_equal_and_different),
        cmocka_unit_test(test_written_data_is_never_equal),
        cmocka_unit_test(test_refused),
        cmocka_unit_test(test_damaged_objects),
    };
    return cmocka_run_group_tests_name("codeid", tests, setup, teardown);
}
