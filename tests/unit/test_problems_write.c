/* SPDX-License-Identifier: MIT */
/* test_problems_write.c - lists written for other programs read back as the same problems */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
/* cmocka.h wants the four above first. */
#include <cmocka.h>

#include "base/hash.h"
#include "cmd/problems_write.h"
#include "op/conv.h"
#include "profiler/ck_arguments.h"

#include <string.h>

enum { N_RANDOM = 600 };

static int64_t below(uint64_t *state, uint64_t bound)
{
    return (int64_t)ks_rng_below(state, bound);
}

/* One of many shapes; some have paddings that differ, one spatial dim, or a layout that not every
 * program has. */
static struct ks_problem random_conv(uint64_t *state)
{
    uint32_t conv = 0;
    struct ks_err err;
    struct ks_problem p;
    int64_t *d;

    assert_int_equal(ks_operator_find("grouped_conv", &conv, &err), 0);
    p = ks_problem_blank(conv);
    d = p.dim;
    p.direction = (uint32_t)below(state, KS_N_DIRECTIONS);
    p.dtype = (uint32_t)below(state, KS_N_DTYPES);
    p.layout = (uint32_t)below(state, KS_N_LAYOUTS);
    d[KS_CONV_NDIM] = 1 + below(state, 3);
    d[KS_CONV_N] = 1 + below(state, 64);
    d[KS_CONV_G] = 1 + below(state, 4);
    d[KS_CONV_C_TOTAL] = d[KS_CONV_G] * (1 + below(state, 99));
    d[KS_CONV_K_TOTAL] = d[KS_CONV_G] * (1 + below(state, 99));
    for (int64_t axis = 3 - d[KS_CONV_NDIM]; axis < 3; axis++) {
        d[KS_CONV_DI + axis] = 8 + below(state, 60);
        d[KS_CONV_Z + axis] = 1 + below(state, 4);
        d[KS_CONV_STRIDE_D + axis] = 1 + below(state, 3);
        d[KS_CONV_DILATION_D + axis] = 1 + below(state, 2);
        d[KS_CONV_PAD_D_LO + axis] = below(state, 4);
        d[KS_CONV_PAD_D_HI + axis] = below(state, 8) ? d[KS_CONV_PAD_D_LO + axis] : below(state, 4);
    }
    if (ks_problem_finish(&p, &err) < 0)
        fail_msg("%s", err.text);
    return p;
}

static void read_back(const char *importer, const struct ks_buf *text, struct ks_problem_set *set)
{
    struct ks_err err = { 0 };

    ks_problem_set_init(set);
    for (int i = 0; ks_importers[i]; i++)
        if (strcmp(ks_importers[i]->name, importer) == 0) {
            if (ks_importers[i]->read(set, ks_buf_text(text), text->len, "list", true, &err) < 0)
                fail_msg("%s: %s", importer, err.text);
            assert_true(ks_importers[i]->sniff(ks_buf_text(text), text->len));
            return;
        }
    fail_msg("no importer %s", importer);
}

static void check_form(const struct ks_problem_set *set, const struct ks_problems_target *t,
                       const char *importer, uint64_t least)
{
    struct ks_problems_written w = { 0 };
    struct ks_problem_set again;
    struct ks_buf text;
    struct ks_err err;

    ks_buf_init(&text);
    assert_int_equal(ks_problems_write(set, t, &text, &w, &err), 0);
    assert_int_equal(w.n_written + w.n_left_out, set->n);
    assert_int_equal(w.n_of[0] + w.n_of[1] + w.n_of[2], w.n_written);
    assert_true(w.n_written >= least);
    read_back(importer, &text, &again);
    assert_int_equal(again.n, w.n_written);
    for (uint32_t i = 0; i < again.n; i++)
        if (ks_problem_set_find(set, ks_problem_table_id(&again.problems, i)) < 0)
            fail_msg("%s, problem %u was not written", importer, i);
    ks_problem_set_release(&again);
    ks_buf_release(&text);
}

static void test_same_ids(void **state)
{
    static const struct {
        struct ks_problems_target target;
        const char *importer;
        uint64_t least; /* written of N_RANDOM */
    } rows[] = {
        { { .form = KS_TO_CK_PROFILER, .ck_version = KS_CK_2024 }, "ckprofiler", 480 },
        { { .form = KS_TO_CK_PROFILER, .ck_version = KS_CK_2025 }, "ckprofiler", 590 },
        { { .form = KS_TO_CK_PROFILER, .ck_version = KS_CK_2026 }, "ckprofiler", 590 },
        { { .form = KS_TO_CK_CONFIG, .ck_version = KS_CK_2024 }, "ck-config", 480 },
        { { .form = KS_TO_CK_CONFIG, .ck_version = KS_CK_2025 }, "ck-config", 590 },
        { { .form = KS_TO_MIOPEN }, "miopen", 250 },
        { { .form = KS_TO_CK_CSV }, "ck", 110 },
        { { .form = KS_TO_CSV }, "csv", 590 },
    };
    struct ks_problem_set set;
    uint64_t seed = 17;
    struct ks_err err;

    (void)state;
    ks_problem_set_init(&set);
    for (int i = 0; i < N_RANDOM; i++) {
        struct ks_problem p = random_conv(&seed);

        assert_int_equal(ks_problem_set_add(&set, &p, &err), 0);
    }
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++)
        check_form(&set, &rows[i].target, rows[i].importer, rows[i].least);
    ks_problem_set_release(&set);
}

