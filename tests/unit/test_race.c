/* SPDX-License-Identifier: MIT */
/* test_race.c - races: small cases worked out by hand, failures, contamination, edges */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
/* cmocka.h wants the four above first. */
#include <cmocka.h>

#include "race/race.h"
#include "tests/unit/fault.h"
#include "tests/unit/race_kit.h"

#include <float.h>
#include <math.h>

/* --- decisions */

/* Three instances, spreads of 1 %, alpha 0.05: after round 0 each of two rivals has
 * 0.025 x 6 / pi^2 = 0.0152, z = 2.1650: dropped from exp(2.1650 x 0.01 sqrt 2) = 1.0311 on. */
static void round_0_drops_by_hand(void **state)
{
    static const double inside[] = { 1000, 1030.9, 1031.5 };
    struct ks_race_config c = race_kit_config();
    struct ks_race *race;
    struct ks_race_verdict v;
    uint64_t wanted[4];

    (void)state;
    c.margin = 0; /* else 1 and 2 are tied: 2 is better by 0.02 % at most */
    race = race_kit_create(&c);
    race_kit_add_first(race, inside, 3);
    v = race_kit_judge(race);
    assert_int_equal(v.stop, KS_RACE_OPEN);
    assert_int_equal(v.next_round, 1);
    assert_int_equal(v.n_contenders, 2);
    assert_int_equal(v.label, 1);
    race_kit_near(v.time_ns, 1000, 1e-12);
    race_kit_near(v.hi_ns, 1000 * exp(1.95996 * 0.02 * sqrt(1.28)), 1e-5);
    race_kit_near(v.lo_ns, 1000 * exp(-1.95996 * 0.02 * sqrt(1.28)), 1e-5);
    assert_int_equal(v.spent_ns, 0);
    assert_int_equal(race_kit_member(race, 2).state, KS_RACE_CONTENDS);
    race_kit_near(race_kit_member(race, 2).ratio, 1.0309, 1e-9);
    assert_int_equal(race_kit_member(race, 3).state, KS_RACE_DROPPED);
    assert_int_equal(race_kit_member(race, 3).dropped_round, 0);
    assert_int_equal(race_kit_member(race, 3).dropped_by, 1);
    assert_int_equal(ks_race_wanted(race, NULL, 0), 4);
    assert_int_equal(ks_race_wanted(race, wanted, 4), 4);
    assert_int_equal(wanted[0], wanted[3]); /* A B B A */
    assert_int_equal(wanted[1], wanted[2]);
    assert_int_equal(wanted[0] + wanted[1], 3);
    assert_int_equal(v.expected_ns, 2 * (10000 + 10309)); /* two passes, each like round 0 */
    ks_race_destroy(race);
}

/* A visit that cannot have all has the fastest; whoever was left out follows who is dropped. */
static void visits_have_the_fastest(void **state)
{
    static const double first[] = { 1000, 1010, 1005, 1020 }, visit[] = { 1000, 0, 1100, 0 };
    struct ks_race_config c = race_kit_config();
    struct ks_race *race;
    uint64_t wanted[4];

    (void)state;
    c.max_visit = 2;
    race = race_kit_create(&c);
    race_kit_add_first(race, first, 4);
    assert_int_equal(race_kit_judge(race).n_contenders, 4);
    assert_int_equal(ks_race_wanted(race, wanted, 4), 4);
    assert_true(wanted[0] + wanted[1] == 4 && wanted[0] != 2); /* 1 and 3 */
    race_kit_add_visit(race, 1, visit, 4);
    assert_int_equal(race_kit_judge(race).n_contenders, 3);
    assert_int_equal(ks_race_wanted(race, wanted, 4), 4);
    assert_int_equal(wanted[0] + wanted[1], 3); /* 1 and 2 */
    ks_race_destroy(race);
}

