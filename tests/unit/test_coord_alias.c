/* SPDX-License-Identifier: MIT */
/* test_coord_alias.c - instances of the same machine code: one is measured, others are aliased */
/* One is measured for each problem, the others have the outcome aliased, whatever happens to it and
 * to those who measure it. */
#include "coord_bench.h"

#include "mpi/alias.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { PROBLEMS_MAX = 8, INSTANCES_MAX = 128 };

static struct sim *m;

static int set_up(void **state)
{
    m = sim_allocate(state);
    return m ? 0 : -1;
}

static uint64_t problem(uint32_t ip)
{
    return ks_problem_table_id(&m->grid->problems, ip);
}

static uint64_t instance(uint32_t ii)
{
    return m->grid->instances[ii].id;
}

static const struct ks_ledger_cell *cell(uint32_t ip, uint32_t ii)
{
    struct ks_cell c = { problem(ip), instance(ii), m->grid->condition };
    return ks_ledger_find(m->ledger, &c);
}

/* Codes as letters, one per instance; '.': its own. */
static void set_codes(const char *codes)
{
    for (uint32_t i = 0; codes[i]; i++)
        m->code[i] = codes[i] == '.' ? 0 : (uint8_t)(codes[i] - 'a' + 1);
}

static void begin(const struct sim_plan *plan, const char *names, const char *codes,
                  uint32_t n_problems, uint64_t seed)
{
    sim_open(m, plan, names, n_problems, seed);
    set_codes(codes);
    sim_coordinate(m, NULL);
}

static const struct sim_plan three = { .n_ranks = 3, .n_hosts = 1 };

/* All ranks have built and may measure, but nobody lives: the test speaks for them. */
static void ready_by_hand(void)
{
    uint32_t n = m->plan.n_ranks;
    m->cache[0] = UINT32_MAX;
    for (uint32_t i = 0; i < n; i++) {
        m->ranks[i].measures = true;
        m->ranks[i].host = 0;
        m->ranks[i].hello_at = UINT64_MAX;
        assert_int_equal(sim_hello(m, i, m->grid->digest, NULL), 0);
    }
    sim_tell_builds(m, 0);
    for (int round = 0; round < 2; round++)
        for (uint32_t i = 0; i < n; i++)
            assert_int_equal(sim_send(m, i, KS_F_MSG_BUILD_END, 0, 0, NULL), 0);
    for (uint32_t i = 0; i < n; i++) {
        m->ranks[i].state = SIM_SILENT; /* takes leases, does nothing */
        m->ranks[i].wake_at = UINT64_MAX;
    }
}

/* ---- what the journal says in the end ---- */

struct seen {
    const struct ks_grid *grid;
    uint64_t alias[PROBLEMS_MAX][INSTANCES_MAX]; /* of the newest record of a cell */
    uint32_t flags[PROBLEMS_MAX][INSTANCES_MAX];
    uint32_t n_aliased, n_controls, n_records;
};

static int look(void *ctx, const struct ks_journal_frame *f, struct ks_err *err)
{
    static struct ks_record r;
    struct seen *s = ctx;
    if (f->type != KS_F_DONE)
        return 0;
    assert_int_equal(ks_record_decode(f->body, f->n, &r, NULL, err), 0);
    int64_t ip = ks_grid_problem(s->grid, r.cell.problem);
    int64_t ii = ks_grid_instance(s->grid, r.cell.instance);
    assert_true(ip >= 0 && ip < PROBLEMS_MAX && ii >= 0 && ii < INSTANCES_MAX);
    s->alias[ip][ii] = r.representative_id;
    s->flags[ip][ii] = r.outcome_flags;
    s->n_aliased += r.outcome == KS_O_ALIASED;
    s->n_controls += (r.outcome_flags & KS_FL_ALIASED) != 0;
    s->n_records++;
    if (r.outcome == KS_O_ALIASED) { /* nothing was run for it, but it says what it is */
        assert_int_equal(r.n_samples, 0);
        assert_int_equal(r.lease_id, 0);
        assert_int_equal(r.block_id, 0);
        assert_int_equal(r.device_id, 0);
        assert_false(r.outcome_flags & KS_FL_ALIASED);
        assert_false(ks_id128_is_zero(r.code_id));
        assert_true(r.build_id.lo == r.cell.instance);
        assert_int_equal(strncmp(r.reason, "same code as ", 13), 0);
        assert_true(r.started_ns > 0);
    }
    return 0;
}

