/* SPDX-License-Identifier: MIT */
/* conv_prove_real.c - recomputes a sample of a convolution's double reference (DESIGN V3) */
/* Direct recomputation of a sample of the double references (DESIGN V3), element by element by the
 * definition, from the last tap and channel to the first and in long double. No index arithmetic is
 * shared with the references. */
#include "op/conv_reference.h"
#include "op/sample.h"

/* An element of an image: n, group, channel, pixel. Of the weights: k, group, channel, tap. */
struct place {
    int64_t outer, g, channel, at[3];
};

struct operand {
    int64_t channels;  /* per group */
    int64_t outer, at; /* how many of the outermost; of pixels or taps: product of extents */
    const int64_t *extent;
    bool is_weights;
};

struct operands {
    struct ks_abi_problem q;
    const void *a, *b; /* input, weights; output, weights; or input, output */
    struct operand input, weights, output;
};

static int64_t offset(const struct operands *s, const struct operand *o, const struct place *p)
{
    int64_t at = (p->at[0] * o->extent[1] + p->at[1]) * o->extent[2] + p->at[2];
    int64_t outer = o->is_weights ? p->g * o->outer + p->outer : p->outer;
    int64_t groups = o->is_weights ? 1 : s->q.g, g = o->is_weights ? 0 : p->g;

    if (s->q.layout == KS_ABI_NHWGC)
        return ((outer * o->at + at) * groups + g) * o->channels + p->channel;
    return ((outer * groups + g) * o->channels + p->channel) * o->at + at;
}

static int64_t take(int64_t *rest, int64_t n)
{
    int64_t digit = *rest % n;

    *rest /= n;
    return digit;
}

/* The inverse of offset(). */
static struct place place_of(const struct operands *s, const struct operand *o, int64_t element)
{
    bool is_last = s->q.layout == KS_ABI_NHWGC;
    struct place p = { 0 };

    if (is_last) {
        p.channel = take(&element, o->channels);
        p.g = o->is_weights ? 0 : take(&element, s->q.g);
    }
    for (int axis = 2; axis >= 0; axis--)
        p.at[axis] = take(&element, o->extent[axis]);
    if (!is_last) {
        p.channel = take(&element, o->channels);
        p.g = o->is_weights ? 0 : take(&element, s->q.g);
    }
    p.outer = take(&element, o->outer);
    p.g += element; /* of the weights: outermost */
    return p;
}

/* Elements from one channel, or one column, to the next. */
static int64_t next_channel(const struct operands *s, const struct operand *o)
{
    return s->q.layout == KS_ABI_NHWGC ? 1 : o->at;
}

static int64_t next_column(const struct operands *s, const struct operand *o)
{
    return s->q.layout == KS_ABI_NHWGC ? s->q.g * o->channels : 1;
}

static bool tap_at(const struct ks_abi_problem *q, int64_t i, int64_t tap_out[3])
{
    if (i < 0)
        return false;
    tap_out[0] = i / q->filter[2] / q->filter[1];
    tap_out[1] = i / q->filter[2] % q->filter[1];
    tap_out[2] = i % q->filter[2];
    return true;
}

static void sum_forward(const struct operands *s, const struct place *to, struct ks_sample *sums)
{
    const struct ks_abi_problem *q = &s->q;
    struct place in = { .outer = to->outer, .g = to->g };
    struct place w = { .outer = to->channel, .g = to->g };
    struct ks_sample_run run = { .a = s->a,
                                 .b = s->b,
                                 .step_a = next_channel(s, &s->input),
                                 .step_b = next_channel(s, &s->weights),
                                 .n = q->c,
                                 .dtype = q->dtype };

    for (int64_t i = s->weights.at - 1; tap_at(q, i, w.at); i--) {
        bool is_inside = true;

        for (int x = 0; x < 3; x++) {
            in.at[x] = to->at[x] * q->stride[x] + w.at[x] * q->dilation[x] - q->pad_lo[x];
            is_inside = is_inside && in.at[x] >= 0 && in.at[x] < q->in[x];
        }
        if (is_inside) {
            run.at_a = offset(s, &s->input, &in);
            run.at_b = offset(s, &s->weights, &w);
            ks_sample_add(sums, &run);
        }
    }
}

static void sum_backward_data(const struct operands *s, const struct place *to,
                              struct ks_sample *sums)
{
    const struct ks_abi_problem *q = &s->q;
    struct place out = { .outer = to->outer, .g = to->g };
    struct place w = { .g = to->g, .channel = to->channel };
    struct ks_sample_run run = { .a = s->a,
                                 .b = s->b,
                                 .step_a = next_channel(s, &s->output),
                                 .step_b = s->weights.at * q->c,
                                 .n = q->k,
                                 .dtype = q->dtype };

