/* SPDX-License-Identifier: MIT */
/* fuzz_ck_config.c - any bytes as a list of configs of the PyTorch converter */
#include "tests/fuzz/fuzz.h"
#include "tests/fuzz/list_check.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n)
{
    list_check("ck-config", LIST_OF_OPERATORS, bytes, n);
    return 0;
}
