/* SPDX-License-Identifier: MIT */
/* buf.c - growing byte buffers, little-endian encoding, and a bounds-checked cursor to decode it */
#include "base/buf.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void ks_buf_init(struct ks_buf *b)
{
    *b = (struct ks_buf){ .data = NULL };
}

void ks_buf_release(struct ks_buf *b)
{
    free(b->data);
    ks_buf_init(b);
}

void ks_buf_clear(struct ks_buf *b)
{
    b->len = 0;
    b->failed = false;
    if (b->data)
        b->data[0] = '\0';
}

bool ks_buf_ok(const struct ks_buf *b)
{
    return !b->failed;
}

/* The final NUL has its room, too. */
bool ks_buf_reserve(struct ks_buf *b, size_t n)
{
    size_t cap = b->cap ? b->cap : 64;
    uint8_t *p;

    if (b->failed)
        return false;
    if (n >= SIZE_MAX / 2 - b->len) {
        b->failed = true;
        return false;
    }
    if (b->data && b->len + n + 1 <= b->cap)
        return true;
    while (cap < b->len + n + 1)
        cap *= 2;
    p = realloc(b->data, cap);
    if (!p) {
        b->failed = true;
        return false;
    }
    b->data = p;
    b->cap = cap;
    return true;
}

void ks_buf_put(struct ks_buf *b, const void *bytes, size_t n)
{
    if (!ks_buf_reserve(b, n))
        return;
    if (n)
        memcpy(b->data + b->len, bytes, n);
    b->len += n;
    b->data[b->len] = '\0';
}

static void put_le(struct ks_buf *b, uint64_t v, size_t n)
{
    uint8_t bytes[8];

    for (size_t i = 0; i < n; i++)
        bytes[i] = (uint8_t)(v >> (8 * i));
    ks_buf_put(b, bytes, n);
}

void ks_buf_u8(struct ks_buf *b, uint8_t v)
{
    put_le(b, v, 1);
}

void ks_buf_u16(struct ks_buf *b, uint16_t v)
{
    put_le(b, v, 2);
}

void ks_buf_u32(struct ks_buf *b, uint32_t v)
{
    put_le(b, v, 4);
}

void ks_buf_u64(struct ks_buf *b, uint64_t v)
{
    put_le(b, v, 8);
}

void ks_buf_f64(struct ks_buf *b, double v)
{
    uint64_t bits;

    memcpy(&bits, &v, sizeof(bits));
    put_le(b, bits, 8);
}

void ks_buf_vprintf(struct ks_buf *b, const char *fmt, va_list ap)
{
    va_list again;
    int n;

    va_copy(again, ap);
    n = vsnprintf(NULL, 0, fmt, again);
    va_end(again);
    if (n < 0) {
        b->failed = true;
        return;
    }
    if (!ks_buf_reserve(b, (size_t)n))
        return;
    vsnprintf((char *)b->data + b->len, (size_t)n + 1, fmt, ap);
    b->len += (size_t)n;
}

void ks_buf_printf(struct ks_buf *b, const char *fmt, ...)
{
    va_list ap;

    va_start(ap, fmt);
    ks_buf_vprintf(b, fmt, ap);
    va_end(ap);
}

const char *ks_buf_text(const struct ks_buf *b)
{
    return b->data ? (const char *)b->data : "";
}

void ks_buf_drop(struct ks_buf *b, size_t n)
{
    if (!b->data)
        return;
    if (n > b->len)
        n = b->len;
    b->len -= n;
    memmove(b->data, b->data + n, b->len);
    b->data[b->len] = '\0';
}

void ks_buf_cut(struct ks_buf *b, size_t len)
{
    if (len >= b->len)
        return;
    b->len = len;
    b->data[len] = '\0';
}

void ks_f64_text(double v, char text_out[32])
{
    for (int digits = 15; digits <= 17; digits++) {
        snprintf(text_out, 32, "%.*g", digits, v);
        if (strtod(text_out, NULL) == v)
            return;
    }
}

struct ks_cur ks_cur(const void *bytes, size_t n)
{
    return (struct ks_cur){ .p = bytes, .left = n };
}

const void *ks_cur_take(struct ks_cur *c, size_t n)
{
    const uint8_t *p = c->p;

    if (c->failed || n > c->left) {
        c->failed = true;
        return NULL;
    }
    if (n)
        c->p += n;
    c->left -= n;
    return p;
}

static uint64_t get_le(struct ks_cur *c, size_t n)
{
    const uint8_t *p = ks_cur_take(c, n);
    uint64_t v = 0;

    for (size_t i = 0; p && i < n; i++)
        v |= (uint64_t)p[i] << (8 * i);
    return v;
}

uint8_t ks_cur_u8(struct ks_cur *c)
{
    return (uint8_t)get_le(c, 1);
}

uint16_t ks_cur_u16(struct ks_cur *c)
{
    return (uint16_t)get_le(c, 2);
}

uint32_t ks_cur_u32(struct ks_cur *c)
{
    return (uint32_t)get_le(c, 4);
}

uint64_t ks_cur_u64(struct ks_cur *c)
{
    return get_le(c, 8);
}

double ks_cur_f64(struct ks_cur *c)
{
    uint64_t bits = get_le(c, 8);
    double v;

    memcpy(&v, &bits, sizeof(v));
    return v;
}
