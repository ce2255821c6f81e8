/* SPDX-License-Identifier: MIT */
/* judge_sums.h - host half of the judge's references: what is added to what, and in which order. */
#ifndef KS_GPU_JUDGE_SUMS_H
#define KS_GPU_JUDGE_SUMS_H

#include "host.h"
#include "judge_args.h"

/* So many threads fill a GPU; where there are fewer elements, lanes share a sum. */
#define KS_JUDGE_THREADS (INT64_C(1) << 18)

/* --- The problem */

KS_HOST int64_t ks_judge_outputs(const struct ks_abi_problem *p)
{
    if (p->op == KS_ABI_GEMM)
        return p->n * p->out[1] * p->k;
    if (p->direction == KS_ABI_FORWARD)
        return p->n * p->g * p->k * ks_volume(p->out);
    if (p->direction == KS_ABI_BACKWARD_DATA)
        return p->n * p->g * p->c * ks_volume(p->in);
    return p->g * p->k * p->c * ks_volume(p->filter);
}

/* Products of an element, at most. */
KS_HOST int64_t ks_judge_reduction(const struct ks_abi_problem *p)
{
    if (p->op == KS_ABI_GEMM)
        return p->c;
    if (p->direction == KS_ABI_BACKWARD_WEIGHT)
        return p->n * ks_volume(p->out);
    return ks_volume(p->filter) * (p->direction == KS_ABI_FORWARD ? p->c : p->k);
}

/* --- Where elements lie */

struct ks_judge_strides {
    long outer; /* from one image to the next; of the weights from one output channel */
    long axis[3], g, c;
};

KS_HOST struct ks_judge_strides ks_judge_image(const struct ks_abi_problem *p, int64_t channels,
                                               const int64_t extent[3])
{
    const int is_last = p->layout == KS_ABI_NHWGC;
    struct ks_judge_strides s = { .c = is_last ? 1 : (long)ks_volume(extent) };
    s.g = channels * s.c;
    s.axis[2] = is_last ? (long)(p->g * channels) : 1;
    s.axis[1] = s.axis[2] * extent[2];
    s.axis[0] = s.axis[1] * extent[1];
    s.outer = p->g * channels * ks_volume(extent);
    return s;
}

KS_HOST struct ks_judge_strides ks_judge_weights(const struct ks_abi_problem *p)
{
    const int is_last = p->layout == KS_ABI_NHWGC;
    struct ks_judge_strides s = { .c = is_last ? 1 : (long)ks_volume(p->filter) };
    s.axis[2] = is_last ? (long)p->c : 1;
    s.axis[1] = s.axis[2] * p->filter[2];
    s.axis[0] = s.axis[1] * p->filter[1];
    s.outer = p->c * ks_volume(p->filter);
    s.g = p->k * s.outer;
    return s;
}

/* The output's digits: the first n_lead of `inner`, then x, y, z, then the others of `inner`. */
KS_HOST void ks_judge_digits(struct ks_judge_sums *s, const struct ks_judge_digit inner[3],
                             int n_lead, const int64_t extent[3])
{
    for (int i = 0; i < KS_JUDGE_DIGITS; i++)
        s->digit[i].extent = 1;
    for (int i = 0; i < 3; i++) {
        s->digit[i < n_lead ? i : KS_JUDGE_X + 3 + i - n_lead] = inner[i];
        s->digit[KS_JUDGE_X + i].extent = (int)extent[2 - i];
    }
}

KS_HOST void ks_judge_forward(const struct ks_abi_problem *p, struct ks_judge_sums *s)
{
    const struct ks_judge_strides in = ks_judge_image(p, p->c, p->in), w = ks_judge_weights(p);
    const struct ks_judge_digit inner[3] = { { 0, w.outer, (int)p->k },
                                             { in.g, w.g, (int)p->g },
                                             { in.outer, 0, (int)p->n } };
    ks_judge_digits(s, inner, p->layout == KS_ABI_NHWGC ? 2 : 0, p->out);
    for (int i = 0; i < 3; i++) {
        struct ks_judge_axis *const x = &s->axis[2 - i];
        x->by_to = (int)p->stride[i];
        x->by_step = (int)p->dilation[i];
        x->offset = (int)-p->pad_lo[i];
        x->divisor = 1;
        x->limit = (int)p->in[i];
        x->extent = (int)p->filter[i];
        x->a = in.axis[i];
        x->b = w.axis[i];
    }
    s->run = (int)p->c;
    s->run_a = in.c;
    s->run_b = w.c;
}

