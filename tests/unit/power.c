/* SPDX-License-Identifier: MIT */
/* power.c - random small problems, computed in legitimate ways that must pass verification */
#include "power_impl.h"

#include "op_cases.h"

#include "base/hash.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define PRODUCTS_MAX 200000 /* of a subject */
#define LANES        16
#define PARTS        8
#define BLOCK        64

const char *way_name(enum way w)
{
    static const char *const names[N_WAYS] = { "forward", "backward", "lanes",   "blocks",
                                               "pairs",   "fused",    "doubles", "atomic" };
    return names[w];
}

int64_t power_pick(uint64_t *rng, int64_t from, int64_t to)
{
    return from + (int64_t)ks_rng_below(rng, (uint64_t)(to - from + 1));
}

static void set(struct ks_problem *p, const char *dim, int64_t value)
{
    int i = ks_problem_dim(p->op, dim);

    if (i < 0)
        abort();
    p->dim[i] = value;
}

static struct ks_problem random_gemm(uint64_t *rng, uint32_t dtype)
{
    bool is_long = power_pick(rng, 0, 3) == 0; /* few long sums: results must be rounded */
    int64_t most = is_long ? 8 : 30;
    uint32_t op;
    struct ks_problem p;
    struct ks_err err;

    if (ks_operator_find("gemm", &op, &err) < 0)
        abort();
    p = ks_problem_blank(op);
    p.dtype = dtype;
    set(&p, "batch", power_pick(rng, 1, 3));
    set(&p, "m", power_pick(rng, 1, most));
    set(&p, "n", power_pick(rng, 1, most));
    set(&p, "k", is_long ? power_pick(rng, 500, 4000) : power_pick(rng, 1, 90));
    set(&p, "trans_a", power_pick(rng, 0, 1));
    set(&p, "trans_b", power_pick(rng, 0, 1));
    if (ks_problem_finish(&p, &err) < 0)
        abort();
    return p;
}

static struct ks_problem random_problem(uint64_t *rng)
{
    uint32_t dtype = (uint32_t)power_pick(rng, 0, KS_N_DTYPES - 1);
    struct ks_problem p;

    if (power_pick(rng, 0, 5) == 0)
        return random_gemm(rng, dtype);
    p = op_case_random(rng, dtype);
    p.direction = (uint32_t)power_pick(rng, 0, KS_N_DIRECTIONS - 1);
    p.layout = (uint32_t)power_pick(rng, 0, KS_N_LAYOUTS - 1);
    if (ks_problem_finish(&p, NULL) < 0)
        abort();
    return p;
}

void *power_array(int64_t n, size_t size)
{
    void *all = calloc((size_t)n + 1, size);

    if (!all)
        abort();
    return all;
}

static void reference(struct subject *s, enum ks_data data)
{
    const struct ks_operator *op = ks_operators[s->p.op];
    struct ks_extents e = op->extents(&s->p);
    struct ks_err err;

    s->a[data] = power_array(e.a, s->element);
    s->b[data] = power_array(e.b, s->element);
    s->r[data] = power_array(e.c, sizeof(double));
    ks_problem_inputs(&s->p, data, 'a', s->a[data]);
    ks_problem_inputs(&s->p, data, 'b', s->b[data]);
    if (op->reference(&s->p, s->a[data], s->b[data], s->r[data],
                      data == KS_DATA_RANDOM ? s->magnitude : NULL, &err) < 0)
        abort();
}

void subject_make(uint64_t *rng, struct subject *s)
{
    int64_t n;

    for (;;) {
        memset(s, 0, sizeof(*s));
        s->p = random_problem(rng);
        products_make(&s->p, &s->products);
        if (s->products.first[s->products.n_elements] <= PRODUCTS_MAX)
            break;
        products_release(&s->products);
    }
    n = s->products.n_elements;
    s->element = ks_dtype_bytes(s->p.dtype);
    s->shape.n_dims = ks_operators[s->p.op]->shape_c(&s->p, s->shape.dim);
    s->tolerance = ks_tolerance_of(s->p.dtype, ks_operators[s->p.op]->reduction(&s->p), 0x1p-24);
    s->magnitude = power_array(n, sizeof(double));
    s->want = power_array(n, s->element);
    reference(s, KS_DATA_EXACT);
    reference(s, KS_DATA_RANDOM);
    for (int64_t i = 0; i < n; i++)
        ks_element_set(s->want, i, s->p.dtype, s->r[KS_DATA_EXACT][i]);
}

