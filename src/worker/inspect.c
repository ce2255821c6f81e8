/* SPDX-License-Identifier: MIT */
/* inspect.c - the host looks: in place, or at copies that it pulls. */
#include "worker/inspect.h"
#include "worker/worker.h"

static const void *output(const struct ks_worker *w)
{
    return ks_zone_host(&w->set.zone[KS_Z_C]);
}

static size_t n_elements(const struct ks_worker *w)
{
    return (size_t)w->set.extents.c;
}

/* The output comes along, for the slots that follow. */
static bool host_guards(struct ks_worker *w, char *reason_out, size_t cap, int *rc_out,
                        struct ks_err *err)
{
    return ks_workset_check_guards(&w->set, true, reason_out, cap, rc_out, err);
}

/* The key is in memory while the output is compared, and not before or after. */
static int host_exact(struct ks_worker *w, struct ks_verdict *out, struct ks_err *err)
{
    struct ks_mask mask;
    struct ks_masked want;
    int rc = ks_vault_take(&w->vault, &mask, err);

    if (rc < 0)
        return rc;
    want = ks_references_part(&w->refs, w->refs.exact, &mask);
    ks_verify_begin(&w->shape, out);
    ks_verify_exact_more(output(w), &want, 0, n_elements(w), w->set.problem.dtype, &w->shape, out);
    ks_vault_forget(&mask);
    return 0;
}

static int host_written(struct ks_worker *w, struct ks_verdict *out, struct ks_err *err)
{
    (void)err;
    ks_verify_written(output(w), n_elements(w), w->set.problem.dtype, &w->shape, out);
    return 0;
}

static int host_real(struct ks_worker *w, const struct ks_tolerance *t, struct ks_verdict *out,
                     struct ks_err *err)
{
    struct ks_masked real, abs;
    struct ks_mask mask;
    int rc = ks_vault_take(&w->vault, &mask, err);

    if (rc < 0)
        return rc;
    real = ks_references_part(&w->refs, w->refs.real, &mask);
    abs = ks_references_part(&w->refs, w->refs.abs, &mask);
    ks_verify_begin(&w->shape, out);
    ks_verify_real_more(output(w), &real, &abs, 0, n_elements(w), w->set.problem.dtype, t,
                        &w->shape, out);
    ks_vault_forget(&mask);
    return 0;
}

static int host_hash(struct ks_worker *w, uint64_t *hash_out, struct ks_err *err)
{
    (void)err;
    *hash_out = ks_quick_hash(output(w), w->set.zone[KS_Z_C].bytes);
    return 0;
}

static int host_flip(struct ks_worker *w, enum ks_zone_name zone, struct ks_err *err)
{
    return ks_workset_flip(&w->set, zone, err);
}

/* References lie in sealed memory, masked. */
static bool host_inputs(struct ks_worker *w, char *reason_out, size_t cap, int *rc_out,
                        struct ks_err *err)
{
    return ks_workset_check_inputs(&w->set, reason_out, cap, rc_out, err);
}

const struct ks_inspector ks_inspector_host = {
    .guards = host_guards,
    .exact = host_exact,
    .written = host_written,
    .real = host_real,
    .hash = host_hash,
    .flip = host_flip,
    .inputs = host_inputs,
};
