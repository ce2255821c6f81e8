/* SPDX-License-Identifier: MIT */
/* peer_lt.h - one matrix product by cuBLASLt or hipBLASLt, which are loaded at run time. */
#ifndef KS_TEST_GPU_PEER_LT_H
#define KS_TEST_GPU_PEER_LT_H

#include "base/err.h"
#include "tests/gpu/peer_call.h"

#include <stddef.h>
#include <stdint.h>

struct lt;
/* vendor: "cublaslt" ($KSWEEP_CUBLASLT names the library, or its folder) or "hipblaslt"
 * ($KSWEEP_HIPBLASLT). A device must be open. KS_ENOENT: there is none, the message says where it
 * was looked for. */
int lt_open(const char *vendor, struct lt **out, struct ks_err *err);
void lt_close(struct lt *lt); /* NULL is fine */
const char *lt_name(const struct lt *lt);

struct lt_call {
    struct peer_call call;
    const struct lt *lt; /* borrowed */
    void *desc, *a, *b, *c;
    uint8_t algorithm[64];
    void *workspace; /* borrowed device memory, PEER_WORKSPACE bytes */
};
/* calls_out [PEER_CALLS]: the algorithms that the library proposes, best first; *n_out of them.
 * They share what lt_release() of the first frees. KS_EUNSUPPORTED: not one product of row-major
 * matrices, or the library proposes none. */
int lt_plan(const struct lt *lt, const struct ks_abi_problem *p, void *workspace,
            struct lt_call *calls_out, int *n_out, struct ks_err *err);
void lt_release(struct lt_call *first);

#endif
