/* SPDX-License-Identifier: MIT */
/* gpu_wgmma.h - instances with matrix instructions of warp groups on the emulator: some of a
 * family, whatever the samples of the families choose. One family a program: the leak sanitizer
 * bears few images of kernels in one. */
#ifndef KS_TEST_GPU_WGMMA_H
#define KS_TEST_GPU_WGMMA_H

#include "gpu_case.h"

#define WGMMA       "lanes == 128 and is_specialised == 0"
#define SPECIALISED "is_specialised == 1"

#ifdef KSWEEP_SANITIZED
#define N_SAMPLE      1
#define N_SPECIALISED 1
#else
#define N_SAMPLE      3
#define N_SPECIALISED 1
#endif

static inline void gpu_wgmma_sweep(const char *config, const char *filter, uint32_t n)
{
    const char *seed = getenv("KSWEEP_TEST_SEED");
    const struct gpu_choice choice = {
        .config = config, .filter = filter, .n = n, .seed = seed ? strtoull(seed, NULL, 10) : 1
    };
    struct gpu_set s = { .n = 0 };
    gpu_set_open(&s, &choice);
    gpu_sweep(&s);
    print_message("# %u of %u instances of %s\n", s.n, s.all.n_instances, config);
    gpu_set_close(&s);
}

#endif
