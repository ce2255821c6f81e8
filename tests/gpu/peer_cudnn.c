/* SPDX-License-Identifier: MIT */
/* peer_cudnn.c - forward convolutions by cuDNN's graph interface */
/* cuDNN through dlopen, with prototypes of our own. Numbers are those of cudnn_graph.h, which
 * versions 8 and 9 share. */
#include "tests/gpu/cudnn.h"
#include "tests/gpu/peer_library.h"

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum kind {
    CONVOLUTION = 1,
    ENGINECFG = 3,
    ENGINEHEUR = 4,
    PLAN = 5,
    FORWARD = 10,
    GRAPH = 15,
    PACK = 16,
    TENSOR = 17
};
enum type {
    T_HANDLE = 0,
    T_DATA = 1,
    T_INT64 = 3,
    T_FLOAT = 4,
    T_POINTER = 6,
    T_MODE = 7,
    T_HEUR = 8,
    T_DESCRIPTOR = 15
};
enum attribute {
    CONV_COMPUTE = 100,
    CONV_MODE,
    CONV_DILATIONS,
    CONV_STRIDES,
    CONV_POST,
    CONV_PRE,
    CONV_DIMS,
    HEUR_MODE = 200,
    HEUR_GRAPH,
    HEUR_RESULTS,
    PLAN_HANDLE = 400,
    PLAN_CONFIG,
    PLAN_WORKSPACE,
    FORWARD_ALPHA = 700,
    FORWARD_BETA,
    FORWARD_CONV,
    FORWARD_W,
    FORWARD_X,
    FORWARD_Y,
    GRAPH_HANDLE = 800,
    GRAPH_OPS,
    TENSOR_ALIGNMENT = 900,
    TENSOR_TYPE,
    TENSOR_DIMS,
    TENSOR_STRIDES,
    TENSOR_ID = 906,
    PACK_IDS = 1000,
    PACK_POINTERS,
    PACK_WORKSPACE = 1003
};
#define DATA_FLOAT  0
#define CROSS       1
#define HEUR_MODE_A 3
#define ALIGNMENT   16

/* X(slot, symbol, prototype) */
#define CALLS(X)                                                                                   \
    X(version, "cudnnGetVersion", size_t (*)(void))                                                \
    X(create, "cudnnCreate", int (*)(void **))                                                     \
    X(destroy, "cudnnDestroy", int (*)(void *))                                                    \
    X(set_stream, "cudnnSetStream", int (*)(void *, void *))                                       \
    X(make, "cudnnBackendCreateDescriptor", int (*)(int, void **))                                 \
    X(drop, "cudnnBackendDestroyDescriptor", int (*)(void *))                                      \
    X(finish, "cudnnBackendFinalize", int (*)(void *))                                             \
    X(set, "cudnnBackendSetAttribute", int (*)(void *, int, int, int64_t, const void *))           \
    X(get, "cudnnBackendGetAttribute", int (*)(void *, int, int, int64_t, int64_t *, void *))      \
    X(execute, "cudnnBackendExecute", int (*)(void *, void *, void *))

struct cudnn {
    void *handle;
    char name[64];
    struct {
#define X(slot, symbol, prototype) __typeof__((prototype)0) slot;
        CALLS(X)
#undef X
    } f;
};

static int take_symbols(struct cudnn *c, void *library, struct ks_err *err)
{
    int rc = 0;

#define X(slot, symbol, prototype)                                                                 \
    rc = rc == 0 ? peer_symbol(library, symbol, &c->f.slot, err) : rc;
    CALLS(X)
#undef X
    return rc;
}

int cudnn_open(struct cudnn **out, struct ks_err *err)
{
    static const char *const names[] = { "libcudnn.so.9", "libcudnn.so.8", "libcudnn.so", NULL };
    struct cudnn *c = calloc(1, sizeof(*c));
    void *library = c != NULL ? peer_library("KSWEEP_CUDNN", names, err) : NULL;
    int rc;

    if (c == NULL)
        return ks_fail(err, KS_ENOMEM, "cuDNN");
    rc = library != NULL ? take_symbols(c, library, err) : KS_ENOENT;
    if (rc == 0 && c->f.create(&c->handle) != 0)
        rc = ks_fail(err, KS_EDEVICE, "cudnnCreate failed");
    if (rc < 0) {
        free(c); /* libraries stay: vendors' are not made to be closed */
        return rc;
    }
    snprintf(c->name, sizeof(c->name), "cuDNN %zu, its graph interface", c->f.version());
    *out = c;
    return 0;
}

