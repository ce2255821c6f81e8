/* SPDX-License-Identifier: MIT */
/* test_farewell.c - ranks leave when everything is written, or when rank 0 cannot go on */
#include "mpi/farewell.h"

#include "base/clock.h"
#include "mpi/msg.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include <pthread.h>
#include <stdio.h>
#include <string.h>

#define N_RANKS   4u
#define LOST_NS   200000000ull
#define LIMIT_NS  10000000000ull
#define BEAT_SEEN 2u

/* What was done to it, in order, but for heartbeats, which are counted. */
struct ks_net {
    pthread_mutex_t lock;
    char log[512];
    uint32_t n_beats[N_RANKS];
    bool is_forgotten[N_RANKS], is_silent[N_RANKS];
    uint32_t i_speaks; /* whose frame is next */
    struct ks_buf said;
    uint16_t says; /* by every rank, at each turn */
    uint64_t says_a, says_b;
    uint32_t n_unsent;
    bool is_shareable;
};
struct ks_pulse {
    struct ks_net *net;
};

static void note(struct ks_net *n, const char *what)
{
    pthread_mutex_lock(&n->lock);
    const size_t at = strlen(n->log), n_free = sizeof(n->log) - at;
    assert_true((size_t)snprintf(n->log + at, n_free, "%s", what) < n_free);
    pthread_mutex_unlock(&n->lock);
}

uint32_t ks_net_size(const struct ks_net *n)
{
    (void)n;
    return N_RANKS;
}

bool ks_net_can_beat(const struct ks_net *n)
{
    return n->is_shareable;
}

int ks_net_send(struct ks_net *n, uint32_t to, uint16_t type, const void *body, size_t len,
                struct ks_err *err)
{
    char what[32];
    uint64_t a, b;

    if (n->is_forgotten[to])
        return 0;
    if (type == KS_F_MSG_BEAT) {
        pthread_mutex_lock(&n->lock);
        n->n_beats[to]++;
        pthread_mutex_unlock(&n->lock);
        return 0;
    }
    assert_int_equal(ks_msg_numbers_get(body, len, &a, &b, err), 0);
    snprintf(what, sizeof(what), "%s %u %u %u, ", type == KS_F_MSG_BYE ? "bye" : "drain", to,
             (unsigned)a, (unsigned)b);
    note(n, what);
    n->n_unsent++;
    return 0;
}

bool ks_net_is_flushed(struct ks_net *n)
{
    return n->n_unsent == 0;
}

bool ks_net_progress(struct ks_net *n)
{
    n->n_unsent = 0;
    n->i_speaks = 0;
    return true;
}

bool ks_net_recall(struct ks_net *n, uint32_t rank)
{
    const bool was_forgotten = n->is_forgotten[rank];

    n->is_forgotten[rank] = false;
    return was_forgotten;
}

int ks_net_next(struct ks_net *n, uint32_t *from_out, struct ks_frame *f_out)
{
    for (; n->i_speaks < N_RANKS; n->i_speaks++) {
        if (n->is_silent[n->i_speaks])
            continue;
        ks_buf_clear(&n->said);
        ks_msg_numbers_put(n->says_a, n->says_b, &n->said);
        *f_out = (struct ks_frame){ .type = n->says, .body = n->said.data, .n = n->said.len };
        *from_out = n->i_speaks++;
        return 1;
    }
    return 0;
}

bool ks_net_close(struct ks_net *n, bool is_clean, uint32_t end_ms)
{
    assert_int_equal(n->n_unsent, 0);
    assert_int_equal(end_ms, is_clean ? LOST_NS / 1000000u : end_ms);
    note(n, is_clean ? "finalize" : "close");
    return is_clean;
}

void ks_pulse_stop(struct ks_pulse *p)
{
    if (p)
        note(p->net, "no pulse, ");
}

static int begin(void **state)
{
    static struct ks_net net;

    net = (struct ks_net){ .is_shareable = true, .says = KS_F_MSG_BEAT };
    ks_buf_init(&net.said);
    pthread_mutex_init(&net.lock, NULL);
    *state = &net;
    return 0;
}

static int end(void **state)
{
    struct ks_net *net = *state;

    ks_buf_release(&net->said);
    pthread_mutex_destroy(&net->lock);
    return 0;
}

static bool has_beats(struct ks_net *n, uint32_t rank, uint32_t n_beats)
{
    pthread_mutex_lock(&n->lock);
    const bool has = n->n_beats[rank] >= n_beats;
    pthread_mutex_unlock(&n->lock);
    return has;
}

static void expect_beats(struct ks_net *n, uint32_t rank)
{
    const uint64_t limit = ks_now_ns() + LIMIT_NS;

    while (!has_beats(n, rank, BEAT_SEEN) && ks_now_ns() < limit)
        ks_sleep_ns(1000000);
    assert_true(has_beats(n, rank, BEAT_SEEN));
}

