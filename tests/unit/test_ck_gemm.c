/* SPDX-License-Identifier: MIT */
/* test_ck_gemm.c - GEMM configs of Composable Kernel: their operations, keys and warp tiles */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
/* cmocka.h wants the four above first. */
#include <cmocka.h>

#include "base/file.h"
#include "grid/family.h"
#include "tests/unit/temp_dir.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define DATA KS_SOURCE_DIR "/tests/data/"

struct place {
    char dir[TEMP_DIR_MAX], path[TEMP_DIR_MAX + 16];
};

static int set_up(void **state)
{
    struct place *x = calloc(1, sizeof *x);

    assert_non_null(x);
    temp_dir_make(x->dir, sizeof(x->dir));
    snprintf(x->path, sizeof x->path, "%s/c.json", x->dir);
    *state = x;
    return 0;
}

static int tear_down(void **state)
{
    struct place *x = *state;

    temp_dir_remove(x->dir);
    free(x);
    return 0;
}
#define G(entries) "{\"tile_config\": {" entries "}}"

static const struct {
    const char *text, *says;
} mistakes[] = {
    { "{\"tile_config\": {}, \"permute_n\": true}", "only preshuffled GEMMs permute n" },
    { "{\"tile_config\": {}, \"permute_n\": 1}", "permute_n" },
    { "{\"tile_config\": {}, \"structured_sparsity\": [true]}", "sparsity is not supported" },
    { "{\"tile_config\": {}, \"comment\": 1}", "comment" },
    { "{\"tile_config\": {}, \"operation\": \"gemm_stream\"}",
      "'gemm_stream' is not known, did you mean 'gemm_streamk'" },
    { "{\"tile_config\": {}, \"streamk_config\": {\"reduction_strategy\": [\"wood\"]}}",
      "streamk_config.reduction_strategy[0]: 'wood' is not a value" },
    { "{\"tile_config\": {}, \"operation\": \"grouped_gemm\", \"streamk_config\": "
      "{\"reduction_strategy\": [\"tree\"]}}",
      "only Stream-K GEMMs have it" },
    { G("\"tile_m\": {\"values\": [64], \"note\": 1}"), "tile_config.tile_m.note" },
    { "{\"tile_config\": {\"tile_m\": {\"values\": [64]}}, \"tunable_params\": {\"tile_m\": "
      "{\"values\": [128]}}}",
      "tunable_params.tile_m: 'tile_m' is given twice" },
    { "{\"tile_config\": {}, \"tunable_params\": {\"tile\": {\"values\": [128]}}}",
      "tunable_params.tile: " },
    { "{\"tile_config\": {}, \"arch_tile_config\": {\"gfx942\": {\"tile_m\": {\"values\": [1]}}}}",
      "arch_tile_config.gfx942.tile_m.values[0]: '1' is not a value" },
    { "{\"tile_config\": {}, \"arch_tile_config\": {\"gfx942\": 1}}",
      "arch_tile_config.gfx942: expected an object" },
#define P(entries) "{\"tile_config\": {}, \"problem\": {" entries "}}"
    { P("\"layout_a\": {\"values\": [\"r\"]}"), "layout_a, layout_b and layout_c go together" },
    { P("\"layout_a\": {\"values\": [\"r\", \"c\"]}"), "expected one value" },
    { P("\"layout_a\": {\"values\": [\"row\"]}"), "'row' is neither r (rows) nor c (columns)" },
    { P("\"layout_a\": \"r\""), "problem.layout_a: expected { \"values\": [..] }" },
    { P("\"layout_a\": {\"values\": [\"r\"]}, \"layout_b\": {\"values\": [\"r\"]}, \"layout_c\": "
        "{\"values\": [\"c\"]}"),
      "'rrc' is not a value of trait 'matrix_layout'" },
    { P("\"datatype_a\": {\"values\": [\"fp8\"]}, \"datatype_b\": {\"values\": [\"bf8\"]}"),
      "A and B of different types" },
    { P("\"datatype\": {\"values\": [\"fp8\"]}, \"datatype_c\": {\"values\": [\"fp8\"]}"),
      "results of type 'fp8' are not supported: those of fp8 are fp16" },
    { P("\"datatype\": {\"values\": [\"int4\"]}"), "'int4' is not a value of trait 'dtype'" },
    { P("\"layout\": {\"values\": [\"rcr\"]}"), "problem.layout" },
    { "{\"tile_config\": {}, \"trait_config\": {\"layout\": {\"values\": [\"rcr\"]}}, "
      "\"problem\": {\"layout_a\": {\"values\": [\"r\"]}, \"layout_b\": {\"values\": [\"r\"]}, "
      "\"layout_c\": {\"values\": [\"r\"]}}}",
      "'layout' is given twice" },
    { "{\"operation\": \"gemm_universal\", \"trait_config\": {}, \"arch_tile_config\": "
      "{\"gfx942\": {\"tile_m\": {\"values\": [64]}}}}",
      "arch_tile_config: has no tiles for arch '': add them" },
    { "{\"tile_config\": {}, \"tunable_params\": {\"k_block_per_cu\": {\"values\": [2]}}, "
      "\"k_block_per_cu\": 1}",
      "k_block_per_cu: 'k_block_per_cu' is given twice" },
    { "{\"tile_config\": {\"tile_m\": {\"min\": 64, \"max\": 128, \"step\": 9223372036854775807}}}",
      "step > 0, all below 2^31" },
};

