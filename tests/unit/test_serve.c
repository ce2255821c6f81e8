/* SPDX-License-Identifier: MIT */
/* test_serve.c - ksweep-worker as a server: problems, references, canary, device, protocol */
#include "base/file.h"
#include "tests/unit/op_cases.h"
#include "tests/unit/worker_fixture.h"
#include "worker/references.h"

#include <fcntl.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

static void test_problems_change(void **state)
{
    struct fixture *f = *state;
    struct child c;

    start_host(&c, &quick, -1);
    for (uint32_t i = 0; i < 4; i++) {
        const struct ks_problem *p = i % 2 == 0 ? &f->problem : &f->other;

        child_problem(&c, p, 0);
        child_problem(&c, p, 0); /* again: nothing is done */
        send_cell(&c, f, p, "good", i);
        assert_true(child_record(&c, &f->rec));
        assert_int_equal(f->rec.outcome, KS_O_OK);
        assert_true(f->rec.cell.problem == p->id && f->rec.reference_ns > 0);
    }
    child_end(&c, KS_WORKER_EXIT_OK);
}

/* What the memfd says with the key is the reference; without it, no number of it is there. */
static void check_masked(const struct ks_problem *p, const struct ks_references *refs)
{
    const struct ks_id128 key = CHILD_KEY;
    const struct ks_mask mask = { { key.hi, key.lo } };
    const struct ks_operator *op = ks_operators[p->op];
    const size_t n = (size_t)op->extents(p).c, bytes = n * sizeof(double);
    struct ks_masked masked[2] = { ks_references_part(refs, refs->real, &mask),
                                   ks_references_part(refs, refs->abs, &mask) };
    double *want[2] = { calloc(n, sizeof(double)), calloc(n, sizeof(double)) };
    double *got = calloc(n, sizeof(double));
    float *a = calloc((size_t)op->extents(p).a, sizeof(float));
    float *b = calloc((size_t)op->extents(p).b, sizeof(float));

    assert_true(want[0] && want[1] && got && a && b);
    ks_problem_inputs(p, KS_DATA_RANDOM, 'a', a);
    ks_problem_inputs(p, KS_DATA_RANDOM, 'b', b);
    assert_int_equal(op->reference(p, a, b, want[0], want[1], NULL), 0);
    for (size_t k = 0; k < 2; k++) {
        assert_memory_equal(ks_masked_read(&masked[k], bytes, got), want[k], bytes);
        for (size_t i = 0; i < n; i++)
            assert_null(memmem(refs->map, refs->map_bytes, &want[k][i], sizeof(double)));
    }
    free(want[0]);
    free(want[1]);
    free(got);
    free(a);
    free(b);
}

static void test_references_are_shared(void **state)
{
    struct fixture *f = *state;
    int fd = memfd_create("references", MFD_CLOEXEC | MFD_ALLOW_SEALING);
    struct ks_references refs = { 0 };
    struct ks_err err = { 0 };
    struct child c[3];

    assert_true(fd >= 0);
    for (uint32_t i = 0; i < 3; i++) { /* compute, map, and again a late one told to compute */
        start_host(&c[i], &quick, fd);
        child_problem(&c[i], &f->problem, i == 1 ? 2 : 1);
        send_cell(&c[i], f, &f->problem, "good", 0);
        assert_true(child_record(&c[i], &f->rec));
        check_good(&f->rec, &quick);
        assert_true(i == 0 || f->rec.max_error == f->rec2.max_error);
        f->rec2 = f->rec;
        child_end(&c[i], KS_WORKER_EXIT_OK);
    }
    assert_true(ks_references_are_sealed(fd));
    assert_int_equal(ks_references_open(&f->problem, KS_PART_EXACT | KS_PART_REAL, fd, &refs, &err),
                     0);
    assert_true(refs.exact != NULL && refs.real != NULL && refs.abs != NULL);
    check_masked(&f->problem, &refs);
    ks_references_release(&refs);
    assert_int_equal(ks_references_open(&f->other, KS_PART_REAL, fd, &refs, &err), KS_EPROTO);
    close(fd);
}

/* What a worker that died while computing leaves behind: larger, not sealed, full of rubbish. */
static void test_half_written_references(void **state)
{
    struct fixture *f = *state;
    int fd = memfd_create("references", MFD_CLOEXEC | MFD_ALLOW_SEALING);
    static const char rubbish[100000] = { 1, 2, 3 };
    struct child c;

    assert_int_equal(ks_write_all(fd, rubbish, sizeof(rubbish), NULL), 0);
    start_host(&c, &quick, fd);
    child_problem(&c, &f->problem, 1);
    send_cell(&c, f, &f->problem, "good", 0);
    assert_true(child_record(&c, &f->rec));
    check_good(&f->rec, &quick);
    assert_true(ks_references_are_sealed(fd));
    child_end(&c, KS_WORKER_EXIT_OK);
    close(fd);
}

