/* SPDX-License-Identifier: MIT */
/* frame.c - frames and their fields: writes them, and finds them again in damaged streams */
#include "record/frame.h"
#include "base/hash.h"

#include <assert.h>
#include <string.h>

#define SYNC_SIZE      8u
#define HEADER_COVERED 16u /* bytes under header_crc */
#define FIELD_HEADER   6u

static void put_le(uint8_t *at, uint64_t v, size_t n)
{
    for (size_t i = 0; i < n; i++)
        at[i] = (uint8_t)(v >> (8 * i));
}

static uint64_t get_le(const uint8_t *at, size_t n)
{
    uint64_t v = 0;

    for (size_t i = 0; i < n; i++)
        v |= (uint64_t)at[i] << (8 * i);
    return v;
}

/* In the order of KS_FRAME_LIST; a test holds the two against each other. */
static const char *const type_names[] = {
    "segment",     "job",           "heartbeat",  "problem",       "instance",    "host",
    "device",      "build",         "start",      "done",          "output",      "block",
    "event",       "close",         "race",       "found",         "program",     "req_setup",
    "req_problem", "req_cell",      "req_canary", "req_end",       "req_program", "ready",
    "probe",       "msg_hello",     "msg_lease",  "msg_lease_end", "msg_ack",     "msg_beat",
    "msg_build",   "msg_build_end", "msg_drain",  "msg_bye",       "msg_fetch",   "msg_send",
    "msg_sent",    "msg_piece",     "msg_output",
};
static const uint16_t type_values[] = {
#define X(name, value) value,
    KS_FRAME_LIST(X)
#undef X
};
_Static_assert(sizeof(type_names) / sizeof(type_names[0]) ==
                   sizeof(type_values) / sizeof(type_values[0]),
               "unnamed frame type");

const char *ks_frame_type_name(uint16_t type)
{
    for (size_t i = 0; i < sizeof(type_values) / sizeof(type_values[0]); i++)
        if (type_values[i] == type)
            return type_names[i];
    return "?";
}

void ks_frame_put(struct ks_buf *to, uint16_t type, const void *body, size_t n)
{
    uint8_t h[KS_FRAME_HEADER];

    assert(n <= KS_FRAME_BODY_MAX);
    memcpy(h, KS_FRAME_SYNC, SYNC_SIZE);
    put_le(h + 8, type, 2);
    put_le(h + 10, KS_FRAME_VERSION, 2);
    put_le(h + 12, n, 4);
    put_le(h + 16, ks_crc32c(0, h, HEADER_COVERED), 4);
    put_le(h + 20, n ? ks_crc32c(0, body, n) : 0, 4);
    ks_buf_put(to, h, sizeof(h));
    ks_buf_put(to, body, n);
}

size_t ks_frame_size(const uint8_t *header)
{
    return KS_FRAME_HEADER + (size_t)get_le(header + 12, 4);
}

void ks_tag_bytes(struct ks_buf *b, uint16_t tag, const void *bytes, size_t n)
{
    uint8_t h[FIELD_HEADER];

    assert(n <= KS_FRAME_BODY_MAX);
    put_le(h, tag, 2);
    put_le(h + 2, n, 4);
    ks_buf_put(b, h, sizeof(h));
    ks_buf_put(b, bytes, n);
}

void ks_tag_text(struct ks_buf *b, uint16_t tag, const char *text)
{
    ks_tag_bytes(b, tag, text, strlen(text));
}

static void tag_number(struct ks_buf *b, uint16_t tag, uint64_t v, size_t width)
{
    uint8_t f[FIELD_HEADER + 8];

    put_le(f, tag, 2);
    put_le(f + 2, width, 4);
    put_le(f + FIELD_HEADER, v, width);
    ks_buf_put(b, f, FIELD_HEADER + width);
}

void ks_tag_u64(struct ks_buf *b, uint16_t tag, uint64_t v)
{
    tag_number(b, tag, v, v <= UINT8_MAX ? 1 : v <= UINT16_MAX ? 2 : v <= UINT32_MAX ? 4 : 8);
}

void ks_tag_f64(struct ks_buf *b, uint16_t tag, double v)
{
    uint64_t bits;

    memcpy(&bits, &v, sizeof(bits));
    tag_number(b, tag, bits, 8);
}

bool ks_body_next(struct ks_cur *body, struct ks_field *f_out, bool *bad)
{
    size_t n;

    if (body->left == 0)
        return false;
    n = body->left >= FIELD_HEADER ? (size_t)get_le(body->p + 2, 4) : 0;
    if (body->left < FIELD_HEADER || n > body->left - FIELD_HEADER) {
        *bad = true;
        return false;
    }
    f_out->tag = (uint16_t)get_le(body->p, 2);
    f_out->bytes = body->p + FIELD_HEADER;
    f_out->n = n;
    body->p += FIELD_HEADER + n;
    body->left -= FIELD_HEADER + n;
    return true;
}

uint64_t ks_field_u64(const struct ks_field *f)
{
    return f->n <= 8 ? get_le(f->bytes, f->n) : 0;
}

