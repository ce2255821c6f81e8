/* SPDX-License-Identifier: MIT */
/* segment.h - the files of a journal: their names, their order, one pass over one of them. Private
 * to src/journal. */
#ifndef KS_JOURNAL_SEGMENT_H
#define KS_JOURNAL_SEGMENT_H

#include "base/err.h"
#include "record/frame.h"
#include "record/record.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#define KS_HEARTBEAT_TAG 1u /* the only field of KS_F_HEARTBEAT: realtime ns */

struct ks_segment_list {
    uint32_t *number; /* ascending, from 1 */
    size_t n;
};

/* Files named NNNN.ksj; others are not looked at. KS_ENOENT when there is no such directory. */
int ks_segment_list(const char *dir, struct ks_segment_list *out, struct ks_err *err);
void ks_segment_list_release(struct ks_segment_list *l);
int ks_segment_path(char *out, size_t cap, const char *dir, uint32_t number, struct ks_err *err);
/* 0 when there is none. */
int ks_segment_highest(const char *dir, uint32_t *number_out, struct ks_err *err);

struct ks_scan {
    /* NULL: not called. A negative return stops the scan and is its result. */
    int (*on_frame)(void *ctx, const struct ks_frame *f, struct ks_err *err);
    void (*on_gap)(void *ctx, uint64_t offset, uint64_t n_bytes, bool is_tail);
    void *ctx;
    uint64_t limit; /* bytes that count */
};
/* One pass in pieces. *n_bytes_out (may be NULL) = bytes seen below the limit. */
int ks_segment_scan(const char *path, const struct ks_scan *how, uint64_t *n_bytes_out,
                    struct ks_err *err);

/* The KS_F_SEGMENT frame that a segment begins with. 1 = read, 0 = torn or damaged. */
int ks_segment_header(const char *path, struct ks_segment *out, struct ks_err *err);
int ks_segment_size(const char *path, uint64_t *n_bytes_out, struct ks_err *err);

#endif
