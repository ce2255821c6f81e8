/* SPDX-License-Identifier: MIT */
/* test_t1.c - T1 files: types, filters, computed values, mistakes; spaces come back */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
/* cmocka.h wants the four above first. */
#include <cmocka.h>

#include "base/file.h"
#include "grid/expr.h"
#include "grid/family.h"
#include "grid/grid.h"
#include "grid/t1.h"
#include "tests/unit/fault.h"
#include "tests/unit/temp_dir.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define DATA KS_SOURCE_DIR "/tests/data/t1/"

static void add(struct ks_kernel_set *set, const char *path, const char *filter,
                uint64_t *n_excluded)
{
    struct ks_err err = { 0 };

    if (ks_kernel_set_add(set, path, filter, n_excluded, &err) < 0)
        fail_msg("%s", err.text);
}

/* A published search space, of the data that are not shipped; the test is skipped where it is
 * absent. */
static const char *published(const char *name, char path[1024])
{
    const char *dir = getenv("KSWEEP_TEST_DATA");

    snprintf(path, 1024, "%s/t1-t4/%s", dir ? dir : KS_SOURCE_DIR "/../shared/data", name);
    if (!ks_path_exists(path)) {
        print_message("no file %s: KSWEEP_TEST_DATA names the directory of real data\n", path);
        skip();
    }
    return path;
}

static void all_types_are_read(void **state)
{
    struct ks_kernel_set set = { .arch = "native" };
    const struct ks_family *f;
    uint64_t n_excluded = 0;

    (void)state;
    add(&set, DATA "small.json", "", &n_excluded);
    f = &set.families[0];
    assert_string_equal(f->name, "t1_small_kernel");
    assert_string_equal(f->op, "none");
    assert_string_equal(f->source, "");
    assert_int_equal(f->n_traits, 6);
    assert_int_equal(f->traits[0].value[2], 128);
    assert_int_equal(f->traits[1].value[0], -1);
    assert_true(f->traits[2].is_real);
    assert_string_equal(f->traits[2].text[2], "0.0025");
    assert_int_equal(f->traits[3].value[0], 1);
    assert_string_equal(f->traits[4].text[2], "-O3");
    assert_int_equal(set.n_instances + n_excluded, 108);
    /* Padded wants BLOCK * scale >= 1, which only 0.0025 lacks: 18 of 108; float4 with 64: 12, of
     * which 2 are among the 18. */
    assert_int_equal(f->rules[0].n_excluded, 18);
    assert_int_equal(f->rules[1].n_excluded, 10);
    assert_int_equal(f->rules[2].n_excluded, 0);
    assert_int_equal(set.n_instances, 80);
    assert_string_equal(set.instances[0].name,
                        "t1_small_kernel_BLOCK32_shiftm1_scale0p5_padded1_vectorfloat");
    assert_non_null(strstr(set.instances[0].missing, "no kernel of its own"));
    ks_kernel_set_release(&set);
}

static void filters_compute_with_real_values(void **state)
{
    struct ks_kernel_set set = { 0 };

    (void)state;
    add(&set, DATA "small.json", "scale * 4 == 2 and c.vector == '-O3' and padded", NULL);
    assert_int_equal(set.n_instances, 6);
    assert_int_equal(set.n_filtered, 74);
    ks_kernel_set_release(&set);
}

/* small.json with one text put in the place of another; the text must stand there once. */
static void write_changed(const char *from, const char *to, const char *path)
{
    struct ks_buf text, out;
    struct ks_err err;
    const char *at;

    ks_buf_init(&text);
    ks_buf_init(&out);
    assert_int_equal(ks_file_read(DATA "small.json", &text, &err), 0);
    at = strstr(ks_buf_text(&text), from);
    if (!at || strstr(at + 1, from))
        fail_msg("'%s' does not stand once in the file", from);
    ks_buf_put(&out, text.data, (size_t)(at - (const char *)text.data));
    ks_buf_printf(&out, "%s%s", to, at + strlen(from));
    assert_int_equal(ks_file_replace(path, out.data, out.len, &err), 0);
    ks_buf_release(&text);
    ks_buf_release(&out);
}

