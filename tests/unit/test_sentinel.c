/* SPDX-License-Identifier: MIT */
/* test_sentinel.c - heap sentinels find what is written beyond a chunk of any size class */
/* Damage is done in forked children only. */
#include "worker/leave.h"
#include "worker/sentinel.h"

#include "../fake/bad_faults.k"

#include "sanitized.h"

#include <stdbool.h>
#include <stdio.h>
#include <sys/prctl.h>
#include <sys/resource.h>

#define N_ROWS(a) (sizeof(a) / sizeof((a)[0]))

enum { FOUND = 50, NOT_FOUND = 51, NO_SENTINEL = 52 };

static const char own_allocator[] = "the sanitizer has its own allocator";

/* What a child does; its parent has planted `s`. */
typedef int (*body_fn)(struct ks_sentinel *s, size_t size, size_t n);

/* How a child ended that does body(s, size, n): its status, or minus the signal. */
static int in_child_with(struct ks_sentinel *s, body_fn body, size_t size, size_t n)
{
    struct rlimit none = { 0, 0 };
    int status = 0;
    pid_t pid = fork();

    if (pid == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        (void)setrlimit(RLIMIT_CORE, &none);
        alarm(120);
        (void)signal(SIGSEGV, SIG_DFL); /* cmocka's handler would go on with the next test */
        (void)signal(SIGBUS, SIG_DFL);
        if (!freopen("/dev/null", "w", stderr)) /* the allocator's last words */
            ks_worker_leave(1);
        ks_worker_leave(body(s, size, n));
    }
    assert_true(pid > 0);
    assert_int_equal(waitpid(pid, &status, 0), pid);
    return WIFSIGNALED(status) ? -WTERMSIG(status) : WEXITSTATUS(status);
}

static int in_child(body_fn body, size_t size, size_t n)
{
    struct ks_sentinel *s = ks_sentinel_create();
    int end;

    assert_non_null(s);
    end = in_child_with(s, body, size, n);
    ks_sentinel_destroy(s);
    return end;
}

/* A kernel's allocations, with work between them. */
static void use_heap(void)
{
    for (size_t round = 0; round < 3; round++)
        for (size_t size = 1; size < 200000; size += size / 3 + 7) {
            char *a = malloc(size), *b = calloc(3, size);
            char *c = realloc(a, 2 * size);
            assert_true(b && c);
            memset(c, 1, 2 * size);
            memset(b, 2, 3 * size);
            free(b);
            free(c);
        }
}

static void test_clean(void **state)
{
    struct ks_sentinel *s = ks_sentinel_create();

    (void)state;
    assert_non_null(s);
    assert_true(ks_sentinel_check(s));
    use_heap();
    assert_true(ks_sentinel_check(s));
    assert_null(ks_sentinel_find(s).chunk);
    ks_sentinel_churn(s);
    assert_true(ks_sentinel_check(s));
    ks_sentinel_destroy(s);
    ks_sentinel_destroy(NULL);
}

static int overflow(struct ks_sentinel *s, size_t size, size_t n)
{
    volatile char *p = malloc(size);

    if (!p)
        return NO_SENTINEL;
    for (size_t i = 0; i < n; i++)
        p[size + i] = 0x5b;
    return ks_sentinel_check(s) ? NOT_FOUND : FOUND;
}

/* Sizes that leave no slack in a chunk: the first byte beyond hurts. */
static void test_overflow(void **state)
{
    static const size_t size[] = { 24,   40,   56,   72,   120,  136,  248,  520,   984,  1032,
                                   1048, 1496, 2040, 3000, 4088, 4104, 8200, 16392, 65544 };
    struct ks_sentinel *s;

    (void)state;
    skip_if_sanitized(own_allocator);
    s = ks_sentinel_create(); /* once for all children: that is most of their time */
    assert_non_null(s);
    for (size_t i = 0; i < N_ROWS(size); i++)
        for (size_t n = 1; n <= 32; n++) {
            int end = in_child_with(s, overflow, size[i], n);
            if (end != FOUND)
                fail_msg("%zu bytes beyond a chunk of %zu: %d", n, size[i], end);
        }
    for (size_t i = 0; i < N_ROWS(size); i++)
        assert_int_equal(in_child_with(s, overflow, size[i], 0), NOT_FOUND);
    ks_sentinel_destroy(s);
}

