/* SPDX-License-Identifier: MIT */
/* bench_verify.c [N_SUBJECTS [SEED]] - what the verification sees. Each subject is a random small
 * problem (all operators, directions, dtypes, layouts); its output is computed in N_WAYS legitimate
 * ways, which must all pass, and broken in N_FAULTS ways, each on exact and on random data. Then
 * one product is dropped from sums of growing length. Last, what a comparison costs with references
 * masked and plain. Status 1: a correct output was refused, or a fault that is there was not seen.
 * */
#include "tests/unit/power.h"

#include "base/clock.h"
#include "base/hash.h"
#include "op/gemm.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define N_DROPPED  20000
#define N_COMPARED 40

static double share(uint32_t part, uint32_t of)
{
    return of ? 100.0 * part / of : 0;
}

static void put_row(const char *name, const struct fault_row *r)
{
    printf("| %-27s | %5u | %6u | %5.1f %% | %5u | %6u | %5.1f %% | %5.1f %% | %5.1f %% | %5.1f %% "
           "|\n",
           name, r->n1, r->caught1, share(r->identical1, r->n1), r->n2, r->caught2,
           share(r->same2, r->n2), share(r->below2, r->n2), share(r->nonzero, r->n2),
           share(r->any, r->n2));
}

static void add(struct fault_row *sum, const struct fault_row *r)
{
    sum->n1 += r->n1;
    sum->caught1 += r->caught1;
    sum->identical1 += r->identical1;
    sum->n2 += r->n2;
    sum->caught2 += r->caught2;
    sum->same2 += r->same2;
    sum->below2 += r->below2;
    sum->nonzero += r->nonzero;
    sum->any += r->any;
}

static void put(const struct power *p, uint32_t n_subjects)
{
    struct fault_row sum = { 0 };

    printf("subjects %u: forward %u, backward_data %u, backward_weight %u, gemm %u; fp32 %u, fp16 "
           "%u, bf16 %u; ngchw %u\n",
           n_subjects, p->by_direction[0], p->by_direction[1], p->by_direction[2], p->n_gemm,
           p->by_dtype[KS_FP32], p->by_dtype[KS_FP16], p->by_dtype[KS_BF16], p->n_ngchw);
    printf("correct cells %u: refused by V1 %u, by V2 %u; largest error / tolerance %.3f\n\n",
           p->n_correct, p->n_false_1, p->n_false_2, p->worst_correct);
    printf(
        "| fault                       |    V1 | caught | identical |    V2 | caught | identical "
        "| below tolerance | non-zeros as before | any non-zero |\n");
    printf("|---|---|---|---|---|---|---|---|---|---|\n");
    for (int k = 0; k < N_FAULTS; k++) {
        put_row(fault_name((enum fault_kind)k), &p->fault[k]);
        add(&sum, &p->fault[k]);
    }
    put_row("all", &sum);
    printf("\nmissed by V1 %u, missed by V2 %u, refused within the tolerance %u\n", p->n_missed_1,
           p->n_missed_2, p->n_wrongly_2);
}

/* A matrix product with long sums, and its references: 32 x 32 elements, 2 x 2 of the longest. */
struct long_sums {
    struct ks_problem p;
    float *a, *b;
    double *r, *magnitude;
    int64_t n; /* elements of the output */
};

static void must(bool is_well)
{
    if (!is_well)
        abort();
}

static struct long_sums long_sums_of(uint32_t dtype, int64_t length, enum ks_data data)
{
    struct long_sums t;
    struct ks_extents e;
    uint32_t op;
    void *a, *b;

