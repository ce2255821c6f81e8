/* SPDX-License-Identifier: MIT */
/* op_bench.c - a problem with its operands, computed and proved by its operator's reference */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
/* cmocka.h wants the four above first. */
#include <cmocka.h>

#include "tests/unit/op_bench.h"
#include "tests/unit/products.h"

#include <math.h>
#include <stdlib.h>

struct bench bench_of(const struct ks_problem *p, enum ks_data data)
{
    struct bench t = { .p = *p, .op = ks_operators[p->op] };
    size_t bytes = ks_dtype_bytes(p->dtype);

    t.e = t.op->extents(p);
    t.a = malloc((size_t)t.e.a * bytes);
    t.b = malloc((size_t)t.e.b * bytes);
    t.r = malloc((size_t)(t.e.c + 1) * sizeof(double));
    t.abs = malloc((size_t)(t.e.c + 1) * sizeof(double));
    assert_true(t.a && t.b && t.r && t.abs);
    for (int64_t i = 0; i <= t.e.c; i++)
        t.r[i] = t.abs[i] = BENCH_GUARD;
    ks_problem_inputs(p, data, 'a', t.a);
    ks_problem_inputs(p, data, 'b', t.b);
    return t;
}

void bench_release(struct bench *t)
{
    free(t->a);
    free(t->b);
    free(t->r);
    free(t->abs);
}

int bench_compute(struct bench *t, bool wants_abs, struct ks_err *err)
{
    return t->op->reference(&t->p, t->a, t->b, t->r, wants_abs ? t->abs : NULL, err);
}

int bench_prove_exact(const struct bench *t, uint64_t seed, struct ks_err *err)
{
    return t->op->prove_exact(&t->p, t->a, t->b, t->r, seed, err);
}

int bench_prove_real(const struct bench *t, int n_sample, struct ks_err *err)
{
    return t->op->prove_real(&t->p, t->a, t->b, t->r, t->abs, 1, n_sample, err);
}

static void compare_element(const struct bench *t, const struct products *all, int64_t i,
                            bool is_exact)
{
    double bound = is_exact ? 0 : 0x1p-52 * (double)t->op->reduction(&t->p);
    double r = 0, magnitude = 0;

    for (int64_t k = all->first[i]; k < all->first[i + 1]; k++) {
        double product = ks_element_get(t->a, all->at[k].a, t->p.dtype) *
                         ks_element_get(t->b, all->at[k].b, t->p.dtype);

        r += product;
        magnitude += fabs(product);
    }
    if (!(fabs(t->r[i] - r) <= bound * magnitude))
        fail_msg("R[%ld] is %.17g, must be %.17g", (long)i, t->r[i], r);
    if (!is_exact && !(fabs(t->abs[i] - magnitude) <= bound * magnitude))
        fail_msg("A[%ld] is %.17g, must be %.17g", (long)i, t->abs[i], magnitude);
}

/* Elements that are in a product. */
static int64_t count_used(const struct products *all, int64_t n, bool is_a)
{
    int64_t n_products = all->first[all->n_elements], n_used = 0;
    bool *is_used = calloc((size_t)n, sizeof(*is_used));

    assert_non_null(is_used);
    for (int64_t k = 0; k < n_products; k++)
        is_used[is_a ? all->at[k].a : all->at[k].b] = true;
    for (int64_t i = 0; i < n; i++)
        n_used += is_used[i];
    free(is_used);
    return n_used;
}

static void check_work(const struct bench *t, const struct products *all)
{
    struct ks_work w = t->op->work(&t->p);

    assert_true(w.flops == 2.0 * (double)all->first[all->n_elements]);
    assert_true(w.flops <= ks_problem_flops(&t->p));
    assert_true(w.a == (double)count_used(all, t->e.a, true));
    assert_true(w.b == (double)count_used(all, t->e.b, false));
    assert_true(w.c == (double)t->e.c);
}

static void compare(const struct bench *t, bool is_exact)
{
    struct products all;

    products_make(&t->p, &all);
    assert_int_equal(all.n_elements, t->e.c);
    for (int64_t i = 0; i < t->e.c; i++)
        compare_element(t, &all, i, is_exact);
    check_work(t, &all);
    products_release(&all);
    assert_true(t->r[t->e.c] == BENCH_GUARD && t->abs[t->e.c] == BENCH_GUARD);
    if (is_exact)
        assert_true(t->abs[0] == BENCH_GUARD);
}

void bench_check(const struct ks_problem *p)
{
    for (int data = 0; data < 2; data++) {
        bool is_exact = data == KS_DATA_EXACT;
        struct bench t = bench_of(p, (enum ks_data)data);
        struct ks_err err;

        if (bench_compute(&t, !is_exact, &err) < 0)
            fail_msg("%s", err.text);
        compare(&t, is_exact);
        if ((is_exact ? bench_prove_exact(&t, 7, &err) : bench_prove_real(&t, 100, &err)) < 0)
            fail_msg("%s", err.text);
        bench_release(&t);
    }
}
