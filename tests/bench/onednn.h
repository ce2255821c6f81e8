/* SPDX-License-Identifier: MIT */
/* onednn.h - one grouped convolution through oneDNN 2.x, as the peer of a bench: activations in
 * nwc/nhwc/ndhwc, weights in the order oneDNN likes best (`any`). Making the primitive and bringing
 * operands into its order are not timed; packing is part of ksweep's timed call. */
#ifndef KS_BENCH_ONEDNN_H
#define KS_BENCH_ONEDNN_H

#include "base/err.h"
#include "op/op.h"

struct peer;

/* @a, @b [in] operands in the order of struct ks_abi_buffers, layout nhwgc; copied.
 * KS_EUNSUPPORTED when oneDNN has no such primitive; KS_EDEVICE with its status otherwise. */
int peer_create(const struct ks_problem *p, const void *a, const void *b, struct peer **out,
                struct ks_err *err);
void peer_destroy(struct peer *peer);                 /* NULL is fine */
const char *peer_implementation(const struct peer *); /* "jit:avx512_core_bf16" */
int peer_run(struct peer *peer, struct ks_err *err);  /* one call; blocks */
/* The result of the last call in ksweep's order. c_out: [extents.c] elements of the dtype. */
int peer_result(struct peer *peer, void *c_out, struct ks_err *err);

#endif
