/* SPDX-License-Identifier: MIT */
/* test_family_forms.c - families with domains, roles, attributes, aliases, archs, or no source */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
/* cmocka.h wants the four above first. */
#include <cmocka.h>

#include "base/file.h"
#include "grid/family.h"
#include "op/op.h"
#include "tests/unit/temp_dir.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define DATA KS_SOURCE_DIR "/tests/data/grid/"

struct fixture {
    struct ks_family f; /* wide */
    struct ks_buf text; /* its file */
    char dir[TEMP_DIR_MAX];
};

static int set_up(void **state)
{
    struct fixture *x = calloc(1, sizeof *x);
    struct ks_err err = { 0 };

    assert_non_null(x);
    ks_buf_init(&x->text);
    if (ks_family_load(DATA "wide.family.json", &x->f, &err) < 0 ||
        ks_file_read(DATA "wide.family.json", &x->text, &err) < 0)
        fail_msg("%s", err.text);
    temp_dir_make(x->dir, sizeof(x->dir));
    *state = x;
    return 0;
}

static int tear_down(void **state)
{
    struct fixture *x = *state;

    ks_buf_release(&x->text);
    temp_dir_remove(x->dir);
    ks_family_release(&x->f);
    free(x);
    return 0;
}

/* An instance of wide from "trait=value ..." over the defaults. */
static struct ks_instance make(const struct ks_family *f, const char *choices)
{
    struct ks_instance i = { 0 };
    struct ks_err err = { 0 };
    char name[32], value[32];
    int n = 0;

    for (uint32_t t = 0; t < f->n_traits; t++)
        i.value[t] = (uint8_t)f->traits[t].i_default;
    for (; sscanf(choices, " %31[^= ]=%31s%n", name, value, &n) == 2; choices += n) {
        int t = ks_family_trait(f, name), v = t < 0 ? -1 : ks_trait_value(&f->traits[t], value);

        if (v < 0)
            fail_msg("no %s=%s", name, value);
        i.value[t] = (uint8_t)v;
    }
    if (ks_instance_finish(f, &i, &err) < 0)
        fail_msg("%s", err.text);
    return i;
}

static void domains_follow_the_traits(void **state)
{
    static const struct {
        const char *choices, *text;
        uint32_t direction, dtype, layout, ndim;
    } rows[] = {
        { "", "forward fp32 2d nhwgc", KS_FORWARD, KS_FP32, KS_NHWGC, 2 },
        { "direction=bwd_data dtype=bf16 layout=ngchw ndim=3", "backward_data bf16 3d ngchw",
          KS_BACKWARD_DATA, KS_BF16, KS_NGCHW, 3 },
        { "dtype=fp8 ndim=1", "forward fp8 1d nhwgc", KS_FORWARD, KS_N_DTYPES, KS_NHWGC, 1 },
    };
    const struct fixture *x = *state;

    for (size_t k = 0; k < sizeof rows / sizeof rows[0]; k++) {
        struct ks_instance i = make(&x->f, rows[k].choices);
        struct ks_domain d;
        struct ks_buf b;

        ks_buf_init(&b);
        ks_instance_domain(&x->f, &i, &d);
        assert_int_equal(d.i_op, x->f.i_op);
        assert_int_equal(d.direction, rows[k].direction);
        assert_int_equal(d.dtype, rows[k].dtype);
        assert_int_equal(d.layout, rows[k].layout);
        assert_int_equal(d.ndim, rows[k].ndim);
        ks_instance_domain_text(&x->f, &i, &b);
        assert_string_equal(ks_buf_text(&b), rows[k].text);
        ks_buf_release(&b);
    }
}

