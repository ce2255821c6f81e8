/* SPDX-License-Identifier: MIT */
/* test_array.c - arrays that grow */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
/* cmocka.h wants the four above first. */
#include <cmocka.h>

#include "base/array.h"
#include "fault.h"

#include <stdlib.h>
#include <string.h>

static void arrays_grow_or_stay(void **state)
{
    uint64_t *wide = NULL;
    uint16_t *narrow = NULL;
    size_t cap = 0;
    uint32_t cap32 = 0;
    struct ks_err err;

    (void)state;
    for (size_t i = 0; i < 1000; i++) {
        assert_int_equal(ks_reserve(&wide, i + 1, &cap, sizeof(*wide), "numbers", &err), 0);
        assert_in_range(cap, i + 1, 2 * i + 16);
        wide[i] = i;
        assert_int_equal(wide[i / 2], i / 2);
    }
    fault_arm(0);
    assert_int_equal(ks_reserve(&wide, 5000, &cap, sizeof(*wide), "numbers", &err), KS_ENOMEM);
    assert_true(fault_disarm());
    assert_non_null(strstr(err.text, " numbers"));
    assert_int_equal(cap, 1024);
    assert_int_equal(wide[999], 999);
    assert_int_equal(ks_reserve(&wide, SIZE_MAX / 4, &cap, sizeof(*wide), "numbers", &err),
                     KS_ENOMEM); /* more bytes than a size_t says */
    assert_int_equal(cap, 1024);
    assert_int_equal(ks_reserve32(&narrow, 17, &cap32, sizeof(*narrow), "halves", &err), 0);
    assert_int_equal(cap32, 32);
    assert_int_equal(ks_reserve32(&narrow, 1ull << 32, &cap32, sizeof(*narrow), "halves", &err),
                     KS_ENOMEM);
    assert_int_equal(cap32, 32);
    free(wide);
    free(narrow);
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(arrays_grow_or_stay) };

    return cmocka_run_group_tests_name("array", tests, NULL, NULL);
}