    must(ks_operator_find("gemm", &op, NULL) == 0);
    t.p = ks_problem_blank(op);
    t.p.dtype = dtype;
    t.p.dim[KS_GEMM_M] = t.p.dim[KS_GEMM_N] = length < 1000000 ? 32 : 2;
    t.p.dim[KS_GEMM_K] = length;
    must(ks_problem_finish(&t.p, NULL) == 0);
    e = ks_operators[op]->extents(&t.p);
    a = malloc((size_t)e.a * sizeof(float));
    b = malloc((size_t)e.b * sizeof(float));
    t.a = malloc((size_t)e.a * sizeof(float));
    t.b = malloc((size_t)e.b * sizeof(float));
    t.r = malloc((size_t)e.c * sizeof(double));
    t.magnitude = malloc((size_t)e.c * sizeof(double));
    t.n = e.c;
    must(a && b && t.a && t.b && t.r && t.magnitude);
    ks_problem_inputs(&t.p, data, 'a', a);
    ks_problem_inputs(&t.p, data, 'b', b);
    must(ks_operators[op]->reference(&t.p, a, b, t.r, t.magnitude, NULL) == 0);
    ks_elements_to_floats(a, e.a, dtype, t.a);
    ks_elements_to_floats(b, e.b, dtype, t.b);
    free(a);
    free(b);
    return t;
}

/* How many of N_DROPPED outputs that lack one product are seen by V1 (exact data) or V2. */
static uint32_t count_dropped(uint32_t dtype, int64_t length, enum ks_data data, uint64_t *rng)
{
    const struct ks_shape shape = { .n_dims = 0 };
    const struct ks_tolerance tolerance = ks_tolerance_of(dtype, length, 0x1p-24);
    struct long_sums t = long_sums_of(dtype, length, data);
    int64_t n = t.p.dim[KS_GEMM_N];
    uint32_t n_seen = 0;

    for (int i = 0; i < N_DROPPED; i++) {
        int64_t at = (int64_t)ks_rng_below(rng, (uint64_t)t.n);
        int64_t k = (int64_t)ks_rng_below(rng, (uint64_t)length);
        double product = (double)t.a[at / n * length + k] * t.b[k * n + at % n];
        struct ks_verdict v;
        uint32_t got, want;

        ks_element_set(&got, 0, dtype, t.r[at] - product);
        ks_element_set(&want, 0, dtype, t.r[at]);
        if (data == KS_DATA_EXACT)
            ks_verify_exact(&got, &want, 1, dtype, &shape, &v);
        else
            ks_verify_real(&got, &t.r[at], &t.magnitude[at], 1, dtype, &tolerance, &shape, &v);
        n_seen += v.n_wrong > 0;
    }
    free(t.a);
    free(t.b);
    free(t.r);
    free(t.magnitude);
    return n_seen;
}

static void put_lengths(uint64_t *rng)
{
    static const int64_t lengths[] = { 64, 576, 2304, 9216, 50176, 401408, 3211264, 12845056 };

    printf("\none product dropped, seen by\n\n| products of a sum | fp32 V1 | V2 | fp16 V1 | V2 | "
           "bf16 V1 | V2 |\n|---|---|---|---|---|---|---|\n");
    for (size_t i = 0; i < sizeof(lengths) / sizeof(lengths[0]); i++) {
        printf("| %8lld ", (long long)lengths[i]);
        for (uint32_t dtype = 0; dtype < KS_N_DTYPES; dtype++)
            printf("| %5.1f %% | %5.1f %% ",
                   share(count_dropped(dtype, lengths[i], KS_DATA_EXACT, rng), N_DROPPED),
                   share(count_dropped(dtype, lengths[i], KS_DATA_RANDOM, rng), N_DROPPED));
        printf("|\n");
    }
}

/* Right outputs of n elements and their references, masked and plain. */
struct comparison {
    uint32_t dtype;
    size_t n;
    void *got;
    struct ks_masked want[2], r[2], abs[2]; /* [1]: masked */
};

static void *filled(size_t bytes)
{
    uint8_t *at = malloc(bytes);

    must(at != NULL);
    memset(at, 0x3f, bytes); /* 0.747 as fp32, 1.8 as fp16, .. and a number as a double */
    return at;
}

