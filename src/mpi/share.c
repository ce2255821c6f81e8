/* SPDX-License-Identifier: MIT */
/* share.c - messages and windows by which ranks send build units to each other */
#include "mpi/share.h"

#include <inttypes.h>
#include <string.h>

/* Bodies
 * -------------------------------------------------------------------------------------------- */

void ks_share_ask_put(const struct ks_share_ask *a, struct ks_buf *b)
{
    ks_buf_u32(b, a->peer);
    ks_buf_u32(b, a->serial);
    ks_buf_u64(b, a->what.hi);
    ks_buf_u64(b, a->what.lo);
    ks_buf_u64(b, a->offset);
    ks_buf_u32(b, a->n);
}

int ks_share_ask_get(const void *body, size_t n, struct ks_share_ask *out, struct ks_err *err)
{
    struct ks_cur c = ks_cur(body, n);
    struct ks_share_ask a = { .peer = ks_cur_u32(&c) };
    a.serial = ks_cur_u32(&c);
    a.what.hi = ks_cur_u64(&c);
    a.what.lo = ks_cur_u64(&c);
    a.offset = ks_cur_u64(&c);
    a.n = ks_cur_u32(&c);
    if (c.failed || c.left || !a.n || a.n > KS_SHARE_WINDOW || a.offset >= KS_SHARE_MAX)
        return ks_fail(err, KS_EPROTO, "invalid request for %u bytes of a pack at offset %" PRIu64,
                       a.n, a.offset);
    *out = a;
    return 0;
}

void ks_share_piece_put(const struct ks_share_piece *p, struct ks_buf *b)
{
    ks_buf_u32(b, p->peer);
    ks_buf_u32(b, p->serial);
    ks_buf_u64(b, p->offset);
    ks_buf_u64(b, p->total);
    ks_buf_put(b, p->digest, sizeof(p->digest));
    ks_buf_put(b, p->bytes, p->n);
}

int ks_share_piece_get(const void *body, size_t n, struct ks_share_piece *out, struct ks_err *err)
{
    struct ks_cur c = ks_cur(body, n);
    struct ks_share_piece p = { .peer = ks_cur_u32(&c) };
    p.serial = ks_cur_u32(&c);
    p.offset = ks_cur_u64(&c);
    p.total = ks_cur_u64(&c);
    const void *digest = ks_cur_take(&c, sizeof(p.digest));
    const bool is_none = p.total == 0 && p.offset == 0 && c.left == 0;
    if (c.failed || p.total > KS_SHARE_MAX || c.left > KS_SHARE_PIECE || p.offset > p.total ||
        c.left > p.total - p.offset || (c.left == 0 && !is_none))
        return ks_fail(err, KS_EPROTO, "invalid piece of %zu bytes of a pack", n);
    memcpy(p.digest, digest, sizeof(p.digest));
    p.n = (uint32_t)c.left;
    p.bytes = c.p;
    *out = p;
    return 0;
}

/* Receiving
 * ----------------------------------------------------------------------------------------- */

void ks_share_in_release(struct ks_share_in *in)
{
    ks_buf_release(&in->pack);
    *in = (struct ks_share_in){ .serial = in->serial };
}

void ks_share_open(struct ks_share_in *in, uint32_t source, struct ks_id128 what, uint64_t now_ns)
{
    ks_buf_clear(&in->pack);
    in->is_open = true;
    in->source = source;
    in->serial++;
    in->what = what;
    in->total = in->asked = 0;
    in->heard_ns = now_ns;
}

/* Half a window at a time, so that the sender always has something to do. */
bool ks_share_next(struct ks_share_in *in, struct ks_share_ask *out)
{
    const uint64_t limit = in->pack.len + KS_SHARE_WINDOW;
    const uint64_t end = in->total && in->total < limit ? in->total : limit;
    const bool has_enough = in->asked - in->pack.len > KS_SHARE_WINDOW / 2;
    if (!in->is_open || end <= in->asked || has_enough || (in->asked && !in->total))
        return false;
    *out = (struct ks_share_ask){ .peer = in->source,
                                  .serial = in->serial,
                                  .what = in->what,
                                  .offset = in->asked,
                                  .n = (uint32_t)(end - in->asked) };
    in->asked = end;
    return true;
}

static int check_piece(struct ks_share_in *in, const struct ks_share_piece *p, struct ks_err *err)
{
    if (!p->total)
        return ks_fail(err, KS_ENOENT, "rank %u does not have it", in->source);
    if (!in->total) {
        in->total = p->total;
        memcpy(in->digest, p->digest, sizeof(in->digest));
        if (in->asked > in->total)
            in->asked = in->total;
    }
    if (p->total != in->total || memcmp(p->digest, in->digest, sizeof(in->digest)) != 0)
        return ks_fail(err, KS_EPROTO, "the pack changed during the transfer");
    if (p->offset != in->pack.len || p->n > in->asked - p->offset)
        return ks_fail(err, KS_EPROTO, "unexpected piece at offset %" PRIu64, p->offset);
    return 0;
}