double ks_field_f64(const struct ks_field *f)
{
    uint64_t bits = ks_field_u64(f);
    uint32_t narrow = (uint32_t)bits;
    double v;
    float s;

    if (f->n == sizeof(s)) {
        memcpy(&s, &narrow, sizeof(s));
        return s;
    }
    memcpy(&v, &bits, sizeof(v));
    return v;
}

void ks_field_text(const struct ks_field *f, char *out, size_t cap)
{
    size_t n = f->n < cap ? f->n : cap - 1;

    memcpy(out, f->bytes, n);
    out[n] = '\0';
}

void ks_frame_reader_init(struct ks_frame_reader *r)
{
    *r = (struct ks_frame_reader){ .at = 0 };
    ks_buf_init(&r->in);
}

void ks_frame_reader_release(struct ks_frame_reader *r)
{
    ks_buf_release(&r->in);
    ks_frame_reader_init(r);
}

int ks_frame_feed(struct ks_frame_reader *r, const void *bytes, size_t n, struct ks_err *err)
{
    /* Moving what is left only when that is the smaller part keeps the cost linear. */
    if (r->at > r->in.len / 2) {
        ks_buf_drop(&r->in, r->at);
        r->base += r->at;
        r->at = 0;
    }
    ks_buf_put(&r->in, bytes, n);
    if (!ks_buf_ok(&r->in))
        return ks_fail(err, KS_ENOMEM, "no memory for %zu more bytes of a stream", n);
    return 0;
}

/* n bytes at the read position belong to no frame. */
static void skip_damaged(struct ks_frame_reader *r, size_t n)
{
    uint64_t offset = r->base + r->at;

    if (n == 0)
        return;
    if (r->n_damaged_places == 0)
        r->damage_offset = offset;
    if (r->n_damaged_places == 0 || r->damage_end != offset)
        r->n_damaged_places++;
    r->damage_end = offset + n;
    r->n_damaged_bytes += n;
    r->at += n;
}

/* Bytes before the next sync word, or before what may become one when more bytes come. */
static size_t distance_to_sync(const uint8_t *p, size_t n, bool is_ended)
{
    size_t i = 0;

    while (i < n) {
        const uint8_t *hit = memchr(p + i, KS_FRAME_SYNC[0] & 0xff, n - i);
        size_t have;

        if (!hit)
            return n;
        i = (size_t)(hit - p);
        have = n - i < SYNC_SIZE ? n - i : SYNC_SIZE;
        if (memcmp(hit, KS_FRAME_SYNC, have) == 0 && (have == SYNC_SIZE || !is_ended))
            return i;
        i++;
    }
    return n;
}

enum look { LOOK_FRAME, LOOK_MORE, LOOK_DAMAGED };

/* What stands at p, which begins with as much of a sync word as there are bytes. */
static enum look look_at(const uint8_t *p, size_t n, struct ks_frame *f)
{
    size_t length;

    if (n < KS_FRAME_HEADER)
        return LOOK_MORE;
    length = (size_t)get_le(p + 12, 4);
    if (ks_crc32c(0, p, HEADER_COVERED) != get_le(p + 16, 4) || length > KS_FRAME_BODY_MAX)
        return LOOK_DAMAGED;
    if (n - KS_FRAME_HEADER < length)
        return LOOK_MORE;
    if (ks_crc32c(0, p + KS_FRAME_HEADER, length) != get_le(p + 20, 4))
        return LOOK_DAMAGED;
    f->type = (uint16_t)get_le(p + 8, 2);
    f->version = (uint16_t)get_le(p + 10, 2);
    f->body = p + KS_FRAME_HEADER;
    f->n = length;
    return LOOK_FRAME;
}

int ks_frame_next(struct ks_frame_reader *r, struct ks_frame *f_out)
{
    while (r->at < r->in.len) {
        const uint8_t *p = r->in.data + r->at;
        size_t n = r->in.len - r->at;
        size_t skip = distance_to_sync(p, n, r->is_ended);
        enum look look = LOOK_DAMAGED;

        if (skip == 0)
            look = look_at(p, n, f_out);
        if (look == LOOK_FRAME) {
            f_out->offset = r->base + r->at;
            r->at += KS_FRAME_HEADER + f_out->n;
            r->n_frames++;
            return 1;
        }
        if (look == LOOK_MORE && !r->is_ended)
            return 0;
        skip_damaged(r, skip ? skip : 1);
    }
    return 0;
}

void ks_frame_erase(struct ks_frame_reader *r, const struct ks_frame *f)
{
    size_t at = (size_t)(f->offset - r->base), n = KS_FRAME_HEADER + f->n;

    explicit_bzero(r->in.data + at, n);
    explicit_bzero(r->in.data + r->in.len, r->in.cap - r->in.len);
}

size_t ks_frame_left(const struct ks_frame_reader *r)
{
    return r->in.len - r->at;
}

void ks_frame_finish(struct ks_frame_reader *r)
{
    r->is_ended = true;
}
