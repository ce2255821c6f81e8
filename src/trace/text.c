/* SPDX-License-Identifier: MIT */
/* text.c - numbers, strings and nested values of a trace's JSON, within their bytes */
#include "trace/text.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

bool ks_span_is(struct ks_span s, const char *text)
{
    return s.p && strlen(text) == s.n && memcmp(s.p, text, s.n) == 0;
}

bool ks_span_begins(struct ks_span s, const char *text)
{
    const size_t n = strlen(text);

    return s.p && s.n >= n && memcmp(s.p, text, n) == 0;
}

bool ks_span_has(struct ks_span s, const char *text)
{
    return s.p && memmem(s.p, s.n, text, strlen(text)) != NULL;
}

/* ---- numbers ---- */

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

bool ks_trace_f64(struct ks_span s, double *out)
{
    char text[64], *end;
    double v;

    /* strtod also takes words and hexadecimal numbers, which JSON does not have. */
    if (!s.p || s.n == 0 || s.n >= sizeof(text) || !(is_digit(s.p[0]) || s.p[0] == '-'))
        return false;
    if (memchr(s.p, 'x', s.n) || memchr(s.p, 'X', s.n))
        return false;
    memcpy(text, s.p, s.n);
    text[s.n] = '\0';
    v = strtod(text, &end);
    if (end != text + s.n || !isfinite(v))
        return false;
    *out = v;
    return true;
}

/* The number's value times 1000, for what the quick way below does not take. */
static bool slow_ns(struct ks_span s, int64_t *ns_out)
{
    double v;

    if (!ks_trace_f64(s, &v) || !(fabs(v) < 9.2e15))
        return false;
    *ns_out = (int64_t)llround(v * 1e3);
    return true;
}

bool ks_trace_ns(struct ks_span s, int64_t *ns_out)
{
    const bool is_minus = s.n > 0 && s.p[0] == '-';
    size_t i = is_minus;
    const size_t first = i;
    uint64_t v = 0;
    unsigned n_fraction = 0;

    while (i < s.n && is_digit(s.p[i]) && i - first < 16)
        v = v * 10 + (uint64_t)(s.p[i++] - '0');
    if (i == first)
        return false;
    if (i < s.n && s.p[i] == '.')
        for (i++; i < s.n && is_digit(s.p[i]) && n_fraction < 3; n_fraction++)
            v = v * 10 + (uint64_t)(s.p[i++] - '0');
    for (; n_fraction < 3 && i == s.n; n_fraction++)
        v *= 10;
    if (i < s.n && is_digit(s.p[i]) && n_fraction == 3) {
        v += s.p[i] >= '5';
        while (i < s.n && is_digit(s.p[i]))
            i++;
    }
    if (i != s.n)
        return slow_ns(s, ns_out);
    if (v > INT64_MAX)
        return false;
    *ns_out = is_minus ? -(int64_t)v : (int64_t)v;
    return true;
}

bool ks_trace_int(struct ks_span s, int64_t *out)
{
    const bool is_minus = s.n > 0 && s.p[0] == '-';
    uint64_t v = 0;
    size_t i = is_minus;

    if (i == s.n || s.n - i > 19)
        return false;
    for (; i < s.n && is_digit(s.p[i]); i++)
        v = v * 10 + (uint64_t)(s.p[i] - '0');
    if (i != s.n || v > (uint64_t)INT64_MAX)
        return false;
    *out = is_minus ? -(int64_t)v : (int64_t)v;
    return true;
}

/* ---- strings ---- */

static bool hex4(const char *p, const char *end, uint32_t *out)
{
    uint32_t v = 0;

    if (end - p < 4)
        return false;
    for (int i = 0; i < 4; i++) {
        const char c = p[i];
        const char lower = (char)(c | 0x20);

        if (is_digit(c))
            v = v * 16 + (uint32_t)(c - '0');
        else if (lower >= 'a' && lower <= 'f')
            v = v * 16 + (uint32_t)(lower - 'a' + 10);
        else
            return false;
    }
    *out = v;
    return true;
}

static void put_utf8(struct ks_buf *to, uint32_t c)
{
    if (c < 0x80) {
        ks_buf_u8(to, (uint8_t)c);
    } else if (c < 0x800) {
        ks_buf_u8(to, (uint8_t)(0xc0 | c >> 6));
        ks_buf_u8(to, (uint8_t)(0x80 | (c & 0x3f)));
    } else if (c < 0x10000) {
        ks_buf_u8(to, (uint8_t)(0xe0 | c >> 12));
        ks_buf_u8(to, (uint8_t)(0x80 | (c >> 6 & 0x3f)));
        ks_buf_u8(to, (uint8_t)(0x80 | (c & 0x3f)));
    } else {
        ks_buf_u8(to, (uint8_t)(0xf0 | c >> 18));
        ks_buf_u8(to, (uint8_t)(0x80 | (c >> 12 & 0x3f)));
        ks_buf_u8(to, (uint8_t)(0x80 | (c >> 6 & 0x3f)));
        ks_buf_u8(to, (uint8_t)(0x80 | (c & 0x3f)));
    }
}

