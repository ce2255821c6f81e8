/* SPDX-License-Identifier: MIT */
/* kernel_sweep.h - all instances of some configs of one direction, on problems that are easily got
 * wrong and on random ones, in all types, layouts and dims, held to their references. */
#ifndef KS_TEST_KERNEL_SWEEP_H
#define KS_TEST_KERNEL_SWEEP_H

#include "kernel_case.h"

/* Builds the configs (names in kernels/configs, NULL ends), once for everything below. */
void kernel_sweep_open(struct place *p, uint32_t direction, const char *const *configs);

/* Whether the domain of instance i is the problem's. */
bool kernel_sweep_is_of_domain(const struct place *p, uint32_t i, const struct ks_problem *problem);

/* What an instance cannot compute it refuses with a reason, before anything runs. */
void kernel_sweep_refusals(const struct place *p);

/* Every row of the lists in jobs/problems (NULL ends), in every type and layout, has at least
 * `least` of the instances that an x86-64-v3 can run: nobody needs AVX-512 for a choice. On a CPU
 * below that level nothing is demanded. */
void kernel_sweep_choice(const struct place *p, const char *const *configs,
                         const char *const *lists, uint32_t least);

/* Each type and layout in 1, 2 and 3 dims has an instance for groups, odd channels, padding and
 * strides at once; CPUs as above. */
void kernel_sweep_matrix(const struct place *p, const char *const *configs);

/* Runs everything. Each instance must have had at least two problems. */
void kernel_sweep_run(struct place *p, uint32_t direction);

/* Opens, and does all of the above over the lists of the four networks with at least 3. */
void kernel_sweep_all(struct place *p, uint32_t direction, const char *const *configs);

#endif
