/* SPDX-License-Identifier: MIT */
/* formats.c - the formats of results that can be imported, in the order of sniffing */
#include "analysis/import/intake.h"

#include <stddef.h>

const struct ks_intake_format *const ks_intake_formats[] = {
    &ks_intake_fdb,          &ks_intake_ck,
    &ks_intake_t4,           &ks_intake_kernel_tuner,
    &ks_intake_ktt,          &ks_intake_profiler_results,
    &ks_intake_profiler_log, NULL
};