static struct seen *read_back(void)
{
    static struct seen s;
    struct ks_err err = { 0 };
    s = (struct seen){ .grid = m->grid };
    if (ks_journal_read(m->dir.journal, look, NULL, &s, NULL, &err) < 0)
        fail_msg("%s", err.text);
    return &s;
}

/* One letter per instance of a problem: o ok, c control that is ok, x crashed, u unsupported, w
 * worker_lost, - none; a digit: aliased to that instance. */
static void is_like(uint32_t ip, const char *want)
{
    const struct seen *s = read_back();
    char have[INSTANCES_MAX + 1] = "";
    for (uint32_t ii = 0; ii < m->grid->n_instances; ii++) {
        const struct ks_ledger_cell *k = cell(ip, ii);
        uint32_t o = ks_ledger_is_final(k) ? k->outcome : KS_O_NONE;
        bool is_control = o && (s->flags[ip][ii] & KS_FL_ALIASED);
        have[ii] = o == KS_O_OK            ? (is_control ? 'c' : 'o')
                   : o == KS_O_CRASHED     ? 'x'
                   : o == KS_O_UNSUPPORTED ? 'u'
                   : o == KS_O_WORKER_LOST ? 'w'
                   : o == KS_O_NONE        ? '-'
                                           : '?';
        if (o == KS_O_ALIASED)
            have[ii] = (char)('0' + ks_grid_instance(m->grid, s->alias[ip][ii]));
    }
    have[m->grid->n_instances] = '\0';
    if (strcmp(have, want) != 0)
        fail_msg("problem %u: have %s, want %s", ip, have, want);
}

static void is_complete(void)
{
    struct ks_ledger_counts n;
    ks_ledger_counts(m->ledger, &n);
    assert_string_equal(ks_coord_reason(m->coord), "complete");
    assert_int_equal(ks_coord_n_pending(m->coord), 0);
    assert_int_equal(n.n_final, ks_grid_n_cells(m->grid));
}

static uint32_t n_measured(void)
{
    uint32_t n = 0;
    for (uint32_t i = 0; i < m->plan.n_ranks; i++)
        n += m->ranks[i].n_cells;
    return n;
}

/* ---- who stands for whom ---- */

static void test_one_of_each_code_is_measured(void **state)
{
    static const struct {
        const char *names, *codes, *refuse, *want;
    } rows[] = {
        { "ok ok ok ok ok", ".....", "", "ooooo" },
        { "ok ok ok ok ok", "abbcb", "", "oo1o1" },
        { "ok ok ok ok ok", "aabab", "", "o0o02" },
        { "ok ok ok ok ok", "aaaaa", "", "o0000" },
        /* what this host lacks stands for nobody, and is nobody's alias */
        { "lack ok ok lack ok", "aaaaa", "", "uo1u1" },
        { "lack lack lack ok", "aaa.", "", "uuuo" },
        /* what refuses by its own test neither */
        { "ok ok ok ok ok", "aabaa", "0", "uoo11" },
        { "ok ok ok ok ok", "aabaa", "013", "uuouo" },
        { "ok ok ok ok ok", "aabaa", "0134", "uuouu" },
        { "lack ok ok ok ok", "aaaaa", "1", "uuo22" },
        { "ok ok ok ok ok", "aabaa", "34", "o0o00" }, /* which nobody has asked */
    };
    (void)state;
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        uint32_t n_run = 0;
        begin(&three, rows[i].names, rows[i].codes, 4, i + 1);
        for (const char *p = rows[i].refuse; *p; p++)
            m->refuses[*p - '0'] = 1;
        sim_run(m, 30);
        is_complete();
        for (uint32_t ip = 0; ip < 4; ip++)
            is_like(ip, rows[i].want);
        for (uint32_t ii = 0; rows[i].want[ii]; ii++)
            n_run += strncmp(m->grid->instances[ii].name, "lack", 4) != 0 &&
                     (rows[i].want[ii] == 'o' || rows[i].want[ii] == 'u');
        assert_int_equal(n_measured(), 4 * n_run); /* aliases take nobody's time */
        assert_int_equal(m->ranks[0].n_cells, 0);
        sim_close(m);
    }
}

