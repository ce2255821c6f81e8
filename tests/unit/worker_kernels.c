/* SPDX-License-Identifier: MIT */
/* worker_kernels.c - a good kernel and many bad ones, for test_worker.c; compiled by it into one
 * shared object. Forward fp32 NHWGC, 2-D, no dilation; `ways` does every problem in fp32. */
#include "kernels/abi.h"

#include <fcntl.h>
#include <fenv.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const char *any(const struct ks_abi_problem *p)
{
    return p->dtype == KS_ABI_FP32 ? NULL : "fp32 only";
}

static const char *never(const struct ks_abi_problem *p)
{
    (void)p;
    return "needs a blue moon";
}

static int64_t no_workspace(const struct ks_abi_problem *p)
{
    (void)p;
    return 0;
}

static int64_t some_workspace(const struct ks_abi_problem *p)
{
    (void)p;
    return 100;
}

static int64_t huge_workspace(const struct ks_abi_problem *p)
{
    (void)p;
    return (int64_t)1 << 60;
}

static int64_t negative_workspace(const struct ks_abi_problem *p)
{
    (void)p;
    return -1;
}

static int64_t n_out(const struct ks_abi_problem *p)
{
    return p->n * p->out[0] * p->out[1] * p->out[2] * p->g * p->k;
}

static float tap_sum(const struct ks_abi_problem *p, const float *x, const float *w, int64_t n,
                     int64_t h, int64_t v, int64_t g)
{
    float sum = 0.0f;

    for (int64_t y = 0; y < p->filter[1]; y++) {
        for (int64_t z = 0; z < p->filter[2]; z++) {
            int64_t ih = h * p->stride[1] - p->pad_lo[1] + y;
            int64_t iw = v * p->stride[2] - p->pad_lo[2] + z;
            const float *at = x + (((n * p->in[1] + ih) * p->in[2] + iw) * p->g + g) * p->c;
            const float *tap = w + (y * p->filter[2] + z) * p->c;

            if (ih < 0 || iw < 0 || ih >= p->in[1] || iw >= p->in[2])
                continue;
            for (int64_t c = 0; c < p->c; c++)
                sum += at[c] * tap[c];
        }
    }
    return sum;
}

static int conv(const struct ks_abi_problem *p, const struct ks_abi_buffers *b)
{
    int64_t taps = p->filter[1] * p->filter[2] * p->c;
    float *out = b->c;

    for (int64_t n = 0; n < p->n; n++)
        for (int64_t h = 0; h < p->out[1]; h++)
            for (int64_t v = 0; v < p->out[2]; v++)
                for (int64_t g = 0; g < p->g; g++)
                    for (int64_t k = 0; k < p->k; k++)
                        *out++ = tap_sum(p, b->a, (const float *)b->b + (g * p->k + k) * taps, n, h,
                                         v, g);
    return 0;
}

static float *output(const struct ks_abi_buffers *b)
{
    return b->c;
}

static int one_wrong(const struct ks_abi_problem *p, const struct ks_abi_buffers *b)
{
    conv(p, b);
    output(b)[17] += 1.0f;
    return 0;
}

/* Right on integers only: V1 passes, V2 must not. */
static int coarse(const struct ks_abi_problem *p, const struct ks_abi_buffers *b)
{
    conv(p, b);
    for (int64_t i = 0; i < n_out(p); i++)
        if (output(b)[i] != floorf(output(b)[i]))
            output(b)[i] *= 1.0f + 0x1p-12f;
    return 0;
}

/* As good as fp32 on real data, but exact data do not come out exact: Winograd and the like. */
static int inexact(const struct ks_abi_problem *p, const struct ks_abi_buffers *b)
{
    conv(p, b);
    for (int64_t i = 0; i < n_out(p); i++)
        if (output(b)[i] == floorf(output(b)[i]))
            output(b)[i] *= 1.0f + 0x1p-23f;
    return 0;
}

static float *magnitudes(const void *of, int64_t n)
{
    float *all = malloc((size_t)n * sizeof(float));

    for (int64_t i = 0; i < n; i++)
        all[i] = fabsf(((const float *)of)[i]);
    return all;
}

