/* SPDX-License-Identifier: MIT */
/* keep.c - compresses a program's output up to a limit, in pieces, and digests it */
#include "runner/keep.h"

#include "record/found.h"

#include <stdlib.h>
#include <zlib.h>

enum { GZIP = 16, LEVEL = 6, MEMORY = 8 };

struct ks_keep {
    z_stream z;
    struct ks_sha256 sha;
    uint64_t max_bytes, n_bytes, n_kept, n_sent;
    size_t n_piece;
    ks_keep_piece_fn piece;
    void *ctx;
    uint8_t out[KS_PIECE_MAX];
};

int ks_keep_open(uint64_t max_bytes, ks_keep_piece_fn piece, void *ctx, struct ks_keep **out,
                 struct ks_err *err)
{
    struct ks_keep *k = calloc(1, sizeof *k);

    if (!k || deflateInit2(&k->z, LEVEL, Z_DEFLATED, GZIP + MAX_WBITS, MEMORY,
                           Z_DEFAULT_STRATEGY) != Z_OK) {
        free(k);
        return ks_fail(err, KS_ENOMEM, "no memory to compress output");
    }
    k->max_bytes = max_bytes;
    k->piece = piece;
    k->ctx = ctx;
    ks_sha256_init(&k->sha);
    *out = k;
    return 0;
}

void ks_keep_close(struct ks_keep *k)
{
    if (!k)
        return;
    (void)deflateEnd(&k->z);
    free(k);
}

static int send(struct ks_keep *k, bool is_last, struct ks_err *err)
{
    int rc = k->piece(k->ctx, k->n_sent, k->out, k->n_piece, is_last, err);

    k->n_sent += k->n_piece;
    k->n_piece = 0;
    return rc;
}

/* All that there is to compress; with Z_FINISH to the end of the stream. */
static int squeeze(struct ks_keep *k, int flush, struct ks_err *err)
{
    int state = Z_OK, rc = 0;

    do {
        k->z.next_out = k->out + k->n_piece;
        k->z.avail_out = (uInt)(sizeof k->out - k->n_piece);
        state = deflate(&k->z, flush);
        k->n_piece = sizeof k->out - k->z.avail_out;
        if (k->z.avail_out == 0)
            rc = send(k, false, err);
    } while (rc == 0 && (k->z.avail_in > 0 || (flush == Z_FINISH && state != Z_STREAM_END)));
    return rc;
}

int ks_keep_add(struct ks_keep *k, const void *bytes, size_t n, struct ks_err *err)
{
    const uint64_t room = k->max_bytes - k->n_kept;

    k->n_bytes += n;
    if (n > room)
        n = (size_t)room;
    k->n_kept += n;
    ks_sha256_add(&k->sha, bytes, n);
    k->z.next_in = (Bytef *)(uintptr_t)bytes;
    k->z.avail_in = (uInt)n;
    return n ? squeeze(k, Z_NO_FLUSH, err) : 0;
}

int ks_keep_end(struct ks_keep *k, struct ks_err *err)
{
    int rc = k->n_kept ? squeeze(k, Z_FINISH, err) : 0;

    return rc == 0 && k->n_kept ? send(k, true, err) : rc;
}

void ks_keep_digest(struct ks_keep *k, uint8_t digest_out[32], uint64_t *n_bytes_out,
                    uint64_t *n_kept_out)
{
    struct ks_sha256 sha = k->sha;

    ks_sha256_end(&sha, digest_out);
    *n_bytes_out = k->n_bytes;
    *n_kept_out = k->n_kept;
}
