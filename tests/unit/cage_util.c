/* SPDX-License-Identifier: MIT */
/* cage_util.c - runs a case in a caged child and judges how it ended */
#include "cage_util.h"
#include "worker/leave.h"

#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

enum { PASS = 60, FAILED_CHECK = 71, NO_CAGE = 70 };

#if defined(KSWEEP_SANITIZED)
/* The leak check makes a process of its own, which the cage refuses. */
const char *__asan_default_options(void);
const char *__asan_default_options(void)
{
    return "detect_leaks=0";
}
#endif

struct ks_status *page;

int cage_page_map(void)
{
    page = mmap(NULL, sizeof(*page), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    return page == MAP_FAILED ? -1 : 0;
}

static void be_caged(enum ks_cage_list list, case_fn body) __attribute__((noreturn));
static void be_caged(enum ks_cage_list list, case_fn body)
{
    struct caged c = { .n_failed = 0 };
    struct rlimit none = { 0, 0 };

    prctl(PR_SET_PDEATHSIG, SIGKILL);
    (void)setrlimit(RLIMIT_CORE, &none);
    alarm(30);
    if (ks_cage_open(&c.cage, page, NULL) < 0)
        ks_worker_leave(NO_CAGE);
    c.cage.list = list;
    if (ks_cage_close(&c.cage, NULL) < 0)
        ks_worker_leave(NO_CAGE);
    body(&c);
    ks_worker_leave(c.n_failed ? FAILED_CHECK : PASS);
}

int run_case_on(enum ks_cage_list list, case_fn body)
{
    int status = 0;
    pid_t pid;

    memset(page, 0, sizeof(*page));
    page->denied_call = -1;
    pid = fork();
    if (pid == 0)
        be_caged(list, body);
    assert_true(pid > 0);
    assert_int_equal(waitpid(pid, &status, 0), pid);
    return status;
}

int run_case(case_fn body)
{
    return run_case_on(KS_CAGE_HOST, body);
}

void must_pass_on(enum ks_cage_list list, case_fn body)
{
    int s = run_case_on(list, body);

    if (!WIFEXITED(s) || WEXITSTATUS(s) != PASS)
        fail_msg("the case ended with wait status %#x", (unsigned)s);
}

void must_pass(case_fn body)
{
    must_pass_on(KS_CAGE_HOST, body);
}
