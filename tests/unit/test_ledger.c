/* SPDX-License-Identifier: MIT */
/* test_ledger.c - the ledger: what a journal says of each cell */
#include "base/clock.h"
#include "fault.h"
#include "journal/ledger.h"
#include "journal_kit.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define N_ROWS(a) (sizeof(a) / sizeof((a)[0]))

static int make(void **state)
{
    return ks_ledger_create((struct ks_ledger **)state, NULL);
}

static int destroy(void **state)
{
    ks_ledger_destroy(*state);
    return 0;
}

static struct ks_cell cell(uint64_t problem, uint64_t instance)
{
    return (struct ks_cell){ problem, instance, 77 };
}

static void start_as(struct ks_ledger *l, struct ks_cell c, uint32_t attempt, uint32_t role)
{
    struct ks_start s = { .n_cells = 1 };
    s.cells[0] = (struct ks_start_cell){ .cell = c, .attempt = attempt, .role = role };
    assert_int_equal(ks_ledger_start(l, &s, NULL), 0);
}

static void start(struct ks_ledger *l, struct ks_cell c, uint32_t attempt)
{
    start_as(l, c, attempt, KS_ROLE_CELL);
}

struct done {
    uint32_t attempt, outcome, flags, role, round;
    double disturbance;
};

static void done(struct ks_ledger *l, struct ks_cell c, struct done d)
{
    struct ks_record_head r = { .cell = c,
                                .attempt = d.attempt,
                                .outcome = d.outcome,
                                .outcome_flags = d.flags,
                                .role = d.role,
                                .round_index = d.round,
                                .disturbance = d.disturbance };
    assert_int_equal(ks_ledger_done(l, &r, 3, 1000 + d.attempt, NULL), 0);
}

/* ---- one cell ---- */

struct op {
    char what; /* S start, D done, 0 end */
    struct done d;
};
#define S(n)                                                                                       \
    {                                                                                              \
        'S',                                                                                       \
        {                                                                                          \
            .attempt = (n)                                                                         \
        }                                                                                          \
    }
#define D(n, outcome)                                                                              \
    {                                                                                              \
        'D',                                                                                       \
        {                                                                                          \
            (n), (outcome), 0, 0, 0, -1                                                            \
        }                                                                                          \
    }
#define F(n, outcome, f)                                                                           \
    {                                                                                              \
        'D',                                                                                       \
        {                                                                                          \
            (n), (outcome), (f), 0, 0, -1                                                          \
        }                                                                                          \
    }
#define DIRTY KS_FL_CONTAMINATED

static const struct {
    const char *name;
    struct op ops[6];
    bool is_final;
    uint32_t outcome, attempt, next;
} rows[] = {
    { "announced", { S(1) }, false, KS_O_NONE, 0, 1 },
    { "measured", { S(1), D(1, KS_O_OK) }, true, KS_O_OK, 1, 2 },
    { "never announced", { D(1, KS_O_OK) }, true, KS_O_OK, 1, 2 },
    { "leased again after a loss", { S(1), S(1), D(1, KS_O_OK) }, true, KS_O_OK, 1, 2 },
    { "opened again", { S(1), D(1, KS_O_OK), S(2) }, false, KS_O_OK, 1, 2 },
    { "retry announced", { S(1), S(2), D(1, KS_O_CRASHED) }, false, KS_O_CRASHED, 1, 2 },
    { "an old announcement comes late",
      { S(1), S(2), S(1), D(1, KS_O_CRASHED) },
      false,
      KS_O_CRASHED,
      1,
      2 },
    { "retry lives", { S(1), S(2), D(1, KS_O_CRASHED), D(2, KS_O_OK) }, true, KS_O_OK, 2, 3 },
    { "dies twice",
      { S(1), S(2), D(1, KS_O_CRASHED), D(2, KS_O_TIMEOUT) },
      true,
      KS_O_TIMEOUT,
      2,
      3 },
    { "convicted", { S(1), D(1, KS_O_OK), S(2), D(2, KS_O_CRASHED) }, true, KS_O_CRASHED, 2, 3 },
    { "out of order", { S(1), S(2), D(2, KS_O_OK), D(1, KS_O_CRASHED) }, true, KS_O_OK, 2, 3 },
    { "second is clean", { S(1), S(2), F(1, KS_O_OK, DIRTY), D(2, KS_O_OK) }, true, KS_O_OK, 2, 3 },
    { "first was clean", { S(1), D(1, KS_O_OK), S(2), F(2, KS_O_OK, DIRTY) }, true, KS_O_OK, 1, 3 },
    { "none is clean",
      { S(1), S(2), F(1, KS_O_OK, DIRTY), F(2, KS_O_OK, DIRTY) },
      true,
      KS_O_OK,
      2,
      3 },
    { "clean, then it crashed",
      { S(1), D(1, KS_O_OK), S(2), F(2, KS_O_CRASHED, 0) },
      true,
      KS_O_CRASHED,
      2,
      3 },
    { "taken back",
      { S(1), D(1, KS_O_CRASHED), F(1, KS_O_CRASHED, KS_FL_VOID) },
      false,
      KS_O_NONE,
      0,
      2 },
    { "taken back and measured elsewhere",
      { S(1), D(1, KS_O_CRASHED), F(1, KS_O_CRASHED, KS_FL_VOID), S(2), D(2, KS_O_OK) },
      true,
      KS_O_OK,
      2,
      3 },
};

