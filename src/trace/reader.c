/* SPDX-License-Identifier: MIT */
/* reader.c - reads a trace's outermost value in a window, event by event, past damage */
#include "trace/reader.h"

#include "base/buf.h"
#include "trace/event.h"
#include "trace/text.h"

#include <stdlib.h>
#include <string.h>

enum {
    WINDOW_BYTES = 512 << 10, /* at the beginning; within a core's cache */
    KEY_MAX = 256,            /* of a top-level key; a longer one is cut */
    LIMIT_MIN = 64 << 10      /* of the longest event in a damaged file */
};

enum state {
    STATE_START,
    STATE_KEY,    /* before a top-level key or the final '}' */
    STATE_COMMA,  /* behind a top-level value */
    STATE_EVENTS, /* before an event or the ']' */
    STATE_REST,   /* behind the outermost value */
    STATE_DONE
};

struct ks_trace_reader {
    struct ks_trace_source *source;
    const struct ks_scan *scan;
    struct ks_arg_table args;
    const char *array_key;
    char *buf;     /* [cap + KS_SCAN_PAD] owned */
    size_t cap, n; /* n: bytes of input in it */
    size_t at;     /* the next byte */
    uint64_t base; /* place of buf[0] in the input */
    size_t limit;  /* of an event; each one that reaches it halves it */
    bool is_eof;
    bool is_binary; /* the input begins with bytes that no text has */
    enum state state;
    char key[KEY_MAX];
    struct ks_trace_dirt dirt;
};

int ks_trace_reader_create(struct ks_trace_source *source, struct ks_trace_reader **out,
                           struct ks_err *err)
{
    struct ks_trace_reader *r = calloc(1, sizeof(*r));

    if (r)
        r->buf = malloc(WINDOW_BYTES + KS_SCAN_PAD);
    if (!r || !r->buf) {
        free(r);
        return ks_fail(err, KS_ENOMEM, "out of memory");
    }
    r->source = source;
    r->scan = ks_scan_best();
    r->array_key = "traceEvents";
    r->cap = WINDOW_BYTES;
    r->limit = KS_TRACE_EVENT_MAX;
    r->dirt.first_bad = UINT64_MAX;
    ks_arg_table_init(&r->args);
    memset(r->buf, '"', KS_SCAN_PAD);
    *out = r;
    return 0;
}

void ks_trace_reader_destroy(struct ks_trace_reader *r)
{
    if (!r)
        return;
    free(r->buf);
    free(r);
}

void ks_trace_reader_array(struct ks_trace_reader *r, const char *key)
{
    r->array_key = key;
}

const struct ks_trace_dirt *ks_trace_reader_dirt(const struct ks_trace_reader *r)
{
    return &r->dirt;
}

/* ---- the window ---- */

static int grow(struct ks_trace_reader *r, struct ks_err *err)
{
    char *buf = realloc(r->buf, 2 * r->cap + KS_SCAN_PAD);

    if (!buf)
        return ks_fail(err, KS_ENOMEM, "out of memory for an event of more than %zu bytes", r->cap);
    r->buf = buf;
    r->cap *= 2;
    return 0;
}

/* Drops what is before `at`, and reads. 1: more bytes; 0: the input ends. */
static int fill(struct ks_trace_reader *r, struct ks_err *err)
{
    size_t n;
    int rc = 0;

    if (r->is_eof)
        return 0;
    memmove(r->buf, r->buf + r->at, r->n - r->at);
    r->base += r->at;
    r->n -= r->at;
    r->at = 0;
    if (r->n == r->cap)
        rc = grow(r, err);
    if (rc == 0)
        rc = ks_trace_source_read(r->source, r->buf + r->n, r->cap - r->n, &n, err);
    if (rc < 0)
        return rc;
    r->n += n;
    r->is_eof = n == 0;
    memset(r->buf + r->n, '"', KS_SCAN_PAD);
    r->dirt.n_bytes = r->base + r->n;
    r->dirt.damage = ks_trace_source_damage(r->source);
    return !r->is_eof;
}

static struct ks_cursor cursor(const struct ks_trace_reader *r)
{
    return (struct ks_cursor){ r->buf + r->at, r->buf + r->n, r->scan };
}

/* 1: the next byte that is no blank is buf[at]; 0: there is none. */
static int next_byte(struct ks_trace_reader *r, struct ks_err *err)
{
    int rc = 1;

    while (rc > 0) {
        const char *p = ks_scan_blanks(r->buf + r->at);

        r->at = (size_t)(p - r->buf) < r->n ? (size_t)(p - r->buf) : r->n;
        if (r->at < r->n)
            return 1;
        rc = fill(r, err);
    }
    return rc;
}

