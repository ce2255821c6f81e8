/* SPDX-License-Identifier: MIT */
/* surround.h - where a program runs and what it sees. */
#ifndef KS_RUNNER_SURROUND_H
#define KS_RUNNER_SURROUND_H

#include "base/err.h"

#include <stddef.h>

struct ks_runner;

struct ks_surroundings {
    char dir[1200]; /* that it runs in */
    char **env;     /* [n], then NULL; owned */
    size_t n, cap;
};

/* ks_surround() - a directory of its own, and its environment: that of this process (which holds
 * the vendor's variable for its device), temporary files and the caches that its adapter names in
 * that directory, OMP_NUM_THREADS as many as it may use cores, and what the job says, which goes
 * first. Owns: the caller releases it, also on failure. */
int ks_surround(const struct ks_runner *r, struct ks_surroundings *out, struct ks_err *err);
/* Removes the directory, too. All zero is fine. */
void ks_surroundings_release(struct ks_surroundings *s);

#endif
