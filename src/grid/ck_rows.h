/* SPDX-License-Identifier: MIT */
/* ck_rows.h - results of Composable Kernel's benchmarks as CSV, row by row: a problem, a kernel and
 * what was measured of them. */
#ifndef KS_GRID_CK_ROWS_H
#define KS_GRID_CK_ROWS_H

#include "base/err.h"
#include "op/op.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Columns of measurements; NULL: the file has none of that name. */
enum ks_ck_field {
    KS_CK_KERNEL,
    KS_CK_LATENCY_MS,
    KS_CK_LATENCY_US,
    KS_CK_TFLOPS,
    KS_CK_NON_ZERO,
    KS_CK_TILE_M,
    KS_CK_TILE_N,
    KS_CK_TILE_K,
    KS_CK_PIPELINE,
    KS_CK_FIELDS
};
struct ks_ck_row {
    const struct ks_problem *p;
    const char *field[KS_CK_FIELDS]; /* borrowed until the next row */
    uint64_t line;
};
typedef int (*ks_ck_row_fn)(void *ctx, const struct ks_ck_row *row, struct ks_err *err);

/* ks_ck_rows() - every row of the text, in order.
 * The 17 and 24 columns of the Python benchmark name direction and dtype in the kernel; the 18
 * columns of its C++ successor (tile_m .. latency_us) name neither: it measures fp16 forward only.
 * Returns 0; KS_EFORMAT "name:line: cause"; KS_ENOMEM; what the function returned. */
int ks_ck_rows(const char *text, size_t len, const char *name, ks_ck_row_fn fn, void *ctx,
               struct ks_err *err);
/* Does the header have the geometry of a convolution and a time? */
bool ks_ck_rows_sniff(const char *text, size_t len);

#endif
