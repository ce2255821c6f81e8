/* SPDX-License-Identifier: MIT */
/* fuzz_miopen.c - any bytes as a list of MIOpenDriver commands */
#include "tests/fuzz/fuzz.h"
#include "tests/fuzz/list_check.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n)
{
    list_check("miopen", LIST_OF_COMMANDS, bytes, n);
    return 0;
}
