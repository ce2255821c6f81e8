/* SPDX-License-Identifier: MIT */
/* test_msg.c - what ranks tell each other: the same comes back, bodies cut anywhere are refused */
#include "mpi/msg.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include <string.h>

static int start(void **state)
{
    static struct ks_buf b;
    ks_buf_init(&b);
    *state = &b;
    return 0;
}

static int stop(void **state)
{
    ks_buf_release(*state);
    return 0;
}

static void test_hello(void **state)
{
    struct ks_buf *b = *state;
    struct ks_msg_hello was = { .rank = 3,
                                .local_rank = 1,
                                .n_local = 4,
                                .measures = 1,
                                .n_jobs = 17,
                                .grid_digest = 0x123456789abcdef0u,
                                .target = { 21, 22 },
                                .cache = { 23, 24 },
                                .pid = 4711,
                                .host = "node7" };
    struct ks_msg_hello got;
    struct ks_err err;
    ks_msg_hello_put(&was, b);
    assert_int_equal(ks_msg_hello_get(b->data, b->len, &got, &err), 0);
    assert_int_equal(got.rank, 3);
    assert_int_equal(got.local_rank, 1);
    assert_int_equal(got.n_local, 4);
    assert_int_equal(got.measures, 1);
    assert_int_equal(got.n_jobs, 17);
    assert_true(got.grid_digest == was.grid_digest);
    assert_true(ks_id128_eq(got.target, was.target) && ks_id128_eq(got.cache, was.cache));
    assert_int_equal(got.pid, 4711);
    assert_string_equal(got.host, "node7");
    memset(&got, 0x77, sizeof(got));
    for (size_t n = 0; n < b->len; n++)
        assert_int_equal(ks_msg_hello_get(b->data, n, &got, &err), KS_EPROTO);
    assert_int_equal(got.rank, 0x77777777); /* untouched */
}

/* A host's name without its end must not run over. */
static void test_hello_with_a_long_name(void **state)
{
    struct ks_buf *b = *state;
    struct ks_msg_hello m = { .rank = 1 };
    memset(m.host, 'x', sizeof(m.host));
    ks_msg_hello_put(&m, b);
    assert_int_equal(ks_msg_hello_get(b->data, b->len, &m, NULL), 0);
    assert_int_equal(strlen(m.host), sizeof(m.host) - 1);
}

static void test_lease(void **state)
{
    struct ks_buf *b = *state;
    for (uint32_t n = 0; n <= KS_LEASE_CELLS; n += 16) {
        static struct ks_msg_lease was, got;
        struct ks_err err;
        was = (struct ks_msg_lease){ .lease = 1ull << 40,
                                     .block_id = 99,
                                     .i_problem = 5,
                                     .opens = n == 0,
                                     .closes = 1,
                                     .is_alone = n == 16,
                                     .n_visit = n / 2,
                                     .n = n };
        for (uint32_t i = 0; i < n; i++) {
            was.cells[i].i_instance = 1000 + i;
            was.cells[i].attempt = i + 1;
            was.cells[i].round = i % 3;
            was.cells[i].alias = 3 * i;
        }
        ks_buf_clear(b);
        ks_msg_lease_put(&was, b);
        assert_int_equal(ks_msg_lease_get(b->data, b->len, &got, &err), 0);
        assert_memory_equal(&was, &got, sizeof(was));
        for (size_t k = 0; k < b->len; k++)
            assert_int_equal(ks_msg_lease_get(b->data, k, &got, &err), KS_EPROTO);
    }
}

static void test_lease_of_too_many(void **state)
{
    struct ks_buf *b = *state;
    static struct ks_msg_lease m = { .lease = 1 };
    ks_msg_lease_put(&m, b);
    size_t at = b->len - 8; /* n is the last number but one before the cells */
    for (uint32_t i = 0; i < 65 * 16; i++)
        ks_buf_put(b, "\0", 1);
    uint8_t *bytes = b->data;
    bytes[at] = KS_LEASE_CELLS;
    assert_int_equal(ks_msg_lease_get(b->data, b->len, &m, NULL), 0);
    assert_int_equal(m.n, KS_LEASE_CELLS);
    bytes[at]++;
    assert_int_equal(ks_msg_lease_get(b->data, b->len, &m, NULL), KS_EPROTO);
    bytes[at + 4] = 1; /* a visit */
    assert_int_equal(ks_msg_lease_get(b->data, b->len, &m, NULL), 0);
    bytes[at + 3] = 0xff;
    assert_int_equal(ks_msg_lease_get(b->data, b->len, &m, NULL), KS_EPROTO);
}

static void test_beats(void **state)
{
    (void)state;
    assert_true(ks_msg_beat_ns(3600000000000ull) == 1000000000ull);
    assert_true(ks_msg_beat_ns(4000000000ull) == 1000000000ull);
    assert_true(ks_msg_beat_ns(1000000000ull) == 250000000ull);
}

static void test_numbers(void **state)
{
    struct ks_buf *b = *state;
    uint64_t x = 1, y = 2;
    ks_msg_numbers_put(UINT64_MAX, 7, b);
    for (size_t n = 0; n < b->len; n++)
        assert_int_equal(ks_msg_numbers_get(b->data, n, &x, &y, NULL), KS_EPROTO);
    assert_true(x == 1 && y == 2);
    assert_int_equal(ks_msg_numbers_get(b->data, b->len, &x, &y, NULL), 0);
    assert_true(x == UINT64_MAX && y == 7);
    assert_int_equal(ks_msg_numbers_get(b->data, b->len, &y, NULL, NULL), 0);
    assert_true(y == UINT64_MAX);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_hello, start, stop),
        cmocka_unit_test_setup_teardown(test_hello_with_a_long_name, start, stop),
        cmocka_unit_test_setup_teardown(test_lease, start, stop),
        cmocka_unit_test_setup_teardown(test_lease_of_too_many, start, stop),
        cmocka_unit_test_setup_teardown(test_numbers, start, stop),
        cmocka_unit_test(test_beats),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
