/* SPDX-License-Identifier: MIT */
/* test_build_compilers.c - compilers, flags and arguments as traits, and what a compiler may use */
#include "build_util.h"
#include "sanitized.h"

#include <unistd.h>

/* One toolchain for each compiler, one unit for each compiler and set of flags. */
static void test_compilers_and_flags(void **state)
{
    struct place *p = *state;
    const uint32_t *list;
    const char *why;
    char first[600], second[640];
    put_script(p, "my-gcc", "case $* in *--version) echo my gcc 1; exit ;; esac\nexec cc \"$@\"",
               first, sizeof(first));
    put_script(p, "my-clang", "[ \"$1\" = --version ] && echo my clang 2 && exit\nexec cc \"$@\"",
               second, sizeof(second));
    must_setenv("KSWEEP_CC", first);
    must_setenv("KSWEEP_CC_CLANG", second);
    use_instances(p, "{\"index\": [1, 2], \"compiler\": [\"gcc\", \"clang\", \"nocc\"], "
                     "\"opt\": [\"o3\", \"o1\"]}");
    plan(p, NULL);
    assert_int_equal(p->grid.n_instances, 12);
    assert_int_equal(count_state(p, KS_ART_UNSUPPORTED), 4);
    assert_string_equal(artefact(p, "unit_1_nocc")->reason, "compiler nocc is not installed");
    assert_int_equal(ks_build_lacking(p->build, 0, &why), 0);
    assert_int_equal(ks_build_lacking(p->build, 1, &why), 0);
    assert_int_equal(ks_build_lacking(p->build, 2, &why), 4);
    assert_string_equal(why, "compiler nocc is not installed");
    assert_int_equal(ks_build_lacking(p->build, 3, &why), -1);
    assert_string_equal(ks_build_compiler(p->build), "my gcc 1; my clang 2");
    assert_int_equal(ks_build_n_units(p->build), 4);
    for (uint32_t u = 0; u < 4; u++)
        assert_int_equal(ks_build_unit(p->build, u, &list), 2);
    assert_int_equal(build_all(p), 8);
    assert_string_equal(artefact(p, "unit_1")->compiler, "my gcc 1");
    assert_string_equal(artefact(p, "unit_2_clang_o1")->compiler, "my clang 2");
    assert_true(run_artefact(artefact(p, "unit_2")) == 2.5f);
    assert_true(run_artefact(artefact(p, "unit_2_o1")) == 102.5f);
    assert_true(run_artefact(artefact(p, "unit_2_clang_o1")) == 102.5f);

    /* Another compiler for one of them builds those again, and no other. */
    put_script(p, "my-clang", "[ \"$1\" = --version ] && echo my clang 3 && exit\nexec cc \"$@\"",
               second, sizeof(second));
    plan(p, NULL);
    assert_int_equal(count_state(p, KS_ART_READY), 4);
    assert_int_equal(artefact(p, "unit_1_clang")->state, KS_ART_MISSING);
    /* The words behind a compiler's name count, too. */
    snprintf(second, sizeof(second), "%s -DUNIT_NOTHING", first);
    must_setenv("KSWEEP_CC", second);
    plan(p, NULL);
    assert_int_equal(count_state(p, KS_ART_READY), 0);
    must_setenv("KSWEEP_CC", NULL);
    must_setenv("KSWEEP_CC_CLANG", NULL);
}

