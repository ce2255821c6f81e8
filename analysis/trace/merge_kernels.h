/* SPDX-License-Identifier: MIT */
/* merge_kernels.h - device times that were measured apart from a trace: a JSON object
 *
 *     { "aten::addmm_13_1": { "kernel_time": 24.48, "device_memory_usage": 0 }, ... }
 *
 * whose keys are the operator's name, its External id, and the number of its thread: 1 for the
 * smallest thread id of the trace's operators, 2 for the next. The number matters only where a name
 * and an External id occur with several. kernel_time: us on the device, of
 * the operator and all within it. device_memory_usage: bytes; device, stream: numbers, optional. */
#ifndef KS_TRACE_MERGE_KERNELS_H
#define KS_TRACE_MERGE_KERNELS_H

#include "base/err.h"
#include "trace/names.h"

#include <stdbool.h>
#include <stdint.h>

struct ks_merge_entry {
    int64_t time_ns;
    int64_t memory_bytes;   /* -1: not given */
    int64_t device, stream; /* 0 unless given */
    bool is_used;           /* for callers */
};
struct ks_merge_kernels {
    struct ks_names keys;
    struct ks_merge_entry *at; /* [keys.n] */
    uint32_t cap;
    struct ks_names stems; /* keys without the number of the thread */
    uint32_t *of_stem;     /* [cap], stems.n are used: the entry; KS_NAME_NONE: several have it */
    bool has_streams;      /* at least one entry names one */
};

/* path: as ks_trace_source_open (gzip, "-"). KS_EFORMAT: not such an object, a key twice, a time
 * that is negative or no number: names the file and the key. */
int ks_merge_kernels_read(const char *path, struct ks_merge_kernels *out, struct ks_err *err);
/* The same of a text. */
int ks_merge_kernels_parse(const char *text, size_t len, const char *path,
                           struct ks_merge_kernels *out, struct ks_err *err);
/* The entry of an operator; KS_NAME_NONE. key [n]: "name_id_thread", n_stem: without "_thread". */
uint32_t ks_merge_kernels_find(const struct ks_merge_kernels *k, const char *key, size_t n,
                               size_t n_stem);
void ks_merge_kernels_release(struct ks_merge_kernels *k);

#endif