void cudnn_close(struct cudnn *c)
{
    if (c == NULL)
        return;
    (void)c->f.destroy(c->handle);
    free(c);
}

const char *cudnn_name(const struct cudnn *c)
{
    return c->name;
}

static int run(const struct peer_call *call, const struct ks_abi_buffers *buf)
{
    const struct cudnn_call *k = (const struct cudnn_call *)(const void *)call;
    int rc = k->c->f.set_stream(k->c->handle, buf->stream);

    return rc != 0 ? rc : k->c->f.execute(k->c->handle, k->plan, k->pack);
}

/* ---- descriptors; a status of the library, 0 = good ---- */

struct value {
    enum attribute name;
    enum type type;
    int64_t n;
    const void *at;
};

/* NULL: it cannot be made. */
static void *make(const struct cudnn *c, struct cudnn_plans *plans, enum kind kind,
                  const struct value *values, size_t n)
{
    void *d = NULL;
    int rc = plans->n_owned < 64 ? c->f.make((int)kind, &d) : 1;

    if (rc != 0)
        return NULL;
    plans->owned[plans->n_owned++] = d;
    for (size_t i = 0; rc == 0 && i < n; i++)
        rc = c->f.set(d, (int)values[i].name, (int)values[i].type, values[i].n, values[i].at);
    return rc == 0 && (n == 0 || c->f.finish(d) == 0) ? d : NULL;
}
#define MAKE(c, plans, kind, values)                                                               \
    make(c, plans, kind, values, sizeof(values) / sizeof((values)[0]))

/* dims: N C H W; in memory channels come last. */
static void *make_tensor(const struct cudnn *c, struct cudnn_plans *plans, int type, int64_t id,
                         const int64_t dims[4])
{
    const int64_t strides[4] = { dims[1] * dims[2] * dims[3], 1, dims[1] * dims[3], dims[1] };
    const int64_t alignment = ALIGNMENT;
    const struct value values[] = { { TENSOR_TYPE, T_DATA, 1, &type },
                                    { TENSOR_DIMS, T_INT64, 4, dims },
                                    { TENSOR_STRIDES, T_INT64, 4, strides },
                                    { TENSOR_ID, T_INT64, 1, &id },
                                    { TENSOR_ALIGNMENT, T_INT64, 1, &alignment } };

    return MAKE(c, plans, TENSOR, values);
}

static void *make_conv(const struct cudnn *c, struct cudnn_plans *plans,
                       const struct ks_abi_problem *p)
{
    const int compute = DATA_FLOAT, mode = CROSS;
    const int64_t n = 2;
    const struct value values[] = { { CONV_COMPUTE, T_DATA, 1, &compute },
                                    { CONV_MODE, T_MODE, 1, &mode },
                                    { CONV_DIMS, T_INT64, 1, &n },
                                    { CONV_DILATIONS, T_INT64, n, &p->dilation[1] },
                                    { CONV_STRIDES, T_INT64, n, &p->stride[1] },
                                    { CONV_PRE, T_INT64, n, &p->pad_lo[1] },
                                    { CONV_POST, T_INT64, n, &p->pad_hi[1] } };

    return MAKE(c, plans, CONVOLUTION, values);
}

static void *make_graph(const struct cudnn *c, struct cudnn_plans *plans,
                        const struct ks_abi_problem *p)
{
    static const int types[] = { [KS_ABI_FP32] = 0, [KS_ABI_FP16] = 2, [KS_ABI_BF16] = 9 };
    const int64_t x_dims[4] = { p->n, p->g * p->c, p->in[1], p->in[2] };
    const int64_t w_dims[4] = { p->g * p->k, p->c, p->filter[1], p->filter[2] };
    const int64_t y_dims[4] = { p->n, p->g * p->k, p->out[1], p->out[2] };
    const float one = 1.0f, zero = 0.0f;
    void *x = make_tensor(c, plans, types[p->dtype], 1, x_dims);
    void *w = make_tensor(c, plans, types[p->dtype], 2, w_dims);
    void *y = make_tensor(c, plans, types[p->dtype], 3, y_dims);
    void *conv = make_conv(c, plans, p), *op;
    const struct value parts[] = {
        { FORWARD_X, T_DESCRIPTOR, 1, &x },  { FORWARD_W, T_DESCRIPTOR, 1, &w },
        { FORWARD_Y, T_DESCRIPTOR, 1, &y },  { FORWARD_CONV, T_DESCRIPTOR, 1, &conv },
        { FORWARD_ALPHA, T_FLOAT, 1, &one }, { FORWARD_BETA, T_FLOAT, 1, &zero }
    };
    const struct value whole[] = { { GRAPH_HANDLE, T_HANDLE, 1, &c->handle },
                                   { GRAPH_OPS, T_DESCRIPTOR, 1, &op } };

    op =
        x != NULL && w != NULL && y != NULL && conv != NULL ? MAKE(c, plans, FORWARD, parts) : NULL;
    return op != NULL ? MAKE(c, plans, GRAPH, whole) : NULL;
}

