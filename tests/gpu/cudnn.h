/* SPDX-License-Identifier: MIT */
/* cudnn.h - one forward convolution by cuDNN's graph interface, loaded at run time. */
#ifndef KS_TEST_GPU_CUDNN_H
#define KS_TEST_GPU_CUDNN_H

#include "base/err.h"
#include "tests/gpu/peer_call.h"

struct cudnn;
/* A device must be open. KS_ENOENT: there is no such library; the message says where it was looked
 * for. */
int cudnn_open(struct cudnn **out, struct ks_err *err);
void cudnn_close(struct cudnn *c); /* NULL is fine */
const char *cudnn_name(const struct cudnn *c);

struct cudnn_call {
    struct peer_call call;
    const struct cudnn *c; /* borrowed */
    void *plan, *pack;
};
struct cudnn_plans {
    void *owned[64]; /* descriptors, in the order in which they were made */
    int n_owned;
    struct cudnn_call calls[PEER_CALLS]; /* best first, as its heuristic has it */
    int n;
};
/* The plans of a problem on these operands, workspace of PEER_WORKSPACE bytes. KS_EUNSUPPORTED: not
 * a forward 2-D convolution in NHWC, or it has no plan for it. The caller releases it, also on
 * failure. */
int cudnn_plan(const struct cudnn *c, const struct ks_abi_problem *p,
               const struct ks_abi_buffers *buf, void *workspace, struct cudnn_plans *out,
               struct ks_err *err);
void cudnn_release(const struct cudnn *c, struct cudnn_plans *plans);

#endif