/* ---- failures ---- */

static int fail_here(struct ks_trace_reader *r, const char *what, struct ks_err *err)
{
    return ks_fail(err, KS_EFORMAT, "%s: byte %llu: %s", ks_trace_source_name(r->source),
                   (unsigned long long)(r->base + r->at), what);
}

static bool is_binary(const char *p, size_t n)
{
    for (size_t i = 0; i < n && i < 64; i++)
        if ((unsigned char)p[i] < ' ' && p[i] != '\t' && p[i] != '\n' && p[i] != '\r')
            return true;
    return false;
}

static int fail_begin(struct ks_trace_reader *r, struct ks_err *err)
{
    if (r->base + r->n == 0)
        return fail_here(r, r->dirt.damage ? r->dirt.damage : "the file is empty", err);
    if (r->is_binary)
        return fail_here(r,
                         "binary data, such as a native Perfetto trace; convert it to Chrome JSON "
                         "(traceconv json)",
                         err);
    return fail_here(r, "not JSON: expected '{' or '['", err);
}

/* The outermost object is broken at `at`. What was read stays. */
static int broken_top(struct ks_trace_reader *r, const char *what, struct ks_err *err)
{
    r->state = STATE_DONE;
    if (!r->dirt.has_events)
        return r->is_binary ? fail_begin(r, err) : fail_here(r, what, err);
    r->dirt.is_cut |= r->at == r->n;
    r->dirt.has_rest |= r->at < r->n;
    return 0;
}

/* ---- the outermost value ---- */

static int begin_events(struct ks_trace_reader *r, struct ks_trace_item *item)
{
    r->at++;
    r->state = STATE_EVENTS;
    r->dirt.has_events = true;
    item->type = KS_TRACE_ITEM_BEGIN;
    item->at = r->base + r->at;
    return 1;
}

static int read_start(struct ks_trace_reader *r, struct ks_trace_item *item, struct ks_err *err)
{
    int rc = fill(r, err);

    r->is_binary = rc > 0 && is_binary(r->buf, r->n);
    if (rc > 0 && r->n >= 3 && memcmp(r->buf, "\xef\xbb\xbf", 3) == 0)
        r->at = 3;
    if (rc >= 0)
        rc = next_byte(r, err);
    if (rc < 0)
        return rc;
    if (rc == 0 || (r->buf[r->at] != '{' && r->buf[r->at] != '['))
        return fail_begin(r, err);
    if (r->buf[r->at] == '[') {
        r->dirt.is_bare = true;
        return begin_events(r, item);
    }
    r->at++;
    r->state = STATE_KEY;
    return 0;
}

/* The text of a key, and the colon. 1: r->key, at behind the colon; 0: broken. */
static int read_key(struct ks_trace_reader *r, struct ks_err *err)
{
    struct ks_span key;
    struct ks_cursor c;
    size_t n;
    int rc = 1;

    for (;;) {
        c = cursor(r);
        if (ks_parse_string(&c, &key) == KS_PARSE_OK)
            break;
        if (r->n - r->at > KS_TRACE_TOP_MAX)
            return 0;
        rc = fill(r, err);
        if (rc <= 0)
            return rc;
    }
    n = key.n < KEY_MAX - 1 ? key.n : KEY_MAX - 1;
    memcpy(r->key, key.p, n);
    r->key[n] = '\0';
    r->at = (size_t)(c.p - r->buf);
    rc = next_byte(r, err);
    if (rc <= 0 || r->buf[r->at] != ':')
        return rc < 0 ? rc : 0;
    r->at++;
    return next_byte(r, err);
}

/* What is left to skip of a long value. */
struct skip {
    uint64_t depth;
    bool is_string;
};

/* Within the window; at behind what was skipped. true: the value ends. */
static bool skip_window(struct ks_trace_reader *r, struct skip *s)
{
    const char *p = r->buf + r->at, *const end = r->buf + r->n;

    while (p < end) {
        const char *q = s->is_string ? ks_scan_quote(r->scan, p) : r->scan->mark(p);

        if (q >= end)
            break;
        p = q;
        if (*q == '\\' && q + 1 >= end) {
            r->at = (size_t)(q - r->buf);
            return false;
        }
        p += *q == '\\' ? 2 : 1;
        if (*q == '"')
            s->is_string = !s->is_string;
        else if (*q == '{' || *q == '[')
            s->depth++;
        else if (*q == '}' || *q == ']')
            s->depth--;
        r->at = (size_t)(p - r->buf);
        if (s->depth == 0 && !s->is_string)
            return true;
    }
    r->at = r->n;
    return false;
}

