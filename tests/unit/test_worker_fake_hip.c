/* SPDX-License-Identifier: MIT */
/* test_worker_fake_hip.c - ksweep-worker on the fake HIP runtime, with the judge of kernels/gpu */
/* It cannot touch the memory of tests/fake/hip. The judge is built as a job builds it, and asked
 * over the worker's pipes. */
/* sanitized: no; worker_judge and worker_gpu_judge are. */
#include "build_util.h"
#include "op_cases.h"
#include "worker/references.h"
#include "worker_fixture.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#define LIBRARY KS_BINARY_DIR "/lib/libamdhip64.so.6"

static const struct ks_req_setup on_hip = { .backend = "hip",
                                            .measure = { .min_samples = 3,
                                                         .max_samples = 4,
                                                         .max_ms = 5,
                                                         .verify_exact = 1,
                                                         .verify_elementwise = 1,
                                                         .kernel_timeout_ms = 20000 } };

static const char job[] =
    "{\"name\": \"t\", \"operator\": \"grouped_conv\", \"kernels\": ["
    "{\"config\": \"" KS_SOURCE_DIR "/kernels/configs/gpu_forward_small.json\", \"filter\": "
    "\"pipeline == \\\"basic_v1\\\"\"}], \"problems\": "
    "[{\"file\": \"one.csv\"}], \"device\": {\"backend\": \"hip\", \"arch\": \"emu\"}}";

/* Every kernel of the job, built. */
static int open_job(void **state)
{
    struct place *p = open_place(start_warden());
    char path[600];
    struct ks_err err;

    load_device_grid(p, KS_SOURCE_DIR "/kernels/configs/gpu_forward_small.json", "hip", "emu");
    forget_grid(p);
    put_file(p, "job.json", job);
    must(ks_path_join(path, sizeof(path), p->dir, "job.json", &err), &err);
    must(ks_grid_load(path, &p->grid, &err), &err);
    p->has_grid = true;
    plan(p, NULL);
    (void)build_all(p);
    *state = p;
    return 0;
}

static int close_job(void **state)
{
    struct place *p = *state;
    struct ks_warden *warden = p->warden;

    close_place(p);
    ks_warden_stop(warden);
    return 0;
}

struct session {
    struct child c;
    struct ks_problem problem;
    int fd; /* references */
};

static void begin(struct session *s, const struct place *p, const char *faults)
{
    const struct ks_artefact *judge = ks_build_judge(p->build, KS_BF16);
    struct ks_req_problem q = { .references = 1, .key = CHILD_KEY };
    struct ks_buf text = { 0 }, body = { 0 };
    struct ks_ready ready;
    struct ks_err err;

    must_setenv("KSWEEP_HIP_LIBRARY", LIBRARY);
    must_setenv("KSWEEP_FAKE_HIP", faults);
    s->fd = memfd_create("references", MFD_CLOEXEC | MFD_ALLOW_SEALING);
    assert_true(s->fd >= 0);
    must(op_case("n=2 g=2 dtype=bf16 hi=7 wi=9 c_total=16 k_total=26", &s->problem, &err), &err);
    child_start(&s->c, s->fd);
    child_setup(&s->c, &on_hip, &ready);
    assert_int_equal(judge->state, KS_ART_READY);
    q.problem = s->problem.id;
    ks_problem_canonical(&s->problem, &text);
    snprintf(q.canonical, sizeof(q.canonical), "%s", ks_buf_text(&text));
    snprintf(q.judge_artefact, sizeof(q.judge_artefact), "%s", judge->path);
    snprintf(q.judge_entry, sizeof(q.judge_entry), "%s", judge->entry);
    memcpy(q.judge_digest, judge->digest, sizeof(q.judge_digest));
    ks_req_problem_encode(&q, &body);
    child_send(&s->c, KS_F_REQ_PROBLEM, &body);
    ks_buf_release(&text);
    ks_buf_release(&body);
}

static void end(struct session *s, int want)
{
    child_end(&s->c, want);
    close(s->fd);
}