static void mistakes_are_named(void **state)
{
    const struct place *x = *state;

    for (size_t k = 0; k < sizeof mistakes / sizeof mistakes[0]; k++) {
        struct ks_kernel_set set = { 0 };
        struct ks_err err = { 0 };
        int rc;

        assert_int_equal(ks_file_replace(x->path, mistakes[k].text, strlen(mistakes[k].text), &err),
                         0);
        rc = ks_kernel_set_add(&set, x->path, "", NULL, &err);
        if (rc >= 0 || !strstr(err.text, mistakes[k].says))
            fail_msg("%s: %d '%s', want '%s'", mistakes[k].text, rc, err.text, mistakes[k].says);
        assert_int_equal(set.n_instances, 0);
        ks_kernel_set_release(&set);
    }
}

#define SIZE(name, n) "\"" name "\": {\"values\": [" #n "]}"
#define BARE                                                                                       \
    "{\"tile_config\": {" SIZE("tile_m", 128) ", " SIZE("tile_n", 128) ", " SIZE(                  \
        "tile_k", 128) ", " SIZE("warp_tile_m", 16) ", " SIZE("warp_tile_n", 16) "}}"
#define TRAIT(key, value)                                                                          \
    "{\"tile_config\": {}, \"trait_config\": {\"" key "\": {\"values\": [\"" value "\"]}}}"
