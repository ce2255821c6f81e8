/* SPDX-License-Identifier: MIT */
/* test_kernel_export.c - exported configs come back whole; attributes are checked */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
/* cmocka.h wants the four above first. */
#include <cmocka.h>

#include "base/file.h"
#include "grid/family.h"
#include "grid/kernel_export.h"
#include "tests/unit/fault.h"
#include "tests/unit/temp_dir.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define SOURCE KS_SOURCE_DIR "/"

struct place {
    char dir[TEMP_DIR_MAX], path[TEMP_DIR_MAX + 16];
};

static int set_up(void **state)
{
    struct place *p = calloc(1, sizeof *p);

    assert_non_null(p);
    temp_dir_make(p->dir, sizeof(p->dir));
    snprintf(p->path, sizeof p->path, "%s/k.json", p->dir);
    *state = p;
    return 0;
}

static int tear_down(void **state)
{
    struct place *p = *state;

    temp_dir_remove(p->dir);
    free(p);
    return 0;
}

static void add_part(struct ks_kernel_set *set, const char *path, const char *filter)
{
    struct ks_err err = { 0 };

    if (ks_kernel_set_add(set, path, filter, NULL, &err) < 0)
        fail_msg("%s", err.text);
}

static void add(struct ks_kernel_set *set, const char *path)
{
    add_part(set, path, "");
}

static void write_export(const struct ks_kernel_set *set, const char *const *from, const char *path,
                         struct ks_buf *text_out)
{
    struct ks_err err = { 0 };

    ks_buf_init(text_out);
    if (ks_kernel_export(set, from, "native", text_out, &err) < 0 ||
        ks_file_replace(path, text_out->data, text_out->len, &err) < 0)
        fail_msg("%s", err.text);
}

/* Every kind of config, also several at once: the export is a config of the same instances in the
 * same order, and its own export is the same to the byte. */
static void what_is_exported_comes_back(void **state)
{
    static const char *const rows[][4] = {
        { SOURCE "tests/data/grid/tiny.json", NULL },
        { SOURCE "kernels/configs/host_forward.json", NULL },
        { SOURCE "kernels/configs/host_forward_quick.json", SOURCE "kernels/configs/host_gemm.json",
          SOURCE "tests/data/t1/small.json", NULL },
        { SOURCE "tests/data/ck_forward_2d.json", NULL },
        { SOURCE "tests/data/t1/small.json", NULL },
    };
    const struct place *p = *state;

    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        const char *const again[] = { p->path, NULL };
        struct ks_kernel_set set = { 0 }, back = { 0 };
        struct ks_buf first, second;

        for (size_t k = 0; rows[i][k]; k++)
            add(&set, rows[i][k]);
        write_export(&set, rows[i], p->path, &first);
        add(&back, p->path);
        assert_int_equal(back.n_instances, set.n_instances);
        for (uint32_t k = 0; k < set.n_instances; k++) {
            assert_int_equal(back.instances[k].id, set.instances[k].id);
            assert_string_equal(back.instances[k].name, set.instances[k].name);
            assert_memory_equal(back.instances[k].value, set.instances[k].value, KS_TRAITS_MAX);
        }
        write_export(&back, again, p->path, &second);
        assert_int_equal(first.len, second.len);
        assert_memory_equal(first.data, second.data, first.len);
        assert_null(strstr(ks_buf_text(&second), p->dir));
        ks_buf_release(&first);
        ks_buf_release(&second);
        ks_kernel_set_release(&set);
        ks_kernel_set_release(&back);
    }
}

/* An export may name its families in another order than that of the files which brought them. */
static void families_may_come_in_any_order(void **state)
{
    static const char *const from[] = { SOURCE "tests/data/t1/small.json",
                                        SOURCE "tests/data/grid/tiny.json", NULL };
    static const struct {
        const char *first, *second; /* filters: no instance is in both sets */
    } filters[] = { { "BLOCK == 64", "BLOCK == 32" }, { "tile_m != 1", "tile_m == 1" } };
    const struct place *p = *state;
    struct ks_kernel_set set = { 0 }, back = { 0 };
    struct ks_buf text;
    uint32_t n_before;

    for (size_t i = 0; i < 2; i++)
        add_part(&set, from[i], filters[i].first);
    write_export(&set, from, p->path, &text);
    for (size_t i = 2; i-- > 0;)
        add_part(&back, from[i], filters[i].second);
    n_before = back.n_instances;
    add(&back, p->path);
    assert_int_equal(back.n_families, 2);
    assert_int_equal(back.n_instances, n_before + set.n_instances);
    for (uint32_t k = 0; k < set.n_instances; k++) {
        assert_int_equal(back.instances[n_before + k].id, set.instances[k].id);
        assert_int_equal(back.instances[n_before + k].i_family, 1 - set.instances[k].i_family);
    }
    ks_buf_release(&text);
    ks_kernel_set_release(&set);
    ks_kernel_set_release(&back);
}