/* 1: at behind the value; 0: the input ends first. */
static int skip_long(struct ks_trace_reader *r, struct ks_err *err)
{
    struct skip s = { 0 };
    int rc = 1;

    while (rc > 0 && !skip_window(r, &s))
        rc = fill(r, err);
    return rc;
}

static int read_value(struct ks_trace_reader *r, struct ks_trace_item *item, struct ks_err *err)
{
    struct ks_trace_top *top = &item->top;
    enum ks_parse parsed;
    struct ks_cursor c;
    int rc = 1;

    item->type = KS_TRACE_ITEM_TOP;
    item->at = top->at = r->base + r->at;
    top->key = (struct ks_span){ r->key, strlen(r->key) };
    do {
        c = cursor(r);
        parsed = ks_parse_value(&c, &top->value, NULL);
        if (parsed == KS_PARSE_MORE && r->n - r->at <= KS_TRACE_TOP_MAX)
            rc = fill(r, err);
    } while (rc > 0 && parsed == KS_PARSE_MORE && r->n - r->at <= KS_TRACE_TOP_MAX);
    if (rc < 0)
        return rc;
    if (parsed == KS_PARSE_BAD)
        return broken_top(r, "not a JSON value", err);
    if (parsed == KS_PARSE_MORE) {
        top->value = (struct ks_span){ NULL, 0 };
        rc = strchr("\"{[", r->buf[r->at]) ? skip_long(r, err) : 0;
    } else {
        r->at = (size_t)(c.p - r->buf);
    }
    if (rc <= 0)
        return rc < 0 ? rc : broken_top(r, "the file ends inside a value", err);
    if (strcmp(r->key, "metadata") == 0)
        top->value = (struct ks_span){ NULL, 0 };
    top->end = r->base + r->at;
    r->state = STATE_COMMA;
    return 1;
}

static int read_member(struct ks_trace_reader *r, struct ks_trace_item *item, struct ks_err *err)
{
    int rc = next_byte(r, err);

    if (rc < 0)
        return rc;
    if (rc == 0)
        return broken_top(r, "the file ends inside the outermost object", err);
    if (r->buf[r->at] == '}') {
        r->at++;
        r->state = STATE_REST;
        return 0;
    }
    if (r->buf[r->at] != '"')
        return broken_top(r, "expected a key in quotes", err);
    rc = read_key(r, err);
    if (rc <= 0)
        return rc < 0 ? rc : broken_top(r, "expected a key and a colon", err);
    if (r->buf[r->at] == '[' && strcmp(r->key, r->array_key) == 0)
        return begin_events(r, item);
    return read_value(r, item, err);
}

static int read_comma(struct ks_trace_reader *r, struct ks_err *err)
{
    int rc = next_byte(r, err);

    if (rc < 0)
        return rc;
    if (rc > 0 && r->buf[r->at] == ',') {
        r->at++;
        r->state = STATE_KEY;
        return 0;
    }
    if (rc > 0 && r->buf[r->at] == '}') {
        r->at++;
        r->state = STATE_REST;
        return 0;
    }
    return broken_top(r, rc ? "expected ',' or '}'" : "the file ends inside the outermost object",
                      err);
}

static int read_rest(struct ks_trace_reader *r, struct ks_err *err)
{
    const int rc = next_byte(r, err);

    r->state = STATE_DONE;
    if (rc >= 0)
        r->dirt.has_rest = rc > 0;
    return rc < 0 ? rc : 0;
}

/* ---- events ---- */

static int end_events(struct ks_trace_reader *r, bool is_closed, struct ks_trace_item *item)
{
    item->type = KS_TRACE_ITEM_END;
    item->at = r->base + r->at;
    r->dirt.is_cut |= !is_closed;
    r->state = !is_closed ? STATE_DONE : r->dirt.is_bare ? STATE_REST : STATE_COMMA;
    r->at += is_closed;
    return 1;
}

static void note_bad(struct ks_trace_reader *r, uint64_t *count)
{
    ++*count;
    if (r->dirt.first_bad == UINT64_MAX)
        r->dirt.first_bad = r->base + r->at;
}