static void send(struct session *s, const struct ks_artefact *a)
{
    struct ks_req_cell q = { .cell = { s->problem.id, 1, 2 }, .attempt = 1 };
    struct ks_buf body = { 0 };

    snprintf(q.artefact, sizeof(q.artefact), "%s", a->path);
    snprintf(q.entry, sizeof(q.entry), "%s", a->entry);
    memcpy(q.digest, a->digest, sizeof(q.digest));
    ks_req_cell_encode(&q, &body);
    child_send(&s->c, KS_F_REQ_CELL, &body);
    ks_buf_release(&body);
}

/* The kernels that are no judge, in turn; *state's job has two. */
static const struct ks_artefact *kernel(const struct place *p, uint32_t k)
{
    for (uint32_t i = 0; i < p->grid.n_instances; i++)
        if (strncmp(p->grid.instances[i].name, "judge", 5) != 0 && k-- == 0)
            return ks_build_artefact(p->build, i);
    fail_msg("no kernel");
    return NULL;
}

static bool run_cell(struct session *s, const struct ks_artefact *a, struct ks_record *r)
{
    send(s, a);
    return child_record(&s->c, r);
}

static void check_ok(const struct ks_record *r)
{
    if (r->outcome != KS_O_OK)
        print_error("%u: %s\n", r->outcome, r->reason);
    assert_int_equal(r->outcome, KS_O_OK);
    assert_int_equal(r->denied_call, KS_DENIED_UNCOUNTED);
    assert_true(r->exact_check == 1 && r->tolerance_check == 1 && r->bitwise_reproducible == 1);
    assert_int_equal(r->n_elements, 2 * 26 * 7 * 9);
    assert_true(r->max_error > 0.0 && r->max_error <= 1.0);
}

static void test_right_kernels(void **state)
{
    static struct ks_record r;
    const struct place *p = *state;
    struct session s;
    char text[512];

    begin(&s, p, "");
    for (uint32_t i = 0; i < 4; i++) {
        assert_true(run_cell(&s, kernel(p, i % 2), &r));
        check_ok(&r);
        assert_true(r.clock_timed_mhz > 1499.0 && r.clock_timed_mhz < 1501.0); /* the judge's */
    }
    assert_int_equal(ks_references_parts(s.fd), KS_PART_EXACT | KS_PART_REAL | KS_PART_DIGESTS);
    child_output(&s.c, text, sizeof(text));
    assert_string_equal(text, "");
    end(&s, KS_WORKER_EXIT_OK);
}

/* Kernels of a unit are k0_, k1_.. in its order: the first of the job's is k0_, the judge of bf16
 * k2_, with a kernel for each task. */
static const struct {
    const char *fault;
    uint32_t outcome;
    const char *reason;
    int status; /* the worker's */
} cell_faults[] = {
    { "wrong@1-:name=k0_kernel0", KS_O_WRONG_RESULT, "exact data", KS_WORKER_EXIT_OK },
    { "skip@1:name=k0_kernel0", KS_O_NONDETERMINISTIC, "differ", KS_WORKER_EXIT_OK },
    { "skip@2:name=k0_kernel0", KS_O_NONDETERMINISTIC, "differ", KS_WORKER_EXIT_OK },
    { "skip@6:name=k2_kernel2", KS_O_LAUNCH_FAILED, "'exact': block 0", KS_WORKER_EXIT_DEVICE },
    { "skip@7:name=k2_kernel3", KS_O_LAUNCH_FAILED, "'real': block 0", KS_WORKER_EXIT_DEVICE },
    { "skip@6:name=k2_kernel6", KS_O_LAUNCH_FAILED, "'flip': block 0", KS_WORKER_EXIT_DEVICE },
    { "skip@12:name=k2_kernel5", KS_O_LAUNCH_FAILED, "'digest': block 0", KS_WORKER_EXIT_DEVICE },
    { "launch@6:name=k2_kernel2", KS_O_LAUNCH_FAILED, "'exact': ", KS_WORKER_EXIT_DEVICE },
    { "fault@6:name=k2_kernel2", KS_O_LAUNCH_FAILED, "'exact': ", KS_WORKER_EXIT_DEVICE },
};