static void test_one_cell(void **state)
{
    (void)state;
    for (size_t r = 0; r < N_ROWS(rows); r++) {
        struct ks_ledger *l = NULL;
        uint32_t n_done = 0;
        struct ks_ledger_counts n;
        assert_int_equal(ks_ledger_create(&l, NULL), 0);
        struct ks_cell c = cell(5, 6);
        for (const struct op *o = rows[r].ops; o->what; o++) {
            n_done += o->what == 'D';
            if (o->what == 'S')
                start(l, c, o->d.attempt);
            else
                done(l, c, o->d);
        }
        const struct ks_ledger_cell *k = ks_ledger_find(l, &c);
        if (!k || ks_ledger_is_final(k) != rows[r].is_final || k->outcome != rows[r].outcome ||
            k->attempt != rows[r].attempt || ks_ledger_next_attempt(k) != rows[r].next)
            fail_msg("%s: final %d outcome %u attempt %u next %u", rows[r].name,
                     ks_ledger_is_final(k), k ? k->outcome : 0, k ? k->attempt : 0,
                     ks_ledger_next_attempt(k));
        assert_int_equal(k->n_attempts, n_done);
        if (k->attempt) {
            assert_int_equal(k->segment, 3);
            assert_int_equal(k->offset, 1000 + k->attempt);
        }
        ks_ledger_counts(l, &n);
        assert_int_equal(n.n_final, rows[r].is_final);
        assert_int_equal(n.n_records, n_done);
        if (rows[r].is_final)
            assert_int_equal(n.outcome[rows[r].outcome], 1);
        assert_int_equal(ks_ledger_problem_find(l, 5)->n_final, rows[r].is_final);
        assert_int_equal(ks_ledger_problem_find(l, 5)->n_touched, 1);
        ks_ledger_destroy(l);
    }
}

static void test_unknown_cell(void **state)
{
    struct ks_ledger *l = *state;
    struct ks_cell c = cell(1, 1);
    assert_null(ks_ledger_find(l, &c));
    assert_false(ks_ledger_is_final(NULL));
    assert_int_equal(ks_ledger_next_attempt(NULL), 1);
    assert_false(ks_ledger_has(l, ks_ledger_find(l, &c), 1, 0));
    assert_null(ks_ledger_problem_find(l, 1));
    assert_null(ks_ledger_instance_name(l, 1));
    assert_true(ks_id128_is_zero(ks_ledger_build(l, 1)));
    const char *text = "x";
    assert_null(ks_ledger_job(l, &text));
    assert_null(text);
    ks_ledger_destroy(NULL);
}

