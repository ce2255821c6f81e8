/* SPDX-License-Identifier: MIT */
/* msgpack.c - reads MessagePack values one by one, without trusting their lengths */
#include "build/msgpack.h"

#include <string.h>

#define MAX_DEPTH 16u

enum form { BAD, SKIP, BYTES, BOOL, UINT, INT, TEXT, LIST, MAP };

/* First bytes 0xc0 to 0xdf: what they begin, how many bytes of a number or length follow, and how
 * many more without meaning to us. */
static const struct {
    uint8_t form, n_number, n_more;
} forms[32] = {
    { SKIP, 0, 0 },  { BAD, 0, 0 },   { BOOL, 0, 0 },  { BOOL, 0, 0 }, /* nil, unused, false, true
                                                                        */
    { BYTES, 1, 0 }, { BYTES, 2, 0 }, { BYTES, 4, 0 },                 /* bin */
    { BYTES, 1, 1 }, { BYTES, 2, 1 }, { BYTES, 4, 1 },                 /* ext: a type more */
    { SKIP, 0, 4 },  { SKIP, 0, 8 },                                   /* float */
    { UINT, 1, 0 },  { UINT, 2, 0 },  { UINT, 4, 0 },  { UINT, 8, 0 }, { INT, 1, 0 },
    { INT, 2, 0 },   { INT, 4, 0 },   { INT, 8, 0 },   { SKIP, 0, 2 }, { SKIP, 0, 3 },
    { SKIP, 0, 5 },  { SKIP, 0, 9 },  { SKIP, 0, 17 }, /* fixext */
    { TEXT, 1, 0 },  { TEXT, 2, 0 },  { TEXT, 4, 0 },  { LIST, 2, 0 }, { LIST, 4, 0 },
    { MAP, 2, 0 },   { MAP, 4, 0 },
};

static uint64_t big_endian(struct ks_cur *c, uint32_t n)
{
    uint64_t v = 0;
    while (n--)
        v = v << 8 | ks_cur_u8(c);
    return v;
}

static struct ks_msgpack number(int64_t v)
{
    return (struct ks_msgpack){ .kind = KS_MP_NUMBER, .number = v };
}

static struct ks_msgpack head(enum ks_msgpack_kind kind, uint64_t n)
{
    return (struct ks_msgpack){ .kind = kind, .n = (uint32_t)n };
}

static struct ks_msgpack payload(struct ks_cur *c, enum ks_msgpack_kind kind, uint64_t n)
{
    struct ks_msgpack m = { .kind = kind, .n = (uint32_t)n };
    m.text = ks_cur_take(c, (size_t)n);
    return m;
}

static struct ks_msgpack next_formed(struct ks_cur *c, uint8_t first)
{
    const uint32_t n = forms[first - 0xc0].n_number, n_more = forms[first - 0xc0].n_more;
    const uint64_t v = big_endian(c, n);
    switch (forms[first - 0xc0].form) {
    case SKIP:
        return payload(c, KS_MP_OTHER, n_more);
    case BYTES:
        return payload(c, KS_MP_OTHER, v + n_more);
    case BOOL:
        return number(first & 1);
    case UINT:
        return v > INT64_MAX ? head(KS_MP_OTHER, 0) : number((int64_t)v);
    case INT:
        return number((int64_t)(v << (64 - 8 * n)) >> (64 - 8 * n));
    case TEXT:
        return payload(c, KS_MP_TEXT, v);
    case LIST:
        return head(KS_MP_LIST, v);
    case MAP:
        return head(KS_MP_MAP, v);
    default:
        return head(KS_MP_BAD, 0);
    }
}

struct ks_msgpack ks_msgpack_next(struct ks_cur *c)
{
    const uint8_t first = ks_cur_u8(c);
    struct ks_msgpack m;
    if (first < 0x80 || first >= 0xe0)
        m = number((int8_t)first);
    else if (first < 0x90)
        m = head(KS_MP_MAP, first & 15u);
    else if (first < 0xa0)
        m = head(KS_MP_LIST, first & 15u);
    else if (first < 0xc0)
        m = payload(c, KS_MP_TEXT, first & 31u);
    else
        m = next_formed(c, first);
    return c->failed ? (struct ks_msgpack){ .kind = KS_MP_BAD } : m;
}

/* Every value takes a byte at least: a length that is not true ends with the bytes. */
static bool skip(struct ks_cur *c, uint32_t depth)
{
    const struct ks_msgpack m = ks_msgpack_next(c);
    uint64_t n = m.kind == KS_MP_MAP ? 2ull * m.n : m.kind == KS_MP_LIST ? m.n : 0;
    if (m.kind == KS_MP_BAD || depth > MAX_DEPTH)
        return false;
    while (n--)
        if (!skip(c, depth + 1))
            return false;
    return true;
}

bool ks_msgpack_skip(struct ks_cur *c)
{
    return skip(c, 0);
}

bool ks_msgpack_is(const struct ks_msgpack *m, const char *text)
{
    return m->kind == KS_MP_TEXT && m->n == strlen(text) && memcmp(m->text, text, m->n) == 0;
}
