/* SPDX-License-Identifier: MIT */
/* test_limits.c - resource limits, each tried in a process of its own */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
/* cmocka.h wants the four above first. */
#include <cmocka.h>

#include "base/limits.h"
#include "tests/unit/temp_dir.h"

#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

struct row {
    int what;
    rlim_t soft, hard;
    bool is_work;
    const char *say;  /* refused with these words; NULL: accepted */
    rlim_t soft_then; /* accepted: the soft limit afterwards */
};

static const struct row rows[] = {
    { RLIMIT_STACK, 65536, 65536, false, "ulimit -s is 64, at least 1024", 0 },
    { RLIMIT_STACK, 65536, 1 << 23, false, NULL, 1 << 23 },
    { RLIMIT_STACK, 1 << 21, 1 << 21, false, NULL, 1 << 21 },
    { RLIMIT_NOFILE, 20, 20, true, "ulimit -n is 20, at least 64", 0 },
    { RLIMIT_NOFILE, 20, 20, false, NULL, 20 },
    { RLIMIT_NOFILE, 20, 100, true, NULL, 100 },
    { RLIMIT_FSIZE, 4096, 4096, true, "ulimit -f is 4, at least 262144", 0 },
    { RLIMIT_FSIZE, 4096, 1ull << 40, true, NULL, 1ull << 40 },
    { RLIMIT_AS, 1 << 28, 1 << 28, true, "ulimit -v is 262144, at least 524288", 0 },
};

/* 0: as the row says. The process must live on to say so. */
static int try_row(const struct row *r)
{
    struct rlimit l = { r->soft, r->hard };
    struct ks_err err = { .text = "" };
    int rc;

    if (setrlimit(r->what, &l) < 0)
        return 2;
    rc = ks_limits_raise(r->is_work, &err);
    if (r->say)
        return rc == KS_EINVAL && strstr(err.text, r->say) ? 0 : 3;
    if (rc < 0 || getrlimit(r->what, &l) < 0)
        return 4;
    return l.rlim_cur == r->soft_then ? 0 : 5;
}

static void limits_are_raised_or_refused(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        int status;
        pid_t pid;

#ifdef KSWEEP_SANITIZED /* it has no room in an address space that is limited */
        if (rows[i].what == RLIMIT_AS)
            continue;
#endif
        fflush(NULL);
        pid = fork();
        if (pid == 0)
            _exit(try_row(&rows[i]));
        assert_int_equal(waitpid(pid, &status, 0), pid);
        if (status != 0)
            fail_msg("row %zu: status %x", i, (unsigned)status);
    }
}

/* A journal that reaches a limit of the size of files is an error to handle, not a death. */
static int write_too_much(void)
{
    struct rlimit l = { 8192, RLIM_INFINITY };
    char path[TEMP_DIR_MAX], page[4096] = "";
    struct ks_err err;
    int fd = temp_file_make(path, sizeof(path)), n = 0;

    unlink(path);
    if (ks_limits_raise(true, &err) < 0 || fd < 0)
        return 1;
    l.rlim_max = 8192;
    if (setrlimit(RLIMIT_FSIZE, &l) < 0)
        return 2;
    while (n < 5 && write(fd, page, sizeof(page)) == (ssize_t)sizeof(page))
        n++;
    return n == 2 ? 0 : 3;
}

static void a_file_that_grows_too_large_is_an_error(void **state)
{
    int status;
    pid_t pid;

    (void)state;
    fflush(NULL);
    pid = fork();
    if (pid == 0)
        _exit(write_too_much());
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_int_equal(status, 0);
}

static int ask_for_children(void)
{
    struct rlimit l = { RLIM_INFINITY, RLIM_INFINITY };
    struct ks_err err = { .text = "" };
    char text[100];

    if (ks_limits_address_space(1ull << 40, "it", &err) < 0)
        return 1;
    if (getrlimit(RLIMIT_FSIZE, &l) < 0 || ks_limits_file_mib(1) != 1)
        return 7;
    l.rlim_max = l.rlim_cur = 300 << 20;
    if (setrlimit(RLIMIT_FSIZE, &l) < 0 || ks_limits_file_mib(299) != 299 ||
        ks_limits_file_mib(1024) != 300)
        return 8;
    if (getrlimit(RLIMIT_NOFILE, &l) < 0)
        return 2;
    l.rlim_max = l.rlim_cur = 77;
    if (setrlimit(RLIMIT_NOFILE, &l) < 0)
        return 3;
    ks_limits_text(text, sizeof(text));
    if (!strstr(text, "-n 77"))
        return 4;
    l.rlim_max = l.rlim_cur = 1ull << 39;
    if (setrlimit(RLIMIT_AS, &l) < 0)
        return 0; /* sanitized: more is in use */
    if (ks_limits_address_space(1ull << 39, "it", &err) < 0)
        return 5;
    return ks_limits_address_space(1ull << 40, "isolate.memory_mib", &err) == KS_EINVAL &&
                   strstr(err.text, "isolate.memory_mib needs 1073741824")
               ? 0
               : 6;
}

static void what_children_may_have_is_told(void **state)
{
    int status;
    pid_t pid;

    (void)state;
    fflush(NULL);
    pid = fork();
    if (pid == 0)
        _exit(ask_for_children());
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_int_equal(status, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(limits_are_raised_or_refused),
        cmocka_unit_test(a_file_that_grows_too_large_is_an_error),
        cmocka_unit_test(what_children_may_have_is_told),
    };

    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests_name("limits", tests, NULL, NULL);
}
