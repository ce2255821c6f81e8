/* SPDX-License-Identifier: MIT */
/* test_coord_build.c - who compiles and who gets it from whom: simulated ranks, real packs */
#include "coord_bench.h"
#include "mpi/coord_impl.h"
#include "sanitized.h"

#include "base/clock.h"
#include "record/frame.h"

#include <stdlib.h>
#include <string.h>

static struct sim *m;

static int set_up(void **state)
{
    m = sim_allocate(state);
    return m ? 0 : -1;
}

static const uint32_t all_units = (1u << SIM_UNITS) - 1;

/* Ranks with a cache each, on hosts of their own. */
static void open_ranks(uint32_t n, uint32_t n_targets)
{
    const struct sim_plan p = {
        .n_ranks = n, .n_hosts = 1, .has_own_caches = true, .n_targets = n_targets
    };
    sim_open(m, &p, "ok_a ok_b", 60, 1);
    for (uint32_t i = 0; i < n; i++) {
        m->ranks[i].host = i % SIM_HOSTS;
        m->ranks[i].local = i / SIM_HOSTS;
        m->ranks[i].n_local = 1;
    }
    sim_coordinate(m, NULL);
}

static void close_complete(void)
{
    assert_string_equal(ks_coord_reason(m->coord), "complete");
    assert_int_equal(ks_coord_n_pending(m->coord), 0);
    sim_close(m);
}

static void assert_work(uint32_t n_compiled, uint32_t n_fetched)
{
    for (uint32_t u = 0; u < SIM_UNITS; u++) {
        assert_int_equal(m->n_compiled[u], n_compiled);
        assert_int_equal(m->n_fetched[u], n_fetched);
    }
}

static void test_one_of_many(void **state)
{
    (void)state;
    uint32_t most = 0;
    open_ranks(SIM_RANKS, 1);
    while (!ks_coord_is_over(m->coord)) {
        sim_turn(m);
        most = m->coord->n_fetching > most ? m->coord->n_fetching : most;
    }
    assert_work(1, SIM_RANKS - 1);
    assert_int_equal(most, KS_COORD_FETCHING); /* the others wait for their turn */
    close_complete();
}

/* Of three sorts of hosts each compiles for itself. */
static void test_targets(void **state)
{
    (void)state;
    open_ranks(9, 3);
    sim_run(m, 20);
    assert_work(3, 6);
    close_complete();
}

/* What one of them has, nobody compiles; what most is there of, the fewest compile. */
static void test_warm_caches(void **state)
{
    (void)state;
    open_ranks(5, 1);
    m->ranks[3].own_cache = all_units;
    sim_run(m, 20);
    assert_work(0, 4);
    close_complete();

    open_ranks(5, 1);
    m->ranks[2].own_cache = all_units & ~1u;
    sim_run(m, 20);
    assert_null(strstr(ks_buf_text(&m->told), "build 0 1"));
    for (uint32_t u = 0; u < SIM_UNITS; u++)
        assert_true(m->n_compiled[u] == (u == 0) && m->n_fetched[u] == 4);
    close_complete();

    open_ranks(3, 1);
    for (uint32_t i = 0; i < 3; i++)
        m->ranks[i].own_cache = all_units;
    sim_run(m, 20);
    assert_work(0, 0);
    assert_null(strstr(ks_buf_text(&m->told), "build"));
    close_complete();
}

/* It is there, but cannot be read: everybody compiles for himself, once. */
static void test_nothing_can_be_had(void **state)
{
    (void)state;
    open_ranks(4, 1);
    m->ranks[1].own_cache = all_units;
    m->ranks[1].cannot_send = true;
    for (uint32_t i = 0; i < 4; i++)
        m->ranks[i].cannot_send = true;
    sim_run(m, 20);
    assert_work(3, 0);
    close_complete();
}

/* Two ranks whose caches seem to be one: the second is told to look, and then gets it. */
static void test_only_seems_to_be_shared(void **state)
{
    (void)state;
    open_ranks(4, 1);
    for (uint32_t i = 0; i < 4; i++)
        m->ranks[i].seems_shared = true;
    m->ranks[1].own_cache = all_units;
    sim_run(m, 20);
    assert_work(0, 3);
    assert_non_null(strstr(ks_buf_text(&m->told), "build 0 0\n"));
    assert_non_null(strstr(ks_buf_text(&m->told), "build 0 2\n"));
    close_complete();
}

