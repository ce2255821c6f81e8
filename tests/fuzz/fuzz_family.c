/* SPDX-License-Identifier: MIT */
/* fuzz_family.c - any bytes as a family: refused with a placed message, or its names read back */
/* Every instance tried prints a name that reads back as itself or is called ambiguous. The seeds'
 * source is /proc/self/exe. */
#include "base/hash.h"
#include "grid/family.h"
#include "tests/fuzz/fuzz.h"

#include <stdlib.h>
#include <string.h>

static void demand(bool holds)
{
    if (!holds)
        abort();
}

static void try_instance(const struct ks_family *f, uint64_t *state)
{
    struct ks_instance i = { 0 }, back = { 0 };
    struct ks_err err = { 0 };
    int rc;

    for (uint32_t t = 0; t < f->n_traits; t++)
        i.value[t] = (uint8_t)ks_rng_below(state, f->traits[t].n_values);
    demand(ks_instance_finish(f, &i, &err) == 0);
    demand(strlen(i.name) > 0 && strlen(i.name) < sizeof i.name);
    rc = ks_instance_parse_name(f, i.name, &back, &err);
    demand(rc == KS_EFORMAT || (rc == 0 && memcmp(&back, &i, sizeof i) == 0));
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n)
{
    struct ks_family *f = calloc(1, sizeof *f);
    struct ks_err err = { 0 };
    uint64_t state = n;

    demand(f != NULL);
    if (ks_family_parse((const char *)bytes, n, "/proc/self/f", f, &err) == 0) {
        for (int k = 0; k < 8; k++)
            try_instance(f, &state);
    } else {
        demand(strncmp(err.text, "/proc/self/f:", 13) == 0);
    }
    ks_family_release(f);
    free(f);
    return 0;
}
