/* SPDX-License-Identifier: MIT */
/* signs.c - flips signs of operands by seed, so that the result's signs are known */
#include "op/signs.h"

#include "base/hash.h"
#include "op/clones.h"

#include <endian.h>
#include <stdlib.h>
#include <string.h>

#define BITS_OF_WORD 64

static int64_t extent_of(const struct ks_sign_map map[3], enum ks_sign_class class)
{
    int64_t n = 1;

    for (int i = 0; i < 3; i++) {
        int64_t last = 0;

        for (int k = 0; k < KS_SIGN_AXES; k++)
            last += (map[i].axis[k].extent - 1) * map[i].axis[k].step[class];
        if (map[i].has[class] && last + 1 > n)
            n = last + 1;
    }
    return n;
}

int ks_signs_create(const struct ks_problem *p, struct ks_signs *out, struct ks_err *err)
{
    struct ks_signs s = { 0 };
    size_t total = 0;
    uint8_t *all;

    for (int i = 0; i < 3; i++)
        ks_operators[p->op]->signs(p, "abc"[i], &s.map[i]);
    for (int c = 0; c < KS_SIGN_CLASSES; c++) {
        s.n[c] = extent_of(s.map, (enum ks_sign_class)c);
        total += (size_t)s.n[c];
    }
    all = calloc(total, 1);
    if (all == NULL)
        return ks_fail(err, KS_ENOMEM, "out of memory for %zu signs of the second inputs", total);
    for (int c = 0; c < KS_SIGN_CLASSES; c++) {
        s.byte[c] = all;
        all += s.n[c];
    }
    *out = s;
    return 0;
}

void ks_signs_release(struct ks_signs *s)
{
    free(s->byte[0]);
    memset(s, 0, sizeof(*s));
}

/* The signs 64 word .. 64 word + 63 of a class. */
static uint64_t bits_of(uint64_t seed, int class, int64_t word)
{
    return seed != 0 ? ks_mix64(seed ^ ks_mix64((uint64_t) class << 56 | (uint64_t)word)) : 0;
}

/* Byte i of the result is KS_SIGN_BIT where bit i of the byte is set: each byte keeps its own bit,
 * and what is missing to 0x80 is added. */
static uint64_t spread(uint64_t byte)
{
    const uint64_t own = (byte * 0x0101010101010101u) & 0x8040201008040201u;

    return (own + 0x00406070787c7e7fu) & 0x8080808080808080u;
}

static void put_bits(uint64_t bits, int64_t n, uint8_t *to)
{
    for (int64_t i = 0; i < n; i += 8, bits >>= 8) {
        const uint64_t eight = htole64(spread(bits & 0xff));

        memcpy(to + i, &eight, (size_t)(n - i < 8 ? n - i : 8));
    }
}

void ks_signs_between(struct ks_signs *s, uint64_t from, uint64_t to)
{
    s->n_set++;
    for (int c = 0; c < KS_SIGN_CLASSES; c++) {
        for (int64_t at = 0; at < s->n[c]; at += BITS_OF_WORD) {
            int64_t n = s->n[c] - at < BITS_OF_WORD ? s->n[c] - at : BITS_OF_WORD;
            uint64_t bits = bits_of(from, c, at / BITS_OF_WORD) ^ bits_of(to, c, at / BITS_OF_WORD);

            put_bits(bits, n, s->byte[c] + at);
        }
    }
}

bool ks_signs_first_is_minus(uint64_t seed)
{
    return ((bits_of(seed, KS_SIGN_ROW, 0) ^ bits_of(seed, KS_SIGN_COLUMN, 0)) & 1) != 0;
}

/* A run of elements of 4 (2) bytes, with signs of their own (NULL: they have none) and one that all
 * of them share. */
KS_CLONES static void flip_32(uint32_t *e, const uint8_t *own, uint8_t shared, int64_t n)
{
    uint32_t all = (uint32_t)shared << 24;

    if (own == NULL)
        for (int64_t i = 0; i < n; i++)
            e[i] ^= all;
    else
        for (int64_t i = 0; i < n; i++)
            e[i] ^= all ^ (uint32_t)own[i] << 24;
}

KS_CLONES static void flip_16(uint16_t *e, const uint8_t *own, uint8_t shared, int64_t n)
{
    uint16_t all = (uint16_t)(shared << 8);

    if (own == NULL)
        for (int64_t i = 0; i < n; i++)
            e[i] = (uint16_t)(e[i] ^ all);
    else
        for (int64_t i = 0; i < n; i++)
            e[i] = (uint16_t)(e[i] ^ all ^ own[i] << 8);
}

/* Runs along the last axis, one after the other. */
struct walk {
    const struct ks_signs *s;
    const struct ks_sign_map *map;
    size_t element_bytes;
    uint8_t *at;
};

static void flip_run(struct walk *w, const int64_t index[KS_SIGN_CLASSES])
{
    const struct ks_sign_axis *last = &w->map->axis[KS_SIGN_AXES - 1];
    const uint8_t *own = NULL;
    uint8_t shared = 0;

    for (int c = 0; c < KS_SIGN_CLASSES; c++) {
        if (!w->map->has[c])
            continue;
        if (last->step[c] != 0)
            own = w->s->byte[c] + index[c];
        else
            shared ^= w->s->byte[c][index[c]];
    }
    if (w->element_bytes == sizeof(uint32_t))
        flip_32((uint32_t *)(void *)w->at, own, shared, last->extent);
    else
        flip_16((uint16_t *)(void *)w->at, own, shared, last->extent);
    w->at += (size_t)last->extent * w->element_bytes;
}

void ks_signs_flip(const struct ks_signs *s, char operand, uint32_t dtype, void *elements)
{
    const struct ks_sign_map *map = &s->map[operand - 'a'];
    const struct ks_sign_axis *axis = map->axis;
    struct walk w = { .s = s, .map = map, .element_bytes = ks_dtype_bytes(dtype), .at = elements };

    for (int64_t i = 0; i < axis[0].extent; i++)
        for (int64_t k = 0; k < axis[1].extent; k++)
            for (int64_t m = 0; m < axis[2].extent; m++) {
                int64_t index[KS_SIGN_CLASSES];

                for (int c = 0; c < KS_SIGN_CLASSES; c++)
                    index[c] = i * axis[0].step[c] + k * axis[1].step[c] + m * axis[2].step[c];
                flip_run(&w, index);
            }
}

bool ks_signs_has(const struct ks_signs *s, char operand, int64_t index)
{
    const struct ks_sign_map *map = &s->map[operand - 'a'];
    int64_t at[KS_SIGN_CLASSES] = { 0 };
    uint8_t sign = 0;

    for (int k = KS_SIGN_AXES - 1; k >= 0; k--) {
        for (int c = 0; c < KS_SIGN_CLASSES; c++)
            at[c] += index % map->axis[k].extent * map->axis[k].step[c];
        index /= map->axis[k].extent;
    }
    for (int c = 0; c < KS_SIGN_CLASSES; c++)
        if (map->has[c])
            sign ^= s->byte[c][at[c]];
    return sign != 0;
}