/* Is the value at `at` closed within the window, with a comma or ']' behind it? Then at is there.
 */
static bool skip_balanced(struct ks_trace_reader *r)
{
    const size_t begin = r->at;
    struct skip s = { 0 };
    const char *p;

    if (skip_window(r, &s)) {
        p = ks_scan_blanks(r->buf + r->at);
        if (p < r->buf + r->n && (*p == ',' || *p == ']'))
            return true;
    }
    r->at = begin;
    return false;
}

/* The next "{" with a comma before it. 1: at is there; 0: none. */
static int skip_to_event(struct ks_trace_reader *r, struct ks_err *err)
{
    bool has_comma = false;
    int rc = 1;

    for (r->at++; rc > 0; rc = fill(r, err)) {
        for (; r->at + 1 < r->n; r->at++) {
            const char c = r->buf[r->at];

            if (c == '{' && has_comma)
                return 1;
            has_comma = c == ',' || (has_comma && (unsigned char)c <= ' ');
        }
        if (r->is_eof)
            break;
    }
    if (rc >= 0)
        r->at = r->n;
    return rc < 0 ? rc : 0;
}

/* Behind what is no event. 1: go on; 0: the input ends. */
static int skip_bad(struct ks_trace_reader *r, bool is_long, struct ks_err *err)
{
    note_bad(r, is_long ? &r->dirt.n_long : &r->dirt.n_bad);
    if (is_long && r->limit > LIMIT_MIN)
        r->limit /= 2;
    if (!is_long && (r->buf[r->at] == '{' || r->buf[r->at] == '[') && skip_balanced(r))
        return 1;
    return skip_to_event(r, err);
}

static enum ks_parse parse_item(struct ks_trace_reader *r, struct ks_trace_item *item,
                                struct ks_cursor *c)
{
    struct ks_trace_event *ev = &item->event;
    struct ks_span unused;
    enum ks_parse rc;
    bool is_twice;
    unsigned n_bad;

    *c = cursor(r);
    if (*c->p != '{') {
        rc = ks_parse_value(c, &unused, NULL);
        return rc == KS_PARSE_OK ? KS_PARSE_BAD : rc;
    }
    rc = ks_parse_event(c, &r->args, ev, &is_twice, &n_bad);
    if (rc != KS_PARSE_OK)
        return rc;
    ev->at = item->at = r->base + r->at;
    item->type = KS_TRACE_ITEM_EVENT;
    r->dirt.n_twice += is_twice;
    r->dirt.n_numbers += n_bad;
    r->dirt.n_events++;
    r->at = (size_t)(c->p - r->buf);
    return KS_PARSE_OK;
}

/* 1: item; 0: go on; the window may end inside the event. */
static int read_element(struct ks_trace_reader *r, struct ks_trace_item *item, struct ks_err *err)
{
    struct ks_cursor c;
    enum ks_parse parsed;
    int rc = 1;

    while ((parsed = parse_item(r, item, &c)) == KS_PARSE_MORE && rc > 0 && r->n - r->at < r->limit)
        rc = fill(r, err);
    if (parsed == KS_PARSE_OK)
        return 1;
    if (rc < 0)
        return rc;
    if (parsed == KS_PARSE_MORE && r->is_eof)
        return end_events(r, false, item);
    rc = skip_bad(r, parsed == KS_PARSE_MORE, err);
    return rc < 0 ? rc : 0;
}

static int read_event(struct ks_trace_reader *r, struct ks_trace_item *item, struct ks_err *err)
{
    const int rc = next_byte(r, err);

    if (rc <= 0)
        return rc < 0 ? rc : end_events(r, false, item);
    if (r->buf[r->at] == ']')
        return end_events(r, true, item);
    if (r->buf[r->at] == ',') {
        r->at++;
        return 0;
    }
    return read_element(r, item, err);
}

int ks_trace_reader_next(struct ks_trace_reader *r, struct ks_trace_item *item, struct ks_err *err)
{
    int rc = 0;

    while (rc == 0 && r->state != STATE_DONE) {
        if (r->state == STATE_EVENTS)
            rc = read_event(r, item, err);
        else if (r->state == STATE_KEY)
            rc = read_member(r, item, err);
        else if (r->state == STATE_COMMA)
            rc = read_comma(r, err);
        else if (r->state == STATE_START)
            rc = read_start(r, item, err);
        else
            rc = read_rest(r, err);
    }
    return rc;
}
