/* SPDX-License-Identifier: MIT */
/* test_agent_visit.c - visits by the agent: all passes in a fresh worker; their failures */
/* The worker has anchors of its own, and references that are there already. */
/* waits: yes */
#include "agent_bench.h"
#include "mpi/agent_impl.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include <fcntl.h>
#include <string.h>
#include <unistd.h>

/* A visit of all instances but the first, which is the anchor: forwards and backwards. */
static void lease_visit(struct bench *b, uint64_t lease, uint32_t i_problem, uint32_t round)
{
    struct ks_msg_lease m = { .lease = lease,
                              .block_id = lease,
                              .i_problem = i_problem,
                              .opens = 1,
                              .closes = 1,
                              .n_visit = b->grid->n_instances - 1 };
    for (m.n = 0; m.n < 2 * m.n_visit; m.n++) {
        m.cells[m.n].i_instance = 1 + (m.n < m.n_visit ? m.n : 2 * m.n_visit - 1 - m.n);
        m.cells[m.n].attempt = 1;
        m.cells[m.n].round = round;
    }
    bench_lease(b, &m);
}

static void expect(const struct bench *b, const char *want, uint64_t n_workers, uint64_t n_deaths)
{
    struct ks_agent_totals t;
    if (strcmp(ks_buf_text(&b->log), want) != 0)
        fail_msg("have\n%s---- want\n%s", ks_buf_text(&b->log), want);
    ks_agent_totals(b->agent, &t);
    assert_int_equal(t.n_workers, n_workers);
    assert_int_equal(t.n_deaths, n_deaths);
}

#define OPEN(r)     "anchor ok_a r" #r " ok\nblock 7 open ok_a n0\n"
#define CLOSE(r, n) "anchor ok_a r" #r " ok\nblock 7 close ok_a n" #n "\nend 7\n"

/* However small a batch is; what is contaminated is not measured again. */
static void test_one_worker(void **state)
{
    (void)state;
    struct bench b;
    bench_open(&b, "ok_a ok_b noisyall ok_c", 1, NULL);
    b.grid->job.isolate.batch = 2;
    lease_visit(&b, 7, 0, 3);
    bench_run(&b);
    expect(&b,
           OPEN(3) "done ok_b a1 r3 ok\ndone noisyall a1 r3 ok contaminated\ndone ok_c a1 r3 ok\n"
                   "done ok_c a1 r3 ok\ndone noisyall a1 r3 ok contaminated\n"
                   "done ok_b a1 r3 ok\n" CLOSE(3, 6),
           1, 0);
    assert_int_equal(b.n_visit, 3);
    bench_close(&b);
}

/* The retry is a further attempt, which begins with round 0; the visit goes on with the others. */
static void test_crash(void **state)
{
    (void)state;
    struct bench b;
    bench_open(&b, "ok_a crash ok_b", 1, NULL);
    lease_visit(&b, 7, 0, 1);
    bench_run(&b);
    expect(
        &b,
        OPEN(1) "canary passed\nstart crash a2 retry\ndone crash a1 r1 crashed(11)\n"
                "done crash a2 crashed(11)\ndone ok_b a1 r1 ok\ndone ok_b a1 r1 ok\n" CLOSE(1, 3),
        3, 2);
    bench_close(&b);
}

/* The same with times that are not trusted; alone they are. */
static void test_doubt(void **state)
{
    (void)state;
    struct bench b;
    bench_open(&b, "ok_a misjudged ok_b", 1, NULL);
    lease_visit(&b, 7, 0, 1);
    bench_run(&b);
    expect(&b,
           OPEN(1) "start misjudged a2 retry\ndone misjudged a1 r1 untrusted\n"
                   "done misjudged a2 ok\ndone ok_b a1 r1 ok\ndone ok_b a1 r1 ok\n" CLOSE(1, 3),
           3, 0);
    bench_close(&b);
}

/* What cannot be built here was measured elsewhere: that remains its label. */
static void test_not_here(void **state)
{
    (void)state;
    struct bench b;
    bench_open(&b, "ok_a lack_b ok_c", 1, NULL);
    lease_visit(&b, 7, 0, 1);
    bench_run(&b);
    expect(&b, OPEN(1) "done ok_c a1 r1 ok\ndone ok_c a1 r1 ok\n" CLOSE(1, 2), 1, 0);
    assert_int_equal(b.n_visit, 1); /* so that the visit is complete without the other */
    bench_close(&b);
}

/* References of the problems before are kept, up to a number; unfinished ones are not. */
static void test_references(void **state)
{
    (void)state;
    struct references r;
    struct ks_id128 key[KEPT_REFERENCES];
    ks_references_init(&r);
    for (uint32_t i = 0; i < KEPT_REFERENCES; i++) {
        assert_int_equal(ks_references_need(&r, i, NULL), 0);
        assert_false(ks_references_are_sealed(r.kept[0].fd));
        key[i] = r.kept[0].key;
        if (i != 3) /* its worker died */
            assert_int_equal(fcntl(r.kept[0].fd, F_ADD_SEALS, F_SEAL_WRITE), 0);
    }
    for (uint32_t i = KEPT_REFERENCES; i-- > 0;) {
        assert_int_equal(ks_references_need(&r, i, NULL), 0);
        assert_int_equal(ks_references_are_sealed(r.kept[0].fd), i != 3);
        assert_int_equal(ks_id128_eq(r.kept[0].key, key[i]), i != 3);
        if (i == 3)
            assert_int_equal(fcntl(r.kept[0].fd, F_ADD_SEALS, F_SEAL_WRITE), 0);
    }
    assert_int_equal(ks_references_need(&r, 99, NULL), 0); /* in place of the last problem's */
    assert_int_equal(ks_references_need(&r, KEPT_REFERENCES - 2, NULL), 0);
    assert_true(ks_references_are_sealed(r.kept[0].fd));
    assert_int_equal(ks_references_need(&r, KEPT_REFERENCES - 1, NULL), 0);
    assert_false(ks_references_are_sealed(r.kept[0].fd));
    ks_references_release(&r);
}

/* Many bytes are not kept beside those in use. */
static void test_large_references(void **state)
{
    (void)state;
    struct references r;
    ks_references_init(&r);
    for (uint32_t i = 0; i < 3; i++) {
        assert_int_equal(ks_references_need(&r, i, NULL), 0);
        assert_int_equal(ftruncate(r.kept[0].fd, (off_t)(KEPT_BYTES / 4 * 3)), 0);
        assert_int_equal(fcntl(r.kept[0].fd, F_ADD_SEALS, F_SEAL_WRITE), 0);
    }
    assert_int_equal(ks_references_need(&r, 1, NULL), 0);
    assert_true(ks_references_are_sealed(r.kept[0].fd));
    assert_int_equal(ks_references_need(&r, 0, NULL), 0);
    assert_false(ks_references_are_sealed(r.kept[0].fd));
    ks_references_release(&r);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_one_worker), cmocka_unit_test(test_crash),
        cmocka_unit_test(test_doubt),      cmocka_unit_test(test_not_here),
        cmocka_unit_test(test_references), cmocka_unit_test(test_large_references),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
