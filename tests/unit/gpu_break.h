/* SPDX-License-Identifier: MIT */
/* gpu_break.h - wrong lines put into the table of a vendor's calls, which must then not compile. */
#ifndef KS_TEST_GPU_BREAK_H
#define KS_TEST_GPU_BREAK_H

#include <stddef.h>

struct gpu_break {
    const char *is, *becomes; /* text that stands in gpu_table.h once */
};

/* gpu_break_all() - compiles src/device/gpu_check_VENDOR.c against the table as it is, which must
 * work, and with each of the breaks alone, which must not. Skips the test when include_dir, where
 * the vendor's headers are, is "". */
void gpu_break_all(const char *vendor, const char *include_dir, const struct gpu_break *breaks,
                   size_t n);

#endif
