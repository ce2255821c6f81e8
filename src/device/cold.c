/* SPDX-License-Identifier: MIT */
/* cold.c - evicts memory from the CPU's caches line by line, where the CPU can */
#include "device/cold.h"

#include <stdint.h>

#define LINE 64u

#if defined(__x86_64__)
int ks_cold_can_evict(void)
{
    return 1;
}

void ks_cold_evict(const void *ptr, size_t bytes)
{
    const uint8_t *const begin = ptr;
    const size_t before = (uintptr_t)ptr % LINE; /* bytes of the first line that come before it */

    if (bytes == 0)
        return;
    for (size_t i = 0; i < before + bytes; i += LINE)
        __builtin_ia32_clflush(begin - before + i);
    __builtin_ia32_mfence();
}
#else
int ks_cold_can_evict(void)
{
    return 0;
}

void ks_cold_evict(const void *ptr, size_t bytes)
{
    (void)ptr;
    (void)bytes;
}
#endif