/* Two instances. After visit r: alpha_r = 0.05 x 6 / pi^2 / (r + 1)^2: 0.0075991, z = 2.4272 for
 * r = 1, 0.0033774, z = 2.7087 for r = 2; the mean of r differences has sd 0.01 sqrt(2 / r). */
static void visits_drop_by_hand(void **state)
{
    static const double first[] = { 1000, 1010 };
    double near_1[] = { 1000, 1000 * exp(0.0342) }, near_2[] = { 1000, 1000 * exp(0.0198) };
    double far_2[] = { 1000, 1000 * exp(0.0204) };
    struct ks_race_config c = race_kit_config();
    struct ks_race *race = race_kit_create(&c);

    (void)state;
    race_kit_add_first(race, first, 2);
    race_kit_add_visit(race, 1, near_1, 2);
    assert_int_equal(race_kit_judge(race).n_contenders, 2);
    race_kit_add_visit(race, 2, near_2, 2); /* mean 0.0270 < 2.7087 x 0.01 */
    assert_int_equal(race_kit_judge(race).n_contenders, 2);
    ks_race_destroy(race);

    race = race_kit_create(&c);
    race_kit_add_first(race, first, 2);
    race_kit_add_visit(race, 1, near_1, 2);
    race_kit_add_visit(race, 2, far_2, 2); /* mean 0.0273 */
    assert_int_equal(race_kit_judge(race).stop, KS_RACE_ALONE);
    assert_int_equal(race_kit_member(race, 2).dropped_round, 2);
    assert_int_equal(ks_race_wanted(race, NULL, 0), 0);
    ks_race_destroy(race);
}

/* Drift that is linear over A B C C B A cancels: nobody is dropped however steep it is. */
static void drift_cancels(void **state)
{
    struct ks_race_config c = race_kit_config();
    struct ks_race *race = race_kit_create(&c);
    static const double equal[] = { 1000, 1000, 1000 };

    (void)state;
    race_kit_add_first(race, equal, 3);
    (void)race_kit_judge(race);
    for (uint32_t k = 0; k < 6; k++) {
        struct ks_race_seen s = race_kit_seen(k < 3 ? k + 1 : 6 - k, 1, k, 1000 * exp(0.1 * k));

        s.n_visit = 3;
        race_kit_add(race, s);
    }
    assert_int_equal(race_kit_judge(race).n_contenders, 3);
    assert_int_equal(race_kit_judge(race).next_round, 2);
    race_kit_near(race_kit_member(race, 3).ratio, 1, 1e-12);
    ks_race_destroy(race);
}

/* All attempts at round 0 were disturbed: the least disturbed one counts, and the visits, which
 * joined the last. */
static void the_rounds_that_count(void **state)
{
    struct ks_race_config c = race_kit_config();
    struct ks_race *race = race_kit_create(&c);

    (void)state;
    for (uint32_t attempt = 3; attempt > 0; attempt--) {
        struct ks_race_seen s = race_kit_seen(1, 0, 0, 1000 * attempt);

        s.attempt = attempt;
        s.flags = KS_FL_CONTAMINATED;
        s.disturbance = attempt == 1 ? 1 : 9 - attempt;
        race_kit_add(race, s);
    }
    race_kit_near(race_kit_judge(race).time_ns, 1000, 1e-12);
    for (uint32_t position = 0; position < 2; position++) {
        struct ks_race_seen s = race_kit_seen(1, 1, position, 1010);

        s.attempt = 3;
        race_kit_add(race, s);
    }
    race_kit_near(race_kit_judge(race).time_ns, 1010, 1e-12);
    assert_int_equal(race_kit_judge(race).n_rounds, 1);
    ks_race_destroy(race);
}