KS_HOST void ks_judge_backward_data(const struct ks_abi_problem *p, struct ks_judge_sums *s)
{
    const struct ks_judge_strides out = ks_judge_image(p, p->k, p->out), w = ks_judge_weights(p);
    const struct ks_judge_digit inner[3] = { { 0, w.c, (int)p->c },
                                             { out.g, w.g, (int)p->g },
                                             { out.outer, 0, (int)p->n } };
    ks_judge_digits(s, inner, p->layout == KS_ABI_NHWGC ? 2 : 0, p->in);
    for (int i = 0; i < 3; i++) {
        struct ks_judge_axis *const x = &s->axis[2 - i];
        x->by_to = 1;
        x->by_step = (int)-p->dilation[i];
        x->offset = (int)p->pad_lo[i];
        x->divisor = (int)p->stride[i];
        x->limit = (int)p->out[i];
        x->extent = (int)p->filter[i];
        x->a = out.axis[i];
        x->b = w.axis[i];
    }
    s->run = (int)p->k;
    s->run_a = out.c;
    s->run_b = w.outer;
}

KS_HOST void ks_judge_backward_weight(const struct ks_abi_problem *p, struct ks_judge_sums *s)
{
    const struct ks_judge_strides in = ks_judge_image(p, p->c, p->in),
                                  out = ks_judge_image(p, p->k, p->out);
    const struct ks_judge_digit inner[3] = { { in.c, 0, (int)p->c },
                                             { 0, out.c, (int)p->k },
                                             { in.g, out.g, (int)p->g } };
    ks_judge_digits(s, inner, p->layout == KS_ABI_NHWGC ? 1 : 0, p->filter);
    for (int i = 0; i < 3; i++) {
        struct ks_judge_axis *const x = &s->axis[2 - i];
        x->by_to = (int)p->dilation[i];
        x->by_step = (int)p->stride[i];
        x->offset = (int)-p->pad_lo[i];
        x->divisor = 1;
        x->limit = (int)p->in[i];
        x->extent = i == 2 ? 1 : (int)p->out[i];
        x->a = in.axis[i];
        x->b = out.axis[i];
    }
    s->image_a = in.outer;
    s->image_b = out.outer;
    s->is_row = 1;
    s->row_step = (int)p->stride[2];
    s->run = (int)p->out[2];
    s->run_a = p->stride[2] * in.axis[2];
    s->run_b = out.axis[2];
}

KS_HOST void ks_judge_gemm(const struct ks_abi_problem *p, struct ks_judge_sums *s)
{
    static const int64_t none[3] = { 1, 1, 1 };
    const int is_a_turned = (p->flags & KS_ABI_TRANS_A) != 0;
    const int is_b_turned = (p->flags & KS_ABI_TRANS_B) != 0;
    const int64_t rows = p->out[1];
    const struct ks_judge_digit inner[3] = { { 0, is_b_turned ? p->c : 1, (int)p->k },
                                             { is_a_turned ? 1 : p->c, 0, (int)rows },
                                             { rows * p->c, p->c * p->k, (int)p->n } };
    ks_judge_digits(s, inner, 2, none);
    for (int i = 0; i < 3; i++)
        s->axis[i] = (struct ks_judge_axis){ .divisor = 1, .limit = 1, .extent = 1 };
    s->run = (int)p->c;
    s->run_a = is_a_turned ? rows : 1;
    s->run_b = is_b_turned ? 1 : p->k;
}

/* --- Sums */

/* As many lanes for an element as it takes to fill a GPU, where the sum has that many runs. */
KS_HOST int ks_judge_lanes(const struct ks_judge_sums *s)
{
    int lanes = 1;
    while (lanes < KS_JUDGE_BLOCK && s->n * lanes < KS_JUDGE_THREADS && 2 * lanes <= s->n_runs)
        lanes *= 2;
    return lanes;
}

KS_HOST struct ks_judge_sums ks_judge_sums_of(const struct ks_abi_problem *p)
{
    struct ks_judge_sums s = { .n = ks_judge_outputs(p) };
    if (p->op == KS_ABI_GEMM)
        ks_judge_gemm(p, &s);
    else if (p->direction == KS_ABI_FORWARD)
        ks_judge_forward(p, &s);
    else if (p->direction == KS_ABI_BACKWARD_DATA)
        ks_judge_backward_data(p, &s);
    else
        ks_judge_backward_weight(p, &s);
    s.n_parts = (int)ks_up(s.run, KS_JUDGE_RUN);
    s.n_runs = s.n_parts * (s.is_row ? (int)p->n : 1);
    for (int i = 0; i < 3; i++) {
        s.n_runs *= s.axis[i].extent;
        s.axis[i].by_extent = ks_magic(s.axis[i].extent);
        s.axis[i].by_divisor = ks_magic(s.axis[i].divisor);
    }
    s.by_parts = ks_magic(s.n_parts);
    s.by_row_step = ks_magic(s.is_row ? s.row_step : 1);
    s.lanes = ks_judge_lanes(&s);
    while (s.lanes << s.log2_outputs < KS_JUDGE_BLOCK)
        s.log2_outputs++;
    return s;
}

#endif
