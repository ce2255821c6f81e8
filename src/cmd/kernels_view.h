/* SPDX-License-Identifier: MIT */
/* kernels_view.h - how `ksweep kernels` shows a set. */
#ifndef KS_CMD_KERNELS_VIEW_H
#define KS_CMD_KERNELS_VIEW_H

#include "base/buf.h"
#include "grid/family.h"

#include <stdint.h>

/* All append; without memory the buffer is marked as failed. */
void ks_kernels_names(const struct ks_kernel_set *set, struct ks_buf *b);
void ks_kernels_list(const struct ks_kernel_set *set, struct ks_buf *b);
void ks_kernels_list_json(const struct ks_kernel_set *set, struct ks_buf *b);
/* The names that filters know, with values and meaning, for people. width: wrap.h. */
void ks_kernels_traits(const struct ks_kernel_set *set, unsigned width, struct ks_buf *b);
/* All combinations, those that rules exclude (with the rules) and filters keep out, what is left,
 * and what of that cannot run, by reason. */
void ks_kernels_counts(const struct ks_kernel_set *set, uint64_t n_excluded, struct ks_buf *b);
void ks_kernels_counts_json(const struct ks_kernel_set *set, uint64_t n_excluded, struct ks_buf *b);
/* One column per trait of any family. */
void ks_kernels_csv(const struct ks_kernel_set *set, struct ks_buf *b);

#endif