static const struct {
    const char *from, *to, *says;
} mistakes[] = {
    { "[32, 64, 128]", "[32, 64, 32]",
      ":5: ConfigurationSpace.TuningParameters[0].Values: column 10: duplicate value" },
    { "[32, 64, 128]", "[32, 64, -1]", "a uint must not be negative (uint), see value 3" },
    { "[32, 64, 128]", "[32, 64.0]", "a value is not of the parameter's type (uint), see value 2" },
    { "[32, 64, 128]", "[32, True]", "a value is not of the parameter's type (uint), see value 2" },
    { "[32, 64, 128]", "[32, 64", "column 8: unexpected end" },
    { "[32, 64, 128]", "32, 64", "column 3: unexpected ','" },
    { "[32, 64, 128]", "(32, 64)", "column 1: expected a list [..] of values" },
    { "[32, 64, 128]", "64", "column 1: expected a list [..], list(..) or range(..)" },
    { "[32, 64, 128]", "[x for x in 3]", "column 13: expected a list [..], list(..) or range(..)" },
    { "[32, 64, 128]", "[x for x on [3]]", "column 10: unexpected 'on'" },
    { "[32, 64, 128]", "[x for 3 in [3]]", "column 8: unexpected '3'" },
    { "[32, 64, 128]", "[x for x in [3] while x]", "column 17: unexpected 'while'" },
    { "[32, 64, 128]", "[x, 1 for x in [3]]", "column 7: unexpected 'for'" },
    { "[32, 64, 128]", "[y for x in [3]]", "column 2: unknown name 'y'" },
    { "[32, 64, 128]", "[x // 2 for x in range(4)]", "column 4: duplicate value" },
    { "[32, 64, 128]", "list(range(1, 130))", "column 6: more than 128 values" },
    { "[32, 64, 128]", "[x for x in range(2 ** 40) if x == 3]",
      "column 13: more than 100000 steps" },
    { "[32, 64, 128]", "[1 // x for x in range(3)]", "column 4: division by zero" },
    { "[32, 64, 128]", "range(1, 9, 0)", "column 1: the step of range() must not be 0" },
    { "[32, 64, 128]", "range(1, 9.0)", "column 10: range() takes whole numbers" },
    { "[32, 64, 128]", "range()", "column 1: range() takes one to three numbers" },
    { "[32, 64, 128]", "list(1, 2)", "column 1: list() takes one sequence" },
    { "[32, 64, 128]", "sorted([1])", "unknown function 'sorted' (there are min, max, abs, range" },
    { "[32, 64, 128]", "[1] + range(2)", "column 5: only lists can be added: write list(..)" },
    { "[32, 64, 128]", "[1] - [2]", "column 5: expected a list [..], list(..) or range(..)" },
    { "[32, 64, 128]", "[[1], [2]]", "column 2: expected a single value, found a list" },
    { "[32, 64, 128]", "[range(2)]", "column 2: expected a single value, found a sequence" },
    { "[32, 64, 128]", "range(0)", "expected at least one value" },
    { "[32, 64, 128]", "[32, BLOCK]", "column 6: unknown name 'BLOCK'" },
    { "max(BLOCK, 64) ** 2 > 0", "BLOCK in range(64)", "unknown function 'range' (there are min" },
    { "max(BLOCK, 64) ** 2 > 0", "BLOCK in [x for x in [1]]", "unexpected 'for'" },
    { "[32, 64, 128]", "[]", "expected at least one value" },
    { "\"[32, 64, 128]\"", "[32, 64, 128]", "Values: expected a string, found a list" },
    { "[-1, 0]", "[-True, 0]", "column 2: expected a number after '-'" },
    { "[-1, 0]", "[99999999999999999999]", "number out of range" },
    { "[0.5, 1, 2.5e-3]", "[1, 1.0]", "column 5: duplicate value" },
    { "[True, False]", "[true, False]", "column 2: write True or False" },
    { "[True, False]", "[0, 2]", "a bool must be True or False (bool), see value 2" },
    { "'-O3'", "'-O3 -g'", "a string must be ASCII without blanks" },
    { "'-O3'", "'0123456789012345678901234567890123'", "a string must have 1 to 31 characters" },
    { "'-O3'", "3", "a value is not of the parameter's type (string), see value 3" },
    { "\"uint\"", "\"unit\"", "TuningParameters[0].Type: 'unit'" },
    { "\"Name\": \"shift\"", "\"Name\": \"BLOCK\"", "duplicate parameter 'BLOCK'" },
    { "\"Name\": \"shift\"", "\"Name\": \"not\"",
      "'not' is a reserved word of filter expressions" },
    { "\"Name\": \"shift\"", "\"Name\": \"a b\"", "TuningParameters[1].Name" },
    { "\"Name\": \"shift\"", "\"name\": \"shift\"", "key 'Name' is missing" },
    { "max(BLOCK, 64) ** 2 > 0", "max(BLOK, 64) > 0",
      "column 29: unknown name 'BLOK', did you mean 'BLOCK'" },
    { "max(BLOCK, 64) ** 2 > 0", "max(BLOCK, 64) > 0 && 1", "column 44: write and, or, not" },
    { "max(BLOCK, 64) ** 2 > 0", "BLOCK > 0 # yes",
      "Conditions[2].Expression: comments are not allowed in a condition" },
    { "max(BLOCK, 64) ** 2 > 0", "vector > 0", "a string is compared with a number" },
    { "max(BLOCK, 64) ** 2 > 0", "BLOCK % shift == 0", "division by zero" },
    { "max(BLOCK, 64) ** 2 > 0", "BLOCK < 0", "the rules exclude every combination" },
    { "\"padded\"] }", "\"paded\"] }", "'paded'" },
    { "\"FormatVersion\": 1", "\"FormatVersion\": 2",
      ":2: General.FormatVersion: format version 2 is not supported, only 1 is" },
    { "\"HIP\"", "\"Fortran\"", "KernelSpecification.Language: 'Fortran'" },
    { "\"KernelName\": \"small-Kernel\",", "", "key 'KernelName' is missing" },
    { "\"KernelFile\"", "\"KernelFyle\"", "key 'KernelFile' is missing" },
    { "\"LocalSize\"", "\"Local\"", "key 'LocalSize' is missing" },
    { "\"GlobalSize\": {", "\"GlobalSize\": 1, \"x\": {", "GlobalSize: expected an object" },
    { "\"TuningParameters\"", "\"Parameters\"", "key 'TuningParameters' is missing" },
    { "\"KernelSpecification\"", "\"Kernel\"", "key 'KernelSpecification' is missing" },
};

