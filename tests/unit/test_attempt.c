/* SPDX-License-Identifier: MIT */
/* test_attempt.c - which attempt of a cell counts */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
/* cmocka.h wants the four above first. */
#include <cmocka.h>

#include "record/attempt.h"
#include "record/outcome.h"
#include "record/record.h"

#include <string.h>

enum {
    C = KS_ROLE_CELL,
    A = KS_ROLE_ANCHOR,
    NOISY = KS_FL_CONTAMINATED,
    BAD = KS_FL_VOID,
    SUSPECT = KS_FL_SUSPECT
};

struct choice {
    struct ks_attempt r[4];
    size_t n;
    int want;
};

static void check_choices(const struct choice *rows, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (ks_record_final(rows[i].r, rows[i].n) != rows[i].want)
            fail_msg("row %zu: %d, want %d", i, ks_record_final(rows[i].r, rows[i].n),
                     rows[i].want);
}

static void the_final_attempt(void **state)
{
    static const struct choice rows[] = {
        { { { 0 } }, 0, -1 },
        { { { 1, 0, C, KS_O_OK, 0, -1 } }, 1, 0 },
        { { { 1, 0, A, KS_O_OK, 0, -1 } }, 1, -1 },
        { { { 1, 1, C, KS_O_OK, 0, -1 } }, 1, -1 },
        { { { 1, 0, C, KS_O_CRASHED, BAD, -1 } }, 1, -1 },
        { { { 1, 0, C, KS_O_CRASHED, 0, -1 }, { 2, 0, C, KS_O_OK, 0, -1 } }, 2, 1 },
        { { { 2, 0, C, KS_O_OK, 0, -1 }, { 1, 0, C, KS_O_CRASHED, 0, -1 } }, 2, 0 },
        { { { 1, 0, C, KS_O_OK, 0, -1 }, { 2, 0, C, KS_O_CRASHED, 0, -1 } }, 2, 1 },
        { { { 1, 0, C, KS_O_OK, 0, -1 }, { 2, 0, C, KS_O_CRASHED, BAD, -1 } }, 2, 0 },
        { { { 1, 0, C, KS_O_OK, 0, -1 },
            { 2, 0, C, KS_O_OK, 0, -1 },
            { 2, 0, C, KS_O_OK, BAD, -1 } },
          3,
          0 },
        { { { 2, 0, C, KS_O_OK, BAD, -1 },
            { 2, 0, C, KS_O_OK, 0, -1 },
            { 2, 1, C, KS_O_OK, 0, -1 } },
          3,
          -1 },
        { { { 1, 0, C, KS_O_OK, 0, -1 },
            { 1, 0, A, KS_O_OK, BAD, -1 },
            { 1, 1, C, KS_O_OK, BAD, -1 } },
          3,
          0 },
        { { { 1, 0, C, KS_O_OK, NOISY, -1 }, { 2, 0, C, KS_O_OK, NOISY, -1 } }, 2, 1 },
        { { { 1, 0, C, KS_O_OK, 0, -1 }, { 2, 0, C, KS_O_OK, NOISY, -1 } }, 2, 0 },
        { { { 3, 0, C, KS_O_OK, NOISY, -1 },
            { 2, 0, C, KS_O_OK, 0, -1 },
            { 1, 0, C, KS_O_OK, 0, -1 },
            { 9, 1, C, KS_O_OK, 0, -1 } },
          4,
          1 },
        { { { 1, 0, C, KS_O_OK, 0, -1 }, { 2, 0, C, KS_O_OK, NOISY | SUSPECT, -1 } }, 2, 1 },
        { { { 1, 0, C, KS_O_OK, 0, -1 }, { 2, 0, C, KS_O_OK, SUSPECT, -1 } }, 2, 1 },
        { { { 1, 0, C, KS_O_WRONG_RESULT, 0, -1 }, { 2, 0, C, KS_O_OK, NOISY, -1 } }, 2, 1 },
        { { { 1, 0, C, KS_O_OK, 0, -1 }, { 2, 0, C, KS_O_WRONG_RESULT, NOISY, -1 } }, 2, 1 },
    };

    (void)state;
    check_choices(rows, sizeof(rows) / sizeof(rows[0]));
}

