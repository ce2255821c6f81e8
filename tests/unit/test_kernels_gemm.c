/* SPDX-License-Identifier: MIT */
/* test_kernels_gemm.c - host kernels of matrix products, built as in a job, held to references */
/* On problems that are special and on random ones: all types, all four transpose combinations,
 * batches; a sample here, all in tests/kernels.sh host. */
/* quick: no */
#include "kernel_case.h"
#include "op_cases.h"

#define N_RANDOM 240

static const char *const configs[] = { "host_gemm.json", NULL };

static const char *const special[] = {
    "m=1 n=1 k=1",
    "m=1 n=200 k=300",
    "m=1 n=70 k=130 trans_b=1",
    "m=130 n=1 k=17 trans_a=1",
    "batch=3 m=29 n=33 k=7",
    "batch=2 m=15 n=65 k=9 trans_a=1 trans_b=1",
    "m=64 n=96 k=128",
    "m=33 n=48 k=600 trans_b=1",
};
#define N_SPECIAL (sizeof(special) / sizeof(*special))

/* Problem i: each special one in all types, then random ones. */
static struct ks_problem make_problem(uint32_t i, uint64_t *rng)
{
    struct ks_problem p;
    struct ks_err err;
    char fields[200];
    if (i < 3 * N_SPECIAL)
        snprintf(fields, sizeof(fields), "%s", special[i / 3]);
    else
        snprintf(fields, sizeof(fields), "batch=%d m=%d n=%d k=%d trans_a=%d trans_b=%d",
                 (int)ks_rng_below(rng, 3) + 1, (int)ks_rng_below(rng, 70) + 1,
                 (int)ks_rng_below(rng, 150) + 1, (int)ks_rng_below(rng, 140) + 1, i / 3 % 2,
                 i / 6 % 2);
    must(op_case_gemm(fields, &p, &err), &err);
    p.dtype = i % 3;
    must(ks_problem_finish(&p, &err), &err);
    return p;
}

static void check_refusals(const struct ks_abi_entry *e, const struct ks_problem *p)
{
    for (int what = 0; what < 5; what++) {
        struct ks_abi_problem q;
        ks_operators[p->op]->to_abi(p, &q);
        q.op = what == 0 ? KS_ABI_GROUPED_CONV : q.op;
        q.direction = what == 1 ? KS_ABI_BACKWARD_DATA : q.direction;
        q.dtype = what == 2 ? 3 : q.dtype;
        q.layout = what == 3 ? KS_ABI_NGCHW : q.layout;
        q.bytes = what == 4 ? 16 : q.bytes;
        const char *why = e->unsupported(&q);
        if (!why || strlen(why) < 10)
            fail_msg("%s accepts what it cannot compute (%d)", e->name, what);
    }
}

static void run_all(const struct ks_abi_entry *const *entries, uint32_t n, uint32_t *n_run_out)
{
    uint64_t rng = 7;
    const bool is_complete = kernel_build_is_complete();
    const uint32_t least = is_complete && kernel_cpu_has_choice("a choice for every product") ? 3
                           : is_complete                                                      ? 1
                                                                                              : 0;
    for (uint32_t k = 0; k < 3 * N_SPECIAL + N_RANDOM; k++) {
        const struct ks_problem p = make_problem(k, &rng);
        struct kernel_case c;
        uint32_t n_able = 0;
        kernel_case_open(&c, &p);
        for (uint32_t i = 0; i < n; i++) {
            if (!entries[i] || entries[i]->unsupported(&c.abi))
                continue;
            kernel_case_run(&c, entries[i]);
            n_run_out[i]++;
            n_able++;
        }
        if (n_able < least)
            fail_msg("%u instances, not %u, for type %u %s", n_able, least, p.dtype, p.name);
        kernel_case_close(&c);
    }
}

static void test_instances(void **state)
{
    struct place *place = *state;
    struct ks_err err;
    struct ks_problem p;
    must(op_case_gemm("", &p, &err), &err);
    kernel_build(place, &p, configs);
    const uint32_t n = place->grid.n_instances;
    const struct ks_abi_entry **entries = calloc(n, sizeof(*entries));
    uint32_t *n_run = calloc(n, sizeof(*n_run));
    assert_true(entries && n_run);
    for (uint32_t i = 0; i < n; i++) {
        entries[i] = kernel_entry(place, i);
        if (entries[i])
            check_refusals(entries[i], &p);
    }
    run_all(entries, n, n_run);
    for (uint32_t i = 0; i < n; i++)
        if (entries[i] && n_run[i] < 10)
            fail_msg("%s ran %u problems only", entries[i]->name, n_run[i]);
    free(entries);
    free(n_run);
}

int main(void)
{
    return kernel_tests_run("kernels_gemm", test_instances);
}