/* The journal never holds an alias without the outcome that it points to. */
static void test_aliases_come_after_what_they_point_to(void **state)
{
    (void)state;
    sim_open(m, &three, "ok_a ok_b ok_c", 1, 1);
    set_codes("aab");
    sim_coordinate(m, NULL);
    ready_by_hand();
    sim_turn(m);
    assert_null(cell(0, 1));
    assert_int_equal(sim_done(m, 1, problem(0), 1002, 1, KS_O_OK, 0, NULL), 0);
    assert_null(cell(0, 1));
    assert_int_equal(ks_coord_n_pending(m->coord), 2);
    assert_int_equal(sim_done(m, 1, problem(0), 1000, 1, KS_O_OK, 0, NULL), 0);
    assert_int_equal(cell(0, 1)->outcome, KS_O_ALIASED);
    assert_int_equal(cell(0, 1)->attempt, 1);
    assert_true(cell(0, 1)->offset > cell(0, 0)->offset);
    assert_int_equal(ks_coord_n_pending(m->coord), 0);
    assert_int_equal(read_back()->n_records, 0); /* not on disk yet */
    for (int i = 0; i < 15; i++)
        sim_turn(m);
    is_like(0, "o0o");
    sim_close(m);
}

/* ---- failures ---- */

static void test_aliases_of_failures(void **state)
{
    static const struct sim_plan bad = { .n_ranks = 3, .n_hosts = 1, .bad = 1000 };
    (void)state;
    begin(&bad, "ok_a ok_b ok_c ok_d", "aaba", 3, 1);
    sim_run(m, 30);
    is_complete();
    for (uint32_t ip = 0; ip < 3; ip++)
        is_like(ip, "x0x0");
    m->plan.bad = 0;
    sim_resume(m, 1u << KS_O_CRASHED); /* the alias follows: it has no outcome of its own */
    sim_run(m, 30);
    is_complete();
    for (uint32_t ip = 0; ip < 3; ip++)
        is_like(ip, "o0o0");
    sim_close(m);
}

static bool holds(uint32_t i, uint32_t ip, uint32_t ii)
{
    const struct sim_rank *r = &m->ranks[i];
    for (uint32_t k = 0; r->state == SIM_HERE && k < r->n_leases; k++)
        for (uint32_t c = k ? 0 : r->at; c < r->leases[k].n; c++)
            if (r->leases[k].i_problem == ip && r->leases[k].cells[c].i_instance == ii)
                return true;
    return false;
}

/* Whoever gets the representative dies, so often. */
static void test_lost_in_flight(void **state)
{
    static const struct sim_plan p = { .n_ranks = 5, .n_hosts = 1 };
    (void)state;
    for (uint32_t n_losses = 1; n_losses <= KS_LOSSES_FINAL; n_losses++) {
        uint32_t n_killed = 0;
        begin(&p, "ok_a ok_b ok_c ok_d", "aaba", 2, 3);
        while (!ks_coord_is_over(m->coord) && n_killed < n_losses) {
            sim_turn(m);
            for (uint32_t i = 1; i < 5 && n_killed < n_losses; i++)
                if (holds(i, 0, 0)) {
                    m->ranks[i].state = SIM_DEAD;
                    n_killed++;
                    assert_null(cell(0, 1));
                }
        }
        sim_run(m, 60);
        is_complete();
        is_like(0, n_losses == KS_LOSSES_FINAL ? "w0o0" : "o0o0");
        is_like(1, "o0o0");
        sim_close(m);
    }
}

