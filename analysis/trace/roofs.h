/* SPDX-License-Identifier: MIT */
/* roofs.h - roofs that were measured: rocprof-compute's roofline.csv, a line per device. */
#ifndef KS_TRACE_ROOFS_H
#define KS_TRACE_ROOFS_H

#include "analysis/out/svg_roofline.h"
#include "base/err.h"

#include <stdint.h>

enum { KS_ROOFS_MAX = 24 };
struct ks_roofs {
    struct ks_roof at[KS_ROOFS_MAX]; /* names are static texts */
    size_t n;
    int64_t device; /* that they were measured on; -1: the file does not tell */
};

/* Those of the device with this number, or of the first line where none has it: then out->device is
 * another one, which a chart must say. KS_EFORMAT: a file without such columns, or without a line.
 */
int ks_roofs_parse(const char *text, size_t len, const char *path, int64_t device,
                   struct ks_roofs *out, struct ks_err *err);
int ks_roofs_read(const char *path, int64_t device, struct ks_roofs *out, struct ks_err *err);

#endif
