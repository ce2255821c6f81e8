/* SPDX-License-Identifier: MIT */
/* event.c - parses one event of a trace: members, arguments, nested values skipped */
#include "trace/event.h"

#include "trace/text.h"

#include <string.h>
#include <strings.h>

/* ---- values ---- */

/* Here and not a call: an event has some 30 strings. */
static inline enum ks_parse parse_string(struct ks_cursor *c, struct ks_span *out)
{
    const char *q = c->p + 1;

    out->p = q;
    for (;;) {
        q = ks_scan_quote(c->scan, q);
        if (q >= c->end)
            return KS_PARSE_MORE;
        if (*q == '"')
            break;
        q += 2;
        if (q > c->end)
            return KS_PARSE_MORE;
    }
    out->n = (size_t)(q - out->p);
    c->p = q + 1;
    return KS_PARSE_OK;
}

enum ks_parse ks_parse_string(struct ks_cursor *c, struct ks_span *out)
{
    return parse_string(c, out);
}

/* Behind an object or array at c->p. Kinds of brackets are compared 64 levels deep; deeper ones are
 * counted only, so that depth costs nothing. */
static enum ks_parse skip_container(struct ks_cursor *c)
{
    const char *p = c->p;
    uint64_t kinds = 0;
    size_t depth = 0;

    do {
        struct ks_span unused;

        p = c->scan->mark(p);
        if (p >= c->end)
            return KS_PARSE_MORE;
        c->p = p;
        if (*p == '"') {
            if (ks_parse_string(c, &unused) != KS_PARSE_OK)
                return KS_PARSE_MORE;
            p = c->p;
            continue;
        }
        if (*p == '{' || *p == '[') {
            kinds = kinds << 1 | (*p == '{');
            depth++;
        } else {
            if (depth <= 64 && (kinds & 1) != (*p == '}'))
                return KS_PARSE_BAD;
            kinds >>= 1;
            depth--;
        }
        p++;
    } while (depth > 0);
    c->p = p;
    return KS_PARSE_OK;
}

/* Digits, letters, signs and points: numbers and words, NaN and Infinity among them. */
#define S(a, b, c, d, e, f) [a] = true, [b] = true, [c] = true, [d] = true, [e] = true, [f] = true
static const bool is_scalar[256] = {
    S('0', '1', '2', '3', '4', '5'),
    S('6', '7', '8', '9', '.', '-'),
    S('a', 'b', 'c', 'd', 'e', 'f'),
    S('g', 'h', 'i', 'j', 'k', 'l'),
    S('m', 'n', 'o', 'p', 'q', 'r'),
    S('s', 't', 'u', 'v', 'w', 'x'),
    S('A', 'B', 'C', 'D', 'E', 'F'),
    S('G', 'H', 'I', 'J', 'K', 'L'),
    S('M', 'N', 'O', 'P', 'Q', 'R'),
    S('S', 'T', 'U', 'V', 'W', 'X'),
    ['y'] = true,
    ['z'] = true,
    ['Y'] = true,
    ['Z'] = true,
    ['+'] = true,
};
#undef S

static enum ks_parse parse_scalar(struct ks_cursor *c, struct ks_span *out)
{
    const char *p = c->p;

    while (is_scalar[(unsigned char)*p])
        p++;
    *out = (struct ks_span){ c->p, (size_t)(p - c->p) };
    if (p >= c->end)
        return KS_PARSE_MORE;
    if (p == c->p)
        return KS_PARSE_BAD;
    c->p = p;
    return KS_PARSE_OK;
}

enum ks_parse ks_parse_value(struct ks_cursor *c, struct ks_span *out, bool *is_string_out)
{
    const char *begin = c->p = ks_scan_blanks(c->p);
    enum ks_parse rc;

    if (begin >= c->end)
        return KS_PARSE_MORE;
    if (is_string_out)
        *is_string_out = *begin == '"';
    if (*begin == '"')
        return parse_string(c, out);
    if (*begin != '{' && *begin != '[')
        return parse_scalar(c, out);
    rc = skip_container(c);
    *out = (struct ks_span){ begin, (size_t)(c->p - begin) };
    return rc;
}

/* ---- members ---- */

/* c->p behind '{' or ','. Leaves it at the value. */
static enum ks_parse parse_key(struct ks_cursor *c, struct ks_span *key)
{
    enum ks_parse rc;

