/* SPDX-License-Identifier: MIT */
/* test_build.c - from instances to loaded kernels with the real compiler: units, cache, faults */
/* waits: yes */
#include "build/plan.h"
#include "build_util.h"

#include <fcntl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <unistd.h>

#define ELEVEN_TO_37                                                                               \
    "11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 21, 22, 23, 25, 26, 27, 28, 29, 30, 31, 32, 33, 34, " \
    "35, 36, 37"

static void test_builds_and_runs(void **state)
{
    struct place *p = *state;
    const uint32_t *list;
    use_instances(p, "{\"index\": [" ELEVEN_TO_37 ", 1, 2, 3]}");
    const struct ks_build_options two = { .n_parallel = 2 };
    plan(p, &two);
    assert_int_equal(p->grid.n_instances, 29);
    assert_int_equal(ks_build_n_units(p->build), 2);
    assert_int_equal(ks_build_unit(p->build, 0, &list), 15);
    assert_int_equal(ks_build_unit(p->build, 1, &list), 14);
    assert_int_equal(ks_build_n_missing(p->build), 2);
    assert_int_equal(build_all(p), 4); /* compile and link, twice */
    for (uint32_t i = 0; i < p->grid.n_instances; i++) {
        const struct ks_artefact *a = ks_build_artefact(p->build, i);
        const int64_t index =
            ks_instance_trait(&p->grid.families[0], &p->grid.instances[i], "index");
        assert_int_equal(a->state, KS_ART_READY);
        assert_false(a->is_cached);
        assert_true(a->compile_ns > 0 && a->object_bytes > 1000);
        assert_true(run_artefact(a) == (float)index + 0.5f);
        for (uint32_t k = 0; k < i; k++) {
            const struct ks_artefact *other = ks_build_artefact(p->build, k);
            assert_false(ks_id128_eq(a->code_id, other->code_id));
            assert_false(ks_id128_eq(a->build_id, other->build_id));
        }
    }
}

static void test_second_run_compiles_nothing(void **state)
{
    struct place *p = *state;
    struct ks_artefact first;
    use_instances(p, "{\"index\": [1, 2, 3]}, {\"index\": 4, \"fault\": \"compile\"}");
    plan(p, NULL);
    assert_true(build_all(p) > 0);
    first = *artefact(p, "unit_2");
    for (int life = 0; life < 2; life++) {
        plan(p, NULL);
        assert_int_equal(ks_build_n_missing(p->build), 0);
        assert_int_equal(build_all(p), 0);
        const struct ks_artefact *a = artefact(p, "unit_2");
        assert_true(a->is_cached);
        assert_string_equal(a->path, first.path);
        assert_memory_equal(a->digest, first.digest, sizeof(first.digest));
        assert_true(ks_id128_eq(a->build_id, first.build_id));
        assert_true(ks_id128_eq(a->code_id, first.code_id));
        assert_int_equal(artefact(p, "unit_4_compile")->state, KS_ART_FAILED);
    }
    /* Another choice of instances finds them too, whatever units they were compiled in. */
    use_instances(p, "{\"index\": [3, 1]}");
    plan(p, NULL);
    assert_int_equal(build_all(p), 0);
    assert_true(run_artefact(artefact(p, "unit_3")) == 3.5f);
}

static void test_one_broken_instance_is_isolated(void **state)
{
    static const struct {
        const char *fault, *name, *reason;
    } row[] = {
        { "compile", "unit_24_compile", "this instance is broken on purpose" },
        { "link", "unit_24_link", "unit_no_such_function" },
    };
    for (size_t i = 0; i < sizeof(row) / sizeof(*row); i++) {
        struct place *p = *state;
        char list[600];
        snprintf(list, sizeof(list),
                 "{\"index\": [" ELEVEN_TO_37 "]}, {\"index\": 24, \"fault\": \"%s\"}",
                 row[i].fault);
        use_instances(p, list);
        const struct ks_build_options opt = { .unit_size = 27,
                                              .cache_dir = row[i].fault[0] == 'c' ? NULL : p->dir };
        plan(p, &opt);
        assert_int_equal(ks_build_n_units(p->build), 1);
        (void)build_all(p);
        const struct ks_artefact *bad = artefact(p, row[i].name);
        assert_int_equal(bad->state, KS_ART_FAILED);
        if (!strstr(bad->reason, row[i].reason))
            fail_msg("reason is '%s'", bad->reason);
        assert_int_equal(count_state(p, KS_ART_READY), 26);
        assert_true(run_artefact(artefact(p, "unit_37")) == 37.5f);
        plan(p, &opt);
        assert_int_equal(build_all(p), 0);
        assert_true(artefact(p, row[i].name)->is_cached);
        assert_non_null(strstr(artefact(p, row[i].name)->reason, row[i].reason));
    }
}

