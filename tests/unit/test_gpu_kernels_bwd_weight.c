/* SPDX-License-Identifier: MIT */
/* test_gpu_kernels_bwd_weight.c - a sample of the GPU family of backward weight on the emulator */
/* A sample of all, and of those whose stores are special. */
/* quick: no */
#include "gpu_case.h"
#include "op/op.h"
#include "op_cases.h"
#include "sanitized.h"

#define CONFIG "gpu_backward_weight.json"

static void open_some(struct gpu_set *s, const char *filter, uint32_t n)
{
    const char *seed = getenv("KSWEEP_TEST_SEED");
    const struct gpu_choice choice = {
        .config = CONFIG, .filter = filter, .n = n, .seed = seed ? strtoull(seed, NULL, 10) : 1
    };
    gpu_set_open(s, &choice);
}

static int close_set(void **state)
{
    gpu_set_close(*state);
    return 0;
}

/* Groups of four channels, one of them more or fewer than what a block computes together. */
static void check_groups(const struct gpu_set *s, const struct gpu_instance *i)
{
    const int merged = gpu_trait(s, i, "merged_groups");
    for (int g = merged - 1; g <= merged + 1; g++) {
        char fields[160];
        struct ks_abi_problem abi;
        struct ks_problem p;
        struct ks_err err;
        snprintf(fields, sizeof(fields), "direction=backward_weight g=%d c_total=%d k_total=%d", g,
                 4 * g, 4 * g);
        must(op_case(fields, &p, &err), &err);
        p.dtype = i->domain.dtype;
        must(ks_problem_finish(&p, &err), &err);
        ks_operators[p.op]->to_abi(&p, &abi);
        const char *why = i->entry->unsupported(&abi);
        if (g == merged ? why != NULL : !why || !strstr(why, "merged_groups"))
            fail_msg("%s, %d groups: %s", i->entry->name, g, why ? why : "accepted");
    }
}

static void test_merged_groups(void **state)
{
    struct gpu_set *s = *state;
    open_some(s, "merged_groups > 1 and ndim == 2", 2);
    for (uint32_t i = 0; i < s->n; i++)
        check_groups(s, &s->instances[i]);
    gpu_sweep(s);
}

static void test_merged_vectors(void **state)
{
    struct gpu_set *s = *state;
    open_some(s, "merged_groups > 1 and vector_c > 1", 2);
    gpu_sweep(s);
}

/* Their sums are in any order: right in all, but other bits perhaps. */
static void check_atomic_adds(struct gpu_set *s, const char *filter)
{
    open_some(s, filter, 1);
    assert_true(s->n == 1 && s->instances[0].is_unordered);
    gpu_sweep(s);
}

static void test_atomic_adds(void **state)
{
    check_atomic_adds(*state, "memory_operation == 'atomic_add' and stages == 1");
}

static void test_atomic_adds_in_two_stages(void **state)
{
    check_atomic_adds(*state, "memory_operation == 'atomic_add' and stages == 2");
}

int main(void)
{
    struct gpu_set s = { .n = 0 };
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_prestate_setup_teardown(test_merged_groups, NULL, close_set, &s),
        cmocka_unit_test_prestate_setup_teardown(test_merged_vectors, NULL, close_set, &s),
        cmocka_unit_test_prestate_setup_teardown(test_atomic_adds, NULL, close_set, &s),
        cmocka_unit_test_prestate_setup_teardown(test_atomic_adds_in_two_stages, NULL, close_set,
                                                 &s),
    };
    const int failed = /* of sanitized ones the sample of all will do */
        IS_SANITIZED ? 0
                     : cmocka_run_group_tests_name("gpu_backward_weight_stores", tests, NULL, NULL);
    return gpu_tests_run("gpu_kernels_bwd_weight", CONFIG) + failed;
}
