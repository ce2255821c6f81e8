/* SPDX-License-Identifier: MIT */
/* coord_bench.h - a coordinator with a real journal, and ranks that are simulated in virtual time:
 * they greet, build, measure, fall silent, wake up late, lose their wardens. src/mpi/net.c is
 * replaced. CMake: -Wl,--wrap=ks_now_ns. */
#ifndef KS_TEST_COORD_BENCH_H
#define KS_TEST_COORD_BENCH_H

#include "agent_kit.h"
#include "journal_kit.h"
#include "mpi/agent.h"
#include "mpi/coord.h"
#include "mpi/msg.h"
#include "mpi/share.h"

#include <stdbool.h>
#include <stdint.h>

enum { SIM_RANKS = 20, SIM_HOSTS = 12, SIM_UNITS = 24, SIM_INSTANCES = 260, SIM_ASKS = 64 };
#define SIM_MS      1000000ull
#define SIM_LOST_NS (5000 * SIM_MS)

enum sim_state { SIM_ASLEEP, SIM_HERE, SIM_SILENT, SIM_DEAD, SIM_LEFT };

enum sim_deadly {
    SIM_HARMLESS,
    SIM_KILLS,        /* the rank that measures it again, in a visit or in a further attempt */
    SIM_KILLS_VISITS, /* in visits only */
    SIM_BREAKS_VISITS /* crashes there, and the canary says that the device is bad */
};

struct sim_rank {
    enum sim_state state;
    uint32_t host, local, n_local;
    bool measures, is_broken, is_over, is_building, has_own_cache;
    uint64_t hello_at, wake_at, beat_at, heard_at, built_at, ready_at;
    uint32_t own_cache; /* units, one bit each */
    uint32_t to_build;
    uint32_t n_owed;   /* orders without an answer */
    bool seems_shared; /* says that its cache is everybody's */
    bool cannot_send;  /* says that it has nothing, whatever it has */
    struct sim_fetch { /* from another rank, piece by piece */
        bool is_on;
        uint32_t source, u;
        struct ks_share_in in;
    } fetch;
    struct ks_share_out packs;
    struct ks_share_ask asks[SIM_ASKS];
    uint32_t n_asks;
    struct ks_msg_lease leases[KS_AGENT_LEASES];
    uint32_t n_leases, at;
    bool is_again;       /* the cell in hand was contaminated: once more */
    bool told_builds;    /* of its host, by the first rank there */
    bool has_other_code; /* what its host measures is not what others made of it */
    uint64_t n_sent, n_acked;
    uint32_t n_cells, n_leases_got, n_beats;
    uint32_t n_told;  /* frames, of whatever kind */
    bool fails;       /* everything, at once */
    bool is_late;     /* has been silent with the leases it holds */
    bool is_sent_off; /* quarantined */
    bool hangs;       /* never comes to the end of the cell in hand, but beats */
};

struct sim_plan { /* what goes wrong, in thousandths per rank and second */
    uint32_t n_ranks, n_hosts;
    uint32_t kill, hang, widow, quarantine;
    uint32_t first_safe; /* ranks from this one on never fail */
    bool has_own_caches; /* a rank each, else a host each */
    uint32_t n_targets;  /* ranks of different ones build different things; 0: one */
    uint32_t bad;        /* per mille of cells that crash */
    uint32_t dirty;
};

struct ks_net { /* the coordinator's outbox */
    struct sim *sim;
    uint32_t size;
    bool is_forgotten[SIM_RANKS];
};

struct sim {
    struct sim_plan plan;
    struct ks_grid *grid;
    struct ks_net net;
    struct ks_coord *coord;
    struct ks_journal *journal;
    struct ks_ledger *ledger;
    struct ks_log log;
    struct kit_dir dir;
    struct sim_rank ranks[SIM_RANKS];
    uint32_t cache[SIM_HOSTS]; /* units that are there */
    uint32_t n_compiled[SIM_UNITS], n_fetched[SIM_UNITS];
    uint64_t rng;
    uint8_t code[SIM_INSTANCES];        /* equal numbers: the same machine code; 0: its own */
    uint8_t spills[SIM_INSTANCES];      /* vector registers, as its build says */
    uint8_t refuses[SIM_INSTANCES];     /* its own test says that it cannot run */
    uint8_t crashes[SIM_INSTANCES];     /* on every device */
    uint8_t fails_as[SIM_INSTANCES];    /* this outcome, on every device; 0: does not */
    uint8_t flags[SIM_INSTANCES];       /* of its failures, beside unconfirmed: shifted by 8 */
    uint8_t fails_later[SIM_INSTANCES]; /* crashes in this round, at its first attempt; 0: never */
    uint8_t deadly[SIM_INSTANCES];      /* enum sim_deadly */
    double time_ns[SIM_INSTANCES];      /* of records; 0: they have no samples */
    double noise;       /* of a record's time, relative: that of its block and its own */
    double lucky;       /* by so much of its time the first of its three samples is shorter */
    struct ks_buf told; /* what the coordinator sent: "build RANK ORDER", "lease RANK", "visit RANK
                           PROBLEM ROUND INSTANCES MS", ... */
};

/* For the set-up of tests: one is too large for a stack. Into *state, too; NULL: no memory. */
struct sim *sim_allocate(void **state);
int sim_free(void **state); /* for their tear-down */
/* One problem in n_problems, `names` as in kit_grid. */
void sim_open(struct sim *m, const struct sim_plan *plan, const char *names, uint32_t n_problems,
              uint64_t seed);
/* With a coordinator; all ranks are on one host, have built and may measure, but nobody lives: the
 * test speaks for them. */
void sim_open_by_hand(struct sim *m, const char *names, uint32_t n_problems, uint32_t n_ranks);
/* Another coordinator on the same journal; ranks begin anew. */
void sim_resume(struct sim *m, uint32_t retry);
void sim_coordinate(struct sim *m, const struct ks_coord_config *extra); /* NULL: defaults */
void sim_turn(struct sim *m);                                            /* a millisecond */
/* Until the coordinator says that it is over; fails after n_s seconds. */
void sim_run(struct sim *m, uint32_t n_s);
void sim_hold_up(struct sim *m, uint64_t ns); /* rank 0, by its disk */
void sim_close(struct sim *m);

uint64_t sim_now(void);
/* coord_bench_visit.c: asserts that a visit is one; where a record stands in the lease in hand, and
 * its samples. */
void sim_check_visit(const struct sim *m, const struct ks_msg_lease *l);
void sim_put_place(const struct sim *m, uint32_t rank, struct ks_record *r);
/* The cell in hand is deadly: the rank, or its device, is gone. */
bool sim_dies(struct sim *m, uint32_t rank);
/* A frame of two numbers from a rank. */
int sim_send(struct sim *m, uint32_t rank, uint16_t type, uint64_t a, uint64_t b,
             struct ks_err *err);
int sim_hello(struct sim *m, uint32_t rank, uint64_t digest, struct ks_err *err);
int sim_done(struct sim *m, uint32_t rank, uint64_t problem, uint64_t instance, uint32_t attempt,
             uint32_t outcome, uint32_t flags, struct ks_err *err);
/* It will run this attempt, as it would of a suspect: without the lease. */
void sim_announce(struct sim *m, uint32_t rank, uint64_t problem, uint64_t instance,
                  uint32_t attempt);
/* What the rank made of all instances. */
void sim_tell_builds(struct sim *m, uint32_t rank);

#endif
