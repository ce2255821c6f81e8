/* SPDX-License-Identifier: MIT */
/* test_remains.c - threads that are left behind, and threads that are only ending */
#include "base/clock.h"
#include "worker/remains.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include <pthread.h>

#define MS 1000000ull

/* Ends after so many ms. */
static void *last(void *ms)
{
    ks_sleep_ns(*(const uint64_t *)ms * MS);
    return NULL;
}

static void *wait_for(void *lock)
{
    pthread_mutex_lock(lock);
    pthread_mutex_unlock(lock);
    return NULL;
}

/* It has done its work, and nobody waits for it: no fault of the kernel. */
static void test_a_thread_that_ends(void **state)
{
    static uint64_t ms = 20;
    struct ks_remains r;
    struct ks_left left;
    pthread_t thread;

    (void)state;
    ks_remains_note(&r);
    assert_true(r.is_watched && r.n_threads > 0);
    assert_int_equal(pthread_create(&thread, NULL, last, &ms), 0);
    assert_int_equal(pthread_detach(thread), 0);
    ks_remains_find(&r, 0, &left);
    assert_false(ks_left_anything(&left));
}

static void test_a_thread_that_stays(void **state)
{
    pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
    struct ks_remains r;
    struct ks_left left;
    pthread_t thread;
    char text[80];

    (void)state;
    ks_remains_note(&r);
    pthread_mutex_lock(&lock);
    assert_int_equal(pthread_create(&thread, NULL, wait_for, &lock), 0);
    const uint64_t begun = ks_now_ns();
    ks_remains_find(&r, 0, &left);
    assert_true(ks_now_ns() - begun >= 200 * MS);
    assert_int_equal(left.n_threads, 1);
    assert_int_equal(left.n_timers, 0);
    ks_left_text(&left, text, sizeof(text));
    assert_string_equal(text, "left 1 thread running");
    pthread_mutex_unlock(&lock);
    pthread_join(thread, NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_thread_that_ends),
        cmocka_unit_test(test_a_thread_that_stays),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
