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

enum { TEMP_DIR_MAX = 96 }; /* bytes of its path */

static inline int temp_name(char *out, size_t cap)
{
    const char *tmp = getenv("TMPDIR");

    return snprintf(out, cap, "%s/ksweep-test-XXXXXX", tmp ? tmp : "/tmp");
}

/* Fails the test if there is no such directory, or `out` [cap] is too short for its path. */
static inline void temp_dir_make(char *out, size_t cap)
{
    assert_in_range(temp_name(out, cap), 1, cap - 1);
    assert_non_null(mkdtemp(out));
}

/* A new file in the same place. Returns its descriptor. */
static inline int temp_file_make(char *out, size_t cap)
{
    int fd;

    assert_in_range(temp_name(out, cap), 1, cap - 1);
    fd = mkstemp(out);
    assert_true(fd >= 0);
    return fd;
}

/* With all that is in it. */
static inline void temp_dir_remove(const char *dir)
{
    struct ks_err err;

    if (ks_remove_tree(dir, &err) < 0)
        fail_msg("%s", err.text);
}

#endif
