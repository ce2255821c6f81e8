/* SPDX-License-Identifier: MIT */
/* test_build_judge.c - GPU verification kernels are built beside those that are measured */
/* Nothing that is measured depends on whether that went well. */
#include "build_gpu_util.h"
#include "json/json.h"

#include <unistd.h>

/* A tree of data with a judge of the test's own, whose `fault` is that of fake_gpu_unit. */
static void put_judge(struct place *p, const char *instances)
{
    static const char family[] =
        "{\"name\": \"gpu_judge\", \"why\": \"t\", \"operator\": \"grouped_conv\", "
        "\"direction\": \"forward\", \"layout\": \"nhwgc\", \"backend\": \"gpu\", "
        "\"source\": \"gpu_unit.k\", \"name_pattern\": \"judge_{dtype}\", \"traits\": ["
        "{\"name\": \"dtype\", \"macro\": \"KT_INDEX\", \"kind\": \"name\", \"default\": \"fp32\", "
        "\"values\": {\"fp32\": 0, \"fp16\": 1, \"bf16\": 2}, \"help\": \"h\"}, "
        "{\"name\": \"fault\", \"macro\": \"KT_FAULT\", \"kind\": \"name\", \"suffix\": \"_{}\", "
        "\"default\": \"none\", \"values\": {\"none\": 0, \"device\": 1}, \"help\": \"h\"}, "
        "{\"name\": \"pipeline\", \"macro\": \"KT_PIPELINE\", \"kind\": \"int\", \"default\": 0, "
        "\"suffix\": \"_{}\", \"values\": [0], \"help\": \"h\"}, "
        "{\"name\": \"block\", \"macro\": \"KT_BLOCK\", \"kind\": \"int\", \"default\": 64, "
        "\"suffix\": \"_{}\", \"values\": [64], \"help\": \"h\"}, "
        "{\"name\": \"split\", \"macro\": \"KT_SPLIT_K\", \"kind\": \"int\", \"default\": 1, "
        "\"suffix\": \"_{}\", \"role\": \"argument\", \"values\": [1], \"help\": \"h\"}]}";
    char data[300], command[2400], config[400];
    snprintf(data, sizeof(data), "%s/data", p->dir);
    snprintf(command, sizeof(command),
             "mkdir -p '%s/kernels/configs' && cp '%s'/kernels/*.h '%s/kernels' && "
             "cp -r '%s/kernels/gpu' '%s/kernels' && cp '%s'/gpu_unit.? '%s/kernels/gpu'",
             data, KS_SOURCE_DIR, data, KS_SOURCE_DIR, data, p->dir, data);
    assert_int_equal(system(command), 0);
    put_file(p, "data/kernels/gpu/judge.family.json", family);
    snprintf(config, sizeof(config),
             "{\"family\": \"../gpu/judge.family.json\", \"instances\": [%s]}", instances);
    put_file(p, "data/kernels/configs/gpu_judge.json", config);
    must_setenv("KSWEEP_DATA_DIR", data);
}

#define ALL "{\"dtype\": [\"fp32\", \"fp16\", \"bf16\"]}"

static void use_judged(struct place *p, const char *arch, const char *judges, const char *instances)
{
    put_judge(p, judges);
    use_gpu(p, arch, instances);
    p->grid.n_helpers = p->n_helpers;
}

static int close_judged(void **state)
{
    must_setenv("KSWEEP_DATA_DIR", NULL);
    return close_units(state);
}

/* What reports on instances knows nothing of it; JSON has it apart. */
static void check_reports(struct place *p)
{
    struct ks_buf text;
    struct ks_jw w;
    ks_buf_init(&text);
    ks_build_print_csv(p->build, &text);
    ks_build_print_codes(p->build, &text);
    ks_build_print_unsupported(p->build, &text);
    assert_null(strstr(ks_buf_text(&text), "judge"));
    assert_non_null(strstr(ks_buf_text(&text), ": 2 distinct of 2\n"));
    ks_buf_clear(&text);
    ks_jw_init(&w, &text, true);
    ks_jw_open(&w, NULL, '{');
    ks_build_print_json(p->build, &w);
    ks_jw_close(&w, '}');
    const char *instances = strstr(ks_buf_text(&text), "\"instances\": [");
    const char *judge = strstr(ks_buf_text(&text), "\"judge\": [");
    const char *name = strstr(ks_buf_text(&text), "\"judge_fp32\"");
    assert_true(instances && judge && name && instances < judge && judge < name);
    ks_buf_release(&text);
}

/* It travels between caches like the rest, and those who lack it are known to build the same. */
static void check_shared(struct place *p)
{
    struct ks_buf pack;
    struct ks_err err;
    ks_buf_init(&pack);
    const struct ks_artefact here = *ks_build_judge(p->build, KS_FP16);
    const struct ks_id128 target = ks_build_target(p->build);
    must(ks_build_export(p->build, here.build_id, &pack, &err), &err);
    snprintf(p->cache, sizeof(p->cache), "%s/cache2", p->dir);
    plan(p, NULL);
    assert_true(ks_id128_eq(ks_build_target(p->build), target));
    assert_int_equal(ks_build_n_missing(p->build), 2);
    must(ks_build_import(p->build, here.build_id, pack.data, pack.len, &err), &err);
    for (uint32_t i = 0; i < ks_build_n_units(p->build); i++)
        must(ks_build_refresh(p->build, i, &err), &err);
    assert_int_equal(ks_build_n_missing(p->build), 1);
    assert_memory_equal(ks_build_judge(p->build, KS_FP16)->digest, here.digest, 32);
    p->grid.n_helpers = 0;
    plan(p, NULL);
    assert_false(ks_id128_eq(ks_build_target(p->build), target));
    ks_buf_release(&pack);
}