static void mistakes_are_named(void **state)
{
    char dir[TEMP_DIR_MAX], path[TEMP_DIR_MAX + 16];

    (void)state;
    temp_dir_make(dir, sizeof(dir));
    snprintf(path, sizeof path, "%s/t1.json", dir);
    for (size_t i = 0; i < sizeof mistakes / sizeof mistakes[0]; i++) {
        struct ks_kernel_set set = { 0 };
        struct ks_err err = { 0 };
        int rc;

        write_changed(mistakes[i].from, mistakes[i].to, path);
        rc = ks_kernel_set_add(&set, path, "", NULL, &err);
        if (rc >= 0 || !strstr(err.text, mistakes[i].says) || !strstr(err.text, path))
            fail_msg("%s: %d '%s', want '%s'", mistakes[i].to, rc, err.text, mistakes[i].says);
        assert_int_equal(set.n_instances, 0);
        ks_kernel_set_release(&set);
    }
    temp_dir_remove(dir);
}

/* What Python gives for the same text. */
static void values_may_be_computed(void **state)
{
    static const struct {
        const char *text, *want;
    } rows[] = {
        { "list(range(4))", "0 1 2 3" },
        { "range(8, 0, -3)", "8 5 2" },
        { "range(-2, 3, 2)", "-2 0 2" },
        { "[2 ** i for i in range(0, 6)]", "1 2 4 8 16 32" },
        { "[1, 2] + list(range(32, 96 + 1, 32)) + [7]", "1 2 32 64 96 7" },
        { "[32 * i for i in range(1, 9) if i % 2 == 0 if i != 4]", "64 192 256" },
        { "[10 * i + j for i in [1, 2] for j in range(i)]", "10 20 21" },
        { "[i for i in (3, 1)]", "3 1" },
        { "[max(i, 2) * i for i in [i + 1 for i in range(3)]]", "2 4 9" },
        { "[2 * 8, -(3), 4 // 3,]", "16 -3 1" },
        { "range(9223372036854775806, 9223372036854775807, 5)", "9223372036854775806" },
        { "list([i for i in list(range(3))])", "0 1 2" },
    };

    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        struct ks_expr_value v[16];
        struct ks_expr *e = NULL;
        struct ks_err err = { 0 };
        struct ks_buf text;
        uint32_t n = 0;

        ks_buf_init(&text);
        if (ks_expr_parse_values(rows[i].text, &e, &err) < 0 ||
            ks_expr_values(e, v, 16, &n, &err) < 0)
            fail_msg("%s: %s", rows[i].text, err.text);
        for (uint32_t k = 0; k < n; k++)
            ks_buf_printf(&text, "%s%lld", k ? " " : "", (long long)v[k].whole);
        assert_string_equal(ks_buf_text(&text), rows[i].want);
        ks_buf_release(&text);
        ks_expr_free(e);
    }
}

