/* SPDX-License-Identifier: MIT */
/* test_aside.c - jobs on a second thread: one at a time, in order, done when one waits */
#include "base/aside.h"

#include "base/clock.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include <string.h>

static void append_letter(void *arg)
{
    char *text = arg;
    size_t n = strlen(text);

    ks_sleep_ns(200000);
    text[n] = (char)('a' + n);
    text[n + 1] = '\0';
}

/* One job at a time, in the order given, and all of them done when the caller waits. */
static void jobs_aside(void **state)
{
    struct ks_aside *a = NULL;
    char text[8] = "";

    (void)state;
    assert_int_equal(ks_aside_create(&a, NULL), 0);
    ks_aside_wait(a);
    for (int i = 0; i < 3; i++)
        ks_aside_run(a, append_letter, text);
    ks_aside_wait(a);
    assert_string_equal(text, "abc");
    ks_aside_run(a, append_letter, text);
    ks_aside_destroy(a);
    assert_string_equal(text, "abcd");
    ks_aside_destroy(NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(jobs_aside) };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
