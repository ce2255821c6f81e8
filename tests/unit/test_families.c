/* SPDX-License-Identifier: MIT */
/* test_families.c - the shipped families and configs: names that read back, the page on them */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
/* cmocka.h wants the four above first. */
#include <cmocka.h>

#include "base/file.h"
#include "base/hash.h"
#include "grid/expr.h"
#include "grid/family.h"
#include "grid/family_expr.h"

#include <glob.h>
#include <malloc.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define PAGE KS_SOURCE_DIR "/docs/families.md"

enum { N_RANDOM = 4000 };

static void find(const char *pattern, glob_t *out)
{
    if (glob(pattern, 0, NULL, out) != 0)
        fail_msg("nothing is like %s", pattern);
}

static struct ks_family *load(const char *path)
{
    struct ks_family *f = calloc(1, sizeof *f);
    struct ks_err err = { 0 };

    assert_non_null(f);
    if (ks_family_load(path, f, &err) < 0)
        fail_msg("%s", err.text);
    return f;
}

static void must_read_back(const struct ks_family *f, struct ks_instance *i)
{
    struct ks_instance back = { 0 };
    struct ks_err err = { 0 };

    if (ks_instance_finish(f, i, &err) < 0 || ks_instance_parse_name(f, i->name, &back, &err) < 0)
        fail_msg("%s", err.text);
    if (back.id != i->id || memcmp(back.value, i->value, sizeof back.value) != 0)
        fail_msg("'%s' reads back as '%s'", i->name, back.name);
}

struct rules {
    struct ks_expr *e[KS_RULES_MAX];
};

static void parse_rules(const struct ks_family *f, struct rules *r)
{
    struct ks_err err = { 0 };

    for (uint32_t k = 0; k < f->n_rules; k++)
        if (ks_family_expr(f, f->rules[k].when, &r->e[k], &err) < 0)
            fail_msg("%s", err.text);
}

static bool exists(const struct ks_family *f, const struct rules *r, const struct ks_instance *i)
{
    struct ks_family_scope scope = { f, i };
    bool is_forbidden = false;

    for (uint32_t k = 0; k < f->n_rules && !is_forbidden; k++) {
        struct ks_err err = { 0 };

        if (ks_expr_test(r->e[k], ks_family_name, &scope, &is_forbidden, &err) < 0)
            fail_msg("rule '%s': %s", f->rules[k].why, err.text);
    }
    return !is_forbidden;
}

/* The defaults and each value of each trait beside them, then combinations at random: those that
 * the rules allow. */
static uint32_t try_family(const struct ks_family *f)
{
    struct rules r = { { NULL } };
    uint64_t seed = 1;
    uint32_t n = 0;

    parse_rules(f, &r);
    for (uint32_t t = 0; t < f->n_traits; t++)
        for (uint32_t v = 0; v < f->traits[t].n_values; v++) {
            struct ks_instance i = { 0 };

            for (uint32_t k = 0; k < f->n_traits; k++)
                i.value[k] = (uint8_t)(k == t ? v : f->traits[k].i_default);
            if (!exists(f, &r, &i))
                continue;
            must_read_back(f, &i);
            n++;
        }
    for (int k = 0; k < N_RANDOM; k++) {
        struct ks_instance i = { 0 };

        for (uint32_t t = 0; t < f->n_traits; t++)
            i.value[t] = (uint8_t)ks_rng_below(&seed, f->traits[t].n_values);
        if (!exists(f, &r, &i))
            continue;
        must_read_back(f, &i);
        n++;
    }
    for (uint32_t k = 0; k < f->n_rules; k++)
        ks_expr_free(r.e[k]);
    return n;
}

static void names_of_every_family_read_back(void **state)
{
    glob_t paths;

    (void)state;
    find(KS_SOURCE_DIR "/kernels/*/*.family.json", &paths);
    for (size_t k = 0; k < paths.gl_pathc; k++) {
        struct ks_family *f = load(paths.gl_pathv[k]);

        if (try_family(f) < 2)
            fail_msg("%s: the rules leave next to nothing", f->name);
        ks_family_release(f);
        free(f);
    }
    globfree(&paths);
}

static void instances_of_every_config_read_back(void **state)
{
    glob_t paths;

    (void)state;
    find(KS_SOURCE_DIR "/kernels/configs/*.json", &paths);
    for (size_t k = 0; k < paths.gl_pathc; k++) {
        struct ks_kernel_set set = { 0 };
        struct ks_err err = { 0 };

        if (ks_kernel_set_add(&set, paths.gl_pathv[k], "", NULL, &err) < 0)
            fail_msg("%s", err.text);
        for (uint32_t i = 0; i < set.n_instances; i++) {
            struct ks_instance one = set.instances[i];

            must_read_back(&set.families[one.i_family], &one);
            assert_string_equal(one.name, set.instances[i].name);
        }
        ks_kernel_set_release(&set);
    }
    globfree(&paths);
}

/* Lists as long as they are: with room for the most that a family may have it took 408 KB. */
static void a_family_takes_what_it_needs(void **state)
{
    struct ks_family *f = load(KS_SOURCE_DIR "/kernels/ck/grouped_conv.family.json");

    (void)state;
    assert_true(f->n_traits > 10 && f->n_inabilities > 5);
    assert_true(sizeof *f < 10 << 10);
    assert_in_range(malloc_usable_size(f->store), 1, 100 << 10);
    ks_family_release(f);
    assert_null(f->traits);
    assert_int_equal(f->n_traits, 0);
    ks_family_release(f);
    free(f);
}

/* docs/families.md is what the files say; KS_BLESS=1 writes it anew. */
static void the_page_says_what_the_files_say(void **state)
{
    struct ks_buf page, want;
    struct ks_err err = { 0 };
    glob_t paths;

    (void)state;
    ks_buf_init(&page);
    ks_buf_init(&want);
    ks_buf_printf(&want, "<!-- SPDX-License-Identifier: MIT -->\n# Kernel families\n\nWhat the "
                         "family files declare (format: [kernel-families.md](kernel-families.md)). "
                         "This page is generated from them by\n`KS_BLESS=1 test_families` and "
                         "compared with them in every test run.\n");
    find(KS_SOURCE_DIR "/kernels/*/*.family.json", &paths);
    for (size_t k = 0; k < paths.gl_pathc; k++) {
        struct ks_family *f = load(paths.gl_pathv[k]);

        ks_buf_printf(&want, "\n");
        ks_family_describe(f, &want);
        ks_family_release(f);
        free(f);
    }
    globfree(&paths);
    if (getenv("KS_BLESS") && ks_file_replace(PAGE, want.data, want.len, &err) < 0)
        fail_msg("%s", err.text);
    if (ks_file_read(PAGE, &page, &err) < 0)
        fail_msg("%s", err.text);
    if (page.len != want.len || memcmp(page.data, want.data, want.len) != 0)
        fail_msg("docs/families.md is not what kernels/ says: KS_BLESS=1 test_families");
    ks_buf_release(&page);
    ks_buf_release(&want);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_family_takes_what_it_needs),
        cmocka_unit_test(names_of_every_family_read_back),
        cmocka_unit_test(instances_of_every_config_read_back),
        cmocka_unit_test(the_page_says_what_the_files_say),
    };

    return cmocka_run_group_tests_name("families", tests, NULL, NULL);
}