/* Where a compiler is looked for. */
static void test_compiler_names(void **state)
{
    struct place *p = *state;
    struct ks_err err;
    char path[4400], was[4000], versioned[600];
    const char *echo = "[ \"$1\" = --version ] && echo %s && exit\nexit 1";
    char script[200];
    snprintf(was, sizeof(was), "%s", getenv("PATH"));
    snprintf(script, sizeof(script), echo, "clang of a version");
    put_script(p, "clang-19", script, versioned, sizeof(versioned));
    put_script(p, "clang-11", "exit 1", versioned, sizeof(versioned));
    snprintf(script, sizeof(script), echo, "gcc of the path");
    put_script(p, "gcc", script, versioned, sizeof(versioned));
    use_instances(p, "{\"index\": 1, \"compiler\": [\"gcc\", \"clang\"]}");
    must_setenv("PATH", p->dir); /* the scripts need nothing else */
    plan(p, NULL);
    must_setenv("PATH", was);
    assert_string_equal(artefact(p, "unit_1")->compiler, "gcc of the path");
    assert_string_equal(artefact(p, "unit_1_clang")->compiler, "clang of a version");

    /* One that is there and does not work is as good as none; one that the user named is an error.
     */
    put_script(p, "clang", "exit 3", versioned, sizeof(versioned));
    snprintf(path, sizeof(path), "%s:%s", p->dir, was);
    must_setenv("PATH", path);
    plan(p, NULL);
    assert_int_equal(artefact(p, "unit_1_clang")->state, KS_ART_UNSUPPORTED);
    assert_non_null(strstr(artefact(p, "unit_1_clang")->reason, "compiler clang does not work"));
    must_setenv("KSWEEP_CC_CLANG", "/no/such/clang");
    assert_int_equal(try_plan(p, NULL, &err), KS_ENOENT);
    assert_non_null(strstr(err.text, "/no/such/clang"));
    must_setenv("KSWEEP_CC_CLANG", NULL);
    must_setenv("PATH", was);
}

/* Equal code at other addresses is an alias; with another argument it is not. */
static void test_arguments_are_identity(void **state)
{
    struct place *p = *state;
    use_instances(p, "{\"index\": [1, 2], \"twin\": [0, 1], \"split_k\": [1, 4]}");
    plan(p, NULL);
    assert_true(build_all(p) > 0);
    const struct ks_id128 one = artefact(p, "unit_1")->code_id;
    assert_false(ks_id128_is_zero(one));
    assert_true(ks_id128_eq(artefact(p, "unit_1_t1")->code_id, one));
    assert_false(ks_id128_eq(artefact(p, "unit_1_sk4")->code_id, one));
    assert_true(
        ks_id128_eq(artefact(p, "unit_1_sk4")->code_id, artefact(p, "unit_1_t1_sk4")->code_id));
    assert_false(
        ks_id128_eq(artefact(p, "unit_2_sk4")->code_id, artefact(p, "unit_1_sk4")->code_id));
    assert_true(artefact(p, "unit_1")->code_bytes > 10);
    /* The functions of the twins are two, at two places. */
    void *so = dlopen(artefact(p, "unit_1")->path, RTLD_NOW | RTLD_LOCAL);
    assert_non_null(so);
    const struct ks_abi_table *table = dlsym(so, KS_ABI_SYMBOL);
    assert_non_null(table);
    for (uint32_t i = 0; i < table->n_entries; i++)
        for (uint32_t k = 0; k < i; k++)
            assert_true(table->entries[i].run != table->entries[k].run);
    assert_int_equal(dlclose(so), 0);
}

/* The compiler proper is a child of what is started. What it may not have it is not given, and more
 * memory is worth another try, more time, too. */
static void test_memory(void **state)
{
    struct place *p = *state;
    char compiler[600];
    put_script(p, "big-cc",
               "if grep -q 'KT_FAULT 3' unit.c 2>/dev/null; then ulimit -v 1000000; tail "
               "/dev/zero; exit 1; fi\n"
               "exec cc \"$@\"",
               compiler, sizeof(compiler));
    use_instances(p, "{\"index\": 1}, {\"index\": 2, \"fault\": \"slow\"}");
    struct ks_build_options opt = { .compiler = compiler, .memory_mib = 200, .timeout_s = 60 };
    plan(p, &opt);
    assert_true(build_all(p) > 0);
    assert_int_equal(artefact(p, "unit_1")->state, KS_ART_READY);
    assert_int_equal(artefact(p, "unit_2_slow")->state, KS_ART_FAILED);
    assert_string_equal(artefact(p, "unit_2_slow")->reason, "the compiler exceeded 200 MiB");
    plan(p, &opt);
    assert_int_equal(ks_build_n_missing(p->build), 0);
    opt.memory_mib = 199;
    plan(p, &opt);
    assert_int_equal(ks_build_n_missing(p->build), 0);
    opt.memory_mib = 201;
    plan(p, &opt);
    assert_int_equal(artefact(p, "unit_2_slow")->state, KS_ART_MISSING);
    assert_int_equal(artefact(p, "unit_1")->state, KS_ART_READY);
}