static void test_has(void **state)
{
    struct ks_ledger *l = *state;
    struct ks_cell a = cell(1, 1), b = cell(1, 2), c = a;
    c.condition++;
    done(l, a, (struct done){ 1, KS_O_OK, 0, 0, 0, -1 });
    done(l, a, (struct done){ 1, KS_O_OK, 0, 0, 2, -1 });
    done(l, b, (struct done){ 2, KS_O_OK, 0, 0, 0, -1 });
    assert_true(ks_ledger_has(l, ks_ledger_find(l, &a), 1, 0));
    assert_true(ks_ledger_has(l, ks_ledger_find(l, &a), 1, 2));
    assert_false(ks_ledger_has(l, ks_ledger_find(l, &a), 1, 1));
    assert_false(ks_ledger_has(l, ks_ledger_find(l, &a), 2, 0));
    assert_false(ks_ledger_has(l, ks_ledger_find(l, &b), 1, 0));
    assert_true(ks_ledger_has(l, ks_ledger_find(l, &b), 2, 0));
    assert_false(
        ks_ledger_has(l, ks_ledger_find(l, &c), 1, 0)); /* another condition is another cell */
}

/* Anchors, canaries and controls are records, but no attempts of the cell. */
static void test_other_roles(void **state)
{
    struct ks_ledger *l = *state;
    struct ks_cell c = cell(1, 1);
    struct ks_ledger_counts n;
    for (uint32_t role = KS_ROLE_ANCHOR; role <= KS_ROLE_CONTROL; role++) {
        start_as(l, c, 5, role);
        done(l, c, (struct done){ 5, KS_O_CRASHED, 0, role, 0, -1 });
    }
    assert_null(ks_ledger_find(l, &c));
    done(l, c, (struct done){ 1, KS_O_OK, 0, 0, 0, -1 });
    done(l, c, (struct done){ 2, KS_O_CRASHED, 0, KS_ROLE_CONTROL, 0, -1 });
    assert_int_equal(ks_ledger_find(l, &c)->outcome, KS_O_OK);
    assert_false(ks_ledger_has(l, ks_ledger_find(l, &c), 2, 0));
    ks_ledger_counts(l, &n);
    assert_int_equal(n.n_records, 5);
    assert_int_equal(n.n_starts, 3);
    assert_int_equal(n.n_final, 1);
}

/* Of contaminated attempts the least disturbed counts, and where its record lies. */
static void test_disturbed(void **state)
{
    struct ks_ledger *l = *state;
    struct ks_cell c = cell(1, 1);
    done(l, c, (struct done){ 1, KS_O_OK, DIRTY, 0, 0, 3 });
    done(l, c, (struct done){ 2, KS_O_OK, DIRTY, 0, 0, 1.5 });
    done(l, c, (struct done){ 3, KS_O_OK, DIRTY, 0, 0, 2 });
    assert_int_equal(ks_ledger_find(l, &c)->attempt, 2);
    assert_int_equal(ks_ledger_find(l, &c)->offset, 1002);
}

/* Later rounds are kept; only a failure in one decides its attempt. */
static void test_rounds(void **state)
{
    struct ks_ledger *l = *state;
    struct ks_cell c = cell(1, 1);
    done(l, c, (struct done){ 1, KS_O_OK, 0, 0, 0, -1 });
    for (uint32_t round = 1; round < 400; round++)
        done(l, c, (struct done){ 1, KS_O_OK, DIRTY, 0, round, -1 });
    assert_int_equal(ks_ledger_find(l, &c)->outcome, KS_O_OK);
    assert_int_equal(ks_ledger_find(l, &c)->flags, 0);
    assert_int_equal(ks_ledger_find(l, &c)->n_attempts, 1);
    assert_true(ks_ledger_has(l, ks_ledger_find(l, &c), 1, 399));
    done(l, c, (struct done){ 1, KS_O_CRASHED, 0, 0, 400, -1 });
    assert_int_equal(ks_ledger_find(l, &c)->outcome, KS_O_CRASHED);
    assert_true(ks_ledger_is_final(ks_ledger_find(l, &c)));
    done(l, c, (struct done){ 2, KS_O_OK, 0, 0, 0, -1 });
    assert_int_equal(ks_ledger_find(l, &c)->outcome, KS_O_OK);
}

