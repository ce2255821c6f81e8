/* SPDX-License-Identifier: MIT */
/* visible.h - the environment by which a child sees one device, or all that its parent was given.
 *
 * AMD's runtimes filter twice: ROCR_VISIBLE_DEVICES first, then HIP_VISIBLE_DEVICES (or
 * CUDA_VISIBLE_DEVICES where that is unset) by numbers among what is left. Slurm writes the same
 * list into both, which filtered twice leaves too little: two equal lists count as one. */
#ifndef KS_TOPO_VISIBLE_H
#define KS_TOPO_VISIBLE_H

#include "base/backend.h"

#include <stddef.h>
#include <stdint.h>

enum { KS_VISIBLE_ROCR, KS_VISIBLE_HIP, KS_VISIBLE_CUDA, KS_VISIBLE_ORDINAL, KS_VISIBLE_N };
extern const char *const ks_visible_names[KS_VISIBLE_N]; /* "ROCR_VISIBLE_DEVICES", ... */

struct ks_visible_env {
    uint32_t n;
    char text[KS_VISIBLE_N][256]; /* "NAME=VALUE", of 64 devices by number, too */
};

/* ks_visible_env() - what to add to a child's environment.
 * @backend  [in]  KS_BACKEND_CUDA_LIST: CUDA_VISIBLE_DEVICES only; else as AMD's runtimes
 * @lists    [in]  values of ks_visible_names as this process was started with; NULL = unset
 * @i_device [in]  number of the one device to see, as a child without these would count; -1: all */
void ks_visible_env(const struct ks_backend *backend, const char *const lists[KS_VISIBLE_N],
                    int32_t i_device, struct ks_visible_env *out);

/* "ROCR_VISIBLE_DEVICES=0,1 HIP_VISIBLE_DEVICES=1": those that are set; cut at cap. */
void ks_visible_text(const char *const lists[KS_VISIBLE_N], char *out, size_t cap);

#endif