/* The label of rounds 1000, 1100, 1050, 1060: median and minimum. */
static void the_label_is_over_rounds(void **state)
{
    static const double rounds[] = { 1000, 1100, 1050, 1060 };

    (void)state;
    for (uint32_t over = 0; over < 2; over++) {
        struct ks_race_config c = race_kit_config();
        struct ks_race *race;
        struct ks_race_verdict v;

        c.over = over;
        race = race_kit_create(&c);
        race_kit_add(race, race_kit_seen(7, 0, 0, rounds[0]));
        for (uint32_t r = 1; r < 4; r++) {
            race_kit_add(race, race_kit_seen(7, r, 0, rounds[r]));
            race_kit_add(race, race_kit_seen(7, r, 1, rounds[r]));
        }
        v = race_kit_judge(race);
        assert_int_equal(v.stop, KS_RACE_ALONE);
        assert_int_equal(v.n_rounds, 4);
        race_kit_near(v.time_ns, over == KS_RACE_MINIMUM ? 1000 : sqrt(1050 * 1060.0), 1e-12);
        race_kit_near(log(v.hi_ns / v.time_ns),
                      1.95996 * 0.02 * sqrt(0.28 + (over == KS_RACE_MINIMUM ? 0.25 : 0.2982)),
                      1e-5);
        ks_race_destroy(race);
    }
}

/* --- failures, contamination, devices */

static void a_failure_withdraws(void **state)
{
    static const double first[] = { 1000, 1050, 1060 };
    struct ks_race_config c = race_kit_config();
    struct ks_race *race = race_kit_create(&c);
    struct ks_race_seen s = race_kit_seen(1, 1, 0, 0);
    struct ks_race_verdict v;

    (void)state;
    race_kit_add_first(race, first, 3);
    v = race_kit_judge(race);
    assert_int_equal(v.stop, KS_RACE_ALONE); /* 1 drops 2 and 3 */
    s.outcome = KS_O_CRASHED;
    race_kit_add(race, s);
    v = race_kit_judge(race);
    assert_int_equal(v.label, 2);
    assert_int_equal(v.n_contenders, 2);
    assert_int_equal(race_kit_member(race, 1).state, KS_RACE_WITHDRAWN);
    /* a later attempt brings it back, but not with the times of the failed one */
    s = race_kit_seen(1, 0, 0, 1055);
    s.attempt = 2;
    race_kit_add(race, s);
    v = race_kit_judge(race);
    assert_int_equal(v.n_contenders, 3);
    assert_int_equal(v.label, 2);
    /* all fail */
    for (uint64_t i = 1; i <= 3; i++) {
        s = race_kit_seen(i, 0, 0, 0);
        s.attempt = 3;
        s.outcome = KS_O_WRONG_RESULT;
        race_kit_add(race, s);
    }
    v = race_kit_judge(race);
    assert_int_equal(v.stop, KS_RACE_ALONE);
    assert_int_equal(v.n_contenders, 0);
    assert_true(v.time_ns == 0);
    ks_race_destroy(race);
}

static void contamination_drops_nobody(void **state)
{
    static const double first[] = { 1000, 1000, 1000 };
    struct ks_race_config c = race_kit_config();
    struct ks_race *race = race_kit_create(&c);
    struct ks_race_seen s;

    (void)state;
    race_kit_add_first(race, first, 3);
    for (uint32_t k = 0; k < 6; k++) { /* 2 looks slow, 3 looks fast; both are flagged */
        uint64_t i = k < 3 ? k + 1 : 6 - k;

        s = race_kit_seen(i, 1, k, i == 1 ? 1000 : i == 2 ? 2000 : 500);
        s.n_visit = 3;
        s.flags = i > 1 ? KS_FL_CONTAMINATED : 0;
        race_kit_add(race, s);
    }
    assert_int_equal(race_kit_judge(race).n_contenders, 3);
    assert_int_equal(race_kit_judge(race).next_round, 2);
    assert_int_equal(race_kit_member(race, 2).n_visits, 0);
    assert_int_equal(race_kit_judge(race).spread.paired.freedom, 0);
    ks_race_destroy(race);

    race =
        race_kit_create(&c); /* so does round 0; its clean second attempt counts, not the third */
    race_kit_add_first(race, first, 2);
    s = race_kit_seen(3, 0, 0, 3000);
    s.flags = KS_FL_SUSPECT;
    race_kit_add(race, s);
    assert_int_equal(race_kit_judge(race).n_contenders, 3);
    s = race_kit_seen(3, 0, 0, 1200);
    s.attempt = 2;
    race_kit_add(race, s);
    s.attempt = 3;
    s.time_ns = 1000;
    s.flags = KS_FL_CONTAMINATED;
    race_kit_add(race, s);
    assert_int_equal(race_kit_judge(race).n_contenders, 2);
    ks_race_destroy(race);
}

