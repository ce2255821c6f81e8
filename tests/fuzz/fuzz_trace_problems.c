/* SPDX-License-Identifier: MIT */
/* fuzz_trace_problems.c - any bytes as a profiler's trace from which problems are taken */
#include "tests/fuzz/fuzz.h"
#include "tests/fuzz/list_check.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n)
{
    list_check("trace", LIST_OF_OPERATORS, bytes, n);
    return 0;
}
