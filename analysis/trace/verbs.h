/* SPDX-License-Identifier: MIT */
/* verbs.h - the verbs of `ksweep-analyze trace`.
 *
 * To add one: 1. analysis/trace/<verb>.c with `const struct ks_analysis ks_trace_verb_<verb>`,
 * named "trace <verb>"; 2. its declaration here; 3. its row in analysis/cmd/main.c; 4. its sections
 * in docs/traces.md and its rows in tests/e2e/31-trace.sh. */
#ifndef KS_ANALYSIS_TRACE_VERBS_H
#define KS_ANALYSIS_TRACE_VERBS_H

#include "analysis/out/verb.h"

extern const struct ks_analysis ks_trace_verb_analyze, ks_trace_verb_augment, ks_trace_verb_diff,
    ks_trace_verb_combine;
extern const struct ks_analysis ks_trace_verb_merge, ks_trace_verb_counters, ks_trace_verb_roofline,
    ks_trace_verb_compat;

#endif