static void devices_are_not_mixed(void **state)
{
    static const double equal[] = { 1000, 1000 }, apart[] = { 1000, 1500 };
    struct ks_race_config c = race_kit_config();
    struct ks_race *race = race_kit_create(&c);
    struct ks_race_seen s = race_kit_seen(3, 0, 0, 5000);

    (void)state;
    race_kit_add_first(race, equal, 2);
    s.device_id = 2; /* slower than both, on another device */
    race_kit_add(race, s);
    assert_int_equal(race_kit_judge(race).n_contenders, 3);
    assert_true(race_kit_member(race, 3).ratio == 0);
    race_kit_add_visit(race, 1, apart, 2);
    assert_int_equal(race_kit_member(race, 2).state, KS_RACE_CONTENDS);
    (void)race_kit_judge(race);
    assert_int_equal(race_kit_member(race, 2).state, KS_RACE_DROPPED);
    ks_race_move(race, 2); /* contenders start again */
    assert_int_equal(race_kit_judge(race).n_contenders, 3);
    assert_int_equal(race_kit_judge(race).next_round, 1);
    ks_race_destroy(race);
}

/* A visit whose worker died counts for nothing, a second lease of the round does. */
static void unclosed_visits_do_not_count(void **state)
{
    static const double equal[] = { 1000, 1000 }, apart[] = { 1000, 1500 };
    struct ks_race_config c = race_kit_config();
    struct ks_race *race = race_kit_create(&c);
    struct ks_race_seen s = race_kit_seen(1, 1, 0, 1000);

    (void)state;
    race_kit_add_first(race, equal, 2);
    s.lease_id = 50;
    s.n_visit = 2;
    race_kit_add(race, s);
    s.position = 3;
    race_kit_add(race, s); /* 1 twice, 2 never */
    assert_int_equal(race_kit_judge(race).next_round, 1);
    assert_int_equal(race_kit_judge(race).n_contenders, 2);
    race_kit_add_visit(race, 1, apart, 2);
    assert_int_equal(race_kit_judge(race).next_round, 2);
    assert_int_equal(race_kit_judge(race).n_contenders, 1);
    ks_race_destroy(race);
}

/* The records of a device that turned out bad are added again with the flag. */
static void void_records_are_gone(void **state)
{
    static const double apart[] = { 1000, 1500 };
    struct ks_race_config c = race_kit_config();
    struct ks_race *race = race_kit_create(&c);
    struct ks_race_seen s = race_kit_seen(1, 0, 0, 1000);

    (void)state;
    race_kit_add_first(race, apart, 2);
    assert_int_equal(race_kit_judge(race).label, 1);
    s.flags = KS_FL_VOID;
    race_kit_add(race, s);
    s.flags = 0; /* a copy of the first record, read later */
    race_kit_add(race, s);
    assert_int_equal(race_kit_judge(race).label, 2);
    assert_int_equal(race_kit_member(race, 1).state, KS_RACE_WITHDRAWN);
    ks_race_destroy(race);
}

