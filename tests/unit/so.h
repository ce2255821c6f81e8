/* SPDX-License-Identifier: MIT */
/* so.h - kernel artefacts made while a test runs, with the system's C compiler. */
#ifndef KS_TEST_SO_H
#define KS_TEST_SO_H

#include <stddef.h>

/* The state of tests that need nothing else: setup and teardown of one. */
struct so_place {
    char dir[256];
};
int so_place_setup(void **state);
int so_place_teardown(void **state);

/* Writes DIR/NAME.c, compiles it to DIR/NAME.so (path to out) and asserts success. The source may
 * include "kernels/abi.h". */
void so_build(const char *dir, const char *name, const char *source, char *out, size_t cap);

#endif