/* Programs that are no compiler, and limits that are too low for one, before anything is there. */
static void test_trial(void **state)
{
    static const struct {
        const char *script, *say; /* NULL: it passes */
    } rows[] = {
        { "[ \"$1\" = --version ] && echo 'true 1.0'; exit 0", "did not write a shared object" },
        { "[ \"$1\" = --version ] && echo 'cc 1.0' && exit; echo 'error: I am none'; exit 1",
          "I am none" },
        { "[ \"$1\" = --version ] && exec cc --version; ulimit -v 20000; exec cc \"$@\"", "" },
        { "exec cc \"$@\"", NULL },
    };
    struct place *p = *state;
    char compiler[600];
    for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
        struct ks_err err = { .text = "" };
        put_script(p, "odd-cc", rows[i].script, compiler, sizeof(compiler));
        use_instances(p, "{\"index\": 1}");
        const struct ks_build_options opt = { .compiler = compiler, .try_compilers = true };
        const int rc = try_plan(p, &opt, &err);
        assert_int_equal(rc, rows[i].say ? KS_EINVAL : 0);
        assert_int_equal(ks_path_exists(p->cache), !rows[i].say);
        if (rows[i].say && (!strstr(err.text, rows[i].say) || !strstr(err.text, "KSWEEP_CC")))
            fail_msg("row %zu: '%s'", i, err.text);
    }
    assert_true(build_all(p) > 0);
    /* Nothing is missing any more: no compiler has to prove anything. */
    put_script(p, "odd-cc", "[ \"$1\" = --version ] && exec cc --version; exit 1", compiler,
               sizeof(compiler));
    const struct ks_build_options opt = { .compiler = compiler, .try_compilers = true };
    plan(p, &opt);
    assert_int_equal(ks_build_n_missing(p->build), 0);
    use_instances(p, "{\"index\": 2}");
    struct ks_err err = { .text = "" };
    assert_int_equal(try_plan(p, &opt, &err), KS_EINVAL);
}

/* A compiler that the family names beside others takes only its own instances with it. */
static void test_trial_of_one_of_two(void **state)
{
    struct place *p = *state;
    char compiler[600];
    char *path = strdup(getenv("PATH")), found[4096];
    put_script(p, "nocc", "[ \"$1\" = --version ] && exec cc --version; echo 'error: no'; exit 1",
               compiler, sizeof(compiler));
    use_instances(p, "{\"index\": [51], \"compiler\": [\"gcc\", \"nocc\"]}");
    snprintf(found, sizeof(found), "%s:%s", p->dir, path);
    must_setenv("PATH", found);
    const struct ks_build_options opt = { .try_compilers = true };
    for (int life = 0; life < 2; life++) { /* without a cache, and with one that lacks them */
        plan(p, &opt);
        (void)build_all(p);
        assert_int_equal(count_state(p, KS_ART_READY), 1);
        assert_int_equal(count_state(p, KS_ART_UNSUPPORTED), 1);
        assert_int_equal(count_state(p, KS_ART_FAILED), 0);
    }
    must_setenv("PATH", path);
    free(path);
}

/* A library of the compiler's own, as OpenMP's: the linker must be told, too. */
static void test_link_flags(void **state)
{
    struct place *p = *state;
    struct ks_id128 without;
    copy_file(p, "tests/fake/threads.k", "threads.k");
    for (int i = 0; i < 2; i++) {
        char family[700];
        snprintf(
            family, sizeof(family),
            "{\"name\": \"threads\", \"operator\": \"grouped_conv\", \"direction\": "
            "\"forward\", \"dtype\": \"fp32\", \"layout\": \"nhwgc\", \"backend\": "
            "\"host\", \"source\": \"threads.k\", \"extra_flags\": \"-D_GNU_SOURCE -fopenmp\",%s "
            "\"name_pattern\": \"threads_{index}\", \"traits\": [{\"name\": \"index\", "
            "\"kind\": \"int\", \"values\": [1], \"default\": 1, \"help\": \"x\", \"macro\": "
            "\"KT_THREADS\"}]}",
            i ? " \"link_flags\": \"-fopenmp\"," : "");
        put_file(p, "threads.family.json", family);
        put_file(p, "config.json",
                 "{\"family\": \"threads.family.json\", \"instances\": [{\"index\": 1}]}");
        load_grid(p, "config.json", "host");
        plan(p, NULL);
        (void)build_all(p);
        const struct ks_artefact *a = artefact(p, "threads_1");
        if (a->state != (i ? KS_ART_READY : KS_ART_FAILED))
            fail_msg("%s: %s", ks_artefact_states[a->state], a->reason);
        if (i)
            assert_false(ks_id128_eq(without, a->build_id));
        else
            assert_non_null(strstr(a->reason, "undefined reference"));
        without = a->build_id;
    }
}

