/* SPDX-License-Identifier: MIT */
/* onednn.c - a grouped convolution through oneDNN 2.x: its primitive, operands and result */
#include "tests/bench/onednn.h"

#include "op/conv.h"

#include <oneapi/dnnl/dnnl.h>
#include <stdlib.h>
#include <string.h>

#define CHECK(call)                                                                                \
    do {                                                                                           \
        dnnl_status_t status_ = (call);                                                            \
        if (status_ != dnnl_success)                                                               \
            return failed(status_, #call, err);                                                    \
    } while (0)

/* The operands of a convolution, whatever its direction. */
enum { INPUT, WEIGHTS, OUTPUT, N_OPERANDS };

struct peer {
    dnnl_engine_t engine;
    dnnl_stream_t stream;
    dnnl_primitive_t primitive;
    dnnl_primitive_desc_t desc;
    dnnl_memory_t memory[N_OPERANDS]; /* in the primitive's order */
    dnnl_memory_t plain[N_OPERANDS];  /* in ksweep's */
    dnnl_memory_desc_t plain_desc[N_OPERANDS];
    uint32_t direction;
    size_t result_bytes;
};

/* The convolution in oneDNN's terms. */
struct geometry {
    int n_axes;
    bool is_grouped;
    dnnl_data_type_t dtype;
    dnnl_dims_t dims[N_OPERANDS];
    int n_dims[N_OPERANDS];
    dnnl_dims_t stride, dilation, pad_lo, pad_hi;
};

static int failed(dnnl_status_t status, const char *call, struct ks_err *err)
{
    return ks_fail(err, status == dnnl_unimplemented ? KS_EUNSUPPORTED : KS_EDEVICE,
                   "oneDNN status %d from %s", (int)status, call);
}

/* Which of the three each operand of struct ks_abi_buffers is. */
static const int roles[KS_N_DIRECTIONS][3] = {
    [KS_FORWARD] = { INPUT, WEIGHTS, OUTPUT },
    [KS_BACKWARD_DATA] = { OUTPUT, WEIGHTS, INPUT },
    [KS_BACKWARD_WEIGHT] = { INPUT, OUTPUT, WEIGHTS },
};

static void read_axes(const struct ks_abi_problem *q, struct geometry *g)
{
    int at_weights = g->is_grouped ? 3 : 2;

    for (int i = 0; i < g->n_axes; i++) {
        int axis = 3 - g->n_axes + i;

        g->dims[INPUT][2 + i] = q->in[axis];
        g->dims[OUTPUT][2 + i] = q->out[axis];
        g->dims[WEIGHTS][at_weights + i] = q->filter[axis];
        g->stride[i] = q->stride[axis];
        g->dilation[i] = q->dilation[axis] - 1;
        g->pad_lo[i] = q->pad_lo[axis];
        /* What is met of the upper padding; oneDNN checks the extents against it. */
        g->pad_hi[i] = (q->out[axis] - 1) * q->stride[axis] +
                       (q->filter[axis] - 1) * q->dilation[axis] + 1 - q->in[axis] -
                       q->pad_lo[axis];
    }
}

static void read_geometry(const struct ks_problem *p, struct geometry *g)
{
    static const dnnl_data_type_t dtypes[] = {
        [KS_FP32] = dnnl_f32, [KS_FP16] = dnnl_f16, [KS_BF16] = dnnl_bf16
    };
    struct ks_abi_problem q;
    int i = 0;

    ks_operators[p->op]->to_abi(p, &q);
    *g = (struct geometry){ .n_axes = (int)p->dim[KS_CONV_NDIM],
                            .is_grouped = q.g > 1,
                            .dtype = dtypes[p->dtype] };
    g->dims[INPUT][0] = g->dims[OUTPUT][0] = q.n;
    g->dims[INPUT][1] = q.g * q.c;
    g->dims[OUTPUT][1] = q.g * q.k;
    if (g->is_grouped)
        g->dims[WEIGHTS][i++] = q.g;
    g->dims[WEIGHTS][i++] = q.k;
    g->dims[WEIGHTS][i] = q.c;
    g->n_dims[INPUT] = g->n_dims[OUTPUT] = 2 + g->n_axes;
    g->n_dims[WEIGHTS] = 2 + g->n_axes + g->is_grouped;
    read_axes(&q, g);
}

static dnnl_format_tag_t plain_tag(const struct geometry *g, int operand)
{
    static const dnnl_format_tag_t images[] = { 0, dnnl_nwc, dnnl_nhwc, dnnl_ndhwc },
                                   filters[] = { 0, dnnl_owi, dnnl_ohwi, dnnl_odhwi },
                                   grouped[] = { 0, dnnl_gowi, dnnl_gohwi, dnnl_godhwi };

    if (operand != WEIGHTS)
        return images[g->n_axes];
    return g->is_grouped ? grouped[g->n_axes] : filters[g->n_axes];
}

/* Both backward primitives want the forward one as a hint. */
static int describe(struct peer *e, const struct geometry *g, struct ks_err *err)
{
    dnnl_memory_desc_t md[N_OPERANDS];
    dnnl_convolution_desc_t forward, wanted;
    dnnl_primitive_desc_t hint = NULL;
    const dnnl_alg_kind_t direct = dnnl_convolution_direct;

    for (int i = 0; i < N_OPERANDS; i++) {
        CHECK(dnnl_memory_desc_init_by_tag(&e->plain_desc[i], g->n_dims[i], g->dims[i], g->dtype,
                                           plain_tag(g, i)));
        CHECK(dnnl_memory_desc_init_by_tag(&md[i], g->n_dims[i], g->dims[i], g->dtype,
                                           i == WEIGHTS ? dnnl_format_tag_any : plain_tag(g, i)));
    }
    CHECK(dnnl_dilated_convolution_forward_desc_init(
        &forward, e->direction == KS_FORWARD ? dnnl_forward_inference : dnnl_forward_training,
        direct, &md[INPUT], &md[WEIGHTS], NULL, &md[OUTPUT], g->stride, g->dilation, g->pad_lo,
        g->pad_hi));
    if (e->direction == KS_FORWARD) {
        CHECK(dnnl_primitive_desc_create(&e->desc, &forward, NULL, e->engine, NULL));
        return 0;
    }
    CHECK(dnnl_primitive_desc_create(&hint, &forward, NULL, e->engine, NULL));
    if (e->direction == KS_BACKWARD_DATA)
        CHECK(dnnl_dilated_convolution_backward_data_desc_init(&wanted, direct, &md[INPUT],
                                                               &md[WEIGHTS], &md[OUTPUT], g->stride,
                                                               g->dilation, g->pad_lo, g->pad_hi));
    else
        CHECK(dnnl_dilated_convolution_backward_weights_desc_init(
            &wanted, direct, &md[INPUT], &md[WEIGHTS], NULL, &md[OUTPUT], g->stride, g->dilation,
            g->pad_lo, g->pad_hi));
    dnnl_status_t status = dnnl_primitive_desc_create(&e->desc, &wanted, NULL, e->engine, hint);
    dnnl_primitive_desc_destroy(hint);
    CHECK(status);
    return 0;
}

static const dnnl_memory_desc_t *wanted_order(const struct peer *e, int operand)
{
    static const dnnl_query_t queries[KS_N_DIRECTIONS][N_OPERANDS] = {
        [KS_FORWARD] = { dnnl_query_src_md, dnnl_query_weights_md, dnnl_query_dst_md },
        [KS_BACKWARD_DATA] = { dnnl_query_diff_src_md, dnnl_query_weights_md,
                               dnnl_query_diff_dst_md },
        [KS_BACKWARD_WEIGHT] = { dnnl_query_src_md, dnnl_query_diff_weights_md,
                                 dnnl_query_diff_dst_md },
    };

    return dnnl_primitive_desc_query_md(e->desc, queries[e->direction][operand], 0);
}

static int reorder(struct peer *e, dnnl_memory_t from, dnnl_memory_t to, struct ks_err *err)
{
    const dnnl_memory_desc_t *from_desc, *to_desc;
    dnnl_primitive_desc_t desc;
    dnnl_primitive_t primitive;
    dnnl_exec_arg_t args[] = { { DNNL_ARG_FROM, from }, { DNNL_ARG_TO, to } };

    CHECK(dnnl_memory_get_memory_desc(from, &from_desc));
    CHECK(dnnl_memory_get_memory_desc(to, &to_desc));
    CHECK(
        dnnl_reorder_primitive_desc_create(&desc, from_desc, e->engine, to_desc, e->engine, NULL));
    dnnl_status_t status = dnnl_primitive_create(&primitive, desc);
    dnnl_primitive_desc_destroy(desc);
    CHECK(status);
    status = dnnl_primitive_execute(primitive, e->stream, 2, args);
    dnnl_primitive_destroy(primitive);
    CHECK(status);
    CHECK(dnnl_stream_wait(e->stream));
    return 0;
}

static int fill(struct peer *e, int operand, const void *from, struct ks_err *err)
{
    void *data;

    CHECK(dnnl_memory_get_data_handle(e->plain[operand], &data));
    memcpy(data, from, dnnl_memory_desc_get_size(&e->plain_desc[operand]));
    return reorder(e, e->plain[operand], e->memory[operand], err);
}

static int make(struct peer *e, const struct ks_problem *p, const void *a, const void *b,
                struct ks_err *err)
{
    struct geometry g;
    int rc;

    read_geometry(p, &g);
    CHECK(dnnl_engine_create(&e->engine, dnnl_cpu, 0));
    CHECK(dnnl_stream_create(&e->stream, e->engine, dnnl_stream_default_flags));
    rc = describe(e, &g, err);
    if (rc < 0)
        return rc;
    CHECK(dnnl_primitive_create(&e->primitive, e->desc));
    for (int i = 0; i < N_OPERANDS; i++) {
        CHECK(dnnl_memory_create(&e->plain[i], &e->plain_desc[i], e->engine, DNNL_MEMORY_ALLOCATE));
        CHECK(
            dnnl_memory_create(&e->memory[i], wanted_order(e, i), e->engine, DNNL_MEMORY_ALLOCATE));
    }
    e->result_bytes = dnnl_memory_desc_get_size(&e->plain_desc[roles[e->direction][2]]);
    rc = fill(e, roles[e->direction][0], a, err);
    return rc < 0 ? rc : fill(e, roles[e->direction][1], b, err);
}

int peer_create(const struct ks_problem *p, const void *a, const void *b, struct peer **out,
                struct ks_err *err)
{
    struct peer *e = calloc(1, sizeof(*e));
    int rc;

    if (!e)
        return ks_fail(err, KS_ENOMEM, "no memory for a peer");
    e->direction = p->direction;
    rc = make(e, p, a, b, err);
    if (rc < 0)
        peer_destroy(e);
    else
        *out = e;
    return rc;
}

void peer_destroy(struct peer *e)
{
    if (!e)
        return;
    for (int i = 0; i < N_OPERANDS; i++) {
        dnnl_memory_destroy(e->memory[i]);
        dnnl_memory_destroy(e->plain[i]);
    }
    dnnl_primitive_destroy(e->primitive);
    dnnl_primitive_desc_destroy(e->desc);
    dnnl_stream_destroy(e->stream);
    dnnl_engine_destroy(e->engine);
    free(e);
}

const char *peer_implementation(const struct peer *e)
{
    const char *name = "?";

    dnnl_primitive_desc_query(e->desc, dnnl_query_impl_info_str, 0, &name);
    return name;
}

int peer_run(struct peer *e, struct ks_err *err)
{
    static const int names[KS_N_DIRECTIONS][N_OPERANDS] = {
        [KS_FORWARD] = { DNNL_ARG_SRC, DNNL_ARG_WEIGHTS, DNNL_ARG_DST },
        [KS_BACKWARD_DATA] = { DNNL_ARG_DIFF_SRC, DNNL_ARG_WEIGHTS, DNNL_ARG_DIFF_DST },
        [KS_BACKWARD_WEIGHT] = { DNNL_ARG_SRC, DNNL_ARG_DIFF_WEIGHTS, DNNL_ARG_DIFF_DST },
    };
    const int *name = names[e->direction];
    dnnl_exec_arg_t args[] = { { name[0], e->memory[0] },
                               { name[1], e->memory[1] },
                               { name[2], e->memory[2] } };

    CHECK(dnnl_primitive_execute(e->primitive, e->stream, N_OPERANDS, args));
    CHECK(dnnl_stream_wait(e->stream));
    return 0;
}

int peer_result(struct peer *e, void *c_out, struct ks_err *err)
{
    int operand = roles[e->direction][2];
    void *data;
    int rc = reorder(e, e->memory[operand], e->plain[operand], err);

    if (rc < 0)
        return rc;
    CHECK(dnnl_memory_get_data_handle(e->plain[operand], &data));
    memcpy(c_out, data, e->result_bytes);
    return 0;
}
