/* SPDX-License-Identifier: MIT */
/* test_cell_view.c - what `ksweep cell` prints of a record */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
/* cmocka.h wants the four above first. */
#include <cmocka.h>

#include "cmd/cell.h"

#include <stdlib.h>
#include <string.h>

static struct ks_record *record(void)
{
    struct ks_record *r = malloc(sizeof(*r));
    assert_non_null(r);
    ks_record_init(r);
    r->outcome = KS_O_OK;
    return r;
}

/* The line that begins so; NULL: there is none. */
static void check_line_of(const struct ks_record *r, const char *head, const char *want)
{
    struct ks_buf text;
    ks_buf_init(&text);
    ks_cell_print(r, &text);
    const char *at = strstr(ks_buf_text(&text), head);
    if (want) {
        assert_non_null(at);
        char *line = strndup(at, strcspn(at, "\n"));
        assert_string_equal(line, want);
        free(line);
    } else {
        assert_null(at);
    }
    ks_buf_release(&text);
}

static void check_line(const struct ks_record *r, const char *want)
{
    check_line_of(r, "  device ", want);
}

/* How far the time can be trusted, and how to draw the same checks again. */
static void test_checks(void **state)
{
    struct ks_record *r = record();
    (void)state;
    r->exact_check = r->tolerance_check = 1;
    check_line_of(r, "  checks ", NULL);
    r->n_checked_launches = 42;
    r->check_seed = 0xabc;
    check_line_of(r, "  checks ",
                  "  checks    output of 42 launches checked, seed 0000000000000abc");
    r->verified_over_timed = 1.5;
    check_line_of(r, "  checks ",
                  "  checks    output of 42 launches checked, seed 0000000000000abc, verified "
                  "samples take 1.500 times as long as the others");
    free(r);
}

/* What a device does not tell is left out, the whole line where it tells nothing. */
static void test_device(void **state)
{
    struct ks_record *r = record();
    (void)state;
    check_line(r, NULL);
    r->throttle_reasons = 0; /* it says that nothing holds it back */
    check_line(r, NULL);
    r->power_max_w = 400.4;
    check_line(r, "  device    up to 400 W");
    r->before.clock_mhz = 1900;
    r->after.clock_mhz = 1800;
    r->clock_timed_mhz = 1750.2;
    r->clock_min_mhz = 1700;
    r->after.temperature_c = 61;
    r->throttle_reasons = 5;
    check_line(r, "  device    clock 1900 MHz before, 1800 after, 1750 MHz while timed, lowest "
                  "1700 MHz, up to 400 W, 61 degrees, throttled (reasons 0x5)");
    free(r);
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(test_checks),
                                        cmocka_unit_test(test_device) };
    return cmocka_run_group_tests_name("cell_view", tests, NULL, NULL);
}
