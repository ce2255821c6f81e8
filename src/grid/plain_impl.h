/* SPDX-License-Identifier: MIT */
/* plain_impl.h - what plain_write.c and plain_read.c must agree on. */
#ifndef KS_GRID_PLAIN_IMPL_H
#define KS_GRID_PLAIN_IMPL_H

#include "base/opt.h"
#include "grid/job_section.h"

#include <stddef.h>

/* Sections whose options are `set` lines; the device has a line of its own. */
bool ks_plain_has_section(const struct ks_job_section *s);
/* "measure.contention.retries" */
void ks_plain_key(const struct ks_job_section *s, const struct ks_opt *o, char *out, size_t cap);

/* In the order of the enumerations; NULL-terminated. */
extern const char *const ks_plain_kinds[]; /* int, name, bool */
enum { KS_PLAIN_BOOL = 2 };                /* behind those of enum ks_trait_kind */

#endif
