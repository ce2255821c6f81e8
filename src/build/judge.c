/* SPDX-License-Identifier: MIT */
/* judge.c - what has become of the kernels that verify on a GPU (kernels/judge.h). */
#include "build/plan.h"

#define NO_TYPE "there is no verification kernel for that type"

/* The helper for an element type; n_built when the grid has none. */
static uint32_t find(const struct ks_build *b, uint32_t dtype)
{
    const struct ks_grid *g = b->grid;
    uint32_t i = g->n_instances;
    for (; i < ks_grid_n_built(g); i++) {
        struct ks_domain d;
        ks_instance_domain(&g->families[g->instances[i].i_family], &g->instances[i], &d);
        if (d.dtype == dtype)
            break;
    }
    return i;
}

const struct ks_artefact *ks_build_judge(const struct ks_build *b, uint32_t dtype)
{
    const uint32_t i = find(b, dtype);
    return i < ks_grid_n_built(b->grid) && b->artefacts[i].state == KS_ART_READY ? &b->artefacts[i]
                                                                                 : NULL;
}

static const char *reason_of(const struct ks_build *b, uint32_t dtype)
{
    const uint32_t i = find(b, dtype);
    if (!b->grid->job.verify.judge)
        return "verify.judge is false in the job";
    if (i == ks_grid_n_built(b->grid))
        return NO_TYPE;
    return b->artefacts[i].reason[0] ? b->artefacts[i].reason
                                     : ks_artefact_states[b->artefacts[i].state];
}

/* Those of `dtypes`, a bit mask, that have a judge or have none: "fp32, bf16"; the first of them,
 * KS_N_DTYPES: none. */
static uint32_t put_types(const struct ks_build *b, uint32_t dtypes, bool is_ready,
                          struct ks_buf *out)
{
    uint32_t first = KS_N_DTYPES;
    for (uint32_t t = 0; t < KS_N_DTYPES; t++) {
        if (!(dtypes & 1u << t) || (ks_build_judge(b, t) != NULL) != is_ready)
            continue;
        ks_buf_printf(out, "%s%s", first < KS_N_DTYPES ? ", " : "", ks_dtype_name(t));
        first = first < KS_N_DTYPES ? first : t;
    }
    return first;
}

bool ks_build_lacks_judge(const struct ks_build *b, struct ks_buf *text_out)
{
    const struct ks_grid *g = b->grid;
    uint32_t dtypes = 0;
    if (!ks_job_is_gpu(&g->job))
        return false;
    for (uint32_t i = 0; i < g->n_problems; i++)
        dtypes |= 1u << g->problems.rows[i].dtype;
    const uint32_t first = put_types(b, dtypes, false, text_out);
    if (first < KS_N_DTYPES)
        ks_buf_printf(text_out, ": %s", reason_of(b, first));
    return first < KS_N_DTYPES;
}

void ks_build_print_judge(const struct ks_build *b, struct ks_buf *text_out)
{
    const uint32_t all = (1u << KS_N_DTYPES) - 1;
    struct ks_buf missing;
    if (!ks_job_is_gpu(&b->grid->job))
        return;
    ks_buf_init(&missing);
    ks_buf_printf(text_out, "GPU verifies ");
    const uint32_t ready = put_types(b, all, true, text_out);
    const uint32_t first = put_types(b, all, false, &missing);
    if (first < KS_N_DTYPES)
        ks_buf_printf(text_out, "%sthe host verifies %s: %s", ready < KS_N_DTYPES ? "; " : "",
                      ks_buf_text(&missing), reason_of(b, first));
    ks_buf_printf(text_out, "\n");
    ks_buf_release(&missing);
}
