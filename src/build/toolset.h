/* SPDX-License-Identifier: MIT */
/* toolset.h - private to src/build: the compilers that the instances of a grid ask for. */
#ifndef KS_BUILD_TOOLSET_H
#define KS_BUILD_TOOLSET_H

#include "build/gpu_chain.h"
#include "build/toolchain.h"
#include "grid/grid.h"

#define KS_NO_TOOL UINT32_MAX

struct ks_tool {
    char name[KS_VALUE_TEXT]; /* as the families call it; "": they do not say */
    bool is_default;          /* of its trait: $KSWEEP_CC means it */
    bool is_wanted;           /* by the user, or by nobody: without it nothing can be built */
    bool is_tried;            /* it has compiled a kernel (trial.h) */
    char missing[256];        /* "" or "compiler clang is not installed" */
    struct ks_toolchain chain;
    struct ks_gpu_chain gpu; /* of the device's half; target KS_GPU_NONE: the job has no GPU */
};
struct ks_toolset {
    struct ks_tool *tools; /* [n_tools] owned */
    uint32_t n_tools;
    uint32_t *of;        /* [ks_grid_n_built()] owned: of each; KS_NO_TOOL: nothing is compiled for
                            it */
    char compilers[512]; /* versions of those that are there, "; " between */
};

/* One toolchain for each name that an instance which this device can run, on some problem of the
 * job, asks for:
 *
 *     no name                     `compiler`, else $KSWEEP_CC, else cc
 *     the default of its trait    `compiler`, else $KSWEEP_CC, else the name
 *     another name                $KSWEEP_CC_<NAME>, else the name, else clang-19, clang-18 ...
 *
 * For a GPU, that is the compiler of the host's half, and gpu_chain.h finds that of the device's.
 * One that is not there is missing when a family named it or only helpers ask for it, KS_ENOENT
 * when the user or nobody did.
 * compiler: NULL = none. Runs each once, as ks_toolchain_find. Caller releases. */
int ks_toolset_find(const struct ks_grid *grid, const char *compiler, struct ks_warden *w,
                    struct ks_toolset *out, struct ks_err *err);
void ks_toolset_release(struct ks_toolset *t);

#endif
