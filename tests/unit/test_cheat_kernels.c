/* SPDX-License-Identifier: MIT */
/* test_cheat_kernels.c - kernels that cheat in ksweep-worker get no good label, honest ones do */
/* The kernels are those of tests/fake/cheat_kernels.k. A good label is the time of the work. */
#include "base/file.h"
#include "record/stats.h"
#include "tests/unit/op_cases.h"
#include "tests/unit/sanitized.h"
#include "tests/unit/so.h"
#include "tests/unit/worker_rig.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define BIT(outcome) (1u << (outcome))
enum {
    WRONG = BIT(KS_O_WRONG_RESULT),
    NONDETERMINISTIC = BIT(KS_O_NONDETERMINISTIC),
    UNTRUSTED = BIT(KS_O_UNTRUSTED),
    OK = BIT(KS_O_OK) /* of a cheat: if its time is that of the work, or too little was seen */
};

/* In the order of enum cheat_way. */
static const struct way {
    const char *name;
    unsigned outcomes;
    const char *reason; /* part of it; "": any */
} ways[] = {
    { "honest", OK, "" },
    { "order", OK, "" },
    { "packing", OK, "" },
    { "memo", WRONG, "" },
    { "static", WRONG, "" },
    { "thread", WRONG, "" },
    { "mapping", WRONG, "" },
    { "file", WRONG, "" },
    { "workspace", UNTRUSTED | OK, "" },
    { "content", UNTRUSTED, "" },
    { "sample", UNTRUSTED | WRONG | OK, "" },
    { "packed", WRONG, "" },
    { "packed_input", WRONG, "" },
    { "poisoned", WRONG, "" },
    { "third", WRONG, "after its inputs were exchanged" },
    { "second", NONDETERMINISTIC, "differ" },
    { "seventh", WRONG | NONDETERMINISTIC | OK, "1 of" },
    { "thousandth", WRONG | NONDETERMINISTIC | OK, "1 of" },
    { "repeats", UNTRUSTED | WRONG | OK, "" },
    { "hasty", UNTRUSTED | WRONG | NONDETERMINISTIC | OK, "" },
    { "sixteenth", WRONG | NONDETERMINISTIC, "" },
    { "ahead", WRONG | NONDETERMINISTIC, "" },
};
#define N_WAYS   (sizeof(ways) / sizeof(ways[0]))
#define N_HONEST 3u

/* A launch of a microsecond, samples of many; of 0.1 ms, of one each; of milliseconds. */
static const struct {
    const char *problem;
    uint32_t min_samples, max_samples;
} sizes[] = {
    { "hi=3 wi=3 c_total=24 k_total=2", 150, 200 },
    { "n=2 g=2 c_total=10 k_total=6", 150, 200 },
    { "n=2 hi=20 wi=20 c_total=16 k_total=16", 20, 30 },
};
#define N_SIZES (sizeof(sizes) / sizeof(sizes[0]))

static const struct ks_measure patient = { .warmup_ms = 2,
                                           .max_ms = 400,
                                           .target_rse = 0.01,
                                           .cache = KS_CACHE_WARM,
                                           .verify_exact = 1,
                                           .verify_elementwise = 1,
                                           .kernel_timeout_ms = 5000 };

static void append(char *to, size_t cap, const char *fmt, size_t i)
{
    size_t n = strlen(to);

    snprintf(to + n, cap - n, fmt, ways[i].name, i);
    assert_true(strlen(to) + 1 < cap);
}

/* All of them in one object. */
static void make_source(char *to, size_t cap)
{
    snprintf(to, cap, "#define _GNU_SOURCE\n");
    for (size_t i = 0; i < N_WAYS; i++)
        append(to, cap,
               "#define KS_NAME \"%1$s\"\n#define KS_FN(x) %1$s_way_##x\n#define CHEAT %2$zu\n"
               "#include \"cheat_kernels.k\"\n#undef KS_NAME\n#undef KS_FN\n#undef CHEAT\n",
               i);
    append(to, cap, "static const struct ks_abi_entry all[] = {\n", 0);
    for (size_t i = 0; i < N_WAYS; i++)
        append(to, cap,
               "{ \"%1$s\", %1$s_way_unsupported, %1$s_way_workspace_bytes, %1$s_way_run },\n", i);
    append(to, cap,
           "};\nconst struct ks_abi_table ks_kernel_table = { KS_ABI_MAJOR, sizeof(all) / "
           "sizeof(all[0]), all };\n",
           0);
}

/* The fixture's object becomes this one. */
static int setup(void **state)
{
    static char source[16384];
    struct ks_buf file = { 0 };
    struct ks_sha256 h;
    struct fixture *f;

    assert_int_equal(shared_setup(state), 0);
    f = ((struct shared *)*state)->f;
    make_source(source, sizeof(source));
    setenv("CPATH", KS_SOURCE_DIR "/kernels:" KS_SOURCE_DIR "/tests/fake", 1);
    so_build(f->dir, "cheats", source, f->so, sizeof(f->so));
    unsetenv("CPATH");
    assert_int_equal(ks_file_read(f->so, &file, NULL), 0);
    ks_sha256_init(&h);
    ks_sha256_add(&h, file.data, file.len);
    ks_sha256_end(&h, f->digest);
    ks_buf_release(&file);
    return 0;
}

