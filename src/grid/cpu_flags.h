/* SPDX-License-Identifier: MIT */
/* cpu_flags.h - the flags of the CPU that a job is for (base/cpu_level.h). */
#ifndef KS_GRID_CPU_FLAGS_H
#define KS_GRID_CPU_FLAGS_H

#include "base/buf.h"
#include "base/err.h"

/* The flags of `arch`, separated by blanks, replacing what flags_out held. "native": this host's,
 * or $KSWEEP_CPU_FLAGS where it is set (tests); "x86-64", "x86-64-v2" .. "-v4": the levels of the
 * x86-64 psABI. KS_EINVAL for another name. */
int ks_cpu_flags_read(const char *arch, struct ks_buf *flags_out, struct ks_err *err);
/* The same from the text of /proc/cpuinfo: its first "flags" (x86) or "Features" (ARM) line. */
int ks_cpu_flags_parse(const char *cpuinfo, struct ks_buf *flags_out, struct ks_err *err);

#endif
