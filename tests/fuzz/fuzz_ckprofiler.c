/* SPDX-License-Identifier: MIT */
/* fuzz_ckprofiler.c - any bytes as a list of ckProfiler commands */
#include "tests/fuzz/fuzz.h"
#include "tests/fuzz/list_check.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n)
{
    list_check("ckprofiler", LIST_OF_COMMANDS, bytes, n);
    return 0;
}