static const char replay[] =
    "[{\"op_name\": \"aten::convolution_backward\", \"replay_ir\": {\"list_pos_args\": ["
    "{\"arg_name\": \"grad_output\", \"arg_type\": \"Tensor\", \"value\": {\"shape\": [4, 64, 28, "
    "28], \"dtype\": \"c10::BFloat16\", \"strides\": [50176, 784, 28, 1]}},"
    "{\"arg_name\": \"input\", \"arg_type\": \"Tensor\", \"value\": {\"shape\": [4, 32, 28, 28], "
    "\"dtype\": \"c10::BFloat16\", \"strides\": [25088, 784, 28, 1]}},"
    "{\"arg_name\": \"weight\", \"arg_type\": \"Tensor\", \"value\": {\"shape\": [64, 16, 3, 3], "
    "\"dtype\": \"c10::BFloat16\", \"strides\": [144, 9, 3, 1]}},"
    "{\"arg_name\": \"bias_sizes\", \"value\": null},"
    "{\"arg_name\": \"stride\", \"value\": [1, 1]}, {\"arg_name\": \"padding\", \"value\": [1, 1]},"
    "{\"arg_name\": \"dilation\", \"value\": [1, 1]}, {\"arg_name\": \"transposed\", \"value\": "
    "false}, {\"arg_name\": \"output_padding\", \"value\": [0, 0]}, {\"arg_name\": \"groups\", "
    "\"value\": 2}, {\"arg_name\": \"output_mask\", \"value\": [true, true, false]}],"
    "\"list_kwargs\": []}, \"metadata\": {\"priority_rank\": 3, \"count\": 12}},"
    "{\"op_name\": \"aten::relu\", \"replay_ir\": {\"list_pos_args\": []}, \"metadata\": {}}]";

static void read_replay(struct ks_problem_set *set)
{
    struct ks_err err;

    ks_problem_set_init(set);
    for (int i = 0; ks_importers[i]; i++)
        if (strcmp(ks_importers[i]->name, "pytorch") == 0)
            assert_int_equal(
                ks_importers[i]->read(set, replay, sizeof replay - 1, "r.json", false, &err), 0);
    assert_int_equal(set->n, 2);
}

/* Rank, count and PyTorch's operator survive the config array and the CSV; the summary counts. */
static void test_metadata(void **state)
{
    static const struct ks_problems_target forms[] = {
        { .form = KS_TO_CK_CONFIG, .ck_version = KS_CK_2025 }, { .form = KS_TO_CSV }
    };
    static const char *const importers[] = { "ck-config", "csv" };
    struct ks_problem_set set, again;
    struct ks_problems_written w;
    struct ks_buf text;
    struct ks_err err;

    (void)state;
    read_replay(&set);
    ks_buf_init(&text);
    for (int i = 0; i < 2; i++) {
        ks_buf_clear(&text);
        assert_int_equal(ks_problems_write(&set, &forms[i], &text, &w, &err), 0);
        read_back(importers[i], &text, &again);
        assert_int_equal(again.n, 2);
        for (uint32_t k = 0; k < 2; k++) {
            struct ks_problem p = ks_problem_table_get(&again.problems, k);

            assert_int_equal(again.origins[k].rank, 3);
            assert_int_equal(p.count, 12);
            assert_string_equal(p.name, "aten::convolution_backward");
            assert_int_equal(p.id, ks_problem_table_id(&set.problems, k));
        }
        ks_problem_set_release(&again);
    }
    ks_buf_clear(&text);
    ks_problems_write_summary(&set, &w, &text);
    assert_string_equal(ks_buf_text(&text),
                        "operations   2\nskipped      1\nforward      0\ndata         1\n"
                        "weight       1\nconfigs      2\nleft out     0\n");
    ks_buf_release(&text);
    ks_problem_set_release(&set);
}

/* The converter's code and its README contradict each other; both can be written. */
static void test_compat(void **state)
{
    static const struct {
        struct ks_problems_target target;
        const char *want;
    } rows[] = {
        { { .form = KS_TO_CK_PROFILER, .ck_version = KS_CK_2025, .ck_compat = KS_CK_CODE },
          "./build/bin grouped_conv_bwd_data 1 3 0 1 0 1 2 2 4 32 16 3 3 28 28 1 1 1 1 1 1 1 1 "
          "all\n./build/bin grouped_conv_bwd_weight 1 3 0 1 0 1 2 2 4 32 16 3 3 28 28 1 1 1 1 1 1 "
          "1 1 all\n" },
        { { .form = KS_TO_CK_PROFILER,
            .ck_version = KS_CK_2025,
            .ck_compat = KS_CK_README,
            .program = "a b",
            .max_ops = 1 },
          "'a b/profile_grouped_conv_bwd_data' 1 3 0 1 0 1 2 2 4 32 16 3 3 28 28 1 1 1 1 1 1 1 1 "
          "all\n" },
        { { .form = KS_TO_CK_PROFILER, .ck_version = KS_CK_2025, .max_ops = 1 },
          "ckProfiler grouped_conv_bwd_data 2 3 0 1 0 1 2 2 4 32 16 3 3 28 28 1 1 1 1 1 1 1 1 "
          "0\n" },
    };
    struct ks_problem_set set;

    (void)state;
    read_replay(&set);
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        struct ks_problems_written w;
        struct ks_buf text;
        struct ks_err err;

        ks_buf_init(&text);
        assert_int_equal(ks_problems_write(&set, &rows[i].target, &text, &w, &err), 0);
        assert_string_equal(ks_buf_text(&text), rows[i].want);
        ks_buf_release(&text);
    }
    ks_problem_set_release(&set);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_same_ids),
        cmocka_unit_test(test_metadata),
        cmocka_unit_test(test_compat),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