/* Off by twice what fp32 may be, L 2^-23 A; exact where the data are. */
static int truncating(const struct ks_abi_problem *p, const struct ks_abi_buffers *b)
{
    struct ks_abi_buffers abs = *b;
    int64_t taps = p->filter[1] * p->filter[2];
    float *a = magnitudes(b->a, p->n * p->in[1] * p->in[2] * p->g * p->c);
    float *w = magnitudes(b->b, p->g * p->k * taps * p->c);
    float *sums = malloc((size_t)n_out(p) * sizeof(float));

    abs.a = a;
    abs.b = w;
    abs.c = sums;
    conv(p, &abs);
    conv(p, b);
    for (int64_t i = 0; i < n_out(p); i++)
        if (output(b)[i] != floorf(output(b)[i]))
            output(b)[i] += (float)(taps * p->c) * 0x1p-23f * sums[i];
    free(a);
    free(w);
    free(sums);
    return 0;
}

static int unwritten(const struct ks_abi_problem *p, const struct ks_abi_buffers *b)
{
    float last = output(b)[n_out(p) - 1];

    conv(p, b);
    output(b)[n_out(p) - 1] = last;
    return 0;
}

static int accumulate(const struct ks_abi_problem *p, const struct ks_abi_buffers *b)
{
    float old = output(b)[3];

    conv(p, b);
    output(b)[3] += old;
    return 0;
}

static int write_before(const struct ks_abi_problem *p, const struct ks_abi_buffers *b)
{
    conv(p, b);
    output(b)[-1] = 0.0f;
    return 0;
}

static int write_after(const struct ks_abi_problem *p, const struct ks_abi_buffers *b)
{
    conv(p, b);
    output(b)[n_out(p)] += 1.0f;
    return 0;
}

static int write_after_workspace(const struct ks_abi_problem *p, const struct ks_abi_buffers *b)
{
    memset(b->workspace, 0, 101);
    return conv(p, b);
}

/* Writes outside and is wrong, too: the first counts. */
static int write_and_wrong(const struct ks_abi_problem *p, const struct ks_abi_buffers *b)
{
    one_wrong(p, b);
    return write_before(p, b);
}

static int read_before(const struct ks_abi_problem *p, const struct ks_abi_buffers *b)
{
    conv(p, b);
    output(b)[0] += 0.0f * ((const float *)b->a)[-1];
    return 0;
}

static int read_after(const struct ks_abi_problem *p, const struct ks_abi_buffers *b)
{
    int64_t n = p->g * p->k * p->c * p->filter[0] * p->filter[1] * p->filter[2];

    conv(p, b);
    output(b)[0] += 0.0f * ((const float *)b->b)[n];
    return 0;
}

static int write_input(const struct ks_abi_problem *p, const struct ks_abi_buffers *b)
{
    conv(p, b);
    ((float *)(uintptr_t)b->b)[5] = 0.5f;
    return 0;
}

/* Changes an input behind its last use and takes that back before the next: its own results are
 * right. */
static int spoils_quietly(const struct ks_abi_problem *p, const struct ks_abi_buffers *b)
{
    static const void *of;
    static float was;
    float *input = (float *)(uintptr_t)b->b;

    if (of == input)
        input[5] = was;
    of = input;
    was = input[5];
    conv(p, b);
    input[5] = 0.5f;
    return 0;
}

static int write_before_input(const struct ks_abi_problem *p, const struct ks_abi_buffers *b)
{
    conv(p, b);
    ((float *)(uintptr_t)b->a)[-2] = 0.5f;
    return 0;
}

static int different(const struct ks_abi_problem *p, const struct ks_abi_buffers *b)
{
    static float count;

    conv(p, b);
    output(b)[9] += count++;
    return 0;
}

static int always_different(const struct ks_abi_problem *p, const struct ks_abi_buffers *b)
{
    static float count;

    conv(p, b);
    output(b)[9] += ++count;
    return 0;
}

static int fails(const struct ks_abi_problem *p, const struct ks_abi_buffers *b)
{
    (void)p;
    (void)b;
    return -77;
}

static int writes_and_fails(const struct ks_abi_problem *p, const struct ks_abi_buffers *b)
{
    write_after(p, b);
    return -78;
}

static int rounds_down(const struct ks_abi_problem *p, const struct ks_abi_buffers *b)
{
    fesetround(FE_DOWNWARD);
    return conv(p, b);
}

