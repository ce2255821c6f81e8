/* SPDX-License-Identifier: MIT */
/* fields.h - a struct as tagged fields (frame.h): one constant table per struct drives its initial
 * value, its encoding, its decoding and the checks of what was decoded. The tables (record.c,
 * values.c, request.c) are the documentation of the file format. Private to src/record.
 *
 * Rules of the format: a tag is never given another meaning, type or unit, and never used again
 * after its field is gone. A new field takes a new tag; a reader that does not know it counts and
 * skips it, a writer that does not know it leaves it at its initial value. Widening a text or an
 * array therefore needs a new tag as well: longer content than the member holds is refused. */
#ifndef KS_RECORD_FIELDS_H
#define KS_RECORD_FIELDS_H

#include "base/buf.h"
#include "base/err.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define KS_FIELDS_MAX 96u

/* C member -> bytes of the field. Numbers are little-endian. */
enum ks_kind {
    KS_UINT,  /* uint32_t or uint64_t -> the fewest of 1, 2, 4, 8 bytes */
    KS_INT,   /* int32_t or int64_t -> the same, after conversion to uint64_t */
    KS_REAL,  /* double -> IEEE 754 binary64 */
    KS_ID128, /* struct ks_id128 -> hi (8 bytes), lo (8 bytes) */
    KS_TEXT,  /* char[] -> the text without its terminator; no NUL inside */
    KS_BYTES, /* uint8_t[] -> all of it */
    KS_RAW,   /* char[] with a count member -> that many bytes */
    KS_REALS, /* double[] with a count -> that many binary64 */
    KS_INTS,  /* int64_t[] with a count -> that many times 8 bytes */
    KS_EACH   /* struct[] with a count -> one field per element: a body of its own */
};

/* The kinds of single numbers by the type of their member. */
#define KS_U32 KS_UINT
#define KS_U64 KS_UINT
#define KS_I32 KS_INT
#define KS_I64 KS_INT
#define KS_F64 KS_REAL

enum ks_rule { KS_ANY, KS_FINITE, KS_POSITIVE /* finite and > 0 */ };

struct ks_def {
    uint16_t tag;
    enum ks_kind kind;
    const char *name;
    uint32_t offset, size;        /* of the whole member, in bytes */
    uint32_t count;               /* offset of the uint32_t count: RAW, REALS, INTS, EACH */
    const struct ks_fields *each; /* EACH: the element */
    enum ks_rule rule;            /* REAL, REALS */
    int32_t def;                  /* initial value of a number; not written when unchanged */
    int64_t lo, hi;               /* allowed range of a UINT or INT; both 0: no limit */
    bool required; /* always there; a text not empty, an id not zero. Written even if initial */
};

struct ks_fields {
    const char *what; /* for messages: "record" */
    size_t size;      /* of the struct */
    const struct ks_def *def;
    size_t n;
};

/* One row of a table; S is the struct the file defines before its table. */
#define KS_DEF(S, tag_, kind_, member, ...)                                                        \
    {                                                                                              \
        .tag = (tag_), .kind = KS_##kind_, .name = #member, .offset = offsetof(S, member),         \
        .size = sizeof(((S *)0)->member), __VA_ARGS__                                              \
    }
#define KS_FIELDS(S, what_, table)                                                                 \
    {                                                                                              \
        .what = (what_), .size = sizeof(S), .def = (table),                                        \
        .n = sizeof(table) / sizeof((table)[0])                                                    \
    }

/* Every member at its initial value, everything else zero. */
void ks_fields_init(const struct ks_fields *t, void *v);
/* Append the required fields and those that differ from their initial value. Counts beyond the
 * member are asserted. */
void ks_fields_encode(const struct ks_fields *t, const void *v, struct ks_buf *body_out);
/* KS_EFORMAT as ks_record_decode says; *out untouched on failure. n_unknown may be NULL. */
int ks_fields_decode(const struct ks_fields *t, const void *body, size_t n, void *out,
                     uint32_t *n_unknown, struct ks_err *err);
/* Checks everything as ks_fields_decode does, but stores only the members of `part`, whose tags and
 * kinds are among those of t and stand in ascending order. */
int ks_fields_peek(const struct ks_fields *t, const struct ks_fields *part, const void *body,
                   size_t n, void *out, struct ks_err *err);
/* The last field with this tag, for a payload that stands beside a struct. false when absent. */
struct ks_field;
bool ks_fields_find(const void *body, size_t n, uint16_t tag, struct ks_field *f_out);

#endif