static void roles_speak(void **state)
{
    static const struct {
        const char *choices, *compiler, *flags, *arguments;
        enum ks_numerics numerics;
    } rows[] = {
        { "", "gcc", "-O2", "split_k=1", KS_NUMERICS_FP32 },
        { "compiler=clang optimize=3 math=fast split_k=4 numerics=v2_only", "clang",
          "-O3 -funroll-loops -ffast-math", "split_k=4", KS_NUMERICS_V2_ONLY },
        { "math=fast", "gcc", "-O2 -ffast-math", "split_k=1", KS_NUMERICS_FP32 },
    };
    const struct fixture *x = *state;

    assert_string_equal(x->f.traits[ks_family_role(&x->f, KS_ROLE_COMPILER)].name, "compiler");
    for (size_t k = 0; k < sizeof rows / sizeof rows[0]; k++) {
        struct ks_instance i = make(&x->f, rows[k].choices);
        struct ks_buf flags, arguments;

        ks_buf_init(&flags);
        ks_buf_init(&arguments);
        assert_string_equal(ks_instance_compiler(&x->f, &i), rows[k].compiler);
        assert_int_equal(ks_instance_numerics(&x->f, &i), rows[k].numerics);
        ks_instance_flags(&x->f, &i, &flags);
        ks_instance_arguments(&x->f, &i, &arguments);
        assert_string_equal(ks_buf_text(&flags), rows[k].flags);
        assert_string_equal(ks_buf_text(&arguments), rows[k].arguments);
        ks_buf_release(&flags);
        ks_buf_release(&arguments);
    }
}

static void threads_are_declared(void **state)
{
    struct ks_family *f = calloc(1, sizeof *f);
    struct ks_err err = { 0 };

    (void)state;
    assert_non_null(f);
    assert_int_equal(ks_family_load(KS_SOURCE_DIR "/tests/fake/messy_kernels.family.json", f, &err),
                     0);
    for (uint32_t n = 1; n <= 2; n++) {
        struct ks_instance i = make(f, n == 2 ? "fault=pool threads=2" : "fault=pool");

        assert_int_equal(ks_instance_threads(f, &i), n);
        assert_string_equal(i.name, n == 2 ? "messy_pool_0_t2" : "messy_pool_0");
    }
    ks_family_release(f);
    free(f);
}

static void a_family_may_have_no_roles(void **state)
{
    struct ks_family *f = calloc(1, sizeof *f);
    struct ks_instance i = { 0 };
    struct ks_err err = { 0 };
    struct ks_buf b;

    (void)state;
    assert_non_null(f);
    ks_buf_init(&b);
    assert_int_equal(ks_family_load(DATA "tiny.family.json", f, &err), 0);
    assert_int_equal(ks_family_role(f, KS_ROLE_COMPILER), -1);
    assert_null(ks_instance_compiler(f, &i));
    assert_int_equal(ks_instance_numerics(f, &i), KS_NUMERICS_FP32);
    assert_int_equal(ks_instance_threads(f, &i), 1);
    ks_instance_flags(f, &i, &b);
    ks_instance_arguments(f, &i, &b);
    assert_int_equal(b.len, 0);
    ks_buf_release(&b);
    ks_family_release(f);
    free(f);
}

/* Attributes follow from the value: they are no part of what is hashed. */
static void identity_holds_traits_only(void **state)
{
    const struct fixture *x = *state;
    struct ks_instance i = make(&x->f, "tile=4x8 padded=1 split=1 compiler=clang math=fast");
    struct ks_buf b;

    ks_buf_init(&b);
    ks_instance_canonical(&x->f, &i, &b);
    assert_string_equal(ks_buf_text(&b),
                        "family=wide abi=1 direction=forward dtype=fp32 layout=nhwgc ndim=2 "
                        "tile=4x8 padded=1 split=1 compiler=clang optimize=2 math=fast split_k=1 "
                        "numerics=fp32");
    assert_string_equal(i.name, "w_forward_fp32_2d_4x8_True_split_clang_fast");
    ks_buf_clear(&b);
    ks_instance_record_text(&x->f, &i, &b);
    assert_non_null(
        strstr(ks_buf_text(&b), " numerics=fp32 | bytes=4 tile_m=4 tile_n=8 shape=flat"));
    ks_buf_release(&b);
}

static void every_name_reads_back(void **state)
{
    const struct fixture *x = *state;
    struct ks_instance i = { 0 };
    uint32_t n = 0, t;

    for (bool is_more = true; is_more; n++) {
        struct ks_instance back = { 0 };
        struct ks_err err = { 0 };

        assert_int_equal(ks_instance_finish(&x->f, &i, &err), 0);
        if (ks_instance_parse_name(&x->f, i.name, &back, &err) < 0)
            fail_msg("%s: %s", i.name, err.text);
        assert_memory_equal(&back, &i, sizeof i);
        for (t = x->f.n_traits; t-- > 0;) {
            if (++i.value[t] < x->f.traits[t].n_values)
                break;
            i.value[t] = 0;
        }
        is_more = t < x->f.n_traits;
    }
    assert_int_equal(n, 2 * 4 * 2 * 3 * 3 * 2 * 2 * 2 * 2 * 2 * 3 * 2);
}

