/* SPDX-License-Identifier: MIT */
/* fuzz_pytorch.c - any bytes as PyTorch operators for replay */
#include "tests/fuzz/fuzz.h"
#include "tests/fuzz/list_check.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n)
{
    list_check("pytorch", LIST_OF_OPERATORS, bytes, n);
    return 0;
}
