/* SPDX-License-Identifier: MIT */
/* so.h - kernel artefacts made while a test runs, with the system's C compiler. */
#ifndef KS_TEST_SO_H
#define KS_TEST_SO_H

#include <stddef.h>

/* A fresh directory below $TMPDIR; removed by so_dir_remove. */
void so_dir_make(char *out, size_t cap);
void so_dir_remove(const char *dir);

/* Writes DIR/NAME.c, compiles it to DIR/NAME.so (path to out) and asserts success. The source may
 * include "kernels/abi.h". */
void so_build(const char *dir, const char *name, const char *source, char *out, size_t cap);

#endif
