/* SPDX-License-Identifier: MIT */
/* fuzz_elf.c - any bytes as an object: the same identity every time, or a refusal with a reason */
#include "build/codeid.h"
#include "tests/fuzz/fuzz.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

static void demand(bool holds)
{
    if (!holds)
        abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n)
{
    static const char *const symbols[] = { "entry", "run", "" };

    for (size_t i = 0; i < sizeof(symbols) / sizeof(*symbols); i++) {
        struct ks_err err = { 0 };
        struct ks_id128 id = { 1, 2 }, again = { 3, 4 };
        uint64_t n_code = 0;
        int rc = ks_code_id(bytes, n, symbols[i], &id, &n_code, &err);

        demand(rc == 0 || rc == KS_EFORMAT || rc == KS_ENOENT);
        demand(ks_code_id(bytes, n, symbols[i], &again, &n_code, NULL) == rc);
        if (rc < 0)
            demand((int)err.code == rc && err.text[0] && id.hi == 1 && again.hi == 3);
        else
            demand(ks_id128_eq(id, again));
    }
    return 0;
}