/* Of a round beyond 0 an attempt has a record for each place in a block; of several verdicts the
 * newest counts. */
static void test_visits(void **state)
{
    struct ks_ledger *l = *state;
    struct ks_record_head r = { .cell = cell(1, 1), .attempt = 1, .outcome = KS_O_OK };
    struct ks_ledger_counts n;
    assert_int_equal(ks_ledger_done(l, &r, 1, 1, NULL), 0);
    r.round_index = 1;
    for (uint64_t block = 1; block <= 2; block++)
        for (uint32_t twice = 0; twice < 2; twice++)
            for (r.position = 1; r.position <= 2; r.position++) {
                r.block_id = block;
                assert_int_equal(ks_ledger_has_record(l, ks_ledger_find(l, &r.cell), &r), twice);
                assert_int_equal(ks_ledger_done(l, &r, 1, 1, NULL), 0);
            }
    for (uint32_t k = 0; k < 4; k++) { /* k 2 and 3: a later sweep, but the end is read first */
        const uint32_t stop = k == 0 || k == 3 ? KS_RACE_REC_CUT : 5;
        const struct ks_race_rec race = {
            .problem = 1, .stop = stop, .n_members = 7, .spent_ns = k / 2
        };
        assert_int_equal(ks_ledger_race(l, &race, NULL), 0);
        ks_ledger_counts(l, &n);
        assert_int_equal(n.n_races, k > 0);
        assert_int_equal(n.n_cut, k == 0);
        assert_int_equal(ks_ledger_problem_find(l, 1)->race_stop, k ? 5 : KS_RACE_REC_CUT);
    }
    assert_int_equal(n.n_visit_records, 4);
    assert_int_equal(ks_ledger_problem_find(l, 1)->n_visit_records, 4);
    assert_int_equal(n.n_final, 1);
}

static void test_counts(void **state)
{
    struct ks_ledger *l = *state;
    struct ks_ledger_counts n;
    for (uint64_t p = 1; p <= 10; p++)
        for (uint64_t i = 1; i <= 20; i++) {
            start(l, cell(p, i), 1);
            uint32_t flags = i == 1 ? DIRTY : i == 2 ? KS_FL_ALIASED : 0;
            if (i <= p)
                done(l, cell(p, i),
                     (struct done){ 1, i % 2 ? KS_O_OK : KS_O_CRASHED, flags, 0, 0, -1 });
        }
    ks_ledger_counts(l, &n);
    assert_int_equal(n.n_final, 55);
    assert_int_equal(n.outcome[KS_O_OK], 30);
    assert_int_equal(n.outcome[KS_O_CRASHED], 25);
    assert_int_equal(n.n_contaminated, 10);
    assert_int_equal(n.n_controls, 9);
    assert_int_equal(n.n_starts, 200);
    assert_int_equal(ks_ledger_n_cells(l), 200);
    assert_int_equal(ks_ledger_n_problems(l), 10);
    for (size_t k = 0; k < 10; k++) {
        const struct ks_ledger_problem *p = ks_ledger_problem(l, k);
        assert_int_equal(p->n_final, p->id);
        assert_int_equal(p->n_touched, 20);
    }
    start(l, cell(10, 2), 2);
    ks_ledger_counts(l, &n);
    assert_int_equal(n.n_controls, 8);
    done(l, cell(10, 2), (struct done){ 2, KS_O_CRASHED, 0, 0, 0, -1 });
    start(l, cell(10, 1), 2); /* opened again: out of all totals */
    ks_ledger_counts(l, &n);
    assert_int_equal(n.n_final, 54);
    assert_int_equal(n.outcome[KS_O_OK], 29);
    assert_int_equal(n.n_contaminated, 9);
    assert_int_equal(ks_ledger_problem_find(l, 10)->n_final, 9);
    done(l, cell(10, 1), (struct done){ 2, KS_O_OK, 0, 0, 0, -1 });
    ks_ledger_counts(l, &n);
    assert_int_equal(n.n_final, 55);
    assert_int_equal(n.n_contaminated, 9);
}

