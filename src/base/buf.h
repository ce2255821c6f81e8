/* SPDX-License-Identifier: MIT */
/* buf.h - growable bytes, little-endian numbers, and text. Sticky failure: after an allocation
 * fails every further put is ignored and ks_buf_ok() is false, so only the end must be checked. */
#ifndef KS_BASE_BUF_H
#define KS_BASE_BUF_H

#include "base/err.h"

#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct ks_buf {
    uint8_t *data; /* owned; NULL when empty; always NUL-terminated beyond len when not NULL */
    size_t len, cap;
    bool failed;
};

void ks_buf_init(struct ks_buf *b);
void ks_buf_release(struct ks_buf *b);
void ks_buf_clear(struct ks_buf *b); /* len = 0, keeps the memory, resets failed */
bool ks_buf_ok(const struct ks_buf *b);

/* Room for n more bytes, so that putting them moves nothing; false and sticky without memory. */
bool ks_buf_reserve(struct ks_buf *b, size_t n);
void ks_buf_put(struct ks_buf *b, const void *bytes, size_t n);
void ks_buf_u8(struct ks_buf *b, uint8_t v);
void ks_buf_u16(struct ks_buf *b, uint16_t v);
void ks_buf_u32(struct ks_buf *b, uint32_t v);
void ks_buf_u64(struct ks_buf *b, uint64_t v);
void ks_buf_f64(struct ks_buf *b, double v);
void ks_buf_printf(struct ks_buf *b, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
void ks_buf_vprintf(struct ks_buf *b, const char *fmt, va_list ap)
    __attribute__((format(printf, 2, 0)));
const char *ks_buf_text(const struct ks_buf *b); /* NUL-terminated; "" when empty */
void ks_buf_drop(struct ks_buf *b, size_t n);    /* remove the first n bytes */
void ks_buf_cut(struct ks_buf *b, size_t len);   /* remove all but the first len bytes */

/* The shortest of %.15g, %.16g and %.17g that reads back as the same double. */
void ks_f64_text(double v, char text_out[32]);

/* Reading: a cursor over borrowed bytes. A get beyond the end returns 0 and sets failed. */
struct ks_cur {
    const uint8_t *p;
    size_t left;
    bool failed;
};
struct ks_cur ks_cur(const void *bytes, size_t n);
uint8_t ks_cur_u8(struct ks_cur *c);
uint16_t ks_cur_u16(struct ks_cur *c);
uint32_t ks_cur_u32(struct ks_cur *c);
uint64_t ks_cur_u64(struct ks_cur *c);
double ks_cur_f64(struct ks_cur *c);
const void *ks_cur_take(struct ks_cur *c, size_t n); /* NULL beyond the end */

#endif
