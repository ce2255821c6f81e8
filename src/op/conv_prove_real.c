/* SPDX-License-Identifier: MIT */
/* Direct recomputation of a sample of the double references (DESIGN V3), element by element by the
 * definition, from the last tap and channel to the first and in long double. No index arithmetic is
 * shared with the references. */
#include "op/conv_reference.h"

#include "base/hash.h"

#include <inttypes.h>
#include <math.h>

/* An element of an image: n, group, channel, pixel. Of the weights: k, group, channel, tap. */
struct place {
    int64_t outer, g, channel, at[3];
};

struct operand {
    const void *base;
    int64_t channels;  /* per group */
    int64_t outer, at; /* how many of the outermost; of pixels or taps: product of extents */
    const int64_t *extent;
    bool is_weights;
};

struct sample {
    struct ks_abi_problem q;
    struct operand input, weights, output;
    long double r, abs;
};

static int64_t offset(const struct sample *s, const struct operand *o, const struct place *p)
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
static struct place place_of(const struct sample *s, const struct operand *o, int64_t element)
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

static double get(const struct sample *s, const struct operand *o, int64_t i)
{
    if (s->q.dtype == KS_ABI_FP32)
        return ((const float *)o->base)[i];
    return ks_element_get(o->base, i, s->q.dtype);
}

/* Products of n elements of a and b that lie steps apart, the last one first. */
static void add_products(struct sample *s, const struct operand *a, int64_t at_a, int64_t step_a,
                         const struct operand *b, int64_t at_b, int64_t step_b, int64_t n)
{
    for (int64_t i = n - 1; i >= 0; i--) {
        long double product =
            (long double)get(s, a, at_a + i * step_a) * (long double)get(s, b, at_b + i * step_b);

        s->r += product;
        s->abs += fabsl(product);
    }
}

/* Elements from one channel, or one column, to the next. */
static int64_t next_channel(const struct sample *s, const struct operand *o)
{
    return s->q.layout == KS_ABI_NHWGC ? 1 : o->at;
}

static int64_t next_column(const struct sample *s, const struct operand *o)
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

static void sum_forward(struct sample *s, const struct place *to)
{
    const struct ks_abi_problem *q = &s->q;
    struct place in = { .outer = to->outer, .g = to->g };
    struct place w = { .outer = to->channel, .g = to->g };

    for (int64_t i = s->weights.at - 1; tap_at(q, i, w.at); i--) {
        bool is_inside = true;

        for (int x = 0; x < 3; x++) {
            in.at[x] = to->at[x] * q->stride[x] + w.at[x] * q->dilation[x] - q->pad_lo[x];
            is_inside = is_inside && in.at[x] >= 0 && in.at[x] < q->in[x];
        }
        if (is_inside)
            add_products(s, &s->input, offset(s, &s->input, &in), next_channel(s, &s->input),
                         &s->weights, offset(s, &s->weights, &w), next_channel(s, &s->weights),
                         q->c);
    }
}

static void sum_backward_data(struct sample *s, const struct place *to)
{
    const struct ks_abi_problem *q = &s->q;
    struct place out = { .outer = to->outer, .g = to->g };
    struct place w = { .g = to->g, .channel = to->channel };

    for (int64_t i = s->weights.at - 1; tap_at(q, i, w.at); i--) {
        bool is_there = true;

        for (int x = 0; x < 3; x++) {
            int64_t start = to->at[x] + q->pad_lo[x] - w.at[x] * q->dilation[x];

            out.at[x] = start / q->stride[x];
            is_there = is_there && start >= 0 && start % q->stride[x] == 0 && out.at[x] < q->out[x];
        }
        if (is_there)
            add_products(s, &s->output, offset(s, &s->output, &out), next_channel(s, &s->output),
                         &s->weights, offset(s, &s->weights, &w), s->weights.at * q->c, q->k);
    }
}