/* 32 parameters of long names: names of instances hold the values only. */
static void long_names_are_left_out(void **state)
{
    char dir[TEMP_DIR_MAX], path[TEMP_DIR_MAX + 16];
    struct ks_kernel_set set = { 0 };
    struct ks_buf b;
    struct ks_err err;

    (void)state;
    temp_dir_make(dir, sizeof(dir));
    snprintf(path, sizeof path, "%s/t1.json", dir);
    ks_buf_init(&b);
    ks_buf_printf(&b, "{\"KernelSpecification\":{\"Language\":\"C\",\"KernelName\":\"k\","
                      "\"KernelFile\":\"k.c\",\"GlobalSize\":{},\"LocalSize\":{}},"
                      "\"ConfigurationSpace\":{\"TuningParameters\":[");
    for (int i = 0; i < 8; i++)
        ks_buf_printf(&b,
                      "%s{\"Name\":\"a_parameter_of_a_long_name_%d\",\"Type\":\"int\","
                      "\"Values\":\"[1, 2]\"}",
                      i ? "," : "", i);
    ks_buf_printf(&b, "]}}");
    assert_int_equal(ks_file_replace(path, b.data, b.len, &err), 0);
    add(&set, path, "", NULL);
    assert_int_equal(set.n_instances, 256);
    assert_string_equal(set.instances[1].name, "t1_k_1_1_1_1_1_1_1_2");
    ks_kernel_set_release(&set);
    ks_buf_release(&b);
    temp_dir_remove(dir);
}

static bool is_same_instance(const struct ks_kernel_set *a, uint32_t i,
                             const struct ks_kernel_set *b, uint32_t k)
{
    const struct ks_family *f = &a->families[a->instances[i].i_family];
    bool is_same = true;

    for (uint32_t t = 0; is_same && t < f->n_traits; t++)
        is_same = strcmp(f->traits[t].text[a->instances[i].value[t]],
                         b->families[0].traits[t].text[b->instances[k].value[t]]) == 0;
    return is_same;
}

static void compare(const struct ks_kernel_set *set, const struct ks_kernel_set *back,
                    bool is_ordered)
{
    assert_int_equal(back->n_instances, set->n_instances);
    for (uint32_t i = 0; i < set->n_instances; i++) {
        uint32_t k = is_ordered ? i : 0;

        while (k < back->n_instances && !is_same_instance(set, i, back, k))
            k++;
        if (k == back->n_instances || (is_ordered && k != i))
            fail_msg("instance '%s' is lost or moved", set->instances[i].name);
        if (strcmp(set->families[0].op, "none") == 0)
            assert_int_equal(back->instances[k].id, set->instances[i].id);
    }
}

/* Writes the set as T1 and reads it back: the same instances, in the same order where it is a
 * product with conditions. What is written of that is the same again. Caller releases text_out. */
static void round_trip(const struct ks_kernel_set *set, const char *const *filters, bool is_ordered,
                       struct ks_buf *text_out)
{
    static const char *const none[] = { NULL };
    char dir[TEMP_DIR_MAX], path[TEMP_DIR_MAX + 16];
    struct ks_kernel_set back = { 0 };
    struct ks_buf again;
    struct ks_err err = { 0 };

