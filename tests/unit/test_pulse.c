/* SPDX-License-Identifier: MIT */
/* test_pulse.c - how often the heartbeat thread wakes; src/mpi/net.c is replaced */
#include "base/clock.h"
#include "mpi/pulse.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include <stdatomic.h>

#define MS      1000000ull
#define AWAY_NS (100 * MS)

struct ks_net {
    uint64_t rest_ns; /* until the loop may have been away for too long; 0: it is */
    _Atomic uint32_t n_asked;
    _Atomic bool is_wrong;
    bool is_alone;
};

bool ks_net_can_beat(const struct ks_net *n)
{
    return !n->is_alone;
}

uint64_t ks_net_beat(struct ks_net *n, uint64_t now_ns, uint64_t away_ns)
{
    if (!now_ns || away_ns != AWAY_NS)
        n->is_wrong = true;
    n->n_asked++;
    return n->rest_ns;
}

/* A thread that woke more often would disturb whatever is timed on its core. */
static void test_wakes(void **state)
{
    static const uint64_t rest_ms[] = { 0, 70, 100 };

    (void)state;
    for (size_t i = 0; i < sizeof(rest_ms) / sizeof(rest_ms[0]); i++) {
        struct ks_net n = { .rest_ns = rest_ms[i] * MS };
        struct ks_pulse *p;
        const uint64_t begun = ks_now_ns();
        assert_int_equal(ks_pulse_start(&n, AWAY_NS, &p, NULL), 0);
        while (n.n_asked < 4)
            ks_sleep_ns(MS);
        /* the first at once, the others after a pause each */
        assert_true(ks_now_ns() - begun >= 3 * (rest_ms[i] ? rest_ms[i] : 100) * MS);
        ks_pulse_stop(p);
        assert_false(n.is_wrong);
    }
}

static void test_nobody_to_beat_for(void **state)
{
    struct ks_net n = { .is_alone = true };
    struct ks_pulse *p = (struct ks_pulse *)&n;

    (void)state;
    assert_int_equal(ks_pulse_start(&n, AWAY_NS, &p, NULL), 0);
    assert_null(p);
    ks_pulse_stop(p);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_wakes),
        cmocka_unit_test(test_nobody_to_beat_for),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
