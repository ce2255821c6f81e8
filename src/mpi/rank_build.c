/* SPDX-License-Identifier: MIT */
/* rank_build.c - a rank's share of the builds, and what it tells rank 0 of them. */
#include "mpi/msg.h"
#include "mpi/rank_impl.h"

#include <stdio.h>
#include <string.h>

int ks_rank_open_build(struct ks_rank *r, struct ks_err *err)
{
    struct ks_build_options o = { .cache_dir = r->c.cache_dir,
                                  .trust_cache = r->c.trust_cache,
                                  .n_parallel = r->n_jobs * ks_net_size(r->c.net) };
    if (r->is_sim)
        return 0;
    /* Every rank wants every unit: those that share a cache share the work. */
    int rc = ks_build_create(r->c.grid, &o, r->c.warden, &r->build, err);
    for (uint32_t i = 0; rc == 0 && i < ks_build_n_units(r->build); i++)
        if (ks_build_unit_is_missing(r->build, i))
            rc = ks_build_start(r->build, i, err);
    return rc;
}

static uint32_t outcome_of(enum ks_artefact_state s)
{
    switch (s) {
    case KS_ART_READY:
        return KS_O_OK;
    case KS_ART_TIMEOUT:
        return KS_O_BUILD_TIMEOUT;
    case KS_ART_UNSUPPORTED:
        return KS_O_UNSUPPORTED;
    default:
        return KS_O_BUILD_FAILED;
    }
}

/* What each instance was built from, once a host, when all is built. */
static int tell_builds(struct ks_rank *r, struct ks_err *err)
{
    int rc = 0;
    if (r->told_builds || !r->build || ks_net_local_rank(r->c.net) != 0)
        return 0;
    r->told_builds = true;
    for (uint32_t i = 0; rc == 0 && i < r->c.grid->n_instances; i++) {
        const struct ks_artefact *a = ks_build_artefact(r->build, i);
        struct ks_build_rec b = {
            .instance = r->c.grid->instances[i].id,
            .outcome = outcome_of(a->state),
            .is_cached = a->is_cached,
            .build_id = a->build_id,
            .code_id = a->code_id,
            .compile_ns = a->compile_ns,
            .object_bytes = a->object_bytes,
        };
        memcpy(b.reason, a->reason, sizeof(b.reason) - 1);
        snprintf(b.compiler, sizeof(b.compiler), "%s", a->compiler);
        ks_buf_clear(&r->body);
        ks_build_rec_encode(&b, &r->body);
        rc = ks_rank_send_body(r, KS_F_BUILD, err);
    }
    return rc;
}

int ks_rank_take_build(struct ks_rank *r, const struct ks_frame *f, struct ks_err *err)
{
    uint64_t is_all = 0;
    if (!r->has_warden)
        return 0;
    int rc = ks_msg_numbers_get(f->body, f->n, &is_all, NULL, err);
    for (uint32_t i = 0; rc == 0 && r->build && i < ks_build_n_units(r->build); i++) {
        if (!ks_build_unit_is_missing(r->build, i))
            continue;
        rc = ks_build_refresh(r->build, i, err);
        if (rc == 0 && is_all && ks_build_unit_is_missing(r->build, i))
            rc = ks_build_start(r->build, i, err);
    }
    r->is_building = true;
    return rc;
}

int ks_rank_step_build(struct ks_rank *r, struct ks_err *err)
{
    int rc = 0;
    if (!r->is_building)
        return 0;
    if (r->build && !r->is_over) {
        rc = ks_build_step(r->build, r->n_jobs, err);
        while (rc == 0 && ks_build_finished(r->build) >= 0)
            ;
        if (rc < 0 || ks_build_n_running(r->build))
            return rc;
    }
    r->is_building = false;
    uint32_t missing = r->build ? ks_build_n_missing(r->build) : 0;
    if (!missing)
        rc = tell_builds(r, err);
    return rc < 0 ? rc
                  : ks_rank_send_numbers(r, KS_F_MSG_BUILD_END, missing,
                                         r->build ? ks_build_n_compiles(r->build) : 0, err);
}
