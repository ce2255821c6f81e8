/* SPDX-License-Identifier: MIT */
/* test_ck.c - configs and names of Composable Kernel */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
/* cmocka.h wants the four above first. */
#include <cmocka.h>

#include "base/file.h"
#include "base/hash.h"
#include "grid/family.h"
#include "tests/unit/temp_dir.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define DATA KS_SOURCE_DIR "/tests/data/"

/* sha256sum of `LC_ALL=C sort` over the 1,216 names that the rules of version 398d9851 expand to.
 */
#define FORWARD_2D_DIGEST "df55ffc5afd6e14cb1c49a326ce8961a82e1dd44ddc46c5bb8fc59d3845f032c"

static int by_text(const void *a, const void *b)
{
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

static void add(struct ks_kernel_set *set, const char *path)
{
    struct ks_err err = { 0 };

    if (ks_kernel_set_add(set, path, "", NULL, &err) < 0)
        fail_msg("%s", err.text);
}

/* The set's names, sorted, one per line. */
static void list_names(const struct ks_kernel_set *set, struct ks_buf *out)
{
    const char **names = calloc(set->n_instances + 1, sizeof *names);

    assert_non_null(names);
    for (uint32_t i = 0; i < set->n_instances; i++)
        names[i] = set->instances[i].name;
    qsort(names, set->n_instances, sizeof *names, by_text);
    ks_buf_init(out);
    for (uint32_t i = 0; i < set->n_instances; i++)
        ks_buf_printf(out, "%s\n", names[i]);
    free(names);
}

static void the_published_names_are_listed(void **state)
{
    struct ks_kernel_set set = { 0 };
    struct ks_sha256 h;
    struct ks_buf names;
    uint8_t digest[32];
    char hex[65];

    (void)state;
    add(&set, DATA "ck_forward_2d.json");
    assert_int_equal(set.n_instances, 1216);
    list_names(&set, &names);
    ks_sha256_init(&h);
    ks_sha256_add(&h, names.data, names.len);
    ks_sha256_end(&h, digest);
    for (size_t i = 0; i < sizeof digest; i++)
        snprintf(hex + 2 * i, 3, "%02x", digest[i]);
    assert_string_equal(hex, FORWARD_2D_DIGEST);
    ks_buf_release(&names);
    ks_kernel_set_release(&set);
}

/* A file of the data that are not shipped; the test is skipped where it is absent. */
static void read_data(const char *name, struct ks_buf *out)
{
    const char *dir = getenv("KSWEEP_TEST_DATA");
    struct ks_err err = { 0 };
    char path[1024];

    snprintf(path, sizeof path, "%s/ck/%s", dir ? dir : KS_SOURCE_DIR "/../shared/data", name);
    if (!ks_path_exists(path)) {
        print_message("no file %s: KSWEEP_TEST_DATA names the directory of real data\n", path);
        skip();
    }
    ks_buf_init(out);
    if (ks_file_read(path, out, &err) < 0)
        fail_msg("%s", err.text);
}

static void every_published_name_is_there(void **state)
{
    struct ks_kernel_set set = { 0 };
    struct ks_buf published, names;
    uint32_t n = 0;

    (void)state;
    read_data("ck_kernel_names_forward_2d_expanded.txt", &published);
    add(&set, DATA "ck_forward_2d.json");
    list_names(&set, &names);
    for (char *p = (char *)published.data; *p; n++) {
        size_t len = strcspn(p, "\n");
        char line[256];

        snprintf(line, sizeof line, "%.*s\n", (int)len, p);
        if (!strstr(ks_buf_text(&names), line))
            fail_msg("%s is not listed", line);
        p += len + (p[len] == '\n');
    }
    assert_int_equal(n, set.n_instances);
    ks_buf_release(&names);
    ks_buf_release(&published);
    ks_kernel_set_release(&set);
}

/* Names as they stand in measured data: the old form without a scheduler. */
static void measured_names_are_read(void **state)
{
    struct ks_family *f = calloc(1, sizeof *f);
    struct ks_err err = { 0 };
    struct ks_buf rows;
    uint32_t n = 0;

    (void)state;
    assert_non_null(f);
    read_data("ck_oracle_forward_bf16_gfx950_sample.csv", &rows);
    assert_int_equal(ks_family_load(KS_SOURCE_DIR "/kernels/ck/grouped_conv.family.json", f, &err),
                     0);
    for (const char *p = strchr(ks_buf_text(&rows), '\n'); p && p[1]; p = strchr(p + 1, '\n')) {
        struct ks_instance i = { 0 };
        char name[256];

        snprintf(name, sizeof name, "%.*s", (int)strcspn(p + 1, ","), p + 1);
        if (ks_instance_parse_name(f, name, &i, &err) < 0)
            fail_msg("%s", err.text);
        assert_true(strncmp(i.name, name, strlen(name)) == 0);
        assert_string_equal(i.name + strlen(name), "_intrawave");
        n++;
    }
    assert_int_equal(n, 210);
    ks_buf_release(&rows);
    ks_family_release(f);
    free(f);
}

static const struct {
    const char *file, *first;
    uint32_t n;
} shipped[] = {
    /* 76 pairs of tile and pipeline x 2 schedulers x 2 merges x 2 buffers x 2 images; two stages
     * double backward-weight */
    { "ck_forward_2d.json", "grouped_conv_forward_bf16_2d_16x64x64_basic_v1_intrawave", 1216 },
    { "ck/forward_3d.json", "grouped_conv_forward_bf16_3d_16x64x64_basic_v1_intrawave", 1216 },
    { "ck/bwd_data_2d.json", "grouped_conv_bwd_data_bf16_2d_16x64x64_basic_v1_intrawave", 1216 },
    { "ck/bwd_data_3d.json", "grouped_conv_bwd_data_bf16_3d_16x64x64_basic_v1_intrawave", 1216 },
    { "ck/bwd_weight_2d.json", "grouped_conv_bwd_weight_bf16_2d_16x64x64_basic_v1_intrawave",
      2432 },
    { "ck/bwd_weight_3d.json", "grouped_conv_bwd_weight_bf16_3d_16x64x64_basic_v1_intrawave",
      2432 },
    /* 408 tiles that are whole warp tiles x 2 pipelines x 2 paddings */
    { "ck/gemm_range.json",
      "gemm_universal_fp16_rcr_compv3_cshuffle_intrawave_False_False_False_True_"
      "64x128x32_4x4x1_16x16x16",
      1632 },
    { "ck/gemm_single.json",
      "gemm_universal_fp16_rcr_mem_default_interwave_False_False_False_False_"
      "64x64x64_2x2x1_32x32x32_bpc2",
      1 },
    /* 17,748 tiles x persistent or not x 3 ways of adding up */
    { "ck/gemm_streamk_tile_engine/configs/range.json",
      "gemm_streamk_fp16_rcr_compv3_cshuffle_intrawave_atomic_False_False_False_False_"
      "64x64x64_4x4x1_4x16x8",
      106488 },
    { "ck/gemm_streamk_tile_engine/configs/simple.json",
      "gemm_streamk_fp16_rcr_compv3_default_intrawave_linear_False_False_False_False_"
      "128x128x64_2x2x1_16x16x16",
      4 },
    { "ck/grouped_gemm/configs/ci.json",
      "grouped_gemm_fp16_rcr_compv3_cshuffle_intrawave_False_False_False_False_"
      "64x64x64_2x2x1_16x16x32",
      24 },
    { "ck/mx_gemm/configs/default.json",
      "mx_gemm_fp8_rcr_comp_async_cshuffle_intrawave_False_False_False_False_"
      "64x64x128_4x4x1_16x16x128",
      576 },
    { "ck/mx_gemm/configs/gfx1250.json",
      "mx_gemm_fp8_rcr_comp_tdm_tdm_intrawave_False_False_False_False_"
      "64x64x128_2x2x1_16x16x128",
      8 },
    /* 12,240 of the same tiles have an even number of warp tiles along n */
    { "ck/gemm_preshuffle/configs/range.json",
      "gemm_preshuffle_fp16_rcr_preshufflev2_default_default_False_False_False_True_"
      "64x64x64_4x2x1_4x16x8_permuteN",
      48960 },
    { "ck/gemm_problem.json",
      "gemm_universal_fp8_rrr_compv3_default_intrawave_False_False_False_False_"
      "256x256x64_2x2x1_32x32x16",
      144 },
    { "ck/gemm_arch.json",
      "gemm_universal_fp16_rcr_compv3_cshuffle_intrawave_False_False_False_False_"
      "128x128x64_2x2x1_32x32x16",
      48 },
};

/* Large configs take the paths of small ones, which is all that matters to sanitizers. */
#ifdef KSWEEP_SANITIZED
#define N_LARGEST 5000
#else
#define N_LARGEST UINT32_MAX
#endif

static void the_shipped_shapes_are_read(void **state)
{
    char path[256];

    (void)state;
    for (size_t k = 0; k < sizeof shipped / sizeof shipped[0]; k++) {
        struct ks_kernel_set set = { 0 };

        if (shipped[k].n > N_LARGEST)
            continue;
        snprintf(path, sizeof path, DATA "%s", shipped[k].file);
        add(&set, path);
        if (set.n_instances != shipped[k].n)
            fail_msg("%s: %u instances", shipped[k].file, set.n_instances);
        assert_string_equal(set.instances[0].name, shipped[k].first);
        ks_kernel_set_release(&set);
    }
}

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

static int add_text(const struct place *x, const char *text, const char *filter,
                    struct ks_kernel_set *set, struct ks_err *err)
{
    if (ks_file_replace(x->path, text, strlen(text), err) < 0)
        fail_msg("%s", err->text);
    return ks_kernel_set_add(set, x->path, filter, NULL, err);
}

#define T(entries) "{\"variant\": \"forward\", \"trait_config\": {" entries "}}"
#define G(entries) "{\"tile_config\": {" entries "}}"

static void what_is_absent_has_its_meaning(void **state)
{
    static const struct {
        const char *text, *filter;
        uint32_t n;
        const char *some; /* an instance that must be among them */
    } rows[] = {
        /* 6 types x 76 pairs x 2 schedulers */
        { "{\"variant\": \"forward\"}", "", 912,
          "grouped_conv_forward_fp8_2d_128x64x128_mem_interwave" },
        { "{\"variant\": \"bwd_weight\"}", "", 1824,
          "grouped_conv_bwd_weight_fp32_2d_16x64x64_compv4_intrawave_2stage" },
        { "{\"variant\": \"fwd\"}", "dtype == 'bf16' and pipeline == 'compv4'", 12,
          "grouped_conv_forward_bf16_2d_64x64x128_compv4_interwave" },
        { "{\"variant\": \"bwdd\"}", "data_type == 'bf16' and scheduler == 'intrawave'", 76,
          "grouped_conv_bwd_data_bf16_2d_64x64x128_comp_async_intrawave" },
        { "{\"variant\": \"3d_bwdw\"}", "dtype == 'bf16' and not two_stage", 152,
          "grouped_conv_bwd_weight_bf16_3d_64x64x128_mem_interwave" },
        { "{\"variant\": \"2d_fwd\", \"trait_config\": {\"ndim_spatial\": {\"values\": [2]}}}", "",
          912, "grouped_conv_forward_int8_2d_64x64x64_mem_interwave" },
        { T("\"ndim_spatial\": {\"values\": [2, 3]}, \"data_type\": {\"values\": [\"fp16\"]}"), "",
          304, "grouped_conv_forward_fp16_3d_64x64x64_mem_interwave" },
        { T("\"num_groups_to_merge\": {\"values\": [4]}"), "c.variant == 'forward'", 912,
          "grouped_conv_forward_int8_2d_64x64x64_mem_interwave_gm4" },
        { "{\"variant\": \"forward\", \"tile_config\": {\"tile_m\": {\"values\": [16, 128]}, "
          "\"wave_n\": {\"min\": 4, \"max\": 4, \"step\": 1}}}",
          "dtype == 'bf16'", 46, /* 16x64x64, 16x64x128 x 8 and 128x128x64 x 7, x 2 */
          "grouped_conv_forward_bf16_2d_128x128x64_mem_interwave" },
        { G("\"tile_m\": {\"min\": 64, \"max\": 256, \"step\": 256}"), "", 1,
          "gemm_universal_fp16_rcr_compv3_cshuffle_intrawave_False_False_False_False_"
          "64x128x64_2x2x1_32x32x16" },
    };

    for (size_t k = 0; k < sizeof rows / sizeof rows[0]; k++) {
        struct ks_kernel_set set = { 0 };
        struct ks_err err = { 0 };
        bool is_there = false;

        if (add_text(*state, rows[k].text, rows[k].filter, &set, &err) < 0)
            fail_msg("%s: %s", rows[k].text, err.text);
        for (uint32_t i = 0; i < set.n_instances; i++)
            is_there |= strcmp(set.instances[i].name, rows[k].some) == 0;
        if (set.n_instances != rows[k].n || !is_there)
            fail_msg("%s: %u instances, want %u with %s", rows[k].text, set.n_instances, rows[k].n,
                     rows[k].some);
        ks_kernel_set_release(&set);
    }
}

static const struct {
    const char *text, *says;
} mistakes[] = {
    { "{\"variant\": \"forwards\"}",
      "c.json:1: variant: 'forwards' is not a value of trait 'direction', did you mean 'forward'" },
    { "{\"variant\": \"4d_fwd\"}", "'4d_fwd' is not a value of trait 'direction'" },
    { "{\"variant\": \"d_fwd\"}", "'d_fwd' is not a value of trait 'direction'" },
    { "{\"variant\": \"\"}", "'' is not a value of trait 'direction'" },
    { "{\"variant\": 1}", "variant" },
    { "{\"trait_config\": {}}", "key 'variant' is missing" },
    { "{\"variant\": \"forward\", \"trait_confg\": {}}", "trait_config" },
    { "{\"variant\": \"forward\", \"k_block_per_cu\": 1}", "k_block_per_cu" },
    { "{\"variant\": \"forward\", \"trait_config\": []}", "expected an object" },
    { "{\"variant\": \"3d_fwd\", \"trait_config\": {\"ndim_spatial\": {\"values\": [2]}}}",
      "'3d_fwd' and ndim_spatial differ" },
    { T("\"pipelines\": {\"values\": [\"mem\"]}"), "did you mean 'pipeline'" },
    { T("\"wave_mode\": {\"values\": [\"intrawave\"]}"), "wave_mode" },
    { T("\"tile_m\": {\"values\": [16]}"), "tile_m" },
    { T("\"dtype\": {\"values\": [\"bf16\"]}"), "dtype" },
    { T("\"pipeline\": [\"mem\"]"), "{ \"values\": [..] } or" },
    { T("\"pipeline\": {\"values\": [\"compv33\"]}"),
      "trait_config.pipeline.values[0]: 'compv33' is not a value of trait 'pipeline', did you "
      "mean" },
    { T("\"pipeline\": {\"value\": [\"mem\"]}"), "did you mean 'values'" },
    { T("\"pipeline\": {\"values\": []}"), "expected at least one value" },
    { T("\"pipeline\": {\"values\": [\"mem\", \"mem\"]}"), "duplicate value 'mem'" },
    { T("\"double_smem_buffer\": {\"values\": [2]}"), "'2' is not a value of trait" },
    { T("\"double_smem_buffer\": {\"values\": [\"no\"]}"), "double_smem_buffer.values[0]" },
    { T("\"explicit_gemm\": {\"values\": [true]}"), "'1' is not a value of trait 'explicit_gemm'" },
    { T("\"two_stage\": {\"values\": [true]}"), "the rules exclude every combination" },
    { T("\"num_groups_to_merge\": {\"values\": [1], \"min\": 1}"), "num_groups_to_merge.min" },
    { T("\"num_groups_to_merge\": {\"min\": 1, \"max\": 3, \"step\": 1}"),
      "'3' is not a value of trait 'num_groups_to_merge'" },
    { "{\"variant\": \"forward\", \"tile_config\": {\"tile_m\": {\"values\": [48]}}}",
      "no tile has tile_m = 48" },
    { "{\"variant\": \"forward\", \"tile_config\": {\"tile_m\": {\"values\": [16]}, "
      "\"tile_n\": "
      "{\"values\": [128]}}}",
      "leaves no value of tile" },
    { "{\"variant\": \"forward\", \"tile_config\": {\"tile_mn\": {\"values\": [16]}}}",
      "did you mean 'tile_m'" },
    { G("\"tile_m\": {\"min\": 64, \"max\": 256}"), "key 'step' is missing" },
    { G("\"tile_m\": {\"min\": 64, \"max\": 256, \"step\": 0}"), "step > 0" },
    { G("\"tile_m\": {\"min\": 64, \"max\": 32, \"step\": 32}"), "min <= max" },
    { G("\"tile_m\": {\"min\": 64, \"max\": 256, \"step\": 32, \"exclude\": [100]}"),
      "tile_config.tile_m.exclude: excludes a value that is not in the range" },
    { G("\"tile_m\": {\"min\": 64, \"max\": 96, \"step\": 32, \"exclude\": [96, 64]}"),
      "tile_config.tile_m.exclude: excludes every value of the range" },
    { G("\"tile_m\": {\"min\": 60, \"max\": 64, \"step\": 1}"), "'60' is not a value of trait" },
    { G("\"tile_m\": {\"min\": 0, \"max\": 5000, \"step\": 1}"), "more than 1024 values" },
    { "{\"tile_config\": {}, \"trait_config\": {\"pad_m\": {\"values\": [\"True\"]}}}",
      "pad_m.values[0]" },
    { "{\"tile_config\": {}, \"k_block_per_cu\": 9}", "'9' is not a value of trait" },
};

static void mistakes_are_named(void **state)
{
    for (size_t k = 0; k < sizeof mistakes / sizeof mistakes[0]; k++) {
        struct ks_kernel_set set = { 0 };
        struct ks_err err = { 0 };
        int rc = add_text(*state, mistakes[k].text, "", &set, &err);

        if (rc >= 0 || !strstr(err.text, mistakes[k].says))
            fail_msg("%s: %d '%s', want '%s'", mistakes[k].text, rc, err.text, mistakes[k].says);
        assert_int_equal(set.n_instances, 0);
        ks_kernel_set_release(&set);
    }
}

static void suffixes_are_read(void **state)
{
    static const char *const names[][2] = {
        { "grouped_conv_forward_bf16_2d_16x64x64_compv3", "intrawave" },
        { "grouped_conv_fwd_bf16_2d_16x64x64_compv3_interwave_gm2_dsb_si", NULL },
        { "grouped_conv_bwdw_fp16_3d_128x64x128_basic_async_v1_interwave_gm2_2stage", NULL },
        { "grouped_conv_bwd_weight_fp16_3d_128x64x128_mem_intrawave_dsb_si_2stage", NULL },
        { "grouped_conv_bwd_data_fp16_1d_64x64x64_compv6_si", "intrawave" },
    };
    static const char *const wrong[] = {
        "grouped_conv_forward_bf16_2d_16x64x64_compv3_intrawave_si_dsb",
        "grouped_conv_forward_bf16_2d_16x64x64_compv3_intrawave_gm1",
        "grouped_conv_forward_bf16_2d_16x64x65_compv3_intrawave",
        "grouped_conv_forward_bf16_2d_16x64x64_compv3_intrawave_",
    };
    struct ks_family *f = calloc(1, sizeof *f);
    struct ks_instance i = { 0 }, back = { 0 };
    struct ks_err err = { 0 };

    (void)state;
    assert_non_null(f);
    assert_int_equal(ks_family_load(KS_SOURCE_DIR "/kernels/ck/grouped_conv.family.json", f, &err),
                     0);
    for (size_t k = 0; k < sizeof names / sizeof names[0]; k++) {
        if (ks_instance_parse_name(f, names[k][0], &i, &err) < 0 ||
            ks_instance_parse_name(f, i.name, &back, &err) < 0)
            fail_msg("%s", err.text);
        assert_memory_equal(&back, &i, sizeof i);
        if (names[k][1] && !strstr(i.name, names[k][1]))
            fail_msg("%s", i.name);
    }
    assert_int_equal(ks_instance_trait(f, &i, "split_image"), 1);
    assert_int_equal(ks_instance_trait(f, &i, "double_smem_buffer"), 0);
    for (size_t k = 0; k < sizeof wrong / sizeof wrong[0]; k++)
        assert_int_equal(ks_instance_parse_name(f, wrong[k], &i, &err), KS_EINVAL);
    ks_family_release(f);
    free(f);
}

static void archs_cannot_run_everything(void **state)
{
    static const char no_kernel[] =
        "family ck has no kernel of its own: name a plug-in that has it";
    static const char within[] = "compute pipelines schedule within a wave";
    static const struct {
        const char *arch, *tail, *missing;
    } rows[] = {
        { "gfx950", "bf16_2d_128x128x64_compv3_intrawave", no_kernel },
        { "gfx942", "bf16_2d_128x128x64_compv3_intrawave",
          "gfx942 does not support blocks of so many waves" },
        { "gfx942", "bf16_2d_64x128x64_compv3_intrawave", no_kernel },
        { "gfx908", "bf16_2d_64x64x64_compv3_intrawave",
          "gfx908 has kernels for fp32 and fp16 only" },
        { "gfx90a", "fp8_2d_64x64x64_compv3_intrawave",
          "gfx90a has no kernels for types of 8 bits" },
        { "gfx90a", "bf16_2d_64x64x64_compv3_interwave", within },
        { "native", "bf16_2d_64x64x64_compv3_interwave", within },
        { "gfx90a", "bf16_2d_64x64x64_mem_interwave", no_kernel },
        { "gfx90a", "bf16_2d_64x64x64_basic_v1_interwave", no_kernel },
        { "gfx950", "bf16_2d_64x64x64_compv4_intrawave", "compv4 needs its second buffer in LDS" },
        /* (64 + 64) rows x 128 x 4 bytes: 64 KiB once, 128 KiB twice */
        { "gfx942", "fp32_2d_64x64x128_compv3_intrawave", no_kernel },
        { "gfx942", "fp32_2d_64x64x128_compv6_intrawave",
          "the tiles do not fit into 64 KiB of LDS" },
        { "gfx950", "fp32_2d_64x64x128_compv6_intrawave", no_kernel },
        { "gfx950", "fp32_2d_128x64x128_compv6_intrawave",
          "the tiles do not fit into 160 KiB of LDS" },
        { "gfx1100", "bf16_2d_64x64x64_compv3_intrawave",
          "family ck does not support arch gfx1100" },
        { "native", "bf16_2d_64x64x64_compv3_intrawave", no_kernel },
    };

    for (size_t k = 0; k < sizeof rows / sizeof rows[0]; k++) {
        struct ks_kernel_set set = { 0 };
        struct ks_err err = { 0 };
        struct ks_buf flags;
        const char *missing = NULL;

        ks_buf_init(&flags);
        if (ks_kernel_set_arch(&set, rows[k].arch, &flags, &err) < 0 ||
            add_text(*state, "{\"variant\": \"forward\"}", "", &set, &err) < 0)
            fail_msg("%s", err.text);
        assert_int_equal(set.n_instances, 912);
        for (uint32_t i = 0; i < set.n_instances; i++)
            if (strcmp(set.instances[i].name + strlen("grouped_conv_forward_"), rows[k].tail) == 0)
                missing = set.instances[i].missing;
        if (!missing || strcmp(missing, rows[k].missing) != 0)
            fail_msg("%s %s: '%s'", rows[k].arch, rows[k].tail, missing ? missing : "absent");
        ks_buf_release(&flags);
        ks_kernel_set_release(&set);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_published_names_are_listed),
        cmocka_unit_test(every_published_name_is_there),
        cmocka_unit_test(measured_names_are_read),
        cmocka_unit_test(the_shipped_shapes_are_read),
        cmocka_unit_test(what_is_absent_has_its_meaning),
        cmocka_unit_test(mistakes_are_named),
        cmocka_unit_test(suffixes_are_read),
        cmocka_unit_test(archs_cannot_run_everything),
    };

    return cmocka_run_group_tests_name("ck", tests, set_up, tear_down);
}
