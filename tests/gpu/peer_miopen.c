/* SPDX-License-Identifier: MIT */
/* peer_miopen.c - convolutions of MIOpen */
/* MIOpen's immediate mode through dlopen, with prototypes of our own. Numbers are those of
 * miopen/miopen.h, which ROCm 5 to 7 share. */
#include "tests/gpu/miopen.h"
#include "tests/gpu/peer_library.h"

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define CONVOLUTION 0 /* miopenConvolution */

struct solution { /* miopenConvSolution_t */
    float ms;
    size_t bytes;
    uint64_t id;
    int algorithm;
};

/* X(slot, symbol, prototype) */
#define CALLS(X)                                                                                   \
    X(version, "miopenGetVersion", int (*)(size_t *, size_t *, size_t *))                          \
    X(create, "miopenCreate", int (*)(void **))                                                    \
    X(destroy, "miopenDestroy", int (*)(void *))                                                   \
    X(set_stream, "miopenSetStream", int (*)(void *, void *))                                      \
    X(make_tensor, "miopenCreateTensorDescriptor", int (*)(void **))                               \
    X(set_tensor, "miopenSetTensorDescriptor",                                                     \
      int (*)(void *, int, int, const int *, const int *))                                         \
    X(drop_tensor, "miopenDestroyTensorDescriptor", int (*)(void *))                               \
    X(make_conv, "miopenCreateConvolutionDescriptor", int (*)(void **))                            \
    X(set_conv, "miopenInitConvolutionDescriptor",                                                 \
      int (*)(void *, int, int, int, int, int, int, int))                                          \
    X(set_groups, "miopenSetConvolutionGroupCount", int (*)(void *, int))                          \
    X(drop_conv, "miopenDestroyConvolutionDescriptor", int (*)(void *))                            \
    X(solutions, "miopenConvolutionForwardGetSolution",                                            \
      int (*)(void *, void *, void *, void *, void *, size_t, size_t *, struct solution *))        \
    X(compile, "miopenConvolutionForwardCompileSolution",                                          \
      int (*)(void *, void *, void *, void *, void *, uint64_t))                                   \
    X(run, "miopenConvolutionForwardImmediate",                                                    \
      int (*)(void *, void *, const void *, void *, const void *, void *, void *, void *, void *,  \
              size_t, uint64_t))

struct miopen {
    void *handle;
    char name[64];
    struct {
#define X(slot, symbol, prototype) __typeof__((prototype)0) slot;
        CALLS(X)
#undef X
    } f;
};

static int take_symbols(struct miopen *m, void *library, struct ks_err *err)
{
    int rc = 0;

#define X(slot, symbol, prototype)                                                                 \
    rc = rc == 0 ? peer_symbol(library, symbol, &m->f.slot, err) : rc;
    CALLS(X)
#undef X
    return rc;
}

int miopen_open(struct miopen **out, struct ks_err *err)
{
    static const char *const names[] = { "libMIOpen.so.1", NULL };
    struct miopen *m = calloc(1, sizeof(*m));
    void *library = m != NULL ? peer_library("KSWEEP_MIOPEN", names, err) : NULL;
    size_t v[3] = { 0 };
    int rc;

    if (m == NULL)
        return ks_fail(err, KS_ENOMEM, "MIOpen");
    rc = library != NULL ? take_symbols(m, library, err) : KS_ENOENT;
    if (rc == 0 && m->f.create(&m->handle) != 0)
        rc = ks_fail(err, KS_EDEVICE, "miopenCreate failed");
    if (rc < 0) {
        free(m); /* libraries stay: vendors' are not made to be closed */
        return rc;
    }
    (void)m->f.version(&v[0], &v[1], &v[2]);
    snprintf(m->name, sizeof(m->name), "MIOpen %zu.%zu.%zu, its immediate mode", v[0], v[1], v[2]);
    *out = m;
    return 0;
}

void miopen_close(struct miopen *m)
{
    if (m == NULL)
        return;
    (void)m->f.destroy(m->handle);
    free(m);
}

const char *miopen_name(const struct miopen *m)
{
    return m->name;
}

static int run(const struct peer_call *call, const struct ks_abi_buffers *buf)
{
    const struct miopen_call *k = (const struct miopen_call *)(const void *)call;
    const struct miopen_plans *d = k->plans;
    int rc = d->m->f.set_stream(d->m->handle, buf->stream);

    return rc != 0 ? rc
                   : d->m->f.run(d->m->handle, d->w, buf->b, d->x, buf->a, d->conv, d->y, buf->c,
                                 d->workspace, k->bytes, k->solution);
}

