/* SPDX-License-Identifier: MIT */
/* worker_fixture.h - what the tests of ksweep-worker share: compiled kernels, two problems,
 * requests.
 */
#ifndef KS_TEST_WORKER_FIXTURE_H
#define KS_TEST_WORKER_FIXTURE_H

#include "tests/unit/worker_child.h"

struct fixture {
    char dir[256], so[512];
    uint8_t digest[32];
    struct ks_problem problem, other;
    struct ks_record rec, rec2; /* big: kept off the stack */
};

int fixture_setup(void **state); /* for cmocka_run_group_tests */
int fixture_teardown(void **state);

/* A few samples, both verifications. */
extern const struct ks_measure quick;

struct ks_req_setup host_setup(const struct ks_measure *m);
/* A worker on the host device, set up. */
void start_host(struct child *c, const struct ks_measure *m, int fd_reference);
/* Instance 1000 + i_cell, condition 42, attempt 2, round 1, an anchor at position 10 + i_cell of
 * lease 7 and block 8. */
void send_cell(struct child *c, const struct fixture *f, const struct ks_problem *p,
               const char *entry, uint32_t i_cell);
/* The same of an instance that declares its rounding. */
void send_cell_of(struct child *c, const struct fixture *f, const struct ks_problem *p,
                  const char *entry, uint32_t i_cell, enum ks_numerics numerics);
/* The same in a visit of two instances; is_again: a further pass. */
void send_visit(struct child *c, const struct fixture *f, const struct ks_problem *p,
                const char *entry, uint32_t i_cell, bool is_again);
/* The same of one whose runtime has threads. */
void send_threaded_cell(struct child *c, const struct fixture *f, const struct ks_problem *p,
                        const char *entry, uint32_t i_cell, uint32_t threads);
/* What every good cell's record of the fixture's first problem holds. */
void check_good(const struct ks_record *r, const struct ks_measure *m);

#endif