    for (int64_t i = s->weights.at - 1; tap_at(q, i, w.at); i--) {
        bool is_there = true;

        for (int x = 0; x < 3; x++) {
            int64_t start = to->at[x] + q->pad_lo[x] - w.at[x] * q->dilation[x];

            out.at[x] = start / q->stride[x];
            is_there = is_there && start >= 0 && start % q->stride[x] == 0 && out.at[x] < q->out[x];
        }
        if (is_there) {
            run.at_a = offset(s, &s->output, &out);
            run.at_b = offset(s, &s->weights, &w);
            ks_sample_add(sums, &run);
        }
    }
}

/* One line of outputs, from column 0 of out. */
static void sum_line(const struct operands *s, const struct place *to, struct place out,
                     struct ks_sample *sums)
{
    const struct ks_abi_problem *q = &s->q;
    struct place in = { .outer = out.outer, .g = to->g, .channel = to->channel };
    struct ks_sample_run run = { .a = s->a,
                                 .b = s->b,
                                 .step_a = q->stride[2] * next_column(s, &s->input),
                                 .step_b = next_column(s, &s->output),
                                 .dtype = q->dtype };
    int64_t shift = to->at[2] * q->dilation[2] - q->pad_lo[2], last = q->out[2];

    for (int x = 0; x < 2; x++) {
        in.at[x] = out.at[x] * q->stride[x] + to->at[x] * q->dilation[x] - q->pad_lo[x];
        if (in.at[x] < 0 || in.at[x] >= q->in[x])
            return;
    }
    while (out.at[2] < last && out.at[2] * q->stride[2] + shift < 0)
        out.at[2]++;
    while (last > out.at[2] && (last - 1) * q->stride[2] + shift >= q->in[2])
        last--;
    in.at[2] = out.at[2] * q->stride[2] + shift;
    run.at_a = offset(s, &s->input, &in);
    run.at_b = offset(s, &s->output, &out);
    run.n = last - out.at[2];
    ks_sample_add(sums, &run);
}

static void sum_backward_weight(const struct operands *s, const struct place *to,
                                struct ks_sample *sums)
{
    const struct ks_abi_problem *q = &s->q;

    for (int64_t i = q->n * q->out[0] * q->out[1] - 1; i >= 0; i--) {
        struct place out = { .outer = i / q->out[1] / q->out[0],
                             .g = to->g,
                             .channel = to->outer,
                             .at = { i / q->out[1] % q->out[0], i % q->out[1], 0 } };

        sum_line(s, to, out, sums);
    }
}

static void sum_directly(const void *ctx, int64_t element, struct ks_sample *out)
{
    const struct operands *s = ctx;
    struct place to;

    if (s->q.direction == KS_ABI_FORWARD) {
        to = place_of(s, &s->output, element);
        sum_forward(s, &to, out);
    } else if (s->q.direction == KS_ABI_BACKWARD_DATA) {
        to = place_of(s, &s->input, element);
        sum_backward_data(s, &to, out);
    } else {
        to = place_of(s, &s->weights, element);
        sum_backward_weight(s, &to, out);
    }
}

static void operands_init(struct operands *s, const struct ks_problem *p, const void *a,
                          const void *b)
{
    const struct ks_abi_problem *q = &s->q;

    ks_operators[p->op]->to_abi(p, &s->q);
    s->a = a;
    s->b = b;
    s->input = (struct operand){
        .channels = q->c, .outer = q->n, .at = q->in[0] * q->in[1] * q->in[2], .extent = q->in
    };
    s->weights = (struct operand){ .channels = q->c,
                                   .outer = q->k,
                                   .at = q->filter[0] * q->filter[1] * q->filter[2],
                                   .extent = q->filter,
                                   .is_weights = true };
    s->output = (struct operand){
        .channels = q->k, .outer = q->n, .at = q->out[0] * q->out[1] * q->out[2], .extent = q->out
    };
}

int ks_conv_prove_real(const struct ks_problem *p, const void *a, const void *b, const double *r,
                       const double *abs, uint64_t seed, int n_sample, struct ks_err *err)
{
    struct operands s;

    operands_init(&s, p, a, b);
    return ks_sample_compare(p, r, abs, seed, n_sample, sum_directly, &s, err);
}
