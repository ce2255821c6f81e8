/* SPDX-License-Identifier: MIT */
/* naive_conv.c - a plug-in: kernels of your own behind the table that ksweep measures.
 *
 * Built by build.sh. The harness calls run() with device pointers and the stream to use; everything
 * on that stream between the harness's two events is timed. Nothing here waits. */
#include "naive_conv.h"

#include "kernels/abi.h"

#include <hip/hip_runtime_api.h>
#include <limits.h>
#include <stddef.h>

/* The device's code travels inside the plug-in: one file to copy, one digest to check. */
__asm__(
    ".pushsection .rodata\n.balign 4096\nnaive_image:\n.incbin \"naive_conv.co\"\n.popsection\n");
extern const char naive_image[] __attribute__((visibility("hidden")));

static int64_t outputs(const struct ks_abi_problem *p)
{
    return p->n * p->g * p->k * p->out[0] * p->out[1] * p->out[2];
}

/* Whatever this returns is the cell's reason, `unsupported`; it never runs then. */
static const char *unsupported(const struct ks_abi_problem *p)
{
    if (p->op != KS_ABI_GROUPED_CONV || p->direction != KS_ABI_FORWARD)
        return "forward convolutions only";
    if (p->dtype != KS_ABI_FP32 || p->layout != KS_ABI_NHWGC)
        return "fp32 nhwgc only";
    return outputs(p) > INT_MAX - 256 ? "more outputs than an int counts" : NULL;
}

static int64_t workspace_bytes(const struct ks_abi_problem *p)
{
    (void)p;
    return 0;
}

static struct naive_args args_of(const struct ks_abi_problem *p)
{
    struct naive_args a = { .n = (int)p->n, .g = (int)p->g, .k = (int)p->k, .c = (int)p->c };

    for (int i = 0; i < 3; i++) {
        a.in[i] = (int)p->in[i];
        a.out[i] = (int)p->out[i];
        a.filter[i] = (int)p->filter[i];
        a.stride[i] = (int)p->stride[i];
        a.dilation[i] = (int)p->dilation[i];
        a.pad[i] = (int)p->pad_lo[i];
    }
    a.n_outputs = (int)outputs(p);
    return a;
}

/* Loaded once in a worker's life, by the first, untimed launch. */
static int find_kernel(const char *name, hipFunction_t *f)
{
    static hipModule_t module;
    hipError_t rc = hipSuccess;

    if (*f)
        return 0;
    if (!module)
        rc = hipModuleLoadData(&module, naive_image);
    return rc == hipSuccess ? (int)hipModuleGetFunction(f, module, name) : (int)rc;
}

/* A value other than 0 makes the cell `launch_failed` with that number. */
static int launch(const char *name, hipFunction_t *f, unsigned block,
                  const struct ks_abi_problem *p, const struct ks_abi_buffers *buf)
{
    struct naive_args args = args_of(p);
    const void *a = buf->a, *b = buf->b;
    void *c = buf->c;
    void *list[] = { &a, &b, &c, &args };
    int rc = find_kernel(name, f);

    if (rc != 0)
        return rc;
    return (int)hipModuleLaunchKernel(*f, ((unsigned)args.n_outputs + block - 1) / block, 1, 1,
                                      block, 1, 1, 0, buf->stream, list, NULL);
}

static int run_64(const struct ks_abi_problem *p, const struct ks_abi_buffers *buf)
{
    static hipFunction_t f;

    return launch("naive_64", &f, 64, p, buf);
}

static int run_256(const struct ks_abi_problem *p, const struct ks_abi_buffers *buf)
{
    static hipFunction_t f;

    return launch("naive_256", &f, 256, p, buf);
}

/* The names are those that naive_conv.json gives its instances. */
static const struct ks_abi_entry entries[] = {
    { "naive_conv_64", unsupported, workspace_bytes, run_64 },
    { "naive_conv_256", unsupported, workspace_bytes, run_256 },
};
const struct ks_abi_table ks_kernel_table = { KS_ABI_MAJOR, 2, entries };
