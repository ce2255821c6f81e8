/* SPDX-License-Identifier: MIT */
/* cuDNN through dlopen, with prototypes of our own: functions of its legacy interface, which
 * versions 8 and 9 share. Constants are those of cudnn_graph.h and cudnn_cnn.h. */
#include "tests/gpu/cudnn.h"

#include <dlfcn.h>
#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define N_ALGORITHMS 8 /* CUDNN_CONVOLUTION_FWD_ALGO_COUNT */
#define N_SAMPLES    21
#define N_CALLS      5
#define NHWC         1 /* CUDNN_TENSOR_NHWC */
#define CROSS        1 /* CUDNN_CROSS_CORRELATION */
#define TENSOR_OP    1 /* CUDNN_TENSOR_OP_MATH */
#define COMPUTE_FP32 0 /* CUDNN_DATA_FLOAT */

/* X(library, slot, symbol, prototype) */
#define CALLS(X)                                                                                   \
    X(driver, init, "cuInit", int (*)(unsigned))                                                   \
    X(driver, get, "cuDeviceGet", int (*)(int *, int))                                             \
    X(driver, retain, "cuDevicePrimaryCtxRetain", int (*)(void **, int))                           \
    X(driver, current, "cuCtxSetCurrent", int (*)(void *))                                         \
    X(driver, alloc, "cuMemAlloc_v2", int (*)(unsigned long long *, size_t))                       \
    X(driver, free, "cuMemFree_v2", int (*)(unsigned long long))                                   \
    X(driver, fill, "cuMemsetD8_v2", int (*)(unsigned long long, unsigned char, size_t))           \
    X(driver, sync, "cuCtxSynchronize", int (*)(void))                                             \
    X(driver, event, "cuEventCreate", int (*)(void **, unsigned))                                  \
    X(driver, record, "cuEventRecord", int (*)(void *, void *))                                    \
    X(driver, elapsed, "cuEventElapsedTime", int (*)(float *, void *, void *))                     \
    X(cudnn, version, "cudnnGetVersion", size_t (*)(void))                                         \
    X(cudnn, create, "cudnnCreate", int (*)(void **))                                              \
    X(cudnn, destroy, "cudnnDestroy", int (*)(void *))                                             \
    X(cudnn, tensor, "cudnnCreateTensorDescriptor", int (*)(void **))                              \
    X(cudnn, no_tensor, "cudnnDestroyTensorDescriptor", int (*)(void *))                           \
    X(cudnn, set_tensor, "cudnnSetTensor4dDescriptor",                                             \
      int (*)(void *, int, int, int, int, int, int))                                               \
    X(cudnn, filter, "cudnnCreateFilterDescriptor", int (*)(void **))                              \
    X(cudnn, no_filter, "cudnnDestroyFilterDescriptor", int (*)(void *))                           \
    X(cudnn, set_filter, "cudnnSetFilter4dDescriptor",                                             \
      int (*)(void *, int, int, int, int, int, int))                                               \
    X(cudnn, conv, "cudnnCreateConvolutionDescriptor", int (*)(void **))                           \
    X(cudnn, no_conv, "cudnnDestroyConvolutionDescriptor", int (*)(void *))                        \
    X(cudnn, set_conv, "cudnnSetConvolution2dDescriptor",                                          \
      int (*)(void *, int, int, int, int, int, int, int, int))                                     \
    X(cudnn, set_groups, "cudnnSetConvolutionGroupCount", int (*)(void *, int))                    \
    X(cudnn, set_math, "cudnnSetConvolutionMathType", int (*)(void *, int))                        \
    X(cudnn, workspace, "cudnnGetConvolutionForwardWorkspaceSize",                                 \
      int (*)(void *, void *, void *, void *, void *, int, size_t *))                              \
    X(cudnn, forward, "cudnnConvolutionForward",                                                   \
      int (*)(void *, const void *, void *, unsigned long long, void *, unsigned long long,        \
              void *, int, unsigned long long, size_t, const void *, void *, unsigned long long))

struct cudnn {
    void *driver, *cudnn; /* libraries */
    void *handle, *start, *stop;
    char name[64];
    struct {
#define X(library, slot, symbol, prototype) __typeof__((prototype)0) slot;
        CALLS(X)
#undef X
    } f;
};

/* Everything one problem needs. */
struct task {
    void *x, *w, *y, *conv;
    unsigned long long mem[3]; /* input, filter, output */
    size_t bytes[3];
};

