/* SPDX-License-Identifier: MIT */
/* test_family.c - kernel families, instance names, configs, CPU flags */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
/* cmocka.h wants the four above first. */
#include <cmocka.h>

#include "base/cpu_level.h"
#include "base/file.h"
#include "grid/cpu_flags.h"
#include "grid/family.h"
#include "op/op.h"
#include "tests/unit/temp_dir.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define DATA KS_SOURCE_DIR "/tests/data/grid/"

struct fixture {
    struct ks_family f; /* tiny */
    struct ks_buf text; /* its file */
    char dir[TEMP_DIR_MAX];
};

static int set_up(void **state)
{
    struct fixture *x = calloc(1, sizeof *x);
    struct ks_err err = { 0 };

    assert_non_null(x);
    ks_buf_init(&x->text);
    if (ks_family_load(DATA "tiny.family.json", &x->f, &err) < 0 ||
        ks_file_read(DATA "tiny.family.json", &x->text, &err) < 0)
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

static struct ks_instance make(const struct ks_family *f, const char *pipe, const char *tile_m,
                               const char *shift)
{
    struct ks_instance i = { 0 };
    struct ks_err err = { 0 };

    i.value[0] = (uint8_t)ks_trait_value(&f->traits[0], pipe);
    i.value[1] = (uint8_t)ks_trait_value(&f->traits[1], tile_m);
    i.value[2] = (uint8_t)ks_trait_value(&f->traits[2], shift);
    if (ks_instance_finish(f, &i, &err) < 0)
        fail_msg("%s", err.text);
    return i;
}

static void a_family_is_read(void **state)
{
    const struct fixture *x = *state;
    const struct ks_family *f = &x->f;

    assert_string_equal(f->name, "tiny");
    assert_true(f->path[0] == '/' && f->source[0] == '/');
    assert_non_null(strstr(f->path, "/tests/data/grid/tiny.family.json"));
    assert_non_null(strstr(f->source, "/tests/data/grid/tiny.k"));
    assert_string_equal(f->extra_flags, "-ffast");
    assert_int_equal(f->direction, KS_FORWARD);
    assert_int_equal(f->dtype, KS_FP32);
    assert_int_equal(f->layout, KS_NHWGC);
    assert_int_equal(f->ndim, 0);
    assert_int_equal(f->n_traits, 4);
    assert_int_equal(f->n_rules, 2);
    assert_int_equal(f->n_needs, 2);
    assert_string_equal(f->traits[0].macro, "PIPE");
    assert_int_equal(f->traits[0].value[ks_trait_value(&f->traits[0], "fast")], 3);
    assert_int_equal(f->traits[1].i_default, 2);
    assert_string_equal(f->traits[2].macro, "");
    assert_string_equal(f->traits[2].suffix, "_s{}x");
    assert_int_equal(ks_family_trait(f, "fixed"), 3);
    assert_int_equal(ks_family_trait(f, "fixd"), -1);
    assert_int_equal(ks_trait_value(&f->traits[1], "3"), -1);
}

/* Ids are for ever: these are the first 16 digits of sha256sum over the canonical line. */
static void identity_is_fixed(void **state)
{
    const struct fixture *x = *state;
    struct ks_instance i = make(&x->f, "fast", "2", "-1");
    struct ks_buf b;

    ks_buf_init(&b);
    ks_instance_canonical(&x->f, &i, &b);
    assert_string_equal(ks_buf_text(&b), "family=tiny abi=1 pipe=fast tile_m=2 shift=-1 fixed=7");
    assert_string_equal(i.name, "t_fast_m2_sm1x");
    assert_true(i.id == 0x792f3ae3b248a967);
    assert_int_equal(ks_instance_trait(&x->f, &i, "pipe"), 3);
    assert_int_equal(ks_instance_trait(&x->f, &i, "shift"), -1);
    assert_true(ks_instance_trait(&x->f, &i, "nothing") == INT64_MIN);
    ks_buf_release(&b);
}

static void names_read_back(void **state)
{
    const struct fixture *x = *state;
    uint32_t n = 0;

    for (uint8_t p = 0; p < 2; p++)
        for (uint8_t m = 0; m < 4; m++)
            for (uint8_t s = 0; s < 3; s++, n++) {
                struct ks_instance i = { .value = { p, m, s } }, back = { 0 };
                struct ks_err err = { 0 };

                assert_int_equal(ks_instance_finish(&x->f, &i, &err), 0);
                if (ks_instance_parse_name(&x->f, i.name, &back, &err) < 0)
                    fail_msg("%s: %s", i.name, err.text);
                assert_memory_equal(&back, &i, sizeof i);
            }
    assert_int_equal(n, 24);
}

static void other_names_are_refused(void **state)
{
    static const char *const names[] = { "",           "t",           "t_slow_m",
                                         "t_slow_m3",  "t_slow_m14x", "t_slow_m4_s0x",
                                         "xt_slow_m4", "t_slo_m4",    "t_slow_m4_s1" };
    const struct fixture *x = *state;

    for (size_t k = 0; k < sizeof names / sizeof names[0]; k++) {
        struct ks_instance back = { .id = 99 };
        struct ks_err err = { 0 };

        if (ks_instance_parse_name(&x->f, names[k], &back, &err) != KS_EINVAL)
            fail_msg("'%s' was taken", names[k]);
        assert_int_equal(back.id, 99);
        assert_non_null(strstr(err.text, "is not an instance of family 'tiny'"));
    }
}

/* The family's file with one text replaced. */
static int parse_changed(const struct fixture *x, const char *from, const char *to,
                         struct ks_family *f, struct ks_err *err)
{
    const char *text = ks_buf_text(&x->text), *at = strstr(text, from);
    struct ks_buf b;
    int rc;

    if (!at)
        fail_msg("the family has no '%s'", from);
    ks_buf_init(&b);
    ks_buf_put(&b, text, (size_t)(at - text));
    ks_buf_printf(&b, "%s%s", to, at + strlen(from));
    rc = ks_family_parse(ks_buf_text(&b), b.len, DATA "x.json", f, err);
    ks_buf_release(&b);
    return rc;
}

static const struct {
    const char *from, *to, *says;
    int rc;
} mistakes[] = {
    { "\"name\": \"tiny\",", "", "x.json:1: key 'name' is missing", KS_EINVAL },
    { "\"tiny\"", "\"Tiny\"", "x.json:2: name: 'Tiny' must begin with a letter", KS_EINVAL },
    { "\"tiny\"", "\"9tiny\"", "x.json:2: name: '9tiny' must begin", KS_EINVAL },
    { "\"tiny\"", "7", "x.json:2: name", KS_EINVAL },
    { "\"backend\"", "\"bakend\"", "backend", KS_EINVAL },
    { "\"grouped_conv\"", "\"gemv\"", "x.json:4: operator: unknown operator 'gemv'", KS_EINVAL },
    { "\"forward\"", "\"foreward\"", "did you mean 'forward'; known: forward, backward_data",
      KS_EINVAL },
    { "\"fp32\"", "\"fp64\"", "x.json:6: dtype: 'fp64' is not known", KS_EINVAL },
    { "\"nhwgc\"", "\"nhwc\"", "did you mean 'nhwgc'", KS_EINVAL },
    { "\"host\"", "\"cudda\"",
      "backend: 'cudda' is not known, did you mean 'cuda'; known: gpu, host, hip, cuda, sim",
      KS_EINVAL },
    { "tiny.k", "tiny.c", "source: no file '", KS_EINVAL },
    { "t_{pipe}_m{tile_m}", "t_{pip}_m{tile_m}", "'{pip}' is not a trait, did you mean 'pipe'",
      KS_EINVAL },
    { "t_{pipe}_m{tile_m}", "t_{pipe}", "trait 'tile_m' has several values but is not in the name",
      KS_EINVAL },
    { "t_{pipe}_m{tile_m}", "t_{pipe}_m{tile_m}_{pipe}", "duplicate '{pipe}'", KS_EINVAL },
    { "t_{pipe}_m{tile_m}", "t_{pipe}_m{tile_m}_{shift}",
      "'{shift}' must not appear: the trait has a suffix", KS_EINVAL },
    { "t_{pipe}_m{tile_m}", "t_{pipe_m{tile_m}", "unmatched brace", KS_EINVAL },
    { "t_{pipe}_m{tile_m}", "t_{pipe}_m{tile_m}}", "unmatched brace", KS_EINVAL },
    { "t_{pipe}_m{tile_m}", "{pipe}_m{tile_m}", "must begin with a letter", KS_EINVAL },
    { "t_{pipe}_m{tile_m}", "t {pipe}_m{tile_m}", "name_pattern: 't {pipe}", KS_EINVAL },
    { "\"_s{}x\"", "\"{}\"", "suffix: '{}' must be letters", KS_EINVAL },
    { "\"_s{}x\"", "\"_s\"", "suffix: '_s' has no {}, so it cannot distinguish the 3 values",
      KS_EINVAL },
    { "\"_s{}x\"", "\"_{}.\"", "suffix: '_{}.' must be letters", KS_EINVAL },
    { "\"name\": \"shift\"", "\"name\": \"pipe\"", "duplicate trait 'pipe'", KS_EINVAL },
    { "\"name\": \"shift\"", "\"name\": \"in\"", "'in' is a reserved word of filter expressions",
      KS_EINVAL },
    { "\"TM\"", "\"PIPE\"", "macro 'PIPE' is already used by trait 'pipe'", KS_EINVAL },
    { "\"TM\"", "\"T M\"", "macro: 'T M' must begin", KS_EINVAL },
    { "\"kind\": \"name\"", "\"kind\": \"nam\"", "'nam' is not known, did you mean 'name'",
      KS_EINVAL },
    { "[1, 2, 4, 14]", "[1, 2, 4, 2, 14]", "duplicate value 2", KS_EINVAL },
    { "[1, 2, 4, 14]", "[]", "at least one value", KS_EINVAL },
    { "[1, 2, 4, 14]", "[1, 2.5, 4]", "traits[1].values[1]", KS_EINVAL },
    { "[1, 2, 4, 14]", "{\"a\": 1}", "expected a list, found an object", KS_EINVAL },
    { "\"fast\": 3", "\"fast\": 0", "duplicate value 0", KS_EINVAL },
    { "\"fast\": 3", "\"fa.st\": 3", "the name of a value must have", KS_EINVAL },
    { "\"default\": 4", "\"default\": 5", "'5' is not a value of trait 'tile_m'", KS_EINVAL },
    { "\"default\": \"slow\"", "\"default\": \"slo\"", "did you mean 'slow'", KS_EINVAL },
    { "\"default\": 4, ", "", "key 'default' is missing", KS_EINVAL },
    { "tile_m > 4\"", "tile_n > 4\"",
      "rules[0].when: column 20: unknown name 'tile_n', did you mean 'tile_m'", KS_EINVAL },
    { "pipe == 'fast' and", "pipe == 'fst' and", "'fst' is not a value of 'pipe'", KS_EINVAL },
    { "tile_m == 14", "tile_m == ", "needs[0].when: column 11: unexpected end", KS_EINVAL },
    { "\"why\": \"fast is small\"", "\"wy\": \"x\"", "rules[0]", KS_EINVAL },
    { "\"avx512f\"", "\"avx 512\"", "needs[0].needs: 'avx 512'", KS_EINVAL },
    { "\"rules\": [", "\"rules\": [,", "x.json:19", KS_EFORMAT },
};

static void mistakes_are_named(void **state)
{
    const struct fixture *x = *state;
    struct ks_family *f = calloc(1, sizeof *f);

    assert_non_null(f);
    for (size_t i = 0; i < sizeof mistakes / sizeof mistakes[0]; i++) {
        struct ks_err err = { 0 };
        int rc = parse_changed(x, mistakes[i].from, mistakes[i].to, f, &err);

        if (rc != mistakes[i].rc || !strstr(err.text, mistakes[i].says))
            fail_msg("%s -> %s: %d '%s', want '%s'", mistakes[i].from, mistakes[i].to, rc, err.text,
                     mistakes[i].says);
    }
    ks_family_release(f);
    free(f);
}

static void ambiguous_names_are_found(void **state)
{
    static const char text[] =
        "{\"name\": \"a\", \"operator\": \"grouped_conv\", \"direction\": \"forward\","
        " \"dtype\": \"fp32\", \"layout\": \"nhwgc\", \"backend\": \"host\","
        " \"source\": \"tiny.k\", \"name_pattern\": \"x{a}{b}\", \"traits\": ["
        " {\"name\": \"a\", \"kind\": \"int\", \"values\": [1, 11], \"default\": 1, \"help\": "
        "\"\"},"
        " {\"name\": \"b\", \"kind\": \"int\", \"values\": [1, 11], \"default\": 1, \"help\": "
        "\"\"}]}";
    struct ks_family *f = calloc(1, sizeof *f);
    struct ks_instance i = { 0 }, back;
    struct ks_err err = { 0 };

    (void)state;
    assert_non_null(f);
    /* values 1 and 11 of a, then 1 and 11 of b: "111" is both */
    assert_int_equal(ks_family_parse(text, strlen(text), DATA "x.json", f, &err), 0);
    i.value[1] = 1;
    assert_int_equal(ks_instance_finish(f, &i, &err), 0);
    assert_string_equal(i.name, "x111");
    assert_int_equal(ks_instance_parse_name(f, i.name, &back, &err), KS_EFORMAT);
    assert_non_null(strstr(err.text, "stands for several instances"));
    assert_int_equal(ks_instance_parse_name(f, "x11", &back, &err), 0);
    ks_family_release(f);
    free(f);
}

static void long_names_are_refused(void **state)
{
    const struct fixture *x = *state;
    struct ks_family *f = calloc(1, sizeof *f);
    struct ks_err err = { 0 };
    char to[256];

    assert_non_null(f);
    memset(to, 'a', sizeof to);
    snprintf(to + 190, sizeof to - 190, "_{pipe}_m{tile_m}");
    assert_int_equal(parse_changed(x, "t_{pipe}_m{tile_m}", to, f, &err), KS_EINVAL);
    assert_non_null(strstr(err.text, "characters, the limit is 191"));
    ks_family_release(f);
    free(f);
}

static void a_config_becomes_instances(void **state)
{
    static const char *const names[] = { "t_slow_m1",     "t_slow_m2",     "t_slow_m14",
                                         "t_fast_m1",     "t_fast_m2",     "t_slow_m2_sm1x",
                                         "t_slow_m2_s1x", "t_slow_m4_s1x", "t_slow_m4" };
    struct ks_kernel_set set = { .cpu_flags = "sse2 fma avx" };
    struct ks_err err = { 0 };
    uint64_t n_excluded = 0;

    (void)state;
    if (ks_kernel_set_add(&set, DATA "tiny.json", "", &n_excluded, &err) < 0)
        fail_msg("%s", err.text);
    assert_int_equal(n_excluded, 3);
    assert_int_equal(set.families[0].rules[0].n_excluded, 1);
    assert_int_equal(set.families[0].rules[1].n_excluded, 2);
    assert_int_equal(set.n_instances, 9);
    for (uint32_t i = 0; i < 9; i++) {
        assert_string_equal(set.instances[i].name, names[i]);
        assert_string_equal(set.instances[i].missing,
                            i == 2 ? "needs avx512f, this CPU lacks it" : "");
    }
    ks_kernel_set_release(&set);
    assert_int_equal(set.n_instances, 0);
}

static void what_is_missing_names_the_cpu(void **state)
{
    struct ks_kernel_set set = { .cpu_flags = "avx512f", .cpu_name = "x86-64-v2" };
    struct ks_err err = { 0 };

    (void)state;
    assert_int_equal(ks_kernel_set_add(&set, DATA "tiny.json", "pipe == 'fast'", NULL, &err), 0);
    assert_int_equal(set.n_instances, 2);
    assert_string_equal(set.instances[0].missing, "needs fma, x86-64-v2 lacks it");
    ks_kernel_set_release(&set);
    set.cpu_flags = NULL;
    assert_int_equal(ks_kernel_set_add(&set, DATA "tiny.json", "", NULL, &err), 0);
    for (uint32_t i = 0; i < set.n_instances; i++)
        assert_string_equal(set.instances[i].missing, "");
    ks_kernel_set_release(&set);
}

static void two_configs_share_a_family(void **state)
{
    struct ks_kernel_set set = { 0 };
    struct ks_err err = { 0 };

    (void)state;
    assert_int_equal(ks_kernel_set_add(&set, DATA "tiny.json", "tile_m == 1", NULL, &err), 0);
    assert_int_equal(ks_kernel_set_add(&set, DATA "tiny.json", "tile_m == 2", NULL, &err), 0);
    assert_int_equal(set.n_families, 1);
    assert_int_equal(set.n_instances, 6);
    assert_int_equal(ks_kernel_set_add(&set, DATA "tiny.json", "tile_m <= 2", NULL, &err),
                     KS_EINVAL);
    assert_non_null(strstr(err.text, "duplicate instance"));
    assert_int_equal(set.n_instances, 6);
    assert_int_equal(set.n_families, 1);
    ks_kernel_set_release(&set);
}

static void write_config(const struct fixture *x, const char *text, char *path_out, size_t cap)
{
    struct ks_err err = { 0 };

    snprintf(path_out, cap, "%s/c.json", x->dir);
    if (ks_file_replace(path_out, text, strlen(text), &err) < 0)
        fail_msg("%s", err.text);
}

static void mistakes_in_configs_are_named(void **state)
{
#define C(entries) "{\n\"family\": \"" DATA "tiny.family.json\",\n\"instances\": [\n" entries "\n]}"
    static const struct {
        const char *text, *filter, *says;
        int rc;
    } rows[] = {
        { C("{\"tile_mm\": 1}"), "", "c.json:4: instances[0]", KS_EINVAL },
        { C("{\"tile_mm\": 1}"), "", "tile_m", KS_EINVAL },
        { C("{\"tile_m\": 3}"), "", "instances[0].tile_m: '3' is not a value of trait 'tile_m'",
          KS_EINVAL },
        { C("{\"pipe\": [\"slow\", \"fats\"]}"), "",
          "c.json:4: instances[0].pipe[1]: 'fats' is not a value of trait 'pipe', did you mean "
          "'fast'",
          KS_EINVAL },
        { C("{\"pipe\": 0}"), "", "instances[0].pipe", KS_EINVAL },
        { C("{\"tile_m\": \"1\"}"), "", "instances[0].tile_m", KS_EINVAL },
        { C("{\"tile_m\": []}"), "", "at least one value", KS_EINVAL },
        { C("{\"tile_m\": [1, 1]}"), "", "duplicate value '1'", KS_EINVAL },
        { C("[1]"), "", "an entry is an object", KS_EINVAL },
        { C(""), "", "at least one entry", KS_EINVAL },
        { C("{\"tile_m\": 1},\n{\"tile_m\": [1, 2]}"), "", "duplicate instance 't_slow_m1'",
          KS_EINVAL },
        { C("{\"pipe\": \"fast\", \"tile_m\": 14}"), "", "the rules exclude every combination",
          KS_EINVAL },
        { C("{\"tile_m\": 1}"), "tile_m == 2", "the filter excludes all 1 instances", KS_EINVAL },
        { C("{\"tile_m\": 1}"), "tile_m ==", "column 10: unexpected end", KS_EINVAL },
        { C("{\"tile_m\": 1}"), "tile == 1", "unknown name 'tile'", KS_EINVAL },
        { C("{\"tile_m\": 1}"), "tile_m / fixed / 0 == 1", "filter: column 16: division by zero",
          KS_EINVAL },
        { "[]", "", "a kernel config is an object", KS_EINVAL },
        { "{\"instances\": [{}]}", "", "key 'family' is missing", KS_EINVAL },
        { "{\"family\": \"no.json\", \"instances\": [{}]}", "", "c.json:1: family: file '",
          KS_ENOENT },
        { "{\"family\": 1, \"instances\": [{}]}", "", "family", KS_EINVAL },
        { "{\"instances\": {}}", "", "expected a list", KS_EINVAL },
        { "{\"familly\": 1}", "", "familly", KS_EINVAL },
    };
#undef C
    const struct fixture *x = *state;

    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        struct ks_kernel_set set = { 0 };
        struct ks_err err = { 0 };
        char path[128];
        int rc;

        write_config(x, rows[i].text, path, sizeof path);
        rc = ks_kernel_set_add(&set, path, rows[i].filter, NULL, &err);
        if (rc != rows[i].rc || !strstr(err.text, rows[i].says))
            fail_msg("%s | %s: %d '%s'", rows[i].text, rows[i].filter, rc, err.text);
        assert_int_equal(set.n_instances, 0);
        assert_int_equal(set.n_families, 0);
        ks_kernel_set_release(&set);
    }
}