static struct ks_stats stats_of(const struct ks_record *r)
{
    double scratch[KS_SAMPLES_MAX];
    struct ks_stats s;

    ks_stats(r->sample_ns, r->n_samples, r->clock_resolution_ns, r->calls_per_sample, scratch, &s);
    return s;
}

/* A cheat may be `ok` where its time is that of the work after all: it had to do it at every
 * sample; or where what was seen leaves room for what it does. */
static bool is_label_of_the_work(const struct way *w, const struct ks_record *r, double honest_ns)
{
    if (strcmp(w->name, "thousandth") == 0)
        return ks_wrong_launch_share_ucb95(r->n_checked_launches) > 1e-3 * 0.2;
    if (strcmp(w->name, "seventh") == 0)
        return ks_wrong_launch_share_ucb95(r->n_checked_launches) > 1.0 / 7 * 0.5;
    if (strcmp(w->name, "hasty") == 0 && honest_ns < 2500.0)
        return true;                             /* what a launch may cost hides it */
    return stats_of(r).median > 0.3 * honest_ns; /* noise makes times longer, the shortest not */
}

static void check(const struct way *w, const char *reason, const struct ks_record *r,
                  double honest_ns)
{
    bool is_honest = (w->outcomes & ~(unsigned)OK) == 0;

    if ((BIT(r->outcome) & w->outcomes) == 0 ||
        (r->outcome != KS_O_OK && strstr(r->reason, reason) == NULL))
        fail_msg("%s: %s (%s), %u launches looked at", w->name, ks_outcome_text(r->outcome),
                 r->reason, r->n_checked_launches);
    if (r->outcome == KS_O_OK && !is_honest && !is_label_of_the_work(w, r, honest_ns))
        fail_msg("%s: ok with %g ns, the work takes %g ns", w->name, stats_of(r).median, honest_ns);
    if (r->outcome == KS_O_UNTRUSTED || r->outcome == KS_O_OK)
        assert_true(r->exact_check == 1 && r->tolerance_check == 1);
    if (is_honest)
        assert_int_equal(r->bitwise_reproducible, strcmp(w->name, "order") == 0 ? 2 : 1);
}

/* Each in a worker of its own, as a cell that is measured once more for its doubt. */
static void test_cheats(void **state)
{
    struct fixture *f = ((struct shared *)*state)->f;

    for (size_t k = 0; k < N_SIZES; k++) {
        struct ks_measure m = patient;
        double honest_ns = 0.0;

        m.min_samples = sizes[k].min_samples;
        m.max_samples = sizes[k].max_samples;
        assert_int_equal(op_case(sizes[k].problem, &f->problem, NULL), 0);
        for (size_t i = 0; i < N_WAYS; i++) {
            struct child c;

            start_host(&c, &m, -1);
            child_problem(&c, &f->problem, 0);
            send_cell(&c, f, &f->problem, ways[i].name, 0);
            assert_true(child_record(&c, &f->rec));
            if (i == 0)
                honest_ns = stats_of(&f->rec).min;
            check(&ways[i], ways[i].reason, &f->rec, honest_ns);
            child_end(&c, KS_WORKER_EXIT_OK);
        }
    }
}

/* On a device with a queue, whose memory the host does not see; with a judge and without. */
static void test_cheats_on_a_device(void **state)
{
    static const struct ks_fault_plan no_fault = { .slot = KS_FAULT_NONE };
    static const char *const judges[] = { "judge", NULL };
    struct shared *s = *state;

    skip_if_sanitized("cheats keep memory for ever, here in the test's own process");
    assert_int_equal(op_case(sizes[1].problem, &s->f->problem, NULL), 0);
    for (size_t k = 0; k < 2; k++) {
        double honest_ns = 0.0;

        for (size_t i = 0; i < N_WAYS; i++) {
            struct ks_record *r;
            struct rig rig;

            open_rig(&rig, s, &no_fault);
            rig.w->setup.measure = patient;
            rig.w->setup.measure.min_samples = 200;
            rig.w->setup.measure.max_samples = 400;
            take(&rig, &s->f->problem, judges[k]);
            r = run(&rig, ways[i].name);
            assert_false(rig.w->is_lost);
            if (i == 0)
                honest_ns = stats_of(r).min;
            check(&ways[i], "", r, honest_ns); /* the object stays loaded, and what it holds */
            close_rig(&rig);
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_cheats),
        cmocka_unit_test(test_cheats_on_a_device),
    };

    return cmocka_run_group_tests(tests, setup, shared_teardown);
}