static void other_spellings_are_read(void **state)
{
    static const struct {
        const char *name, *means;
    } rows[] = {
        { "w_fwd_fp32_2d_4x8_False", "w_forward_fp32_2d_4x8_False" },
        { "w_bwdd_bf16_3d_8x4_True_ngchw_sk2", "w_bwd_data_bf16_3d_8x4_True_ngchw_sk2" },
        { "w_forward_8x8", "w_forward_fp32_2d_8x8_False" },
        { "w_bwdd_8x4_split", "w_bwd_data_fp32_2d_8x4_False_split" },
        { "old_w_4x8_fp16", "w_forward_fp16_2d_4x8_False" },
    };
    static const char *const wrong[] = { "w_forwards_8x8",      "w_fwd_fp32_2d_4x8_false",
                                         "w_fwd_fp32_2d_4x8",   "old_w_4x8",
                                         "w_forward_8x8_nhwgc", "w_fwd_fp32_2d_4x8_0" };
    const struct fixture *x = *state;
    struct ks_instance i = { 0 };
    struct ks_err err = { 0 };

    for (size_t k = 0; k < sizeof rows / sizeof rows[0]; k++) {
        if (ks_instance_parse_name(&x->f, rows[k].name, &i, &err) < 0)
            fail_msg("%s", err.text);
        assert_string_equal(i.name, rows[k].means);
    }
    for (size_t k = 0; k < sizeof wrong / sizeof wrong[0]; k++)
        if (ks_instance_parse_name(&x->f, wrong[k], &i, &err) != KS_EINVAL)
            fail_msg("'%s' was taken", wrong[k]);
}

/* Writes a config of wide with one entry and adds it. */
static int add(const struct fixture *x, struct ks_kernel_set *set, const char *entry,
               const char *filter, struct ks_err *err)
{
    char path[128], text[1024];

    snprintf(path, sizeof path, "%s/c.json", x->dir);
    snprintf(text, sizeof text, "{\"family\": \"" DATA "wide.family.json\", \"instances\": [%s]}",
             entry);
    if (ks_file_replace(path, text, strlen(text), err) < 0)
        fail_msg("%s", err->text);
    return ks_kernel_set_add(set, path, filter, NULL, err);
}

static void attributes_and_keys_are_names(void **state)
{
    static const char entry[] = "{\"direction\": [\"fwd\", \"bwd_data\"], \"dtype\": [\"fp32\", "
                                "\"fp8\"], \"tile\": [\"4x8\", \"8x4\", \"8x8\"], \"padded\": "
                                "[true, false], \"split\": 1}";
    static const struct {
        const char *filter;
        uint32_t n; /* of 24: less 4 of small elements in square tiles and 4 tall backwards */
        const char *says;
    } rows[] = {
        { "", 16, NULL },
        { "tile_m == 8", 8, NULL },
        { "tile_m * tile_n == 64", 4, NULL },
        { "shape == 'tall'", 4, NULL },
        { "c.variant == 'forward' and bytes == 4", 6, NULL },
        { "direction == 'bwd_data' and padded and not (shape == 'tall')", 3, NULL },
        { "shape == 'talll'", 0, "'talll' is not a value of 'shape', did you mean 'tall'" },
        { "direction == 'fwd'", 0, "'fwd' is not a value of 'direction'" },
        { "tile_mm == 8", 0, "did you mean 'tile_m'" },
        { "shape > 3", 0, "a string is compared with a number" },
    };
    const struct fixture *x = *state;

    for (size_t k = 0; k < sizeof rows / sizeof rows[0]; k++) {
        struct ks_kernel_set set = { 0 };
        struct ks_err err = { 0 };
        int rc = add(x, &set, entry, rows[k].filter, &err);

        if (rows[k].says ? rc >= 0 || !strstr(err.text, rows[k].says) : rc < 0)
            fail_msg("%s: %d '%s'", rows[k].filter, rc, err.text);
        if (set.n_instances != rows[k].n)
            fail_msg("%s: %u instances, want %u", rows[k].filter, set.n_instances, rows[k].n);
        ks_kernel_set_release(&set);
    }
}

