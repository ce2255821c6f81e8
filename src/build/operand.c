/* SPDX-License-Identifier: MIT */
/* operand.c - the memory operand of vector instructions, read backwards from its displacement.
 *
 * The byte before a displacement is ModRM, the one before that the opcode, and before that stands
 * the prefix: C5 with one byte, C4 with two, 62 with three. Bytes of the instruction before may
 * look like a prefix, too: whatever fits two readings is not answered. */
#include "build/operand.h"

#define P_NONE   0u
#define P_66     1u
#define P_F3     2u
#define P_F2     3u
#define HALF     2u /* of the vector, as 1/n */
#define QUARTER  4u
#define EIGHTH   8u
#define BY_W     0x80u /* 8 bytes with W, else 4 */
#define BYTES(n) (0x100u + (n))

struct encoding {
    uint32_t map, pp, op, vector_bytes;
    bool w, is_broadcast; /* of one element */
};

/* What reads less than its whole vector. Anything that is not here counts as the whole, at least 16
 * bytes: too much for a few, never too little (ks_operand_at knows the one exception). */
static const struct narrow {
    uint8_t map, pp, first, last; /* opcodes */
    uint16_t reads;
} narrow[] = {
    { 1, P_F3, 0x10, 0x10, BYTES(4) },   { 1, P_F2, 0x10, 0x10, BYTES(8) },  /* movss movsd */
    { 1, P_NONE, 0x12, 0x12, BYTES(8) }, { 1, P_66, 0x12, 0x12, BYTES(8) },  /* movlps */
    { 1, P_NONE, 0x16, 0x16, BYTES(8) }, { 1, P_66, 0x16, 0x16, BYTES(8) },  /* movhps */
    { 1, P_F3, 0x2a, 0x2a, BY_W },       { 1, P_F2, 0x2a, 0x2a, BY_W },      /* cvtsi2ss */
    { 1, P_F3, 0x2c, 0x2d, BYTES(4) },   { 1, P_F2, 0x2c, 0x2d, BYTES(8) },  /* cvtss2si */
    { 1, P_NONE, 0x2e, 0x2f, BYTES(4) }, { 1, P_66, 0x2e, 0x2f, BYTES(8) },  /* ucomiss */
    { 1, P_F3, 0x51, 0x53, BYTES(4) },   { 1, P_F2, 0x51, 0x51, BYTES(8) },  /* sqrt rsqrt rcp */
    { 1, P_F3, 0x58, 0x5a, BYTES(4) },   { 1, P_F2, 0x58, 0x5a, BYTES(8) },  /* add mul cvtss2sd */
    { 1, P_NONE, 0x5a, 0x5a, HALF },                                         /* cvtps2pd */
    { 1, P_F3, 0x5c, 0x5f, BYTES(4) },   { 1, P_F2, 0x5c, 0x5f, BYTES(8) },  /* sub min div max */
    { 1, P_66, 0x6e, 0x6e, BY_W },       { 1, P_F3, 0x7e, 0x7e, BYTES(8) },  /* movd movq */
    { 1, P_F3, 0xc2, 0xc2, BYTES(4) },   { 1, P_F2, 0xc2, 0xc2, BYTES(8) },  /* cmpss */
    { 1, P_66, 0xc4, 0xc4, BYTES(2) },                                       /* pinsrw */
    { 1, P_66, 0xd1, 0xd3, BYTES(16) },  { 1, P_66, 0xe1, 0xe2, BYTES(16) }, /* shift by xmm */
    { 1, P_66, 0xf1, 0xf3, BYTES(16) },  { 2, P_66, 0x13, 0x13, HALF },      /* cvtph2ps */
    { 2, P_66, 0x18, 0x18, BYTES(4) },   { 2, P_66, 0x19, 0x19, BYTES(8) },  /* broadcast */
    { 2, P_66, 0x1a, 0x1a, BYTES(16) },  { 2, P_66, 0x1b, 0x1b, BYTES(32) },
    { 2, P_66, 0x20, 0x20, HALF },       { 2, P_66, 0x21, 0x21, QUARTER }, /* pmovsx */
    { 2, P_66, 0x22, 0x22, EIGHTH },     { 2, P_66, 0x23, 0x23, HALF },
    { 2, P_66, 0x24, 0x24, QUARTER },    { 2, P_66, 0x25, 0x25, HALF },
    { 2, P_66, 0x30, 0x30, HALF },       { 2, P_66, 0x31, 0x31, QUARTER }, /* pmovzx */
    { 2, P_66, 0x32, 0x32, EIGHTH },     { 2, P_66, 0x33, 0x33, HALF },
    { 2, P_66, 0x34, 0x34, QUARTER },    { 2, P_66, 0x35, 0x35, HALF },
    { 2, P_66, 0x58, 0x58, BYTES(4) },   { 2, P_66, 0x59, 0x59, BYTES(8) }, /* pbroadcast */
    { 2, P_66, 0x5a, 0x5a, BYTES(16) },  { 2, P_66, 0x5b, 0x5b, BYTES(32) },
    { 2, P_66, 0x78, 0x78, BYTES(1) },   { 2, P_66, 0x79, 0x79, BYTES(2) },
    { 2, P_66, 0x99, 0x99, BY_W },       { 2, P_66, 0x9b, 0x9b, BY_W }, /* scalar FMA */
    { 2, P_66, 0x9d, 0x9d, BY_W },       { 2, P_66, 0x9f, 0x9f, BY_W },
    { 2, P_66, 0xa9, 0xa9, BY_W },       { 2, P_66, 0xab, 0xab, BY_W },
    { 2, P_66, 0xad, 0xad, BY_W },       { 2, P_66, 0xaf, 0xaf, BY_W },
    { 2, P_66, 0xb9, 0xb9, BY_W },       { 2, P_66, 0xbb, 0xbb, BY_W },
    { 2, P_66, 0xbd, 0xbd, BY_W },       { 2, P_66, 0xbf, 0xbf, BY_W },
    { 3, P_66, 0x0a, 0x0a, BYTES(4) },   { 3, P_66, 0x0b, 0x0b, BYTES(8) },  /* roundss */
    { 3, P_66, 0x18, 0x18, BYTES(16) },  { 3, P_66, 0x38, 0x38, BYTES(16) }, /* insert */
    { 3, P_66, 0x1a, 0x1a, BYTES(32) },  { 3, P_66, 0x3a, 0x3a, BYTES(32) },
    { 3, P_66, 0x20, 0x20, BYTES(1) },   { 3, P_66, 0x21, 0x21, BYTES(4) }, /* pinsrb insertps */
    { 3, P_66, 0x22, 0x22, BY_W },                                          /* pinsrd */
};