/* How many configurations its heuristic proposes. */
static int64_t propose(const struct cudnn *c, struct cudnn_plans *plans, void *graph,
                       void *configs[PEER_CALLS])
{
    const int mode = HEUR_MODE_A;
    const struct value values[] = { { HEUR_GRAPH, T_DESCRIPTOR, 1, &graph },
                                    { HEUR_MODE, T_HEUR, 1, &mode } };
    void *heuristic = MAKE(c, plans, ENGINEHEUR, values);
    int64_t n = 0;

    for (int i = 0; i < PEER_CALLS; i++) /* it fills in those that are there */
        configs[i] = make(c, plans, ENGINECFG, NULL, 0);
    if (heuristic == NULL || configs[PEER_CALLS - 1] == NULL ||
        c->f.get(heuristic, HEUR_RESULTS, T_DESCRIPTOR, PEER_CALLS, &n, configs) != 0)
        return 0;
    return n < PEER_CALLS ? n : PEER_CALLS;
}

static void add_plan(const struct cudnn *c, struct cudnn_plans *plans, void *config, void *pack,
                     const struct ks_abi_problem *p)
{
    const struct value values[] = { { PLAN_HANDLE, T_HANDLE, 1, &c->handle },
                                    { PLAN_CONFIG, T_DESCRIPTOR, 1, &config } };
    void *plan = MAKE(c, plans, PLAN, values);
    int64_t bytes = 0, n = 0;

    if (plan == NULL || c->f.get(plan, PLAN_WORKSPACE, T_INT64, 1, &n, &bytes) != 0 ||
        bytes > (int64_t)PEER_WORKSPACE)
        return;
    plans->calls[plans->n++] = (struct cudnn_call){
        .call = { .problem = *p, .run = run }, .c = c, .plan = plan, .pack = pack
    };
}

int cudnn_plan(const struct cudnn *c, const struct ks_abi_problem *p,
               const struct ks_abi_buffers *buf, void *workspace, struct cudnn_plans *out,
               struct ks_err *err)
{
    static const int64_t ids[3] = { 1, 2, 3 };
    const void *const at[3] = { buf->a, buf->b, buf->c };
    const struct value values[] = { { PACK_POINTERS, T_POINTER, 3, at },
                                    { PACK_IDS, T_INT64, 3, ids },
                                    { PACK_WORKSPACE, T_POINTER, 1, &workspace } };
    void *configs[PEER_CALLS], *graph, *pack;
    int64_t n;

    *out = (struct cudnn_plans){ .n = 0 };
    if (p->op != KS_ABI_GROUPED_CONV || p->direction != KS_ABI_FORWARD ||
        p->layout != KS_ABI_NHWGC || p->in[0] != 1 || p->filter[0] != 1)
        return ks_fail(err, KS_EUNSUPPORTED, "not a forward 2-D convolution, NHWC");
    graph = make_graph(c, out, p);
    pack = graph != NULL ? MAKE(c, out, PACK, values) : NULL;
    n = pack != NULL ? propose(c, out, graph, configs) : 0;
    for (int64_t i = 0; i < n; i++)
        add_plan(c, out, configs[i], pack, p);
    return out->n > 0 ? 0 : ks_fail(err, KS_EUNSUPPORTED, "it has no plan for this problem");
}

void cudnn_release(const struct cudnn *c, struct cudnn_plans *plans)
{
    while (plans->n_owned > 0)
        (void)c->f.drop(plans->owned[--plans->n_owned]);
    plans->n = 0;
}