    temp_dir_make(dir, sizeof(dir));
    snprintf(path, sizeof path, "%s/t1.json", dir);
    ks_buf_init(text_out);
    ks_buf_init(&again);
    if (ks_t1_export(set, filters, text_out, &err) < 0)
        fail_msg("%s", err.text);
    assert_int_equal(ks_file_replace(path, text_out->data, text_out->len, &err), 0);
    add(&back, path, "", NULL);
    compare(set, &back, is_ordered);
    assert_int_equal(ks_t1_export(&back, none, &again, &err), 0);
    assert_string_equal(ks_buf_text(&again), ks_buf_text(text_out));
    ks_kernel_set_release(&back);
    ks_buf_release(&again);
    temp_dir_remove(dir);
}

static void t1_files_come_back(void **state)
{
    static const char *const held[] = { "\"Values\": \"[True, False]\"",
                                        "\"Values\": \"[0.5, 1, 0.0025]\"",
                                        "\"BLOCK * scale >= 1 or not padded\"",
                                        "\"Language\": \"HIP\"",
                                        "\"Misc\": [",
                                        "\"Default\": 64" };
    static const char *const none[] = { NULL };
    struct ks_kernel_set set = { 0 };
    struct ks_buf text;

    (void)state;
    add(&set, DATA "small.json", "", NULL);
    round_trip(&set, none, true, &text);
    for (size_t i = 0; i < sizeof held / sizeof held[0]; i++)
        assert_non_null(strstr(ks_buf_text(&text), held[i]));
    ks_buf_release(&text);
    ks_kernel_set_release(&set);
}

/* A published space as it is, or a part of it. */
struct space {
    const char *file, *filter;
    bool is_said;     /* the filter is given to the export */
    const char *text; /* of the export */
    uint32_t n_left;  /* 0: not known */
    uint64_t n_raw;
    const char *first, *last;
};

/* Two published spaces whose values are computed: range(), comprehensions, lists added up. */
static const struct space shipped[] = {
    { "pnpoly.json", "", false, "\"Values\": \"[1, 2, 4, 6,", 4092, 4092,
      "t1_pnpoly_between_method0_block_size_x32_tile_size1_use_method0",
      "t1_pnpoly_between_method3_block_size_x992_tile_size20_use_method2" },
    { "hotspot.json", "", false, "(2+sh_power) * 4 <= 49152", 82984, 4440000,
      "t1_hotspot_block_size_x1_block_size_y32_tile_size_x1_tile_size_y1_temporal_tiling_factor1_"
      "loop_unroll_factor_t1_sh_power0",
      "t1_hotspot_block_size_x1024_block_size_y1_tile_size_x1_tile_size_y3_temporal_tiling_factor1_"
      "loop_unroll_factor_t1_sh_power0" },
};

/* The counts are those of an evaluation in Python. */
static const struct space spaces[] = {
    { "convolution_milo_T1.json", "", false, "", 4362, 10240,
      "t1_convolution_kernel_block_size_x16_block_size_y1_tile_size_x1_tile_size_y1_read_only0_"
      "use_padding0_use_shmem0",
      "t1_convolution_kernel_block_size_x256_block_size_y4_tile_size_x4_tile_size_y4_read_only1"
      "_use_padding0_use_shmem0" },
    { "convolution_milo_T1.json", "tile_size_x * tile_size_y != 6", false, "", 0, 0, NULL, NULL },
    { "convolution_milo_T1.json", "tile_size_x * tile_size_y <= 4 or read_only == use_shmem", true,
      "((tile_size_x * tile_size_y) <= 4) or (read_only == use_shmem)", 0, 0, NULL, NULL },
    { "gemm_milo_T1.json", "", false, "", 116928, 663552,
      "t1_xgemm_MWG16_NWG16_KWG16_MDIMC8_NDIMC8_MDIMA8_NDIMB8_VWM1_VWN1_STRM0_STRN0_SA0_SB0",
      "t1_xgemm_MWG128_NWG128_KWG32_MDIMC32_NDIMC32_MDIMA32_NDIMB32_VWM4_VWN4_STRM1_STRN1_SA1_"
      "SB1" },
};

#ifdef KSWEEP_SANITIZED
#define N_SPACES  3 /* that of gemm is as the others, and 27 times as large */
#define N_SHIPPED 1
#else
#define N_SPACES  (sizeof spaces / sizeof spaces[0])
#define N_SHIPPED (sizeof shipped / sizeof shipped[0])
#endif