/* ---- frames ---- */

static int apply(struct ks_ledger *l, uint16_t type, const struct ks_buf *b, struct ks_err *err)
{
    struct ks_journal_frame f = {
        .segment = 1, .offset = 64, .type = type, .body = b->data, .n = b->len
    };
    return ks_ledger_apply(l, &f, err);
}

static void test_names_builds_and_job(void **state)
{
    struct ks_ledger *l = *state;
    struct ks_buf b;
    static struct ks_name_rec name = { .id = 9, .count = 4, .name = "conv1", .n_absent = 6 };
    struct ks_build_rec build = { .instance = 11, .outcome = KS_O_OK, .build_id = { 1, 2 } };
    struct ks_job_rec job = { .grid_digest = 3, .n_problems = 5 };
    const char *text = NULL;
    ks_buf_init(&b);
    ks_name_rec_encode(&name, &b);
    assert_int_equal(apply(l, KS_F_PROBLEM, &b, NULL), 0);
    assert_string_equal(ks_ledger_problem_find(l, 9)->name, "conv1");
    assert_int_equal(ks_ledger_problem_find(l, 9)->count, 4);
    assert_int_equal(ks_ledger_problem_find(l, 9)->n_absent, 6);
    assert_int_equal(ks_ledger_problem_find(l, 9)->n_touched, 0);

    name.id = 11;
    ks_buf_clear(&b);
    ks_name_rec_encode(&name, &b);
    assert_int_equal(apply(l, KS_F_INSTANCE, &b, NULL), 0);
    assert_string_equal(ks_ledger_instance_name(l, 11), "conv1");
    assert_int_equal(ks_ledger_n_instances(l), 1);
    assert_int_equal(ks_ledger_instance(l, 0), 11);

    ks_buf_clear(&b);
    ks_build_rec_encode(&build, &b);
    assert_int_equal(apply(l, KS_F_BUILD, &b, NULL), 0);
    build.outcome = KS_O_BUILD_FAILED;
    build.build_id.lo = 99;
    ks_buf_clear(&b);
    ks_build_rec_encode(&build, &b);
    assert_int_equal(apply(l, KS_F_BUILD, &b, NULL), 0);
    assert_true(ks_id128_eq(ks_ledger_build(l, 11), (struct ks_id128){ 1, 2 }));

    for (int k = 0; k < 2; k++) { /* the newest counts */
        job.n_instances = (uint64_t)k;
        ks_buf_clear(&b);
        ks_job_rec_encode(&job, k ? "second" : "first", &b);
        assert_int_equal(apply(l, KS_F_JOB, &b, NULL), 0);
    }
    assert_int_equal(ks_ledger_job(l, &text)->n_instances, 1);
    assert_string_equal(text, "second");
    ks_buf_release(&b);
}

static void test_damaged_and_unknown_frames(void **state)
{
    struct ks_ledger *l = *state;
    struct ks_err err;
    struct ks_buf b;
    struct ks_ledger_counts n;
    static const uint16_t types[] = { KS_F_DONE,  KS_F_START, KS_F_PROBLEM, KS_F_INSTANCE,
                                      KS_F_BUILD, KS_F_JOB,   KS_F_EVENT };
    ks_buf_init(&b);
    ks_buf_put(&b, "\x01\x00\xff\x00\x00\x00", 6); /* a field longer than its body */
    for (size_t i = 0; i < N_ROWS(types); i++)
        assert_int_equal(apply(l, types[i], &b, &err), KS_EFORMAT);
    assert_int_equal(apply(l, 77, &b, &err), 0);
    ks_ledger_counts(l, &n);
    assert_int_equal(n.n_records + n.n_starts, 0);
    assert_int_equal(ks_ledger_n_cells(l) + ks_ledger_n_problems(l), 0);
    ks_buf_release(&b);
}

/* ---- a journal ---- */

struct seen { /* where a reader met the record of instance i, attempt 1 */
    uint64_t offset[40];
    uint32_t segment[40];
};

