/* SPDX-License-Identifier: MIT */
/* test_simt_ucontext.c - the tests of test_simt.c on the emulator's portable stacks */
/* CMake defines SIMT_UCONTEXT. */
/* sanitized: no; AddressSanitizer does not follow swapcontext(), and test_simt.c is sanitized. */
#include "test_simt.c" /* NOLINT */