/* As what a constructor of the shared object leaves: -ffast-math brings one. */
static const char *any_upward(const struct ks_abi_problem *p)
{
    fesetround(FE_UPWARD);
    return any(p);
}

static int fails_unless_nearest(const struct ks_abi_problem *p, const struct ks_abi_buffers *b)
{
    return fegetround() == FE_TONEAREST ? conv(p, b) : 5;
}

static int forks(const struct ks_abi_problem *p, const struct ks_abi_buffers *b)
{
    if (fork() == 0)
        _exit(0);
    return conv(p, b);
}

static int prints(const struct ks_abi_problem *p, const struct ks_abi_buffers *b)
{
    printf("hello from a kernel\n");
    return conv(p, b);
}

static int uses_workspace(const struct ks_abi_problem *p, const struct ks_abi_buffers *b)
{
    memset(b->workspace, 0, 100);
    return conv(p, b);
}

static int exits(const struct ks_abi_problem *p, const struct ks_abi_buffers *b)
{
    (void)p;
    (void)b;
    exit(3);
}

static int segfaults(const struct ks_abi_problem *p, const struct ks_abi_buffers *b)
{
    (void)b;
    *(volatile int *)(uintptr_t)p->n = 1;
    return 0;
}

static int loops(const struct ks_abi_problem *p, const struct ks_abi_buffers *b)
{
    (void)p;
    (void)b;
    for (;;)
        usleep(1000);
}

static int closes_all(const struct ks_abi_problem *p, const struct ks_abi_buffers *b)
{
    for (int i = 0; i < 64; i++)
        close(i);
    return conv(p, b);
}

static int closes_requests(const struct ks_abi_problem *p, const struct ks_abi_buffers *b)
{
    close(3);
    return conv(p, b);
}

/* Writes 8 bytes beyond a heap chunk, a few times: more of them would kill it. */
static int overflows_heap(const struct ks_abi_problem *p, const struct ks_abi_buffers *b)
{
    static int n_calls;
    volatile char *chunk = n_calls++ < 5 ? malloc(104) : NULL;

    for (int i = 0; chunk != NULL && i < 112; i++)
        chunk[i] = 'x';
    return conv(p, b);
}

/* Where an element lies: n_g_c of an image, at with its extent. */
static int64_t place(const struct ks_abi_problem *p, int64_t channels, const int64_t *extent,
                     const int64_t *n_g_c, const int64_t *at)
{
    int64_t pixels = extent[0] * extent[1] * extent[2];
    int64_t pixel = (at[0] * extent[1] + at[1]) * extent[2] + at[2];
    int64_t channel = n_g_c[1] * channels + n_g_c[2];

    if (p->layout == KS_ABI_NHWGC)
        return (n_g_c[0] * pixels + pixel) * p->g * channels + channel;
    return (n_g_c[0] * p->g * channels + channel) * pixels + pixel;
}

static int64_t digit(int64_t *rest, int64_t n)
{
    int64_t value = *rest % n;

    *rest /= n;
    return value;
}

/* Product i of the convolution goes where the direction wants it. */
static void add_product(const struct ks_abi_problem *p, const struct ks_abi_buffers *b, int64_t i)
{
    const float *x = b->a, *y = b->b;
    int64_t out[3], tap[3], in[3], c = digit(&i, p->c), k = digit(&i, p->k);
    int64_t filter = p->filter[0] * p->filter[1] * p->filter[2], input, weight, output_at;

    for (int axis = 2; axis >= 0; axis--) {
        out[axis] = digit(&i, p->out[axis]);
        tap[axis] = digit(&i, p->filter[axis]);
        in[axis] = out[axis] * p->stride[axis] - p->pad_lo[axis] + tap[axis] * p->dilation[axis];
        if (in[axis] < 0 || in[axis] >= p->in[axis])
            return;
    }
    {
        const int64_t g = digit(&i, p->g), from[3] = { i, g, c }, to[3] = { i, g, k };

        weight = (tap[0] * p->filter[1] + tap[1]) * p->filter[2] + tap[2];
        weight = (g * p->k + k) * p->c * filter +
                 (p->layout == KS_ABI_NHWGC ? weight * p->c + c : c * filter + weight);
        input = place(p, p->c, p->in, from, in);
        output_at = place(p, p->k, p->out, to, out);
    }
    if (p->direction == KS_ABI_FORWARD)
        output(b)[output_at] += x[input] * y[weight];
    else if (p->direction == KS_ABI_BACKWARD_DATA)
        output(b)[input] += x[output_at] * y[weight];
    else
        output(b)[weight] += x[input] * y[output_at];
}

