/* SPDX-License-Identifier: MIT */
/* test_gpu_kernels_large.c - GPU kernels with sizes beyond 32 bits, on the emulator */
/* Of a problem whose tensors have more than 2^31 elements, and whose workspace has, too, the first
 * groups must come out as in a problem of their own. Memory that nobody touches is not there, so
 * that takes a few megabytes. */
/* sanitized: no; the other samples are, and this one takes long. */
/* quick: no */
#include "gpu_case.h"
#include "gpu_emulator.h"
#include "op/op.h"
#include "op_cases.h"

#include <sys/mman.h>

#define GROUPS    65528 /* as many as a grid holds, a multiple of what blocks merge */
#define CHANNELS  64    /* of a group, input and output */
#define PIXELS    "n=2 hi=18 wi=20 y=1 x=2 pad_h_lo=0 pad_h_hi=0 pad_w_lo=1 pad_w_hi=0"
#define N_PIXELS  ((size_t)2 * 18 * 20)
#define N_TAPS    2
#define OVER      ((size_t)1 << 31)
#define GROUP     ((size_t)CHANNELS * CHANNELS * N_TAPS) /* weights of a group */
#define ADD_BLOCK 256 /* sums that a block of the helper of two stages adds */

enum operand { IMAGE, WEIGHTS }; /* input and output are images of the same shape here */

/* Operands a, b and c of a problem of some groups. */
struct tensors {
    float *at[3], *workspace;
    size_t n[3], n_workspace; /* elements */
    size_t row;               /* of a pixel */
};

