/* SPDX-License-Identifier: MIT */
/* test_coord_sim.c - the coordinator with many ranks in virtual time: it ends, with every cell */
/* Whoever dies, hangs and wakes up again, loses its warden or is quarantined, while building or
 * measuring. */
#include "coord_bench.h"
#include "sanitized.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { PROBLEMS = 6, INSTANCES = 12, ATTEMPTS = 40 };
static const char names[] = "ok_a ok_b ok_c ok_d ok_e ok_f ok_g ok_h ok_i ok_j ok_k lack_a";

struct audit {
    const struct ks_grid *grid;
    uint8_t n_done[PROBLEMS][INSTANCES][ATTEMPTS];
    uint64_t alias[PROBLEMS][INSTANCES]; /* of the newest record: the instance it points to */
    uint32_t n_records, n_aliased;
};

static int count(void *ctx, const struct ks_journal_frame *f, struct ks_err *err)
{
    static struct ks_record r;
    struct audit *a = ctx;
    if (f->type != KS_F_DONE)
        return 0;
    assert_int_equal(ks_record_decode(f->body, f->n, &r, NULL, err), 0);
    int64_t ip = ks_grid_problem(a->grid, r.cell.problem);
    int64_t ii = ks_grid_instance(a->grid, r.cell.instance);
    assert_true(ip >= 0 && ip < PROBLEMS && ii >= 0 && ii < INSTANCES && r.attempt < ATTEMPTS);
    assert_int_equal(++a->n_done[ip][ii][r.attempt], 1);
    assert_true(r.outcome == KS_O_ALIASED ||
                (r.representative_id != 0) == ((r.outcome_flags & KS_FL_ALIASED) != 0));
    a->alias[ip][ii] = r.representative_id;
    a->n_records++;
    return 0;
}

/* What is not measured points to something that was, of the same code. */
static void check_alias(const struct sim *m, struct audit *a, const struct ks_ledger_cell *c)
{
    int64_t ip = ks_grid_problem(m->grid, c->cell.problem);
    int64_t ii = ks_grid_instance(m->grid, c->cell.instance);
    struct ks_cell first = c->cell;
    if (c->outcome != KS_O_ALIASED)
        return;
    first.instance = a->alias[ip][ii];
    const struct ks_ledger_cell *f = ks_ledger_find(m->ledger, &first);
    int64_t i_first = ks_grid_instance(m->grid, first.instance);
    assert_true(i_first >= 0 && i_first != ii && m->code[ii]);
    assert_int_equal(m->code[i_first], m->code[ii]);
    assert_true(ks_ledger_is_final(f));
    assert_int_not_equal(f->outcome, KS_O_ALIASED);
    assert_int_not_equal(f->outcome, KS_O_UNSUPPORTED);
    a->n_aliased++;
}

/* The journal itself, read anew, says that all is there. */
static void check_journal(struct sim *m, uint32_t *n_aliased_io)
{
    static struct audit a;
    struct ks_ledger *l = NULL;
    struct ks_ledger_counts n, live;
    struct ks_err err = { 0 };
    memset(&a, 0, sizeof(a));
    a.grid = m->grid;
    if (ks_journal_read(m->dir.journal, count, NULL, &a, NULL, &err) < 0)
        fail_msg("%s", err.text);
    assert_int_equal(ks_ledger_read(m->dir.journal, &l, NULL, NULL, NULL, NULL, &err), 0);
    ks_ledger_counts(l, &n);
    ks_ledger_counts(m->ledger, &live);
    assert_int_equal(n.n_final, PROBLEMS * INSTANCES);
    assert_int_equal(n.n_records, a.n_records);
    assert_memory_equal(&n, &live, sizeof(n));
    for (size_t i = 0; i < ks_ledger_n_cells(l); i++) { /* also where each record stands */
        const struct ks_ledger_cell *c = ks_ledger_cell(l, i);
        const struct ks_ledger_cell *k = ks_ledger_find(m->ledger, &c->cell);
        assert_int_equal(c->offset, k->offset);
        assert_int_equal(c->segment, k->segment);
        assert_int_equal(c->outcome, k->outcome);
        check_alias(m, &a, c);
    }
    *n_aliased_io += a.n_aliased;
    ks_ledger_destroy(l);
}