/* A launcher may end rank 0 with the first process that leaves. */
static void test_nobody_leaves_before_the_results_are_written(void **state)
{
    struct ks_net *net = *state;
    struct ks_pulse pulse = { net };
    struct ks_farewell *f = ks_farewell_hold(net, &pulse, true, LOST_NS);

    for (uint32_t i = 1; i < N_RANKS; i++)
        expect_beats(net, i);
    assert_string_equal(net->log, "no pulse, ");
    assert_true(ks_farewell_end(f));
    assert_string_equal(net->log, "no pulse, drain 1 2 0, drain 2 2 0, drain 3 2 0, finalize");
    assert_int_equal(net->n_beats[0], 0);
    assert_false(ks_farewell_end(NULL));
}

/* MPI_Finalize would wait for the lost rank. */
static void test_after_a_loss_nobody_finalizes(void **state)
{
    struct ks_net *net = *state;

    net->is_forgotten[2] = net->is_silent[2] = true;
    struct ks_farewell *f = ks_farewell_hold(net, NULL, false, LOST_NS);
    expect_beats(net, 1);
    assert_string_equal(net->log, "");
    assert_false(ks_farewell_end(f));
    assert_string_equal(net->log, "drain 1 2 1, drain 3 2 1, close");
}

/* It would take rank 0 for dead after --lost-after, and leave. */
static void test_a_lost_rank_that_comes_back_is_held_too(void **state)
{
    struct ks_net *net = *state;

    net->is_forgotten[2] = true; /* but it speaks */
    struct ks_farewell *f = ks_farewell_hold(net, NULL, false, LOST_NS);
    expect_beats(net, 2);
    assert_string_equal(net->log, "drain 2 0 1, drain 2 1 0, ");
    assert_false(ks_farewell_end(f));
    assert_non_null(strstr(net->log, "drain 2 2 1, "));
}

static void test_one_that_falls_silent_is_not_waited_for(void **state)
{
    struct ks_net *net = *state;

    net->is_silent[3] = true;
    struct ks_farewell *f = ks_farewell_hold(net, NULL, true, LOST_NS);
    ks_sleep_ns(LOST_NS + LOST_NS / 2);
    assert_false(ks_farewell_end(f));
    assert_string_equal(net->log, "drain 1 2 1, drain 2 2 1, drain 3 2 1, close");
}

/* Nobody could tell them that rank 0 lives. */
static void test_without_a_second_thread_they_leave_first(void **state)
{
    struct ks_net *net = *state;

    net->is_shareable = false;
    struct ks_farewell *f = ks_farewell_hold(net, NULL, true, LOST_NS);
    assert_string_equal(net->log, "drain 1 2 0, drain 2 2 0, drain 3 2 0, finalize");
    assert_true(ks_farewell_end(f));
    assert_string_equal(net->log, "drain 1 2 0, drain 2 2 0, drain 3 2 0, finalize");
}

static void test_rank_0_cannot_go_on(void **state)
{
    struct ks_net *net = *state;

    net->says = KS_F_MSG_BYE;
    assert_true(ks_farewell_send(net, false, LIMIT_NS));
    assert_string_equal(net->log, "drain 1 0 1, drain 1 2 0, drain 2 0 1, drain 2 2 0, "
                                  "drain 3 0 1, drain 3 2 0, ");
    net->log[0] = '\0';
    net->is_silent[2] = net->is_forgotten[2] = true;
    assert_false(ks_farewell_send(net, true, 1000000));
    assert_string_equal(net->log, "drain 1 0 1, drain 1 2 1, drain 3 0 1, drain 3 2 1, ");
    net->is_silent[2] = net->is_forgotten[2] = false; /* it is back, but was told not to finalize */
    assert_false(ks_farewell_send(net, true, LIMIT_NS));
}

/* Of a rank that cannot begin, either: nothing but being told so lets it finalize. */
static void test_nor_can_this_rank(void **state)
{
    static const struct {
        uint64_t a, b;
        bool is_in_order;
        const char *log;
    } rows[] = { { 0, 1, false, "" },
                 { 1, 0, false, "" },
                 { 2, 1, false, "bye 0 0 0, " },
                 { 2, 0, true, "bye 0 0 0, " } };
    struct ks_net *net = *state;

    net->says = KS_F_MSG_DRAIN;
    for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
        net->log[0] = '\0';
        net->says_a = rows[i].a;
        net->says_b = rows[i].b;
        assert_int_equal(ks_farewell_await(net, 3000000), rows[i].is_in_order);
        assert_string_equal(net->log, rows[i].log);
    }
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, begin, end)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_nobody_leaves_before_the_results_are_written),
        TEST(test_after_a_loss_nobody_finalizes),
        TEST(test_a_lost_rank_that_comes_back_is_held_too),
        TEST(test_one_that_falls_silent_is_not_waited_for),
        TEST(test_without_a_second_thread_they_leave_first),
        TEST(test_rank_0_cannot_go_on),
        TEST(test_nor_can_this_rank),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