void subject_release(struct subject *s)
{
    products_release(&s->products);
    for (int i = 0; i < 2; i++) {
        free(s->a[i]);
        free(s->b[i]);
        free(s->r[i]);
    }
    free(s->magnitude);
    free(s->want);
}

static float sum_range(const struct terms *t, int64_t from, int64_t to, int64_t by)
{
    volatile float sum = 0; /* rounded to fp32 after every step, never fused */

    for (int64_t i = from; i < to; i += by) {
        volatile float product = t->x[i] * t->w[i];
        sum = sum + product;
    }
    return sum;
}

static float sum_blocks(const struct terms *t)
{
    volatile float sum = 0;

    for (int64_t i = 0; i < t->n; i += BLOCK)
        sum = sum + sum_range(t, i, i + BLOCK < t->n ? i + BLOCK : t->n, 1);
    return sum;
}

static float sum_lanes(const struct terms *t)
{
    volatile float sum = 0;

    for (int64_t l = 0; l < LANES; l++)
        sum = sum + sum_range(t, l, t->n, LANES);
    return sum;
}

/* Of [from, to) in a tree; 2 levels a call would do, the depth is log2 n. */
static float sum_pairs(const struct terms *t)
{
    float *level = power_array(t->n, sizeof(float));
    int64_t n = t->n;

    for (int64_t i = 0; i < n; i++)
        level[i] = t->x[i] * t->w[i];
    while (n > 1) {
        for (int64_t i = 0; i < n / 2; i++)
            level[i] = level[2 * i] + level[2 * i + 1];
        if (n % 2)
            level[n / 2] = level[n - 1];
        n = (n + 1) / 2;
    }
    float sum = level[0];
    free(level);
    return sum;
}

static float sum_atomic(const struct terms *t, uint64_t *rng)
{
    float part[PARTS];
    volatile float sum = 0;

    for (int i = 0; i < PARTS; i++)
        part[i] = sum_range(t, i, t->n, PARTS);
    for (int left = PARTS; left > 0; left--) {
        int64_t i = power_pick(rng, 0, left - 1);

        sum = sum + part[i];
        part[i] = part[left - 1];
    }
    return sum;
}

static float sum_backward(const struct terms *t)
{
    volatile float sum = 0;

    for (int64_t i = t->n; i-- > 0;) {
        volatile float product = t->x[i] * t->w[i];
        sum = sum + product;
    }
    return sum;
}

static float sum_terms(const struct terms *t, enum way way, uint64_t *rng)
{
    double sum = 0;
    float fused = 0;

    switch (way) {
    case WAY_BACKWARD:
        return sum_backward(t);
    case WAY_LANES:
        return sum_lanes(t);
    case WAY_BLOCKS:
        return sum_blocks(t);
    case WAY_PAIRS:
        return sum_pairs(t);
    case WAY_ATOMIC:
        return sum_atomic(t, rng);
    case WAY_FUSED:
        for (int64_t i = 0; i < t->n; i++)
            fused = fmaf(t->x[i], t->w[i], fused);
        return fused;
    case WAY_DOUBLES:
        for (int64_t i = 0; i < t->n; i++)
            sum += (double)t->x[i] * t->w[i];
        return (float)sum;
    default:
        return sum_range(t, 0, t->n, 1);
    }
}

struct terms gather(const struct subject *s, enum ks_data data, int64_t i, int64_t b_of, float *x,
                    float *w)
{
    const struct products *p = &s->products;
    struct terms t = { x, w, p->first[i + 1] - p->first[i] };

    for (int64_t k = 0; k < t.n; k++) {
        x[k] = (float)ks_element_get(s->a[data], p->at[p->first[i] + k].a, s->p.dtype);
        w[k] = (float)ks_element_get(s->b[data], p->at[p->first[b_of] + k].b, s->p.dtype);
    }
    return t;
}

int64_t most_products(const struct products *p)
{
    int64_t most = 0;

    for (int64_t i = 0; i < p->n_elements; i++)
        if (p->first[i + 1] - p->first[i] > most)
            most = p->first[i + 1] - p->first[i];
    return most;
}

void subject_compute(const struct subject *s, enum ks_data data, enum way way, uint64_t *rng,
                     void *out)
{
    int64_t most = most_products(&s->products);
    float *x = power_array(most, sizeof(float)), *w = power_array(most, sizeof(float));

    for (int64_t i = 0; i < s->products.n_elements; i++) {
        struct terms t = gather(s, data, i, i, x, w);

        ks_element_set(out, i, s->p.dtype, t.n ? sum_terms(&t, way, rng) : 0);
    }
    free(x);
    free(w);
}
