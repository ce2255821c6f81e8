/* SPDX-License-Identifier: MIT */
/* test_build_trials.c - objects are loaded before they are published: whose fault a failure is */
/* quick: no */
#include "build_util.h"

#include "build/command.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static void use_messy(struct place *p, const char *instances, uint32_t timeout_s)
{
    char config[500];
    copy_file(p, "tests/fake/bad_faults.k", "bad_faults.k");
    copy_file(p, "tests/fake/messy_faults.k", "messy_faults.k");
    copy_file(p, "tests/fake/messy_kernels.k", "messy_kernels.k");
    copy_file(p, "tests/fake/messy_kernels.family.json", "messy_kernels.family.json");
    snprintf(config, sizeof(config),
             "{\"family\": \"messy_kernels.family.json\", \"instances\": [%s]}", instances);
    put_file(p, "config.json", config);
    load_grid(p, "config.json", "host");
    p->grid.job.isolate.kernel_timeout_s = timeout_s;
}

/* An object that does harm when it is loaded or unloaded is split like one that does not compile:
 * the culprits alone bear it, whatever they shared it with. */
static void test_objects_are_tried(void **state)
{
    static const struct {
        const char *name, *reason;
    } bad[] = {
        { "messy_load_aborts_0", "loading its object kills the process with signal 6" },
        { "messy_load_exits_0", "loading its object ends the process with exit status 0" },
        { "messy_load_thread_0", "a constructor left 1 thread running" },
        { "messy_unload_aborts_0", "unloading its object kills the process with signal 6" },
        { "messy_exit_exits_0", "unloading its object ends the process with exit status 0" },
    };
    struct place *p = *state;
    const struct ks_build_options opt = { .worker = KS_BINARY_DIR "/bin/ksweep-worker" };
    use_messy(p,
              "{\"copy\": [0, 1]}, {\"fault\": [\"load_aborts\", \"load_exits\", "
              "\"load_thread\", \"unload_aborts\", \"exit_exits\"]}, {\"copy\": [2, 3]}",
              30);
    for (int life = 0; life < 2; life++) {
        plan(p, &opt);
        assert_int_equal(build_all(p) > 0, life == 0); /* the second one remembers */
        for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
            const struct ks_artefact *a = artefact(p, bad[i].name);
            assert_int_equal(a->state, KS_ART_UNLOADABLE);
            if (!strstr(a->reason, bad[i].reason))
                fail_msg("%s: '%s'", bad[i].name, a->reason);
        }
        assert_int_equal(count_state(p, KS_ART_READY), 4);
    }
}

/* A trial that takes too long may do so because of others: the next run makes it again. Threads
 * that a family declares are nobody's fault. */
static void test_slow_trials(void **state)
{
    struct place *p = *state;
    const struct ks_build_options opt = { .worker = KS_BINARY_DIR "/bin/ksweep-worker" };
    const struct ks_artefact *a;
    use_messy(p, "{\"fault\": \"load_hangs\"}, {\"fault\": \"load_thread\", \"threads\": 2}", 2);
    for (int life = 0; life < 2; life++) {
        plan(p, &opt);
        (void)build_all(p);
        a = artefact(p, "messy_load_hangs_0");
        assert_int_equal(a->state, KS_ART_UNLOADABLE);
        assert_string_equal(a->reason,
                            "loading its object takes longer than 2 s (kernel_timeout_s)");
        assert_false(a->is_cached);
        a = artefact(p, "messy_load_thread_0_t2");
        assert_int_equal(a->state, KS_ART_READY);
        assert_int_equal(a->is_cached, life > 0);
    }
}

