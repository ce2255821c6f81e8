/* SPDX-License-Identifier: MIT */
/* test_visit.c - which visits are closed, which of them count, on which device most was measured */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
/* cmocka.h wants the four above first. */
#include <cmocka.h>

#include "record/visit.h"

#include <stdlib.h>
#include <string.h>

#define PASSES_MAX 8

enum { OK = 1, FAILED = 2, WITHDRAWN = 3, DIRTY = 4 };

/* Of a pass; HOW 0: no more passes. */
enum { HOW, INSTANCE, N_VISIT, ROUND, BLOCK, DEVICE, RACE, N_FIELDS };

static size_t make(const uint32_t (*rows)[N_FIELDS], struct ks_visit_pass *out)
{
    size_t n = 0;

    for (; n < PASSES_MAX && rows[n][HOW]; n++)
        out[n] = (struct ks_visit_pass){ .device_id = rows[n][DEVICE],
                                         .block_id = rows[n][BLOCK],
                                         .instance = rows[n][INSTANCE],
                                         .race = rows[n][RACE],
                                         .round = rows[n][ROUND],
                                         .n_visit = rows[n][N_VISIT],
                                         .is_void = rows[n][HOW] == WITHDRAWN,
                                         .is_timed = rows[n][HOW] == OK || rows[n][HOW] == DIRTY,
                                         .is_clean = rows[n][HOW] != DIRTY,
                                         .i = n };
    return n;
}

/* x: its visit counts; c: is closed, but counts for nothing; -: was cut. */
static void visits_that_are_closed(void **state)
{
    static const struct {
        uint32_t passes[PASSES_MAX][N_FIELDS];
        const char *want;
    } rows[] = {
        { { { 0 } }, "" },
        { { { OK, 1, 2 }, { OK, 2, 2 }, { DIRTY, 2, 2 }, { OK, 1, 2 } }, "xxxx" },
        { { { OK, 1, 2 }, { OK, 2, 2 }, { OK, 2, 2 } }, "---" }, /* a pass is missing */
        { { { OK, 1, 2 }, { OK, 1, 2 } }, "--" },                /* an instance is missing */
        { { { OK, 1, 2 }, { FAILED, 2, 2 }, { OK, 1, 2 } }, "xxx" } /* and has no second pass */,
        { { { FAILED, 1, 2 }, { OK, 2, 2 } }, "--" },
        { { { OK, 1, 2 }, { WITHDRAWN, 2, 2 }, { FAILED, 2, 2 }, { OK, 1, 2 } }, "----" },
        /* a round has two visits: the lower block, unless it was cut */
        { { { OK, 1, 1, 3, 9 }, { OK, 1, 1, 3, 9 }, { OK, 1, 1, 3, 8 }, { OK, 1, 1, 3, 8 } },
          "ccxx" },
        { { { OK, 1, 1, 3, 9 }, { OK, 1, 1, 3, 9 }, { OK, 1, 1, 3, 8 } }, "xx-" },
        /* rounds, devices and races each have their own */
        { { { OK, 1, 1, 2, 8 }, { OK, 1, 1, 3, 8 }, { OK, 1, 1, 3, 8 } }, "-xx" },
        { { { OK, 1, 1, 3, 9, 1 }, { OK, 1, 1, 3, 9, 1 }, { OK, 1, 1, 3, 8, 2 } }, "xx-" },
        { { { OK, 1, 1, 3, 9, 1, 5 }, { OK, 1, 1, 3, 9, 1, 6 }, { OK, 1, 1, 3, 9, 1, 5 } }, "x-x" },
    };

    (void)state;
    for (size_t r = 0; r < sizeof(rows) / sizeof(rows[0]); r++) {
        struct ks_visit_pass p[PASSES_MAX];
        size_t n = make(rows[r].passes, p);
        char got[PASSES_MAX + 1] = "";

        assert_int_equal(n, strlen(rows[r].want));
        ks_visits_close(p, n, KS_VISIT_PASSES);
        for (size_t i = 0; i < n; i++)
            got[p[i].i] = p[i].counts ? 'x' : p[i].is_closed ? 'c' : '-';
        if (strcmp(got, rows[r].want) != 0)
            fail_msg("row %zu: %s, want %s", r, got, rows[r].want);
    }
}

static void passes_are_in_order(void **state)
{
    static const uint32_t rows[PASSES_MAX][N_FIELDS] = {
        { OK, 2, 2, 1, 7, 4 }, { OK, 1, 2, 1, 7, 4 }, { OK, 1, 2, 1, 6, 4 },
        { OK, 1, 2, 1, 7, 4 }, { OK, 1, 2, 2, 5, 3 }, { OK, 2, 2, 1, 5, 3 }
    };
    static const size_t want[] = { 5, 4, 2, 1, 3, 0 };
    struct ks_visit_pass p[PASSES_MAX];
    size_t n = make(rows, p);

    (void)state;
    ks_visits_close(p, n, KS_VISIT_PASSES);
    for (size_t i = 0; i < n; i++)
        assert_int_equal(p[i].i, want[i]);
}

/* With one pass per instance. */
static void the_device_with_most(void **state)
{
    static const struct {
        uint32_t passes[PASSES_MAX][N_FIELDS];
        uint64_t own, want;
    } rows[] = {
        { { { 0 } }, 7, 7 },
        { { { OK, 1, 1, 1, 1, 5 }, { OK, 1, 1, 1, 2, 6 }, { OK, 1, 1, 2, 3, 6 } }, 5, 6 },
        { { { OK, 1, 1, 1, 1, 5 }, { OK, 1, 1, 1, 2, 6 } }, 6, 6 }, /* of equals its own */
        { { { OK, 1, 1, 1, 1, 5 }, { OK, 1, 1, 1, 2, 6 } }, 7, 5 }, /* .. or the lowest */
        { { { DIRTY, 1, 1, 1, 1, 5 }, { OK, 1, 1, 1, 2, 6 } }, 5, 6 } /* clean ones */,
        { { { OK, 1, 2, 1, 1, 5 }, { OK, 1, 1, 1, 2, 6 } }, 5, 6 }, /* of closed visits */
        { { { OK, 1, 2, 1, 1, 5 } }, 7, 7 },
        { { { OK, 1, 1, 1, 1, 5 }, { OK, 1, 1, 1, 2, 5 }, { OK, 1, 1, 1, 3, 6 } }, 6, 6 },
    };

    (void)state;
    for (size_t r = 0; r < sizeof(rows) / sizeof(rows[0]); r++) {
        struct ks_visit_pass p[PASSES_MAX];
        size_t n = make(rows[r].passes, p);

        ks_visits_close(p, n, 1);
        if (ks_visits_device(p, n, rows[r].own) != rows[r].want)
            fail_msg("row %zu: %d", r, (int)ks_visits_device(p, n, rows[r].own));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(visits_that_are_closed),
        cmocka_unit_test(passes_are_in_order),
        cmocka_unit_test(the_device_with_most),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