static void test_timeout(void **state)
{
    struct place *p = *state;
    char compiler[600];
    put_script(p, "slow-cc",
               "if grep -q 'KT_FAULT 3' unit.c 2>/dev/null; then sleep 1000; fi\nexec cc \"$@\"",
               compiler, sizeof(compiler));
    use_instances(p, "{\"index\": 1}, {\"index\": 2, \"fault\": \"slow\"}");
    struct ks_build_options opt = { .compiler = compiler, .timeout_s = 2 };
    plan(p, &opt);
    assert_true(build_all(p) > 0);
    assert_int_equal(artefact(p, "unit_1")->state, KS_ART_READY);
    assert_int_equal(artefact(p, "unit_2_slow")->state, KS_ART_TIMEOUT);
    assert_string_equal(artefact(p, "unit_2_slow")->reason, "the compiler ran longer than 2 s");
    plan(p, &opt);
    assert_int_equal(build_all(p), 0);
    assert_int_equal(artefact(p, "unit_2_slow")->state, KS_ART_TIMEOUT);
    opt.timeout_s = 3; /* more time than last time: worth another try */
    plan(p, &opt);
    assert_int_equal(artefact(p, "unit_2_slow")->state, KS_ART_MISSING);
    assert_int_equal(ks_build_n_missing(p->build), 1);
}

/* Files below the cache that are not of the units' own. */
static void count_large(const char *dir, uint32_t *n_out)
{
    char command[400], line[64] = "";
    snprintf(command, sizeof(command), "find '%s' -type f -size +1024k | wc -l", dir);
    FILE *f = popen(command, "r");
    assert_non_null(f);
    assert_non_null(fgets(line, sizeof(line), f));
    assert_int_equal(pclose(f), 0);
    *n_out = (uint32_t)strtoul(line, NULL, 10);
}

/* What a compiler wrote before it was killed goes; what it writes is limited. */
static void test_a_killed_compiler_leaves_nothing(void **state)
{
    static const struct {
        const char *write, *reason;
        enum ks_artefact_state then;
        bool until_given_more;
    } rows[] = {
        { "head -c 5000000 /dev/zero >unit.s; sleep 1000", "the compiler ran longer than 2 s",
          KS_ART_TIMEOUT, true },
        { "exec head -c 50000000 /dev/zero >unit.s", "the compiler wrote a file of more than 8 MiB",
          KS_ART_FAILED, true },
        { "head -c 5000000 /dev/zero >$TMPDIR/x; echo 'unit.c: error: no' >&2; exit 1",
          "unit.c: error: no", KS_ART_FAILED, false },
    };
    struct place *p = *state;
    char compiler[600], script[300];
    for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
        uint32_t n_large;
        snprintf(
            script, sizeof(script),
            "if grep -q 'KT_FAULT 3' unit.c 2>/dev/null; then %s; fi\nexec cc -DROW=%zu \"$@\"",
            rows[i].write, i);
        put_script(p, "large-cc", script, compiler, sizeof(compiler));
        const size_t n = strlen(compiler); /* words of the command are identity */
        snprintf(compiler + n, sizeof(compiler) - n, " -DTRY=%zu", i);
        use_instances(p, "{\"index\": 2, \"fault\": \"slow\"}");
        struct ks_build_options opt = { .compiler = compiler, .timeout_s = 2, .file_mib = 8 };
        plan(p, &opt);
        (void)build_all(p);
        assert_int_equal(artefact(p, "unit_2_slow")->state, rows[i].then);
        assert_string_equal(artefact(p, "unit_2_slow")->reason, rows[i].reason);
        count_large(p->cache, &n_large);
        assert_int_equal(n_large, 0);
        plan(p, &opt);
        assert_int_equal(ks_build_n_missing(p->build), 0); /* remembered */
        opt.file_mib = 16;
        plan(p, &opt);
        assert_int_equal(ks_build_n_missing(p->build), rows[i].until_given_more);
    }
}

static void test_unsupported_is_never_compiled(void **state)
{
    struct place *p = *state;
    assert_int_equal(setenv("KSWEEP_CPU_FLAGS", "fpu sse2", 1), 0);
    use_instances(p, "{\"index\": [1, 2], \"wide\": [0, 1]}");
    assert_int_equal(unsetenv("KSWEEP_CPU_FLAGS"), 0);
    plan(p, NULL);
    assert_int_equal(count_state(p, KS_ART_UNSUPPORTED), 2);
    assert_int_equal(build_all(p), 2);
    const struct ks_artefact *a = artefact(p, "unit_1_w1");
    assert_int_equal(a->state, KS_ART_UNSUPPORTED);
    assert_non_null(strstr(a->reason, "avx512f"));
    assert_int_equal(a->path[0], '\0');
}