static int check_pack(const struct ks_share_in *in, struct ks_err *err)
{
    struct ks_sha256 h;
    uint8_t digest[32];
    ks_sha256_init(&h);
    ks_sha256_add(&h, in->pack.data, in->pack.len);
    ks_sha256_end(&h, digest);
    if (memcmp(digest, in->digest, sizeof(digest)) != 0)
        return ks_fail(err, KS_EFORMAT, "a pack from rank %u is damaged: its digest differs",
                       in->source);
    return 1;
}

int ks_share_take(struct ks_share_in *in, const struct ks_share_piece *p, uint64_t now_ns,
                  struct ks_err *err)
{
    if (!in->is_open || p->serial != in->serial || p->peer != in->source)
        return 0;
    in->heard_ns = now_ns;
    int rc = check_piece(in, p, err);
    if (rc == 0)
        ks_buf_put(&in->pack, p->bytes, p->n);
    if (rc == 0 && !ks_buf_ok(&in->pack))
        rc = ks_fail(err, KS_ENOMEM, "out of memory for a pack of %" PRIu64 " bytes", in->total);
    if (rc == 0 && in->pack.len == in->total)
        rc = check_pack(in, err);
    if (rc != 0)
        in->is_open = false;
    return rc;
}

bool ks_share_is_silent(const struct ks_share_in *in, uint64_t now_ns)
{
    return in->is_open && now_ns > in->heard_ns && now_ns - in->heard_ns > KS_SHARE_SILENT_NS;
}

/* Sending
 * ------------------------------------------------------------------------------------------- */

void ks_share_out_release(struct ks_share_out *o)
{
    for (uint32_t i = 0; i < KS_SHARE_SHELVES; i++)
        ks_buf_release(&o->shelves[i].pack);
    *o = (struct ks_share_out){ .n_uses = 0 };
}

/* The pack, taken from where it lies when it is not on a shelf. NULL: there is none. */
static struct ks_share_shelf *find_pack(struct ks_share_out *o, const struct ks_share_source *s,
                                        struct ks_id128 what)
{
    struct ks_share_shelf *oldest = &o->shelves[0];
    for (uint32_t i = 0; i < KS_SHARE_SHELVES; i++) {
        struct ks_share_shelf *at = &o->shelves[i];
        if (at->pack.len && ks_id128_eq(at->what, what)) {
            at->used = ++o->n_uses;
            return at;
        }
        if (at->used < oldest->used)
            oldest = at;
    }
    struct ks_sha256 h;
    ks_buf_clear(&oldest->pack);
    if (s->get(s->ctx, what, &oldest->pack, NULL) < 0 || !ks_buf_ok(&oldest->pack) ||
        oldest->pack.len > KS_SHARE_MAX) {
        ks_buf_clear(&oldest->pack);
        return NULL;
    }
    ks_sha256_init(&h);
    ks_sha256_add(&h, oldest->pack.data, oldest->pack.len);
    ks_sha256_end(&h, oldest->digest);
    oldest->what = what;
    oldest->used = ++o->n_uses;
    return oldest->pack.len ? oldest : NULL;
}

static int send_body(const struct ks_share_source *s, struct ks_buf *body, struct ks_err *err)
{
    int rc = ks_buf_ok(body) ? 0 : ks_fail(err, KS_ENOMEM, "out of memory for a piece of a pack");
    if (rc == 0)
        rc = s->send(s->ctx, body, err);
    ks_buf_clear(body);
    return rc;
}

int ks_share_answer(struct ks_share_out *o, const struct ks_share_source *s,
                    const struct ks_share_ask *a, struct ks_err *err)
{
    const struct ks_share_shelf *at = find_pack(o, s, a->what);
    struct ks_buf body;
    int rc = 0;
    ks_buf_init(&body);
    if (!at || a->offset >= at->pack.len) {
        ks_share_refuse(a, a->peer, &body);
        rc = send_body(s, &body, err);
        ks_buf_release(&body);
        return rc;
    }
    struct ks_share_piece p = { .peer = a->peer, .serial = a->serial, .total = at->pack.len };
    const uint64_t end = a->n < p.total - a->offset ? a->offset + a->n : p.total;
    memcpy(p.digest, at->digest, sizeof(p.digest));
    for (p.offset = a->offset; p.offset < end && rc == 0; p.offset += p.n) {
        p.bytes = at->pack.data + p.offset;
        p.n = end - p.offset < KS_SHARE_PIECE ? (uint32_t)(end - p.offset) : KS_SHARE_PIECE;
        ks_share_piece_put(&p, &body);
        rc = send_body(s, &body, err);
    }
    ks_buf_release(&body);
    return rc;
}

void ks_share_refuse(const struct ks_share_ask *a, uint32_t peer, struct ks_buf *body_out)
{
    const struct ks_share_piece none = { .peer = peer, .serial = a->serial };
    ks_share_piece_put(&none, body_out);
}
