/* SPDX-License-Identifier: MIT */
/* test_worker_gpu_judge.c - the judge of kernels/gpu on the emulator ends cells as the host does */
/* Every type, direction, layout and operator. */
#include "gpu_emulator.h"
#include "gpu_judge_kit.h"
#include "op_cases.h"
#include "worker_rig.h"

#include <math.h>
#include <stddef.h>

static const struct ks_fault_plan no_fault = { .slot = KS_FAULT_NONE };

struct bench {
    struct shared *s;
    struct judges *j;
};

/* ---- kernels that compute every problem: the host's own reference */

static const char *any(const struct ks_abi_problem *p)
{
    (void)p;
    return NULL;
}

static int64_t no_workspace(const struct ks_abi_problem *p)
{
    (void)p;
    return 0;
}

static const struct ks_workset *set_of(const struct ks_abi_problem *p)
{
    return (const struct ks_workset *)(const void *)((const char *)p -
                                                     offsetof(struct ks_workset, abi));
}

static int right(const struct ks_abi_problem *p, const struct ks_abi_buffers *b)
{
    const struct ks_workset *set = set_of(p);
    double *r = malloc((size_t)set->extents.c * sizeof(*r));
    int rc = set->op->reference(&set->problem, b->a, b->b, r, NULL, NULL);

    ks_elements_round(r, set->extents.c, set->problem.dtype, b->c);
    free(r);
    return rc;
}

/* Every seventh element from the third on, and the last one. */
static int wrong(const struct ks_abi_problem *p, const struct ks_abi_buffers *b)
{
    const struct ks_workset *set = set_of(p);
    const uint32_t dtype = set->problem.dtype;
    int rc = right(p, b);

    for (int64_t i = 3; i < set->extents.c; i += 7)
        ks_element_set(b->c, i, dtype, 3.0 + ks_element_get(b->c, i, dtype));
    ks_element_set(b->c, set->extents.c - 1, dtype, (double)INFINITY);
    return rc;
}

/* Right on integers. */
static int coarse(const struct ks_abi_problem *p, const struct ks_abi_buffers *b)
{
    const struct ks_workset *set = set_of(p);
    const uint32_t dtype = set->problem.dtype;
    int rc = right(p, b);

    for (int64_t i = 0; i < set->extents.c; i += 5) {
        double v = ks_element_get(b->c, i, dtype);

        if (b->a == ks_zone_device(&set->zone[KS_Z_REAL_A]))
            ks_element_set(b->c, i, dtype, v * (1.0 + 0x1p-6));
    }
    return rc;
}

static int unwritten(const struct ks_abi_problem *p, const struct ks_abi_buffers *b)
{
    const struct ks_workset *set = set_of(p);
    double was = ks_element_get(b->c, set->extents.c / 2, set->problem.dtype);
    int rc = right(p, b);

    ks_element_set(b->c, set->extents.c / 2, set->problem.dtype, was);
    return rc;
}

static const struct ks_abi_entry kernels[] = { { "right", any, no_workspace, right },
                                               { "wrong", any, no_workspace, wrong },
                                               { "coarse", any, no_workspace, coarse },
                                               { "unwritten", any, no_workspace, unwritten } };
#define N_KERNELS (sizeof(kernels) / sizeof(kernels[0]))

/* ---- problems */

static const char *const convolutions[] = {
    "n=2 hi=6 wi=5 c_total=7 k_total=5",
    "n=3 g=3 hi=7 wi=6 c_total=9 k_total=12 stride_h=2 dilation_w=2 pad_w_lo=2",
    "ndim=3 g=2 di=4 hi=3 wi=5 z=2 c_total=4 k_total=6 stride_d=2",
};
static const char *const products[] = { "batch=3 m=9 n=11 k=7", "m=5 n=70 k=33" };

static void make_problem(size_t i, struct ks_problem *out)
{
    static const char *const dtypes[] = { "fp32", "fp16", "bf16" };
    const size_t n = sizeof(convolutions) / sizeof(*convolutions);
    struct ks_err err;
    char text[200];

    if (i % 5 < n) {
        snprintf(text, sizeof(text), "%s dtype=%s direction=%s layout=%s", convolutions[i % 5],
                 dtypes[i / 5 % 3], ks_direction_name((uint32_t)(i / 15 % 3)),
                 ks_layout_name((uint32_t)(i / 45)));
        must(op_case(text, out, &err), &err);
    } else {
        snprintf(text, sizeof(text), "%s dtype=%s trans_a=%zu trans_b=%zu", products[i % 5 - n],
                 dtypes[i / 5 % 3], i / 15 % 2, i / 30 % 2);
        must(op_case_gemm(text, out, &err), &err);
    }
}

