/* SPDX-License-Identifier: MIT */
/* test_store_cells.c - gather: which attempt counts, rounds, several runs, resumed runs */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
/* cmocka.h wants the four above first. */
#include <cmocka.h>

#include "store_place.h"
#include "tests/tools/store_kit.h"

#include <stdio.h>
#include <string.h>

static void put_attempt(struct skit *k, uint32_t i, uint32_t number, uint32_t round,
                        uint32_t outcome, uint32_t flags, uint32_t role)
{
    struct ks_record *r = skit_record(k, 0, i, 3);

    r->attempt = number;
    r->round_index = round;
    r->outcome = outcome;
    r->outcome_flags = flags;
    r->role = role;
    for (uint32_t s = 0; s < r->n_samples; s++)
        r->sample_ns[s] = 1000 * number + 100 * round + s;
    skit_put(k, r);
}

static void put_disturbed(struct skit *k, uint32_t i, uint32_t number, double disturbance)
{
    struct ks_record *r = skit_record(k, 0, i, 3);

    r->attempt = number;
    r->outcome_flags = KS_FL_CONTAMINATED;
    r->disturbance = disturbance;
    for (uint32_t s = 0; s < r->n_samples; s++)
        r->sample_ns[s] = 1000 * number + s;
    skit_put(k, r);
}

static void put_start(struct skit *k, uint32_t i, uint32_t number)
{
    struct ks_start s = { .n_cells = 1 };

    s.cells[0].cell = (struct ks_cell){ k->problems[0].id, k->instances[i], SKIT_CONDITION };
    s.cells[0].attempt = number;
    ks_start_encode(&s, &k->body);
    skit_frame(k, KS_F_START);
}

static void put_histories(struct skit *k)
{
    put_attempt(k, 0, 1, 0, KS_O_OK, 0, KS_ROLE_CELL);
    put_attempt(k, 0, 2, 0, KS_O_OK, KS_FL_CONTAMINATED, KS_ROLE_CELL);
    put_attempt(k, 1, 1, 0, KS_O_CRASHED, 0, KS_ROLE_CELL);
    put_attempt(k, 1, 2, 0, KS_O_OK, 0, KS_ROLE_CELL);
    put_attempt(k, 2, 1, 0, KS_O_OK, 0, KS_ROLE_CELL);
    put_attempt(k, 2, 2, 0, KS_O_CRASHED, 0, KS_ROLE_CELL);
    put_attempt(k, 3, 1, 0, KS_O_OK, 0, KS_ROLE_CELL);
    put_attempt(k, 3, 2, 0, KS_O_TIMEOUT, KS_FL_VOID, KS_ROLE_CELL);
    put_attempt(k, 4, 1, 0, KS_O_OK, 0, KS_ROLE_ANCHOR); /* no outcome of the cell */
    put_attempt(k, 5, 1, 0, KS_O_TIMEOUT, KS_FL_VOID, KS_ROLE_CELL);
    put_start(k, 6, 1);
    put_attempt(k, 6, 1, 0, KS_O_OK, 0, KS_ROLE_CELL);
    put_start(k, 6, 2);               /* lost on the way: to be measured again */
    for (uint32_t n = 1; n <= 3; n++) /* the second one is the least disturbed */
        put_disturbed(k, 7, n, 1.5 + (n != 2));
}

static void the_attempt_that_counts(void **state)
{
    static const struct {
        uint32_t instance, attempt, n_attempts, outcome;
    } want[] = { { 0, 1, 2, KS_O_OK },
                 { 1, 2, 2, KS_O_OK },
                 { 2, 2, 2, KS_O_CRASHED },
                 { 3, 1, 2, KS_O_OK },
                 { 7, 2, 3, KS_O_OK } };
    const struct place *p = *state;
    struct ks_store_totals t;
    struct ks_store_file *f;
    struct skit k;

    skit_open(&k, p->dir[0], 1, 1, 8);
    skit_names(&k);
    put_histories(&k);
    skit_abandon(&k);
    place_gather(p, 1, &t);
    assert_int_equal(t.n_attempts, 14);
    assert_int_equal(t.n_done, 5);
    assert_int_equal(t.n_pending, 3);
    f = place_open(p);
    assert_int_equal(ks_store_info(f)->n_measurements, 5);
    for (uint32_t i = 0; i < 5; i++) {
        bool is_found = false;

        for (uint32_t m = 0; m < 5; m++) {
            struct ks_row row = measurement(f, m);

            if (row.kernel != want[i].instance)
                continue;
            is_found = true;
            assert_int_equal(row.attempt, want[i].attempt);
            assert_int_equal(row.n_attempts, want[i].n_attempts);
            assert_int_equal(row.outcome, want[i].outcome);
            assert_int_equal(row.n_rounds, 1);
            same_f32(row.time_median_ns, 1000 * want[i].attempt + 1);
            assert_int_equal(attempt(f, row.attempt_row).is_final, 1);
            assert_int_equal(attempt(f, row.attempt_row).instance_id, row.instance_id);
        }
        assert_true(is_found);
    }
    assert_int_equal(attempt(f, 8).role, KS_ROLE_ANCHOR);
    assert_int_equal(attempt(f, 8).is_final, 0);
    ks_store_close(f);
}