static struct comparison comparison_of(uint32_t dtype, size_t n, const struct ks_mask *mask)
{
    const size_t small = n * ks_dtype_bytes(dtype), large = n * sizeof(double);
    struct comparison c = { .dtype = dtype, .n = n, .got = filled(small) };
    double v = ks_element_get(c.got, 0, dtype);

    for (int i = 0; i < 2; i++) {
        double *r = filled(large), *abs = filled(large);
        void *want = filled(small);

        for (size_t k = 0; k < n; k++)
            r[k] = abs[k] = v;
        if (i == 1) {
            ks_mask_apply(mask, 0, want, want, small);
            ks_mask_apply(mask, 0, r, r, large);
            ks_mask_apply(mask, 0, abs, abs, large);
        }
        c.want[i] = (struct ks_masked){ .at = want, .mask = i ? mask : NULL };
        c.r[i] = (struct ks_masked){ .at = r, .mask = i ? mask : NULL };
        c.abs[i] = (struct ks_masked){ .at = abs, .mask = i ? mask : NULL };
    }
    return c;
}

static void comparison_release(struct comparison *c)
{
    for (int i = 0; i < 2; i++) {
        free((void *)(uintptr_t)c->want[i].at);
        free((void *)(uintptr_t)c->r[i].at);
        free((void *)(uintptr_t)c->abs[i].at);
    }
    free(c->got);
}

/* ns an element of V1 (is_real: V2). */
static double compare_once(const struct comparison *c, bool is_real, int is_masked)
{
    const struct ks_shape shape = { .n_dims = 0 };
    const struct ks_tolerance t = ks_tolerance_of(c->dtype, 1000, 0x1p-24);
    struct ks_verdict v;
    uint64_t from = ks_now_ns();

    ks_verify_begin(&shape, &v);
    if (is_real)
        ks_verify_real_more(c->got, &c->r[is_masked], &c->abs[is_masked], 0, c->n, c->dtype, &t,
                            &shape, &v);
    else
        ks_verify_exact_more(c->got, &c->want[is_masked], 0, c->n, c->dtype, &shape, &v);
    must(v.n_wrong == 0);
    return (double)(ks_now_ns() - from) / (double)c->n;
}

static void put_comparison(uint32_t dtype, size_t n)
{
    const struct ks_mask mask = { { 0x8d5c1b3f60e7a291u, 0x2f9e04c6d8b17a53u } };
    struct comparison c = comparison_of(dtype, n, &mask);
    double best[2][2] = { { 1e9, 1e9 }, { 1e9, 1e9 } };

    for (int i = 0; i < N_COMPARED; i++)
        for (int k = 0; k < 4; k++)
            best[k / 2][k % 2] = fmin(best[k / 2][k % 2], compare_once(&c, k / 2, k % 2));
    printf("| %s | %8zu | %5.2f | %5.2f | %5.2f | %5.2f |\n", ks_dtype_name(dtype), n, best[0][0],
           best[0][1], best[1][0], best[1][1]);
    comparison_release(&c);
}

static void put_costs(void)
{
    printf(
        "\nwhat comparing an element costs, ns, the least of %d\n\n| type | elements | V1 plain | "
        "masked | V2 plain | masked |\n|---|---|---|---|---|---|\n",
        N_COMPARED);
    for (uint32_t dtype = 0; dtype < KS_N_DTYPES; dtype++) {
        put_comparison(dtype, 1 << 14);
        put_comparison(dtype, 1 << 22);
    }
}

int main(int argc, char **argv)
{
    uint32_t n = argc > 1 ? (uint32_t)strtoul(argv[1], NULL, 10) : 1300;
    uint64_t rng = argc > 2 ? strtoull(argv[2], NULL, 10) : 1;
    struct power p = { 0 };

    for (uint32_t i = 0; i < n; i++) {
        struct subject s;

        subject_make(&rng, &s);
        power_add(&p, &s, &rng);
        subject_release(&s);
    }
    put(&p, n);
    put_lengths(&rng);
    put_costs();
    return p.n_false_1 || p.n_false_2 || p.n_missed_1 || p.n_missed_2 || p.n_wrongly_2;
}