/* One line of outputs, from column 0 of out. */
static void sum_line(struct sample *s, const struct place *to, struct place out)
{
    const struct ks_abi_problem *q = &s->q;
    struct place in = { .outer = out.outer, .g = to->g, .channel = to->channel };
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
    add_products(s, &s->input, offset(s, &s->input, &in), q->stride[2] * next_column(s, &s->input),
                 &s->output, offset(s, &s->output, &out), next_column(s, &s->output),
                 last - out.at[2]);
}

static void sum_backward_weight(struct sample *s, const struct place *to)
{
    const struct ks_abi_problem *q = &s->q;

    for (int64_t i = q->n * q->out[0] * q->out[1] - 1; i >= 0; i--) {
        struct place out = { .outer = i / q->out[1] / q->out[0],
                             .g = to->g,
                             .channel = to->outer,
                             .at = { i / q->out[1] % q->out[0], i % q->out[1], 0 } };

        sum_line(s, to, out);
    }
}

static void sum_directly(struct sample *s, int64_t element)
{
    struct place to;

    s->r = s->abs = 0;
    if (s->q.direction == KS_ABI_FORWARD) {
        to = place_of(s, &s->output, element);
        sum_forward(s, &to);
    } else if (s->q.direction == KS_ABI_BACKWARD_DATA) {
        to = place_of(s, &s->input, element);
        sum_backward_data(s, &to);
    } else {
        to = place_of(s, &s->weights, element);
        sum_backward_weight(s, &to);
    }
}

static int compare(const char *what, int64_t element, double got, long double want,
                   long double tolerance, struct ks_err *err)
{
    if (fabsl(got - want) <= tolerance)
        return 0;
    return ks_fail(err, KS_EDEVICE,
                   "the reference's %s[%" PRId64 "] is %.17g, directly summed %.17Lg, tolerance "
                   "%.3Lg",
                   what, element, got, want, tolerance);
}

static void sample_init(struct sample *s, const struct ks_problem *p, const void *a, const void *b)
{
    const struct ks_abi_problem *q = &s->q;
    uint32_t direction = p->direction;

    ks_operators[p->op]->to_abi(p, &s->q);
    s->input = (struct operand){ .base = direction == KS_BACKWARD_DATA ? NULL : a,
                                 .channels = q->c,
                                 .outer = q->n,
                                 .at = q->in[0] * q->in[1] * q->in[2],
                                 .extent = q->in };
    s->weights = (struct operand){ .base = direction == KS_BACKWARD_WEIGHT ? NULL : b,
                                   .channels = q->c,
                                   .outer = q->k,
                                   .at = q->filter[0] * q->filter[1] * q->filter[2],
                                   .extent = q->filter,
                                   .is_weights = true };
    s->output = (struct operand){ .base = direction == KS_BACKWARD_DATA ? a : b,
                                  .channels = q->k,
                                  .outer = q->n,
                                  .at = q->out[0] * q->out[1] * q->out[2],
                                  .extent = q->out };
}

int ks_conv_prove_real(const struct ks_problem *p, const void *a, const void *b, const double *r,
                       const double *abs, uint64_t seed, int n_sample, struct ks_err *err)
{
    struct ks_extents e = ks_operators[p->op]->extents(p);
    /* Sums of L exact products: relative to sum |x||w| at most L u / (1 - L u), u = 2^-53 (Higham,
     * Accuracy and Stability, 4.2); L < 2^40, and long double adds less than the rest. */
    long double bound = 1.001L * 0x1p-53L * (long double)ks_operators[p->op]->reduction(p);
    struct sample s;
    int rc = 0;

    sample_init(&s, p, a, b);
    for (int i = 0; rc == 0 && i < n_sample; i++) {
        int64_t element = (int64_t)ks_rng_below(&seed, (uint64_t)e.c);

        sum_directly(&s, element);
        rc = compare("R", element, r[element], s.r, bound * s.abs, err);
        if (rc == 0 && abs)
            rc = compare("A", element, abs[element], s.abs, bound * s.abs, err);
    }
    return rc;
}