/* Two pilots among four, of which one is dropped at once: three rounds regardless. */
static void pilots_have_three_rounds(void **state)
{
    static const double first[] = { 2000, 1000, 2000, 2000 };
    double visit[] = { 2020, 1000, 0, 0 }; /* log 1.01 apart from round 0 */
    struct ks_race_config c = race_kit_config();
    struct ks_race *race;
    struct ks_race_verdict v;
    double y = log(1.01);

    (void)state;
    c.n_pilots = 2;
    race = race_kit_create(&c);
    race_kit_add_first(race, first, 4);
    v = race_kit_judge(race);
    assert_int_equal(v.n_contenders, 1);
    assert_int_equal(v.stop, KS_RACE_OPEN);
    assert_int_equal(ks_race_wanted(race, NULL, 0), 4);
    race_kit_add_visit(race, 1, visit, 2);
    v = race_kit_judge(race);
    assert_int_equal(v.stop, KS_RACE_OPEN);
    assert_int_equal(v.spread.first.freedom, 1); /* differences y and 0: y^2 / 2 about their mean */
    race_kit_near((double)v.spread.first.squares * 1e-12, y * y / 2, 1e-6);
    assert_int_equal(v.spread.paired.freedom, 0);
    visit[0] = 2000;
    race_kit_add_visit(race, 2, visit, 2);
    v = race_kit_judge(race);
    assert_int_equal(v.stop, KS_RACE_ALONE);
    assert_int_equal(v.spread.paired.freedom, 1);
    race_kit_near((double)v.spread.paired.squares * 1e-12, y * y / 4, 1e-6);
    assert_int_equal(v.spread.level.freedom, 2); /* y^2 / 2 / 2 each */
    race_kit_near((double)v.spread.level.squares * 1e-12, y * y / 2, 1e-6);
    ks_race_destroy(race);
}

/* All that a first visit shares with round 0 on its device; without pilots, too. */
static void first_visits_tell_the_spread_of_round_0(void **state)
{
    static const double first[] = { 1000, 1005, 1010 }, visit[] = { 1010, 1005, 1010 };
    const double y = log(1.01);
    struct ks_race_config c = race_kit_config();

    (void)state;
    for (c.n_pilots = 0; c.n_pilots <= 3; c.n_pilots += 3) {
        struct ks_race *race = race_kit_create(&c);
        struct ks_race_verdict v;

        race_kit_add_first(race, first, 3);
        race_kit_add_visit(race, 1, visit, 3);
        v = race_kit_judge(race);
        assert_int_equal(v.spread.first.freedom, 2); /* y, 0, 0 about y / 3 */
        race_kit_near((double)v.spread.first.squares * 1e-12, y * y * 6 / 9, 1e-6);
        assert_int_equal(v.spread.level.freedom, 1);
        race_kit_near((double)v.spread.level.squares * 1e-12, y * y / 3 / 2, 1e-6);
        ks_race_destroy(race);
    }
}

/* --- edges */

static void edges_are_no_surprise(void **state)
{
    static const double extremes[] = { DBL_MIN, DBL_MAX, 1000 };
    struct ks_race_config c = race_kit_config();
    struct ks_race *race = race_kit_create(&c);
    struct ks_race_verdict v = race_kit_judge(race); /* nobody */

    (void)state;
    assert_int_equal(v.stop, KS_RACE_ALONE);
    assert_int_equal(v.n_contenders, 0);
    assert_int_equal(ks_race_n_members(race), 0);
    race_kit_add(race, race_kit_seen(1, 0, 0, 1000)); /* one */
    v = race_kit_judge(race);
    assert_int_equal(v.stop, KS_RACE_ALONE);
    assert_int_equal(v.label, 1);
    assert_true(v.regret_bound == 0);
    ks_race_destroy(race);

    race = race_kit_create(&c);
    race_kit_add_first(race, extremes, 3);
    v = race_kit_judge(race);
    assert_int_equal(v.label, 1);
    assert_int_equal(v.n_contenders, 1);
    race_kit_add_visit(race, 63, extremes, 3);
    v = race_kit_judge(race);
    assert_int_equal(v.next_round, 64);
    assert_true(isfinite(v.regret_bound));
    assert_true(v.spread.paired.squares <= 1000000000000000u);
    ks_race_destroy(race);
}

