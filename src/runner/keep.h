/* SPDX-License-Identifier: MIT */
/* keep.h - an output on its way to its file: compressed in pieces, with a digest. */
#ifndef KS_RUNNER_KEEP_H
#define KS_RUNNER_KEEP_H

#include "base/err.h"
#include "base/hash.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef int (*ks_keep_piece_fn)(void *ctx, uint64_t offset, const void *bytes, size_t n,
                                bool is_last, struct ks_err *err);

struct ks_keep;

/* @max_bytes [in] of the output; what comes behind it is counted, but not kept */
int ks_keep_open(uint64_t max_bytes, ks_keep_piece_fn piece, void *ctx, struct ks_keep **out,
                 struct ks_err *err);
void ks_keep_close(struct ks_keep *k); /* NULL is fine */
/* KS_ENOMEM, or what the callback returned. */
int ks_keep_add(struct ks_keep *k, const void *bytes, size_t n, struct ks_err *err);
/* The last piece, if anything was added. */
int ks_keep_end(struct ks_keep *k, struct ks_err *err);
/* Of what was kept. */
void ks_keep_digest(struct ks_keep *k, uint8_t digest_out[32], uint64_t *n_bytes_out,
                    uint64_t *n_kept_out);

#endif
