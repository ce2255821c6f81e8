/* SPDX-License-Identifier: MIT */
/* test_coord_prune.c - instances whose kernels spill are left out if the job says so */
#include "coord_bench.h"

#include "mpi/alias.h"
#include "mpi/prune.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include <stdio.h>
#include <string.h>

enum { PROBLEMS_MAX = 24, INSTANCES_MAX = 8 };

static struct sim *m;

static int set_up(void **state)
{
    m = sim_allocate(state);
    return m ? 0 : -1;
}

static const struct sim_plan three = { .n_ranks = 3, .n_hosts = 1 };

/* spills: a digit per instance, registers. */
static void open_sim(const struct sim_plan *plan, const char *names, const char *spills,
                     uint32_t n_problems, enum ks_pruning by, double control)
{
    sim_open(m, plan, names, n_problems, 1);
    for (uint32_t i = 0; spills[i]; i++)
        m->spills[i] = (uint8_t)(spills[i] - '0');
    m->grid->job.prune.by = by;
    m->grid->job.prune.control = control;
}

static const struct ks_ledger_cell *cell(uint32_t ip, uint32_t ii)
{
    struct ks_cell c = { ks_problem_table_id(&m->grid->problems, ip), m->grid->instances[ii].id,
                         m->grid->condition };
    return ks_ledger_find(m->ledger, &c);
}

static bool is_control(uint32_t ip, uint32_t ii)
{
    return ks_prune_is_control(ks_problem_table_id(&m->grid->problems, ip),
                               m->grid->instances[ii].id, m->grid->job.prune.control);
}

/* What the journal says: the newest record of each cell. */
struct seen {
    char reason[PROBLEMS_MAX][INSTANCES_MAX][160];
    uint32_t n_records;
};

static int look(void *ctx, const struct ks_journal_frame *f, struct ks_err *err)
{
    static struct ks_record r;
    struct seen *s = ctx;
    if (f->type != KS_F_DONE)
        return 0;
    assert_int_equal(ks_record_decode(f->body, f->n, &r, NULL, err), 0);
    int64_t ip = ks_grid_problem(m->grid, r.cell.problem);
    int64_t ii = ks_grid_instance(m->grid, r.cell.instance);
    assert_true(ip >= 0 && ip < PROBLEMS_MAX && ii >= 0 && ii < INSTANCES_MAX);
    memcpy(s->reason[ip][ii], r.reason, sizeof(r.reason));
    s->n_records++;
    if (r.outcome == KS_O_SKIPPED) { /* nothing was run for it */
        assert_int_equal(r.lease_id, 0);
        assert_int_equal(r.device_id, 0);
        assert_int_equal(r.n_samples, 0);
        assert_false(r.outcome_flags & KS_FL_PRUNED);
    }
    return 0;
}

static struct seen *read_back(void)
{
    static struct seen s;
    struct ks_err err = { 0 };
    s = (struct seen){ .n_records = 0 };
    if (ks_journal_read(m->dir.journal, look, NULL, &s, NULL, &err) < 0)
        fail_msg("%s", err.text);
    return &s;
}

/* One letter per instance of a problem: o ok, c the same as a control, s skipped, a aliased, x
 * crashed, - no outcome. */
static void is_like(uint32_t ip, const char *want)
{
    char have[INSTANCES_MAX + 1] = "";
    for (uint32_t ii = 0; ii < m->grid->n_instances; ii++) {
        const struct ks_ledger_cell *k = cell(ip, ii);
        uint32_t o = ks_ledger_is_final(k) ? k->outcome : KS_O_NONE;
        bool is_marked = o && (k->flags & KS_FL_PRUNED);
        have[ii] = o == KS_O_OK        ? (is_marked ? 'c' : 'o')
                   : o == KS_O_SKIPPED ? 's'
                   : o == KS_O_ALIASED ? 'a'
                   : o == KS_O_CRASHED ? (is_marked ? 'X' : 'x')
                   : o == KS_O_NONE    ? '-'
                                       : '?';
    }
    if (strcmp(have, want) != 0)
        fail_msg("problem %u: have %s, want %s", ip, have, want);
}

static void is_complete(void)
{
    assert_string_equal(ks_coord_reason(m->coord), "complete");
    assert_int_equal(ks_coord_n_pending(m->coord), 0);
}

static uint32_t n_measured(void)
{
    uint32_t n = 0;
    for (uint32_t i = 0; i < m->plan.n_ranks; i++)
        n += m->ranks[i].n_cells;
    return n;
}

static void test_nothing_by_default(void **state)
{
    (void)state;
    open_sim(&three, "ok_a ok_b ok_c", "070", 4, KS_PRUNE_NONE, 0.05);
    sim_coordinate(m, NULL);
    sim_run(m, 30);
    is_complete();
    for (uint32_t ip = 0; ip < 4; ip++)
        is_like(ip, "ooo");
    assert_int_equal(n_measured(), 12);
    sim_close(m);
}

