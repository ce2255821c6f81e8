/* SPDX-License-Identifier: MIT */
/* gpu_sweep.c - samples the GPU instances of configs on problems, against the reference */
#include "base/hash.h"
#include "gpu_case.h"
#include "gpu_emulator.h"
#include "op/conv.h"
#include "op/gemm.h"
#include "op_cases.h"
#include "sanitized.h"

#define N_SAMPLE (IS_SANITIZED ? 1 : 5) /* of each family; tests/kernels.sh runs all */
#define LEAST    2                      /* problems that each instance runs */

/* What sanitizers look for depends on neither the data nor the order of threads. */
static void run_once(const struct gpu_instance *i, const struct kernel_case *c,
                     struct gpu_emulator *e)
{
    e->order = (int)(i->n_run % KS_SIMT_N_ORDERS);
    kernel_case_run_on(c, i->entry, &e->gpu, KS_DATA_RANDOM, NULL);
}

static void run_in_all_orders(const struct gpu_instance *i, const struct kernel_case *c,
                              struct gpu_emulator *e)
{
    const size_t bytes = (size_t)c->n.c * ks_dtype_bytes(c->p.dtype);
    char *first = malloc(bytes), *got = malloc(bytes);
    assert_true(first && got);
    kernel_case_run_on(c, i->entry, &e->gpu, KS_DATA_EXACT, NULL);
    for (e->order = 0; e->order < KS_SIMT_N_ORDERS; e->order++) {
        kernel_case_run_on(c, i->entry, &e->gpu, KS_DATA_RANDOM, e->order ? got : first);
        if (e->order && !i->is_unordered && memcmp(first, got, bytes) != 0)
            kernel_case_fail(c, i->entry, "orders of threads give different bits");
    }
    free(first);
    free(got);
}

void gpu_case_run(struct gpu_instance *i, const struct kernel_case *c)
{
    struct gpu_emulator e = gpu_emulator_of(i->device, i->kernels, i->pool);
    if (IS_SANITIZED)
        run_once(i, c, &e);
    else
        run_in_all_orders(i, c, &e);
    assert_true(e.n_launched > 0);
    i->n_run++;
}

/* --- problems */

#define NO_PADDING "pad_h_lo=0 pad_w_lo=0 pad_h_hi=0 pad_w_hi=0"

