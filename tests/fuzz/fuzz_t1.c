/* SPDX-License-Identifier: MIT */
/* fuzz_t1.c - any bytes as a T1 document: refused with a place, or names that read back */
/* A name reads back as its instance, or is called ambiguous. */
#include "base/hash.h"
#include "grid/family.h"
#include "grid/t1.h"
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
    demand(rc == KS_EFORMAT || (rc == 0 && back.id == i.id));
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n)
{
    struct ks_family *f = calloc(1, sizeof *f);
    struct ks_json *doc = NULL;
    struct ks_err err = { 0 };
    uint64_t state = n;
    int rc = ks_json_parse((const char *)bytes, n, "t1.json", &doc, &err);

    demand(f != NULL);
    if (rc == 0)
        rc = ks_t1_family(doc, "/t1.json", f, &err);
    for (int k = 0; rc == 0 && k < 8; k++)
        try_instance(f, &state);
    demand(rc == 0 || strncmp(err.text, "t1.json:", 8) == 0);
    ks_json_close(doc);
    ks_family_release(f);
    free(f);
    return 0;
}
