/* SPDX-License-Identifier: MIT */
/* parquet_page.h - a row group as the bytes of a Parquet file: column chunks of zstd pages, and
 * their metadata. Private to parquet*.c.
 * Source: github.com/apache/parquet-format 2.10, README.md, Encodings.md, parquet.thrift. */
#ifndef KS_ANALYSIS_PARQUET_PAGE_H
#define KS_ANALYSIS_PARQUET_PAGE_H

#include "analysis/out/parquet_group.h"
#include "analysis/out/sink.h"

#include <zstd.h>

/* Numbers of parquet.thrift. */
enum { PQ_INT64 = 2, PQ_FLOAT = 4, PQ_DOUBLE = 5, PQ_BYTE_ARRAY = 6 };

struct ks_pq_writer {
    ZSTD_CCtx *zstd;
    struct ks_sink *to;         /* borrowed */
    uint64_t at;                /* bytes that went to the sink: offsets in the file */
    struct ks_buf page, packed; /* of one page, before and after compression */
    struct ks_buf groups;       /* metadata of all row groups, one after the other */
    uint32_t n_groups;
    uint64_t n_rows;
};

int ks_pq_writer_init(struct ks_pq_writer *w, struct ks_sink *to, struct ks_err *err);
void ks_pq_writer_release(struct ks_pq_writer *w);
int ks_pq_physical(uint8_t kind); /* of a column: PQ_INT64 ... */

/* Bytes that belong to the file, counted. */
int ks_pq_emit(struct ks_pq_writer *w, const void *bytes, size_t n, struct ks_err *err);
/* The rows as one row group. KS_ENOMEM, KS_EIO, KS_ENOSPC. */
int ks_pq_put_group(struct ks_pq_writer *w, const struct ks_pq_group *g, struct ks_err *err);

#endif