#define STRATEGY TRAIT("reduction_strategy", "tree")
#define SHUFFLED TRAIT("pipeline", "preshufflev2")
static const struct {
    const char *folder, *file, *text, *family, *says;
} operations[] = {
    { "gemm_universal/configs", "a.json", BARE, "ck_gemm", NULL },
    { "gemm_streamk/configs", "a.json", BARE, "ck_gemm_streamk", NULL },
    { "gemm_streamk_tile_engine/configs", "a.json", BARE, "ck_gemm_streamk", NULL },
    { "grouped_gemm/configs", "a.json", BARE, "ck_grouped_gemm", NULL },
    { "mx_gemm/configs", "a.json", BARE, "ck_mx_gemm", NULL },
    { "gemm_preshuffle/configs", "a.json", BARE, "ck_gemm_preshuffle", NULL },
    /* the nearest part of the path counts, the file itself first */
    { "mx_gemm/grouped_gemm", "a.json", BARE, "ck_grouped_gemm", NULL },
    { "mx_gemm", "gemm_streamk-small.json", BARE, "ck_gemm_streamk", NULL },
    { "mx_gemms/my_mx_gemm", "a.json", BARE, "ck_gemm", NULL },
    /* what only one has */
    { "x", "a.json", STRATEGY, "ck_gemm_streamk", NULL },
    { "gemm_universal", "a.json", STRATEGY, "ck_gemm_streamk", NULL },
    { "x", "a.json",
      "{\"tile_config\": {}, \"streamk_config\": {\"reduction_strategy\": [\"tree\"]}}",
      "ck_gemm_streamk", NULL },
    { "x", "a.json", SHUFFLED, "ck_gemm_preshuffle", NULL },
    { "x", "a.json", "{\"tile_config\": {}, \"test_params\": {\"group_count\": 4}}",
      "ck_grouped_gemm", NULL },
    { "grouped_gemm", "a.json", STRATEGY, NULL, "trait_config.reduction_strategy" },
    /* said in the file */
    { "mx_gemm", "a.json", "{\"operation\": \"gemm_universal\", \"tile_config\": {}}", "ck_gemm",
      NULL },
    { "gemm_multi_d/configs", "a.json", "{\"operation\": \"gemm_streamk\", \"tile_config\": {}}",
      "ck_gemm_streamk", NULL },
    { "x", "a.json",
      "{\"operation\": \"grouped_gemm\", \"_note\": 1, \"tile_config\": {}, "
      "\"tunable_params\": {\"tile_m\": {\"values\": [64]}, \"pipeline\": "
      "{\"values\": [\"mem\"]}}}",
      "ck_grouped_gemm", NULL },
    /* other operations compute something else */
    { "gemm_multi_d/configs", "a.json", BARE, NULL,
      "by its path this is a config of gemm_multi_d" },
    { "grouped_gemm_quant/grouped_gemm_tensorquant/configs", "a.json", BARE, NULL,
      "by its path this is a config of grouped_gemm_tensorquant" },
    { "batched_gemm", "a.json", BARE, NULL, "by its path this is a config of batched_gemm" },
    { "mx_gemm", "a.json", "{\"variant\": \"3d_fwd\"}", "ck", NULL },
};

/* The files do not say which operation they are of: the folder does, or what only one has. */
static void operations_are_told_apart(void **state)
{
    const struct place *x = *state;

    for (size_t k = 0; k < sizeof operations / sizeof operations[0]; k++) {
        struct ks_kernel_set set = { 0 };
        struct ks_err err = { 0 };
        char dir[256], path[320];
        int rc;

        snprintf(dir, sizeof dir, "%s/%s", x->dir, operations[k].folder);
        snprintf(path, sizeof path, "%s/%s", dir, operations[k].file);
        assert_int_equal(ks_mkdirs(dir, 0700, &err), 0);
        assert_int_equal(
            ks_file_replace(path, operations[k].text, strlen(operations[k].text), &err), 0);
        rc = ks_kernel_set_add(&set, path, "", NULL, &err);
        if (rc < 0 && (!operations[k].says || !strstr(err.text, operations[k].says)))
            fail_msg("%s/%s: %s", operations[k].folder, operations[k].file, err.text);
        if (rc == 0 &&
            (!operations[k].family || strcmp(set.families[0].name, operations[k].family) != 0))
            fail_msg("%s/%s: %s", operations[k].folder, operations[k].file, set.families[0].name);
        assert_int_equal(set.n_instances > 0, rc == 0);
        ks_kernel_set_release(&set);
    }
}

/* How many can run, as far as this is known without the kernels. */
static uint32_t n_for_arch(const char *file, const char *arch, uint32_t *n_all)
{
    struct ks_kernel_set set = { 0 };
    struct ks_err err = { 0 };
    struct ks_buf flags;
    uint32_t n = 0;
    char path[256];

    ks_buf_init(&flags);
    snprintf(path, sizeof path, DATA "ck/%s", file);
    if (ks_kernel_set_arch(&set, arch, &flags, &err) < 0 ||
        ks_kernel_set_add(&set, path, "", NULL, &err) < 0)
        fail_msg("%s", err.text);
    for (uint32_t i = 0; i < set.n_instances; i++)
        n += strstr(set.instances[i].missing, "no kernel of its own") != NULL;
    *n_all = set.n_instances;
    ks_buf_release(&flags);
    ks_kernel_set_release(&set);
    return n;
}

