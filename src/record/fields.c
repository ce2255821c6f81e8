/* SPDX-License-Identifier: MIT */
/* fields.c - encodes and decodes structs as tagged fields, by a table of their members */
#include "record/fields.h"
#include "base/hash.h"
#include "record/frame.h"

#include <assert.h>
#include <math.h>
#include <string.h>

static uint32_t count_of(const struct ks_def *d, const void *v)
{
    uint32_t n;

    memcpy(&n, (const char *)v + d->count, sizeof(n));
    return n;
}

static uint32_t item_size(const struct ks_def *d)
{
    switch (d->kind) {
    case KS_REALS:
    case KS_INTS:
        return 8;
    case KS_EACH:
        return (uint32_t)d->each->size;
    default:
        return 1;
    }
}

static bool is_counted(const struct ks_def *d)
{
    return d->kind == KS_RAW || d->kind == KS_REALS || d->kind == KS_INTS || d->kind == KS_EACH;
}

static uint64_t load_number(const struct ks_def *d, const void *at)
{
    uint32_t narrow;
    uint64_t wide;

    if (d->size == sizeof(wide)) {
        memcpy(&wide, at, sizeof(wide));
        return wide;
    }
    memcpy(&narrow, at, sizeof(narrow));
    return d->kind == KS_INT ? (uint64_t)(int64_t)(int32_t)narrow : narrow;
}

static void store_number(const struct ks_def *d, void *at, uint64_t v)
{
    uint32_t narrow = (uint32_t)v;

    if (d->size == sizeof(v))
        memcpy(at, &v, sizeof(v));
    else
        memcpy(at, &narrow, sizeof(narrow));
}

void ks_fields_init(const struct ks_fields *t, void *v)
{
    memset(v, 0, t->size);
    for (size_t i = 0; i < t->n; i++) {
        const struct ks_def *d = &t->def[i];
        double real = d->def;

        if (d->def == 0)
            continue;
        if (d->kind == KS_REAL)
            memcpy((char *)v + d->offset, &real, sizeof(real));
        else
            store_number(d, (char *)v + d->offset, (uint64_t)(int64_t)d->def);
    }
}

/* The length of a nested body is known only after it: patched in place. */
static void encode_each(const struct ks_def *d, const void *v, struct ks_buf *b)
{
    uint32_t n = count_of(d, v);

    for (uint32_t i = 0; i < n; i++) {
        size_t start;
        uint64_t len;

        ks_tag_bytes(b, d->tag, NULL, 0);
        start = b->len;
        ks_fields_encode(d->each, (const char *)v + d->offset + i * d->each->size, b);
        if (!ks_buf_ok(b))
            return;
        len = b->len - start;
        for (size_t k = 0; k < 4; k++)
            b->data[start - 4 + k] = (uint8_t)(len >> (8 * k));
    }
}

/* REALS, INTS: numbers in memory have the byte order of the machine, those on disk do not. */
static void encode_wide(const struct ks_def *d, const void *v, struct ks_buf *b)
{
    uint32_t n = count_of(d, v);

    if (n == 0)
        return;
    ks_buf_u16(b, d->tag);
    ks_buf_u32(b, n * 8);
    if (__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__) {
        ks_buf_put(b, (const char *)v + d->offset, (size_t)n * 8);
        return;
    }
    for (uint32_t i = 0; i < n; i++) {
        uint64_t bits;

        memcpy(&bits, (const char *)v + d->offset + i * 8, 8);
        ks_buf_u64(b, bits);
    }
}

static void encode_real(const struct ks_def *d, const void *at, struct ks_buf *b)
{
    double real, initial = d->def;

    memcpy(&real, at, sizeof(real));
    if (memcmp(&real, &initial, sizeof(real)) != 0)
        ks_tag_f64(b, d->tag, real);
}

