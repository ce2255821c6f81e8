/* SPDX-License-Identifier: MIT */
/* conv_work.h - what a convolution cannot leave out. */
#ifndef KS_OP_CONV_WORK_H
#define KS_OP_CONV_WORK_H

#include "op/op.h"

/* The slot `work` of the grouped convolution, all directions. Time: outputs and taps of one axis.
 */
struct ks_work ks_conv_work(const struct ks_problem *p);

#endif