/* A failure in any round decides its attempt. */
static void a_failure_in_a_later_round(void **state)
{
    static const struct choice rows[] = {
        { { { 1, 0, C, KS_O_OK, 0, -1 }, { 1, 1, C, KS_O_CRASHED, 0, -1 } }, 2, 1 },
        { { { 1, 2, C, KS_O_TIMEOUT, 0, -1 },
            { 1, 1, C, KS_O_CRASHED, 0, -1 },
            { 1, 0, C, KS_O_OK, 0, -1 } },
          3,
          1 },
        { { { 1, 0, C, KS_O_OK, 0, -1 },
            { 1, 3, C, KS_O_CRASHED, 0, -1 },
            { 2, 0, C, KS_O_OK, NOISY, -1 } },
          3,
          2 },
        { { { 2, 0, C, KS_O_OK, 0, -1 },
            { 1, 0, C, KS_O_OK, 0, -1 },
            { 2, 1, C, KS_O_WRONG_RESULT, 0, -1 } },
          3,
          2 },
        /* withdrawn with its round; with its attempt; not without a round 0 */
        { { { 1, 0, C, KS_O_OK, 0, -1 },
            { 1, 1, C, KS_O_CRASHED, 0, -1 },
            { 1, 1, C, KS_O_CRASHED, BAD, -1 } },
          3,
          0 },
        { { { 1, 0, C, KS_O_OK, BAD, -1 }, { 1, 1, C, KS_O_CRASHED, 0, -1 } }, 2, -1 },
        { { { 1, 0, C, KS_O_OK, 0, -1 }, { 2, 1, C, KS_O_CRASHED, 0, -1 } }, 2, 0 },
        { { { 1, 0, C, KS_O_OK, 0, -1 }, { 1, 1, C, KS_O_OK, NOISY, -1 } }, 2, 0 },
    };

    (void)state;
    check_choices(rows, sizeof(rows) / sizeof(rows[0]));
}

/* Without a clean one. */
static void the_least_disturbed_attempt(void **state)
{
    static const struct choice rows[] = {
        /* of equally disturbed ones the latest, in any order */
        { { { 1, 0, C, KS_O_OK, NOISY, 2 },
            { 2, 0, C, KS_O_OK, NOISY, 1.5 },
            { 3, 0, C, KS_O_OK, NOISY, 9 } },
          3,
          1 },
        { { { 3, 0, C, KS_O_OK, NOISY, 9 },
            { 1, 0, C, KS_O_OK, NOISY, 2 },
            { 2, 0, C, KS_O_OK, NOISY, 2 } },
          3,
          2 },
        { { { 2, 0, C, KS_O_OK, NOISY, 2 }, { 1, 0, C, KS_O_OK, NOISY, 2 } }, 2, 0 },
        { { { 1, 0, C, KS_O_OK, NOISY, 2 }, { 2, 0, C, KS_O_OK, NOISY, 3 } }, 2, 0 },
        /* but a clean one before all of them, and no suspect, void or failed one; rounds do not
           count */
        { { { 1, 0, C, KS_O_OK, 0, 0.9 }, { 2, 0, C, KS_O_OK, 0, 0.1 } }, 2, 1 },
        { { { 1, 0, C, KS_O_OK, 0, 0.9 }, { 2, 0, C, KS_O_OK, NOISY, 2 } }, 2, 0 },
        { { { 1, 0, C, KS_O_OK, NOISY, 2 }, { 2, 0, C, KS_O_OK, NOISY | SUSPECT, 3 } }, 2, 1 },
        { { { 1, 0, C, KS_O_OK, NOISY | SUSPECT, 2 }, { 2, 0, C, KS_O_OK, NOISY, 3 } }, 2, 1 },
        { { { 1, 0, C, KS_O_OK, NOISY | BAD, 2 }, { 2, 0, C, KS_O_OK, NOISY, 3 } }, 2, 1 },
        { { { 1, 0, C, KS_O_WRONG_RESULT, 0, 0 }, { 2, 0, C, KS_O_OK, NOISY, 3 } }, 2, 1 },
        { { { 1, 0, C, KS_O_OK, NOISY, 2 }, { 2, 0, C, KS_O_CRASHED, 0, -1 } }, 2, 1 },
        { { { 1, 1, C, KS_O_OK, NOISY, 2 }, { 2, 0, C, KS_O_OK, NOISY, 3 } }, 2, 1 },
        /* unknown: journals before schema 1.4 */
        { { { 1, 0, C, KS_O_OK, NOISY, -1 }, { 2, 0, C, KS_O_OK, NOISY, -1 } }, 2, 1 },
        { { { 1, 0, C, KS_O_OK, NOISY, 2 }, { 2, 0, C, KS_O_OK, NOISY, -1 } }, 2, 1 },
        { { { 1, 0, C, KS_O_OK, NOISY, -1 },
            { 2, 0, C, KS_O_OK, NOISY, 2 },
            { 3, 0, C, KS_O_OK, NOISY, 3 } },
          3,
          1 },
    };

    (void)state;
    check_choices(rows, sizeof(rows) / sizeof(rows[0]));
}

