/* SPDX-License-Identifier: MIT */
/* feature_instance.c - what the traits of an instance mean: its domain, the problems that its
 * kernel's own test (kernels/host, kernels/gpu: unsupported()) refuses, and its tile. A family that
 * is not known here has the tile that its traits name, and no needs. */
#include "analysis/learn/features_impl.h"
#include "op/conv.h"
#include "op/gemm.h"

#include <math.h>
#include <string.h>

/* One instance while it is read. */
struct reading {
    const struct ks_traits *t;
    size_t i;
    struct ks_fx_instance *out;
    uint32_t n_needs;
};

static const char *text_of(const struct reading *r, const char *trait)
{
    const struct ks_trait_value *v = ks_traits_value(r->t, r->i, trait);

    return v && v->text ? v->text : "";
}

static bool is(const struct reading *r, const char *trait, const char *text)
{
    return strcmp(text_of(r, trait), text) == 0;
}

static double number_of(const struct reading *r, const char *trait, double otherwise)
{
    const struct ks_trait_value *v = ks_traits_value(r->t, r->i, trait);

    return v && !isnan(v->number) ? v->number : otherwise;
}

static int64_t whole_of(const struct reading *r, const char *trait, int64_t otherwise)
{
    return (int64_t)number_of(r, trait, (double)otherwise);
}

static void need(struct reading *r, enum ks_fx_need_kind kind, int quantity, int64_t factor,
                 int64_t value)
{
    if (r->n_needs < KS_FX_NEEDS && value > (kind == KS_FX_NEED_MULTIPLE ? 1 : -1))
        r->out->need[r->n_needs++] = (struct ks_fx_need){ (int16_t)kind, (int16_t)quantity,
                                                          (int32_t)factor, (int32_t)value };
}

/* ---- families ---- */

static int64_t lanes(const struct reading *r) /* floats in a vector */
{
    return whole_of(r, "trait_vector_bytes", 4) / 4;
}

static void need_depthwise(struct reading *r)
{
    need(r, KS_FX_NEED_EQUAL, KS_FX_C, 1, 1);
    need(r, KS_FX_NEED_EQUAL, KS_FX_F, 1, 1);
    need(r, KS_FX_NEED_LEAST, KS_FX_GROUPS, 1, whole_of(r, "trait_tile_n", 1) * lanes(r));
}

static void need_merged(struct reading *r)
{
    const int64_t merged = whole_of(r, "trait_merged_groups", 1);

    need(r, KS_FX_NEED_EQUAL, KS_FX_C, 1, merged);
    need(r, KS_FX_NEED_EQUAL, KS_FX_F, 1, merged);
    need(r, KS_FX_NEED_LEAST, KS_FX_GROUPS, 1, lanes(r) / merged * whole_of(r, "trait_tile_n", 1));
}

static void host_both(struct reading *r)
{
    if (is(r, "trait_pipeline", "direct"))
        need_depthwise(r);
    else if (is(r, "trait_pipeline", "merged"))
        need_merged(r);
}

static void host_forward(struct reading *r)
{
    const int64_t pair = is(r, "trait_multiply", "bf16dp") ? 2 : 1;
    const bool is_planar = is(r, "trait_layout", "ngchw"), is_dot = is(r, "trait_pipeline", "dot");

    host_both(r);
    if (is(r, "trait_pipeline", "direct") && whole_of(r, "trait_filter_x", 0))
        need(r, KS_FX_NEED_EQUAL, KS_CONV_X, 1, whole_of(r, "trait_filter_x", 0));
    if (is_dot || is(r, "trait_pipeline", "indirect") ||
        (is(r, "trait_pipeline", "pixels") && !is_planar))
        need(r, KS_FX_NEED_MULTIPLE, KS_FX_C, 1, is_dot ? lanes(r) * pair : pair);
    for (int axis = 0; is_dot && is_planar && axis < 3; axis++) {
        need(r, KS_FX_NEED_EQUAL, KS_CONV_DI + axis, 1, 1);
        need(r, KS_FX_NEED_EQUAL, KS_CONV_Z + axis, 1, 1);
        need(r, KS_FX_NEED_EQUAL, KS_FX_OUT_D + axis, 1, 1);
    }
}

