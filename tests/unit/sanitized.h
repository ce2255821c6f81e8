/* SPDX-License-Identifier: MIT */
/* sanitized.h - whether a test is built with sanitizers, and the end of one that cannot run there.
 */
#ifndef KS_TEST_SANITIZED_H
#define KS_TEST_SANITIZED_H

/* cmocka.h wants these first. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#ifdef KSWEEP_SANITIZED
#define IS_SANITIZED 1
#else
#define IS_SANITIZED 0
#endif

/* Skips the test that calls it, in a sanitized tree only; tests/expected-skips names the test. */
static inline void skip_if_sanitized(const char *why)
{
    if (IS_SANITIZED) {
        print_message("# skipped: %s\n", why);
        skip();
    }
}

#endif