/* A family without a source has nothing to compile, and asks for no compiler. */
static void test_without_source(void **state)
{
    struct place *p = *state;
    change_family(p, "\"source\": \"unit.k\",", "");
    use_instances(p, "{\"index\": [1, 2]}");
    must_setenv("KSWEEP_CC", "/no/such/cc");
    plan(p, NULL);
    must_setenv("KSWEEP_CC", NULL);
    assert_int_equal(count_state(p, KS_ART_UNSUPPORTED), 2);
    assert_int_equal(ks_build_n_units(p->build), 0);
    assert_non_null(strstr(artefact(p, "unit_1")->reason, "no kernel of its own"));
}

/* The shipped kernels of both compilers: what else is in the unit is not in their code. That is the
 * compilers' doing, which are not sanitized. */
static void test_company(void **state)
{
    static const char instances[] =
        "{\"compiler\": [\"gcc\", \"clang\"], \"pipeline\": \"indirect\", \"vector_bytes\": 32, "
        "\"tile_m\": 6, \"tile_n\": 2}, "
        "{\"compiler\": [\"gcc\", \"clang\"], \"pipeline\": \"packed\", \"vector_bytes\": 16, "
        "\"tile_m\": 4, \"tile_n\": 2}, "
        "{\"compiler\": [\"gcc\", \"clang\"], \"pipeline\": \"pixels\", \"vector_bytes\": 64, "
        "\"tile_m\": 6, \"tile_n\": 4}";
    struct place *p = *state;
    struct ks_id128 alone[6];
    char config[1600];
    const struct ks_build_options single = { .unit_size = 1 };
    skip_if_sanitized("the compilers make the objects, the release tree compares them");
    snprintf(config, sizeof(config), "{\"family\": \"%s\", \"instances\": [%s]}",
             KS_SOURCE_DIR "/kernels/host/gconv_fwd.family.json", instances);
    put_file(p, "config.json", config);
    load_grid(p, "config.json", "host");
    assert_int_equal(p->grid.n_instances, 6);
    plan(p, &single);
    (void)build_all(p);
    assert_true(count_state(p, KS_ART_READY) > 0);
    for (uint32_t i = 0; i < 6; i++)
        alone[i] = ks_build_artefact(p->build, i)->code_id;
    snprintf(p->cache, sizeof(p->cache), "%s/cache2", p->dir);
    plan(p, NULL);
    (void)build_all(p);
    for (uint32_t i = 0; i < 6; i++) {
        const struct ks_artefact *a = ks_build_artefact(p->build, i);
        assert_int_equal(ks_id128_is_zero(a->code_id), a->state != KS_ART_READY);
        if (!ks_id128_eq(a->code_id, alone[i]))
            fail_msg("'%s' depends on its company", a->entry);
    }
}

int main(void)
{
    struct ks_warden *warden = start_warden();
#define T(f) cmocka_unit_test_prestate_setup_teardown(f, open_units, close_units, warden)
    const struct CMUnitTest tests[] = {
        T(test_compilers_and_flags),
        T(test_compiler_names),
        T(test_arguments_are_identity),
        T(test_memory),
        T(test_without_source),
        T(test_company),
        T(test_trial),
        T(test_trial_of_one_of_two),
        T(test_link_flags),
    };
    const int rc = cmocka_run_group_tests_name("build_compilers", tests, NULL, NULL);
    ks_warden_stop(warden);
    return rc;
}
