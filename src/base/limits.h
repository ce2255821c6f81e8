/* SPDX-License-Identifier: MIT */
/* limits.h - resource limits of this process (ulimit, RLIMIT_*). */
#ifndef KS_BASE_LIMITS_H
#define KS_BASE_LIMITS_H

#include "base/err.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Raises soft limits as far as the hard ones allow, and refuses what would end a program in the
 * middle of its work: KS_EINVAL names the limit, its value and how much is needed. To be called
 * before anything is forked, so that children inherit what was raised. SIGXFSZ is ignored from then
 * on: writing beyond a limit fails with EFBIG.
 * is_work: the command compiles or measures, and writes files of any size; else only the stack
 * counts. */
int ks_limits_raise(bool is_work, struct ks_err *err);

/* KS_EINVAL when this process may not give a child `bytes` of address space (ulimit -v). what: the
 * setting that asks for it, "isolate.memory_mib". */
int ks_limits_address_space(uint64_t bytes, const char *what, struct ks_err *err);

/* The size of a file that a child may write when it is to have wanted_mib: less, where this process
 * may not write more (ulimit -f). */
uint32_t ks_limits_file_mib(uint32_t wanted_mib);

/* Address space is limited (ulimit -v): what runs out of memory may do so for that reason. */
bool ks_limits_has_address_space(void);

/* Those that are lower than usual, for a message: "ulimit -v 200000 -n 64"; "" when none is. */
void ks_limits_text(char *out, size_t cap);

#endif