/* Whether the loader finds a library depends on the environment: the next run tries again. */
static void test_a_library_that_comes_later(void **state)
{
    struct place *p = *state;
    const struct ks_build_options opt = { .worker = KS_BINARY_DIR "/bin/ksweep-worker" };
    char text[900], later[300];
    snprintf(text, sizeof(text),
             "mkdir '%s/now' && echo 'int ks_dep;' | "
             "cc -shared -fPIC -x c -o '%s/now/libksdep.so' -",
             p->dir, p->dir);
    assert_int_equal(system(text), 0);
    snprintf(text, sizeof(text),
             "\"link_flags\": \"-Wl,--no-as-needed -Wl,-rpath,%s/later -L%s/now -lksdep\", "
             "\"source\"",
             p->dir, p->dir);
    change_family(p, "\"source\"", text);
    use_instances(p, "{\"index\": 1}");
    plan(p, &opt);
    (void)build_all(p);
    assert_int_equal(artefact(p, "unit_1")->state, KS_ART_UNLOADABLE);
    assert_non_null(strstr(artefact(p, "unit_1")->reason, "libksdep.so"));
    snprintf(later, sizeof(later), "%s/later", p->dir);
    assert_int_equal(symlink("now", later), 0);
    plan(p, &opt);
    assert_true(build_all(p) > 0);
    assert_int_equal(artefact(p, "unit_1")->state, KS_ART_READY);
}

/* What cannot be tried is no instance's fault. */
static void test_trial_without_a_worker(void **state)
{
    static const struct {
        const char *script, *reason;
    } row[] = {
        { NULL, "cannot be started: No such file" },
        { "echo 'ksweep-worker: the operating system does not accept a system call filter' >&2; "
          "exit 91",
          "compiled objects cannot be load-tested on this host: the operating system does not "
          "accept a system call filter" },
    };
    struct place *p = *state;
    char worker[600];
    use_instances(p, "{\"index\": 1}");
    for (size_t i = 0; i < sizeof(row) / sizeof(row[0]); i++) {
        const struct ks_build_options opt = { .worker = worker };
        struct ks_err err;
        int rc = 0;
        snprintf(worker, sizeof(worker), "%s/none", p->dir);
        if (row[i].script)
            put_script(p, "worker", row[i].script, worker, sizeof(worker));
        plan(p, &opt);
        must(ks_build_start(p->build, 0, &err), &err);
        while ((rc = ks_build_step(p->build, 1, &err)) == 0 && ks_build_n_running(p->build))
            must(ks_build_wait(p->build, &err), &err);
        assert_true(rc < 0);
        assert_non_null(strstr(err.text, row[i].reason));
        plan(p, NULL);
        assert_int_equal(ks_build_n_missing(p->build), 1);
    }
}

/* Whatever the user calls the place of temporary files: it is that place, or none and said so. */
static void test_scratch_directories(void **state)
{
    struct place *p = *state;
    char *was = getenv("TMPDIR") ? strdup(getenv("TMPDIR")) : NULL;
    char name[242], tmp[700], dir[512];
    struct ks_err err;
    memset(name, 'x', sizeof(name) - 1);
    name[sizeof(name) - 1] = '\0';
    must(ks_path_join(tmp, sizeof(tmp), p->dir, name, &err), &err);
    must(ks_path_join(tmp, sizeof(tmp), tmp, "long", &err), &err);
    must(ks_mkdirs(tmp, 0700, &err), &err);
    assert_int_equal(setenv("TMPDIR", tmp, 1), 0);
    must(ks_command_scratch("probe", dir, sizeof(dir), &err), &err);
    assert_int_equal(strncmp(dir, tmp, strlen(tmp)), 0);
    assert_int_equal(strncmp(dir + strlen(tmp), "/probe-", 7), 0);
    assert_true(ks_path_is_dir(dir));
    assert_int_equal(ks_command_scratch("probe", dir, strlen(tmp), &err), KS_EINVAL);
    assert_string_equal(dir, "");
    assert_non_null(strstr(err.text, "TMPDIR"));
    must(was ? setenv("TMPDIR", was, 1) : unsetenv("TMPDIR"), &err);
    free(was);
}

int main(void)
{
    struct ks_warden *warden = start_warden();
#define T(f) cmocka_unit_test_prestate_setup_teardown(f, open_units, close_units, warden)
    const struct CMUnitTest tests[] = {
        T(test_objects_are_tried),          T(test_slow_trials),
        T(test_a_library_that_comes_later), T(test_trial_without_a_worker),
        T(test_scratch_directories),
    };
    const int rc = cmocka_run_group_tests_name("build_trials", tests, NULL, NULL);
    ks_warden_stop(warden);
    return rc;
}