static void test_bad_references_are_refused(void **state)
{
    struct fixture *f = *state;
    int fd = memfd_create("references", MFD_CLOEXEC | MFD_ALLOW_SEALING);
    char text[1024];
    struct child c;
    int status;

    assert_true(fd >= 0); /* empty, not sealed: nobody computed them */
    start_host(&c, &quick, fd);
    child_problem(&c, &f->problem, 2);
    status = child_wait(&c);
    assert_true(WIFEXITED(status));
    assert_int_equal(WEXITSTATUS(status), KS_WORKER_EXIT_PROTOCOL);
    child_output(&c, text, sizeof(text));
    assert_non_null(strstr(text, "references"));
    child_release(&c);
    close(fd);
}

/* Every direction, layout and operator is verified; where it is wrong is said in its own shape. */
static void test_all_ways(void **state)
{
    static const struct {
        const char *fields;
        int64_t box[6]; /* of element 7 */
    } rows[] = {
        { "g=2 stride_w=2 pad_w_hi=0", { 0, 0, 0, 1, 1, 1 } },
        { "g=2 stride_w=2 pad_w_hi=0 layout=ngchw", { 0, 0, 0, 0, 2, 1 } },
        { "g=2 stride_w=2 direction=backward_data", { 0, 0, 0, 1, 1, 1 } },
        { "g=2 stride_w=2 direction=backward_data layout=ngchw", { 0, 0, 0, 0, 1, 1 } },
        { "g=2 stride_w=2 direction=backward_weight", { 0, 0, 0, 1, 0, 1 } },
        { "g=2 stride_w=2 direction=backward_weight layout=ngchw", { 0, 0, 0, 0, 2, 1 } },
        { "gemm batch=2 trans_a=1", { 0, 1, 3 } },
        { "gemm batch=2 trans_b=1", { 0, 1, 3 } },
    };
    struct fixture *f = *state;
    struct ks_err err = { 0 };
    struct child c;

    start_host(&c, &quick, -1);
    for (uint32_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        bool is_gemm = strncmp(rows[i].fields, "gemm", 4) == 0;
        struct ks_problem p;

        if ((is_gemm ? op_case_gemm(rows[i].fields + 4, &p, &err)
                     : op_case(rows[i].fields, &p, &err)) < 0)
            fail_msg("%s", err.text);
        child_problem(&c, &p, 0);
        send_cell(&c, f, &p, "ways", i);
        assert_true(child_record(&c, &f->rec));
        assert_int_equal(f->rec.outcome, KS_O_OK);
        assert_true(f->rec.exact_check == 1 && f->rec.tolerance_check == 1);
        assert_int_equal(f->rec.n_elements, ks_operators[p.op]->extents(&p).c);
        send_cell(&c, f, &p, "ways_wrong", i);
        assert_true(child_record(&c, &f->rec));
        assert_int_equal(f->rec.outcome, KS_O_WRONG_RESULT);
        assert_int_equal(f->rec.n_box, is_gemm ? 3 : 6);
        assert_memory_equal(f->rec.box_lo, rows[i].box, f->rec.n_box * sizeof(int64_t));
        assert_memory_equal(f->rec.box_hi, rows[i].box, f->rec.n_box * sizeof(int64_t));
    }
    child_end(&c, KS_WORKER_EXIT_OK);
}

static void send_canary(struct child *c, struct ks_record *r)
{
    child_send(c, KS_F_REQ_CANARY, NULL);
    assert_true(child_record(c, r));
    assert_int_equal(r->role, KS_ROLE_CANARY);
}

static void test_canary(void **state)
{
    struct fixture *f = *state;
    struct ks_req_setup bad = { .backend = "sim",
                                .device = "fail=all",
                                .measure = quick,
                                .limits = { .flops_per_s = 7, .n_levels = 0 } };
    struct ks_ready ready;
    struct child c;

    start_host(&c, &quick, -1);
    send_canary(&c, &f->rec);
    assert_int_equal(f->rec.outcome, KS_O_OK);
    assert_true(f->rec.canary_ratio > 0);
    child_end(&c, KS_WORKER_EXIT_OK);

    child_start(&c, -1);
    child_setup(&c, &bad, &ready);
    assert_true(ready.limits.flops_per_s > 6 && ready.limits.flops_per_s < 8); /* as it was told */
    send_canary(&c, &f->rec);
    assert_int_equal(f->rec.outcome, KS_O_DEVICE_LOST);
    assert_non_null(strstr(f->rec.reason, "simulated"));
    child_problem(&c, &f->problem, 0);
    send_cell(&c, f, &f->problem, "any", 0);
    assert_true(child_record(&c, &f->rec));
    assert_int_equal(f->rec.outcome, KS_O_DEVICE_LOST);
    child_end(&c, KS_WORKER_EXIT_OK);
}

