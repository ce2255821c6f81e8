/* SPDX-License-Identifier: MIT */
/* fuzz_generate.c - any bytes as a generator */
#include "tests/fuzz/fuzz.h"
#include "tests/fuzz/list_check.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n)
{
    list_check("generator", LIST_GENERATED, bytes, n);
    return 0;
}