static void an_arch_cannot_run_everything(void **state)
{
    static const char four[] = "four rows are too few here";
    static const char thin[] = "nothing to split";
    static const struct {
        const char *arch, *entry, *missing;
    } rows[] = {
        { "gfx942", "{\"tile\": \"4x8\"}", four },
        { "gfx942", "{\"tile\": \"8x8\"}", "" },
        { "gfx90a", "{\"tile\": \"4x8\"}", "" },
        { "gfx940", "{\"tile\": \"4x8\"}", "" },
        { "gfx9421", "{\"tile\": \"4x8\"}", "" },
        { "gfx90", "{\"tile\": \"8x8\"}", "family wide does not support arch gfx90" },
        { "sm_90", "{\"tile\": \"4x8\"}", "family wide does not support arch sm_90" },
        { "emu", "{\"tile\": \"4x8\"}", "" },
        { "emu", "{\"split\": true, \"ndim\": 1}", thin },
        { "x86-64", "{\"tile\": \"4x8\"}", "" },
        { "x86-64", "{\"split\": true, \"ndim\": 1}", thin },
        { "gfx90a", "{\"split\": true, \"ndim\": 1}", thin },
        { NULL, "{\"split\": true, \"ndim\": 1}", "" }, /* a simulated device */
    };
    const struct fixture *x = *state;

    for (size_t k = 0; k < sizeof rows / sizeof rows[0]; k++) {
        struct ks_kernel_set set = { 0 };
        struct ks_err err = { 0 };
        struct ks_buf flags;

        ks_buf_init(&flags);
        if ((rows[k].arch && ks_kernel_set_arch(&set, rows[k].arch, &flags, &err) < 0) ||
            add(x, &set, rows[k].entry, "", &err) < 0)
            fail_msg("%s", err.text);
        assert_int_equal(set.n_instances, 1);
        if (strcmp(set.instances[0].missing, rows[k].missing) != 0)
            fail_msg("%s %s: '%s'", rows[k].arch, rows[k].entry, set.instances[0].missing);
        ks_buf_release(&flags);
        ks_kernel_set_release(&set);
    }
}

/* Two instances may print alike: refused as soon as a config uses one of them. */
static void a_config_needs_names_that_read_back(void **state)
{
#define INT(name)                                                                                  \
    "{\"name\": \"" name                                                                           \
    "\", \"kind\": \"int\", \"values\": [1, 11], \"default\": 1, \"help\": \"\"}"
    static const char family[] =
        "{\"name\": \"ab\", \"operator\": \"grouped_conv\", \"direction\": \"forward\", \"dtype\": "
        "\"fp32\", \"layout\": \"nhwgc\", \"backend\": \"host\", \"name_pattern\": \"x{a}{b}\", "
        "\"traits\": [" INT("a") ", " INT("b") "]}";
    static const struct {
        const char *entry;
        int rc;
    } rows[] = { { "{\"a\": 1, \"b\": 1}", 0 }, { "{\"a\": 11, \"b\": 1}", KS_EFORMAT } };
    const struct fixture *x = *state;
    char path[128], text[256];
    struct ks_err err = { 0 };

    snprintf(path, sizeof path, "%s/ab.json", x->dir);
    assert_int_equal(ks_file_replace(path, family, strlen(family), &err), 0);
    snprintf(path, sizeof path, "%s/c.json", x->dir);
    for (size_t k = 0; k < sizeof rows / sizeof rows[0]; k++) {
        struct ks_kernel_set set = { 0 };

        snprintf(text, sizeof text, "{\"family\": \"ab.json\", \"instances\": [%s]}",
                 rows[k].entry);
        assert_int_equal(ks_file_replace(path, text, strlen(text), &err), 0);
        assert_int_equal(ks_kernel_set_add(&set, path, "", NULL, &err), rows[k].rc);
        ks_kernel_set_release(&set);
    }
    assert_non_null(strstr(err.text, "name 'x111' stands for several instances of family 'ab'"));
}

/* 663,552 combinations, of which the space's authors count 116,928 valid ones. */
static void a_large_space_is_enumerated(void **state)
{
    struct ks_kernel_set set = { 0 };
    struct ks_err err = { 0 };
    uint64_t n_excluded = 0, sum = 0;

    (void)state;
    if (ks_kernel_set_add(&set, DATA "space.json", "", &n_excluded, &err) < 0)
        fail_msg("%s", err.text);
    assert_int_equal(set.n_instances, 116928);
    assert_int_equal(n_excluded, 663552 - 116928);
    for (uint32_t r = 0; r < set.families[0].n_rules; r++)
        sum += set.families[0].rules[r].n_excluded;
    assert_int_equal(sum, n_excluded);
    assert_string_equal(set.instances[0].name, "s_16_16_16_8_8_8_8_1_1_0_0_0_0");
    ks_kernel_set_release(&set);
}