static void host_backward_weight(struct reading *r)
{
    host_both(r);
    if (!is(r, "trait_pipeline", "outer"))
        return;
    need(r, KS_FX_NEED_LEAST, KS_FX_C, 1, whole_of(r, "trait_tile_n", 1) * lanes(r));
    need(r, KS_FX_NEED_LEAST, KS_FX_F, 1, whole_of(r, "trait_tile_m", 1));
}

static void host_gemm(struct reading *r)
{
    if (is(r, "trait_pipeline", "direct") || is(r, "trait_pipeline", "dot"))
        need(r, KS_FX_NEED_EQUAL, KS_GEMM_TRANS_B, 1, is(r, "trait_pipeline", "dot"));
    if (is(r, "trait_pipeline", "dot"))
        need(r, KS_FX_NEED_EQUAL, KS_GEMM_TRANS_A, 1, 0);
}

static void gpu_conv(struct reading *r)
{
    need(r, KS_FX_NEED_MULTIPLE, KS_FX_GROUPS, 1, whole_of(r, "trait_merged_groups", 1));
    if (text_of(r, "trait_specialization")[0] && !is(r, "trait_specialization", "default"))
        need(r, KS_FX_NEED_EQUAL, KS_FX_IS_POINTWISE, 1, 1);
    if (is(r, "trait_specialization", "filter1x1_stride1_pad0"))
        need(r, KS_FX_NEED_EQUAL, KS_FX_IS_UNIT, 1, 1);
}

/* Loads of the three operands are whole vectors of these channels. */
static void need_vectors(struct reading *r, int a, int b, int c)
{
    const int64_t merged = whole_of(r, "trait_merged_groups", 1);

    need(r, KS_FX_NEED_MULTIPLE, a, merged, whole_of(r, "trait_vector_a", 1));
    need(r, KS_FX_NEED_MULTIPLE, b, r->out->direction == KS_BACKWARD_WEIGHT ? merged : 1,
         whole_of(r, "trait_vector_b", 1));
    need(r, KS_FX_NEED_MULTIPLE, c, r->out->direction == KS_BACKWARD_WEIGHT ? 1 : merged,
         whole_of(r, "trait_vector_c", 1));
}

static void gpu_forward(struct reading *r)
{
    gpu_conv(r);
    need_vectors(r, KS_FX_C, KS_FX_C, KS_FX_F);
}

static void gpu_backward_data(struct reading *r)
{
    gpu_conv(r);
    need_vectors(r, KS_FX_F, KS_FX_C, KS_FX_C);
}

static void gpu_backward_weight(struct reading *r)
{
    gpu_conv(r);
    need_vectors(r, KS_FX_F, KS_FX_C,
                 whole_of(r, "trait_merged_groups", 1) > 1 ? KS_FX_C : KS_FX_N);
}

static void gpu_gemm(struct reading *r)
{
    const char *operands = text_of(r, "trait_operands"); /* "rcr": by rows or columns */
    const bool is_a_turned = operands[0] == 'c', is_b_turned = operands[0] && operands[1] == 'c';

    need(r, KS_FX_NEED_EQUAL, KS_GEMM_TRANS_A, 1, is_a_turned);
    need(r, KS_FX_NEED_EQUAL, KS_GEMM_TRANS_B, 1, is_b_turned);
    need(r, KS_FX_NEED_MULTIPLE, is_a_turned ? KS_FX_M : KS_FX_K, 1,
         whole_of(r, "trait_vector_a", 1));
    need(r, KS_FX_NEED_MULTIPLE, is_b_turned ? KS_FX_K : KS_FX_N, 1,
         whole_of(r, "trait_vector_b", 1));
    need(r, KS_FX_NEED_MULTIPLE, KS_FX_N, 1, whole_of(r, "trait_vector_c", 1));
}