/* What has no cell is not compiled, and nobody looks for its compiler. */
static void test_only_what_has_a_cell_is_compiled(void **state)
{
    struct place *p = *state;
    const char *why;
    change_family(p, "\"dtype\": \"fp32\",", "");
    change_family(
        p, "\"traits\": [",
        "\"traits\": [{ \"name\": \"dtype\", \"kind\": \"name\", \"suffix\": \"_{}\", "
        "\"values\": { \"fp32\": 0, \"bf16\": 2 }, \"default\": \"fp32\", \"help\": \"x\" },");
    use_instances(p, "{\"index\": 1}, {\"index\": 2, \"dtype\": \"bf16\"}, "
                     "{\"index\": 3, \"dtype\": \"bf16\", \"compiler\": \"nocc\"}");
    plan(p, NULL);
    assert_int_equal(ks_build_n_units(p->build), 1);
    assert_int_equal(build_all(p), 2); /* compile and link */
    assert_int_equal(artefact(p, "unit_1")->state, KS_ART_READY);
    assert_int_equal(count_state(p, KS_ART_UNSUPPORTED), 2);
    assert_string_equal(artefact(p, "unit_2_bf16")->reason,
                        "no problem of the job matches the instance");
    assert_int_equal(ks_build_lacking(p->build, 0, &why), 0);
    assert_int_equal(ks_build_lacking(p->build, 1, &why), -1);
    assert_null(ks_build_obstacle(p->build));
}

static void test_sim_needs_no_compiler(void **state)
{
    struct place *p = *state;
    use_instances(p, "{\"index\": [1, 2]}");
    load_grid(p, "config.json", "sim");
    const struct ks_build_options opt = { .compiler = "/no/such/compiler" };
    plan(p, &opt);
    assert_int_equal(ks_build_n_units(p->build), 0);
    assert_int_equal(count_state(p, KS_ART_READY), 2);
    assert_string_equal(artefact(p, "unit_2")->entry, "unit_2");
}

/* What an identity must depend on, and what not. */
static void test_identities(void **state)
{
    struct place *p = *state;
    struct ks_artefact before[4];
    const struct ks_build_options one = { .unit_size = 1 };
    use_instances(p, "{\"index\": [1, 2], \"twin\": [0, 1]}");
    plan(p, NULL);
    (void)build_all(p);
    for (uint32_t i = 0; i < 4; i++)
        before[i] = *ks_build_artefact(p->build, i);
    assert_true(ks_id128_eq(before[0].code_id, before[1].code_id)); /* twins: same code */
    assert_false(ks_id128_eq(before[0].build_id, before[1].build_id));
    assert_false(ks_id128_eq(before[0].code_id, before[2].code_id));

    snprintf(p->cache, sizeof(p->cache), "%s/cache2", p->dir);
    plan(p, &one);
    assert_int_equal(build_all(p), 8);
    for (uint32_t i = 0; i < 4; i++) { /* the company does not matter */
        assert_true(ks_id128_eq(ks_build_artefact(p->build, i)->build_id, before[i].build_id));
        assert_true(ks_id128_eq(ks_build_artefact(p->build, i)->code_id, before[i].code_id));
    }
    put_file(p, "unit.h", "#define UNIT_BIAS 0.25f\n");
    plan(p, &one);
    assert_int_equal(ks_build_n_missing(p->build), 4);
    for (uint32_t i = 0; i < 4; i++)
        assert_false(ks_id128_eq(ks_build_artefact(p->build, i)->build_id, before[i].build_id));
    (void)build_all(p);
    assert_true(run_artefact(artefact(p, "unit_2")) == 2.25f);
    assert_false(ks_id128_eq(artefact(p, "unit_2")->code_id, before[2].code_id));
}

static void test_no_compiler(void **state)
{
    static const struct {
        const char *compiler;
        int code;
        const char *text;
    } row[] = {
        { "/no/such/cc", KS_ENOENT, "KSWEEP_CC" },
        { "false", KS_EINVAL, "set KSWEEP_CC to a C compiler" },
    };
    struct place *p = *state;
    use_instances(p, "{\"index\": 1}");
    for (size_t i = 0; i < sizeof(row) / sizeof(*row); i++) {
        struct ks_err err;
        const struct ks_build_options opt = { .compiler = row[i].compiler };
        assert_int_equal(try_plan(p, &opt, &err), row[i].code);
        assert_non_null(strstr(err.text, row[i].text));
        assert_null(p->build);
    }
}

