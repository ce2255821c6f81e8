/* SPDX-License-Identifier: MIT */
/* peer_call.h - a call of a vendor's library that the device times like a kernel: shim/peer_shim.c
 * is its module, whose entry "peer" calls run(). */
#ifndef KS_TEST_GPU_PEER_CALL_H
#define KS_TEST_GPU_PEER_CALL_H

#include "kernels/abi.h"

#include <stddef.h>

#define PEER_WORKSPACE ((size_t)64 << 20) /* bytes of device memory that each call may use */
#define PEER_CALLS     8                  /* algorithms of a problem that are tried */

struct peer_call {
    struct ks_abi_problem problem; /* first: what the entry is given points here */
    int (*run)(const struct peer_call *c, const struct ks_abi_buffers *buf); /* 0, or its status */
};

#endif