struct family {
    const char *name;
    int32_t direction, layout; /* where the family fixes them; -1: a trait or any */
    void (*needs)(struct reading *r);
};
static const struct family families[] = {
    { "host_forward", KS_FORWARD, -1, host_forward },
    { "host_backward_data", KS_BACKWARD_DATA, -1, host_both },
    { "host_backward_weight", KS_BACKWARD_WEIGHT, -1, host_backward_weight },
    { "host_gemm", KS_FORWARD, KS_NHWGC, host_gemm },
    { "gpu_forward", KS_FORWARD, KS_NHWGC, gpu_forward },
    { "gpu_backward_data", KS_BACKWARD_DATA, KS_NHWGC, gpu_backward_data },
    { "gpu_backward_weight", KS_BACKWARD_WEIGHT, KS_NHWGC, gpu_backward_weight },
    { "gpu_gemm", KS_FORWARD, KS_NHWGC, gpu_gemm },
};

static const struct family *family_of(const char *name)
{
    for (size_t i = 0; i < sizeof(families) / sizeof(families[0]); i++)
        if (strcmp(families[i].name, name) == 0)
            return &families[i];
    return NULL;
}

/* ---- domain and tile ---- */

static void set_domain(struct reading *r, const struct family *f, uint32_t op)
{
    struct ks_fx_instance *x = r->out;

    x->op = (int32_t)op;
    x->direction = ks_direction_from(text_of(r, "trait_direction"));
    x->dtype = ks_dtype_from(text_of(r, "trait_dtype"));
    x->layout = ks_layout_from(text_of(r, "trait_layout"));
    x->ndim = (int32_t)whole_of(r, "trait_ndim", 0);
    if (f && f->direction >= 0)
        x->direction = f->direction;
    if (f && f->layout >= 0)
        x->layout = f->layout;
}

/* Traits by the names that families give them; of several names the first that is there counts. */
static const struct {
    int trait;
    const char *column;
} names[] = {
    { KS_FX_TILE_M, "trait_tile_m" },    { KS_FX_TILE_N, "trait_tile_n" },
    { KS_FX_TILE_K, "trait_tile_k" },    { KS_FX_VECTOR_A, "trait_vector_a" },
    { KS_FX_VECTOR_A, "trait_vec_a" },   { KS_FX_VECTOR_B, "trait_vector_b" },
    { KS_FX_VECTOR_B, "trait_vec_b" },   { KS_FX_VECTOR_C, "trait_vector_c" },
    { KS_FX_VECTOR_C, "trait_vec_c" },   { KS_FX_MERGED, "trait_merged_groups" },
    { KS_FX_SPLIT_K, "trait_split_k" },  { KS_FX_MERGED, "trait_num_groups_to_merge" },
    { KS_FX_BUFFERS, "trait_prefetch" }, { KS_FX_BUFFERS, "trait_lds_buffers" },
    { KS_FX_LDS, "lds_bytes" },          { KS_FX_RESIDENT, "trait_block_per_cu" },
};

/* Kernels of the CPU count columns in vectors, and some have their vectors along the rows. */
static void widen_tile(struct reading *r)
{
    double *t = r->out->trait;
    const bool is_swapped = is(r, "trait_pipeline", "pixels") ||
                            is(r, "trait_pipeline", "turned") ||
                            (is(r, "trait_pipeline", "padded") && is(r, "trait_layout", "ngchw"));

    if (!ks_traits_value(r->t, r->i, "trait_vector_bytes") || isnan(t[KS_FX_TILE_N]))
        return;
    if (!is(r, "trait_pipeline", "dot"))
        t[KS_FX_TILE_N] *= (double)lanes(r);
    if (is_swapped) {
        const double m = t[KS_FX_TILE_M];

        t[KS_FX_TILE_M] = t[KS_FX_TILE_N];
        t[KS_FX_TILE_N] = m;
    }
}

void ks_feature_instance_set(const struct ks_traits *t, size_t i_instance, uint32_t op,
                             struct ks_fx_instance *out)
{
    struct reading r = { t, i_instance, out, 0 };
    const struct family *f = family_of(t->families[i_instance]);

    *out = (struct ks_fx_instance){ 0 };
    for (int k = 0; k < KS_FX_N_TRAITS; k++)
        out->trait[k] = NAN;
    for (size_t k = 0; k < sizeof(names) / sizeof(names[0]); k++)
        if (isnan(out->trait[names[k].trait]))
            out->trait[names[k].trait] = number_of(&r, names[k].column, NAN);
    widen_tile(&r);
    set_domain(&r, f, op);
    if (f)
        f->needs(&r);
}