static const struct {
    const char *from, *to, *says;
} mistakes[] = {
    { "\"operator\": \"grouped_conv\",", "\"operator\": \"grouped_conv\", \"ndim\": 2,",
      "ndim: is also a trait" },
    { "\"operator\": \"grouped_conv\",", "\"operator\": \"grouped_conv\", \"dtype\": \"fp32\",",
      "dtype: is also a trait" },
    { "\"name\": \"layout\"", "\"name\": \"order\"",
      "key 'layout' is missing (a string, or a trait" },
    { "\"name\": \"direction\", \"key\"", "\"name\": \"way\", \"key\"",
      "key 'direction' is missing" },
    { "{ \"nhwgc\": 0, \"ngchw\": 1 }", "{ \"nhwgc\": 1, \"ngchw\": 0 }",
      "value 'nhwgc' of trait 'layout' differs from its definition" },
    { "\"forward\": 0, \"bwd_data\": 1", "\"forward\": 1, \"bwd_data\": 0",
      "value 'forward' of trait 'direction'" },
    { "\"forward\": 0,", "\"forward\": 0, \"sideways\": 2,",
      "value 'sideways' of trait 'direction'" },
    { "\"fp8\": [1]", "\"fp16\": [1]", "fp16" },
    { "\"fp16\": [2], \"bf16\": [2]", "\"bf16\": [2], \"fp16\": [2]",
      "value 'bf16' of trait 'dtype'" },
    { "\"values\": [1, 2, 3]", "\"values\": [1, 2, 4]", "value '4' of trait 'ndim'" },
    { "\"4x8\": [4, 8, \"flat\"]", "\"4x8\": [4, 8]",
      "expected a list of 3 values, one per attribute" },
    { "\"8x4\": [8, 4, \"tall\"]", "\"8x4\": [8, 4, 7]", "traits[4].values.8x4[2]" },
    { "\"8x4\": [8, 4, \"tall\"]", "\"8x4\": [8, \"4\", \"tall\"]", "traits[4].values.8x4[1]" },
    { "\"8x4\": [8, 4, \"tall\"]", "\"8x4\": 3", "expected a list of 3 values, one per attribute" },
    { "\"tile_n\", \"shape\"", "\"tile_m\", \"shape\"",
      "'tile_m' is an attribute of trait 'tile'" },
    { "\"tile_n\", \"shape\"", "\"dtype\", \"shape\"", "duplicate trait 'dtype'" },
    { "\"tile_n\", \"shape\"", "\"variant\", \"shape\"", "duplicate trait 'variant'" },
    { "\"tile_n\", \"shape\"", "\"tile\", \"shape\"", "'tile' is the trait itself" },
    { "\"tile_n\", \"shape\"", "\"tile n\", \"shape\"", "'tile n' must begin with a letter" },
    { "\"name\": \"split_k\"", "\"name\": \"tile_m\"", "'tile_m' is an attribute of trait 'tile'" },
    { "\"kind\": \"int\", \"role\": \"argument\"",
      "\"kind\": \"int\", \"attributes\": [\"z\"], \"role\": \"argument\"",
      "only traits of kind 'name' have attributes" },
    { "\"role\": \"argument\"", "\"role\": \"arguments\"", "did you mean 'argument'" },
    { "\"role\": \"argument\"", "\"role\": \"compiler\"", "its values must be names" },
    { "\"role\": \"numerics\"", "\"role\": \"compiler\"",
      "trait 'compiler' already has this role" },
    { "\"role\": \"numerics\"", "\"role\": \"threads\"", "its values must be integers" },
    { "\"role\": \"argument\", \"values\": [1, 2, 4]",
      "\"role\": \"threads\", \"values\": [1, 0, 4]", "its values must be 1 to 4096" },
    { "\"v2_only\": 2", "\"v2_only\": 1", "its values must be from \"fp32\": 0" },
    { "\"fp32\": 0, \"v2_only\": 2", "\"fp32\": 0, \"exact\": 3",
      "its values must be from \"fp32\": 0" },
    { "[\"-O2\", \"-O3 -funroll-loops\"]", "[\"-O2\"]", "expected 2 strings, one per value" },
    { "\"flags\": [\"-O2\", \"-O3 -funroll-loops\"], ", "", "key 'flags' is missing" },
    { "\"role\": \"argument\"", "\"flags\": [\"a\", \"b\", \"c\"]",
      "only a trait of role 'flags' has flags" },
    { "\"fwd\": \"forward\"", "\"fwd\": \"forwards\"", "did you mean 'forward'" },
    { "\"fwd\": \"forward\"", "\"bwd_data\": \"forward\"", "'bwd_data' is a value of the trait" },
    { "\"fwd\": \"forward\"", "\"f.d\": \"forward\"", "'f.d' is not a word" },
    { "\"key\": \"variant\"", "\"key\": \"and\"",
      "'and' is a reserved word of filter expressions" },
    { "\"absent\": \"all\"", "\"absent\": \"al\"", "did you mean 'all'" },
    { "\"default\": false, \"help\"", "\"default\": 2, \"help\"", "'2' is not a value of trait" },
    { "\"kind\": \"bool\", \"default\": false, \"help\"",
      "\"kind\": \"bool\", \"values\": [0], \"default\": false, \"help\"", "traits[5].values[0]" },
    { "w_{direction}_{tile}", "w_{direction}_{tiles}",
      "name_aliases[0]: '{tiles}' is not a trait" },
    { "w_{direction}_{tile}\"", "{direction}_{tile}\"",
      "name_aliases[0]: must begin with a letter" },
    { "w_{direction}_{tile}\"", "w {tile}\"", "name_aliases[0]: 'w {tile}' must consist" },
    { "\"gfx94*\"", "\"gfx*4\"", "archs[1]: 'gfx*4' is not an arch" },
    { "[\"gfx90a\", \"gfx94*\"]", "[]", "archs: expected at least one name" },
    { "\"gfx942\", \"sm_9*\"", "942", "unsupported[0].arch[0]" },
    { "\"when\": \"tile_m == 4\"", "\"when\": \"tile_q == 4\"",
      "unsupported[0].when: column 1: unknown name 'tile_q', did you mean 'tile" },
    { "\"why\": \"nothing to split\"", "\"whi\": \"x\"", "unsupported[1]" },
    { "\"archs\"", "\"arch\"", "arch" },
};