static void encode_id(const struct ks_def *d, const void *at, struct ks_buf *b)
{
    struct ks_id128 id;

    memcpy(&id, at, sizeof(id));
    if (ks_id128_is_zero(id))
        return;
    ks_buf_u16(b, d->tag);
    ks_buf_u32(b, 16);
    ks_buf_u64(b, id.hi);
    ks_buf_u64(b, id.lo);
}

static bool is_zero(const uint8_t *p, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (p[i])
            return false;
    return true;
}

static void encode_field(const struct ks_def *d, const void *v, struct ks_buf *b)
{
    const void *at = (const char *)v + d->offset;
    uint64_t number;
    size_t n;

    assert(!is_counted(d) || count_of(d, v) <= d->size / item_size(d));
    switch (d->kind) {
    case KS_UINT:
    case KS_INT:
        number = load_number(d, at);
        if (d->required || number != (uint64_t)(int64_t)d->def)
            ks_tag_u64(b, d->tag, number);
        break;
    case KS_REAL:
        encode_real(d, at, b);
        break;
    case KS_ID128:
        encode_id(d, at, b);
        break;
    case KS_TEXT:
        n = strnlen(at, d->size - 1);
        if (n)
            ks_tag_bytes(b, d->tag, at, n);
        break;
    case KS_BYTES:
        if (!is_zero(at, d->size))
            ks_tag_bytes(b, d->tag, at, d->size);
        break;
    case KS_RAW:
        if (count_of(d, v))
            ks_tag_bytes(b, d->tag, at, count_of(d, v));
        break;
    case KS_REALS:
    case KS_INTS:
        encode_wide(d, v, b);
        break;
    case KS_EACH:
        encode_each(d, v, b);
        break;
    }
}

void ks_fields_encode(const struct ks_fields *t, const void *v, struct ks_buf *body_out)
{
    for (size_t i = 0; i < t->n; i++)
        encode_field(&t->def[i], v, body_out);
}

/* Writers follow the order of the table, so the row after the last one is tried first. */
static const struct ks_def *find_def(const struct ks_fields *t, uint16_t tag, size_t *hint)
{
    for (size_t i = 0; i < t->n; i++) {
        size_t k = *hint + i < t->n ? *hint + i : *hint + i - t->n;

        if (t->def[k].tag != tag)
            continue;
        *hint = t->def[k].kind == KS_EACH ? k : (k + 1) % t->n;
        return &t->def[k];
    }
    return NULL;
}

static const char *check_number(const struct ks_def *d, const struct ks_field *f)
{
    uint64_t v;
    int64_t s;

    if (f->n != 1 && f->n != 2 && f->n != 4 && f->n != 8)
        return "is not a number";
    v = ks_field_u64(f);
    s = (int64_t)v;
    if (d->size == 4 && d->kind == KS_UINT && v > UINT32_MAX)
        return "does not fit in 32 bits";
    if (d->size == 4 && d->kind == KS_INT && (s > INT32_MAX || s < INT32_MIN))
        return "does not fit in 32 bits";
    if ((d->lo || d->hi) && (s < d->lo || s > d->hi))
        return "is out of range";
    return NULL;
}

static const char *check_reals(const struct ks_def *d, const struct ks_field *f)
{
    if (f->n % 8)
        return "is not a row of numbers";
    if (d->rule == KS_ANY)
        return NULL;
    for (size_t i = 0; i < f->n; i += 8) {
        uint64_t bits = 0;
        double v;

        for (size_t k = 0; k < 8; k++) /* one load where the machine is little-endian */
            bits |= (uint64_t)f->bytes[i + k] << (8 * k);
        memcpy(&v, &bits, sizeof(v));
        if (!isfinite(v))
            return "is not finite";
        if (d->rule == KS_POSITIVE && v <= 0)
            return "is not positive";
    }
    return NULL;
}

