/* SPDX-License-Identifier: MIT */
/* trial.h - private to src/build: does a compiler compile here? */
#ifndef KS_BUILD_TRIAL_H
#define KS_BUILD_TRIAL_H

#include "build/toolset.h"
#include "spawn/warden.h"

/* Compiles and links a small kernel in a temporary directory ($TMPDIR, else /tmp), once for each
 * tool. A program that is no compiler, and a limit of this process that is too low for one
 * (ulimit), show here instead of as failures of all instances.
 * A tool that fails has `missing` set, or is KS_EINVAL when the user chose it or it is the only
 * one: with what it said, and the limits. Nothing else may be running under that warden. */
int ks_trial(struct ks_tool *t, struct ks_warden *w, struct ks_err *err);
int ks_trial_all(struct ks_toolset *s, struct ks_warden *w, struct ks_err *err);

#endif