static const char *const convolutions[] = {
    "hi=14 wi=14 c_total=64 k_total=64",
    "n=2 g=4 hi=9 wi=11 stride_h=2 stride_w=2 c_total=64 k_total=96",
    /* ragged matrices: rows, columns and sums that fill no tile */
    "n=2 hi=8 wi=8 y=1 x=1 c_total=40 k_total=72 " NO_PADDING,
    "n=2 hi=6 wi=5 c_total=8 k_total=136",
    "hi=9 wi=15 y=1 x=1 c_total=136 k_total=24 " NO_PADDING,
    "n=3 hi=1 wi=1 y=1 x=1 c_total=304 k_total=80 " NO_PADDING,
    "n=2 hi=6 wi=5 c_total=7 k_total=5",
    "hi=13 wi=17 c_total=48 k_total=36 dilation_h=2 dilation_w=3 pad_w_lo=3",
    /* pixels that no tap reaches, a larger filter than the image, more padding than image */
    "hi=9 wi=7 c_total=24 k_total=32 stride_h=4 stride_w=3 y=2 x=2",
    "hi=9 wi=7 y=1 x=1 stride_h=2 stride_w=2 c_total=16 k_total=24 " NO_PADDING,
    "n=2 hi=3 wi=4 y=2 x=1 stride_h=70 stride_w=50 pad_h_lo=72 pad_w_lo=0 pad_w_hi=60 c_total=16 "
    "k_total=16",
    "hi=2 wi=3 y=5 x=7 pad_h_lo=2 pad_h_hi=3 pad_w_lo=4 pad_w_hi=2 c_total=16 k_total=24",
    "hi=2 wi=2 pad_h_lo=4 pad_w_lo=4 pad_h_hi=3 pad_w_hi=5 c_total=16 k_total=32",
    "hi=11 wi=12 stride_h=2 stride_w=3 dilation_h=3 dilation_w=2 pad_h_lo=3 pad_w_hi=2 c_total=32 "
    "k_total=40",
    /* stem, depthwise, small groups */
    "hi=21 wi=19 y=7 x=7 stride_h=2 stride_w=2 pad_h_lo=3 pad_w_lo=3 pad_h_hi=3 pad_w_hi=3 "
    "c_total=3 k_total=64",
    "g=40 c_total=40 k_total=40 hi=8 wi=11 stride_h=2 stride_w=2",
    "g=16 c_total=64 k_total=64 hi=8 wi=9 stride_w=2 dilation_h=2",
    "g=8 c_total=64 k_total=32 hi=5 wi=7 pad_w_hi=3",
    "g=32 c_total=128 k_total=128 hi=9 wi=8 y=1 x=2", /* of few taps: most instances run these */
    "g=32 c_total=256 k_total=256 hi=6 wi=5 y=1 x=2 stride_h=2 dilation_w=2",
    "g=6 c_total=48 k_total=48 hi=6 wi=10 y=2 stride_w=2",
    "n=2 g=24 c_total=72 k_total=120 hi=4 wi=5",
    "g=64 c_total=64 k_total=128 hi=5 wi=4 y=2 stride_h=2",
    "g=8 c_total=16 k_total=32 hi=4 wi=6 y=2",
    /* 1 and 3 dims */
    "ndim=1 n=2 g=3 hi=1 wi=50 y=1 x=4 dilation_w=2 pad_h_lo=0 pad_h_hi=0 c_total=24 k_total=120",
    "ndim=1 hi=1 wi=150 y=1 x=9 pad_h_lo=0 pad_h_hi=0 dilation_w=5 c_total=64 k_total=24",
    "ndim=1 hi=1 wi=40 y=1 x=3 stride_w=2 pad_h_lo=0 pad_h_hi=0 c_total=16 k_total=16",
    "ndim=3 g=2 di=5 hi=6 wi=7 z=3 pad_d_lo=1 pad_d_hi=1 c_total=32 k_total=64",
    "ndim=3 di=4 hi=9 wi=8 z=3 stride_d=2 stride_h=2 dilation_w=2 pad_d_lo=1 pad_w_lo=2 c_total=16 "
    "k_total=40",
    "ndim=3 n=2 di=4 hi=5 wi=6 z=1 y=1 x=1 c_total=32 k_total=16 " NO_PADDING,
};

/* Each with and without transposed operands. */
static const char *const products[] = {
    "m=64 n=96 k=128",  "batch=2 m=72 n=40 k=48", "batch=3 m=29 n=33 k=7",
    "m=136 n=264 k=40", "m=8 n=24 k=600",         "m=1 n=72 k=16",
};

bool gpu_is_of_domain(const struct gpu_instance *i, const struct ks_problem *p)
{
    const struct ks_domain *d = &i->domain;
    return d->i_op == p->op && d->direction == p->direction && d->dtype == p->dtype &&
           d->layout == p->layout &&
           (strcmp(ks_operators[p->op]->name, "gemm") == 0 || d->ndim == 0 ||
            d->ndim == (uint32_t)p->dim[KS_CONV_NDIM]);
}

static struct ks_problem make_problem(const struct ks_domain *d, uint32_t k, uint32_t dtype)
{
    const bool is_gemm = strcmp(ks_operators[d->i_op]->name, "gemm") == 0;
    struct ks_problem p;
    struct ks_err err;
    must(is_gemm ? op_case_gemm(products[k / 4], &p, &err) : op_case(convolutions[k], &p, &err),
         &err);
    if (is_gemm) {
        p.dim[KS_GEMM_TRANS_A] = k % 4 / 2;
        p.dim[KS_GEMM_TRANS_B] = k % 2;
    }
    p.direction = d->direction;
    p.dtype = dtype;
    must(ks_problem_finish(&p, &err), &err);
    return p;
}