static void test_sim_needs_no_artefact(void **state)
{
    struct fixture *f = *state;
    struct ks_req_setup s = { .backend = "sim", .device = "seed=5,ns=1000000", .measure = quick };
    struct ks_ready ready;
    struct child c;

    s.measure.warmup_ms = 20000; /* virtual: does not wait */
    s.measure.max_samples = 1000;
    s.measure.max_ms = 60000;
    child_start(&c, -1);
    child_setup(&c, &s, &ready);
    assert_non_null(strstr(ready.device, "sim"));
    child_problem(&c, &f->problem, 0);
    send_cell(&c, f, &f->problem, "whatever", 0);
    assert_true(child_record(&c, &f->rec));
    assert_int_equal(f->rec.outcome, KS_O_OK);
    assert_int_equal(f->rec.stop_reason, KS_STOP_TARGET);
    assert_true(f->rec.exact_check == 0 && f->rec.tolerance_check == 0 && f->rec.n_samples >= 3);
    assert_true(f->rec.sample_ns[0] > 0.49e6 && f->rec.sample_ns[0] < 2.01e6);
    child_end(&c, KS_WORKER_EXIT_OK);
}

static void expect_protocol_error(struct child *c, const char *want)
{
    char text[2048];
    int status = child_wait(c);

    assert_true(WIFEXITED(status));
    assert_int_equal(WEXITSTATUS(status), KS_WORKER_EXIT_PROTOCOL);
    child_output(c, text, sizeof(text));
    if (strstr(text, want) == NULL)
        print_error("%s\n", text);
    assert_non_null(strstr(text, want));
    child_release(c);
}

static void test_protocol(void **state)
{
    struct fixture *f = *state;
    struct ks_problem renamed = f->problem;
    static const char junk[64] = "not a frame";
    struct child c;

    child_start(&c, -1); /* a cell before anything else */
    send_cell(&c, f, &f->problem, "good", 0);
    expect_protocol_error(&c, "before the set-up");
    start_host(&c, &quick, -1); /* a cell of a problem nobody announced */
    send_cell(&c, f, &f->problem, "good", 0);
    expect_protocol_error(&c, "not the current one");
    start_host(&c, &quick, -1); /* an id that is not that of the text */
    renamed.id ^= 1;
    child_problem(&c, &renamed, 0);
    expect_protocol_error(&c, "has the id");
    start_host(&c, &quick, -1); /* something that is no request */
    child_send(&c, KS_F_MSG_ACK, NULL);
    expect_protocol_error(&c, "unexpected frame type");
    start_host(&c, &quick, -1); /* damage */
    assert_int_equal(ks_write_all(c.to, junk, sizeof(junk), NULL), 0);
    close(c.to);
    c.to = open("/dev/null", O_RDWR | O_CLOEXEC);
    expect_protocol_error(&c, "request");
    start_host(&c, &quick, -1); /* the agent has gone: nothing to complain about */
    close(c.to);
    c.to = open("/dev/null", O_RDWR | O_CLOEXEC);
    assert_int_equal(child_wait(&c), 0);
    child_release(&c);
}

static void test_unknown_backend(void **state)
{
    struct ks_req_setup s = { .nonce = { 1, 2 }, .backend = "abacus", .measure = quick };
    struct ks_buf body = { 0 };
    char text[512];
    struct child c;
    int status;

    (void)state;
    child_start(&c, -1);
    ks_req_setup_encode(&s, &body);
    child_send(&c, KS_F_REQ_SETUP, &body);
    ks_buf_release(&body);
    status = child_wait(&c);
    assert_int_equal(WEXITSTATUS(status), KS_WORKER_EXIT_SETUP);
    child_output(&c, text, sizeof(text));
    assert_non_null(strstr(text, "abacus"));
    child_release(&c);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_problems_change),
        cmocka_unit_test(test_references_are_shared),
        cmocka_unit_test(test_half_written_references),
        cmocka_unit_test(test_bad_references_are_refused),
        cmocka_unit_test(test_all_ways),
        cmocka_unit_test(test_canary),
        cmocka_unit_test(test_sim_needs_no_artefact),
        cmocka_unit_test(test_protocol),
        cmocka_unit_test(test_unknown_backend),
    };

    return cmocka_run_group_tests(tests, fixture_setup, fixture_teardown);
}
