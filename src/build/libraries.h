/* SPDX-License-Identifier: MIT */
/* libraries.h - are the shared libraries of programs that time kernels installed? */
#ifndef KS_BUILD_LIBRARIES_H
#define KS_BUILD_LIBRARIES_H

#include "grid/programs.h"
#include "spawn/warden.h"

/* ks_libraries_check() - ks_programs_check(), and the dynamic loader of each program lists its
 * libraries, in the environment that the job gives the program. Nothing of the program runs.
 * @w [in] nothing else may be running under that warden
 * Returns 0; KS_EINVAL with the entry and the library. A loader that cannot list is no error: the
 * run will tell. */
int ks_libraries_check(const struct ks_grid *g, struct ks_warden *w, struct ks_err *err);

#endif