/* One build for all that is asked of it. */
static void test_built(void **state)
{
    struct place *p = *state;
    struct ks_buf text;
    ks_buf_init(&text);
    use_judged(p, "emu", ALL, "{\"index\": [1, 2]}");
    assert_int_equal(p->grid.n_instances, 2);
    assert_int_equal(p->grid.n_helpers, 3);
    plan(p, NULL);
    assert_null(ks_build_judge(p->build, KS_FP32)); /* not yet */
    assert_true(ks_build_lacks_judge(p->build, &text));
    assert_string_equal(ks_buf_text(&text), "fp32: missing");
    assert_int_equal(build_all(p), 6); /* two units: device, host, linking */
    for (uint32_t t = 0; t < KS_N_DTYPES; t++) {
        const struct ks_artefact *a = ks_build_judge(p->build, t);
        assert_ptr_equal(a, ks_build_artefact(p->build, 2 + t));
        assert_string_equal(a->entry, p->grid.instances[2 + t].name);
        assert_int_equal(access(a->path, R_OK), 0);
        assert_string_not_equal(a->path, ks_build_artefact(p->build, 0)->path);
    }
    ks_buf_clear(&text);
    assert_false(ks_build_lacks_judge(p->build, &text));
    ks_build_print_judge(p->build, &text);
    assert_string_equal(ks_buf_text(&text), "GPU verifies fp32, fp16, bf16\n");
    plan(p, NULL);
    assert_int_equal(build_all(p), 0);
    assert_non_null(ks_build_judge(p->build, KS_BF16)); /* from the cache */
    ks_buf_release(&text);
    check_reports(p);
    check_shared(p);
}

/* A judge that does not compile costs its type the judge, and nothing else. */
static void test_broken(void **state)
{
    struct place *p = *state;
    struct ks_buf text;
    ks_buf_init(&text);
    use_judged(p, "emu",
               "{\"dtype\": [\"fp16\", \"bf16\"]}, {\"dtype\": \"fp32\", \"fault\": \"device\"}",
               "{\"index\": [1, 2]}");
    plan(p, NULL);
    (void)build_all(p);
    assert_int_equal(count_state(p, KS_ART_READY), 2);
    assert_null(ks_build_obstacle(p->build));
    assert_null(ks_build_judge(p->build, KS_FP32));
    assert_non_null(ks_build_judge(p->build, KS_FP16));
    assert_true(ks_build_lacks_judge(p->build, &text)); /* the problem is of fp32 */
    assert_true(strncmp(ks_buf_text(&text), "fp32: ", 6) == 0);
    assert_non_null(strstr(ks_buf_text(&text), "this device half is broken on purpose"));
    ks_buf_clear(&text);
    ks_build_print_judge(p->build, &text);
    assert_non_null(
        strstr(ks_buf_text(&text), "GPU verifies fp16, bf16; the host verifies fp32: "));
    ks_buf_clear(&text);
    p->grid.problems.rows[0].dtype = KS_BF16; /* what no problem needs is not missed */
    assert_false(ks_build_lacks_judge(p->build, &text));
    ks_buf_release(&text);
}

/* A plug-in needs no compiler; what is only asked for the judge's sake must not stop it. */
static void test_plugin(void **state)
{
    struct place *p = *state;
    struct ks_buf text;
    struct ks_err err;
    ks_buf_init(&text);
    use_judged(p, "gfx942", ALL, "{\"index\": [1, 2]}");
    put_file(p, "plugin.so", "not loaded here");
    snprintf(p->grid.job.kernels[0].plugin, KS_PATH_MAX, "%s/plugin.so", p->dir);
    must_setenv("KSWEEP_HIPCC", "/no/such/hipcc");
    plan(p, NULL);
    assert_int_equal(count_state(p, KS_ART_READY), 2);
    assert_int_equal(ks_build_n_units(p->build), 0);
    assert_null(ks_build_obstacle(p->build));
    assert_true(ks_build_lacks_judge(p->build, &text));
    assert_non_null(strstr(ks_buf_text(&text), "fp32: the compiler in KSWEEP_HIPCC"));
    p->grid.job.kernels[0].plugin[0] = '\0'; /* who is measured does need it */
    assert_int_equal(try_plan(p, NULL, &err), KS_EINVAL);
    must_setenv("KSWEEP_HIPCC", NULL);
    ks_buf_release(&text);
}

int main(void)
{
    struct ks_warden *warden = start_warden();
#define T(f) cmocka_unit_test_prestate_setup_teardown(f, open_emulator_units, close_judged, warden)
    const struct CMUnitTest tests[] = {
        T(test_built),
        T(test_broken),
        T(test_plugin),
    };
    const int rc = cmocka_run_group_tests_name("build_judge", tests, NULL, NULL);
    ks_warden_stop(warden);
    return rc;
}
