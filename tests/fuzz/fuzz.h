/* SPDX-License-Identifier: MIT */
/* fuzz.h - what a fuzz target defines; the name and shape are libFuzzer's. */
#ifndef KS_TEST_FUZZ_H
#define KS_TEST_FUZZ_H

#include <stddef.h>
#include <stdint.h>

/* Runs one input. Returns 0; aborts when a property does not hold. */
int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n);

#endif