static float *reserve(size_t n)
{
    void *at = mmap(NULL, n * sizeof(float) + 1, PROT_READ | PROT_WRITE,
                    MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (at == MAP_FAILED)
        fail_msg("%zu elements: no address space; is overcommit off?", n);
    return at;
}

static enum operand operand(uint32_t direction, int i)
{
    const int weights = direction == KS_ABI_BACKWARD_WEIGHT ? 2 : 1;
    return i == weights ? WEIGHTS : IMAGE;
}

static void open_tensors(struct tensors *t, const struct gpu_instance *i,
                         const struct ks_abi_problem *p)
{
    t->row = (size_t)p->g * CHANNELS;
    for (int k = 0; k < 3; k++) {
        t->n[k] = operand(p->direction, k) == WEIGHTS ? (size_t)p->g * GROUP : N_PIXELS * t->row;
        t->at[k] = reserve(t->n[k]);
    }
    t->n_workspace = (size_t)i->entry->workspace_bytes(p) / sizeof(float);
    t->workspace = reserve(t->n_workspace);
}

static void close_tensors(struct tensors *t)
{
    for (int k = 0; k < 3; k++)
        munmap(t->at[k], t->n[k] * sizeof(float) + 1);
    munmap(t->workspace, t->n_workspace * sizeof(float) + 1);
}

/* Element i of the first groups of an operand. */
static float *element(const struct tensors *t, enum operand what, int k, size_t i, size_t groups)
{
    const size_t row = groups * CHANNELS;
    return what == WEIGHTS ? &t->at[k][i] : &t->at[k][i / row * t->row + i % row];
}

static size_t n_elements(enum operand what, size_t groups)
{
    return what == WEIGHTS ? groups * GROUP : N_PIXELS * groups * CHANNELS;
}

static void fill_inputs(const struct tensors *t, uint32_t direction, size_t groups)
{
    for (int k = 0; k < 2; k++) {
        const enum operand what = operand(direction, k);
        for (size_t i = 0; i < n_elements(what, groups); i++)
            *element(t, what, k, i, groups) = (float)((i * 37 + (size_t)k) % 97) / 16 - 3;
    }
}

static void make_problem(uint32_t direction, size_t groups, struct ks_abi_problem *abi_out)
{
    char fields[200];
    struct ks_problem p;
    struct ks_err err;
    snprintf(fields, sizeof(fields), "%s g=%zu c_total=%zu k_total=%zu", PIXELS, groups,
             groups * CHANNELS, groups * CHANNELS);
    must(op_case(fields, &p, &err), &err);
    p.direction = direction;
    must(ks_problem_finish(&p, &err), &err);
    ks_operators[p.op]->to_abi(&p, abi_out);
}

/* Computes the first groups, which a block has together. */
static void run_first(const struct gpu_instance *i, const struct ks_abi_problem *p,
                      struct tensors *t, size_t groups)
{
    struct gpu_emulator e = gpu_emulator_of(i->device, i->kernels, i->pool);
    const char *why = i->entry->unsupported(p);
    if (why)
        fail_msg("%s: %s", i->entry->name, why);
    open_tensors(t, i, p);
    fill_inputs(t, p->direction, groups);
    const struct ks_abi_buffers buf = { t->at[0], t->at[1], t->at[2], t->workspace, NULL, &e.gpu };
    e.y_most = 1;
    e.helper_x_most = (uint32_t)(groups * GROUP / ADD_BLOCK);
    assert_int_equal(i->entry->run(p, &buf), 0);
}

static void check(const struct gpu_set *s, const struct gpu_instance *i)
{
    const uint32_t direction = i->domain.direction;
    const size_t groups = (size_t)gpu_trait(s, i, "merged_groups");
    const enum operand what = operand(direction, 2);
    struct ks_abi_problem large, small;
    struct tensors of_large, of_small;
    size_t n_wrong = 0, n_zero = 0;
    make_problem(direction, GROUPS, &large);
    make_problem(direction, groups, &small);
    run_first(i, &large, &of_large, groups);
    run_first(i, &small, &of_small, groups);
    assert_true(of_large.n[0] > OVER);
    for (size_t k = 0; k < n_elements(what, groups); k++) {
        const float want = *element(&of_small, what, 2, k, groups);
        n_wrong += *element(&of_large, what, 2, k, groups) != want;
        n_zero += want == 0;
    }
    close_tensors(&of_small);
    close_tensors(&of_large);
    if (n_wrong > 0 || n_zero > n_elements(what, groups) / 4)
        fail_msg("%s: %zu of %zu elements are others in a large problem (%zu are zero)",
                 i->entry->name, n_wrong, n_elements(what, groups), n_zero);
}

static void check_all(const char *config, const char *filter, bool has_workspace)
{
    const struct gpu_choice choice = { .config = config, .filter = filter, .n = 2, .seed = 1 };
    struct ks_abi_problem p;
    struct gpu_set s;
    gpu_set_open(&s, &choice);
    assert_true(s.n > 0);
    make_problem(s.instances[0].domain.direction, GROUPS, &p);
    for (uint32_t i = 0; i < s.n; i++) {
        const size_t bytes = (size_t)s.instances[i].entry->workspace_bytes(&p);
        assert_true(has_workspace ? bytes / sizeof(float) > OVER : bytes == 0);
        check(&s, &s.instances[i]);
    }
    gpu_set_close(&s);
}

#define OF                                                                                         \
    "dtype == 'fp32' and warp_tile == 'simt' and ndim == 2 and specialization == 'default' and "

static void test_forward(void **state)
{
    (void)state;
    check_all("gpu_forward.json", OF "tile_m == 64 and merged_groups in [1, 2]", false);
}

static void test_backward_data(void **state)
{
    (void)state;
    check_all("gpu_backward_data.json", OF "tile_m == 64 and merged_groups in [1, 4]", false);
}

static void test_backward_weight(void **state)
{
    (void)state;
    check_all("gpu_backward_weight.json",
              OF "tile_m == 64 and merged_groups in [1, 2] and stages == 1 and split_k == 1",
              false);
}

static void test_parts_of_backward_weight(void **state)
{
    (void)state;
    check_all("gpu_backward_weight.json",
              OF "tile_m <= 64 and stages == 2 and split_k >= 8 and memory_operation == 'set'",
              true);
}

/* --- strides */

static void stride_problem(const char *fields, struct ks_abi_problem *abi_out)
{
    struct ks_problem p;
    struct ks_err err;
    must(op_case(fields, &p, &err), &err);
    p.direction = KS_ABI_BACKWARD_DATA;
    must(ks_problem_finish(&p, &err), &err);
    ks_operators[p.op]->to_abi(&p, abi_out);
}

/* Only pixels make work, however far apart the windows are; too many kinds of them are refused. */
static void test_strides_beyond_the_image(void **state)
{
    const struct gpu_choice choice = { .config = "gpu_backward_data.json",
                                       .filter = OF "merged_groups == 1 and vector_a == 1",
                                       .n = 1,
                                       .seed = 1 };
    float a[16] = { 0 }, b[64] = { 0 }, c[3 * 5 * 4];
    struct ks_abi_problem p;
    struct gpu_set s;
    (void)state;
    gpu_set_open(&s, &choice);
    struct gpu_emulator e =
        gpu_emulator_of(s.instances[0].device, s.instances[0].kernels, s.instances[0].pool);
    const struct ks_abi_buffers buf = { a, b, c, NULL, NULL, &e.gpu };
    memset(c, 0xff, sizeof(c));
    stride_problem("hi=3 wi=5 y=1 x=1 stride_h=100000000 stride_w=200000000 pad_h_lo=1 pad_w_lo=2 "
                   "c_total=4 k_total=4",
                   &p);
    assert_null(s.instances[0].entry->unsupported(&p));
    assert_int_equal(s.instances[0].entry->run(&p, &buf), 0);
    assert_int_equal(e.n_launched, 1);
    for (size_t i = 0; i < sizeof(c) / sizeof(*c); i++)
        assert_true(c[i] == 0);
    stride_problem("hi=80 wi=80 y=1 x=1 stride_h=80 stride_w=80", &p);
    assert_non_null(strstr(s.instances[0].entry->unsupported(&p), "phases"));
    gpu_set_close(&s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_forward),
        cmocka_unit_test(test_backward_data),
        cmocka_unit_test(test_backward_weight),
        cmocka_unit_test(test_parts_of_backward_weight),
        cmocka_unit_test(test_strides_beyond_the_image),
    };
    return cmocka_run_group_tests_name("gpu_kernels_large", tests, NULL, NULL);
}
