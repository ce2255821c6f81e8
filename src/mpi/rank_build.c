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
                                  .try_compilers = true,
                                  .n_parallel = r->n_jobs,
                                  .worker = r->worker_path };
    const bool has_none = r->is_sim || ks_job_runs_programs(&r->c.grid->job);
    return has_none ? 0 : ks_build_create(r->c.grid, &o, r->c.warden, &r->build, err);
}

void ks_rank_close_build(struct ks_rank *r)
{
    ks_share_in_release(&r->fetch.in);
    ks_share_out_release(&r->packs);
    ks_build_destroy(r->build);
}

static struct ks_code_rec code_of(const struct ks_artefact *a)
{
    const struct ks_code_object *c = &a->code;
    struct ks_code_rec r = { .vgprs = c->vgprs,
                             .agprs = c->agprs,
                             .sgprs = c->sgprs,
                             .vgpr_spills = c->vgpr_spills,
                             .sgpr_spills = c->sgpr_spills,
                             .wave = c->wave,
                             .max_threads = c->max_threads,
                             .lds_bytes = c->lds_bytes,
                             .scratch_bytes = c->scratch_bytes,
                             .kernarg_bytes = c->kernarg_bytes,
                             .code_bytes = c->code_bytes };
    memcpy(r.target, c->target, sizeof(r.target));
    if (r.code_bytes < 0 && a->code_bytes) /* a host's object does not say it itself */
        r.code_bytes = (int64_t)a->code_bytes;
    return r;
}

/* A sweep of a GPU goes on without judges, but most of its time is the host's then. */
static int tell_judge(struct ks_rank *r, struct ks_err *err)
{
    const struct ks_job_verify *v = &r->c.grid->job.verify;
    struct ks_buf text;
    int rc = 0;
    ks_buf_init(&text);
    if ((v->exact || v->elementwise) && ks_build_lacks_judge(r->build, &text))
        rc = ks_rank_send_event(r, KS_EV_INFO, err, "the host verifies %.400s", ks_buf_text(&text));
    ks_buf_release(&text);
    return rc;
}

/* What each instance was built from, once a host, when all is built. */
static int tell_builds(struct ks_rank *r, struct ks_err *err)
{
    if (r->told_builds || !r->build || ks_net_local_rank(r->c.net) != 0)
        return 0;
    r->told_builds = true;
    int rc = tell_judge(r, err);
    for (uint32_t i = 0; rc == 0 && i < r->c.grid->n_instances; i++) {
        const struct ks_artefact *a = ks_build_artefact(r->build, i);
        struct ks_build_rec b;
        ks_build_rec_init(&b);
        b.instance = r->c.grid->instances[i].id;
        b.outcome = ks_artefact_outcome(a->state);
        b.is_cached = a->is_cached;
        b.build_id = a->build_id;
        b.code_id = a->code_id;
        b.compile_ns = a->compile_ns;
        b.object_bytes = a->object_bytes;
        b.code = code_of(a);
        memcpy(b.reason, a->reason, sizeof(b.reason) - 1);
        snprintf(b.compiler, sizeof(b.compiler), "%s", a->compiler);
        ks_buf_clear(&r->body);
        ks_build_rec_encode(&b, &r->body);
        rc = ks_rank_send_body(r, KS_F_BUILD, err);
    }
    return rc;
}

/* Every rank that builds wants every unit: those that share a cache share the work. */
static int want_all(struct ks_rank *r, uint64_t n_parallel, struct ks_err *err)
{
    int rc = ks_build_cut(r->build, (uint32_t)n_parallel, err);
    for (uint32_t i = 0; rc == 0 && i < ks_build_n_units(r->build); i++)
        if (ks_build_unit_is_missing(r->build, i))
            rc = ks_build_start(r->build, i, err);
    return rc;
}

static int look_again(struct ks_rank *r, struct ks_err *err)
{
    int rc = 0;
    for (uint32_t i = 0; rc == 0 && i < ks_build_n_units(r->build); i++)
        if (ks_build_unit_is_missing(r->build, i))
            rc = ks_build_refresh(r->build, i, err);
    return rc;
}

int ks_rank_take_build(struct ks_rank *r, const struct ks_frame *f, struct ks_err *err)
{
    uint64_t what = 0, with = 0;
    int rc = ks_msg_numbers_get(f->body, f->n, &what, &with, err);
    if (rc < 0 || !r->has_warden)
        return rc;
    r->n_owed++;
    r->fetch.is_on = false; /* only another order to fetch comes before it has ended */
    if (!r->build)
        return 0;
    if (what == KS_ORDER_FETCH)
        ks_rank_fetch(r, (uint32_t)with);
    else
        rc = look_again(r, err);
    return rc < 0 || what != KS_ORDER_BUILD ? rc : want_all(r, with, err);
}

/* true: nothing that was ordered is left to do. */
static bool has_ended(const struct ks_rank *r)
{
    return !r->build || r->is_over || (!r->fetch.is_on && !ks_build_n_running(r->build));
}

int ks_rank_step_build(struct ks_rank *r, struct ks_err *err)
{
    int rc = 0;
    if (!r->n_owed)
        return 0;
    if (r->build && !r->is_over) {
        rc = ks_build_step(r->build, r->n_jobs, err);
        while (rc == 0 && ks_build_finished(r->build) >= 0)
            ;
        if (rc == 0)
            rc = ks_rank_step_fetch(r, err);
    }
    if (rc < 0 || !has_ended(r))
        return rc;
    const uint32_t missing = r->build ? ks_build_n_missing(r->build) : 0;
    if (!missing)
        rc = tell_builds(r, err);
    for (; r->n_owed && rc == 0; r->n_owed--)
        rc = ks_rank_send_numbers(r, KS_F_MSG_BUILD_END, missing,
                                  r->build ? ks_build_n_compiles(r->build) : 0, err);
    return rc;
}
