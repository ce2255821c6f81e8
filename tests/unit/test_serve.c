/* SPDX-License-Identifier: MIT */
/* ksweep-worker as a server: problems, shared references, canary, simulated device, protocol. */
#include "base/file.h"
#include "tests/unit/op_cases.h"
#include "tests/unit/worker_fixture.h"
#include "worker/references.h"

#include <fcntl.h>
#include <math.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdint.h>
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
    assert_true(refs.abs[0] >= fabs(refs.real[0]));
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

static void test_no_reference_skips(void **state)
{
    struct fixture *f = *state;
    struct ks_problem p;
    struct ks_err err = { 0 };
    struct child c;

    if (op_case("direction=backward_data", &p, &err) < 0)
        skip();
    start_host(&c, &quick, -1);
    child_problem(&c, &p, 0);
    send_cell(&c, f, &p, "good", 0);
    assert_true(child_record(&c, &f->rec));
    assert_int_equal(f->rec.outcome, KS_O_SKIPPED);
    assert_non_null(strstr(f->rec.reason, "no reference for"));
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
    struct ks_req_setup bad = { .backend = "sim", .device = "fail=all", .measure = quick };
    struct ks_ready ready;
    struct child c;

    start_host(&c, &quick, -1);
    send_canary(&c, &f->rec);
    assert_int_equal(f->rec.outcome, KS_O_OK);
    assert_true(f->rec.canary_ratio > 0);
    child_end(&c, KS_WORKER_EXIT_OK);

    child_start(&c, -1);
    child_setup(&c, &bad, &ready);
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
    assert_int_equal(f->rec.stop, KS_STOP_TARGET);
    assert_true(f->rec.v1 == 0 && f->rec.v2 == 0 && f->rec.n_samples >= 3);
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
    expect_protocol_error(&c, "not the one in hand");
    start_host(&c, &quick, -1); /* an id that is not that of the text */
    renamed.id ^= 1;
    child_problem(&c, &renamed, 0);
    expect_protocol_error(&c, "is called");
    start_host(&c, &quick, -1); /* something that is no request */
    child_send(&c, KS_F_MSG_ACK, NULL);
    expect_protocol_error(&c, "no request");
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
        cmocka_unit_test(test_no_reference_skips),
        cmocka_unit_test(test_canary),
        cmocka_unit_test(test_sim_needs_no_artefact),
        cmocka_unit_test(test_protocol),
        cmocka_unit_test(test_unknown_backend),
    };

    return cmocka_run_group_tests(tests, fixture_setup, fixture_teardown);
}