/* In half of the runs many instances are the same code; some refuse by their own test. */
static void make_twins(struct sim *m, uint64_t seed)
{
    m->grid->job.measure.alias_control = 0.2;
    for (uint32_t i = 0; seed % 2 && i < INSTANCES; i++) {
        m->code[i] = (uint8_t)(1 + ks_rng_below(&m->rng, 4));
        m->refuses[i] = ks_rng_below(&m->rng, 8) == 0;
    }
}

static void test_whatever_happens(void **state)
{
    enum { N_SEEDS = IS_SANITIZED ? 5 : 25 };
    (void)state;
    static const struct sim_plan plans[] = {
        { .n_ranks = 1, .n_hosts = 1, .first_safe = 0 },
        { .n_ranks = 5, .n_hosts = 2, .first_safe = 4, .bad = 50, .dirty = 100 },
        { .n_ranks = 5, .n_hosts = 1, .first_safe = 4, .kill = 300 },
        { .n_ranks = 6, .n_hosts = 2, .first_safe = 5, .hang = 400, .dirty = 200 },
        { .n_ranks = 6, .n_hosts = 3, .first_safe = 5, .widow = 700 },
        { .n_ranks = 5, .n_hosts = 1, .first_safe = 4, .quarantine = 1000, .bad = 300 },
        { .n_ranks = 8, .n_hosts = 3, .first_safe = 7, .kill = 1500, .has_own_caches = true },
        { .n_ranks = 12,
          .n_hosts = 4,
          .first_safe = 11,
          .kill = 200,
          .hang = 200,
          .widow = 200,
          .quarantine = 200,
          .bad = 100,
          .dirty = 100 },
        { .n_ranks = 8,
          .n_hosts = 2,
          .first_safe = 7,
          .kill = 100,
          .hang = 1000,
          .widow = 500,
          .bad = 100,
          .dirty = 300,
          .has_own_caches = true },
    };
    struct sim *m = malloc(sizeof(*m));
    uint32_t n_lost = 0, n_aliased = 0;
    assert_non_null(m);
    for (size_t i = 0; i < sizeof(plans) / sizeof(plans[0]); i++)
        for (uint64_t seed = 1; seed <= N_SEEDS; seed++) {
            sim_open(m, &plans[i], names, PROBLEMS, seed * 7919 + i);
            make_twins(m, seed);
            sim_coordinate(m, NULL);
            sim_run(m, 200);
            assert_string_equal(ks_coord_reason(m->coord), "complete");
            assert_int_equal(ks_coord_n_pending(m->coord), 0);
            n_lost += ks_coord_lost_anyone(m->coord);
            check_journal(m, &n_aliased);
            sim_close(m);
        }
    assert_true(n_lost > 2 * N_SEEDS);
    assert_true(n_aliased > 80 * N_SEEDS);
    free(m);
}

/* A visit takes as many as a lease has room for. */
static void test_many_contenders(void **state)
{
    enum { N = KS_VISIT_CELLS / 2 + 1 };
    static const struct sim_plan one = { .n_ranks = 1, .n_hosts = 1 };
    struct sim *m = sim_allocate(state);
    char many[8 * N];
    unsigned n_instances = 0;
    for (size_t i = 0, at = 0; i < N; i++)
        at += (size_t)snprintf(many + at, sizeof(many) - at, "%sok_%zu", i ? " " : "", i);
    sim_open(m, &one, many, 1, 3);
    m->grid->job.rounds = (struct ks_job_rounds){ .max = 2, .alpha = 0.05 };
    for (size_t i = 0; i < N; i++)
        m->time_ns[i] = 1e6;
    m->noise = 0.002;
    sim_coordinate(m, NULL);
    sim_run(m, 200);
    const char *visit = strstr(ks_buf_text(&m->told), "visit ");
    assert_non_null(visit);
    assert_int_equal(sscanf(visit, "visit 0 0 1 %u", &n_instances), 1);
    assert_int_equal(n_instances, N - 1);
    assert_null(strstr(visit + 1, "visit "));
    sim_close(m);
    free(m);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_whatever_happens),
        cmocka_unit_test(test_many_contenders),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