static void test_quarantine(void **state)
{
    (void)state;
    sim_open(m, &three, "ok_a ok_b ok_c", 1, 1);
    set_codes("aab");
    sim_coordinate(m, NULL);
    ready_by_hand();
    sim_turn(m);
    assert_int_equal(sim_done(m, 1, problem(0), 1000, 1, KS_O_CRASHED, 0, NULL), 0);
    assert_int_equal(cell(0, 1)->outcome, KS_O_ALIASED);
    m->ranks[1].is_broken = true;
    assert_int_equal(sim_send(m, 1, KS_F_MSG_BYE, 1, 1, NULL), 0);
    assert_false(ks_ledger_is_final(cell(0, 0))); /* what it points to is open again */
    assert_int_equal(cell(0, 1)->outcome, KS_O_ALIASED);
    assert_int_equal(sim_done(m, 2, problem(0), 1000, 2, KS_O_OK, 0, NULL), 0);
    assert_int_equal(sim_done(m, 2, problem(0), 1002, 1, KS_O_OK, 0, NULL), 0);
    assert_int_equal(cell(0, 1)->attempt, 1);
    assert_int_equal(ks_coord_n_pending(m->coord), 0);
    sim_close(m);
}

/* ---- restarts ---- */

static void kill_journal_at(uint64_t offset)
{
    char path[512];
    snprintf(path, sizeof(path), "%s/0001.ksj", m->dir.journal);
    assert_int_equal(truncate(path, (off_t)offset), 0);
}

/* Rank 0 dies before the representative's record, after it, and in the middle of the aliases. */
static void test_killed_between(void **state)
{
    (void)state;
    for (uint32_t cut = 0; cut < 3; cut++) {
        static const char *const then[] = { "--------", "o-------", "o00-----" };
        sim_open(m, &three, "ok_a ok_b ok_c ok_d ok_e ok_f ok_g ok_h", 1, 1);
        set_codes("aaabaaab");
        sim_coordinate(m, NULL);
        ready_by_hand();
        sim_turn(m);
        assert_int_equal(sim_done(m, 1, problem(0), 1000, 1, KS_O_OK, 0, NULL), 0);
        uint64_t at = cell(0, cut == 0 ? 0 : cut == 1 ? 1 : 4)->offset;
        for (int i = 0; i < 15; i++)
            sim_turn(m);
        assert_int_equal(m->ranks[1].n_acked, 1);
        ks_journal_abandon(m->journal);
        m->journal = NULL;
        kill_journal_at(at);
        sim_resume(m, 0);
        is_like(0, then[cut]);
        sim_run(m, 30);
        is_complete();
        is_like(0, "o00o0003");
        assert_int_equal(cell(0, 1)->n_attempts, 1);
        assert_int_equal(n_measured(), cut == 0 ? 2 : 1);
        sim_resume(m, 0);
        uint32_t n_records = read_back()->n_records;
        sim_run(m, 30);
        assert_int_equal(read_back()->n_records, n_records);
        sim_close(m);
    }
}

/* Names of the present grid, by its ids; the codes move with them. */
static void swap_grid(const char *names, const uint64_t *ids, const char *codes)
{
    uint32_t n_problems = m->grid->n_problems;
    kit_grid_free(m->grid);
    m->grid = kit_grid(names, n_problems);
    for (uint32_t i = 0; i < m->grid->n_instances; i++) {
        uint32_t at = i;
        m->grid->instances[i].id = ids[i];
        for (; at > 0 && instance(m->grid->by_instance_id[at - 1]) > ids[i]; at--)
            m->grid->by_instance_id[at] = m->grid->by_instance_id[at - 1];
        m->grid->by_instance_id[at] = i;
    }
    set_codes(codes);
}

/* A grid that has grown: new instances stand before the old ones, and change no choice. */
static void test_extend(void **state)
{
    static const uint64_t ids[] = { 1003, 1000, 1004, 1001, 1002 };
    (void)state;
    for (int is_early = 0; is_early < 2; is_early++) {
        sim_open(m, &three, "ok_a ok_b ok_c", 2, 1);
        set_codes("aba");
        sim_coordinate(m, NULL);
        ready_by_hand();
        sim_turn(m);
        if (!is_early) {
            assert_int_equal(sim_done(m, 1, problem(0), 1000, 1, KS_O_OK, 0, NULL), 0);
            assert_int_equal(cell(0, 2)->outcome, KS_O_ALIASED);
        }
        for (int i = 0; i < 15; i++)
            sim_turn(m);
        swap_grid("ok_x ok_a ok_y ok_b ok_c", ids, "aacba");
        sim_resume(m, 0);
        sim_run(m, 30);
        is_complete();
        for (uint32_t ip = 0; ip < 2; ip++)
            is_like(ip, "1ooo1");
        sim_close(m);
    }
}

