/* SPDX-License-Identifier: MIT */
/* coord_bench_race.h - races on the coordinator's bench: planted times, what was visited, verdicts.
 */
#ifndef KS_TEST_COORD_BENCH_RACE_H
#define KS_TEST_COORD_BENCH_RACE_H

#include "coord_bench.h"
#include "mpi/coord_impl.h"

enum { SIM_VISITS = 400, SIM_PROBLEMS = 8 };

struct sim_visit {
    unsigned rank, problem, round, n;
    unsigned long long ms;
};

extern const char sim_eight[]; /* names of instances */

/* Of eight instances two are 1 % apart, 1 and 4; the others are far behind. */
void sim_plant(struct sim *s, double noise);
void sim_open_planted(struct sim *m, const struct sim_plan *plan, uint32_t n_problems,
                      uint64_t seed);
/* @out [out] [SIM_VISITS] the visits that were given, in order. Returns their number. */
size_t sim_visits(const struct sim *m, struct sim_visit *out);
bool sim_has_visits(const struct sim *m, uint32_t rank, size_t n); /* n or more */
/* What the ledger has; NULL: nothing. */
const struct ks_ledger_problem *sim_raced(const struct sim *m, uint32_t ip);
const struct ks_ledger_cell *sim_cell(const struct sim *m, uint32_t ip, uint32_t ii);
/* The last verdicts in the journal, by problem. */
void sim_verdicts(const struct sim *m, struct ks_race_rec out[SIM_PROBLEMS]);
/* The pools of three devices as a text. */
void sim_put_pools(struct ks_coord *c, struct ks_buf *out);

#endif
