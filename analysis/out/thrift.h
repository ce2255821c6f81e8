/* SPDX-License-Identifier: MIT */
/* thrift.h - writes structs in Thrift's compact protocol, as far as Parquet's metadata needs it.
 * Source: github.com/apache/thrift, doc/specs/thrift-compact-protocol.md. */
#ifndef KS_ANALYSIS_THRIFT_H
#define KS_ANALYSIS_THRIFT_H

#include "base/buf.h"

#include <stdint.h>

enum ks_thrift_type {
    KS_THRIFT_TRUE = 1,
    KS_THRIFT_FALSE = 2,
    KS_THRIFT_I8 = 3,
    KS_THRIFT_I16 = 4,
    KS_THRIFT_I32 = 5,
    KS_THRIFT_I64 = 6,
    KS_THRIFT_BINARY = 8,
    KS_THRIFT_LIST = 9,
    KS_THRIFT_STRUCT = 12
};

#define KS_THRIFT_DEPTH 8

struct ks_thrift {
    struct ks_buf *to;             /* borrowed */
    int16_t last[KS_THRIFT_DEPTH]; /* field written last, per open struct */
    int depth;
};

/* The outermost struct is open afterwards. */
void ks_thrift_init(struct ks_thrift *t, struct ks_buf *to);
/* Closes the innermost struct. */
void ks_thrift_end(struct ks_thrift *t);

/* Fields of the innermost struct, with ascending ids. */
void ks_thrift_i8(struct ks_thrift *t, int16_t id, int8_t v);
void ks_thrift_i32(struct ks_thrift *t, int16_t id, int32_t v);
void ks_thrift_i64(struct ks_thrift *t, int16_t id, int64_t v);
void ks_thrift_bool(struct ks_thrift *t, int16_t id, int v);
void ks_thrift_bytes(struct ks_thrift *t, int16_t id, const void *bytes, size_t n);
void ks_thrift_text(struct ks_thrift *t, int16_t id, const char *text);
void ks_thrift_struct(struct ks_thrift *t, int16_t id); /* until ks_thrift_end */
/* n elements follow, without field headers. */
void ks_thrift_list(struct ks_thrift *t, int16_t id, enum ks_thrift_type of, uint32_t n);

/* Elements of a list. */
void ks_thrift_element_i32(struct ks_thrift *t, int32_t v);
void ks_thrift_element_text(struct ks_thrift *t, const char *text);
void ks_thrift_element_struct(struct ks_thrift *t); /* until ks_thrift_end */

#endif
