/* SPDX-License-Identifier: MIT */
/* msgpack.h - private to src/build: reading MessagePack, as far as the notes of AMD code objects
 * need it. Never reads beyond the cursor. Source: MessagePack specification. */
#ifndef KS_BUILD_MSGPACK_H
#define KS_BUILD_MSGPACK_H

#include "base/buf.h"

#include <stdbool.h>
#include <stdint.h>

enum ks_msgpack_kind {
    KS_MP_BAD = 0, /* malformed, or nothing is left */
    KS_MP_OTHER,   /* nil, a real number, bytes, an extension, a number beyond int64_t */
    KS_MP_NUMBER,  /* also true and false */
    KS_MP_TEXT,
    KS_MP_LIST, /* n values follow */
    KS_MP_MAP   /* n pairs of values follow */
};

struct ks_msgpack {
    enum ks_msgpack_kind kind;
    int64_t number;
    const char *text; /* n bytes, not terminated, borrowed */
    uint32_t n;
};

/* The next value; of a list or map only its head. */
struct ks_msgpack ks_msgpack_next(struct ks_cur *c);
/* The next value with all that is in it; false: malformed, or nested deeper than 16. */
bool ks_msgpack_skip(struct ks_cur *c);
bool ks_msgpack_is(const struct ks_msgpack *m, const char *text);

#endif
