/* SPDX-License-Identifier: MIT */
/* power_faults.c - breaks an output in one of the ways that verification must see */
#include "power_impl.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

const char *fault_name(enum fault_kind k)
{
    static const char *const names[N_FAULTS] = {
        "product dropped", "off by more than tolerance", "tail tile missing", "block transposed",
        "stale row",       "channels swapped",           "race, lost update", "unwritten poison",
        "NaN or infinity", "operand of a group",         "rounding"
    };
    return names[k];
}

static double get(const struct subject *s, const void *out, int64_t i)
{
    return ks_element_get(out, i, s->p.dtype);
}

static void put(const struct subject *s, void *out, int64_t i, double v)
{
    ks_element_set(out, i, s->p.dtype, v);
}

/* Elements from one index of a dim to the next. */
static int64_t step_of(const struct ks_shape *h, int dim)
{
    int64_t step = 1;

    for (int d = h->n_dims - 1; d > dim; d--)
        step *= h->dim[d];
    return step;
}

static int64_t index_in(const struct ks_shape *h, int dim, int64_t i)
{
    return i / step_of(h, dim) % h->dim[dim];
}

/* A random dim of at least `least`, but for `not`; -1: none. */
static int pick_dim(const struct ks_shape *h, int64_t least, int not, uint64_t *rng)
{
    int found[6], n = 0;

    for (int d = 0; d < h->n_dims; d++)
        if (h->dim[d] >= least && d != not )
            found[n++] = d;
    return n ? found[power_pick(rng, 0, n - 1)] : -1;
}

/* An element with at least `least` products; -1: none was found. */
static int64_t pick_element(const struct subject *s, int64_t least, uint64_t *rng)
{
    const struct products *p = &s->products;

    for (int turn = 0; turn < 100; turn++) {
        int64_t i = power_pick(rng, 0, p->n_elements - 1);

        if (p->first[i + 1] - p->first[i] >= least)
            return i;
    }
    return -1;
}

static void recompute(const struct subject *s, enum ks_data data, int64_t i, int64_t b_of,
                      int64_t from, int64_t without, void *out)
{
    int64_t n = s->products.first[i + 1] - s->products.first[i];
    float *x = power_array(n, sizeof(float)), *w = power_array(n, sizeof(float)), sum = 0;
    struct terms t = gather(s, data, i, b_of, x, w);

    for (int64_t k = from; k < t.n; k++)
        if (k != without)
            sum += x[k] * w[k];
    put(s, out, i, sum);
    free(x);
    free(w);
}

static bool break_dropped(const struct subject *s, enum ks_data data, uint64_t *rng, void *out)
{
    int64_t i = pick_element(s, 1, rng);

    if (i < 0)
        return false;
    int64_t n = s->products.first[i + 1] - s->products.first[i];
    recompute(s, data, i, i, 0, power_pick(rng, 0, n - 1), out);
    return true;
}

/* The first representable number beyond the tolerance, away from R. */
static bool break_off(const struct subject *s, enum ks_data data, uint64_t *rng, void *out)
{
    int64_t i = pick_element(s, 1, rng);
    double r, tolerance, by;

    if (i < 0)
        return false;
    r = s->r[data][i];
    tolerance = ks_tolerance_at(&s->tolerance, r, s->magnitude[i]);
    for (by = 1.01 * tolerance;; by *= 1.2) {
        put(s, out, i, r + (power_pick(rng, 0, 1) ? by : -by));
        if (!(fabs(get(s, out, i) - r) <= tolerance))
            return true;
    }
}

static bool break_tail(const struct subject *s, uint64_t *rng, void *out)
{
    int dim = pick_dim(&s->shape, 2, -1, rng);

    if (dim < 0)
        return false;
    int64_t keep = s->shape.dim[dim] - power_pick(rng, 1, s->shape.dim[dim] / 2);
    for (int64_t i = 0; i < s->products.n_elements; i++)
        if (index_in(&s->shape, dim, i) >= keep)
            put(s, out, i, 0);
    return true;
}

static void exchange(const struct subject *s, void *out, int64_t i, int64_t j)
{
    double x = get(s, out, i);

    put(s, out, i, get(s, out, j));
    put(s, out, j, x);
}

static bool break_transposed(const struct subject *s, uint64_t *rng, void *out)
{
    int d1 = pick_dim(&s->shape, 2, -1, rng), d2;

    if (d1 < 0 || (d2 = pick_dim(&s->shape, 2, d1, rng)) < 0)
        return false;
    int64_t n = s->shape.dim[d1] < s->shape.dim[d2] ? s->shape.dim[d1] : s->shape.dim[d2];
    int64_t step1 = step_of(&s->shape, d1), step2 = step_of(&s->shape, d2);
    n = n < 4 ? n : 4;
    for (int64_t i = 0; i < n; i++)
        for (int64_t j = 0; j < i; j++)
            exchange(s, out, i * step1 + j * step2, j * step1 + i * step2);
    return true;
}