static uint32_t bytes_read(const struct encoding *e)
{
    if (e->is_broadcast)
        return e->w ? 8 : 4;
    for (size_t i = 0; i < sizeof(narrow) / sizeof(*narrow); i++) {
        const struct narrow *r = &narrow[i];
        if (r->map != e->map || r->pp != e->pp || e->op < r->first || e->op > r->last)
            continue;
        if (r->reads == BY_W)
            return e->w ? 8 : 4;
        return r->reads >= BYTES(0) ? r->reads - BYTES(0) : e->vector_bytes / r->reads;
    }
    return e->vector_bytes;
}

static uint32_t immediate_bytes(const struct encoding *e)
{
    return e->map == 3 || (e->map == 1 && ((e->op >= 0x70 && e->op <= 0x73) || e->op == 0xc2 ||
                                           (e->op >= 0xc4 && e->op <= 0xc6)));
}

static bool read_vex2(const uint8_t *end, size_t n, struct encoding *e)
{
    if (n < 4 || end[-4] != 0xc5)
        return false;
    *e = (struct encoding){
        .map = 1, .pp = end[-3] & 3u, .op = end[-2], .vector_bytes = end[-3] & 4 ? 32 : 16
    };
    return true;
}

static bool read_vex3(const uint8_t *end, size_t n, struct encoding *e)
{
    if (n < 5 || end[-5] != 0xc4 || (end[-4] & 31) < 1 || (end[-4] & 31) > 3)
        return false;
    *e = (struct encoding){ .map = end[-4] & 31u,
                            .pp = end[-3] & 3u,
                            .op = end[-2],
                            .w = end[-3] & 0x80,
                            .vector_bytes = end[-3] & 4 ? 32 : 16 };
    return true;
}

/* The maps of half precision, 5 and 6, are not answered. */
static bool read_evex(const uint8_t *end, size_t n, struct encoding *e)
{
    if (n < 6 || end[-6] != 0x62 || (end[-5] & 15) < 1 || (end[-5] & 15) > 3 || !(end[-4] & 4) ||
        (end[-3] & 0x60) == 0x60)
        return false;
    *e = (struct encoding){ .map = end[-5] & 15u,
                            .pp = end[-4] & 3u,
                            .op = end[-2],
                            .w = end[-4] & 0x80,
                            .is_broadcast = end[-3] & 0x10,
                            .vector_bytes = 16u << (end[-3] >> 5 & 3) };
    return true;
}

/* An opcode of the time before these prefixes: 0F xx, 0F 38 xx, 0F 3A xx. */
static bool may_be_legacy(const uint8_t *end, size_t n)
{
    return (n >= 3 && end[-3] == 0x0f) ||
           (n >= 4 && end[-4] == 0x0f && (end[-3] == 0x38 || end[-3] == 0x3a));
}

bool ks_operand_at(const uint8_t *code, size_t at, struct ks_operand *out)
{
    const uint8_t *end = code + at;
    struct encoding e[3] = { { .map = 0 } };
    size_t n = 0;
    if (at < 4 || (end[-1] & 0xc7) != 0x05 || may_be_legacy(end, at))
        return false;
    n += read_vex2(end, at, &e[n]);
    n += read_vex3(end, at, &e[n]);
    n += read_evex(end, at, &e[n]);
    if (n != 1)
        return false;
    if (e[0].map == 2 && e[0].op == 0x49) /* ldtilecfg reads 64 bytes and says 16 */
        return false;
    *out =
        (struct ks_operand){ .n_bytes = bytes_read(&e[0]), .n_immediate = immediate_bytes(&e[0]) };
    return true;
}
