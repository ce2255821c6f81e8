/* SPDX-License-Identifier: MIT */
/* ck_arguments.c - ckProfiler's arguments for a problem, as numbers and as a config array */
/* Sources: ROCm/composable_kernel profiler/src/profile_grouped_conv_{fwd,bwd_data,bwd_weight}.cpp
 * (order and enums by generation), the scripts convert_pytorch_to_ck.py and run_ck_profiler.py
 * (names of the config array). */
#include "profiler/ck_arguments.h"

#include "op/conv.h"

#include <inttypes.h>
#include <string.h>

const char *const ks_ck_version_names[] = { "2024", "2025", "2026", NULL };
const char *const ks_ck_compat_names[] = { "none", "readme", "code", NULL };

const char *const ks_ck_operations[] = {
    [KS_FORWARD] = "grouped_conv_fwd",
    [KS_BACKWARD_DATA] = "grouped_conv_bwd_data",
    [KS_BACKWARD_WEIGHT] = "grouped_conv_bwd_weight",
    [KS_N_DIRECTIONS] = NULL,
};
static const char *const titles[KS_N_DIRECTIONS] = {
    [KS_FORWARD] = "Forward conv",
    [KS_BACKWARD_DATA] = "Backward data",
    [KS_BACKWARD_WEIGHT] = "Backward weight",
};

static const int64_t data_types[KS_N_DIRECTIONS][KS_N_DTYPES] = {
    [KS_FORWARD] = { [KS_FP32] = 0, [KS_FP16] = 1, [KS_BF16] = 2 },
    [KS_BACKWARD_DATA] = { [KS_FP32] = 0, [KS_FP16] = 1, [KS_BF16] = 2 },
    [KS_BACKWARD_WEIGHT] = { [KS_FP32] = 0, [KS_FP16] = 1, [KS_BF16] = 5 },
};
static const int64_t layouts[KS_N_DIRECTIONS][KS_N_LAYOUTS] = {
    [KS_FORWARD] = { [KS_NHWGC] = 1, [KS_NGCHW] = 3 },
    [KS_BACKWARD_DATA] = { [KS_NHWGC] = 1, [KS_NGCHW] = 3 },
    [KS_BACKWARD_WEIGHT] = { [KS_NHWGC] = 2, [KS_NGCHW] = 4 },
};
/* The converter's, whatever the problem says. */
enum { COMPAT_DATA_TYPE = 1, COMPAT_LAYOUT = 3 };

const char *ks_ck_operation(const struct ks_problem *p)
{
    return ks_operators[p->op] == &ks_operator_grouped_conv ? ks_ck_operations[p->direction] : NULL;
}

/* 32-bit offsets reach 2^31 - 1 elements. */
static bool needs_long_index(const struct ks_problem *p)
{
    struct ks_extents e = ks_operators[p->op]->extents(p);

    return e.a > INT32_MAX || e.b > INT32_MAX || e.c > INT32_MAX;
}

static int64_t index_type(const struct ks_ck_options *o, const struct ks_problem *p)
{
    if (p->direction != KS_FORWARD)
        return -1;
    if (o->compat != KS_CK_TRUE)
        return o->compat == KS_CK_CODE;
    return needs_long_index(p);
}

static void set_split_k(const struct ks_ck_options *o, uint32_t direction,
                        struct ks_ck_arguments *a)
{
    a->has_split_k =
        direction == KS_BACKWARD_WEIGHT ||
        (direction == KS_BACKWARD_DATA && (o->version != KS_CK_2024 || o->compat != KS_CK_TRUE));
    a->split_k = o->split_k;
    /* bwd_data reads a number: 0 tries 1 to 128, the word ends the program. */
    if (direction == KS_BACKWARD_DATA && o->split_k == KS_CK_SPLIT_K_ALL && o->compat == KS_CK_TRUE)
        a->split_k = 0;
}

static void set_spatial(const struct ks_problem *p, struct ks_ck_arguments *a)
{
    static const int firsts[6] = { KS_CONV_Z,          KS_CONV_DI,       KS_CONV_STRIDE_D,
                                   KS_CONV_DILATION_D, KS_CONV_PAD_D_LO, KS_CONV_PAD_D_HI };
    int n = (int)p->dim[KS_CONV_NDIM];

    a->n_spatial = n;
    for (int t = 0; t < 6; t++)
        for (int i = 0; i < n; i++)
            a->spatial[t][i] = p->dim[firsts[t] + 3 - n + i];
}

int ks_ck_arguments_of(const struct ks_ck_options *o, const struct ks_problem *p,
                       struct ks_ck_arguments *out, struct ks_err *err)
{
    struct ks_ck_arguments a = { .operation = ks_ck_operation(p), .time = 1 };
    const int64_t *d = p->dim;

