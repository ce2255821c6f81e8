/* SPDX-License-Identifier: MIT */
/* fuzz_model.c - any bytes as the texts of a model directory: refused by file, or cells that fit */
/* The texts stand one after the other with a form feed between them: manifest.json, problems.csv,
 * instances.csv, oof.csv. */
#include "analysis/model/model_dir.h"
#include "tests/fuzz/fuzz.h"

#include <stdlib.h>
#include <string.h>

static void demand(bool holds)
{
    if (!holds)
        abort();
}

static void check(const struct ks_model *m)
{
    demand(m->target < KS_N_TARGETS);
    for (size_t i = 0; i < m->cells.n; i++) {
        const struct ks_timed_cell *c = &m->cells.cells[i];

        demand(c->problem < m->cells.n_problems && c->instance < m->cells.n_instances);
        demand(c->time_ns > 0);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n)
{
    struct ks_model m = { 0 };
    struct ks_err err = { 0 };
    int rc = 0;

    for (size_t i = 0; rc == 0 && i < KS_MODEL_TEXTS; i++) {
        const uint8_t *end = n ? memchr(bytes, '\f', n) : NULL;
        const size_t len = end ? (size_t)(end - bytes) : n;

        rc = ks_model_parse(&m, i, (const char *)bytes, len, ks_model_texts[i], &err);
        demand(rc == 0 || err.code == KS_ENOMEM || strstr(err.text, ks_model_texts[i]));
        bytes += len + (end != NULL);
        n -= len + (end != NULL);
    }
    if (rc == 0 && ks_cells_finish(&m.cells, &err) == 0)
        check(&m);
    ks_model_release(&m);
    return 0;
}
