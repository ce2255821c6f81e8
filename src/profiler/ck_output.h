/* SPDX-License-Identifier: MIT */
/* ck_output.h - what ckProfiler prints; slots of struct ks_profiler. */
#ifndef KS_PROFILER_CK_OUTPUT_H
#define KS_PROFILER_CK_OUTPUT_H

#include "profiler/profiler_impl.h"

void *ks_ck_state_new(const void *options, const struct ks_problem *p,
                      const struct ks_profiler_choice *choice);
void ks_ck_state_free(void *state);
int ks_ck_line(struct ks_profiler_reader *r, char *text, size_t n, struct ks_err *err);
/* Class and template arguments of "DeviceGroupedConvFwdMultipleABD_Xdl_CShuffle<256, 128, ..>". */
void ks_ck_traits(struct ks_profiler_draft *d);

#endif