/* What is not the instance's fault is not remembered: the next run tries again. */
static void test_other_failures_are_tried_again(void **state)
{
    static const struct {
        const char *script, *reason;
        bool is_kept;
    } row[] = {
        { "echo 'unit.c:1: error: no'; exit 1", "unit.c:1: error: no", true },
        { "echo 'cc: fatal error: Killed signal terminated program cc1'; exit 1", "Killed", false },
        { "echo '/tmp/x.s: error: No space left on device'; exit 1", "No space left", false },
        { "exit 1", "without an error message", true },
        { "kill -SEGV $$", "the compiler died", false },
    };
    struct place *p = *state;
    char path[600], script[400];
    snprintf(path, sizeof(path), "%s/odd-cc", p->dir);
    use_instances(p, "{\"index\": 1}");
    for (size_t i = 0; i < sizeof(row) / sizeof(*row); i++) {
        const struct ks_build_options opt = { .compiler = path };
        snprintf(script, sizeof(script),
                 "#!/bin/sh\nif [ \"$1\" = --version ]; then echo odd %zu; exit; fi\n%s\n", i,
                 row[i].script);
        put_file(p, "odd-cc", script);
        assert_int_equal(chmod(path, 0700), 0);
        plan(p, &opt);
        assert_int_equal(build_all(p), 1);
        assert_int_equal(artefact(p, "unit_1")->state, KS_ART_FAILED);
        if (!strstr(artefact(p, "unit_1")->reason, row[i].reason))
            fail_msg("row %zu: '%s'", i, artefact(p, "unit_1")->reason);
        plan(p, &opt);
        assert_int_equal(ks_build_n_missing(p->build), row[i].is_kept ? 0 : 1);
        snprintf(script, sizeof(script), "odd %zu", i);
        assert_string_equal(ks_build_compiler(p->build), script);
    }
}

/* Our own trouble is an error of the step, not a verdict on an instance. */
static void test_compiler_goes_away(void **state)
{
    struct place *p = *state;
    struct ks_err err;
    char path[600];
    snprintf(path, sizeof(path), "%s/gone-cc", p->dir);
    put_file(p, "gone-cc", "#!/bin/sh\nexec cc \"$@\"\n");
    assert_int_equal(chmod(path, 0700), 0);
    use_instances(p, "{\"index\": [1, 2]}");
    const struct ks_build_options opt = { .compiler = path };
    plan(p, &opt);
    assert_int_equal(unlink(path), 0);
    must(ks_build_start(p->build, 0, &err), &err);
    int rc = 0;
    while (rc == 0 && ks_build_n_running(p->build)) {
        struct ks_child_end end;
        rc = ks_build_step(p->build, 1, &err);
        while (ks_warden_next(p->warden, &end, &err) == 1)
            assert_true(ks_build_child_ended(p->build, &end));
        ks_sleep_ns(1000000);
    }
    if (rc == 0)
        rc = ks_build_step(p->build, 1, &err);
    assert_int_equal(rc, KS_ENOENT);
    assert_non_null(strstr(err.text, "gone-cc"));
    assert_int_equal(count_state(p, KS_ART_MISSING), 2);
    must(ks_build_step(p->build, 1, &err), &err); /* told once */
}

/* A limit of this process is no fault of an instance: nothing is recorded. */
static void test_too_little_address_space(void **state)
{
    struct place *p = *state;
    struct rlimit before, limit;
    struct ks_err err;
    char compiler[600];
    put_script(p, "big-cc",
               "[ \"$1\" = --version ] && exec cc --version; "
               "echo 'cc1: out of memory allocating 65536 bytes' >&2; exit 1",
               compiler, sizeof(compiler));
    use_instances(p, "{\"index\": [1, 2]}");
    const struct ks_build_options opt = { .compiler = compiler };
    assert_int_equal(getrlimit(RLIMIT_AS, &before), 0);
    limit = (struct rlimit){ before.rlim_cur, 1ull << 46 };
    limit.rlim_cur = limit.rlim_max; /* more than even a sanitizer takes */
    assert_int_equal(setrlimit(RLIMIT_AS, &limit), 0);
    plan(p, &opt);
    must(ks_build_start(p->build, 0, &err), &err);
    int rc = 0;
    while (rc == 0 && ks_build_n_running(p->build)) {
        rc = ks_build_step(p->build, 1, &err);
        if (rc == 0)
            rc = ks_build_wait(p->build, &err);
    }
    if (rc == 0)
        rc = ks_build_step(p->build, 1, &err);
    (void)setrlimit(RLIMIT_AS, &before);
    assert_int_equal(rc, KS_EINVAL);
    assert_non_null(strstr(err.text, "ulimit -v"));
    assert_int_equal(count_state(p, KS_ART_MISSING), 2);
}

