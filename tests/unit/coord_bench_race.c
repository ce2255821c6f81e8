/* SPDX-License-Identifier: MIT */
/* coord_bench_race.c - races on the coordinator's bench: planted times, visits, verdicts */
#include "coord_bench_race.h"

#include "record/frame.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include <stdio.h>
#include <string.h>

const char sim_eight[] = "ok_a ok_b ok_c ok_d ok_e ok_f ok_g ok_h";

void sim_plant(struct sim *s, double noise)
{
    s->grid->job.rounds =
        (struct ks_job_rounds){ .max = 6, .gap_s = 1, .alpha = 0.05, .margin = 0 };
    for (uint32_t i = 0; i < s->grid->n_instances; i++)
        s->time_ns[i] = i == 1 ? 1e6 : i == 4 ? 1.01e6 : 2e6 + 2e5 * i;
    s->noise = noise;
}

void sim_open_planted(struct sim *m, const struct sim_plan *plan, uint32_t n_problems,
                      uint64_t seed)
{
    sim_open(m, plan, sim_eight, n_problems, seed);
    sim_plant(m, 0.002);
}

size_t sim_visits(const struct sim *m, struct sim_visit *out)
{
    size_t n = 0;
    for (const char *at = ks_buf_text(&m->told); (at = strstr(at, "visit ")); at++, n++)
        assert_int_equal(sscanf(at, "visit %u %u %u %u %llu", &out[n].rank, &out[n].problem,
                                &out[n].round, &out[n].n, &out[n].ms),
                         5);
    assert_true(n < SIM_VISITS);
    return n;
}

const struct ks_ledger_problem *sim_raced(const struct sim *m, uint32_t ip)
{
    return ks_ledger_problem_find(m->ledger, ks_problem_table_id(&m->grid->problems, ip));
}

const struct ks_ledger_cell *sim_cell(const struct sim *m, uint32_t ip, uint32_t ii)
{
    struct ks_cell c = { ks_problem_table_id(&m->grid->problems, ip), m->grid->instances[ii].id,
                         m->grid->condition };
    return ks_ledger_find(m->ledger, &c);
}

struct verdicts {
    const struct ks_grid *grid;
    struct ks_race_rec *of;
};

static int take_verdict(void *ctx, const struct ks_journal_frame *f, struct ks_err *err)
{
    struct verdicts *v = ctx;
    struct ks_race_rec r;
    if (f->type != KS_F_RACE)
        return 0;
    assert_int_equal(ks_race_rec_decode(f->body, f->n, &r, err), 0);
    v->of[ks_grid_problem(v->grid, r.problem)] = r;
    return 0;
}

void sim_verdicts(const struct sim *m, struct ks_race_rec out[SIM_PROBLEMS])
{
    struct verdicts v = { m->grid, out };
    struct ks_err err;
    memset(out, 0, SIM_PROBLEMS * sizeof(*out));
    if (ks_journal_read(m->dir.journal, take_verdict, NULL, &v, NULL, &err) < 0)
        fail_msg("%s", err.text);
}

bool sim_has_visits(const struct sim *m, uint32_t rank, size_t n)
{
    struct sim_visit v[SIM_VISITS];
    size_t n_seen = sim_visits(m, v), n_of = 0;
    for (size_t i = 0; i < n_seen; i++)
        n_of += v[i].rank == rank;
    return n_of >= n;
}

void sim_put_pools(struct ks_coord *c, struct ks_buf *out)
{
    struct ks_err err = { 0 };
    for (uint64_t device = 1; device < 4; device++)
        for (uint32_t k = 0; k < 2; k++) {
            const struct ks_race_spread *p = ks_coord_race_pool(c, device, k, &err);
            ks_buf_printf(out, "\npool %llu %llu %llu", (unsigned long long)p->paired.squares,
                          (unsigned long long)p->first.squares,
                          (unsigned long long)p->level.squares);
        }
}