/* Large configs take the paths of small ones, which is all that matters to sanitizers. */
#ifdef KSWEEP_SANITIZED
#define N_LARGEST 5000
#else
#define N_LARGEST UINT32_MAX
#endif

/* Warp tiles are those that the arch's matrix units have for the type; a config may have tiles of
 * its own for an arch. The counts are those of an evaluation in Python. */
static void warp_tiles_follow_the_arch(void **state)
{
    static const struct {
        const char *file, *arch;
        uint32_t n, n_all;
    } rows[] = {
        { "gemm_streamk_tile_engine/configs/range.json", "gfx942", 3696, 106488 },
        { "gemm_preshuffle/configs/range.json", "gfx942", 456, 48960 },
        { "gemm_arch.json", "gfx942", 15, 48 },
        { "gemm_arch.json", "gfx1250", 6, 6 },
        { "gemm_arch.json", "gfx1201", 0, 48 },      /* four waves are not as many as it wants */
        { "gemm_problem.json", "gfx942", 108, 144 }, /* 32x32x16 of fp8 */
        { "gemm_problem.json", "gfx90a", 0, 144 },
        { "mx_gemm/configs/gfx1250.json", "gfx1250", 8, 8 },
        { "mx_gemm/configs/gfx1250.json", "gfx950", 0, 8 },
        { "mx_gemm/configs/default.json", "gfx942", 0, 576 },
    };

    (void)state;
    for (size_t k = 0; k < sizeof rows / sizeof rows[0]; k++) {
        uint32_t n_all = 0, n;

        if (rows[k].n_all > N_LARGEST)
            continue;
        n = n_for_arch(rows[k].file, rows[k].arch, &n_all);
        if (n != rows[k].n || n_all != rows[k].n_all)
            fail_msg("%s on %s: %u of %u", rows[k].file, rows[k].arch, n, n_all);
    }
}

static bool has_limit(const struct ks_family *f, const struct ks_inability *want)
{
    for (uint32_t k = 0; k < f->n_inabilities; k++)
        if (strcmp(f->inabilities[k].when, want->when) == 0 &&
            strcmp(f->inabilities[k].why, want->why) == 0)
            return true;
    return false;
}

/* Waves of a block and warp tiles are the arch's, so the families must say the same of them. */
static void families_agree_on_archs(void **state)
{
    static const char *const others[] = { "gemm_streamk", "grouped_gemm" };
    struct ks_family *plain = calloc(1, sizeof *plain), *f = calloc(1, sizeof *f);
    struct ks_err err = { 0 };

    (void)state;
    assert_true(plain && f);
    assert_int_equal(ks_family_load(KS_SOURCE_DIR "/kernels/ck/gemm.family.json", plain, &err), 0);
    for (size_t k = 0; k < 2; k++) {
        char path[256];
        uint32_t n = 0;

        snprintf(path, sizeof path, KS_SOURCE_DIR "/kernels/ck/%s.family.json", others[k]);
        assert_int_equal(ks_family_load(path, f, &err), 0);
        for (uint32_t i = 0; i < f->n_inabilities; i++) {
            const struct ks_inability *limit = &f->inabilities[i];

            if (!strstr(limit->when, "warp_"))
                continue;
            if (!has_limit(plain, limit))
                fail_msg("%s: ck_gemm does not say \"%s\"", f->name, limit->when);
            n++;
        }
        assert_true(n > 10);
        ks_family_release(f);
    }
    ks_family_release(plain);
    free(plain);
    free(f);
}
int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(mistakes_are_named),
        cmocka_unit_test(operations_are_told_apart),
        cmocka_unit_test(warp_tiles_follow_the_arch),
        cmocka_unit_test(families_agree_on_archs),
    };

    return cmocka_run_group_tests_name("ck_gemm", tests, set_up, tear_down);
}
