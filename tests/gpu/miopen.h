/* SPDX-License-Identifier: MIT */
/* miopen.h - one forward convolution by MIOpen's immediate mode, loaded at run time. */
#ifndef KS_TEST_GPU_MIOPEN_H
#define KS_TEST_GPU_MIOPEN_H

#include "base/err.h"
#include "tests/gpu/peer_call.h"

struct miopen;
/* $KSWEEP_MIOPEN names the library, or its folder. A device must be open. KS_ENOENT: there is no
 * such library; the message says where it was looked for. */
int miopen_open(struct miopen **out, struct ks_err *err);
void miopen_close(struct miopen *m); /* NULL is fine */
const char *miopen_name(const struct miopen *m);

struct miopen_plans;
struct miopen_call {
    struct peer_call call;
    const struct miopen_plans *plans; /* those it is one of; their address must not change */
    uint64_t solution;
    size_t bytes; /* of workspace */
};
struct miopen_plans {
    const struct miopen *m;               /* borrowed */
    void *x, *w, *y, *conv;               /* descriptors */
    void *workspace;                      /* borrowed device memory */
    struct miopen_call calls[PEER_CALLS]; /* as it lists its solutions, fastest first */
    int n;
};
/* Its solutions for a problem that need at most PEER_WORKSPACE bytes, compiled. KS_EUNSUPPORTED:
 * not a forward 2-D convolution in NHWC with equal padding on both sides, or it has no solution.
 * The caller releases it, also on failure. */
int miopen_plan(const struct miopen *m, const struct ks_abi_problem *p, void *workspace,
                struct miopen_plans *out, struct ks_err *err);
void miopen_release(struct miopen_plans *plans);

#endif
