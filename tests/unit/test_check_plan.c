/* SPDX-License-Identifier: MIT */
/* test_check_plan.c - which samples are checked: in virtual time, with costs that are prescribed */
#include "worker/check_plan.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

static void count_places(const struct ks_plan *p, uint32_t n_out[KS_CHECK_KINDS])
{
    memset(n_out, 0, KS_CHECK_KINDS * sizeof(*n_out));
    for (uint32_t i = 0; i < p->n_places; i++)
        n_out[p->kind[i]]++;
}

static const struct {
    uint32_t horizon, n_verified, n_fresh, n_placebo;
} place_rows[] = {
    { 1, 1, 0, 0 }, { 2, 1, 1, 0 }, { 3, 2, 1, 0 }, { 4, 3, 1, 0 },   { 5, 3, 1, 1 },
    { 6, 3, 2, 1 }, { 7, 3, 2, 2 }, { 8, 3, 2, 2 }, { 500, 3, 2, 2 },
};

/* Distinct places below the horizon, in order, whatever the seed; the first has new inputs. */
static void test_places(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof(place_rows) / sizeof(place_rows[0]); i++)
        for (uint64_t seed = 1; seed < 200; seed++) {
            uint32_t n[KS_CHECK_KINDS];
            struct ks_plan p;

            ks_plan_init(&p, seed);
            ks_plan_place(&p, place_rows[i].horizon);
            count_places(&p, n);
            assert_int_equal(n[KS_CHECK_VERIFIED], place_rows[i].n_verified);
            assert_int_equal(n[KS_CHECK_FRESH], place_rows[i].n_fresh);
            assert_int_equal(n[KS_CHECK_PLACEBO], place_rows[i].n_placebo);
            assert_int_equal(p.kind[0], KS_CHECK_VERIFIED);
            assert_true(p.place[p.n_places - 1] < place_rows[i].horizon);
            for (uint32_t k = 1; k < p.n_places; k++)
                assert_true(p.place[k - 1] < p.place[k]);
        }
}

/* A visit has one verified sample, anywhere, or none, and nothing else. */
static void test_visit(void **state)
{
    uint32_t n_places[8] = { 0 };

    (void)state;
    for (uint64_t seed = 1; seed < 400; seed++) {
        struct ks_check single;
        struct ks_plan p;
        uint32_t n_checked = 0, most;
        const bool is_verified = seed % 2;

        ks_plan_init(&p, seed);
        ks_plan_visit(&p, is_verified);
        for (uint32_t i = 0; i < 5; i++)
            assert_int_equal(ks_plan_warm(&p, i, 1e9).kind, KS_CHECK_NONE);
        ks_plan_place(&p, 8);
        for (uint32_t i = 0; i < 8; i++) {
            struct ks_check c = ks_plan_next(&p, i, 1e9, false, &most);

            assert_true(c.kind == KS_CHECK_NONE ? !c.is_looked_at : c.kind == KS_CHECK_VERIFIED);
            n_checked += c.kind != KS_CHECK_NONE;
            n_places[i] += c.kind != KS_CHECK_NONE;
        }
        assert_int_equal(n_checked, is_verified);
        assert_true(ks_plan_is_done(&p));
        assert_false(ks_plan_single(&p, 1e9, true, &single));
    }
    for (uint32_t i = 0; i < 8; i++)
        assert_true(n_places[i] > 5);
}

/* Nobody who does not know the seed can tell where they are. */
static void test_places_are_everywhere(void **state)
{
    uint32_t n[50] = { 0 };

    (void)state;
    for (uint64_t seed = 1; seed <= 5000; seed++) {
        struct ks_plan p;

        ks_plan_init(&p, seed);
        ks_plan_place(&p, 50);
        for (uint32_t i = 0; i < p.n_places; i++)
            n[p.place[i]]++;
    }
    for (uint32_t i = 0; i < 50; i++)
        assert_in_range(n[i], 700 - 150, 700 + 150); /* 7 of 50, 5000 times; 6 deviations */
}

