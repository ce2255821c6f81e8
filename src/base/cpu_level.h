/* SPDX-License-Identifier: MIT */
/* cpu_level.h - what a CPU can do, as words of /proc/cpuinfo, and the levels of x86-64. */
#ifndef KS_BASE_CPU_LEVEL_H
#define KS_BASE_CPU_LEVEL_H

#include <stdbool.h>

/* The micro-architecture levels, lowest first; each has the flags of those before it, too. Words as
 * Linux prints them: pni is SSE3, abm stands for LZCNT.
 * Source: System V ABI, AMD64 supplement 1.0, section 3.1.1. */
#define KS_CPU_LEVELS 4
struct ks_cpu_level {
    const char *name;  /* "x86-64" to "x86-64-v4" */
    const char *flags; /* that it adds, separated by blanks */
};
extern const struct ks_cpu_level ks_cpu_levels[KS_CPU_LEVELS];

/* Whether one of the words of `flags`, which white space separates, is `flag`. */
bool ks_cpu_flags_has(const char *flags, const char *flag);

/* The highest level of a CPU that has these flags: those of each level up to it. The first one is
 * not checked, as every CPU of x86-64 has it. Borrowed. */
const char *ks_cpu_level_of(const char *flags);

#endif
