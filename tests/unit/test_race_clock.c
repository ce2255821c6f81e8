/* SPDX-License-Identifier: MIT */
/* test_race_clock.c - rounds at clocks that differ are not paired */
#include "race_kit.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

/* A visit at the given clocks. */
static void add_visit_at(struct ks_race *race, uint32_t round, const double *ns, const double *mhz)
{
    for (uint32_t position = 0; position < 4; position++) {
        const uint32_t i = position == 0 || position == 3 ? 0 : 1;
        struct ks_race_seen s = race_kit_seen(i + 1, round, position, ns[i]);

        s.n_visit = 2;
        s.clock_mhz = mhz[i];
        race_kit_add(race, s);
    }
}

/* The first instance needs more power: its clock is lower in all rounds. Rounds in which one of the
 * two was throttled, and not the other, say nothing of their difference. */
static void clocks_that_differ_are_not_paired(void **state)
{
    static const double first[] = { 1000, 1005 }, apart[] = { 1000, 1050 }, near[] = { 1000, 1005 };
    static const double usual[] = { 1400, 1755 }, both[] = { 1120, 1404 }, one[] = { 1400, 1404 };
    static const double almost[] = { 1400, 1705 }, unknown[] = { 0, 0 };
    static const struct {
        const double *mhz[3]; /* of rounds 1 to 3 */
        uint32_t n_paired, freedom;
    } t[] = {
        { { usual, usual, usual }, 3, 2 },   { { usual, usual, one }, 2, 1 },
        { { one, usual, usual }, 2, 1 },     { { usual, both, usual }, 3, 0 },
        { { usual, almost, usual }, 3, 2 },  { { unknown, unknown, unknown }, 3, 2 },
        { { usual, usual, unknown }, 3, 2 },
    };
    struct ks_race_config c = race_kit_config();

    (void)state;
    for (size_t i = 0; i < sizeof(t) / sizeof(t[0]); i++) {
        struct ks_race *race = race_kit_create(&c);
        struct ks_race_verdict v;
        double mean = 0;

        race_kit_add_first(race, first, 2);
        for (uint32_t r = 1; r <= 3; r++) {
            const bool is_one = t[i].mhz[r - 1] == one;

            add_visit_at(race, r, is_one ? apart : near, t[i].mhz[r - 1]);
            mean += is_one ? 0 : log(near[1] / near[0]) / t[i].n_paired;
        }
        v = race_kit_judge(race);
        assert_int_equal(v.n_contenders, 2);
        race_kit_near(race_kit_member(race, 2).ratio, exp(mean), 1e-12);
        assert_int_equal(v.spread.paired.freedom, t[i].freedom);
        ks_race_destroy(race);
    }
}

/* Where no round can be paired, visits drop nobody: round 0 was on two devices, and says nothing.
 */
static void nothing_paired_drops_nobody(void **state)
{
    static const double ns[] = { 1000, 1300 };
    static const double mhz[2][2] = { { 1400, 1755 }, { 1400, 1404 } };
    struct ks_race_config c = race_kit_config();
    struct ks_race *race = race_kit_create(&c);
    struct ks_race_seen s = race_kit_seen(2, 0, 1, ns[1]);

    (void)state;
    s.device_id = 2;
    race_kit_add(race, race_kit_seen(1, 0, 0, ns[0]));
    race_kit_add(race, s);
    for (uint32_t r = 1; r <= 2; r++)
        add_visit_at(race, r, ns, mhz[r - 1]);
    assert_int_equal(race_kit_judge(race).n_contenders, 2);
    ks_race_destroy(race);
}

/* Round 1 is at a lower clock of one instance, which shows only when its usual clock is known,
 * after round 3. What is left of rounds 1 and 2 would then drop it after round 2; rounds 2 and 3 do
 * not. */
static void no_round_drops_in_hindsight(void **state)
{
    static const double first[] = { 1000, 1000 };
    static const double ns[4][2] = { { 1000, 970 }, { 1000, 1050 }, { 1000, 970 }, { 1000, 985 } };
    static const double mhz[4][2] = {
        { 1400, 1666 }, { 1400, 1755 }, { 1400, 1755 }, { 1400, 1755 }
    };
    struct ks_race_config c = race_kit_config();
    struct ks_race *race = race_kit_create(&c);

    (void)state;
    race_kit_add_first(race, first, 2);
    for (uint32_t r = 1; r <= 4; r++) {
        add_visit_at(race, r, ns[r - 1], mhz[r - 1]);
        assert_int_equal(race_kit_judge(race).n_contenders, 2);
    }
    race_kit_near(race_kit_member(race, 2).ratio, cbrt(1.05 * 0.97 * 0.985), 1e-9); /* without 1 */
    ks_race_destroy(race);
}

/* An instance that was dropped by a round at an unusual clock contends again once that is known. */
static void an_unusual_round_is_withdrawn(void **state)
{
    static const double first[] = { 1000, 1000 };
    static const double mhz[2][2] = { { 1400, 1666 }, { 1400, 1755 } };
    struct ks_race_config c = race_kit_config();
    struct ks_race *race = race_kit_create(&c);

    (void)state;
    race_kit_add_first(race, first, 2);
    add_visit_at(race, 1, (const double[]){ 1000, 1060 }, mhz[0]);
    assert_int_equal(race_kit_judge(race).n_contenders, 1);
    for (uint32_t r = 2; r <= 3; r++)
        add_visit_at(race, r, (const double[]){ 1000, 1000 }, mhz[1]);
    assert_int_equal(race_kit_judge(race).n_contenders, 2);
    ks_race_destroy(race);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(clocks_that_differ_are_not_paired),
        cmocka_unit_test(nothing_paired_drops_nobody),
        cmocka_unit_test(no_round_drops_in_hindsight),
        cmocka_unit_test(an_unusual_round_is_withdrawn),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
