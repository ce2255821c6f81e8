/* SPDX-License-Identifier: MIT */
/* try.h - load and unload an object as a worker would, and nothing else: whether it can be shared
 * by instances that are not to blame for one another. */
#ifndef KS_WORKER_TRY_H
#define KS_WORKER_TRY_H

#include "base/err.h"

#include <stdbool.h>

/* Printed on stderr before each step, so that a death can be explained by the last one. */
#define KS_TRY_LOADING   "ksweep-worker: loading"
#define KS_TRY_UNLOADING "ksweep-worker: unloading"
#define KS_TRY_EXITING   "ksweep-worker: exiting"

/* ks_worker_try() - in the worker's cage: loads a sealed copy of the object, reads its table, looks
 * for threads and timers, unloads it. The caller then exits, with its exit handlers.
 * @keeps_threads [in] its instances declare threads of their own
 * Returns KS_WORKER_EXIT_TRIED; KS_WORKER_EXIT_UNLOADABLE: the loader refused the object, or it has
 * no table; KS_WORKER_EXIT_REMAINS: a constructor left something running; KS_WORKER_EXIT_SETUP: it
 * could not be tried. *err says why. */
int ks_worker_try(const char *path, bool keeps_threads, struct ks_err *err);

#endif
