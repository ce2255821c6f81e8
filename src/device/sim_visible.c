/* SPDX-License-Identifier: MIT */
/* sim_visible.c - simulated GPUs: their ids, and which of them the visibility variables leave */
#include "device/sim_visible.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>

/* Keeps of index[n] what the list names, in its order. */
static uint32_t choose(const char *list, uint32_t *index, uint32_t n)
{
    uint32_t was[KS_DEVICES_MAX], n_kept = 0;

    for (uint32_t i = 0; i < n; i++)
        was[i] = index[i];
    while (isdigit((unsigned char)*list) && n_kept < n) {
        char *end = NULL;
        unsigned long k = strtoul(list, &end, 10);

        if (k >= n)
            break;
        index[n_kept++] = was[k];
        list = *end == ',' ? end + 1 : "";
    }
    return n_kept;
}

uint32_t ks_sim_visible(uint32_t n, uint32_t *index_out)
{
    const char *outer = getenv("ROCR_VISIBLE_DEVICES"), *inner = getenv("HIP_VISIBLE_DEVICES");

    for (uint32_t i = 0; i < n; i++)
        index_out[i] = i;
    if (inner == NULL || *inner == '\0')
        inner = getenv("CUDA_VISIBLE_DEVICES");
    if (outer != NULL)
        n = choose(outer, index_out, n);
    return inner != NULL ? choose(inner, index_out, n) : n;
}

void ks_sim_id(uint32_t i, struct ks_device_id *out)
{
    snprintf(out->pci, sizeof(out->pci), "0000:%02x:00.0", 0x10u + (i & 0x7f));
    snprintf(out->unique, sizeof(out->unique), "sim/%s", out->pci);
}
