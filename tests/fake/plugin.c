/* SPDX-License-Identifier: MIT */
/* plugin.c - a plug-in for the host: a plain convolution under two names, one that is wrong, one
 * that dies. PLUGIN_EXTRA changes the file and nothing else. */
#include "kernels/abi.h"

#include <stdlib.h>

static const char *unsupported(const struct ks_abi_problem *p)
{
    if (p->op != KS_ABI_GROUPED_CONV || p->direction != KS_ABI_FORWARD)
        return "forward convolutions only";
    return p->filter[0] * p->filter[1] * p->filter[2] == 1 ? "no 1x1 filters" : NULL;
}

static int64_t workspace_bytes(const struct ks_abi_problem *p)
{
    (void)p;
    return 0;
}

static int64_t input_row(const struct ks_abi_problem *p, const int64_t *at, const int64_t *tap)
{
    int64_t row = 0;

    for (int i = 0; i < 3; i++) {
        const int64_t x = at[i] * p->stride[i] - p->pad_lo[i] + tap[i] * p->dilation[i];

        if (x < 0 || x >= p->in[i])
            return -1;
        row = row * p->in[i] + x;
    }
    return row;
}

/* One output pixel of one group. */
static void pixel(const struct ks_abi_problem *p, const struct ks_abi_buffers *b, int64_t n,
                  int64_t g, const int64_t *at)
{
    const int64_t n_in = p->in[0] * p->in[1] * p->in[2];
    const int64_t n_taps = p->filter[0] * p->filter[1] * p->filter[2];
    const int64_t to = ((n * p->out[0] + at[0]) * p->out[1] + at[1]) * p->out[2] + at[2];

    for (int64_t k = 0; k < p->k; k++) {
        const float *w = (const float *)b->b + (g * p->k + k) * n_taps * p->c;
        float sum = 0.0f;

        for (int64_t t = 0; t < n_taps; t++) {
            const int64_t tap[3] = { t / p->filter[2] / p->filter[1],
                                     t / p->filter[2] % p->filter[1], t % p->filter[2] };
            const int64_t row = input_row(p, at, tap);

            for (int64_t c = 0; row >= 0 && c < p->c; c++)
                sum += ((const float *)b->a)[((n * n_in + row) * p->g + g) * p->c + c] *
                       w[t * p->c + c];
        }
        ((float *)b->c)[(to * p->g + g) * p->k + k] = sum;
    }
}

static int run(const struct ks_abi_problem *p, const struct ks_abi_buffers *b)
{
    const int64_t n_out = p->out[0] * p->out[1] * p->out[2];

    for (int64_t i = 0; i < p->n * p->g * n_out; i++) {
        const int64_t o = i % n_out;
        const int64_t at[3] = { o / p->out[2] / p->out[1], o / p->out[2] % p->out[1],
                                o % p->out[2] };

        pixel(p, b, i / n_out / p->g, i / n_out % p->g, at);
    }
    return 0;
}

static int run_wrong(const struct ks_abi_problem *p, const struct ks_abi_buffers *b)
{
    run(p, b);
    ((float *)b->c)[0] += 1.0f;
    return 0;
}

static int run_dying(const struct ks_abi_problem *p, const struct ks_abi_buffers *b)
{
    (void)p;
    (void)b;
    abort();
}

const char plugin_extra[] = PLUGIN_EXTRA;

static const struct ks_abi_entry entries[] = {
    { "plug_plain", unsupported, workspace_bytes, run },
    { "plug_twin", unsupported, workspace_bytes, run },
    { "plug_wrong", unsupported, workspace_bytes, run_wrong },
    { "plug_dying", unsupported, workspace_bytes, run_dying },
};
const struct ks_abi_table ks_kernel_table = { KS_ABI_MAJOR, 4, entries };
