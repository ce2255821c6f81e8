/* SPDX-License-Identifier: MIT */
/* test_kernels.c - instances of the forward configs, built as in a job, held to the references */
/* They also refuse what they cannot compute. A sample here, all in tests/kernels.sh host, which
 * also checks that each has code of its own and that every shipped problem has a choice. */
/* quick: no */
#include "kernel_sweep.h"

static const char *const configs[] = {
    "host_forward.json",        "host_forward_3d.json",    "host_forward_bf16.json",
    "host_forward_fp16.json",   "host_forward_ngchw.json", "host_forward_clang.json",
    "host_forward_matrix.json", "host_forward_avx2.json",  NULL
};
static const char *const quick[] = { "host_forward_quick.json", NULL };

static bool is_same_domain(const struct place *p, uint32_t i, uint32_t k)
{
    const struct ks_instance *a = &p->grid.instances[i], *b = &p->grid.instances[k];
    struct ks_domain x, y;
    ks_instance_domain(&p->grid.families[a->i_family], a, &x);
    ks_instance_domain(&p->grid.families[b->i_family], b, &y);
    return x.dtype == y.dtype && x.layout == y.layout && x.ndim == y.ndim;
}

/* Two instances that may meet on one problem are two kernels. */
static void check_code_ids(const struct place *p)
{
    for (uint32_t i = 0; i < p->grid.n_instances; i++) {
        const struct ks_artefact *a = ks_build_artefact(p->build, i);
        if (a->state != KS_ART_READY)
            continue;
        assert_false(ks_id128_is_zero(a->code_id));
        for (uint32_t k = 0; k < i; k++)
            if (is_same_domain(p, i, k) &&
                ks_id128_eq(a->code_id, ks_build_artefact(p->build, k)->code_id))
                fail_msg("%s is %s", p->grid.instances[i].name, p->grid.instances[k].name);
    }
}

/* The small choice is a part of the large one: what holds of this holds of that. */
static void check_quick(struct place *p)
{
    uint64_t ids[256];
    const uint32_t n = p->grid.n_instances;
    assert_true(n <= 256);
    for (uint32_t i = 0; i < n; i++)
        ids[i] = p->grid.instances[i].id;
    forget_grid(p);
    kernel_sweep_open(p, KS_FORWARD, quick);
    for (uint32_t i = 0; i < p->grid.n_instances; i++) {
        uint32_t k = 0;
        while (k < n && ids[k] != p->grid.instances[i].id)
            k++;
        assert_true(k < n);
    }
}

/* One build serves all checks. */
static void test_forward(void **state)
{
    struct place *p = *state;
    kernel_sweep_all(p, KS_FORWARD, configs);
    if (!kernel_build_is_complete())
        return;
    check_code_ids(p);
    check_quick(p);
}

int main(void)
{
    return kernel_tests_run("kernels", test_forward);
}
