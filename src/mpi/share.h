/* SPDX-License-Identifier: MIT */
/* share.h - a pack (build/build.h) from one rank to another through rank 0, in pieces.
 *
 * The receiver asks for a range of bytes at a time and never for more than a window beyond what it
 * has; the sender answers what is asked and keeps no books; rank 0 passes both on. So what rank 0
 * and the streams hold is bounded by the window of each receiver, and a receiver that stops asking
 * stops everything. Whoever dies leaves nothing to undo: the receiver asks another.
 *
 *     receiver --FETCH--> rank 0 --SEND--> sender
 *     receiver <--PIECE-- rank 0 <--SENT-- sender
 *
 * No MPI and no clock in here. */
#ifndef KS_MPI_SHARE_H
#define KS_MPI_SHARE_H

#include "base/buf.h"
#include "base/err.h"
#include "base/hash.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define KS_SHARE_PIECE     (32u << 10)
#define KS_SHARE_WINDOW    (8 * KS_SHARE_PIECE) /* bytes asked for that have not come yet */
#define KS_SHARE_MAX       (1ull << 30)         /* bytes of a pack */
#define KS_SHARE_SILENT_NS 20000000000ull       /* nothing for so long: it cannot be had there */
#define KS_SHARE_NOBODY    UINT32_MAX

struct ks_share_ask {     /* KS_F_MSG_FETCH and KS_F_MSG_SEND */
    uint32_t peer;        /* who shall send it; in SEND: to whom */
    uint32_t serial;      /* of the receiver's transfers, from 1; comes back in the pieces */
    struct ks_id128 what; /* a build in the pack */
    uint64_t offset;
    uint32_t n; /* bytes, at most KS_SHARE_WINDOW; the pack may end before */
};
struct ks_share_piece { /* KS_F_MSG_SENT and KS_F_MSG_PIECE */
    uint32_t peer;      /* to whom; in PIECE: from whom */
    uint32_t serial;
    uint64_t offset, total; /* total: of the pack; 0: it cannot be had there */
    uint8_t digest[32];     /* SHA-256 of the whole pack */
    const uint8_t *bytes;   /* borrowed from the body */
    uint32_t n;             /* at most KS_SHARE_PIECE */
};
void ks_share_ask_put(const struct ks_share_ask *a, struct ks_buf *body_out);
void ks_share_piece_put(const struct ks_share_piece *p, struct ks_buf *body_out);
/* KS_EPROTO: not what the put above would write within these limits. */
int ks_share_ask_get(const void *body, size_t n, struct ks_share_ask *out, struct ks_err *err);
int ks_share_piece_get(const void *body, size_t n, struct ks_share_piece *out, struct ks_err *err);

/* Receiving, one pack at a time. Zero-initialise. */
struct ks_share_in {
    bool is_open;
    uint32_t source, serial;
    struct ks_id128 what;
    uint64_t total, asked; /* bytes; total 0: not known yet */
    uint64_t heard_ns;
    uint8_t digest[32];
    struct ks_buf pack; /* what has come */
};
void ks_share_in_release(struct ks_share_in *in);
/* Forgets what was being received. */
void ks_share_open(struct ks_share_in *in, uint32_t source, struct ks_id128 what, uint64_t now_ns);
/* What to ask next: true = *out, send it. Call until false, and after every piece. */
bool ks_share_next(struct ks_share_in *in, struct ks_share_ask *out);
/* A piece has come. 1 = the pack is whole and has its digest; 0 = going on, or not of this
 * transfer. KS_ENOENT: it cannot be had there; KS_EPROTO, KS_EFORMAT: what came is not what was
 * asked for; KS_ENOMEM. After 1 and errors the transfer is closed. */
int ks_share_take(struct ks_share_in *in, const struct ks_share_piece *p, uint64_t now_ns,
                  struct ks_err *err);
bool ks_share_is_silent(const struct ks_share_in *in, uint64_t now_ns);

/* Sending: the packs that were asked for last are kept. Zero-initialise. */
#define KS_SHARE_SHELVES 4u
struct ks_share_out {
    struct ks_share_shelf {
        struct ks_id128 what; /* zero: empty */
        uint8_t digest[32];
        uint64_t used; /* the higher the later */
        struct ks_buf pack;
    } shelves[KS_SHARE_SHELVES];
    uint64_t n_uses;
};
void ks_share_out_release(struct ks_share_out *o);
/* get: appends the pack to an empty buffer, KS_ENOENT (or any other error): there is none.
 * send: called for each piece with its body, or once to say that there is none. */
struct ks_share_source {
    int (*get)(void *ctx, struct ks_id128 what, struct ks_buf *pack_out, struct ks_err *err);
    int (*send)(void *ctx, const struct ks_buf *body, struct ks_err *err);
    void *ctx;
};
int ks_share_answer(struct ks_share_out *o, const struct ks_share_source *s,
                    const struct ks_share_ask *a, struct ks_err *err);
/* "Cannot be had", as the answer to an ask; peer: of the piece. */
void ks_share_refuse(const struct ks_share_ask *a, uint32_t peer, struct ks_buf *body_out);

#endif