/* The traits that Composable Kernel's own export drops are there. */
static void nothing_is_dropped(void **state)
{
    static const char *const from[] = { SOURCE "tests/data/ck_forward_2d.json", NULL };
    static const char *const keys[] = {
        "\"double_smem_buffer\": true", "\"split_image\": true", "\"two_stage\": false",
        "\"num_groups_to_merge\": 2",   "\"tile_m\": 128",       "\"count\": 1216"
    };
    const struct place *p = *state;
    struct ks_kernel_set set = { 0 };
    struct ks_buf text;

    add(&set, from[0]);
    write_export(&set, from, p->path, &text);
    for (size_t i = 0; i < sizeof keys / sizeof keys[0]; i++)
        if (!strstr(ks_buf_text(&text), keys[i]))
            fail_msg("%s is missing", keys[i]);
    assert_non_null(
        strstr(ks_buf_text(&text), "\"path\": \"kernels/ck/grouped_conv.family.json\""));
    ks_buf_release(&text);
    ks_kernel_set_release(&set);
}

/* An export of the first instance of tiny.json, but for its id. */
static const char one[] =
    "{ \"metadata\": { \"config_files\": [\"x.json\"], \"arch\": \"native\", \"count\": 1,\n"
    "  \"families\": [{ \"name\": \"tiny\", \"path\": \"" SOURCE
    "tests/data/grid/tiny.family.json\" }] },\n"
    "  \"kernels\": [\n"
    "    { \"id\": \"d3f1c5b6c9e6a1b2\", \"name\": \"t_slow_m1\", \"family\": \"tiny\",\n"
    "      \"traits\": { \"pipe\": \"slow\", \"tile_m\": 1, \"shift\": 0, \"fixed\": 7 } }\n"
    "  ]\n}\n";

/* `one` with the id that the instance has, and a text in the place of another. */
static void write_changed(const struct place *p, const char *from, const char *to)
{
    const char *const config[] = { SOURCE "tests/data/grid/tiny.json", NULL };
    struct ks_kernel_set set = { 0 };
    char text[sizeof one + 256], hex[17], *at;
    struct ks_err err;

    add(&set, config[0]);
    snprintf(hex, sizeof hex, "%016llx", (unsigned long long)set.instances[0].id);
    ks_kernel_set_release(&set);
    memcpy(text, one, sizeof one);
    at = strstr(text, "d3f1c5b6c9e6a1b2");
    memcpy(at, hex, 16);
    at = strstr(text, from);
    if (!at || strlen(to) > 250)
        fail_msg("'%s' is not in the text", from);
    memmove(at + strlen(to), at + strlen(from), strlen(at + strlen(from)) + 1);
    memcpy(at, to, strlen(to));
    assert_int_equal(ks_file_replace(p->path, text, strlen(text), &err), 0);
}

