/* SPDX-License-Identifier: MIT */
/* fuzz_fdb.c - any bytes as a find-db */
#include "tests/fuzz/fuzz.h"
#include "tests/fuzz/list_check.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n)
{
    list_check("fdb", LIST_OF_LINES, bytes, n);
    return 0;
}