static int note(void *ctx, const struct ks_journal_frame *f, struct ks_err *err)
{
    static struct ks_record r;
    struct seen *s = ctx;
    if (f->type != KS_F_DONE || ks_record_decode(f->body, f->n, &r, NULL, err) < 0)
        return 0;
    s->offset[r.cell.instance] = f->offset;
    s->segment[r.cell.instance] = f->segment;
    return 0;
}

static void append_start(struct ks_journal *j, uint64_t instance, uint32_t attempt)
{
    struct ks_start s = { .n_cells = 1 };
    struct ks_buf b;
    s.cells[0] = (struct ks_start_cell){ .cell = { 1, instance, 7 }, .attempt = attempt };
    ks_buf_init(&b);
    ks_start_encode(&s, &b);
    assert_int_equal(ks_journal_append(j, KS_F_START, b.data, b.len, NULL, NULL), 0);
    ks_buf_release(&b);
}

static void test_round_trip(void **state)
{
    (void)state;
    struct kit_dir d;
    struct ks_ledger *l = NULL;
    struct ks_journal_totals totals;
    struct ks_ledger_counts n;
    struct seen seen = { 0 };
    struct ks_err err = { 0 };
    uint64_t n_bad = 99;
    kit_dir_make(&d);
    for (uint64_t half = 0; half < 2; half++) { /* two owners, one after the other */
        struct ks_journal *j = kit_open_journal(d.journal);
        for (uint64_t i = 0; i < 20; i++)
            append_start(j, half * 20 + i, 1);
        for (uint64_t i = 0; i < (half ? 20 : 15); i++)
            kit_append(j, half * 20 + i);
        assert_int_equal(ks_journal_append(j, KS_F_DONE, "\xff", 1, NULL, NULL), 0);
        assert_int_equal(ks_journal_close(j, &err), 0);
    }
    assert_int_equal(ks_ledger_read(d.journal, &l, NULL, NULL, &totals, &n_bad, &err), 0);
    assert_int_equal(ks_journal_read(d.journal, note, NULL, &seen, NULL, &err), 0);
    assert_int_equal(n_bad, 2);
    assert_int_equal(totals.n_segments, 2);
    ks_ledger_counts(l, &n);
    assert_int_equal(n.n_final, 35);
    assert_int_equal(n.n_starts, 40);
    for (uint64_t i = 0; i < 40; i++) {
        struct ks_cell c = { 1, i, 7 };
        const struct ks_ledger_cell *k = ks_ledger_find(l, &c);
        assert_non_null(k);
        assert_int_equal(ks_ledger_is_final(k), i < 15 || i >= 20);
        assert_int_equal(ks_ledger_next_attempt(k), i < 15 || i >= 20 ? 2 : 1);
        assert_int_equal(k->offset, seen.offset[i]);
        assert_int_equal(k->segment, seen.segment[i]);
    }
    ks_ledger_destroy(l);
    assert_int_equal(ks_ledger_read(d.root, &l, NULL, NULL, NULL, NULL, &err), KS_ENOENT);
    kit_dir_remove(&d);
}

/* ---- size and memory ---- */

static void test_many_cells(void **state)
{
    struct ks_ledger *l = *state;
    struct ks_ledger_counts n;
    uint64_t from = ks_now_ns();
    for (uint64_t k = 0; k < 100000; k++)
        start(l, cell(k / 300 + 1, k % 300), 1);
    for (uint64_t k = 0; k < 100000; k++) {
        struct ks_cell c = cell(k / 300 + 1, k % 300);
        assert_false(ks_ledger_has(l, ks_ledger_find(l, &c), 1, 0));
        done(l, c, (struct done){ 1, KS_O_OK, 0, 0, 0, -1 });
    }
    assert_true(ks_now_ns() - from < 10000000000ull); /* a second or less; looking through all
                                                         cells each time would take minutes */
    ks_ledger_counts(l, &n);
    assert_int_equal(n.n_final, 100000);
    assert_int_equal(ks_ledger_n_cells(l), 100000);
    assert_int_equal(ks_ledger_n_problems(l), 334);
}