static int take_symbol(void *library, const char *symbol, void *slot, struct ks_err *err)
{
    void *at = dlsym(library, symbol);

    if (at == NULL)
        return ks_fail(err, KS_ENOENT, "%s is not in the library", symbol);
    memcpy(slot, &at, sizeof(at));
    return 0;
}

static int take_symbols(struct cudnn *c, struct ks_err *err)
{
    int rc = 0;

#define X(library, slot, symbol, prototype)                                                        \
    rc = rc == 0 ? take_symbol(c->library, symbol, &c->f.slot, err) : rc;
    CALLS(X)
#undef X
    return rc;
}

/* KSWEEP_CUDNN names the library or its folder; else the loader's own places. */
static void *open_library(char *where, size_t cap)
{
    static const char *const names[] = { "libcudnn.so.9", "libcudnn.so.8", "libcudnn.so" };
    const char *named = getenv("KSWEEP_CUDNN");
    void *lib = NULL;

    snprintf(where, cap, "%s", named != NULL ? named : "the loader's path");
    if (named != NULL)
        lib = dlopen(named, RTLD_NOW | RTLD_LOCAL);
    for (size_t i = 0; lib == NULL && i < sizeof(names) / sizeof(names[0]); i++) {
        char path[1200];

        snprintf(path, sizeof(path), "%s%s%s", named != NULL ? named : "", named != NULL ? "/" : "",
                 names[i]);
        lib = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    }
    return lib;
}

static int start(struct cudnn *c, struct ks_err *err)
{
    void *context = NULL;
    int device = 0;

    if (c->f.init(0) != 0 || c->f.get(&device, 0) != 0 || c->f.retain(&context, device) != 0 ||
        c->f.current(context) != 0 || c->f.event(&c->start, 0) != 0 || c->f.event(&c->stop, 0) != 0)
        return ks_fail(err, KS_ENODEVICE, "no CUDA device");
    if (c->f.create(&c->handle) != 0)
        return ks_fail(err, KS_EDEVICE, "cudnnCreate failed");
    snprintf(c->name, sizeof(c->name), "cuDNN %zu, its legacy interface", c->f.version());
    return 0;
}

int cudnn_open(struct cudnn **out, struct ks_err *err)
{
    struct cudnn *c = calloc(1, sizeof(*c));
    char where[1100];
    int rc;

    if (c == NULL)
        return ks_fail(err, KS_ENOMEM, "cuDNN");
    c->cudnn = open_library(where, sizeof(where));
    c->driver = dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL);
    if (c->cudnn == NULL)
        rc = ks_fail(err, KS_ENOENT, "no libcudnn.so in %.400s", where);
    else if (c->driver == NULL)
        rc = ks_fail(err, KS_ENOENT, "no libcuda.so.1");
    else
        rc = take_symbols(c, err);
    if (rc == 0)
        rc = start(c, err);
    if (rc < 0) {
        free(c); /* libraries stay: vendors' are not made to be closed */
        return rc;
    }
    *out = c;
    return 0;
}

void cudnn_close(struct cudnn *c)
{
    if (c == NULL)
        return;
    c->f.destroy(c->handle);
    free(c);
}

const char *cudnn_name(const struct cudnn *c)
{
    return c->name;
}

static int describe(struct cudnn *c, const struct ks_abi_problem *p, struct task *t)
{
    static const int dtypes[] = { [KS_ABI_FP32] = 0, [KS_ABI_FP16] = 2, [KS_ABI_BF16] = 9 };
    int type = dtypes[p->dtype], channels = (int)(p->g * p->c), outputs = (int)(p->g * p->k);

    return c->f.tensor(&t->x) | c->f.tensor(&t->y) | c->f.filter(&t->w) | c->f.conv(&t->conv) |
           c->f.set_tensor(t->x, NHWC, type, (int)p->n, channels, (int)p->in[1], (int)p->in[2]) |
           c->f.set_tensor(t->y, NHWC, type, (int)p->n, outputs, (int)p->out[1], (int)p->out[2]) |
           c->f.set_filter(t->w, type, NHWC, outputs, (int)p->c, (int)p->filter[1],
                           (int)p->filter[2]) |
           c->f.set_conv(t->conv, (int)p->pad_lo[1], (int)p->pad_lo[2], (int)p->stride[1],
                         (int)p->stride[2], (int)p->dilation[1], (int)p->dilation[2], CROSS,
                         COMPUTE_FP32) |
           c->f.set_groups(t->conv, (int)p->g) | c->f.set_math(t->conv, TENSOR_OP);
}

