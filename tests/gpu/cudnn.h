/* SPDX-License-Identifier: MIT */
/* cudnn.h - one convolution by cuDNN, which is loaded at run time. */
#ifndef KS_TEST_GPU_CUDNN_H
#define KS_TEST_GPU_CUDNN_H

#include "base/err.h"
#include "kernels/abi.h"

struct cudnn;
/* KS_ENOENT: there is no such library; the message says where it was looked for. */
int cudnn_open(struct cudnn **out, struct ks_err *err);
void cudnn_close(struct cudnn *c);
const char *cudnn_name(const struct cudnn *c);
/* ns_out: the fastest algorithm's median. KS_EUNSUPPORTED: it has none for this problem. */
int cudnn_forward(struct cudnn *c, const struct ks_abi_problem *p, double *ns_out,
                  struct ks_err *err);

#endif
