/* SPDX-License-Identifier: MIT */
/* agent_bench.h - an agent, its warden and the fake worker, driven until the leases are over. */
#ifndef KS_TEST_AGENT_BENCH_H
#define KS_TEST_AGENT_BENCH_H

#include "agent_kit.h"
#include "mpi/agent.h"
#include "record/frame.h"
#include "tests/unit/temp_dir.h"

#include <stdbool.h>

struct bench {
    struct ks_grid *grid;
    struct ks_warden *warden;
    struct ks_agent *agent;
    struct ks_buf log;       /* lines of agent_kit.h */
    char dir[TEMP_DIR_MAX];  /* of the fake worker */
    uint64_t n_done;         /* records emitted */
    struct ks_record *death; /* the last one of an abnormal end; outcome 0: none */
    uint32_t n_visit;        /* of the last record of a visit, without anchors */
    bool holds_acks;         /* else each record is acknowledged at once */
    size_t n_fds;
};

/* canary: $FAKE_CANARY, NULL none. Asserts success. */
void bench_open(struct bench *b, const char *instances, uint32_t n_problems, const char *canary);
void bench_open_with(struct bench *b, const char *instances, uint32_t n_problems,
                     const char *worker);
void bench_lease(struct bench *b, const struct ks_msg_lease *m);
/* All instances of a problem in one lease that opens and closes its block. */
void bench_lease_all(struct bench *b, uint64_t lease, uint64_t block, uint32_t i_problem);
/* One round: step, ends of children, acknowledgements, a nap of at most a millisecond. */
void bench_turn(struct bench *b);
/* Until no lease is held and nothing is in flight; fails after 20 s. */
void bench_run(struct bench *b);
void bench_run_until(struct bench *b, bool (*is_enough)(const struct bench *b));
/* Everything is gone: descriptors, children, the directory. */
void bench_close(struct bench *b);

#endif