/* ---- controls ---- */

static void many(char *out, const char *word, uint32_t n)
{
    size_t len = strlen(word);
    for (uint32_t i = 0; i < n; i++)
        memcpy(out + len * i, word, len + 1);
}

static void test_controls(void **state)
{
    static const double shares[] = { 0, 0.1, 0.5, 1 };
    enum { N = 100 };
    char names[4 * N + 1], codes[N + 1];
    (void)state;
    many(names, "ok ", N);
    many(codes, "a", N);
    for (size_t s = 0; s < sizeof(shares) / sizeof(shares[0]); s++) {
        uint32_t n_controls = 0;
        sim_open(m, &three, names, 2, 1);
        m->grid->job.measure.alias_control = shares[s];
        set_codes(codes);
        sim_coordinate(m, NULL);
        sim_run(m, 60);
        is_complete();
        const struct seen *seen = read_back();
        for (uint32_t ip = 0; ip < 2; ip++)
            for (uint32_t ii = 0; ii < N; ii++) {
                bool is = ii > 0 && ks_alias_is_control(problem(ip), instance(ii), shares[s]);
                n_controls += is;
                assert_int_equal(cell(ip, ii)->outcome, is || ii == 0 ? KS_O_OK : KS_O_ALIASED);
                assert_int_equal((seen->flags[ip][ii] & KS_FL_ALIASED) != 0, is);
                assert_int_equal(seen->alias[ip][ii], ii ? instance(0) : 0);
            }
        assert_int_equal(seen->n_controls, n_controls);
        assert_int_equal(n_measured(), n_controls + 2);
        sim_close(m);
    }
}

/* A control has its outcome from its own run, and the others theirs from the representative. */
static void test_a_control_ends_first(void **state)
{
    (void)state;
    sim_open(m, &three, "ok_a ok_b ok_c ok_d", 1, 1);
    uint32_t control = 1;
    double share = 0.01;
    set_codes("aaaa");
    for (;; share += 0.01) { /* exactly one of the three */
        uint32_t n = 0;
        for (uint32_t ii = 1; ii < 4; ii++)
            if (ks_alias_is_control(problem(0), instance(ii), share)) {
                control = ii;
                n++;
            }
        if (n == 1)
            break;
        assert_int_equal(n, 0);
    }
    m->grid->job.measure.alias_control = share;
    sim_coordinate(m, NULL);
    ready_by_hand();
    sim_turn(m);
    for (int is_first = 1; is_first >= 0; is_first--) {
        assert_int_equal(sim_done(m, 1, problem(0), is_first ? instance(control) : 1000, 1,
                                  is_first ? KS_O_UNSUPPORTED : KS_O_OK, 0, NULL),
                         0);
        for (uint32_t ii = 1; ii < 4; ii++)
            assert_true(ii == control ||
                        (is_first ? !cell(0, ii) : cell(0, ii)->outcome == KS_O_ALIASED));
    }
    assert_int_equal(cell(0, control)->outcome, KS_O_UNSUPPORTED);
    assert_int_equal(ks_coord_n_pending(m->coord), 0);
    sim_close(m);
}

static void test_retry_measures_aliases(void **state)
{
    (void)state;
    begin(&three, "ok_a ok_b ok_c", "aaa", 2, 1);
    sim_run(m, 30);
    is_like(0, "o00");
    sim_resume(m, 1u << KS_O_ALIASED);
    sim_run(m, 30);
    is_complete();
    is_like(0, "occ");
    is_like(1, "occ");
    assert_int_equal(cell(0, 1)->attempt, 2);
    assert_int_equal(n_measured(), 4);
    sim_close(m);
}

/* ---- hosts whose compilers make something else ---- */

/* A host tells another code than the first: nothing is known to be the same everywhere. */
static void test_disputed(void **state)
{
    (void)state;
    sim_open(m, &three, "ok_a ok_b ok_c", 1, 1);
    set_codes("aaa");
    sim_coordinate(m, NULL);
    m->code[1] = 9;
    sim_tell_builds(m, 2);
    m->code[1] = 1;
    ready_by_hand();
    sim_turn(m);
    assert_int_equal(sim_done(m, 1, problem(0), 1000, 1, KS_O_OK, 0, NULL), 0);
    assert_null(cell(0, 1) && cell(0, 1)->outcome ? cell(0, 1) : NULL);
    assert_int_equal(cell(0, 2)->outcome, KS_O_ALIASED);
    assert_int_equal(cell(0, 1)->max_started, 1); /* it was leased */
    sim_close(m);
}