/* Whoever falls silent or dies, and whenever; sanitized, at fewer times. */
static void test_losses(void **state)
{
    (void)state;
    const uint32_t rarer = IS_SANITIZED ? 5 : 1;
    for (uint32_t who = 1; who < 4; who++)
        for (uint32_t at = 1; at < 1200; at += (at < 420 ? 37 : 11) * rarer) {
            uint32_t n = 0;
            open_ranks(5, at % 2 ? 1 : 2);
            if (at % 3 == 0)
                m->ranks[who].own_cache = all_units;
            for (uint32_t t = 0; t < at; t++)
                sim_turn(m);
            if (m->ranks[who].state == SIM_HERE || m->ranks[who].state == SIM_ASLEEP)
                m->ranks[who].state = SIM_DEAD;
            sim_run(m, 40);
            for (uint32_t u = 0; u < SIM_UNITS; u++)
                n = m->n_compiled[u] > n ? m->n_compiled[u] : n;
            assert_true(n <= 3); /* once for each target, once more for who died with it */
            close_complete();
        }
}

/* ---- what nobody ordered, and what is malformed ---- */

static int put(uint32_t from, uint16_t type, struct ks_buf *body)
{
    const struct ks_frame f = { .type = type, .body = body->data, .n = body->len };
    const int rc = ks_coord_frame(m->coord, from, &f, NULL);
    ks_buf_release(body);
    return rc;
}

static void test_frames(void **state)
{
    (void)state;
    struct ks_share_ask a = { .peer = 1, .serial = 1, .what = { 99, 3 }, .n = 100 };
    struct ks_share_piece p = {
        .peer = 2, .serial = 1, .total = 4, .bytes = (uint8_t *)"pack", .n = 4
    };
    struct ks_buf b;
    ks_buf_init(&b);
    open_ranks(3, 1);
    m->ranks[1].own_cache = all_units;
    for (uint32_t t = 0; t < 420 && !m->coord->n_fetching; t++)
        sim_turn(m);
    assert_int_equal(m->coord->n_fetching, 2);
    const uint32_t n_asks = m->ranks[1].n_asks;
    ks_share_ask_put(&a, &b);
    assert_int_equal(put(2, KS_F_MSG_FETCH, &b), 0);
    assert_int_equal(m->ranks[1].n_asks, n_asks + 1); /* as it was told */
    m->ranks[1].n_asks = n_asks;
    for (uint32_t peer = 0; peer < 5; peer++) { /* who is no source of anybody's, or nobody */
        a.peer = peer == 1 ? UINT32_MAX : peer;
        ks_share_ask_put(&a, &b);
        assert_int_equal(put(2, KS_F_MSG_FETCH, &b), 0);
    }
    a.peer = 1;
    ks_share_ask_put(&a, &b); /* rank 1 itself was not told to fetch */
    assert_int_equal(put(1, KS_F_MSG_FETCH, &b), 0);
    for (uint32_t i = 0; i < 3; i++)
        assert_int_equal(m->ranks[i].n_asks, i == 1 ? n_asks : 0);
    ks_share_piece_put(&p, &b); /* from rank 0, of which nobody asks anything */
    assert_int_equal(put(0, KS_F_MSG_SENT, &b), 0);
    p.peer = 77;
    ks_share_piece_put(&p, &b);
    assert_int_equal(put(1, KS_F_MSG_SENT, &b), 0);
    a.n = KS_SHARE_WINDOW + 1; /* would be more than rank 0 is to hold */
    ks_share_ask_put(&a, &b);
    assert_int_equal(put(2, KS_F_MSG_FETCH, &b), KS_EPROTO);
    p.total = 3;
    ks_share_piece_put(&p, &b);
    assert_int_equal(put(1, KS_F_MSG_SENT, &b), KS_EPROTO);
    sim_run(m, 20);
    assert_work(0, 2);
    close_complete();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_one_of_many),
        cmocka_unit_test(test_targets),
        cmocka_unit_test(test_warm_caches),
        cmocka_unit_test(test_nothing_can_be_had),
        cmocka_unit_test(test_only_seems_to_be_shared),
        cmocka_unit_test(test_losses),
        cmocka_unit_test(test_frames),
    };
    return cmocka_run_group_tests_name("coord_build", tests, set_up, sim_free);
}
