/* SPDX-License-Identifier: MIT */
/* test_analysis_visits.c - visits that are cut or on several devices: race, table and analysis are
 * of the same times */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
/* cmocka.h wants the four above first. */
#include <cmocka.h>

#include "analysis/learn/oracle.h"
#include "analysis_kit.h"
#include "race/race.h"
#include "record/rounds.h"

#include <math.h>
#include <stdlib.h>

#define N   3u /* instances */
#define A   SKIT_DEVICE
#define B   (SKIT_DEVICE ^ 1)
#define LOW KS_STATISTIC_LOW

struct story { /* the same records in a journal and in a race */
    struct place *place;
    struct skit k;
    struct ks_race *race;
    struct ks_race_verdict verdict;
    uint64_t block, instances[N];
};

static void begin(struct story *s)
{
    struct ks_race_config c;
    void *place;

    *s = (struct story){ .block = 100 };
    assert_int_equal(place_make(&place), 0);
    s->place = place;
    skit_open(&s->k, s->place->dir[0], 1, 1, N);
    skit_names(&s->k);
    for (uint32_t i = 0; i < N; i++)
        s->instances[i] = s->k.instances[i];
    ks_race_config_init(&c);
    c.device_id = A;
    assert_int_equal(ks_race_create(&c, &s->race, NULL), 0);
}

static void put(struct story *s, uint64_t device, uint32_t round, uint32_t n_visit,
                uint32_t position, uint32_t instance, double ns, uint32_t flags)
{
    struct ks_record *r = akit_timed(&s->k, 0, instance, ns);

    r->device_id = device;
    r->block_id = s->block;
    r->round_index = round;
    r->n_visit = n_visit;
    r->position = position;
    r->outcome_flags = flags;
    skit_put(&s->k, r);
    const struct ks_race_seen seen = { .instance = r->cell.instance,
                                       .device_id = device,
                                       .lease_id = r->block_id,
                                       .attempt = r->attempt,
                                       .round = round,
                                       .position = position,
                                       .n_visit = n_visit,
                                       .outcome = r->outcome,
                                       .flags = flags,
                                       .n_samples = r->n_samples,
                                       .disturbance = -1,
                                       .time_ns = ks_rounds_statistic(r, LOW) };

    assert_int_equal(ks_race_add(s->race, &seen, NULL), 0);
}

/* ns: [N] times. */
static void put_first(struct story *s, const double *ns)
{
    for (uint32_t i = 0; i < N; i++)
        put(s, A, 0, 0, i, i, ns[i], 0);
}

/* The first n_put passes of a visit of the instances n - 1 .. 0, as in C B A A B C. */
static void put_visit(struct story *s, uint64_t device, uint32_t round, const double *ns,
                      uint32_t n, uint32_t n_put, uint32_t flags)
{
    s->block++;
    for (uint32_t k = 0; k < n_put; k++) {
        uint32_t instance = k < n ? n - 1 - k : k - n;

        put(s, device, round, n, k, instance, ns[instance], flags);
    }
}

/* The verdict, on this device, is in the journal, which is gathered. */
static void end(struct story *s, uint64_t device, uint32_t stop)
{
    struct ks_race_verdict *v = &s->verdict;
    struct ks_race_rec r;

    ks_race_move(s->race, device);
    assert_int_equal(ks_race_decide(s->race, NULL, v, NULL), 0);
    r = (struct ks_race_rec){ .problem = s->k.problems[0].id,
                              .condition = s->k.condition,
                              .device_id = device,
                              .label = v->label,
                              .stop = stop,
                              .n_members = N,
                              .time_ns = v->time_ns,
                              .lo_ns = v->lo_ns,
                              .hi_ns = v->hi_ns,
                              .statistic = LOW };
    ks_buf_clear(&s->k.body);
    ks_race_rec_encode(&r, &s->k.body);
    skit_frame(&s->k, KS_F_RACE);
    skit_close(&s->k);
    place_gather(s->place, 1, NULL);
}

static void forget(struct story *s)
{
    void *place = s->place;

    ks_race_destroy(s->race);
    place_remove(&place);
}

static void read_rows(const struct story *s, struct ks_row *rows)
{
    struct ks_store_file *f = place_open(s->place);

    assert_int_equal(ks_store_info(f)->n_measurements, N);
    for (uint32_t i = 0; i < N; i++) {
        struct ks_row r = measurement(f, i);

        rows[r.kernel] = r;
    }
    ks_store_close(f);
}

struct analysis {
    struct ks_sweeps sweeps;
    struct ks_trials trials;
};

static void analyse(const struct story *s, struct analysis *a)
{
    struct ks_err err = { 0 };

    *a = (struct analysis){ 0 };
    if (ks_sweeps_load(&a->sweeps, s->place->file, &err) < 0)
        fail_msg("%s", err.text);
    ks_sweeps_sort(&a->sweeps);
    assert_int_equal(ks_trials_make(&a->sweeps, LOW, KS_LABEL_OVER, &a->trials, &err), 0);
    assert_int_equal(a->trials.n_contests, 1);
    assert_int_equal(a->trials.n_trials, N);
}

static void release(struct analysis *a)
{
    ks_trials_release(&a->trials);
    ks_sweeps_release(&a->sweeps);
}

static uint64_t oracle_label(const struct analysis *a)
{
    struct ks_oracle o;
    uint64_t label;

    assert_int_equal(ks_oracle_make(&a->trials, 1, KS_LABEL_OVER, 0.005, &o, NULL), 0);
    label = a->sweeps.instances[o.chances[o.answers[0].first].instance].id;
    ks_oracle_release(&o);
    return label;
}