static int gemm(const struct ks_abi_problem *p, const struct ks_abi_buffers *b)
{
    int64_t m = p->out[1], n = p->k, k = p->c;
    const float *x = b->a, *y = b->b;

    for (int64_t i = 0; i < p->n * m * n; i++) {
        int64_t batch = i / n / m, row = i / n % m, column = i % n;
        float sum = 0;

        for (int64_t l = 0; l < k; l++)
            sum += x[batch * m * k + (p->flags & KS_ABI_TRANS_A ? l * m + row : row * k + l)] *
                   y[batch * k * n + (p->flags & KS_ABI_TRANS_B ? column * k + l : l * n + column)];
        output(b)[i] = sum;
    }
    return 0;
}

static int ways(const struct ks_abi_problem *p, const struct ks_abi_buffers *b)
{
    int64_t in = p->n * p->in[0] * p->in[1] * p->in[2], out = p->n * p->out[0] * p->out[1];
    int64_t taps = p->filter[0] * p->filter[1] * p->filter[2];
    const int64_t n_c[] = { out * p->out[2] * p->g * p->k, in * p->g * p->c,
                            p->g * p->k * p->c * taps };

    if (p->op == KS_ABI_GEMM)
        return gemm(p, b);
    memset(b->c, 0, (size_t)n_c[p->direction] * sizeof(float));
    for (int64_t i = 0; i < n_c[0] * p->c * taps; i++)
        add_product(p, b, i);
    return 0;
}

static int ways_wrong(const struct ks_abi_problem *p, const struct ks_abi_buffers *b)
{
    ways(p, b);
    output(b)[7] += 1.0f;
    return 0;
}

static int nothing(const struct ks_abi_problem *p, const struct ks_abi_buffers *b)
{
    (void)p;
    (void)b;
    return 0;
}

#define GOOD(name_, run_)                                                                          \
    {                                                                                              \
        name_, any, no_workspace, run_                                                             \
    }

static const struct ks_abi_entry entries[] = {
    GOOD("good", conv),
    GOOD("ways", ways),
    GOOD("ways_wrong", ways_wrong),
    GOOD("nothing", nothing),
    GOOD("one_wrong", one_wrong),
    GOOD("coarse", coarse),
    GOOD("unwritten", unwritten),
    GOOD("inexact", inexact),
    GOOD("truncating", truncating),
    GOOD("accumulate", accumulate),
    GOOD("write_before", write_before),
    GOOD("write_after", write_after),
    { "write_after_workspace", any, some_workspace, write_after_workspace },
    GOOD("write_and_wrong", write_and_wrong),
    GOOD("read_before", read_before),
    GOOD("read_after", read_after),
    GOOD("write_input", write_input),
    GOOD("spoils_quietly", spoils_quietly),
    GOOD("write_before_input", write_before_input),
    GOOD("different", different),
    GOOD("always_different", always_different),
    GOOD("fails", fails),
    GOOD("writes_and_fails", writes_and_fails),
    GOOD("rounds_down", rounds_down),
    { "looks_upward", any_upward, no_workspace, fails_unless_nearest },
    GOOD("forks", forks),
    GOOD("prints", prints),
    { "uses_workspace", any, some_workspace, uses_workspace },
    { "unsupported", never, no_workspace, exits },
    { "huge_workspace", any, huge_workspace, conv },
    { "negative_workspace", any, negative_workspace, conv },
    GOOD("exits", exits),
    GOOD("segfaults", segfaults),
    GOOD("loops", loops),
    GOOD("closes_all", closes_all),
    GOOD("closes_requests", closes_requests),
    GOOD("overflows_heap", overflows_heap),
};

const struct ks_abi_table ks_kernel_table = { KS_ABI_MAJOR, sizeof(entries) / sizeof(entries[0]),
                                              entries };
