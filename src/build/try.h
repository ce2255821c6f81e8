/* SPDX-License-Identifier: MIT */
/* try.h - private to src/build: what is linked is loaded and unloaded once before anybody else sees
 * it, by `ksweep-worker --try` behind the worker's filter. An instance whose constructor or
 * destructor ends the process would fail all that share its object. */
#ifndef KS_BUILD_TRY_H
#define KS_BUILD_TRY_H

#include "build/plan.h"

/* Starts it through the warden: at most kernel_timeout_s of the job, and the compiler's memory. */
int ks_try_start(struct ks_build *b, struct ks_compile *c, struct ks_err *err);
/* ks_try_conclude() - what its end means for the object.
 * Returns 1: it is good; 0: it is not, *reason_out (first line, terminated) says why and *holds_out
 * for how long; KS_ENOENT, KS_EUNSUPPORTED, KS_EINTR: nothing was learnt. */
int ks_try_conclude(const struct ks_build *b, const struct ks_child_end *end, char *reason_out,
                    size_t cap, enum ks_holds *holds_out, struct ks_err *err);

#endif