static int allocate(struct cudnn *c, const struct ks_abi_problem *p, struct task *t)
{
    size_t element = p->dtype == KS_ABI_FP32 ? 4 : 2;
    int rc = 0;

    t->bytes[0] = (size_t)(p->n * p->in[1] * p->in[2] * p->g * p->c) * element;
    t->bytes[1] = (size_t)(p->g * p->k * p->filter[1] * p->filter[2] * p->c) * element;
    t->bytes[2] = (size_t)(p->n * p->out[1] * p->out[2] * p->g * p->k) * element;
    for (int i = 0; rc == 0 && i < 3; i++) {
        rc = c->f.alloc(&t->mem[i], t->bytes[i]);
        /* 0x3c3c is a number near 0.01 in all types: what is computed does not matter. */
        rc = rc == 0 ? c->f.fill(t->mem[i], 0x3c, t->bytes[i]) : rc;
    }
    return rc;
}

static int call(struct cudnn *c, const struct task *t, int algorithm, unsigned long long workspace,
                size_t bytes)
{
    const float one = 1.0f, zero = 0.0f;

    return c->f.forward(c->handle, &one, t->x, t->mem[0], t->w, t->mem[1], t->conv, algorithm,
                        workspace, bytes, &zero, t->y, t->mem[2]);
}

static int by_value(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;

    return (x > y) - (x < y);
}

/* Median of N_SAMPLES samples of N_CALLS calls; infinite where the algorithm does not work. */
static double time_algorithm(struct cudnn *c, const struct task *t, int algorithm)
{
    unsigned long long workspace = 0;
    double ns[N_SAMPLES];
    size_t bytes = 0;
    int rc = c->f.workspace(c->handle, t->x, t->w, t->conv, t->y, algorithm, &bytes);

    if (rc != 0 || (bytes > 0 && c->f.alloc(&workspace, bytes) != 0))
        return INFINITY;
    rc = call(c, t, algorithm, workspace, bytes);
    rc |= c->f.sync();
    for (int i = 0; rc == 0 && i < N_SAMPLES; i++) {
        float ms = 0;

        rc = c->f.record(c->start, NULL);
        for (int k = 0; rc == 0 && k < N_CALLS; k++)
            rc = call(c, t, algorithm, workspace, bytes);
        rc |= c->f.record(c->stop, NULL) | c->f.sync() | c->f.elapsed(&ms, c->start, c->stop);
        ns[i] = 1e6 * (double)ms / N_CALLS;
    }
    if (workspace != 0)
        (void)c->f.free(workspace);
    if (rc != 0)
        return INFINITY;
    qsort(ns, N_SAMPLES, sizeof(ns[0]), by_value);
    return ns[N_SAMPLES / 2];
}

static bool is_plain(const struct ks_abi_problem *p)
{
    for (int i = 0; i < 3; i++)
        if (p->pad_lo[i] < p->pad_hi[i] || (i == 0 && (p->in[0] != 1 || p->filter[0] != 1)))
            return false;
    return p->op == KS_ABI_GROUPED_CONV && p->direction == KS_ABI_FORWARD &&
           p->layout == KS_ABI_NHWGC;
}

int cudnn_forward(struct cudnn *c, const struct ks_abi_problem *p, double *ns_out,
                  struct ks_err *err)
{
    struct task t = { .x = NULL };
    double best = INFINITY;
    int rc;

    if (!is_plain(p))
        return ks_fail(err, KS_EUNSUPPORTED, "not a forward 2-D convolution, NHWC");
    rc = describe(c, p, &t);
    if (rc == 0)
        rc = allocate(c, p, &t);
    for (int a = 0; rc == 0 && a < N_ALGORITHMS; a++)
        best = fmin(best, time_algorithm(c, &t, a));
    for (int i = 0; i < 3; i++)
        if (t.mem[i] != 0)
            (void)c->f.free(t.mem[i]);
    (void)(t.x != NULL && c->f.no_tensor(t.x));
    (void)(t.y != NULL && c->f.no_tensor(t.y));
    (void)(t.w != NULL && c->f.no_filter(t.w));
    (void)(t.conv != NULL && c->f.no_conv(t.conv));
    if (rc != 0 || !isfinite(best))
        return ks_fail(err, KS_EUNSUPPORTED, "no algorithm works (status %d)", rc);
    *ns_out = best;
    return 0;
}