    c->p = ks_scan_blanks(c->p);
    if (c->p >= c->end)
        return KS_PARSE_MORE;
    if (*c->p != '"')
        return KS_PARSE_BAD;
    rc = parse_string(c, key);
    if (rc != KS_PARSE_OK)
        return rc;
    c->p = ks_scan_blanks(c->p);
    if (c->p >= c->end)
        return KS_PARSE_MORE;
    if (*c->p != ':')
        return KS_PARSE_BAD;
    c->p = ks_scan_blanks(c->p + 1);
    return c->p < c->end ? KS_PARSE_OK : KS_PARSE_MORE;
}

/* Behind a member: is_last_out, or c->p behind the comma. */
static enum ks_parse parse_end(struct ks_cursor *c, bool *is_last_out)
{
    c->p = ks_scan_blanks(c->p);
    if (c->p >= c->end)
        return KS_PARSE_MORE;
    *is_last_out = *c->p == '}';
    if (*c->p != '}' && *c->p != ',')
        return KS_PARSE_BAD;
    c->p++;
    return KS_PARSE_OK;
}

/* c->p at '{'. true in *is_empty_out: c->p is behind "{}". */
static enum ks_parse parse_begin(struct ks_cursor *c, bool *is_empty_out)
{
    c->p = ks_scan_blanks(c->p + 1);
    if (c->p >= c->end)
        return KS_PARSE_MORE;
    *is_empty_out = *c->p == '}';
    c->p += *is_empty_out;
    return KS_PARSE_OK;
}

/* ---- args ---- */

static const char *const arg_names[KS_TRACE_N_ARGS] = {
#define X(id, key) key,
    KS_TRACE_ARG_LIST(X)
#undef X
};
static const uint8_t arg_lengths[KS_TRACE_N_ARGS] = {
#define X(id, key) sizeof(key) - 1,
    KS_TRACE_ARG_LIST(X)
#undef X
};

/* Of the first four letters in lower case and the length; every name has four. */
static unsigned arg_hash(const char *p, size_t n)
{
    uint32_t word;

    memcpy(&word, p, sizeof(word));
    return (((word | 0x20202020u) + (uint32_t)n * 0x01000193u) * 0x9e3779b1u) >> 25;
}

void ks_arg_table_init(struct ks_arg_table *t)
{
    memset(t, 0, sizeof(*t));
    for (unsigned i = 0; i < KS_TRACE_N_ARGS; i++) {
        unsigned at = arg_hash(arg_names[i], arg_lengths[i]);

        while (t->slot[at])
            at = (at + 1) % sizeof(t->slot);
        t->slot[at] = (uint8_t)(i + 1);
    }
}

/* Older schemas write some names in lower case. */
static bool is_arg(struct ks_span key, unsigned i)
{
    return key.n == arg_lengths[i] && (memcmp(key.p, arg_names[i], key.n) == 0 ||
                                       strncasecmp(key.p, arg_names[i], key.n) == 0);
}

static int arg_of(const struct ks_arg_table *t, struct ks_span key)
{
    unsigned at;

    if (key.n < 4)
        return -1;
    for (at = arg_hash(key.p, key.n); t->slot[at]; at = (at + 1) % sizeof(t->slot))
        if (is_arg(key, t->slot[at] - 1u))
            return t->slot[at] - 1;
    return -1;
}

static enum ks_parse parse_args(struct ks_cursor *c, const struct ks_arg_table *table,
                                struct ks_trace_event *ev, bool *is_twice)
{
    const char *begin = c->p;
    bool is_last = false;
    enum ks_parse rc = parse_begin(c, &is_last);

    ev->has = 0;
    while (rc == KS_PARSE_OK && !is_last) {
        struct ks_span key, value;
        int i;

        rc = parse_key(c, &key);
        if (rc == KS_PARSE_OK)
            rc = ks_parse_value(c, &value, NULL);
        if (rc != KS_PARSE_OK)
            break;
        i = arg_of(table, key);
        if (i >= 0) {
            *is_twice |= ev->has >> i & 1;
            ev->has |= 1u << i;
            ev->arg[i] = value;
        }
        rc = parse_end(c, &is_last);
    }
    ev->args = (struct ks_span){ begin, (size_t)(c->p - begin) };
    return rc;
}

/* ---- the event ---- */

enum field {
    FIELD_OTHER,
    FIELD_PH,
    FIELD_CAT,
    FIELD_NAME,
    FIELD_PID,
    FIELD_TID,
    FIELD_ID,
    FIELD_ID2,
    FIELD_BIND_ID,
    FIELD_SF,
    FIELD_ESF,
    FIELD_TS,
    FIELD_DUR,
    FIELD_ARGS
};