static uint32_t n_problems(const struct ks_domain *d)
{
    const bool is_gemm = strcmp(ks_operators[d->i_op]->name, "gemm") == 0;
    return is_gemm ? 4 * sizeof(products) / sizeof(*products)
                   : sizeof(convolutions) / sizeof(*convolutions);
}

static bool is_run(const struct gpu_instance *i, const struct ks_problem *p)
{
    struct ks_abi_problem abi;
    ks_operators[p->op]->to_abi(p, &abi);
    return gpu_is_of_domain(i, p) && !i->entry->unsupported(&abi);
}

static void run_problem(struct gpu_set *s, const struct ks_problem *p)
{
    struct kernel_case c;
    uint32_t i = 0;
    while (i < s->n && !is_run(&s->instances[i], p))
        i++;
    if (i == s->n) /* no need of its reference */
        return;
    kernel_case_open(&c, p);
    for (; i < s->n; i++)
        if (is_run(&s->instances[i], p))
            gpu_case_run(&s->instances[i], &c);
    kernel_case_close(&c);
}

/* What an instance is not made for it refuses, with a reason. */
static void check_refusals(const struct gpu_instance *i)
{
    const struct ks_problem p = make_problem(&i->domain, 0, i->domain.dtype);
    for (int what = 0; what < 6; what++) {
        struct ks_abi_problem q;
        ks_operators[p.op]->to_abi(&p, &q);
        q.op = what == 0 ? KS_ABI_GROUPED_CONV + KS_ABI_GEMM - q.op : q.op;
        q.direction = what == 1 ? (q.direction + 1) % KS_N_DIRECTIONS : q.direction;
        q.direction = what == 2 ? (q.direction + 2) % KS_N_DIRECTIONS : q.direction;
        q.dtype = what == 3 ? (q.dtype + 1) % KS_N_DTYPES : q.dtype;
        q.layout = what == 4 ? KS_ABI_NGCHW : q.layout;
        q.bytes = what == 5 ? 16 : q.bytes;
        const char *why = i->entry->unsupported(&q);
        if (!why || strlen(why) < 10)
            fail_msg("%s accepts what it cannot compute (%d)", i->entry->name, what);
    }
}

void gpu_sweep(struct gpu_set *s)
{
    const struct ks_domain *d = &s->instances[0].domain;
    for (uint32_t i = 0; i < s->n; i++)
        check_refusals(&s->instances[i]);
    for (uint32_t k = 0; k < n_problems(d); k++)
        for (uint32_t dtype = 0; dtype < KS_N_DTYPES; dtype++) {
            const struct ks_problem p = make_problem(d, k, dtype);
            run_problem(s, &p);
        }
    for (uint32_t i = 0; i < s->n; i++)
        if (s->instances[i].n_run < LEAST)
            fail_msg("%s ran %u problems only", s->instances[i].entry->name, s->instances[i].n_run);
}

/* --- a test program */

struct program {
    const char *config;
    struct gpu_set set;
};

static void test_sample(void **state)
{
    const char *sample = getenv("KSWEEP_KERNEL_SAMPLE"), *seed = getenv("KSWEEP_TEST_SEED");
    struct program *p = *state;
    const struct gpu_choice choice = {
        .config = p->config,
        .filter = "",
        .n = !sample                      ? N_SAMPLE
             : strcmp(sample, "all") == 0 ? UINT32_MAX
                                          : (uint32_t)strtoul(sample, NULL, 10),
        .seed = seed ? strtoull(seed, NULL, 10) : 1,
    };
    gpu_set_open(&p->set, &choice);
    gpu_sweep(&p->set);
    print_message("# %u of %u instances of %s\n", p->set.n, p->set.all.n_instances, choice.config);
}

static int close_set(void **state)
{
    struct program *p = *state;
    gpu_set_close(&p->set);
    return 0;
}

int gpu_tests_run(const char *name, const char *config)
{
    struct program p = { .config = config };
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_prestate_setup_teardown(test_sample, NULL, close_set, &p),
    };
    return cmocka_run_group_tests_name(name, tests, NULL, NULL);
}