static void rounds_are_one_row(void **state)
{
    const struct place *p = *state;
    struct ks_store_file *f;
    struct ks_row row;
    struct skit k;

    skit_open(&k, p->dir[0], 1, 1, 2);
    skit_names(&k);
    put_attempt(&k, 0, 1, 0, KS_O_OK, 0, KS_ROLE_CELL);
    put_attempt(&k, 1, 1, 0, KS_O_OK, 0, KS_ROLE_CELL);
    put_attempt(&k, 0, 1, 1, KS_O_OK, 0, KS_ROLE_CELL);
    put_attempt(&k, 1, 1, 1, KS_O_OK, 0, KS_ROLE_CELL);
    put_attempt(&k, 0, 1, 2, KS_O_OK, 0, KS_ROLE_CELL);
    put_attempt(&k, 0, 1, 1, KS_O_OK, 0, KS_ROLE_CELL); /* a repeat: the first one counts */
    skit_close(&k);
    place_gather(p, 1, NULL);
    f = place_open(p);
    assert_int_equal(ks_store_info(f)->n_measurements, 2);
    assert_int_equal(ks_store_info(f)->n_attempts, 5); /* a key stands once */
    row = measurement(f, 1);                           /* complete last */
    assert_int_equal(row.kernel, 0);
    assert_int_equal(row.n_rounds, 3);
    assert_int_equal(row.n_attempts, 1);
    assert_int_equal(row.n_samples, 9);
    assert_int_equal(row.attempt_row, 0);
    same_f32(row.time_min_ns, 1000);
    same_f32(row.time_median_ns, 1101);
    same_f32(row.time_max_ns, 1202);
    row = measurement(f, 0);
    assert_int_equal(row.kernel, 1);
    assert_int_equal(row.n_samples, 6);
    same_f32(row.time_median_ns, (1002.0 + 1100.0) / 2);
    ks_store_close(f);
}

static void put_pass(struct skit *k, uint32_t i, uint32_t round, uint32_t position,
                     uint32_t outcome, double ns)
{
    struct ks_record *r = skit_record(k, 0, i, 1);

    r->round_index = round;
    r->n_visit = round ? 2 : 0;
    r->position = position;
    r->outcome = outcome;
    r->n_samples = outcome == KS_O_OK;
    r->sample_ns[0] = ns;
    r->timing_ns = (uint64_t)ns;
    skit_put(k, r);
}

static void put_race(struct skit *k, uint32_t stop, uint64_t spent_ns, enum ks_statistic statistic)
{
    const struct ks_race_rec r = { .problem = k->rec->cell.problem,
                                   .condition = k->rec->cell.condition,
                                   .device_id = k->rec->device_id,
                                   .label = k->rec->cell.instance,
                                   .stop = stop,
                                   .n_members = 3,
                                   .time_ns = 100,
                                   .lo_ns = 90,
                                   .hi_ns = 111,
                                   .spent_ns = spent_ns,
                                   .statistic = statistic };

    ks_buf_clear(&k->body);
    ks_race_rec_encode(&r, &k->body);
    skit_frame(k, KS_F_RACE);
}

/* A round of two passes, and one that was cut; a failure in a visit; what the race says of its
 * label. */
