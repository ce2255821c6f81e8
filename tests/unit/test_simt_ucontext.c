/* SPDX-License-Identifier: MIT */
/* sanitized: no; AddressSanitizer does not follow swapcontext(), and test_simt.c is sanitized. */
/* The tests of test_simt.c on the emulator's portable stacks (CMake defines SIMT_UCONTEXT). */
#include "test_simt.c" /* NOLINT */