/* Nobody is idle while others have much left, and nothing is cut smaller than that needs. */
static void test_unit_sizes(void **state)
{
    static const struct {
        uint32_t all, unit_size, n_parallel, n_units_least, n_units_most;
    } row[] = {
        { 1000, 27, 1, 38, 38 },    { 1000, 27, 2, 38, 42 },     { 1000, 27, 16, 48, 48 },
        { 1000, 27, 64, 62, 64 },   { 1000, 27, 256, 250, 256 }, { 1000, 27, 5000, 1000, 1000 },
        { 40, 27, 2, 2, 2 },        { 60, 27, 2, 4, 4 },         { 14, 27, 2, 2, 2 },
        { 3, 27, 2, 2, 2 },         { 3, 27, 1, 1, 1 },          { 100000, 27, 64, 3704, 3900 },
        { 1000, 1, 4, 1000, 1000 }, { 1000, 1000, 4, 20, 20 },
    };
    (void)state;
    for (size_t i = 0; i < sizeof(row) / sizeof(*row); i++) {
        uint32_t left = row[i].all, n_units = 0, size = 0;
        while (left) {
            if (n_units++ % row[i].n_parallel == 0)
                size = ks_units_size(left, row[i].unit_size, row[i].n_parallel);
            assert_true(size >= 1 && size <= row[i].unit_size);
            /* The last unit that is handed out is no longer than what was left for each. */
            if (row[i].n_parallel > 1)
                assert_true(size <= (left + row[i].n_parallel - 1) / row[i].n_parallel ||
                            n_units % row[i].n_parallel != 1);
            left -= size < left ? size : left;
        }
        if (n_units < row[i].n_units_least || n_units > row[i].n_units_most)
            fail_msg("row %zu: %u units", i, n_units);
    }
}

/* As many compilers run as may, until nothing is left to start. */
static void test_all_jobs_are_busy(void **state)
{
    struct place *p = *state;
    const struct ks_build_options opt = { .n_parallel = 4 };
    struct ks_err err;
    uint32_t n_full = 0;
    use_instances(p, "{\"index\": [" ELEVEN_TO_37 ", 1, 2, 3]}");
    plan(p, &opt);
    assert_true(ks_build_n_units(p->build) >= 4);
    for (uint32_t i = 0; i < ks_build_n_units(p->build); i++)
        must(ks_build_start(p->build, i, &err), &err);
    for (;;) {
        uint32_t n_running = 0, n_waiting = 0;
        must(ks_build_step(p->build, 4, &err), &err);
        for (uint32_t i = 0; i < p->build->n_compiles; i++) {
            n_running += ks_compile_is_running(&p->build->compiles[i]);
            n_waiting += p->build->compiles[i].phase == KS_TO_COMPILE ||
                         p->build->compiles[i].phase == KS_TO_LINK;
        }
        assert_true(n_running <= 4);
        assert_true(n_running == 4 || n_waiting == 0);
        n_full += n_running == 4;
        if (!turn(p, 4, 20))
            break;
    }
    assert_true(n_full > 0);
    assert_int_equal(count_state(p, KS_ART_READY), 29);
}

int main(void)
{
    struct ks_warden *warden = start_warden();
#define T(f) cmocka_unit_test_prestate_setup_teardown(f, open_units, close_units, warden)
    const struct CMUnitTest tests[] = {
        T(test_builds_and_runs),
        T(test_second_run_compiles_nothing),
        T(test_one_broken_instance_is_isolated),
        T(test_timeout),
        T(test_a_killed_compiler_leaves_nothing),
        T(test_too_little_address_space),
        T(test_unit_sizes),
        T(test_all_jobs_are_busy),
        T(test_unsupported_is_never_compiled),
        T(test_only_what_has_a_cell_is_compiled),
        T(test_sim_needs_no_compiler),
        T(test_identities),
        T(test_no_compiler),
        T(test_other_failures_are_tried_again),
        T(test_compiler_goes_away),
    };
    const int rc = cmocka_run_group_tests_name("build", tests, NULL, NULL);
    ks_warden_stop(warden);
    return rc;
}