/* The representative was measured where its code is another: the aliases are measured, too, also
 * when rank 0 dies before they are. */
static void test_measured_elsewhere(void **state)
{
    (void)state;
    for (int is_killed = 0; is_killed < 2; is_killed++) {
        sim_open(m, &three, "ok_a ok_b ok_c ok_d", 1, 1);
        set_codes("aaab");
        sim_coordinate(m, NULL);
        ready_by_hand();
        sim_turn(m);
        m->ranks[1].has_other_code = true;
        assert_int_equal(sim_done(m, 1, problem(0), 1000, 1, KS_O_OK, 0, NULL), 0);
        assert_int_equal(ks_coord_n_pending(m->coord), 3);
        assert_int_equal(cell(0, 1)->max_started, 1);
        if (is_killed) {
            for (int i = 0; i < 15; i++)
                sim_turn(m);
            sim_resume(m, 0);
            sim_run(m, 30);
            is_complete();
            is_like(0, "occo"); /* the code is one where they were measured in the end */
        } else {
            for (uint32_t ii = 1; ii < 4; ii++)
                assert_int_equal(sim_done(m, 1, problem(0), instance(ii), 1, KS_O_OK, 0, NULL), 0);
            assert_int_equal(ks_coord_n_pending(m->coord), 0);
            assert_int_equal(cell(0, 1)->outcome, KS_O_OK);
            assert_int_equal(cell(0, 2)->outcome, KS_O_OK);
        }
        sim_close(m);
    }
}

static void is_like_all(const char *forward, const char *backward)
{
    is_complete();
    for (uint32_t ip = 0; ip < m->grid->n_problems; ip++)
        is_like(ip, ip % 2 ? backward : forward);
}

/* They get no record, also as aliases, and nobody waits for them, in later lives neither. */
static void test_two_directions(void **state)
{
    static const uint64_t ids[] = { 1000, 1001, 1002, 1003, 1004, 1005, 1006 };
    (void)state;
    sim_open(m, &three, "ok_a ok_b ok_c ok_d ok_e", 4, 1);
    kit_two_directions(m->grid);
    set_codes("aaaab");
    sim_coordinate(m, NULL);
    assert_int_equal(ks_coord_n_pending(m->coord), 2 * 3 + 2 * 2); /* of 20 pairs */
    while (ks_coord_n_pending(m->coord) > 6)
        sim_turn(m);
    for (int i = 0; i < 15; i++)
        sim_turn(m);
    sim_resume(m, 0);
    assert_in_range(ks_coord_n_pending(m->coord), 0, 6);
    sim_run(m, 30);
    is_like_all("o-0-o", "-o-1-");
    assert_int_equal(read_back()->n_records, 10);
    swap_grid("ok_a ok_b ok_c ok_d ok_e ok_f ok_g", ids, "aaaabac");
    kit_two_directions(m->grid);
    sim_resume(m, 0);
    assert_int_equal(ks_coord_n_pending(m->coord), 4);
    sim_run(m, 30);
    is_like_all("o-0-o-o", "-o-1-1-");
    assert_int_equal(read_back()->n_records, 14);
    sim_close(m);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_one_of_each_code_is_measured),
        cmocka_unit_test(test_aliases_come_after_what_they_point_to),
        cmocka_unit_test(test_aliases_of_failures),
        cmocka_unit_test(test_lost_in_flight),
        cmocka_unit_test(test_quarantine),
        cmocka_unit_test(test_killed_between),
        cmocka_unit_test(test_extend),
        cmocka_unit_test(test_controls),
        cmocka_unit_test(test_a_control_ends_first),
        cmocka_unit_test(test_retry_measures_aliases),
        cmocka_unit_test(test_disputed),
        cmocka_unit_test(test_measured_elsewhere),
        cmocka_unit_test(test_two_directions),
    };
    return cmocka_run_group_tests(tests, set_up, sim_free);
}
