/* SPDX-License-Identifier: MIT */
/* fault.c - makes the n-th allocation of the code under test fail */
#include "fault.h"

#include <stdlib.h>
#include <string.h>

void *__real_malloc(size_t n);
void *__real_calloc(size_t n, size_t size);
void *__real_realloc(void *p, size_t n);
char *__real_strdup(const char *s);
void *__wrap_malloc(size_t n);
void *__wrap_calloc(size_t n, size_t size);
void *__wrap_realloc(void *p, size_t n);
char *__wrap_strdup(const char *s);

static struct {
    bool is_armed, has_failed;
    unsigned left;
} fault;

void fault_arm(unsigned n)
{
    fault.is_armed = true;
    fault.has_failed = false;
    fault.left = n;
}

bool fault_disarm(void)
{
    fault.is_armed = false;
    return fault.has_failed;
}

static bool must_fail(void)
{
    if (!fault.is_armed || fault.has_failed)
        return false;
    fault.has_failed = fault.left == 0;
    fault.left--;
    return fault.has_failed;
}

void *__wrap_malloc(size_t n)
{
    return must_fail() ? NULL : __real_malloc(n);
}

void *__wrap_calloc(size_t n, size_t size)
{
    return must_fail() ? NULL : __real_calloc(n, size);
}

void *__wrap_realloc(void *p, size_t n)
{
    return must_fail() ? NULL : __real_realloc(p, n);
}

char *__wrap_strdup(const char *s)
{
    return must_fail() ? NULL : __real_strdup(s);
}

void *fault_malloc(size_t n)
{
    return __wrap_malloc(n);
}