/* NULL, or what is wrong with the bytes of one field (EACH: with all but the element). */
static const char *check_bytes(const struct ks_def *d, const struct ks_field *f)
{
    switch (d->kind) {
    case KS_UINT:
    case KS_INT:
        return check_number(d, f);
    case KS_REAL:
        return f->n == 8 ? check_reals(d, f) : "is not a number";
    case KS_ID128:
        if (f->n != 16)
            return "is not an id of 128 bits";
        return d->required && is_zero(f->bytes, f->n) ? "is zero" : NULL;
    case KS_TEXT:
        if (d->required && f->n == 0)
            return "is empty";
        if (f->n >= d->size)
            return "is longer than fits";
        return f->n && memchr(f->bytes, 0, f->n) ? "has a NUL inside" : NULL;
    case KS_BYTES:
        return f->n == d->size ? NULL : "has the wrong length";
    case KS_RAW:
        return f->n <= d->size ? NULL : "is longer than fits";
    case KS_REALS:
    case KS_INTS:
        if (f->n > d->size)
            return "has more values than fit";
        return check_reals(d, f);
    case KS_EACH:
        break;
    }
    return NULL;
}

/* How often, or for arrays how many items; 0 = absent. */
struct seen {
    uint32_t n[KS_FIELDS_MAX];
};

static int check_complete(const struct ks_fields *t, const struct seen *seen, struct ks_err *err)
{
    for (size_t i = 0; i < t->n; i++) {
        const struct ks_def *d = &t->def[i];

        if (d->required && seen->n[i] == 0)
            return ks_fail(err, KS_EFORMAT, "%s without its %s", t->what, d->name);
        if (!is_counted(d))
            continue;
        for (size_t k = 0; k < i; k++)
            if (is_counted(&t->def[k]) && t->def[k].count == d->count && seen->n[k] != seen->n[i])
                return ks_fail(err, KS_EFORMAT, "%s: %s and %s differ in length", t->what,
                               t->def[k].name, d->name);
    }
    return 0;
}

static int check_body(const struct ks_fields *t, const void *body, size_t n, uint32_t *n_unknown,
                      struct ks_err *err);

static int check_field(const struct ks_fields *t, const struct ks_def *d, const struct ks_field *f,
                       struct seen *seen, struct ks_err *err)
{
    uint32_t *n = &seen->n[d - t->def];
    const char *wrong = check_bytes(d, f);
    uint32_t ignored = 0;
    int rc;

    if (d->kind == KS_EACH) {
        if (++*n > d->size / d->each->size)
            wrong = "has more elements than fit";
        rc = wrong ? 0 : check_body(d->each, f->bytes, f->n, &ignored, err);
        if (rc < 0)
            return ks_err_context(err, rc, "%s: %s", t->what, d->name);
    } else {
        *n = is_counted(d) ? (uint32_t)(f->n / item_size(d)) : 1;
    }
    if (wrong)
        return ks_fail(err, KS_EFORMAT, "%s: %s %s (tag %u, %zu bytes)", t->what, d->name, wrong,
                       d->tag, f->n);
    return 0;
}

static int check_body(const struct ks_fields *t, const void *body, size_t n, uint32_t *n_unknown,
                      struct ks_err *err)
{
    struct ks_cur cur = ks_cur(body, n);
    struct seen seen;
    struct ks_field f;
    size_t hint = 0;
    bool bad = false;

    assert(t->n <= KS_FIELDS_MAX);
    memset(seen.n, 0, t->n * sizeof(seen.n[0]));
    while (ks_body_next(&cur, &f, &bad)) {
        const struct ks_def *d = find_def(t, f.tag, &hint);
        int rc = d ? check_field(t, d, &f, &seen, err) : 0;

        if (rc < 0)
            return rc;
        *n_unknown += d ? 0 : 1;
    }
    if (bad)
        return ks_fail(err, KS_EFORMAT, "%s: fields do not fill the body of %zu bytes", t->what, n);
    return check_complete(t, &seen, err);
}

static void store_body(const struct ks_fields *t, const void *body, size_t n, void *out);