static bool break_stale(const struct subject *s, uint64_t *rng, void *out)
{
    int dim = pick_dim(&s->shape, 2, -1, rng);

    if (dim < 0)
        return false;
    int64_t row = power_pick(rng, 1, s->shape.dim[dim] - 1), step = step_of(&s->shape, dim);
    for (int64_t i = 0; i < s->products.n_elements; i++)
        if (index_in(&s->shape, dim, i) == row)
            put(s, out, i, get(s, out, i - step));
    return true;
}

static bool break_swapped(const struct subject *s, uint64_t *rng, void *out)
{
    int dim = pick_dim(&s->shape, 2, -1, rng);

    if (dim < 0)
        return false;
    int64_t row = power_pick(rng, 1, s->shape.dim[dim] - 1), other = power_pick(rng, 0, row - 1);
    int64_t back = (row - other) * step_of(&s->shape, dim);
    for (int64_t i = 0; i < s->products.n_elements; i++)
        if (index_in(&s->shape, dim, i) == row)
            exchange(s, out, i, i - back);
    return true;
}

static bool break_race(const struct subject *s, enum ks_data data, uint64_t *rng, void *out)
{
    bool is_done = false;

    for (int turn = 0; turn < 3; turn++) {
        int64_t i = pick_element(s, 2, rng);

        if (i < 0)
            continue;
        recompute(s, data, i, i, (s->products.first[i + 1] - s->products.first[i]) / 2, -1, out);
        is_done = true;
    }
    return is_done;
}

static bool break_unwritten(const struct subject *s, uint64_t *rng, void *out)
{
    for (int turn = 0; turn < 3; turn++)
        memset((char *)out + (size_t)power_pick(rng, 0, s->products.n_elements - 1) * s->element,
               0x7f, s->element);
    return true;
}

static bool break_nan(const struct subject *s, uint64_t *rng, void *out)
{
    put(s, out, power_pick(rng, 0, s->products.n_elements - 1),
        power_pick(rng, 0, 1) ? NAN : -INFINITY);
    return true;
}

/* The dim of groups: of batches in a gemm. */
static int group_dim(const struct subject *s)
{
    if (s->products.q.op == KS_ABI_GEMM || s->p.direction == KS_BACKWARD_WEIGHT)
        return 0;
    return s->p.layout == KS_NHWGC ? 4 : 1;
}

static bool break_group(const struct subject *s, enum ks_data data, void *out)
{
    int dim = group_dim(s);
    int64_t step = step_of(&s->shape, dim);
    bool is_done = false;

    if (s->shape.dim[dim] < 2)
        return false;
    for (int64_t i = 0; i < s->products.n_elements; i++) {
        if (index_in(&s->shape, dim, i) != 1 || s->products.first[i] == s->products.first[i + 1])
            continue;
        recompute(s, data, i, i - step, 0, -1, out);
        is_done = true;
    }
    return is_done;
}

/* volatile: gcc 12.2 at -O3 loses a mask of 16 bits. */
static float cut(float x, int bits)
{
    volatile uint32_t masked;
    uint32_t word;

    memcpy(&word, &x, sizeof(word));
    masked = word & ~0u << bits;
    word = masked;
    memcpy(&x, &word, sizeof(word));
    return x;
}

/* 16-bit results by cutting off; fp32 from inputs with 10 bits of mantissa. */
static bool break_rounding(const struct subject *s, enum ks_data data, void *out)
{
    int64_t most = most_products(&s->products);
    float *x = power_array(most, sizeof(float)), *w = power_array(most, sizeof(float));

    for (int64_t i = 0; i < s->products.n_elements; i++) {
        struct terms t = gather(s, data, i, i, x, w);
        float sum = 0;

        for (int64_t k = 0; k < t.n; k++)
            sum += s->p.dtype == KS_FP32 ? cut(x[k], 13) * cut(w[k], 13) : x[k] * w[k];
        if (s->p.dtype == KS_BF16)
            sum = cut(sum, 16);
        else if (s->p.dtype == KS_FP16)
            sum = cut(sum, 13);
        put(s, out, i, sum);
    }
    free(x);
    free(w);
    return true;
}

bool subject_break(const struct subject *s, enum ks_data data, enum fault_kind kind, uint64_t *rng,
                   void *out)
{
    switch (kind) {
    case FAULT_DROPPED:
        return break_dropped(s, data, rng, out);
    case FAULT_OFF:
        return break_off(s, data, rng, out);
    case FAULT_TAIL:
        return break_tail(s, rng, out);
    case FAULT_TRANSPOSED:
        return break_transposed(s, rng, out);
    case FAULT_STALE:
        return break_stale(s, rng, out);
    case FAULT_SWAPPED:
        return break_swapped(s, rng, out);
    case FAULT_RACE:
        return break_race(s, data, rng, out);
    case FAULT_UNWRITTEN:
        return break_unwritten(s, rng, out);
    case FAULT_NAN:
        return break_nan(s, rng, out);
    case FAULT_GROUP:
        return break_group(s, data, out);
    default:
        return break_rounding(s, data, out);
    }
}
