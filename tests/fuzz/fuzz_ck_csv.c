/* SPDX-License-Identifier: MIT */
/* fuzz_ck_csv.c - any bytes as a list of Composable Kernel */
#include "tests/fuzz/fuzz.h"
#include "tests/fuzz/list_check.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n)
{
    list_check("ck", LIST_WITH_HEADER, bytes, n);
    return 0;
}