static void store_counted(const struct ks_def *d, const struct ks_field *f, void *out)
{
    char *at = (char *)out + d->offset;
    uint32_t n = (uint32_t)(f->n / item_size(d));

    /* A tag that stands twice replaces what came first, all of it. */
    if (d->kind == KS_INTS || (d->kind != KS_EACH && count_of(d, out)))
        memset(at, 0, d->size);
    if (d->kind == KS_EACH) {
        n = count_of(d, out) + 1;
        store_body(d->each, f->bytes, f->n, at + (n - 1) * d->each->size);
    } else if (d->kind == KS_RAW || __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__) {
        memcpy(at, f->bytes, f->n);
    } else {
        for (uint32_t i = 0; i < n; i++) {
            uint64_t bits = ks_field_u64(&(struct ks_field){ .bytes = f->bytes + i * 8, .n = 8 });

            memcpy(at + i * 8, &bits, 8);
        }
    }
    memcpy((char *)out + d->count, &n, sizeof(n));
}

static void store_field(const struct ks_def *d, const struct ks_field *f, void *out)
{
    char *at = (char *)out + d->offset;
    struct ks_cur c = ks_cur(f->bytes, f->n);
    struct ks_id128 id;
    double real;

    switch (d->kind) {
    case KS_UINT:
    case KS_INT:
        store_number(d, at, ks_field_u64(f));
        break;
    case KS_REAL:
        real = ks_field_f64(f);
        memcpy(at, &real, sizeof(real));
        break;
    case KS_ID128:
        id.hi = ks_cur_u64(&c);
        id.lo = ks_cur_u64(&c);
        memcpy(at, &id, sizeof(id));
        break;
    case KS_TEXT:
        if (at[0])
            memset(at, 0, d->size);
        ks_field_text(f, at, d->size);
        break;
    case KS_BYTES:
        memcpy(at, f->bytes, f->n);
        break;
    case KS_RAW:
    case KS_REALS:
    case KS_INTS:
    case KS_EACH:
        store_counted(d, f, out);
        break;
    }
}

static void store_body(const struct ks_fields *t, const void *body, size_t n, void *out)
{
    struct ks_cur cur = ks_cur(body, n);
    struct ks_field f;
    size_t hint = 0;
    bool bad = false;

    ks_fields_init(t, out);
    while (ks_body_next(&cur, &f, &bad)) {
        const struct ks_def *d = find_def(t, f.tag, &hint);

        if (d)
            store_field(d, &f, out);
    }
}

int ks_fields_decode(const struct ks_fields *t, const void *body, size_t n, void *out,
                     uint32_t *n_unknown, struct ks_err *err)
{
    uint32_t unknown = 0;
    int rc = check_body(t, body, n, &unknown, err);

    if (rc < 0)
        return rc;
    store_body(t, body, n, out);
    if (n_unknown)
        *n_unknown = unknown;
    return 0;
}

int ks_fields_peek(const struct ks_fields *t, const struct ks_fields *part, const void *body,
                   size_t n, void *out, struct ks_err *err)
{
    struct ks_cur cur = ks_cur(body, n);
    struct ks_field f;
    uint32_t unknown = 0;
    uint16_t last = 0;
    size_t k = 0;
    bool bad = false;
    int rc = check_body(t, body, n, &unknown, err);

    if (rc < 0)
        return rc;
    ks_fields_init(part, out);
    while (ks_body_next(&cur, &f, &bad)) {
        k = f.tag < last ? 0 : k; /* another writer's order */
        last = f.tag;
        while (k < part->n && part->def[k].tag < f.tag)
            k++;
        if (k < part->n && part->def[k].tag == f.tag)
            store_field(&part->def[k], &f, out);
    }
    return 0;
}

bool ks_fields_find(const void *body, size_t n, uint16_t tag, struct ks_field *f_out)
{
    struct ks_cur cur = ks_cur(body, n);
    struct ks_field f;
    bool bad = false, found = false;

    while (ks_body_next(&cur, &f, &bad)) {
        if (f.tag != tag)
            continue;
        *f_out = f;
        found = true;
    }
    return found && !bad;
}
