/* SPDX-License-Identifier: MIT */
/* worker_rig.h - a worker in the test's own process, on a device like a GPU: memory that the host
 * does not see, a queue, planned faults (device_fault.h), and a spy between the two that counts
 * what travels and can be told to do what a wild kernel or a broken launch does. */
#ifndef KS_TEST_WORKER_RIG_H
#define KS_TEST_WORKER_RIG_H

#include "device/device_fault.h"
#include "kernels/judge.h"
#include "tests/unit/worker_fixture.h"
#include "worker/worker.h"

/* The cage is opened once in a process. For cmocka_run_group_tests. */
struct shared {
    struct fixture *f;
    struct ks_cage cage;
    struct ks_status status;
    char judge[512]; /* worker_judge.c, built */
    uint8_t judge_digest[32];
};
int shared_setup(void **state);
int shared_teardown(void **state);

struct rig {
    struct ks_device_ops ops; /* what the worker calls */
    const struct ks_device_ops *inner;
    struct ks_device *host;
    struct ks_worker *w;
    const struct shared *s;

    /* what was seen */
    uint64_t bytes_down, bytes_up;
    size_t largest_down;    /* of a single download, but for the output's */
    uint32_t n_output_down; /* downloads of anything of the output's payload */
    uint32_t n_kernels;     /* calls of time_samples for kernels */
    uint32_t n_tasks[KS_JUDGE_N_TASKS];
    uint32_t n_keys[KS_JUDGE_N_TASKS]; /* of these: with the key of the references */
    bool has_no_deadline;              /* a judge ran while the status page had none */
    bool has_timed_judge;              /* a judge was held back to be timed */

    /* what is to happen */
    struct {
        uint32_t task, nth; /* from 1; 0: nothing */
        int rc;             /* 0: nothing runs and nothing is said */
    } judge_fault;
    const struct ks_abi_gpu *gpu; /* on which a judge is launched; NULL: it is a host's */
    const struct ks_abi_entry *const *extra; /* found before those of files; NULL-terminated */
    uint8_t *scribble;                       /* the next kernel changes this byte, too; then NULL */
    uint8_t scribble_bits;                   /* of it; 0: one of them */
    /* The clock of the device, and that from the second call of the timing on; 0: the judge has no
     * counters. */
    double clock_mhz, later_mhz;
    uint32_t n_timed;
    double single_ns; /* time of a launch of one call; 0: as the device says */
    uint32_t threads; /* that the next cells declare */
};

void open_rig(struct rig *r, const struct shared *s, const struct ks_fault_plan *plan);
void close_rig(struct rig *r);
void show_memory(struct rig *r); /* from now on the host sees it */

/* entry: of the judge's object; NULL: the host verifies. */
int take_problem(struct rig *r, const struct ks_problem *p, const char *entry, uint32_t references,
                 struct ks_err *err);
/* The same, which must go well and must not end with the host when a judge is named. */
void take(struct rig *r, const struct ks_problem *p, const char *entry);
void large_problem(struct ks_problem *out); /* whose output is judged in several blocks */

struct ks_record *run(struct rig *r, const char *entry);
struct ks_record *run_as(struct rig *r, const char *entry, uint32_t numerics);

#endif