static void check_size(const struct space *row, const struct ks_kernel_set *set,
                       uint64_t n_excluded)
{
    assert_int_equal(set->n_instances, row->n_left);
    assert_int_equal(set->n_instances + n_excluded, row->n_raw);
    assert_string_equal(set->instances[0].name, row->first);
    assert_string_equal(set->instances[set->n_instances - 1].name, row->last);
}

static void check_space(const struct space *row, const char *path)
{
    const char *const filters[] = { row->is_said ? row->filter : NULL, NULL };
    struct ks_kernel_set set = { 0 };
    uint64_t n_excluded = 0;
    struct ks_buf text;

    add(&set, path, row->filter, &n_excluded);
    if (row->n_left)
        check_size(row, &set, n_excluded);
    round_trip(&set, filters, true, &text);
    assert_non_null(strstr(ks_buf_text(&text), row->text));
    ks_buf_release(&text);
    ks_kernel_set_release(&set);
}

static void shipped_spaces_have_their_size_and_come_back(void **state)
{
    (void)state;
    for (size_t i = 0; i < N_SHIPPED; i++) {
        char path[1024];

        snprintf(path, sizeof path, DATA "%s", shipped[i].file);
        check_space(&shipped[i], path);
    }
}

static void published_spaces_have_their_size_and_come_back(void **state)
{
    (void)state;
    for (size_t i = 0; i < N_SPACES; i++) {
        char path[1024];

        check_space(&spaces[i], published(spaces[i].file, path));
    }
}

/* Sets that are no plain product: filtered, or several entries of a config. */
static void any_set_comes_back(void **state)
{
    static const struct {
        const char *path, *filter;
        bool is_said, is_ordered; /* the filter is given to the export */
        const char *holds, *lacks;
    } rows[] = {
        { DATA "small.json", "abs(shift) != 1 and BLOCK in [32, 128] or vector == '-O3'", true,
          true, "(max(shift, (-shift)) != 1) and ((BLOCK == 32) or (BLOCK == 128))", NULL },
        { DATA "small.json", "shift == -1 or BLOCK == 32", false, true,
          "BLOCK == 32 or shift == -1", NULL },
        { DATA "small.json", "'flo' in vector and scale > 0.1 or padded", true, true, NULL, NULL },
        { DATA "small.json", "vector == 'float'", true, true, "vector != 'float4' or", NULL },
        { KS_SOURCE_DIR "/tests/data/grid/tiny.json", "", false, false, NULL, "unsupported" },
        { KS_SOURCE_DIR "/tests/data/ck_forward_2d.json", "", false, false, "compv4", NULL },
        { KS_SOURCE_DIR "/tests/data/ck_forward_2d.json", "tile_m < 64 or tile_k == 128", true,
          false, NULL, "tile_m" },
        { KS_SOURCE_DIR "/kernels/configs/host_forward.json", "", false, false, NULL, NULL },
        { KS_SOURCE_DIR "/kernels/configs/host_gemm.json", "", false, false, "packed", NULL },
        { KS_SOURCE_DIR "/kernels/configs/host_gemm.json", "tile_m > 4 or dtype == 'bf16'", true,
          false, NULL, NULL },
        { KS_SOURCE_DIR "/kernels/configs/gpu_gemm.json", "pipeline == 'basic_v1'", false, false,
          NULL, NULL },
    };

    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        const char *const filters[] = { rows[i].is_said ? rows[i].filter : NULL, NULL };
        struct ks_kernel_set set = { 0 };
        struct ks_buf text;

        add(&set, rows[i].path, rows[i].filter, NULL);
        round_trip(&set, filters, rows[i].is_ordered, &text);
        if (rows[i].holds && !strstr(ks_buf_text(&text), rows[i].holds))
            fail_msg("row %zu: '%s' is not in %s", i, rows[i].holds, ks_buf_text(&text));
        if (rows[i].lacks && strstr(ks_buf_text(&text), rows[i].lacks))
            fail_msg("row %zu: '%s' is in %s", i, rows[i].lacks, ks_buf_text(&text));
        ks_buf_release(&text);
        ks_kernel_set_release(&set);
    }
}