static enum field field_of(struct ks_span k)
{
    static const struct {
        const char *name;
        enum field field;
    } two[] = { { "ph", FIELD_PH }, { "ts", FIELD_TS }, { "id", FIELD_ID }, { "sf", FIELD_SF } },
      three[] = { { "cat", FIELD_CAT }, { "pid", FIELD_PID }, { "tid", FIELD_TID },
                  { "dur", FIELD_DUR }, { "id2", FIELD_ID2 }, { "esf", FIELD_ESF } };

    for (unsigned i = 0; k.n == 2 && i < sizeof(two) / sizeof(two[0]); i++)
        if (memcmp(k.p, two[i].name, 2) == 0)
            return two[i].field;
    for (unsigned i = 0; k.n == 3 && i < sizeof(three) / sizeof(three[0]); i++)
        if (memcmp(k.p, three[i].name, 3) == 0)
            return three[i].field;
    if (k.n == 4 && memcmp(k.p, "name", 4) == 0)
        return FIELD_NAME;
    if (k.n == 4 && memcmp(k.p, "args", 4) == 0)
        return FIELD_ARGS;
    if (k.n == 7 && memcmp(k.p, "bind_id", 7) == 0)
        return FIELD_BIND_ID;
    return FIELD_OTHER;
}

static void set_time(struct ks_span v, bool *has, int64_t *ns, unsigned *n_bad)
{
    *has = ks_trace_ns(v, ns);
    *n_bad += !*has;
}

static void set_field(struct ks_trace_event *ev, enum field f, struct ks_span v, unsigned *n_bad)
{
    switch (f) {
    case FIELD_PH:
        ev->ph = v.n == 1 ? *v.p : 0;
        break;
    case FIELD_CAT:
        ev->cat = v;
        break;
    case FIELD_NAME:
        ev->name = v;
        break;
    case FIELD_PID:
        ev->pid = v;
        break;
    case FIELD_TID:
        ev->tid = v;
        break;
    case FIELD_ID:
        ev->id = v;
        break;
    case FIELD_ID2:
        ev->id2 = v;
        break;
    case FIELD_BIND_ID:
        ev->bind_id = v;
        break;
    case FIELD_SF:
        ev->sf = v;
        break;
    case FIELD_ESF:
        ev->esf = v;
        break;
    case FIELD_TS:
        set_time(v, &ev->has_ts, &ev->ts_ns, n_bad);
        break;
    case FIELD_DUR:
        set_time(v, &ev->has_dur, &ev->dur_ns, n_bad);
        break;
    case FIELD_OTHER:
    case FIELD_ARGS:
        break;
    }
}

static void clear(struct ks_trace_event *ev)
{
    const struct ks_span none = { NULL, 0 };

    ev->args = ev->cat = ev->name = ev->pid = ev->tid = ev->id = ev->id2 = ev->bind_id = none;
    ev->sf = ev->esf = none;
    ev->ph = 0;
    ev->has_ts = ev->has_dur = false;
    ev->ts_ns = ev->dur_ns = 0;
    ev->has = 0;
}

static enum ks_parse parse_member(struct ks_cursor *c, const struct ks_arg_table *args,
                                  struct ks_trace_event *ev, unsigned *seen, bool *is_twice,
                                  unsigned *n_bad)
{
    struct ks_span key, value;
    enum field f;
    enum ks_parse rc = parse_key(c, &key);

    if (rc != KS_PARSE_OK)
        return rc;
    f = field_of(key);
    if (f == FIELD_ARGS && *c->p == '{')
        rc = parse_args(c, args, ev, is_twice);
    else
        rc = ks_parse_value(c, &value, NULL);
    if (rc != KS_PARSE_OK)
        return rc;
    if (f != FIELD_OTHER) {
        *is_twice |= *seen >> f & 1;
        *seen |= 1u << f;
        set_field(ev, f, value, n_bad);
    }
    return KS_PARSE_OK;
}

enum ks_parse ks_parse_event(struct ks_cursor *c, const struct ks_arg_table *args,
                             struct ks_trace_event *ev, bool *is_twice_out, unsigned *n_bad_out)
{
    const char *begin = c->p;
    bool is_last = false;
    unsigned seen = 0;
    enum ks_parse rc = parse_begin(c, &is_last);

    *is_twice_out = false;
    *n_bad_out = 0;
    clear(ev);
    while (rc == KS_PARSE_OK && !is_last) {
        rc = parse_member(c, args, ev, &seen, is_twice_out, n_bad_out);
        if (rc == KS_PARSE_OK)
            rc = parse_end(c, &is_last);
    }
    ev->raw = (struct ks_span){ begin, (size_t)(c->p - begin) };
    if (rc == KS_PARSE_OK)
        ev->kind = ks_trace_kind_of(ev);
    return rc;
}
