/* SPDX-License-Identifier: MIT */
/* test_alias.c - groups of equal code, and which of the aliases are controls */
#include "base/hash.h"
#include "fault.h"
#include "mpi/alias.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Codes as letters, '.' none; the groups as "members members". */
static void check(const char *codes, const uint32_t *seniority, const char *want)
{
    struct ks_id128 code[32];
    struct ks_aliases a = { 0 };
    struct ks_err err;
    char have[256] = "";
    uint32_t n = (uint32_t)strlen(codes), n_grouped = 0;
    for (uint32_t i = 0; i < n; i++) { /* both halves count */
        uint64_t c = codes[i] == '.' ? 0 : (uint64_t)(codes[i] - 'a');
        code[i] = (struct ks_id128){ c / 2, codes[i] == '.' ? 0 : c % 2 + 1 };
    }
    assert_int_equal(ks_aliases_make(code, seniority, n, &a, &err), 0);
    for (uint32_t g = 0; g < a.n_groups; g++) {
        for (uint32_t k = a.first[g]; k < a.first[g + 1]; k++) {
            size_t at = strlen(have);
            snprintf(have + at, sizeof(have) - at, "%u,", a.member[k]);
            assert_int_equal(a.group[a.member[k]], g);
            n_grouped++;
        }
        size_t end = strlen(have);
        snprintf(have + end, sizeof(have) - end, " ");
    }
    if (strcmp(have, want) != 0)
        fail_msg("%s: have '%s', want '%s'", codes, have, want);
    for (uint32_t i = 0; i < n; i++)
        n_grouped += a.group[i] == KS_NO_ALIAS;
    assert_int_equal(n_grouped, n);
    ks_aliases_release(&a);
    ks_aliases_release(&a);
}

static void test_groups(void **state)
{
    static const uint32_t reversed[] = { 5, 4, 3, 2, 1, 0 };
    static const uint32_t mixed[] = { 3, 0, 9, 1, 7, 2 };
    (void)state;
    check("", NULL, "");
    check("a", NULL, "");
    check("abcdef", NULL, "");
    check("......", NULL, "");
    check("aa", NULL, "0,1, ");
    check("abacab", NULL, "0,2,4, 1,5, ");
    check("acca.b", NULL, "0,3, 1,2, ");
    check("a.a..a", NULL, "0,2,5, ");
    check("aaaaaa", reversed, "5,4,3,2,1,0, ");
    check("abaaba", mixed, "3,5,0,2, 1,4, ");
}

static void test_many(void **state)
{
    enum { N = 100000 };
    struct ks_id128 *code = calloc(N, sizeof(*code));
    struct ks_aliases a;
    (void)state;
    assert_non_null(code);
    for (uint32_t i = 0; i < N; i++)
        code[i] = (struct ks_id128){ 1, 1 + ks_mix64(i) % 1000 };
    assert_int_equal(ks_aliases_make(code, NULL, N, &a, NULL), 0);
    assert_int_equal(a.n_groups, 1000);
    assert_int_equal(a.first[a.n_groups], N);
    for (uint32_t g = 0; g < a.n_groups; g++)
        for (uint32_t k = a.first[g] + 1; k < a.first[g + 1]; k++) {
            assert_true(a.member[k] > a.member[k - 1]);
            assert_true(ks_id128_eq(code[a.member[k]], code[a.member[k - 1]]));
        }
    ks_aliases_release(&a);
    free(code);
}

static void test_no_memory(void **state)
{
    static const struct ks_id128 code[2] = { { 1, 1 }, { 1, 1 } };
    struct ks_aliases a = { .n_groups = 77 };
    struct ks_err err;
    unsigned n = 0;
    (void)state;
    for (;; n++) {
        fault_arm(n);
        int rc = ks_aliases_make(code, NULL, 2, &a, &err);
        if (!fault_disarm())
            break;
        assert_int_equal(rc, KS_ENOMEM);
        assert_int_equal(a.n_groups, 77);
    }
    assert_true(n >= 4);
    assert_int_equal(a.n_groups, 1);
    ks_aliases_release(&a);
}

/* Of n draws the share is met within five standard deviations, whatever the ids look like, and a
 * larger share only adds. */
static void test_controls(void **state)
{
    static const double shares[] = { 0, 0.01, 0.1, 0.5, 1 };
    enum { PROBLEMS = 200, INSTANCES = 500 };
    (void)state;
    for (size_t s = 0; s < sizeof(shares) / sizeof(shares[0]); s++) {
        double p = shares[s], n = (double)PROBLEMS * INSTANCES;
        uint32_t hits = 0;
        for (uint64_t i = 0; i < PROBLEMS; i++)
            for (uint64_t k = 0; k < INSTANCES; k++) {
                bool is = ks_alias_is_control(i, k, p);
                hits += is;
                if (s)
                    assert_true(is || !ks_alias_is_control(i, k, shares[s - 1]));
            }
        double off = hits - n * p;
        assert_true(off * off <= 25 * n * p * (1 - p));
    }
    assert_int_equal(ks_alias_is_control(1, 2, 0), false);
    assert_int_equal(ks_alias_is_control(UINT64_MAX, UINT64_MAX, 1), true);
    uint32_t n_differ = 0; /* the two ids are not interchangeable */
    for (uint64_t i = 0; i < 1000; i++)
        n_differ += ks_alias_is_control(i, i + 1, 0.5) != ks_alias_is_control(i + 1, i, 0.5);
    assert_true(n_differ > 300);
}

/* For ever: a run that is resumed by a later version draws the same. */
static void test_golden_controls(void **state)
{
    char have[65] = "";
    (void)state;
    for (uint64_t i = 0; i < 64; i++)
        have[i] = ks_alias_is_control(0x0123456789abcdef, i, 0.25) ? 'c' : '-';
    assert_string_equal(have, "c-c-cccc--c-----c-cc-c-c----c--c---cccccc-----c----c--------c---");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_groups),          cmocka_unit_test(test_many),
        cmocka_unit_test(test_no_memory),       cmocka_unit_test(test_controls),
        cmocka_unit_test(test_golden_controls),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