/* One cell in a worker of its own. */
static void run_one(const struct bench *b, const struct ks_problem *p, const char *kernel,
                    const struct gpu_instance *judge, struct ks_record *out)
{
    struct gpu_emulator e = gpu_emulator_of(judge->device, judge->kernels, judge->pool);
    const struct ks_abi_entry *extra[N_KERNELS + 2] = { judge->entry };
    struct rig r;

    for (size_t i = 0; i < N_KERNELS; i++)
        extra[i + 1] = &kernels[i];
    open_rig(&r, b->s, &no_fault);
    r.extra = extra;
    r.gpu = &e.gpu;
    r.w->setup.measure.max_samples = r.w->setup.measure.min_samples;
    r.w->setup.measure.min_sample_us = 1;
    take(&r, p, out == &b->s->f->rec ? NULL : judge->entry->name);
    *out = *run(&r, kernel);
    assert_false(r.w->is_lost);
    if (out != &b->s->f->rec && out->outcome == KS_O_OK) {
        r.scribble = (uint8_t *)r.w->judge.r;
        assert_int_equal(run(&r, kernel)->outcome, KS_O_OUT_OF_BOUNDS);
        assert_int_equal(run(&r, kernel)->outcome, KS_O_OK);
    }
    close_rig(&r);
}

static void check_same(const char *kernel, const struct ks_record *a, const struct ks_record *b)
{
    if (a->outcome != b->outcome)
        print_error("%s: %u (%s), %u (%s)\n", kernel, a->outcome, a->reason, b->outcome, b->reason);
    assert_int_equal(a->outcome, b->outcome);
    assert_string_equal(a->reason, b->reason);
    assert_true(a->exact_check == b->exact_check && a->tolerance_check == b->tolerance_check);
    assert_int_equal(a->n_wrong, b->n_wrong);
    assert_int_equal(a->n_zero, b->n_zero);
    assert_int_equal(a->bitwise_reproducible, b->bitwise_reproducible);
    assert_int_equal(a->n_mismatches, b->n_mismatches);
    assert_int_equal(a->n_box, b->n_box);
    /* R and A in another order are off by as much as doubles are */
    assert_true(fabs(a->max_error - b->max_error) <= 1e-6 * (1.0 + a->max_error));
}

/* Every value of everything occurs: of sanitized ones once, of the others in more combinations. */
#ifdef KSWEEP_SANITIZED
#define STEP 8
#else
#define STEP 4
#endif

static void test_as_the_host(void **state)
{
    static const uint32_t outcomes[N_KERNELS] = { KS_O_OK, KS_O_WRONG_RESULT, KS_O_WRONG_RESULT,
                                                  KS_O_WRONG_RESULT };
    const struct bench *b = *state;
    struct ks_record *by_host = &b->s->f->rec, *by_judge = &b->s->f->rec2;

    for (size_t i = 0; i < 90; i += STEP) {
        struct ks_problem p;
        size_t k = 1 + i / 4 % (N_KERNELS - 1);

        make_problem(i, &p);
        for (size_t turn = 0; turn < 2; turn++, k = 0) { /* a bad one and the right one */
            run_one(b, &p, kernels[k].name, b->j->of[p.dtype], by_host);
            run_one(b, &p, kernels[k].name, b->j->of[p.dtype], by_judge);
            assert_int_equal(by_host->outcome, outcomes[k]);
            check_same(kernels[k].name, by_host, by_judge);
        }
    }
}

static int setup(void **state)
{
    struct bench *b = calloc(1, sizeof(*b));
    void *at = NULL;

    assert_non_null(b);
    assert_int_equal(shared_setup(&at), 0);
    b->s = at;
    assert_int_equal(judges_open(&at), 0);
    b->j = at;
    *state = b;
    return 0;
}

static int teardown(void **state)
{
    struct bench *b = *state;
    void *s = b->s, *j = b->j;

    assert_int_equal(judges_close(&j), 0);
    assert_int_equal(shared_teardown(&s), 0);
    free(b);
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_as_the_host),
    };

    return cmocka_run_group_tests(tests, setup, teardown);
}
