/* SPDX-License-Identifier: MIT */
/* temp_dir.h - a new directory for a test, below $TMPDIR: whoever starts the tests sets that, finds
 * there what a test left behind, and removes it. */
#ifndef KS_TEST_TEMP_DIR_H
#define KS_TEST_TEMP_DIR_H

#include "base/file.h"

/* cmocka.h wants these first. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>

enum { TEMP_DIR_MAX = 128 }; /* bytes of its path */

/* Fails the test if there is no such directory, or `out` [cap] is too short for its path. */
static inline void temp_dir_make(char *out, size_t cap)
{
    const char *tmp = getenv("TMPDIR");

    assert_in_range(snprintf(out, cap, "%s/ksweep-test-XXXXXX", tmp ? tmp : "/tmp"), 1, cap - 1);
    assert_non_null(mkdtemp(out));
}

/* With all that is in it. */
static inline void temp_dir_remove(const char *dir)
{
    struct ks_err err;

    if (ks_remove_tree(dir, &err) < 0)
        fail_msg("%s", err.text);
}

#endif
