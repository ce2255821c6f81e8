/* SPDX-License-Identifier: MIT */
/* simt_clock.c - the clocks that an emulated unit reads */
#include "simt_clock.h"

#include <time.h>

unsigned long long ks_simt_ns(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return (unsigned long long)t.tv_sec * 1000000000u + (unsigned long long)t.tv_nsec;
}
