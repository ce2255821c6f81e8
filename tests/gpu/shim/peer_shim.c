/* SPDX-License-Identifier: MIT */
/* peer_shim.c - calls of vendors' libraries as a module of kernels */
/* The table of kernels for calls of vendors' libraries: a module without an image. */
#include "tests/gpu/peer_call.h"

#include <stddef.h>

static const char *unsupported(const struct ks_abi_problem *p)
{
    (void)p;
    return NULL;
}

static int64_t workspace_bytes(const struct ks_abi_problem *p)
{
    (void)p;
    return 0;
}

static int run(const struct ks_abi_problem *p, const struct ks_abi_buffers *buf)
{
    const struct peer_call *c = (const struct peer_call *)(const void *)p;

    return c->run(c, buf);
}

static const struct ks_abi_entry entries[] = { { "peer", unsupported, workspace_bytes, run } };

extern const struct ks_abi_table ks_kernel_table;
__attribute__((visibility("default")))
const struct ks_abi_table ks_kernel_table = { KS_ABI_MAJOR, 1, entries };