/* The config's order of values is not the family's: the export has the config's. */
static void the_order_of_a_config_stays(void **state)
{
    static const char *const none[] = { NULL };
    char dir[TEMP_DIR_MAX], path[TEMP_DIR_MAX + 16];
    struct ks_kernel_set set = { 0 };
    struct ks_err err = { 0 };
    struct ks_buf text;

    (void)state;
    temp_dir_make(dir, sizeof(dir));
    snprintf(path, sizeof path, "%s/config.json", dir);
    ks_buf_init(&text);
    ks_buf_printf(&text,
                  "{ \"family\": \"%s\", \"instances\": [ { \"pipe\": [\"fast\", \"slow\"],"
                  " \"tile_m\": [4, 1, 2], \"shift\": [1, 0, -1] } ] }",
                  KS_SOURCE_DIR "/tests/data/grid/tiny.family.json");
    assert_int_equal(ks_file_replace(path, text.data, text.len, &err), 0);
    ks_buf_release(&text);
    add(&set, path, "shift != 1 or tile_m != 4", NULL);
    round_trip(&set, none, true, &text);
    assert_non_null(strstr(ks_buf_text(&text), "\"Values\": \"['fast', 'slow']\""));
    assert_non_null(strstr(ks_buf_text(&text), "\"Values\": \"[4, 1, 2]\""));
    ks_buf_release(&text);
    ks_kernel_set_release(&set);
    temp_dir_remove(dir);
}

/* A T1 space is of no operator, so no problem has a cell of it, whatever the device. */
static void it_has_no_cells(void **state)
{
    static const char *const backends[] = { "host", "sim" };

    (void)state;
    for (size_t b = 0; b < 2; b++) {
        struct ks_grid *g = calloc(1, sizeof *g);
        struct ks_err err = { 0 };
        struct ks_buf job;

        assert_non_null(g);
        ks_buf_init(&job);
        ks_buf_printf(&job,
                      "{ \"name\": \"t1\", \"operator\": \"grouped_conv\","
                      "  \"kernels\": [ { \"config\": \"%ssmall.json\", \"filter\": \"padded\" } ],"
                      "  \"problems\": [ { \"file\": \"%s\" } ],"
                      "  \"device\": { \"backend\": \"%s\" } }",
                      DATA, KS_SOURCE_DIR "/tests/data/tiny.csv", backends[b]);
        assert_int_equal(ks_grid_load_text(ks_buf_text(&job), "/tmp/t1.json", g, &err), KS_EINVAL);
        if (!strstr(err.text,
                    "no instance of the job computes any of its problems; for example, "
                    "instance is of family t1_small_kernel (T1: no operator), problem is "))
            fail_msg("%s", err.text);
        ks_buf_release(&job);
        free(g);
    }
}

/* Every allocation fails once: an error, the set as before, no leak (seen by a sanitizer). */
static void memory_may_run_out(void **state)
{
    unsigned n = 0;
    int rc;

    (void)state;
    do {
        struct ks_kernel_set set = { 0 };
        struct ks_err err = { 0 };

        fault_arm(n++);
        rc = ks_kernel_set_add(&set, DATA "small.json", "", NULL, &err);
        if (fault_disarm()) {
            assert_int_equal(rc, KS_ENOMEM);
            assert_int_equal(set.n_instances, 0);
            assert_int_equal(set.n_families, 0);
        }
        ks_kernel_set_release(&set);
    } while (rc < 0);
    assert_true(n > 20);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(all_types_are_read),
        cmocka_unit_test(filters_compute_with_real_values),
        cmocka_unit_test(mistakes_are_named),
        cmocka_unit_test(values_may_be_computed),
        cmocka_unit_test(long_names_are_left_out),
        cmocka_unit_test(t1_files_come_back),
        cmocka_unit_test(shipped_spaces_have_their_size_and_come_back),
        cmocka_unit_test(published_spaces_have_their_size_and_come_back),
        cmocka_unit_test(any_set_comes_back),
        cmocka_unit_test(the_order_of_a_config_stays),
        cmocka_unit_test(it_has_no_cells),
        cmocka_unit_test(memory_may_run_out),
    };

    return cmocka_run_group_tests_name("t1", tests, NULL, NULL);
}