/* Wherever memory ends, what is known stays known. */
static void test_out_of_memory(void **state)
{
    (void)state;
    for (unsigned at = 0;; at++) {
        struct ks_ledger *l = NULL;
        struct ks_start s = { .n_cells = 1 };
        uint64_t i = 0;
        assert_int_equal(ks_ledger_create(&l, NULL), 0);
        fault_arm(at);
        int rc = 0;
        for (; i < 500 && rc == 0; i++) {
            s.cells[0] = (struct ks_start_cell){ .cell = cell(i, i), .attempt = 1 };
            rc = ks_ledger_start(l, &s, NULL);
        }
        bool was_hit = fault_disarm();
        assert_int_equal(rc, was_hit ? KS_ENOMEM : 0);
        for (uint64_t k = 0; k + was_hit < i; k++) {
            struct ks_cell c = cell(k, k);
            assert_non_null(ks_ledger_find(l, &c));
            assert_non_null(ks_ledger_problem_find(l, k));
        }
        ks_ledger_destroy(l);
        if (!was_hit)
            return;
        assert_true(at < 1000);
    }
}

static bool trusts(void *ctx, uint64_t device)
{
    return device != *(const uint64_t *)ctx;
}

/* Another known device, the same outcome, not taken back. */
static void test_failed_elsewhere(void **state)
{
    static const struct {
        struct ks_record_head r;
        bool counts;
    } seen[] = {
        { { .attempt = 1, .outcome = KS_O_CRASHED, .device_id = 5 }, true },
        { { .attempt = 1, .outcome = KS_O_CRASHED, .device_id = 7 }, false },
        { { .attempt = 1, .outcome = KS_O_TIMEOUT, .device_id = 5 }, false },
        { { .attempt = 1, .outcome = KS_O_CRASHED, .device_id = 0 }, false },
        { { .attempt = 1, .outcome = KS_O_CRASHED, .device_id = 9 }, false },
        { { .attempt = 1, .outcome = KS_O_CRASHED, .outcome_flags = KS_FL_VOID, .device_id = 5 },
          false },
    };
    uint64_t bad = 9;
    (void)state;
    for (size_t i = 0; i < sizeof(seen) / sizeof(seen[0]); i++) {
        struct ks_ledger *l = NULL;
        struct ks_record_head r = seen[i].r;
        r.cell = (struct ks_cell){ 1, 2, 3 };
        assert_int_equal(ks_ledger_create(&l, NULL), 0);
        assert_int_equal(ks_ledger_done(l, &r, 1, 1, NULL), 0);
        const struct ks_ledger_cell *c = ks_ledger_find(l, &r.cell);
        assert_int_equal(ks_ledger_failed_elsewhere(l, c, KS_O_CRASHED, 7, trusts, &bad),
                         seen[i].counts);
        assert_false(ks_ledger_failed_elsewhere(l, c, KS_O_CRASHED, 0, trusts, &bad));
        assert_false(ks_ledger_failed_elsewhere(l, NULL, KS_O_CRASHED, 7, trusts, &bad));
        ks_ledger_destroy(l);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_failed_elsewhere),
        cmocka_unit_test(test_one_cell),
        cmocka_unit_test_setup_teardown(test_unknown_cell, make, destroy),
        cmocka_unit_test_setup_teardown(test_has, make, destroy),
        cmocka_unit_test_setup_teardown(test_other_roles, make, destroy),
        cmocka_unit_test_setup_teardown(test_disturbed, make, destroy),
        cmocka_unit_test_setup_teardown(test_rounds, make, destroy),
        cmocka_unit_test_setup_teardown(test_visits, make, destroy),
        cmocka_unit_test_setup_teardown(test_counts, make, destroy),
        cmocka_unit_test_setup_teardown(test_names_builds_and_job, make, destroy),
        cmocka_unit_test_setup_teardown(test_damaged_and_unknown_frames, make, destroy),
        cmocka_unit_test(test_round_trip),
        cmocka_unit_test_setup_teardown(test_many_cells, make, destroy),
        cmocka_unit_test(test_out_of_memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