static void mistakes_are_named(void **state)
{
    const struct fixture *x = *state;
    const char *text = ks_buf_text(&x->text);
    struct ks_family *f = calloc(1, sizeof *f);

    assert_non_null(f);
    for (size_t i = 0; i < sizeof mistakes / sizeof mistakes[0]; i++) {
        const char *at = strstr(text, mistakes[i].from);
        struct ks_err err = { 0 };
        struct ks_buf b;
        int rc;

        if (!at)
            fail_msg("the family has no '%s'", mistakes[i].from);
        ks_buf_init(&b);
        ks_buf_put(&b, text, (size_t)(at - text));
        ks_buf_printf(&b, "%s%s", mistakes[i].to, at + strlen(mistakes[i].from));
        rc = ks_family_parse(ks_buf_text(&b), b.len, DATA "x.json", f, &err);
        ks_buf_release(&b);
        if (rc >= 0 || !strstr(err.text, mistakes[i].says))
            fail_msg("%s -> %s: %d '%s', want '%s'", mistakes[i].from, mistakes[i].to, rc, err.text,
                     mistakes[i].says);
    }
    assert_int_equal(f->n_traits, 0);
    ks_family_release(f);
    free(f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(domains_follow_the_traits),
        cmocka_unit_test(roles_speak),
        cmocka_unit_test(threads_are_declared),
        cmocka_unit_test(a_family_may_have_no_roles),
        cmocka_unit_test(identity_holds_traits_only),
        cmocka_unit_test(every_name_reads_back),
        cmocka_unit_test(other_spellings_are_read),
        cmocka_unit_test(attributes_and_keys_are_names),
        cmocka_unit_test(an_arch_cannot_run_everything),
        cmocka_unit_test(a_config_needs_names_that_read_back),
        cmocka_unit_test(a_large_space_is_enumerated),
        cmocka_unit_test(mistakes_are_named),
    };

    return cmocka_run_group_tests_name("family_forms", tests, set_up, tear_down);
}
