/* SPDX-License-Identifier: MIT */
/* gpu_emulator.c - launches the emulator's images as a device does for a host half */
#include "tests/unit/gpu_emulator.h"

#include <dlfcn.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

/* What the device's half exports for a kernel. */
static const void *kernel_symbol(const struct gpu_emulator *e, uint32_t kernel, const char *what)
{
    char name[64];
    const void *at;

    snprintf(name, sizeof(name), "%s_kernel%u_%s", e->kernels, kernel, what);
    at = dlsym(e->device, name);
    if (!at)
        fail_msg("no symbol %s", name);
    return at;
}

static int number(const struct gpu_emulator *e, uint32_t kernel, const char *what)
{
    return *(const int *)kernel_symbol(e, kernel, what);
}

static int first_of(uint32_t n, uint32_t most)
{
    return (int)(most > 0 && most < n ? most : n);
}

static int emulate(const struct ks_abi_gpu *gpu, const struct ks_abi_launch *l)
{
    struct gpu_emulator *e = (struct gpu_emulator *)(uintptr_t)gpu;
    const int grid[3] = { first_of(l->grid[0], l->kernel > 0 ? e->helper_x_most : 0),
                          first_of(l->grid[1], e->y_most), (int)l->grid[2] };
    const int block[3] = { (int)l->block, 1, 1 };
    const void *entry = kernel_symbol(e, l->kernel, "entry");
    ks_simt_body body;

    memcpy(&body, &entry, sizeof(body));
    if ((int)l->block != number(e, l->kernel, "block") || l->shared_bytes != 0)
        fail_msg("%s: kernel %u is launched with %u threads and %u bytes", e->kernels, l->kernel,
                 l->block, l->shared_bytes);
    e->n_launched++;
    return ks_simt_launch(body, l->args, grid, block, number(e, l->kernel, "warp"), e->order,
                          e->pool);
}

static int fill(const struct ks_abi_gpu *gpu, void *ptr, uint32_t pattern, uint64_t bytes)
{
    (void)gpu;
    assert_true(bytes % 4 == 0);
    for (uint64_t i = 0; i < bytes; i += 4)
        memcpy((char *)ptr + i, &pattern, 4);
    return 0;
}

struct gpu_emulator gpu_emulator_of(void *device, const char *kernels, struct ks_simt_pool *pool)
{
    return (struct gpu_emulator){
        .gpu = { emulate, fill }, .device = device, .kernels = kernels, .pool = pool
    };
}