    if (!a.operation)
        return ks_fail(err, KS_EUNSUPPORTED, "ckProfiler is only used for grouped convolutions");
    if (o->version == KS_CK_2024 && o->compat == KS_CK_TRUE && p->direction == KS_BACKWARD_DATA &&
        p->layout == KS_NGCHW)
        return ks_fail(err, KS_EUNSUPPORTED,
                       "ckProfiler of 2024 has no backward data with layout ngchw");
    if (o->version == KS_CK_2024 && p->direction == KS_BACKWARD_DATA &&
        o->split_k != KS_CK_SPLIT_K_ALL && o->split_k > 1)
        return ks_fail(err, KS_EUNSUPPORTED, "ckProfiler of 2024 has no split-k in backward data");
    a.data_type =
        o->compat == KS_CK_TRUE ? data_types[p->direction][p->dtype] : (int64_t)COMPAT_DATA_TYPE;
    a.layout = o->compat == KS_CK_TRUE ? layouts[p->direction][p->layout] : (int64_t)COMPAT_LAYOUT;
    a.index_type = index_type(o, p);
    a.verify = o->verify;
    a.init = o->init;
    a.g = d[KS_CONV_G];
    a.n = d[KS_CONV_N];
    a.k = d[KS_CONV_K_TOTAL] / a.g;
    a.c = d[KS_CONV_C_TOTAL] / a.g;
    set_spatial(p, &a);
    set_split_k(o, p->direction, &a);
    *out = a;
    return 0;
}

/* ---- the config array ---- */

static void put_list(struct ks_buf *out, const int64_t *v, int64_t n)
{
    for (int64_t i = 0; i < n; i++)
        ks_buf_printf(out, "%s%" PRId64, i ? ", " : "[", v[i]);
    ks_buf_u8(out, ']');
}

void ks_ck_description(const struct ks_ck_arguments *a, struct ks_buf *out)
{
    const char *title = "";

    for (int i = 0; i < KS_N_DIRECTIONS; i++)
        if (strcmp(ks_ck_operations[i], a->operation) == 0)
            title = titles[i];
    ks_buf_printf(out, "%s: G=%" PRId64 ", N=%" PRId64 ", K=%" PRId64 ", C=%" PRId64 ", ", title,
                  a->g, a->n, a->k, a->c);
    put_list(out, a->spatial[0], a->n_spatial);
    ks_buf_printf(out, " kernel, ");
    put_list(out, a->spatial[1], a->n_spatial);
    ks_buf_printf(out, " input");
}

static void put_arguments(const struct ks_ck_arguments *a, struct ks_jw *w)
{
    static const char *const names[] = { "filter_spatial", "input_spatial", "strides",
                                         "dilations",      "left_pads",     "right_pads" };

    ks_jw_open(w, "profiler_args", '{');
    ks_jw_int(w, "data_type", a->data_type);
    ks_jw_int(w, "layout", a->layout);
    if (a->index_type >= 0)
        ks_jw_int(w, "index_type", a->index_type);
    ks_jw_int(w, "verify", a->verify);
    ks_jw_int(w, "init", a->init);
    ks_jw_int(w, "log", a->log);
    ks_jw_int(w, "time", a->time);
    ks_jw_int(w, "num_dim_spatial", a->n_spatial);
    ks_jw_int(w, "G", a->g);
    ks_jw_int(w, "N", a->n);
    ks_jw_int(w, "K", a->k);
    ks_jw_int(w, "C", a->c);
    for (int t = 0; t < 6; t++) {
        ks_jw_open(w, names[t], '[');
        for (int64_t i = 0; i < a->n_spatial; i++)
            ks_jw_int(w, NULL, a->spatial[t][i]);
        ks_jw_close(w, ']');
    }
    if (a->has_split_k && a->split_k == KS_CK_SPLIT_K_ALL)
        ks_jw_str(w, "split_k", "all");
    else if (a->has_split_k)
        ks_jw_int(w, "split_k", a->split_k);
    ks_jw_close(w, '}');
}

void ks_ck_config_put(const struct ks_ck_options *o, const struct ks_ck_arguments *a,
                      const struct ks_ck_metadata *m, struct ks_jw *w)
{
    struct ks_buf text;

    ks_buf_init(&text);
    ks_buf_printf(&text, "%s%s", o->compat == KS_CK_README ? "profile_" : "", a->operation);
    ks_jw_open(w, NULL, '{');
    ks_jw_str(w, "operation_type", ks_buf_text(&text));
    put_arguments(a, w);
    ks_jw_open(w, "metadata", '{');
    if (m->priority_rank > 0)
        ks_jw_int(w, "priority_rank", m->priority_rank);
    if (m->pytorch_op[0])
        ks_jw_str(w, "pytorch_op", m->pytorch_op);
    ks_buf_clear(&text);
    ks_ck_description(a, &text);
    ks_jw_str(w, "description", ks_buf_text(&text));
    if (m->count > 0 && o->compat == KS_CK_TRUE)
        ks_jw_int(w, "count", m->count);
    ks_jw_close(w, '}');
    ks_jw_close(w, '}');
    ks_buf_release(&text);
}