/* The configs that are shipped must load as they are. */
static void shipped_configs_load(void **state)
{
    static const char *const paths[] = { KS_SOURCE_DIR "/kernels/configs/host_forward.json",
                                         KS_SOURCE_DIR "/kernels/configs/host_forward_quick.json" };

    (void)state;
    for (size_t i = 0; i < sizeof paths / sizeof paths[0]; i++) {
        struct ks_kernel_set set = { 0 };
        struct ks_err err = { 0 };

        if (ks_kernel_set_add(&set, paths[i], "", NULL, &err) < 0)
            fail_msg("%s", err.text);
        ks_kernel_set_release(&set);
    }
}

static void cpu_flags(void **state)
{
    static const char cpuinfo[] = "processor\t: 0\nvmx flags\t: ept\nflags\t\t: fpu sse2 avx2\n"
                                  "bugs\t: spectre\nflags : other\n";
    struct ks_err err = { 0 };
    struct ks_buf b;

    (void)state;
    ks_buf_init(&b);
    assert_int_equal(ks_cpu_flags_parse(cpuinfo, &b, &err), 0);
    assert_true(ks_cpu_flags_has(ks_buf_text(&b), "fpu"));
    assert_true(ks_cpu_flags_has(ks_buf_text(&b), "avx2"));
    assert_false(ks_cpu_flags_has(ks_buf_text(&b), "avx"));
    assert_false(ks_cpu_flags_has(ks_buf_text(&b), "vx2"));
    assert_false(ks_cpu_flags_has(ks_buf_text(&b), "sse"));
    assert_false(ks_cpu_flags_has(ks_buf_text(&b), "ept"));
    assert_false(ks_cpu_flags_has(ks_buf_text(&b), ""));
    assert_false(ks_cpu_flags_has("", "avx"));
    assert_int_equal(ks_cpu_flags_parse("Features\t: fp asimd\n", &b, &err), 0);
    assert_true(ks_cpu_flags_has(ks_buf_text(&b), "asimd"));
    assert_int_equal(ks_cpu_flags_parse("processor: 0\n", &b, &err), KS_EFORMAT);

    assert_int_equal(ks_cpu_flags_read("x86-64-v3", &b, &err), 0);
    assert_true(ks_cpu_flags_has(ks_buf_text(&b), "fma"));
    assert_false(ks_cpu_flags_has(ks_buf_text(&b), "avx512f"));
    assert_int_equal(ks_cpu_flags_read("x86-64-v4", &b, &err), 0);
    assert_true(ks_cpu_flags_has(ks_buf_text(&b), "avx512f"));
    assert_int_equal(ks_cpu_flags_read("x86-64v3", &b, &err), KS_EINVAL);
    assert_non_null(strstr(err.text, "did you mean 'x86-64-v3'"));
    assert_int_equal(setenv("KSWEEP_CPU_FLAGS", "one two", 1), 0);
    assert_int_equal(ks_cpu_flags_read("native", &b, &err), 0);
    assert_string_equal(ks_buf_text(&b), "one two");
    assert_int_equal(unsetenv("KSWEEP_CPU_FLAGS"), 0);
    assert_int_equal(ks_cpu_flags_read("native", &b, &err), 0);
    assert_true(b.len > 10);
    ks_buf_release(&b);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_family_is_read),
        cmocka_unit_test(identity_is_fixed),
        cmocka_unit_test(names_read_back),
        cmocka_unit_test(other_names_are_refused),
        cmocka_unit_test(mistakes_are_named),
        cmocka_unit_test(ambiguous_names_are_found),
        cmocka_unit_test(long_names_are_refused),
        cmocka_unit_test(a_config_becomes_instances),
        cmocka_unit_test(what_is_missing_names_the_cpu),
        cmocka_unit_test(two_configs_share_a_family),
        cmocka_unit_test(mistakes_in_configs_are_named),
        cmocka_unit_test(shipped_configs_load),
        cmocka_unit_test(cpu_flags),
    };

    return cmocka_run_group_tests_name("family", tests, set_up, tear_down);
}
