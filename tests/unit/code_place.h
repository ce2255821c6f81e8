/* SPDX-License-Identifier: MIT */
/* code_place.h - what the tests of real compilers' code objects share: a folder with a source, and
 * the reader over what was made of it. */
#ifndef KS_TEST_CODE_PLACE_H
#define KS_TEST_CODE_PLACE_H

#include "base/buf.h"
#include "build/code_object.h"

#include <stdbool.h>
#include <stdint.h>

/* k.cu in it: k0_kernel0, which needs nothing much, and k0_kernel1, which must spill; for HIP with
 * SPILL, an attribute that keeps registers short. */
struct code_place {
    char dir[128];
};
int code_place_open(void **state); /* set-up and tear-down */
int code_place_close(void **state);

bool code_can_run(const char *program);
/* A file there; released by the caller. */
void code_read_file(const struct code_place *p, const char *name, struct ks_buf *out);
/* Of one kernel; asserts success. */
struct ks_code_object code_read(const struct ks_buf *image, const char *kernel);
/* The number after `key` in the part [at, end) of a text; -1: the key is not there. */
int64_t code_number_after(const char *at, const char *end, const char *key);
/* A real image with random bytes of it changed: no more than what the reader promises. */
void code_damage(const struct ks_buf *image, uint64_t seed);

#endif