static void nonsense_is_refused(void **state)
{
    struct ks_race_config good = race_kit_config(), c = good;
    struct ks_race *race = NULL;
    struct ks_race_seen ok = race_kit_seen(1, 0, 0, 1000), s = ok;
    struct ks_err err;

    (void)state;
#define REFUSED(field, value)                                                                      \
    c = good;                                                                                      \
    c.field = (value);                                                                             \
    assert_int_equal(ks_race_create(&c, &race, &err), KS_EINVAL);                                  \
    assert_null(race)
    REFUSED(max_rounds, 0);
    REFUSED(max_rounds, 65);
    REFUSED(passes, 0);
    REFUSED(passes, 9);
    REFUSED(alpha, 0);
    REFUSED(alpha, NAN);
    REFUSED(margin, -1);
    REFUSED(regret, INFINITY);
    REFUSED(over, 2);
    REFUSED(prior.paired_sd, 0);
    REFUSED(prior.freedom, 1);
    REFUSED(prior.max_freedom, 3);
#undef REFUSED
    race = race_kit_create(&good);
#define REFUSED(field, value)                                                                      \
    s = ok;                                                                                        \
    s.round = 1;                                                                                   \
    s.field = (value);                                                                             \
    assert_int_equal(ks_race_add(race, &s, &err), KS_EINVAL)
    REFUSED(round, 64);
    REFUSED(outcome, KS_O_NONE);
    REFUSED(outcome, KS_O_LIMIT);
    REFUSED(n_visit, 0);
    REFUSED(n_samples, 0);
    REFUSED(time_ns, 0);
    REFUSED(time_ns, NAN);
    REFUSED(time_ns, INFINITY);
#undef REFUSED
    (void)race_kit_judge(race);
    assert_int_equal(ks_race_n_members(race), 0);
    ks_race_destroy(race);
    ks_race_destroy(NULL);
}

static void no_memory_changes_nothing(void **state)
{
    static const double first[] = { 1000, 1010, 2000 };
    struct ks_race_config c = race_kit_config();
    bool has_failed = true;

    (void)state;
    for (unsigned n = 0; has_failed; n++) {
        struct ks_race *race = NULL;
        struct ks_race_seen s = race_kit_seen(9, 0, 0, 1);
        struct ks_race_verdict v = { .label = 77 };
        struct ks_err err;
        int rc;

        fault_arm(n);
        rc = ks_race_create(&c, &race, &err);
        if (rc == 0 && (rc = ks_race_add(race, &s, &err)) == 0)
            rc = ks_race_decide(race, NULL, &v, &err);
        has_failed = fault_disarm();
        assert_int_equal(rc, has_failed ? KS_ENOMEM : 0);
        assert_int_equal(v.label, has_failed ? 77 : 9);
        if (race)
            race_kit_add_first(race, first, 3); /* still usable */
        if (race)
            assert_int_equal(race_kit_judge(race).n_contenders > 0, 1);
        ks_race_destroy(race);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(round_0_drops_by_hand),
        cmocka_unit_test(visits_have_the_fastest),
        cmocka_unit_test(visits_drop_by_hand),
        cmocka_unit_test(drift_cancels),
        cmocka_unit_test(the_rounds_that_count),
        cmocka_unit_test(the_label_is_over_rounds),
        cmocka_unit_test(a_failure_withdraws),
        cmocka_unit_test(contamination_drops_nobody),
        cmocka_unit_test(devices_are_not_mixed),
        cmocka_unit_test(unclosed_visits_do_not_count),
        cmocka_unit_test(void_records_are_gone),
        cmocka_unit_test(pilots_have_three_rounds),
        cmocka_unit_test(first_visits_tell_the_spread_of_round_0),
        cmocka_unit_test(edges_are_no_surprise),
        cmocka_unit_test(nonsense_is_refused),
        cmocka_unit_test(no_memory_changes_nothing),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
