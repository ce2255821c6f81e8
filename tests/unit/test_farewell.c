/* SPDX-License-Identifier: MIT */
/* test_farewell.c - after a loss the other ranks are let go last, once everything is written */
#include "mpi/farewell.h"
#include "mpi/msg.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include <stdio.h>
#include <string.h>

struct ks_net { /* what was done to it, in order */
    char log[128];
    uint32_t n_unsent;
};
struct ks_pulse {
    struct ks_net *net;
};

static void note(struct ks_net *n, const char *what)
{
    const size_t at = strlen(n->log), n_free = sizeof(n->log) - at;

    assert_true((size_t)snprintf(n->log + at, n_free, "%s", what) < n_free);
}

uint32_t ks_net_size(const struct ks_net *n)
{
    (void)n;
    return 4;
}

int ks_net_send(struct ks_net *n, uint32_t to, uint16_t type, const void *body, size_t len,
                struct ks_err *err)
{
    char what[32];
    uint64_t a, b;

    assert_int_equal(type, KS_F_MSG_DRAIN);
    assert_int_equal(ks_msg_numbers_get(body, len, &a, &b, err), 0);
    snprintf(what, sizeof(what), "drain %u %u %u, ", to, (unsigned)a, (unsigned)b);
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
    n->n_unsent--;
    return true;
}

int ks_net_next(struct ks_net *n, uint32_t *from_out, struct ks_frame *f_out)
{
    (void)n;
    (void)from_out;
    (void)f_out;
    return 0;
}

bool ks_net_close(struct ks_net *n, bool is_clean, uint32_t end_ms)
{
    (void)end_ms;
    assert_false(is_clean); /* MPI_Finalize would wait for the dead */
    assert_int_equal(n->n_unsent, 0);
    note(n, "close");
    return false;
}

void ks_pulse_stop(struct ks_pulse *p)
{
    if (p)
        note(p->net, "no pulse, ");
}

static void test_the_others_go_last(void **state)
{
    struct ks_net net = { .log = "" };
    struct ks_pulse pulse = { &net };
    struct ks_farewell *f = ks_farewell_hold(&net, &pulse);

    (void)state;
    assert_string_equal(net.log, ""); /* they wait, and hear the heartbeat */
    ks_farewell_end(f);
    assert_string_equal(net.log, "drain 1 2 0, drain 2 2 0, drain 3 2 0, no pulse, close");
    ks_farewell_end(NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(test_the_others_go_last) };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