static void test_what_spills_is_left_out(void **state)
{
    static const struct {
        const char *names, *spills, *want;
        uint32_t n_run;
    } rows[] = {
        { "ok_a ok_b ok_c", "070", "oso", 2 },
        { "ok_a ok_b ok_c", "999", "sss", 0 }, /* nobody measures anything */
        { "lack ok_b ok_c", "900", "?oo", 2 }, /* what cannot run anyway is no victim */
    };
    (void)state;
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        open_sim(&three, rows[i].names, rows[i].spills, 4, KS_PRUNE_SPILL, 0);
        sim_coordinate(m, NULL);
        sim_run(m, 30);
        is_complete();
        for (uint32_t ip = 0; ip < 4; ip++)
            is_like(ip, rows[i].want);
        assert_int_equal(n_measured(), 4 * rows[i].n_run);
        if (i == 0)
            assert_string_equal(read_back()->reason[2][1],
                                "spills 7 vector registers, 28 bytes of scratch");
        sim_close(m);
    }
}

/* Each cell that would be left out is drawn by itself; who is drawn is measured and says so. */
static void test_controls(void **state)
{
    uint32_t n_controls = 0, n_skipped = 0;
    struct ks_ledger_counts n;
    (void)state;
    open_sim(&three, "ok_a ok_b ok_c ok_d", "0890", PROBLEMS_MAX, KS_PRUNE_SPILL, 0.25);
    sim_coordinate(m, NULL);
    sim_run(m, 60);
    is_complete();
    for (uint32_t ip = 0; ip < PROBLEMS_MAX; ip++) {
        char want[] = "osso";
        for (uint32_t ii = 1; ii <= 2; ii++) {
            n_controls += is_control(ip, ii);
            n_skipped += !is_control(ip, ii);
            want[ii] = is_control(ip, ii) ? 'c' : 's';
        }
        is_like(ip, want);
    }
    assert_in_range(n_controls, 4, 24);
    assert_int_equal(n_measured(), 2 * PROBLEMS_MAX + n_controls);
    ks_ledger_counts(m->ledger, &n);
    assert_int_equal(n.n_prune_controls, n_controls);
    assert_int_equal(n.outcome[KS_O_SKIPPED], n_skipped);
    uint32_t n_records = read_back()->n_records;
    sim_resume(m, 0); /* another life draws the same */
    sim_run(m, 30);
    is_complete();
    assert_int_equal(n_measured(), 0);
    assert_int_equal(read_back()->n_records, n_records);
    sim_close(m);
}

static void test_all_are_controls(void **state)
{
    (void)state;
    open_sim(&three, "ok_a ok_b", "07", 3, KS_PRUNE_SPILL, 1);
    m->crashes[1] = 1;
    sim_coordinate(m, NULL);
    sim_run(m, 60);
    is_complete();
    for (uint32_t ip = 0; ip < 3; ip++)
        is_like(ip, "oX"); /* a failure that two devices have seen is marked, too */
    sim_close(m);
}

/* The mark takes nothing away: here nobody else can confirm a failure. */
static void test_other_flags_stay(void **state)
{
    static const struct sim_plan one = { .n_ranks = 2, .n_hosts = 1 };
    (void)state;
    open_sim(&one, "ok_a ok_b", "07", 1, KS_PRUNE_SPILL, 1);
    m->crashes[1] = 1;
    sim_coordinate(m, NULL);
    sim_run(m, 60);
    assert_int_equal(cell(0, 1)->flags & (KS_FL_PRUNED | KS_FL_UNCONFIRMED),
                     KS_FL_PRUNED | KS_FL_UNCONFIRMED);
    sim_close(m);
}

/* The journal stays when the mind is changed: cells that have an outcome keep it, unless they are
 * asked for. */
static void test_resume(void **state)
{
    (void)state;
    open_sim(&three, "ok_a ok_b ok_c", "070", 3, KS_PRUNE_SPILL, 0);
    sim_coordinate(m, NULL);
    sim_run(m, 30);
    is_like(0, "oso");
    m->grid->job.prune.by = KS_PRUNE_NONE;
    sim_resume(m, 0);
    sim_run(m, 30);
    is_like(0, "oso");
    sim_resume(m, 1u << KS_O_SKIPPED);
    sim_run(m, 30);
    is_complete();
    assert_int_equal(n_measured(), 3);
    for (uint32_t ip = 0; ip < 3; ip++)
        is_like(ip, "ooo");
    m->grid->job.prune.by = KS_PRUNE_SPILL;
    sim_resume(m, 1u << KS_O_OK); /* all are measured anew, but for what is left out now */
    sim_run(m, 30);
    is_complete();
    for (uint32_t ip = 0; ip < 3; ip++)
        is_like(ip, "oso");
    sim_close(m);
}