/* dims: N C H W; in memory channels come last. NULL: it cannot be made. */
static void *make_tensor(const struct miopen *m, uint32_t dtype, const int64_t d[4])
{
    static const int types[] = { [KS_ABI_FP32] = 1, [KS_ABI_FP16] = 0, [KS_ABI_BF16] = 5 };
    const int dims[4] = { (int)d[0], (int)d[1], (int)d[2], (int)d[3] };
    const int strides[4] = { dims[1] * dims[2] * dims[3], 1, dims[1] * dims[3], dims[1] };
    void *t = NULL;

    if (m->f.make_tensor(&t) != 0)
        return NULL;
    if (m->f.set_tensor(t, types[dtype], 4, dims, strides) == 0)
        return t;
    (void)m->f.drop_tensor(t);
    return NULL;
}

static void *make_conv(const struct miopen *m, const struct ks_abi_problem *p)
{
    void *c = NULL;

    if (m->f.make_conv(&c) != 0)
        return NULL;
    if (m->f.set_conv(c, CONVOLUTION, (int)p->pad_lo[1], (int)p->pad_lo[2], (int)p->stride[1],
                      (int)p->stride[2], (int)p->dilation[1], (int)p->dilation[2]) == 0 &&
        m->f.set_groups(c, (int)p->g) == 0)
        return c;
    (void)m->f.drop_conv(c);
    return NULL;
}

static bool is_its_kind(const struct ks_abi_problem *p)
{
    return p->op == KS_ABI_GROUPED_CONV && p->direction == KS_ABI_FORWARD &&
           p->layout == KS_ABI_NHWGC && p->in[0] == 1 && p->filter[0] == 1 &&
           p->pad_lo[1] == p->pad_hi[1] && p->pad_lo[2] == p->pad_hi[2];
}

static void add_solutions(struct miopen_plans *out, const struct ks_abi_problem *p)
{
    const struct miopen *m = out->m;
    struct solution found[PEER_CALLS];
    size_t n = 0;

    if (m->f.solutions(m->handle, out->w, out->x, out->conv, out->y, PEER_CALLS, &n, found) != 0)
        return;
    for (size_t i = 0; i < n && i < PEER_CALLS; i++) {
        if (found[i].bytes > PEER_WORKSPACE ||
            m->f.compile(m->handle, out->w, out->x, out->conv, out->y, found[i].id) != 0)
            continue;
        out->calls[out->n++] = (struct miopen_call){ .call = { .problem = *p, .run = run },
                                                     .plans = out,
                                                     .solution = found[i].id,
                                                     .bytes = found[i].bytes };
    }
}

int miopen_plan(const struct miopen *m, const struct ks_abi_problem *p, void *workspace,
                struct miopen_plans *out, struct ks_err *err)
{
    const int64_t x[4] = { p->n, p->g * p->c, p->in[1], p->in[2] };
    const int64_t w[4] = { p->g * p->k, p->c, p->filter[1], p->filter[2] };
    const int64_t y[4] = { p->n, p->g * p->k, p->out[1], p->out[2] };

    *out = (struct miopen_plans){ .m = m, .workspace = workspace };
    if (!is_its_kind(p))
        return ks_fail(err, KS_EUNSUPPORTED,
                       "not a forward 2-D convolution, NHWC, with equal padding on both sides");
    out->x = make_tensor(m, p->dtype, x);
    out->w = make_tensor(m, p->dtype, w);
    out->y = make_tensor(m, p->dtype, y);
    out->conv = make_conv(m, p);
    if (out->x != NULL && out->w != NULL && out->y != NULL && out->conv != NULL)
        add_solutions(out, p);
    return out->n > 0 ? 0 : ks_fail(err, KS_EUNSUPPORTED, "it has no solution for this problem");
}

void miopen_release(struct miopen_plans *plans)
{
    void *const tensors[] = { plans->x, plans->w, plans->y };

    for (size_t i = 0; i < 3; i++)
        if (tensors[i] != NULL)
            (void)plans->m->f.drop_tensor(tensors[i]);
    if (plans->conv != NULL)
        (void)plans->m->f.drop_conv(plans->conv);
    plans->n = 0;
}
