/* SPDX-License-Identifier: MIT */
/* products.c - lists the products of each element of an output, straight from the definition */
#include "products.h"

#include <stdlib.h>
#include <string.h>

/* One walk over all products: counts them the first time, places them the second. */
struct walk {
    struct products *p;
    int64_t *next; /* [n_elements] where the element's next product goes; NULL: counting */
};

static void meet(struct walk *w, int64_t a, int64_t b, int64_t c)
{
    if (w->next)
        w->p->at[w->next[c]++] = (struct product){ (int32_t)a, (int32_t)b };
    else
        w->p->first[c + 1]++;
}

/* Index of [n][d][h][w][g][channel] or [n][g][channel][d][h][w]; channels of a group. */
static int64_t image_index(const struct ks_abi_problem *q, int64_t channels,
                           const int64_t extent[3], const int64_t at[3], const int64_t ngc[3])
{
    int64_t pixel = (at[0] * extent[1] + at[1]) * extent[2] + at[2];
    int64_t pixels = extent[0] * extent[1] * extent[2];

    if (q->layout == KS_ABI_NHWGC)
        return ((ngc[0] * pixels + pixel) * q->g + ngc[1]) * channels + ngc[2];
    return ((ngc[0] * q->g + ngc[1]) * channels + ngc[2]) * pixels + pixel;
}

static int64_t weight_index(const struct ks_abi_problem *q, int64_t g, int64_t k, int64_t c,
                            const int64_t tap[3])
{
    int64_t taps = q->filter[0] * q->filter[1] * q->filter[2];
    int64_t t = (tap[0] * q->filter[1] + tap[1]) * q->filter[2] + tap[2];

    if (q->layout == KS_ABI_NHWGC)
        return ((g * q->k + k) * taps + t) * q->c + c;
    return ((g * q->k + k) * q->c + c) * taps + t;
}

static void meet_channels(struct walk *w, int64_t n, const int64_t out[3], const int64_t tap[3],
                          const int64_t in[3])
{
    const struct ks_abi_problem *q = &w->p->q;

    for (int64_t g = 0; g < q->g; g++)
        for (int64_t k = 0; k < q->k; k++)
            for (int64_t c = 0; c < q->c; c++) {
                const int64_t from[3] = { n, g, c }, to[3] = { n, g, k };
                int64_t x = image_index(q, q->c, q->in, in, from);
                int64_t y = image_index(q, q->k, q->out, out, to);
                int64_t f = weight_index(q, g, k, c, tap);

                if (q->direction == KS_ABI_FORWARD)
                    meet(w, x, f, y);
                else if (q->direction == KS_ABI_BACKWARD_DATA)
                    meet(w, y, f, x);
                else
                    meet(w, x, y, f);
            }
}

/* Steps at[] like an odometer; false after the last. */
static bool step(const int64_t shape[3], int64_t at[3])
{
    for (int i = 2; i >= 0; i--) {
        if (++at[i] < shape[i])
            return true;
        at[i] = 0;
    }
    return false;
}

static bool meets(const struct ks_abi_problem *q, const int64_t out[3], const int64_t tap[3],
                  int64_t in_out[3])
{
    bool is_inside = true;

    for (int i = 0; i < 3; i++) {
        in_out[i] = out[i] * q->stride[i] - q->pad_lo[i] + tap[i] * q->dilation[i];
        is_inside = is_inside && in_out[i] >= 0 && in_out[i] < q->in[i];
    }
    return is_inside;
}

static void walk_conv(struct walk *w)
{
    const struct ks_abi_problem *q = &w->p->q;
    int64_t out[3] = { 0 }, tap[3] = { 0 }, in[3];

    for (int64_t n = 0; n < q->n; n++)
        do {
            do {
                if (meets(q, out, tap, in))
                    meet_channels(w, n, out, tap, in);
            } while (step(q->filter, tap));
        } while (step(q->out, out));
}

static void walk_gemm(struct walk *w)
{
    const struct ks_abi_problem *q = &w->p->q;
    int64_t rows = q->out[1], columns = q->k, length = q->c;

    for (int64_t n = 0; n < q->n; n++)
        for (int64_t i = 0; i < rows; i++)
            for (int64_t j = 0; j < columns; j++)
                for (int64_t l = 0; l < length; l++)
                    meet(w,
                         n * rows * length +
                             (q->flags & KS_ABI_TRANS_A ? l * rows + i : i * length + l),
                         n * length * columns +
                             (q->flags & KS_ABI_TRANS_B ? j * length + l : l * columns + j),
                         (n * rows + i) * columns + j);
}

static void walk_all(struct walk *w)
{
    if (w->p->q.op == KS_ABI_GEMM)
        walk_gemm(w);
    else
        walk_conv(w);
}

void products_make(const struct ks_problem *p, struct products *out)
{
    struct walk w = { .p = out };

    memset(out, 0, sizeof(*out));
    ks_operators[p->op]->to_abi(p, &out->q);
    out->n_elements = ks_operators[p->op]->extents(p).c;
    out->first = calloc((size_t)out->n_elements + 1, sizeof(*out->first));
    if (!out->first)
        abort();
    walk_all(&w);
    for (int64_t i = 0; i < out->n_elements; i++)
        out->first[i + 1] += out->first[i];
    out->at = calloc((size_t)out->first[out->n_elements] + 1, sizeof(*out->at));
    w.next = malloc((size_t)out->n_elements * sizeof(*w.next));
    if (!out->at || !w.next)
        abort();
    memcpy(w.next, out->first, (size_t)out->n_elements * sizeof(*w.next));
    walk_all(&w);
    free(w.next);
}

void products_release(struct products *p)
{
    free(p->first);
    free(p->at);
    memset(p, 0, sizeof(*p));
}
