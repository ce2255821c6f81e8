/* SPDX-License-Identifier: MIT */
/* fuzz_plain.c - any lines as the plain form of a grid: refused with a place, or whole */
/* The last line is right. A grid that is read can be asked for every instance and cell. */
#include "base/lines.h"
#include "grid/plain.h"
#include "tests/fuzz/fuzz.h"

#include <stdlib.h>
#include <string.h>

static void demand(bool holds)
{
    if (!holds)
        abort();
}

/* What stands before the last line "end ...", or all of it. */
static size_t without_end(const uint8_t *bytes, size_t n)
{
    for (size_t i = n; i-- > 4;)
        if (memcmp(bytes + i - 4, "\nend ", 5) == 0)
            return i - 3;
    return n;
}

static void ask_all(const struct ks_grid *g)
{
    struct ks_buf text;

    ks_buf_init(&text);
    for (uint32_t i = 0; i < ks_grid_n_built(g); i++) {
        const struct ks_instance *inst = &g->instances[i];
        const struct ks_family *f = &g->families[inst->i_family];

        ks_instance_canonical(f, inst, &text);
        ks_instance_flags(f, inst, &text);
        ks_instance_arguments(f, inst, &text);
        ks_instance_domain_text(f, inst, &text);
        demand(ks_instance_numerics(f, inst) < KS_N_NUMERICS);
        demand(i >= g->n_instances || ks_grid_instance(g, inst->id) >= 0);
        for (uint32_t p = 0; i < g->n_instances && p < g->n_problems; p++) {
            const char *why = ks_grid_unsupported(g, p, i);

            demand(!why || strlen(why) < 400);
        }
    }
    ks_buf_release(&text);
}

static void try(const struct ks_buf *text, const char *backend, const char *arch)
{
    struct ks_grid g;
    struct ks_err err = { 0 };
    int rc = ks_plain_read(ks_buf_text(text), text->len, "f", backend, arch, &g, &err);

    if (rc < 0) {
        demand(strncmp(err.text, "f:", 2) == 0 && strlen(err.text) > 4 && rc != KS_ENOMEM);
        return;
    }
    ask_all(&g);
    ks_grid_release(&g);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n)
{
    struct ks_buf text;

    ks_buf_init(&text);
    ks_buf_put(&text, bytes, n);
    try(&text, NULL, NULL);
    text.len = without_end(bytes, n);
    ks_lines_finish(&text);
    try(&text, n % 2 ? NULL : "cuda", n % 2 ? NULL : "sm_90");
    ks_buf_release(&text);
    return 0;
}