/* Of samples in chunks none is asked for beyond the next place; of some kinds only one. */
static void test_chunks_end_at_places(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed < 100; seed++) {
        struct ks_plan p;
        uint32_t n = 0;

        ks_plan_init(&p, seed);
        p.n_verified = 2;
        ks_plan_place(&p, 100);
        while (!ks_plan_is_done(&p)) {
            uint32_t i_place = p.i_place, most = 0;
            struct ks_check c = ks_plan_next(&p, n, 1e6, false, &most);

            assert_true(most >= 1);
            if (n == p.place[i_place])
                assert_int_equal(c.kind, p.kind[i_place]);
            if (c.kind == KS_CHECK_VERIFIED || c.kind == KS_CHECK_PLACEBO)
                assert_int_equal(most, 1);
            n += most < 64 ? most : 64;
            if (!ks_plan_is_done(&p))
                assert_true(n <= p.place[p.i_place]);
        }
    }
}

/* When the time is over, what is missing comes at once, and nothing else. */
static void test_what_is_missing(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed < 50; seed++) {
        uint32_t n[KS_CHECK_KINDS] = { 0 }, most = 0;
        struct ks_check c;
        struct ks_plan p;

        ks_plan_init(&p, seed);
        p.n_verified = 2;
        ks_plan_place(&p, 500);
        for (uint32_t i = 0; i < KS_PLACES; i++) {
            assert_false(ks_plan_is_done(&p));
            n[ks_plan_next(&p, 0, 1e6, true, &most).kind]++;
            assert_int_equal(most, 1);
        }
        assert_true(ks_plan_is_done(&p));
        assert_true(n[KS_CHECK_VERIFIED] == 3 && n[KS_CHECK_FRESH] == 2);
        memset(n, 0, sizeof(n));
        while (ks_plan_single(&p, 20e3, true, &c))
            n[c.kind]++;
        assert_true(n[KS_CHECK_VERIFIED] >= KS_SINGLES && n[KS_CHECK_PLACEBO] >= KS_SINGLES);
        assert_true(n[KS_CHECK_VERIFIED] + n[KS_CHECK_PLACEBO] <= 3 * KS_SINGLES);
    }
}

static const struct {
    double unit_ns, look_ns, placebo_ns, fresh_ns, verified_ns;
    double most_share;                   /* of the time of samples that checks may take */
    double least_fresh, most_fresh;      /* share of the samples */
    double least_verified, least_looked; /* of all kinds */
} share_rows[] = {
    /* A kernel of milliseconds on megabytes: inputs alternate at nearly every sample. */
    { 2e6, 11e3, 55e3, 55e3, 240e3, 0.06, 0.85, 1.0, 0.05, 0.99 },
    /* One that takes as long as its checks: a few of them. */
    { 100e3, 30e3, 100e3, 100e3, 500e3, 0.09, 0.02, 0.06, 0.001, 0.05 },
    /* Many calls a sample, on kilobytes. */
    { 20e3, 0.3e3, 0.8e3, 0.8e3, 1.5e3, 0.06, 0.8, 1.0, 0.05, 0.99 },
    /* Checks on a device whose host looks at copies: hardly any. */
    { 4e6, 40e6, 90e6, 90e6, 200e6, 0.09, 0.0, 0.01, 0.0, 0.0 },
};

/* In the long run: a share of the time, of which cheap checks take all that they can use. */
static void test_shares(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof(share_rows) / sizeof(share_rows[0]); i++) {
        const double cost[KS_CHECK_KINDS] = { share_rows[i].look_ns, share_rows[i].placebo_ns,
                                              share_rows[i].fresh_ns, share_rows[i].verified_ns };
        const uint32_t n_samples = 20000;
        uint32_t n[KS_CHECK_KINDS] = { 0 }, n_looked = 0, most = 0;
        double spent = 0.0;
        struct ks_plan p;

        ks_plan_init(&p, 77 + i);
        p.n_verified = 2;
        for (uint32_t k = 0; k < KS_CHECK_KINDS; k++) {
            const struct ks_check seen = { .kind = k, .is_looked_at = true };

            ks_plan_note(&p, &seen, cost[k]);
        }
        for (uint32_t k = 0; k < n_samples; k++) {
            struct ks_check c = ks_plan_next(&p, k, share_rows[i].unit_ns, false, &most);
            double ns = c.kind == KS_CHECK_NONE && !c.is_looked_at ? 0.0 : cost[c.kind];

            n[c.kind]++;
            n_looked += c.is_looked_at;
            spent += ns;
            ks_plan_note(&p, &c, ns);
        }
        assert_true(spent <= share_rows[i].most_share * n_samples * share_rows[i].unit_ns);
        assert_true(n[KS_CHECK_FRESH] >= share_rows[i].least_fresh * n_samples);
        assert_true(n[KS_CHECK_FRESH] <= share_rows[i].most_fresh * n_samples);
        assert_true(n[KS_CHECK_VERIFIED] >= share_rows[i].least_verified * n_samples);
        assert_true(n[KS_CHECK_VERIFIED] <= n_samples / 15);
        assert_true(n_looked >= share_rows[i].least_looked * n_samples);
    }
}