static uint32_t count_rounds(const struct analysis *a, uint32_t instance)
{
    uint32_t n = 0;

    for (size_t i = 0; i < a->sweeps.n_rounds; i++)
        n += a->sweeps.rounds[i].instance == instance;
    return n;
}

static void near(double got, double want, double relative)
{
    if (!(fabs(got / want - 1) <= relative))
        fail_msg("%.9g is not within %.3g of %.9g", got, relative, want);
}

/* ---- cut visits ---- */

static const double first_ns[] = { 1000, 1008, 1300 }, visit_ns[] = { 1010, 1015, 1310 },
                    slow_ns[] = { 1500, 1400, 1400 };

static void same_row(const struct ks_row *a, const struct ks_row *b)
{
    assert_int_equal(a->n_rounds, b->n_rounds);
    assert_int_equal(a->n_samples, b->n_samples);
    same_f32(a->rounds_time_ns, b->rounds_time_ns);
    same_f32(a->rounds_ci95_lo_ns, b->rounds_ci95_lo_ns);
    same_f32(a->time_median_ns, b->time_median_ns);
}

/* The sweep is drained after some passes of its second visit, which begins with instance 1 and
 * finds it faster than instance 0: all is as if it had not begun. */
static void a_cut_visit_counts_for_nothing(void **state)
{
    struct ks_row want[N];

    (void)state;
    for (uint32_t n_put = 0; n_put < 5; n_put++) {
        struct ks_row got[N];
        struct story s;
        struct analysis a;

        begin(&s);
        put_first(&s, first_ns);
        put_visit(&s, A, 1, visit_ns, 2, 4, 0);
        put_visit(&s, A, 2, slow_ns, 2, n_put, 0);
        end(&s, A, KS_RACE_CUT);
        read_rows(&s, n_put == 0 ? want : got);
        analyse(&s, &a);
        assert_int_equal(s.verdict.next_round, n_put < 4 ? 2 : 3);
        assert_int_equal(s.verdict.label, s.instances[n_put < 4 ? 0 : 1]);
        assert_int_equal(oracle_label(&a), s.verdict.label);
        for (uint32_t i = 0; i < N && n_put > 0 && n_put < 4; i++)
            same_row(&got[i], &want[i]);
        for (uint32_t i = 0; i < N; i++)
            assert_int_equal(count_rounds(&a, i), i == 2 ? 1 : n_put < 4 ? 3 : 5);
        assert_true(n_put < 4 || got[1].n_rounds == 3);
        release(&a);
        forget(&s);
    }
}

/* ---- two devices ---- */

static const double there_ns[] = { 1030, 1000, 1320 };

/* Instance 2 has visits on the first device only. The label's time is of the second one alone. */
static void check_second_device(const struct story *s)
{
    struct ks_row rows[N];
    struct analysis a;

    read_rows(s, rows);
    analyse(s, &a);
    assert_int_equal(s->verdict.label, s->instances[1]);
    assert_int_equal(oracle_label(&a), s->verdict.label);
    for (uint32_t i = 0; i < N; i++) {
        const struct ks_trial *t = &a.trials.trials[i];

        assert_int_equal(t->instance, i);
        assert_int_equal(t->is_contender, i < 2);
        assert_int_equal(t->n_rounds, i < 2 ? 2 : 1);
        assert_int_equal(count_rounds(&a, i), i < 2 ? 5 : 1); /* round 0 is kept, but marked */
        near(exp(t->label), 0.99 * (i < 2 ? there_ns[i] : first_ns[i]), 1e-6);
    }
    for (uint32_t i = 0; i < 2; i++)
        near(rows[i].rounds_time_ns, exp(a.trials.trials[i].label), 1e-6);
    release(&a);
}

/* All rounds on the first device, where the race was given up. */
static void check_first_device(const struct story *s)
{
    struct ks_row rows[N];
    struct analysis a;

    read_rows(s, rows);
    analyse(s, &a);
    assert_int_equal(s->verdict.label, s->instances[0]);
    assert_int_equal(oracle_label(&a), s->verdict.label);
    for (uint32_t i = 0; i < N; i++) {
        assert_int_equal(a.trials.trials[i].n_rounds, 3);
        assert_int_equal(count_rounds(&a, i), 5);
        near(rows[i].rounds_time_ns, exp(a.trials.trials[i].label), 1e-6);
    }
    release(&a);
}

/* Two visits of three instances on one device, which is lost; then others on another device: two of
 * two instances, which decide; one that is cut; one that decides and one that gives nothing clean.
 */
static void one_device_per_problem(void **state)
{
    (void)state;
    for (unsigned how = 0; how < 3; how++) {
        uint64_t device = 0;
        struct story s;

        begin(&s);
        put_first(&s, first_ns);
        put_visit(&s, A, 1, visit_ns, 3, 6, 0);
        put_visit(&s, A, 2, visit_ns, 3, 6, 0);
        ks_race_move(s.race, B);
        put_visit(&s, B, 1, there_ns, 2, how == 1 ? 3 : 4, 0);
        if (how != 1)
            put_visit(&s, B, 2, there_ns, 2, 4, how == 0 ? 0 : KS_FL_CONTAMINATED);
        assert_int_equal(ks_race_visited_device(s.race, &device, NULL), 0);
        assert_int_equal(device, A);
        end(&s, how == 0 ? B : device, how == 0 ? KS_RACE_TIED : KS_RACE_NOISY);
        if (how == 0)
            check_second_device(&s);
        else
            check_first_device(&s);
        forget(&s);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_cut_visit_counts_for_nothing),
        cmocka_unit_test(one_device_per_problem),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