static void test_faults_in_a_cell(void **state)
{
    static struct ks_record r;
    const struct place *p = *state;

    for (size_t i = 0; i < sizeof(cell_faults) / sizeof(cell_faults[0]); i++) {
        struct session s;
        char config[100];
        int status;

        snprintf(config, sizeof(config), "fault=%s", cell_faults[i].fault);
        begin(&s, p, config);
        assert_true(run_cell(&s, kernel(p, 0), &r));
        if (r.outcome != cell_faults[i].outcome)
            print_error("%s: %u (%s)\n", config, r.outcome, r.reason);
        assert_int_equal(r.outcome, cell_faults[i].outcome);
        assert_non_null(strstr(r.reason, cell_faults[i].reason));
        if (r.outcome == KS_O_WRONG_RESULT) {
            assert_true(r.n_wrong == 1 || r.n_wrong == 2); /* a word of two elements */
            assert_true(r.n_mismatches == r.n_wrong && r.n_box > 0);
        }
        if (cell_faults[i].status == KS_WORKER_EXIT_OK) {
            assert_true(run_cell(&s, kernel(p, 1), &r));
            check_ok(&r);
            end(&s, KS_WORKER_EXIT_OK);
            continue;
        }
        status = child_wait(&s.c);
        assert_true(WIFEXITED(status) && WEXITSTATUS(status) == cell_faults[i].status);
        child_release(&s.c);
        close(s.fd);
    }
}

/* status -1: the host verifies, and the worker says why. */
static const struct {
    const char *fault;
    int status;
    const char *text;
} early_faults[] = {
    { "skip@1:name=k2_kernel0", KS_WORKER_EXIT_SETUP, "reference" },
    { "skip@1:name=k2_kernel1", KS_WORKER_EXIT_SETUP, "round the exact reference" },
    { "skip@1:name=k2_kernel2", KS_WORKER_EXIT_SETUP, "'exact': block 0" },
    { "skip@5:name=k2_kernel6", KS_WORKER_EXIT_SETUP, "'flip': block 0" },
    { "wrong@1:name=k2_kernel5", KS_WORKER_EXIT_SETUP, "verification kernel" },
    { "fault@1:name=k2_kernel0", KS_WORKER_EXIT_DEVICE, "verification kernel 'reference'" },
    { "load@1", -1, "the host verifies the device's results" },
    { "oom@1-:bytes=53248-53248", -1, "the host verifies the device's results" },
};

static void test_faults_before_cells(void **state)
{
    static struct ks_record r;
    const struct place *p = *state;

    for (size_t i = 0; i < sizeof(early_faults) / sizeof(early_faults[0]); i++) {
        struct session s;
        char config[100], text[512];
        int status;

        snprintf(config, sizeof(config), "fault=%s", early_faults[i].fault);
        begin(&s, p, config);
        if (early_faults[i].status < 0) {
            assert_true(run_cell(&s, kernel(p, 0), &r));
            check_ok(&r);
            assert_int_equal(ks_references_parts(s.fd), KS_PART_EXACT | KS_PART_REAL);
        } else {
            status = child_wait(&s.c);
            assert_true(WIFEXITED(status));
            assert_int_equal(WEXITSTATUS(status), early_faults[i].status);
            assert_false(ks_references_are_sealed(s.fd));
        }
        child_output(&s.c, text, sizeof(text));
        if (strstr(text, early_faults[i].text) == NULL)
            print_error("%s: %s\n", config, text);
        assert_non_null(strstr(text, early_faults[i].text));
        child_release(&s.c);
        close(s.fd);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_right_kernels),
        cmocka_unit_test(test_faults_in_a_cell),
        cmocka_unit_test(test_faults_before_cells),
    };

    return cmocka_run_group_tests(tests, open_job, close_job);
}