static void visits_are_in_the_row(void **state)
{
    const struct place *p = *state;
    struct ks_store_file *f;
    struct ks_row row[3];
    struct skit k;

    skit_open(&k, p->dir[0], 1, 1, 3);
    skit_names(&k);
    for (uint32_t i = 3; i-- > 0;)
        put_pass(&k, i, 0, 1 + i, KS_O_OK, 100 + 100 * i);
    put_pass(&k, 2, 1, 1, KS_O_OK, 900);
    put_pass(&k, 0, 1, 2, KS_O_OK, 80);
    put_pass(&k, 0, 1, 3, KS_O_OK, 125);
    put_pass(&k, 0, 1, 3, KS_O_OK, 125); /* a repeat */
    put_pass(&k, 2, 1, 4, KS_O_CRASHED, 0);
    put_pass(&k, 0, 2, 2, KS_O_OK, 400);
    put_race(&k, 3, 7, KS_STATISTIC_LOW);
    put_race(&k, KS_RACE_REC_CUT, 6, KS_STATISTIC_LOW); /* of an earlier life */
    skit_close(&k);
    place_gather(p, 1, NULL);
    f = place_open(p);
    assert_int_equal(ks_store_info(f)->n_attempts, 8);
    for (uint64_t i = 0; i < 3; i++) {
        struct ks_row r = measurement(f, i);

        row[r.kernel] = r;
        assert_string_equal(r.rounds_stop, "regret");
    }
    assert_int_equal(row[0].n_rounds, 2);
    same_f32(row[0].time_median_ns, 100);
    same_f32(row[0].rounds_time_ns, 100);                /* of 100 and sqrt(80 * 125) */
    assert_string_equal(row[0].rounds_statistic, "low"); /* the device is a host */
    same_f32(row[0].rounds_ci95_lo_ns, 90);
    same_f32(row[0].rounds_ci95_hi_ns, 111);
    same_f32(row[0].time_share, 705.0 / 2105);
    assert_int_equal(row[1].n_rounds, 1);
    same_f32(row[1].rounds_time_ns, 200);
    same_f32(row[1].rounds_ci95_lo_ns, KS_MISSING);
    assert_int_equal(row[2].outcome, KS_O_CRASHED);
    assert_int_equal(row[2].n_samples, 0);
    same_f32(row[2].time_median_ns, KS_MISSING);
    same_f32(row[2].rounds_time_ns, KS_MISSING);
    ks_store_close(f);
}

/* Two instances, all of whose attempts at round 0 were disturbed; visits joined the last one. The
 * time over rounds and the interval of the label are of the same visits. */
static void the_least_disturbed_round_0_and_all_visits(void **state)
{
    static const double disturbance[] = { 1, 5, 4 };
    const struct place *p = *state;
    struct ks_store_file *f;
    struct skit k;

    skit_open(&k, p->dir[0], 1, 1, 2);
    skit_names(&k);
    for (uint32_t i = 2; i-- > 0;) {
        for (uint32_t attempt = 1; attempt <= 3; attempt++) {
            struct ks_record *r = skit_record(&k, 0, i, 1);

            r->attempt = attempt;
            r->outcome_flags = KS_FL_CONTAMINATED;
            r->disturbance = disturbance[attempt - 1];
            r->n_samples = 1;
            r->sample_ns[0] = 1000 * attempt;
            skit_put(&k, r);
        }
        for (uint32_t pass = 0; pass < 4; pass++) {
            struct ks_record *r = skit_record(&k, 0, i, 1);
            uint32_t round = 1 + pass / 2;

            r->attempt = 3;
            r->round_index = round;
            r->position = pass;
            r->n_visit = 2;
            r->n_samples = 1;
            r->sample_ns[0] = round == 1 ? 80 : 125;
            skit_put(&k, r);
        }
    }
    put_race(&k, 3, 7, KS_STATISTIC_MEDIAN); /* its interval is of medians: an older version's */
    skit_close(&k);
    place_gather(p, 1, NULL);
    f = place_open(p);
    for (uint64_t i = 0; i < 2; i++) {
        struct ks_row r = measurement(f, i);

        assert_int_equal(r.attempt, 1);
        assert_int_equal(r.n_attempts, 3);
        assert_int_equal(r.n_rounds, 3);
        assert_int_equal(r.n_samples, 5);
        same_f32(r.time_median_ns, 125);
        same_f32(r.rounds_time_ns, 100); /* sqrt(80 * 125): the rounds that are clean */
        same_f32(r.rounds_ci95_lo_ns, KS_MISSING);
    }
    ks_store_close(f);
}

static void runs_are_merged_never_mixed(void **state)
{
    const struct place *p = *state;
    const char *same[] = { p->dir[0], p->dir[0] };
    struct ks_store_totals t;
    struct ks_store_file *f;
    struct ks_err err;

    skit_run(p->dir[0], 1, 3, 4, 5, 0);
    skit_run(p->dir[1], 2, 4, 4, 5, 2); /* instances are the same, some problems too */
    place_gather(p, 2, &t);
    assert_int_equal(t.n_runs, 2);
    assert_int_equal(t.n_cells, 12 + 16);
    assert_int_equal(t.n_pending, 2);
    f = place_open(p);
    assert_int_equal(ks_store_info(f)->n_runs, 2);
    assert_int_equal(ks_store_info(f)->n_measurements, 12 + 14);
    assert_int_equal(ks_store_info(f)->n_kernels, 8);
    assert_string_not_equal(ks_store_run(f, 0)->run_id, ks_store_run(f, 1)->run_id);
    for (uint64_t i = 0; i < 26; i++) {
        struct ks_row row = measurement(f, i);

        assert_int_equal(row.run, i >= 12);
        assert_int_equal(ks_store_kernel(f, row.kernel)->run, row.run);
        assert_int_equal(ks_store_kernel(f, row.kernel)->instance_id, row.instance_id);
        assert_int_equal(ks_store_problem(f, row.problem)->problem_id, row.problem_id);
    }
    ks_store_close(f);
    assert_int_equal(ks_store_gather(same, 2, p->file, NULL, NULL, &err), KS_EEXIST);
}