/* What is left out stands for nobody: of one code all spill, and a control is measured itself or is
 * the alias of another control. */
static void test_aliases_of_what_is_left_out(void **state)
{
    (void)state;
    for (int share = 0; share < 2; share++) {
        open_sim(&three, "ok_a ok_b ok_c ok_d", "7770", 3, KS_PRUNE_SPILL, share);
        m->code[0] = m->code[1] = m->code[2] = 1;
        m->grid->job.measure.alias_control = 0;
        sim_coordinate(m, NULL);
        sim_run(m, 30);
        is_complete();
        is_like(0, share ? "caao" : "ssso");
        sim_close(m);
    }
}

/* Two hosts whose compilers differ: what one of them does not spill is measured. */
static void test_hosts_that_differ(void **state)
{
    (void)state;
    for (int is_first = 0; is_first < 2; is_first++) {
        open_sim(&three, "ok_a ok_b", is_first ? "07" : "00", 2, KS_PRUNE_SPILL, 0);
        sim_coordinate(m, NULL);
        sim_tell_builds(m, 0);
        m->spills[1] = is_first ? 0 : 7;
        sim_run(m, 30);
        is_complete();
        is_like(0, "oo");
        sim_close(m);
    }
}

static void test_what_spills_means(void **state)
{
    static const struct {
        int32_t vgprs;
        int64_t scratch;
        const char *want; /* NULL: it does not */
    } rows[] = {
        { -1, -1, NULL },
        { 0, 0, NULL },
        { 0, -1, NULL },
        { -1, 0, NULL },
        { 288, 420, "spills 288 vector registers, 420 bytes of scratch" },
        { 0, 16, "spills: 16 bytes of scratch" },
        { -1, 896, "spills: 896 bytes of scratch" },
    };
    (void)state;
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        char why[KS_PRUNE_WHY] = "untouched";
        assert_int_equal(ks_prune_spills(rows[i].vgprs, rows[i].scratch, why),
                         rows[i].want != NULL);
        assert_string_equal(why, rows[i].want ? rows[i].want : "untouched");
        /* whoever reads a table knows it by this again */
        assert_int_equal(ks_outcome_is_pruned(KS_O_SKIPPED, why), rows[i].want != NULL);
        assert_false(ks_outcome_is_pruned(KS_O_OK, why));
    }
    assert_false(ks_outcome_is_pruned(KS_O_SKIPPED, "a block may have 49152 bytes, it asks more"));
    assert_false(ks_outcome_is_pruned(KS_O_SKIPPED, ""));
}

/* The list of a command line is that of the job, one further. */
static void test_choices(void **state)
{
    (void)state;
    for (unsigned i = 0; ks_prune_choices[i]; i++) {
        unsigned by = 7;
        ks_prune_choose(i, &by);
        if (i == 0)
            assert_int_equal(by, 7);
        else
            assert_string_equal(ks_prune_choices[i], ks_job_prunings[by]);
    }
    assert_string_equal(ks_job_prunings[KS_PRUNE_NONE], "none");
    assert_string_equal(ks_job_prunings[KS_PRUNE_SPILL], "spill");
    assert_null(ks_job_prunings[KS_PRUNE_SPILL + 1]);
}

/* One in twenty, for ever the same ones, and not those that are controls as aliases. */
static void test_draws(void **state)
{
    char have[65] = "";
    uint32_t hits = 0, n_both = 0;
    (void)state;
    for (uint64_t i = 0; i < 200; i++)
        for (uint64_t k = 0; k < 100; k++) {
            bool is = ks_prune_is_control(i, k, 0.05);
            hits += is;
            n_both += is && ks_alias_is_control(i, k, 0.05);
        }
    assert_in_range(hits, 1000 - 155, 1000 + 155); /* five times the spread of 20,000 draws */
    assert_in_range(n_both, 15, 90);               /* 50, were they drawn apart */
    for (uint64_t i = 0; i < 64; i++)
        have[i] = ks_prune_is_control(0x0123456789abcdef, i, 0.25) ? 'c' : '-';
    assert_string_equal(have, "-----c--c-cc--c-----c---c---c----------c-------c-cc---c--------c");
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, sim_free)
    const struct CMUnitTest tests[] = {
        TEST(test_nothing_by_default),
        TEST(test_what_spills_is_left_out),
        TEST(test_controls),
        TEST(test_all_are_controls),
        TEST(test_other_flags_stay),
        TEST(test_resume),
        TEST(test_aliases_of_what_is_left_out),
        TEST(test_hosts_that_differ),
        cmocka_unit_test(test_what_spills_means),
        cmocka_unit_test(test_choices),
        cmocka_unit_test(test_draws),
    };
#undef TEST
    return cmocka_run_group_tests(tests, NULL, NULL);
}
