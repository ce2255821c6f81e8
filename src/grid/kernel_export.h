/* SPDX-License-Identifier: MIT */
/* kernel_export.h - a set of instances as one JSON file, without loss, which is itself a kernel
 * config:
 *
 *   { "metadata": { "config_files": [..], "arch": "native", "count": 2,
 *                   "families": [ { "name": "host_forward", "path": "kernels/host/x.json" } ] },
 *     "kernels": [ { "id": "16 hex digits", "name": "..", "family": "..", "traits": { all },
 *                    "attributes": { what composite traits stand for } }, .. ] }
 *
 * A family's path is that below the installed data where it lies there, else absolute. Reading
 * demands that names and ids are still those: a family that has changed is an error. */
#ifndef KS_GRID_KERNEL_EXPORT_H
#define KS_GRID_KERNEL_EXPORT_H

#include "base/buf.h"
#include "base/err.h"
#include "grid/family.h"
#include "json/json.h"

#include <stdbool.h>

struct ks_kernel_reader;
extern const struct ks_kernel_reader ks_read_export;

bool ks_kernel_export_is(const struct ks_node *root);
/* The keys "traits" and, where the family has such, "attributes" of an instance. */
void ks_kernel_put_traits(const struct ks_family *f, const struct ks_instance *i, struct ks_jw *w);
/* config_files: NULL-terminated, where the set comes from; a file that is an export stands for the
 * files that it names, so that an export of an export is the same. KS_ENOENT, KS_EFORMAT,
 * KS_EINVAL. */
int ks_kernel_export(const struct ks_kernel_set *set, const char *const *config_files,
                     const char *arch, struct ks_buf *json_out, struct ks_err *err);

#endif