/* p behind "\u"; returns the bytes that were read, 0: no escape. Half a surrogate pair and NUL are
 * none. */
static size_t unicode(const char *p, const char *end, struct ks_buf *to)
{
    uint32_t c, low;

    if (!hex4(p, end, &c) || c == 0 || (c >= 0xdc00 && c <= 0xdfff))
        return 0;
    if (c < 0xd800 || c > 0xdbff) {
        put_utf8(to, c);
        return 4;
    }
    if (end - p < 10 || p[4] != '\\' || p[5] != 'u' || !hex4(p + 6, end, &low) || low < 0xdc00 ||
        low > 0xdfff)
        return 0;
    put_utf8(to, 0x10000 + ((c - 0xd800) << 10) + (low - 0xdc00));
    return 10;
}

/* p behind '\\' (p < end); returns the bytes that were read, 0: no escape. */
static size_t escape(const char *p, const char *end, struct ks_buf *to)
{
    static const char from[] = "\"\\/bfnrt", into[] = "\"\\/\b\f\n\r\t";
    const char *at = *p ? strchr(from, *p) : NULL;
    size_t n;

    if (at) {
        ks_buf_u8(to, (uint8_t)into[at - from]);
        return 1;
    }
    if (*p != 'u')
        return 0;
    n = unicode(p + 1, end, to);
    return n ? n + 1 : 0;
}

void ks_trace_unescape(struct ks_span s, struct ks_buf *to)
{
    const char *p = s.p, *const end = p + s.n;

    while (p < end) {
        const char *q = memchr(p, '\\', (size_t)(end - p));
        size_t n = 0;

        ks_buf_put(to, p, (size_t)((q ? q : end) - p));
        if (!q)
            return;
        p = q + 1;
        if (p < end)
            n = escape(p, end, to);
        if (n == 0)
            ks_buf_u8(to, '\\');
        p += n;
    }
}

/* ---- walking ---- */

static const char *skip_blanks(const char *p, const char *end)
{
    while (p < end && (unsigned char)*p <= ' ')
        p++;
    return p;
}

/* p at the opening quote; NULL: not closed. */
static const char *string_end(const char *p, const char *end)
{
    for (p++; p < end && *p != '"'; p++)
        p += *p == '\\';
    return p < end ? p : NULL;
}

/* The place behind the value that begins at p; NULL: not whole. */
static const char *value_end(const char *p, const char *end)
{
    size_t depth = 0;

    do {
        if (p >= end)
            return NULL;
        if (*p == '"') {
            p = string_end(p, end);
            if (!p)
                return NULL;
        } else if (*p == '[' || *p == '{') {
            depth++;
        } else if (*p == ']' || *p == '}') {
            if (depth-- == 0)
                return NULL;
        } else if (depth == 0) {
            while (p < end && !strchr(",]} \t\r\n", *p))
                p++;
            return p;
        }
        p++;
    } while (depth > 0);
    return p;
}

struct ks_trace_walk ks_trace_walk(struct ks_span text)
{
    const char *p = text.p, *end = p ? p + text.n : NULL;
    struct ks_trace_walk w = { .p = p, .end = end };

    if (p)
        p = skip_blanks(p, end);
    if (!p || p >= end || (*p != '{' && *p != '[')) {
        w.is_bad = true;
        return w;
    }
    w.is_object = *p == '{';
    w.p = p + 1;
    return w;
}

static bool walk_bad(struct ks_trace_walk *w)
{
    w->is_bad = true;
    return false;
}

static bool walk_key(struct ks_trace_walk *w, struct ks_span *out)
{
    const char *q;

    if (w->p >= w->end || *w->p != '"')
        return walk_bad(w);
    q = string_end(w->p, w->end);
    if (!q)
        return walk_bad(w);
    *out = (struct ks_span){ w->p + 1, (size_t)(q - w->p - 1) };
    w->p = skip_blanks(q + 1, w->end);
    if (w->p >= w->end || *w->p != ':')
        return walk_bad(w);
    w->p = skip_blanks(w->p + 1, w->end);
    return true;
}

bool ks_trace_walk_next(struct ks_trace_walk *w, struct ks_trace_member *out)
{
    const char *q;

    if (w->is_bad)
        return false;
    w->p = skip_blanks(w->p, w->end);
    if (w->p < w->end && *w->p == ',')
        w->p = skip_blanks(w->p + 1, w->end);
    if (w->p >= w->end)
        return walk_bad(w);
    if (*w->p == '}' || *w->p == ']')
        return false;
    *out = (struct ks_trace_member){ 0 };
    if (w->is_object && !walk_key(w, &out->key))
        return false;
    q = value_end(w->p, w->end);
    if (!q || q == w->p)
        return walk_bad(w);
    out->is_string = *w->p == '"';
    out->value = (struct ks_span){ w->p + out->is_string, (size_t)(q - w->p) - 2 * out->is_string };
    w->p = q;
    return true;
}
