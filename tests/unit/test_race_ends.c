/* SPDX-License-Identifier: MIT */
/* test_race_ends.c - why races end, and visits that give nothing. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
/* cmocka.h wants the four above first. */
#include <cmocka.h>

#include "race/race.h"
#include "tests/unit/race_kit.h"

#include <math.h>

static void stops_say_why(void **state)
{
    static const double equal[] = { 1000, 1000 };
    struct ks_race_config c = race_kit_config();
    struct ks_race *race;
    struct ks_race_verdict v;

    (void)state;
    c.prior.paired_sd = 1e-4; /* zero variance as good as measured */
    race = race_kit_create(&c);
    race_kit_add_first(race, equal, 2);
    assert_int_equal(race_kit_judge(race).stop, KS_RACE_OPEN);
    race_kit_add_visit(race, 1, equal, 2);
    v = race_kit_judge(race);
    assert_int_equal(v.stop, KS_RACE_TIED);
    assert_int_equal(v.label, 1); /* of equals the lower id */
    assert_int_equal(v.expected_ns, 0);
    assert_int_equal(v.spent_ns, 4 * 10000);
    /* two equals: E max(0, d) = sd / sqrt(2 pi), sd = 1e-4 sqrt 2 */
    race_kit_near(v.regret_bound, expm1(1e-4 * sqrt(2) / sqrt(2 * acos(-1))), 1e-5);
    ks_race_destroy(race);

    c.prior.paired_sd = 0.004; /* two visits: sd 0.004, expected regret 0.16 % */
    race = race_kit_create(&c);
    race_kit_add_first(race, equal, 2);
    race_kit_add_visit(race, 1, equal, 2); /* 0.2257 %, but one visit is not enough */
    assert_int_equal(race_kit_judge(race).stop, KS_RACE_OPEN);
    race_kit_add_visit(race, 2, equal, 2);
    v = race_kit_judge(race);
    assert_int_equal(v.stop, KS_RACE_REGRET);
    race_kit_near(v.regret_bound, expm1(0.004 / sqrt(2 * acos(-1))), 1e-5);
    assert_int_equal(v.n_rounds, 3);
    ks_race_destroy(race);

    c.prior.paired_sd = 0.1;
    c.max_rounds = 3;
    race = race_kit_create(&c);
    race_kit_add_first(race, equal, 2);
    race_kit_add_visit(race, 1, equal, 2);
    assert_int_equal(race_kit_judge(race).stop, KS_RACE_OPEN);
    race_kit_add_visit(race, 2, equal, 2);
    assert_int_equal(race_kit_judge(race).stop, KS_RACE_ROUNDS);
    ks_race_destroy(race);

    c.max_time_ns = 40000;
    race = race_kit_create(&c);
    race_kit_add_first(race, equal, 2);
    race_kit_add_visit(race, 1, equal, 2);
    assert_int_equal(race_kit_judge(race).stop, KS_RACE_TIME);
    ks_race_destroy(race);
    assert_string_equal(ks_race_stop_text(KS_RACE_CUT), "cut");
    assert_string_equal(ks_race_stop_text(99), "?");
}

/* One contender is left, but the pilots wait: a limit ends the race, and is not the reason. */
static void limits_do_not_hide_why(void **state)
{
    static const double first[] = { 2000, 1000, 2000, 2000 }, visit[] = { 2000, 1000, 0, 0 };

    (void)state;
    for (uint32_t is_time = 0; is_time < 2; is_time++) {
        struct ks_race_config c = race_kit_config();
        struct ks_race *race;

        c.n_pilots = 2;
        c.max_rounds = is_time ? 10 : 2;
        c.max_time_ns = is_time ? 1 : 0;
        race = race_kit_create(&c);
        race_kit_add_first(race, first, 4);
        assert_int_equal(race_kit_judge(race).stop, KS_RACE_OPEN);
        assert_int_equal(race_kit_judge(race).settled, KS_RACE_ALONE);
        race_kit_add_visit(race, 1, visit, 2);
        assert_int_equal(race_kit_judge(race).stop, KS_RACE_ALONE);
        ks_race_destroy(race);
    }
}

/* A visit of the instances 1 and 2 in their order 1 2 2 1, or the first n of its observations. */
static void add_part(struct ks_race *race, uint32_t round, uint64_t lease, uint32_t n,
                     uint32_t flags)
{
    for (uint32_t k = 0; k < n; k++) {
        struct ks_race_seen s = race_kit_seen(k % 3 ? 2 : 1, round, k, 1000);

        s.lease_id = lease;
        s.n_visit = 2;
        s.flags = flags;
        race_kit_add(race, s);
    }
}

/* One that is closed and clean makes those before it forgotten; another device has its own. The
 * numbers of leases are no order. */
static void futile_visits_are_counted(void **state)
{
    static const double equal[] = { 1000, 1000 };
    static const struct {
        uint32_t round;
        uint64_t lease;
        uint32_t n, flags, want;
    } visits[] = {
        { 1, 90, 4, KS_FL_CONTAMINATED, 1 }, /* closed */
        { 2, 80, 3, 0, 2 },                  /* its worker died */
        { 2, 70, 4, 0, 0 },
        { 3, 60, 1, 0, 1 },
        { 3, 65, 4, KS_FL_SUSPECT, 2 },
        { 4, 50, 4, KS_FL_CONTAMINATED, 3 },
    };
    struct ks_race_config c = race_kit_config();
    struct ks_race *race = race_kit_create(&c);

    (void)state;
    race_kit_add_first(race, equal, 2);
    assert_int_equal(race_kit_judge(race).n_futile, 0);
    for (size_t i = 0; i < sizeof(visits) / sizeof(visits[0]); i++) {
        add_part(race, visits[i].round, visits[i].lease, visits[i].n, visits[i].flags);
        assert_int_equal(race_kit_judge(race).n_futile, visits[i].want);
    }
    ks_race_move(race, 2);
    assert_int_equal(race_kit_judge(race).n_futile, 0);
    ks_race_destroy(race);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(stops_say_why),
        cmocka_unit_test(limits_do_not_hide_why),
        cmocka_unit_test(futile_visits_are_counted),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
