/* SPDX-License-Identifier: MIT */
/* rank_share.c - what a rank gets from the caches of others, unit by unit, and what it hands out.
 */
#include "base/clock.h"
#include "mpi/rank_impl.h"

/* Fetching
 * ------------------------------------------------------------------------------------------ */

void ks_rank_fetch(struct ks_rank *r, uint32_t source)
{
    struct ks_rank_fetch *f = &r->fetch;
    f->in.is_open = false;
    f->i_unit = f->k = 0;
    f->source = source;
    f->is_on = source != KS_SHARE_NOBODY;
}

/* The next instance that is missing and was not asked for yet; false: there is none. Packs bring
 * more than one, and others may write into the same cache: look before asking. */
static bool find_next(struct ks_rank *r, uint32_t *i_out, int *rc_out, struct ks_err *err)
{
    struct ks_rank_fetch *f = &r->fetch;
    *rc_out = 0;
    for (; f->i_unit < ks_build_n_units(r->build); f->i_unit++, f->k = 0) {
        const uint32_t *list;
        const uint32_t n = ks_build_unit(r->build, f->i_unit, &list);
        if (ks_build_unit_is_missing(r->build, f->i_unit))
            *rc_out = ks_build_refresh(r->build, f->i_unit, err);
        while (f->k < n && *rc_out == 0) {
            *i_out = list[f->k++];
            if (ks_build_artefact(r->build, *i_out)->state == KS_ART_MISSING)
                return true;
        }
        if (*rc_out < 0)
            return false;
    }
    return false;
}

/* What cannot be had there is compiled here, later. */
static void warn(struct ks_rank *r, const struct ks_err *why)
{
    ks_logf(r->c.log, KS_WARN, "kernel from rank %u not received: %s; it is compiled here",
            r->fetch.source, why->text);
}

static int open_next(struct ks_rank *r, struct ks_err *err)
{
    struct ks_rank_fetch *f = &r->fetch;
    uint32_t i = 0;
    int rc;
    if (find_next(r, &i, &rc, err))
        ks_share_open(&f->in, f->source, ks_build_artefact(r->build, i)->build_id, ks_now_ns());
    else
        f->is_on = false;
    return rc;
}

int ks_rank_step_fetch(struct ks_rank *r, struct ks_err *err)
{
    struct ks_rank_fetch *f = &r->fetch;
    struct ks_share_ask a;
    int rc = 0;
    if (f->is_on && ks_share_is_silent(&f->in, ks_now_ns())) {
        warn(r, &(struct ks_err){ .text = "the rank does not answer" });
        f->is_on = f->in.is_open = false;
    }
    if (f->is_on && !f->in.is_open)
        rc = open_next(r, err);
    while (rc == 0 && f->is_on && ks_share_next(&f->in, &a)) {
        ks_buf_clear(&r->body);
        ks_share_ask_put(&a, &r->body);
        rc = ks_rank_send_body(r, KS_F_MSG_FETCH, err);
    }
    return rc;
}

int ks_rank_take_piece(struct ks_rank *r, const struct ks_frame *f, struct ks_err *err)
{
    struct ks_share_in *in = &r->fetch.in;
    struct ks_share_piece p;
    struct ks_err why = { .code = KS_OK };
    int rc = ks_share_piece_get(f->body, f->n, &p, err);
    if (rc < 0 || !r->fetch.is_on)
        return rc;
    ks_chaos(&r->chaos, KS_CHAOS_FETCH);
    rc = ks_share_take(in, &p, ks_now_ns(), &why);
    if (rc == 1)
        rc = ks_build_import(r->build, in->what, in->pack.data, in->pack.len, &why);
    if (rc < 0)
        warn(r, &why);
    return 0;
}

/* Handing out
 * --------------------------------------------------------------------------------------- */

static int get_pack(void *ctx, struct ks_id128 what, struct ks_buf *pack_out, struct ks_err *err)
{
    const struct ks_rank *r = ctx;
    return r->build ? ks_build_export(r->build, what, pack_out, err)
                    : ks_fail(err, KS_ENOENT, "rank %u does not build", r->rank);
}

static int send_piece(void *ctx, const struct ks_buf *body, struct ks_err *err)
{
    struct ks_rank *r = ctx;
    return ks_net_send(r->c.net, 0, KS_F_MSG_SENT, body->data, body->len, err);
}

int ks_rank_send_pack(struct ks_rank *r, const struct ks_frame *f, struct ks_err *err)
{
    const struct ks_share_source from = { .get = get_pack, .send = send_piece, .ctx = r };
    struct ks_share_ask a;
    int rc = ks_share_ask_get(f->body, f->n, &a, err);
    ks_chaos(&r->chaos, KS_CHAOS_SEND);
    return rc < 0 ? rc : ks_share_answer(&r->packs, &from, &a, err);
}
