/* SPDX-License-Identifier: MIT */
/* aside.h - one job at a time beside the caller, in a thread of its own. */
#ifndef KS_BASE_ASIDE_H
#define KS_BASE_ASIDE_H

#include "base/err.h"

struct ks_aside;

/* ks_aside_create() - a thread that waits for jobs, with all signals blocked. Where the system has
 * no more threads, jobs run in ks_aside_run(): slower, with the same results. Returns 0; KS_ENOMEM.
 * Owns: caller destroys *out.   Blocks: no. */
int ks_aside_create(struct ks_aside **out, struct ks_err *err);
/* Waits for the job before, then has job(arg) done. arg is the job's until ks_aside_wait(). */
void ks_aside_run(struct ks_aside *a, void (*job)(void *arg), void *arg);
/* Until nothing is left to do. */
void ks_aside_wait(struct ks_aside *a);
/* Waits, too. NULL is fine. */
void ks_aside_destroy(struct ks_aside *a);

#endif