/* Which records a cell's time is made of: x counts. */
static void the_records_that_count(void **state)
{
    static const struct {
        struct ks_attempt r[6];
        const char *want;
    } rows[] = {
        /* every attempt at round 0 was disturbed, the first least: visits joined the last one */
        { { { 1, 0, C, KS_O_OK, NOISY, 1 },
            { 2, 0, C, KS_O_OK, NOISY, 3 },
            { 3, 0, C, KS_O_OK, NOISY, 2 },
            { 3, 1, C, KS_O_OK, 0, 0 },
            { 3, 1, C, KS_O_OK, 0, 0 },
            { 3, 2, C, KS_O_OK, NOISY, 0 } },
          "x..xxx" },
        { { { 3, 1, C, KS_O_OK, 0, 0 },
            { 1, 0, C, KS_O_OK, 0, 1 },
            { 3, 0, C, KS_O_OK, NOISY, 2 },
            { 1, 2, C, KS_O_OK, 0, 0 } },
          "xx.x" },
        /* visits of an attempt that failed, or that is void, do not count */
        { { { 1, 0, C, KS_O_OK, 0, 1 },
            { 1, 1, C, KS_O_OK, 0, 1 },
            { 1, 2, C, KS_O_CRASHED, 0, 1 },
            { 2, 0, C, KS_O_OK, 0, 1 },
            { 2, 3, C, KS_O_OK, 0, 1 } },
          "...xx" },
        { { { 1, 0, C, KS_O_OK, 0, 1 }, { 2, 0, C, KS_O_OK, BAD, 1 }, { 2, 1, C, KS_O_OK, 0, 1 } },
          "x.." },
        { { { 1, 0, C, KS_O_OK, 0, 1 },
            { 1, 1, C, KS_O_OK, 0, 1 },
            { 1, 1, C, KS_O_OK, BAD, 1 },
            { 1, 2, C, KS_O_OK, 0, 1 },
            { 1, 2, A, KS_O_OK, 0, 1 } },
          "x..x." },
        /* of a failed cell: its attempt */
        { { { 1, 0, C, KS_O_OK, NOISY, 1 },
            { 1, 1, C, KS_O_OK, 0, 1 },
            { 2, 0, C, KS_O_OK, 0, 1 },
            { 2, 1, C, KS_O_TIMEOUT, 0, 1 } },
          "..xx" },
        { { { 1, 1, C, KS_O_OK, 0, 1 } }, "." },
    };

    (void)state;
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        size_t n = strlen(rows[i].want);
        bool counts[6];
        char got[7] = "";

        assert_int_equal(ks_record_counts(rows[i].r, n, counts), ks_record_final(rows[i].r, n));
        for (size_t k = 0; k < n; k++)
            got[k] = counts[k] ? 'x' : '.';
        if (strcmp(got, rows[i].want) != 0)
            fail_msg("row %zu: %s, want %s", i, got, rows[i].want);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_final_attempt),
        cmocka_unit_test(a_failure_in_a_later_round),
        cmocka_unit_test(the_least_disturbed_attempt),
        cmocka_unit_test(the_records_that_count),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
