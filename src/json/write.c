/* SPDX-License-Identifier: MIT */
#include "base/text.h"
#include "json/json.h"
#include "json/scan.h"

#include <math.h>
#include <string.h>

enum { MAX_OPEN = 32 };

void ks_jw_init(struct ks_jw *w, struct ks_buf *to, bool is_pretty)
{
    *w = (struct ks_jw){ .to = to, .is_pretty = is_pretty };
    w->is_first[0] = true;
}

static void new_line(struct ks_jw *w)
{
    if (w->is_pretty)
        ks_buf_printf(w->to, "\n%*s", 2 * w->depth, "");
}

static void put_escaped(struct ks_buf *to, uint32_t c)
{
    static const char from[] = "\"\\\b\f\n\r\t", as[] = "\"\\bfnrt";
    const char *at = c && c < 0x80 ? strchr(from, (int)c) : NULL;

    if (at)
        ks_buf_printf(to, "\\%c", as[at - from]);
    else
        ks_buf_printf(to, "\\u%04x", c);
}

/* Captured output of a dying program may be any bytes; what is no UTF-8 becomes U+FFFD. */
static void put_quoted(struct ks_buf *to, const char *text)
{
    const unsigned char *p = (const unsigned char *)text;
    size_t left = strlen(text);

    ks_buf_u8(to, '"');
    while (left) {
        size_t n = ks_utf8_next(p, left);

        if (n == 0)
            ks_buf_put(to, "\\ufffd", 6);
        else if (*p == '"' || *p == '\\' || ks_utf8_is_control(ks_utf8_code(p, n)))
            put_escaped(to, ks_utf8_code(p, n));
        else
            ks_buf_put(to, p, n);
        n = n ? n : 1;
        p += n;
        left -= n;
    }
    ks_buf_u8(to, '"');
}

/* Comma, line break and key: everything that stands before a value. */
static void lead(struct ks_jw *w, const char *key)
{
    if (!w->is_first[w->depth])
        ks_buf_u8(w->to, ',');
    w->is_first[w->depth] = false;
    if (w->depth)
        new_line(w);
    if (!key)
        return;
    put_quoted(w->to, key);
    ks_buf_printf(w->to, w->is_pretty ? ": " : ":");
}

void ks_jw_open(struct ks_jw *w, const char *key, char bracket)
{
    if (w->depth >= MAX_OPEN) {
        w->to->failed = true;
        return;
    }
    lead(w, key);
    ks_buf_u8(w->to, (uint8_t)bracket);
    w->depth++;
    w->is_first[w->depth] = true;
}

void ks_jw_close(struct ks_jw *w, char bracket)
{
    bool is_empty = w->is_first[w->depth];

    if (w->depth <= 0) {
        w->to->failed = true;
        return;
    }
    w->depth--;
    if (!is_empty)
        new_line(w);
    ks_buf_u8(w->to, (uint8_t)bracket);
}

void ks_jw_str(struct ks_jw *w, const char *key, const char *v)
{
    lead(w, key);
    if (v)
        put_quoted(w->to, v);
    else
        ks_buf_printf(w->to, "null");
}

void ks_jw_int(struct ks_jw *w, const char *key, int64_t v)
{
    lead(w, key);
    ks_buf_printf(w->to, "%lld", (long long)v);
}

void ks_jw_u64(struct ks_jw *w, const char *key, uint64_t v)
{
    lead(w, key);
    ks_buf_printf(w->to, "%llu", (unsigned long long)v);
}

void ks_jw_real(struct ks_jw *w, const char *key, double v)
{
    char text[32];

    lead(w, key);
    if (!isfinite(v)) {
        w->to->failed = true;
        return;
    }
    ks_f64_text(v, text);
    /* "5.0" rather than "5": it reads back as the same kind of number. */
    ks_buf_printf(w->to, "%s%s", text, strpbrk(text, ".e") ? "" : ".0");
}

void ks_jw_bool(struct ks_jw *w, const char *key, bool v)
{
    lead(w, key);
    ks_buf_printf(w->to, v ? "true" : "false");
}

void ks_jw_null(struct ks_jw *w, const char *key)
{
    lead(w, key);
    ks_buf_printf(w->to, "null");
}

void ks_jw_node(struct ks_jw *w, const char *key, const struct ks_node *n)
{
    bool is_object;

    switch (ks_node_kind(n)) {
    case KS_JSON_NULL:
        ks_jw_null(w, key);
        return;
    case KS_JSON_BOOL:
        ks_jw_bool(w, key, n->is_true);
        return;
    case KS_JSON_INT:
        ks_jw_int(w, key, n->v.i);
        return;
    case KS_JSON_REAL:
        ks_jw_real(w, key, n->v.d);
        return;
    case KS_JSON_STRING:
        ks_jw_str(w, key, n->text);
        return;
    case KS_JSON_ARRAY:
    case KS_JSON_OBJECT:
        break;
    }
    is_object = n->kind == KS_JSON_OBJECT;
    if (w->depth >= MAX_OPEN) {
        w->to->failed = true;
        return;
    }
    ks_jw_open(w, key, is_object ? '{' : '[');
    for (const struct ks_node *c = ks_node_first(n); c; c = ks_node_next(c))
        ks_jw_node(w, ks_node_key(c), c);
    ks_jw_close(w, is_object ? '}' : ']');
}