static void mistakes_are_named(void **state)
{
    static const struct {
        const char *from, *to, *says; /* says NULL: it is read */
    } rows[] = {
        { "x.json", "y.json", NULL },
        { "\"count\": 1", "\"count\": 2",
          "k.json:1: metadata.count: is 2, but the file has 1 kernels" },
        { "\"arch\"", "\"arc\"", "metadata.arc: unknown key 'arc'; did you mean 'arch'?" },
        { "\"config_files\": [\"x.json\"]", "\"config_files\": [1]",
          "metadata.config_files[0]: expected a string, found a whole number" },
        { "\"name\": \"tiny\"", "\"name\": \"tint\"", "the family there is 'tiny', not 'tint'" },
        { "tiny.family.json", "tina.family.json", "k.json:2: metadata.families[0].path: file" },
        { "\"family\": \"tiny\"", "\"family\": \"tint\"",
          "kernels[0].family: 'tint' is not among metadata.families" },
        { "\"slow\"", "\"slwo\"",
          "k.json:5: kernels[0].traits.pipe: 'slwo' is not a value of trait 'pipe', did you mean "
          "'slow'" },
        { ", \"fixed\": 7", "",
          "trait 'fixed' is missing: if the family gained it since, export the config again" },
        { "\"shift\": 0", "\"shift\": 0, \"tile_n\": 3",
          "unknown key 'tile_n'; did you mean 'tile_m'?" },
        { "\"shift\": 0", "\"shift\": 1", "kernels[0]: a rule of the family excludes 't_slow_m1'" },
        { "\"tile_m\": 1", "\"tile_m\": 2", "'t_slow_m1' with id " },
        { "t_slow_m1", "t_slow_m2", "is now 't_slow_m1' with id " },
        { "\"id\": \"", "\"id\": \"x", "if the family has changed since, export the config again" },
        { "\"id\"", "\"ib\"", "unknown key 'ib'; did you mean 'id'?" },
        { "\"fixed\": 7 }", "\"fixed\": 7 }, \"attributes\": { \"tile_m\": 1 }",
          "unknown key 'tile_m'" },
        { "[\n", "[ 1,\n", "metadata.count: is 1, but the file has 2 kernels" },
        { "\"kernels\": [", "\"more\": 1, \"kernels\": [", "unknown key 'more'" },
    };
    const struct place *p = *state;

    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        struct ks_kernel_set set = { 0 };
        struct ks_err err = { 0 };
        int rc;

        write_changed(p, rows[i].from, rows[i].to);
        rc = ks_kernel_set_add(&set, p->path, "", NULL, &err);
        if ((rc == 0) != !rows[i].says ||
            (rows[i].says && (!strstr(err.text, rows[i].says) || !strstr(err.text, p->path))))
            fail_msg("%s: %d '%s'", rows[i].to, rc, err.text);
        assert_int_equal(set.n_instances, rc == 0);
        ks_kernel_set_release(&set);
    }
}

/* Attributes follow from the traits. */
static void attributes_are_checked(void **state)
{
    static const char *const from[] = { SOURCE "tests/data/ck_forward_2d.json", NULL };
    const struct place *p = *state;
    struct ks_kernel_set set = { 0 }, back = { 0 };
    struct ks_err err = { 0 };
    struct ks_buf text;
    char *at;

    add(&set, from[0]);
    write_export(&set, from, p->path, &text);
    at = strstr((char *)text.data, "\"tile_m\": 16");
    assert_non_null(at);
    at[strlen("\"tile_m\": 1")] = '7';
    assert_int_equal(ks_file_replace(p->path, text.data, text.len, &err), 0);
    assert_int_equal(ks_kernel_set_add(&back, p->path, "", NULL, &err), KS_EINVAL);
    assert_non_null(strstr(
        err.text, "kernels[0].attributes.tile_m: must be 16, which follows from the traits"));
    ks_buf_release(&text);
    ks_kernel_set_release(&set);
    ks_kernel_set_release(&back);
}

/* Every allocation fails once, in writing and in reading. */
static void memory_may_run_out(void **state)
{
    static const char *const from[] = { SOURCE "tests/data/grid/tiny.json", NULL };
    const struct place *p = *state;
    struct ks_kernel_set set = { 0 };
    struct ks_buf text;
    unsigned n = 0;
    int rc;

    add(&set, from[0]);
    write_export(&set, from, p->path, &text);
    ks_buf_release(&text);
    do {
        struct ks_err err = { 0 };
        struct ks_kernel_set back = { 0 };

        ks_buf_init(&text);
        fault_arm(n++);
        rc = ks_kernel_set_add(&back, p->path, "", NULL, &err);
        if (rc == 0)
            rc = ks_kernel_export(&set, from, "native", &text, &err);
        if (fault_disarm())
            assert_int_equal(rc, KS_ENOMEM);
        else
            assert_int_equal(rc, 0);
        ks_buf_release(&text);
        ks_kernel_set_release(&back);
    } while (rc < 0);
    assert_true(n > 20);
    ks_kernel_set_release(&set);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(what_is_exported_comes_back, set_up, tear_down),
        cmocka_unit_test_setup_teardown(families_may_come_in_any_order, set_up, tear_down),
        cmocka_unit_test_setup_teardown(nothing_is_dropped, set_up, tear_down),
        cmocka_unit_test_setup_teardown(mistakes_are_named, set_up, tear_down),
        cmocka_unit_test_setup_teardown(attributes_are_checked, set_up, tear_down),
        cmocka_unit_test_setup_teardown(memory_may_run_out, set_up, tear_down),
    };

    return cmocka_run_group_tests_name("kernel_export", tests, NULL, NULL);
}
