/* SPDX-License-Identifier: MIT */
/* fuzz_gpu_code.c - any bytes as a GPU's code object: the same identity each time, or a refusal */
/* The corpus has small ones of tests/fake/gpu_unit.k, instances 0 and 1. */
#include "build/gpu_code.h"
#include "tests/fuzz/fuzz.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

static void demand(bool holds)
{
    if (!holds)
        abort();
}

static void identify(const uint8_t *image, size_t n, uint32_t instance)
{
    struct ks_err err = { 0 };
    struct ks_id128 id = { 1, 2 }, again = { 1, 2 };
    uint64_t n_code = 7, n_again = 7;
    const int rc = ks_gpu_code(image, n, instance, &id, &n_code, &err);

    demand(rc == 0 || rc == KS_EFORMAT || rc == KS_ENOENT);
    demand(ks_gpu_code(image, n, instance, &again, &n_again, NULL) == rc);
    demand(ks_id128_eq(id, again) && n_code == n_again);
    if (rc < 0)
        demand((int)err.code == rc && err.text[0] && id.hi == 1 && n_code == 7);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n)
{
    /* a block of its own, of this size: sanitizers see a byte too far */
    uint8_t *exact = malloc(n + 1);

    demand(exact != NULL);
    if (n)
        memcpy(exact + 1, bytes, n);
    for (uint32_t i = 0; i < 3; i++)
        identify(exact + 1, n, i); /* at an odd address, too */
    free(exact);
    return 0;
}