static void a_resumed_and_rebuilt_run(void **state)
{
    const struct place *p = *state;
    struct ks_store_file *f;
    struct ks_row row;
    struct ks_build_rec b;
    struct ks_record *r;
    struct skit k;

    skit_open(&k, p->dir[0], 1, 1, 2);
    skit_names(&k);
    skit_put(&k, skit_record(&k, 0, 0, 3));
    skit_abandon(&k);
    skit_open(&k, p->dir[0], 1, 1, 2);
    ks_build_rec_init(&b);
    b.outcome = KS_O_OK;
    b.build_id = (struct ks_id128){ 7, 7 };
    b.code_id = (struct ks_id128){ 8, 8 };
    b.instance = k.instances[1];
    ks_build_rec_encode(&b, &k.body);
    skit_frame(&k, KS_F_BUILD);
    r = skit_record(&k, 0, 1, 3);
    r->build_id = b.build_id;
    r->code_id = b.code_id;
    skit_put(&k, r);
    skit_close(&k);
    place_gather(p, 1, NULL);
    f = place_open(p);
    assert_int_equal(ks_store_run(f, 0)->n_segments, 2);
    assert_int_equal(ks_store_info(f)->n_kernels, 3);
    row = measurement(f, 1);
    assert_int_equal(row.kernel, 2);
    assert_string_equal(ks_store_kernel(f, 2)->build_id, "00000000000000070000000000000007");
    assert_string_equal(ks_store_kernel(f, 2)->instance_name, ks_store_kernel(f, 1)->instance_name);
    assert_int_equal(ks_store_kernel(f, 2)->i_instance, 1);
    assert_int_equal(row.journal_segment, 0); /* no column of this table */
    assert_int_equal(attempt(f, 1).journal_segment, 2);
    ks_store_close(f);
}

/* Whole by their checksums, but not what this program knows. */
static void frames_of_a_later_version(void **state)
{
    const struct place *p = *state;
    struct ks_store_totals t;
    struct ks_store_check c;
    struct ks_err err;
    struct skit k;

    skit_open(&k, p->dir[0], 1, 1, 2);
    skit_names(&k);
    skit_put(&k, skit_record(&k, 0, 0, 3));
    ks_tag_u64(&k.body, 1, 5); /* a record without most of what it needs */
    skit_frame(&k, KS_F_DONE);
    ks_tag_text(&k.body, 1, "odd");
    skit_frame(&k, KS_F_BLOCK);
    ks_tag_u64(&k.body, 1, 5);
    skit_frame(&k, 77);
    skit_close(&k);
    place_gather(p, 1, &t);
    assert_int_equal(t.n_unreadable, 2);
    assert_int_equal(t.n_unknown_frames, 1);
    assert_int_equal(t.n_done, 1);
    assert_int_equal(t.n_pending, 1);
    assert_int_equal(ks_store_check(p->file, &c, &err), 0);
    assert_int_equal(c.n_findings, 1);
    assert_non_null(strstr(ks_buf_text(&c.findings), "2 frames are intact but contain values"));
    assert_non_null(strstr(ks_buf_text(&c.notes), "1 frames of unknown types"));
    assert_true(c.is_compared);
    ks_buf_release(&c.findings);
    ks_buf_release(&c.notes);
}

/* Segments of two runs in one directory, as copying files about makes them. */
static void segments_of_two_runs(void **state)
{
    const struct place *p = *state;
    const char *dirs[] = { p->dir[0] };
    char from[128], to[128];
    struct ks_err err = { 0 };

    skit_run(p->dir[0], 1, 1, 2, 3, 0);
    skit_run(p->dir[1], 9, 1, 2, 3, 0);
    snprintf(from, sizeof(from), "%s/journal/0001.ksj", p->dir[1]);
    snprintf(to, sizeof(to), "%s/journal/0002.ksj", p->dir[0]);
    assert_int_equal(rename(from, to), 0);
    assert_true(ks_store_gather(dirs, 1, p->file, NULL, NULL, &err) < 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
#define TEST(f) cmocka_unit_test_setup_teardown(f, place_make, place_remove)
        TEST(the_attempt_that_counts),
        TEST(rounds_are_one_row),
        TEST(visits_are_in_the_row),
        TEST(runs_are_merged_never_mixed),
        cmocka_unit_test_setup_teardown(the_least_disturbed_round_0_and_all_visits, place_make,
                                        place_remove),
        TEST(a_resumed_and_rebuilt_run),
        TEST(frames_of_a_later_version),
        TEST(segments_of_two_runs),
#undef TEST
    };

    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests_name("store_cells", tests, NULL, NULL);
}