/* The first seven of a class have sentinels as neighbours. */
static int overflow_seventh(struct ks_sentinel *s, size_t size, size_t n)
{
    volatile char *p = NULL;

    for (int i = 0; i < 7; i++)
        p = malloc(size);
    if (!p)
        return NO_SENTINEL;
    p[size + n] = 0x5b;
    return ks_sentinel_check(s) ? NOT_FOUND : FOUND;
}

static int where(struct ks_sentinel *s, size_t size, size_t offset)
{
    volatile char *p = malloc(size);
    struct ks_sentinel_hit hit;

    if (!p)
        return NO_SENTINEL;
    p[size + offset] = 0x5b;
    hit = ks_sentinel_find(s);
    return hit.chunk_bytes == size && hit.chunk == (const char *)(uintptr_t)p + size + 8
               ? (int)hit.offset + 100
               : NOT_FOUND;
}

static void test_where(void **state)
{
    (void)state;
    skip_if_sanitized(own_allocator);
    assert_int_equal(in_child(overflow_seventh, 104, 3), FOUND);
    assert_int_equal(in_child(overflow_seventh, 2040, 20), FOUND);
    assert_int_equal(in_child(where, 120, 0), 92); /* the allocator's word */
    assert_int_equal(in_child(where, 120, 8), 100);
    assert_int_equal(in_child(where, 120, 30), 122);
    assert_int_equal(in_child(where, 2040, 9), 101);
}

/* Damage that no sentinel sees is met by the allocator when it is churned. */
static int damage_freed(struct ks_sentinel *s, size_t size, size_t n)
{
    char *a = malloc(size), *b = malloc(size);

    (void)n;
    if (!a || !b)
        return NO_SENTINEL;
    volatile uintptr_t freed = (uintptr_t)b; /* as a stale pointer of a kernel */
    free(a);
    free(b);
    *(volatile uint64_t *)freed = 0x5b5b5b5b5b5b5b5bu;
    if (!ks_sentinel_check(s))
        return FOUND;
    ks_sentinel_churn(s);
    return NOT_FOUND;
}

static void test_churn(void **state)
{
    static const size_t size[] = { 24, 104, 984, 1032, 2040 };

    (void)state;
    skip_if_sanitized(own_allocator);
    for (size_t i = 0; i < N_ROWS(size); i++) {
        int end = in_child(damage_freed, size[i], 0);
        if (end != -SIGABRT && end != -SIGSEGV)
            fail_msg("freed chunk of %zu: %d", size[i], end);
    }
}

static int run_kernel(struct ks_sentinel *s, size_t fault, size_t n_calls)
{
    const struct ks_abi_problem p = { .bytes = sizeof(p),
                                      .n = 1,
                                      .g = 1,
                                      .c = 1,
                                      .k = 1,
                                      .in = { 1, 1, 1 },
                                      .filter = { 1, 1, 1 },
                                      .out = { 1, 1, 1 },
                                      .stride = { 1, 1, 1 },
                                      .dilation = { 1, 1, 1 } };
    float a = 3.0f, b = 5.0f, c = 0.0f;
    struct ks_abi_buffers buf = { .a = &a, .b = &b, .c = &c };
    struct bad_state state = { 0 };

    if (bad_unsupported(&p, BAD_UNSUPPORTED) == NULL)
        return NO_SENTINEL;
    for (size_t i = 0; i < n_calls; i++)
        if (bad_run(&p, &buf, (int)fault, 0, &state) != 0 || c != 15.0f)
            return NO_SENTINEL;
    if (!ks_sentinel_check(s))
        return FOUND;
    ks_sentinel_churn(s);
    ks_sentinel_destroy(s);
    return NOT_FOUND;
}

/* The suspects' procedure convicts the culprit, and nobody else. */
static void test_kernels(void **state)
{
    (void)state;
    assert_int_equal(in_child(run_kernel, BAD_GOOD, 20), NOT_FOUND);
    assert_int_equal(in_child(run_kernel, BAD_ONE_WRONG, 0), NOT_FOUND);
    skip_if_sanitized(own_allocator);
    assert_int_equal(in_child(run_kernel, BAD_HEAP_OVERFLOW, 1), FOUND);
    assert_int_equal(in_child(run_kernel, BAD_HEAP_OVERFLOW, 20), FOUND);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_clean), cmocka_unit_test(test_overflow), cmocka_unit_test(test_where),
        cmocka_unit_test(test_churn), cmocka_unit_test(test_kernels),
    };

    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests_name("sentinel", tests, NULL, NULL);
}
