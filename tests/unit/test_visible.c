/* SPDX-License-Identifier: MIT */
/* test_visible.c - variables that show a process one device or all */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
/* cmocka.h wants the four above first. */
#include <cmocka.h>

#include "topo/visible.h"

#include <stdio.h>
#include <string.h>

#define TEN(t) t "0," t "1," t "2," t "3," t "4," t "5," t "6," t "7," t "8," t "9,"
#define ALL    TEN("") TEN("1") TEN("2") TEN("3") TEN("4") TEN("5") "60,61,62,63"

static const struct {
    const char *backend;
    const char *lists[KS_VISIBLE_N]; /* ROCR, HIP, CUDA, GPU_DEVICE_ORDINAL */
    int32_t i_device;
    const char *want; /* what is added, one after another */
} rows[] = {
    { "hip", { NULL }, -1, "" },
    { "hip", { NULL }, 3, "ROCR_VISIBLE_DEVICES=3 " },
    { "hip", { "4,6", NULL, NULL, NULL }, -1, "" },
    { "hip", { "4,6", NULL, NULL, NULL }, 1, "ROCR_VISIBLE_DEVICES=6 " },
    { "hip", { "GPU-ab,GPU-cd", NULL, NULL, NULL }, 0, "ROCR_VISIBLE_DEVICES=GPU-ab " },
    /* filtered twice on purpose */
    { "hip", { "4,6", "1", NULL, NULL }, 0, "ROCR_VISIBLE_DEVICES=6 HIP_VISIBLE_DEVICES=0 " },
    { "hip", { NULL, "5,2", NULL, NULL }, 1, "ROCR_VISIBLE_DEVICES=2 HIP_VISIBLE_DEVICES=0 " },
    { "hip", { NULL, NULL, "5,2", NULL }, 0, "ROCR_VISIBLE_DEVICES=5 CUDA_VISIBLE_DEVICES=0 " },
    { "hip",
      { NULL, "", "5,2", NULL },
      0,
      "ROCR_VISIBLE_DEVICES=5 HIP_VISIBLE_DEVICES=0 CUDA_VISIBLE_DEVICES=0 " },
    { "hip", { NULL, "GPU-ab,GPU-cd", NULL, NULL }, 1, "HIP_VISIBLE_DEVICES=GPU-cd " },
    /* as Slurm sets them: the same list in all */
    { "hip",
      { "2,3", NULL, "2,3", "2,3" },
      -1,
      "CUDA_VISIBLE_DEVICES=0,1 GPU_DEVICE_ORDINAL=0,1 " },
    { "hip",
      { "2,3", NULL, "2,3", "2,3" },
      1,
      "ROCR_VISIBLE_DEVICES=3 CUDA_VISIBLE_DEVICES=0 GPU_DEVICE_ORDINAL=0 " },
    { "sim",
      { "1", NULL, "1", "1" },
      0,
      "ROCR_VISIBLE_DEVICES=1 CUDA_VISIBLE_DEVICES=0 GPU_DEVICE_ORDINAL=0 " },
    /* a node of eight GPUs in eight partitions each */
    { "hip", { ALL, NULL, ALL, NULL }, -1, "CUDA_VISIBLE_DEVICES=" ALL " " },
    { "hip", { ALL, NULL, ALL, NULL }, 63, "ROCR_VISIBLE_DEVICES=63 CUDA_VISIBLE_DEVICES=0 " },
    { "cuda", { "7", NULL, "2,3", NULL }, -1, "" },
    { "cuda", { "7", NULL, "2,3", NULL }, 1, "CUDA_VISIBLE_DEVICES=3 " },
    { "cuda", { NULL }, 2, "CUDA_VISIBLE_DEVICES=2 " },
    { "cuda", { NULL, NULL, "MIG-1,MIG-2", NULL }, 1, "CUDA_VISIBLE_DEVICES=MIG-2 " },
};

static void one_device_or_all(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        struct ks_visible_env e;
        char got[512] = "";

        ks_visible_env(ks_backend_find(rows[i].backend), rows[i].lists, rows[i].i_device, &e);
        for (uint32_t k = 0; k < e.n; k++) {
            size_t at = strlen(got);
            snprintf(got + at, sizeof(got) - at, "%s ", e.text[k]);
        }
        assert_string_equal(got, rows[i].want);
    }
}

static void text_names_what_is_set(void **state)
{
    static const char *const none[KS_VISIBLE_N] = { NULL };
    static const char *const some[KS_VISIBLE_N] = { "0,1", NULL, "", NULL };
    char text[64] = "x";

    (void)state;
    ks_visible_text(none, text, sizeof(text));
    assert_string_equal(text, "");
    ks_visible_text(some, text, sizeof(text));
    assert_string_equal(text, "ROCR_VISIBLE_DEVICES=0,1 CUDA_VISIBLE_DEVICES=");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(one_device_or_all),
        cmocka_unit_test(text_names_what_is_set),
    };

    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests_name("visible", tests, NULL, NULL);
}
