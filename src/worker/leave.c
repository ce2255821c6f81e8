/* SPDX-License-Identifier: MIT */
/* leave.c - ends the worker without the C library's exit */
#include "worker/leave.h"

#include <unistd.h>

#if defined(KSWEEP_COVERAGE)
void __gcov_dump(void);

static void save_coverage(void)
{
    __gcov_dump();
}
#else
static void save_coverage(void) {}
#endif

_Noreturn void ks_worker_leave(int status)
{
    save_coverage();
    _exit(status);
}
