/* SPDX-License-Identifier: MIT */
/* test_gpu_operands.c - operands that AMD's offsets do not reach */
/* Operands that the 32-bit offsets of AMD's loads do not reach are refused by the host half, and no
 * others. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
/* cmocka.h wants the four above first. */
#include <cmocka.h>

#include <stdbool.h>
#include <string.h>

#define KS_GPU_TARGET 1
#include "kernels/gpu/gconv_host.h"

/* Of n images of 1024 x 1024 pixels, 32 groups of 32 channels in and 16 out, one tap: an image of
 * the input is 2^30 elements, one of the output half of it. */
static struct ks_abi_problem problem(uint32_t direction, uint32_t dtype, int64_t n)
{
    const struct ks_abi_problem p = { .bytes = sizeof(p),
                                      .op = KS_ABI_GROUPED_CONV,
                                      .direction = direction,
                                      .dtype = dtype,
                                      .n = n,
                                      .g = 32,
                                      .c = 32,
                                      .k = 16,
                                      .in = { 1, 1024, 1024 },
                                      .out = { 1, 1024, 1024 },
                                      .filter = { 1, 1, 1 },
                                      .stride = { 1, 1, 1 },
                                      .dilation = { 1, 1, 1 } };
    return p;
}

static void test_convolutions(void **state)
{
    static const struct {
        uint32_t direction, dtype;
        int64_t n;
        bool is_over;
    } row[] = {
        { KS_ABI_FORWARD, KS_ABI_BF16, 1, false },
        { KS_ABI_FORWARD, KS_ABI_BF16, 2, true },
        { KS_ABI_FORWARD, KS_ABI_FP32, 1, true },
        { KS_ABI_BACKWARD_DATA, KS_ABI_BF16, 3, false },
        { KS_ABI_BACKWARD_DATA, KS_ABI_BF16, 4, true },
        { KS_ABI_BACKWARD_DATA, KS_ABI_FP32, 1, false },
        { KS_ABI_BACKWARD_DATA, KS_ABI_FP32, 2, true },
        { KS_ABI_BACKWARD_WEIGHT, KS_ABI_FP16, 1, false },
        { KS_ABI_BACKWARD_WEIGHT, KS_ABI_FP16, 2, true },
    };
    (void)state;
    for (size_t i = 0; i < sizeof(row) / sizeof(*row); i++) {
        const struct ks_abi_problem p = problem(row[i].direction, row[i].dtype, row[i].n);
        const char *why = ks_gpu_conv_foreign(&p, row[i].direction, row[i].dtype, 2);
        if (row[i].is_over ? !why || !strstr(why, "4 GiB") : why != NULL)
            fail_msg("row %zu: %s", i, why ? why : "accepted");
    }
}

/* The weights are an operand of forward and backward data, and the result of backward weight. */
static void test_weights(void **state)
{
    (void)state;
    for (uint32_t direction = 0; direction < 3; direction++) {
        struct ks_abi_problem p = problem(direction, KS_ABI_FP32, 1);
        p.in[1] = p.in[2] = p.out[1] = p.out[2] = 1;
        p.g = 1;
        p.c = p.k = 32768;
        const char *why = ks_gpu_conv_foreign(&p, direction, KS_ABI_FP32, 2);
        assert_int_equal(why != NULL, direction != KS_ABI_BACKWARD_WEIGHT);
    }
}

/* Products of batches: as many elements as fit, one more, and more than 64 bits could count. */
static void test_limit(void **state)
{
    const int64_t most = KS_BUFFER_BYTES / 4;
    (void)state;
    assert_null(ks_gpu_operand_over(1, most, KS_ABI_FP32));
    assert_non_null(ks_gpu_operand_over(1, most + 1, KS_ABI_FP32));
    assert_null(ks_gpu_operand_over(2, most, KS_ABI_BF16));
    assert_non_null(ks_gpu_operand_over(3, most, KS_ABI_BF16));
    assert_non_null(ks_gpu_operand_over(65535, INT64_C(1) << 60, KS_ABI_FP16));
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(test_convolutions),
                                        cmocka_unit_test(test_weights),
                                        cmocka_unit_test(test_limit) };
    return cmocka_run_group_tests_name("gpu_operands", tests, NULL, NULL);
}