/* Inputs are only exchanged where there are two sets that were verified. */
static void test_two_sets_first(void **state)
{
    uint32_t most = 0;

    (void)state;
    for (uint64_t seed = 1; seed < 100; seed++) {
        struct ks_plan p;

        ks_plan_init(&p, seed);
        for (uint32_t i = 0; i < 200; i++) {
            uint32_t n_before = p.n_verified;
            struct ks_check c = ks_plan_next(&p, i, 1e6, false, &most);

            if (c.kind == KS_CHECK_FRESH)
                assert_true(n_before >= 2);
        }
        ks_plan_init(&p, seed);
        assert_int_equal(ks_plan_warm(&p, 0, 0.0).kind, KS_CHECK_VERIFIED);
        assert_int_equal(ks_plan_warm(&p, 1, 0.0).kind, KS_CHECK_VERIFIED);
        assert_int_equal(ks_plan_warm(&p, 2, 0.0).kind, KS_CHECK_FRESH);
    }
}

/* A cost is the mean of the last ones; a sample that was not checked says nothing of it. */
static void test_costs(void **state)
{
    const struct ks_check look = { .kind = KS_CHECK_NONE, .is_looked_at = true };
    const struct ks_check none = { .kind = KS_CHECK_NONE };
    struct ks_plan p;

    (void)state;
    ks_plan_init(&p, 1);
    ks_plan_note(&p, &none, 5e9);
    assert_true(p.cost_ns[KS_CHECK_NONE] == 0.0);
    ks_plan_note(&p, &look, 1000.0);
    assert_true(p.cost_ns[KS_CHECK_NONE] == 1000.0);
    ks_plan_note(&p, &look, 2000.0);
    assert_true(p.cost_ns[KS_CHECK_NONE] > 1000.0 && p.cost_ns[KS_CHECK_NONE] < 2000.0);
    for (int i = 0; i < 100; i++)
        ks_plan_note(&p, &look, 2000.0);
    assert_true(p.cost_ns[KS_CHECK_NONE] > 1999.0);
    assert_true(p.cost_ns[KS_CHECK_FRESH] == 0.0);
}

/* One check that was interrupted for 10 ms: those after it are hardly rarer. */
static void test_interrupted_check(void **state)
{
    const struct ks_check fresh = { .kind = KS_CHECK_FRESH, .is_looked_at = true };
    uint32_t n_fresh = 0, most = 0;
    struct ks_plan p;

    (void)state;
    ks_plan_init(&p, 5);
    p.n_verified = 2;
    for (uint32_t k = 0; k < KS_CHECK_KINDS; k++) {
        const struct ks_check seen = { .kind = k, .is_looked_at = true };

        ks_plan_note(&p, &seen, 10e3);
    }
    ks_plan_note(&p, &fresh, 10e6);
    for (uint32_t i = 0; i < 200; i++) {
        struct ks_check c = ks_plan_next(&p, i, 100e3, false, &most);

        n_fresh += c.kind == KS_CHECK_FRESH;
        ks_plan_note(&p, &c, 10e3);
    }
    assert_true(n_fresh > 50); /* of 100 - some that are verified */
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_places),
        cmocka_unit_test(test_visit),
        cmocka_unit_test(test_places_are_everywhere),
        cmocka_unit_test(test_chunks_end_at_places),
        cmocka_unit_test(test_what_is_missing),
        cmocka_unit_test(test_shares),
        cmocka_unit_test(test_two_sets_first),
        cmocka_unit_test(test_costs),
        cmocka_unit_test(test_interrupted_check),
    };

    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests_name("check_plan", tests, NULL, NULL);
}
