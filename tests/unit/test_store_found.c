/* SPDX-License-Identifier: MIT */
/* test_store_found.c - which rows of a program's runs become rows of results.h5 */
/* Those of the process and attempt of the record that counts, once, whatever else a journal holds.
 * */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
/* cmocka.h wants the four above first. */
#include <cmocka.h>

#include "base/file.h"
#include "record/found.h"
#include "record/frame.h"
#include "store/index.h"
#include "store_place.h"
#include "tests/tools/store_kit.h"

#include <stdio.h>
#include <string.h>

/* A row of instance `id`, printed by process `worker` in run `i_run` of problem 0. */
static void put_row(struct skit *k, uint32_t i_run, uint32_t attempt, uint64_t worker,
                    uint32_t repeat, uint64_t id, uint32_t outcome)
{
    const struct ks_found_texts t = { "Name<1, 2>", "lines", "program=lines\nname=..",
                                      "split_k=4\n" };
    struct ks_record *r = skit_record(k, 0, i_run, outcome == KS_O_OK ? 1 : 0);

    r->run_instance = r->cell.instance;
    r->cell.instance = id;
    r->cell.condition = 4711;
    r->attempt = attempt;
    r->round_index = repeat;
    r->worker = (struct ks_id128){ worker, 1 };
    r->position = (uint32_t)id;
    r->outcome = outcome;
    ks_buf_clear(&k->body);
    ks_found_encode(r, &t, &k->body);
    skit_frame(k, KS_F_FOUND);
}

static void put_end(struct skit *k, uint32_t i_run, uint32_t attempt, uint64_t worker,
                    uint32_t outcome)
{
    struct ks_record *r = skit_record(k, 0, i_run, 0);

    r->attempt = attempt;
    r->worker = (struct ks_id128){ worker, 1 };
    r->outcome = outcome;
    skit_put(k, r);
}

enum { DONE = 1, ROW = 2 };
struct event {
    int what;
    uint32_t i_run, attempt;
    uint64_t worker, id;
    uint32_t outcome;
};

static const struct {
    const char *what;
    struct event events[8];
    uint32_t n_measurements; /* rows, and runs whose rows do not say all */
    uint32_t n_done;         /* cells of the grid */
    uint32_t n_rows[2];      /* kept records of instances 100 and 101; 0: no outcome */
} cases[] = {
    { "a whole run",
      { { ROW, 0, 1, 7, 100, KS_O_OK },
        { ROW, 0, 1, 7, 101, KS_O_OK },
        { DONE, 0, 1, 7, 0, KS_O_OK } },
      2,
      1,
      { 1, 1 } },
    { "a run that was interrupted has no rows",
      { { ROW, 0, 1, 7, 100, KS_O_OK } },
      0,
      0,
      { 0, 0 } },
    { "and is repeated whole, by another process in the same attempt",
      { { ROW, 0, 1, 7, 100, KS_O_OK },
        { ROW, 0, 1, 8, 100, KS_O_OK },
        { ROW, 0, 1, 8, 101, KS_O_OK },
        { DONE, 0, 1, 8, 0, KS_O_OK } },
      2,
      1,
      { 1, 1 } },
    { "the first attempt came later than the one that counts",
      { { ROW, 0, 2, 8, 100, KS_O_OK },
        { DONE, 0, 2, 8, 0, KS_O_OK },
        { ROW, 0, 1, 7, 101, KS_O_OK },
        { DONE, 0, 1, 7, 0, KS_O_CRASHED } },
      1,
      1,
      { 1, 0 } },
    { "repeats are rounds, whatever their attempts",
      { { ROW, 0, 2, 7, 100, KS_O_OK },
        { DONE, 0, 2, 7, 0, KS_O_OK },
        { ROW, 1, 1, 8, 100, KS_O_OK },
        { ROW, 1, 1, 8, 101, KS_O_OK },
        { DONE, 1, 1, 8, 0, KS_O_OK } },
      2,
      2,
      { 2, 1 } },
    { "a row that was read twice",
      { { ROW, 0, 1, 7, 100, KS_O_OK },
        { ROW, 0, 1, 7, 100, KS_O_OK },
        { DONE, 0, 1, 7, 0, KS_O_OK } },
      1,
      1,
      { 1, 0 } },
    { "a crash that no row tells of stays with the run",
      { { ROW, 0, 1, 7, 100, KS_O_OK }, { DONE, 0, 1, 7, 0, KS_O_CRASHED } },
      2,
      1,
      { 1, 0 } },
    { "one that a row tells of does not",
      { { ROW, 0, 1, 7, 100, KS_O_OK },
        { ROW, 0, 1, 7, 101, KS_O_CRASHED },
        { DONE, 0, 1, 7, 0, KS_O_CRASHED } },
      2,
      1,
      { 1, 1 } },
};

static uint32_t n_kept(const struct ks_index *x, uint64_t problem, uint64_t id)
{
    const struct ks_key key = { { 0, problem, id, 4711 } };
    const uint32_t i = ks_keys_find(&x->cell_keys, &key);
    const struct ks_cell_info *cell = i == KS_NO_ROW ? NULL : ks_list_at(&x->cells, i);

    return cell && cell->final != KS_NO_ROW ? cell->n_kept : 0;
}

static void play(struct skit *k, const struct event *events)
{
    for (const struct event *e = events; e->what; e++)
        if (e->what == ROW)
            put_row(k, e->i_run, e->attempt, e->worker, e->i_run, e->id, e->outcome);
        else
            put_end(k, e->i_run, e->attempt, e->worker, e->outcome);
}

static void which_rows_count(void **state)
{
    const struct place *p = *state;

    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        char dir[sizeof p->dir[0] + 16];
        uint64_t problem;
        struct ks_index x;
        struct skit k;

        print_message("%s\n", cases[i].what);
        snprintf(dir, sizeof dir, "%s/%zu", p->dir[0], i);
        assert_int_equal(ks_mkdirs(dir, 0777, NULL), 0);
        skit_open(&k, dir, i + 1, 1, 2);
        skit_names(&k);
        play(&k, cases[i].events);
        problem = k.problems[0].id;
        skit_close(&k);
        assert_int_equal(ks_index_init(&x, NULL), 0);
        assert_int_equal(
            ks_index_add(&x, dir, (struct ks_index_limit){ .segment = 0 }, NULL, NULL, NULL), 0);
        assert_int_equal(ks_index_finish(&x, NULL), 0);
        assert_int_equal(x.n_measurements, cases[i].n_measurements);
        assert_int_equal(((struct ks_run_row *)ks_list_at(&x.runs, 0))->n_done, cases[i].n_done);
        assert_int_equal(n_kept(&x, problem, 100), cases[i].n_rows[0]);
        assert_int_equal(n_kept(&x, problem, 101), cases[i].n_rows[1]);
        ks_index_release(&x);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(which_rows_count, place_make, place_remove),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
