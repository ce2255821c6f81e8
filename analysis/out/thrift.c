/* SPDX-License-Identifier: MIT */
/* thrift.c - encodes Thrift's compact protocol, for the metadata of Parquet */
#include "analysis/out/thrift.h"

#include <assert.h>
#include <string.h>

void ks_thrift_init(struct ks_thrift *t, struct ks_buf *to)
{
    *t = (struct ks_thrift){ .to = to, .depth = 1 };
}

static void put_varint(struct ks_thrift *t, uint64_t v)
{
    for (; v >= 0x80; v >>= 7)
        ks_buf_u8(t->to, (uint8_t)(v | 0x80));
    ks_buf_u8(t->to, (uint8_t)v);
}

static void put_zigzag(struct ks_thrift *t, int64_t v)
{
    put_varint(t, ((uint64_t)v << 1) ^ (uint64_t)(v < 0 ? -1 : 0));
}

static void put_field(struct ks_thrift *t, int16_t id, int type)
{
    int16_t *last = &t->last[t->depth - 1];
    int step = id - *last;

    if (step > 0 && step <= 15) {
        ks_buf_u8(t->to, (uint8_t)(step << 4 | type));
    } else {
        ks_buf_u8(t->to, (uint8_t)type);
        put_zigzag(t, id);
    }
    *last = id;
}

static void open_struct(struct ks_thrift *t)
{
    assert(t->depth < KS_THRIFT_DEPTH);
    t->last[t->depth++] = 0;
}

void ks_thrift_end(struct ks_thrift *t)
{
    ks_buf_u8(t->to, 0);
    t->depth--;
}

void ks_thrift_i8(struct ks_thrift *t, int16_t id, int8_t v)
{
    put_field(t, id, KS_THRIFT_I8);
    ks_buf_u8(t->to, (uint8_t)v);
}

void ks_thrift_i32(struct ks_thrift *t, int16_t id, int32_t v)
{
    put_field(t, id, KS_THRIFT_I32);
    put_zigzag(t, v);
}

void ks_thrift_i64(struct ks_thrift *t, int16_t id, int64_t v)
{
    put_field(t, id, KS_THRIFT_I64);
    put_zigzag(t, v);
}

void ks_thrift_bool(struct ks_thrift *t, int16_t id, int v)
{
    put_field(t, id, v ? KS_THRIFT_TRUE : KS_THRIFT_FALSE);
}

void ks_thrift_bytes(struct ks_thrift *t, int16_t id, const void *bytes, size_t n)
{
    put_field(t, id, KS_THRIFT_BINARY);
    put_varint(t, n);
    ks_buf_put(t->to, bytes, n);
}

void ks_thrift_text(struct ks_thrift *t, int16_t id, const char *text)
{
    ks_thrift_bytes(t, id, text, strlen(text));
}

void ks_thrift_struct(struct ks_thrift *t, int16_t id)
{
    put_field(t, id, KS_THRIFT_STRUCT);
    open_struct(t);
}

void ks_thrift_list(struct ks_thrift *t, int16_t id, enum ks_thrift_type of, uint32_t n)
{
    put_field(t, id, KS_THRIFT_LIST);
    if (n < 15) {
        ks_buf_u8(t->to, (uint8_t)(n << 4 | of));
    } else {
        ks_buf_u8(t->to, (uint8_t)(0xf0 | of));
        put_varint(t, n);
    }
}

void ks_thrift_element_i32(struct ks_thrift *t, int32_t v)
{
    put_zigzag(t, v);
}

void ks_thrift_element_text(struct ks_thrift *t, const char *text)
{
    put_varint(t, strlen(text));
    ks_buf_put(t->to, text, strlen(text));
}

void ks_thrift_element_struct(struct ks_thrift *t)
{
    open_struct(t);
}
