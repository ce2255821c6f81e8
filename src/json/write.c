/* SPDX-License-Identifier: MIT */
/* write.c - writes JSON through cJSON: valid UTF-8, exact numbers, control characters escaped */
#include "base/hash.h"
#include "base/text.h"
#include "json/json.h"
#include "json/scan.h"

#include <cjson/cJSON.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

enum { MAX_OPEN = sizeof(((struct ks_jw *)0)->open) / sizeof(struct cJSON *) };

void ks_jw_init(struct ks_jw *w, struct ks_buf *to, bool is_pretty)
{
    *w = (struct ks_jw){ .to = to, .is_pretty = is_pretty };
}

/* Where the value that is being built begins in w->open. */
static int root_of(const struct ks_jw *w)
{
    return w->is_list ? 1 : 0;
}

void ks_jw_drop(struct ks_jw *w)
{
    if (w->depth > root_of(w))
        cJSON_Delete(w->open[root_of(w)]);
    w->depth = 0;
    w->is_list = false;
}

static void fail(struct ks_jw *w)
{
    w->to->failed = true;
    ks_jw_drop(w);
}

/* Bytes of a control character at p that cJSON writes as it is (DEL, C1, separators of lines, marks
 * of direction), 0 for any other: terminals obey some of them. */
static size_t control_at(const char *p, uint32_t *code_out)
{
    const unsigned char *c = (const unsigned char *)p;
    size_t n = ks_utf8_next(c, strnlen(p, 4));

    *code_out = n ? ks_utf8_code(c, n) : 0;
    return n && ks_utf8_is_control(*code_out) ? n : 0;
}

/* cJSON indents by tabs and puts one behind each colon; inside of strings it escapes tabs and line
 * breaks. An element of a list is one level deeper than it knows. */
static void put_text(struct ks_buf *to, const char *text, bool is_deeper)
{
    size_t n;

    for (const char *at; (at = strpbrk(text, "\t\n\x7f\xc2\xe2")); text = at + n) {
        uint32_t code;

        ks_buf_put(to, text, (size_t)(at - text));
        n = 1;
        if (*at == '\t') {
            ks_buf_put(to, "  ", at > text && at[-1] == ':' ? 1 : 2);
        } else if (*at == '\n') {
            ks_buf_put(to, "\n  ", is_deeper ? 3 : 1);
        } else {
            n = control_at(at, &code);
            if (n)
                ks_buf_printf(to, "\\u%04x", code);
            else
                ks_buf_put(to, at, n = 1);
        }
    }
    ks_buf_put(to, text, strlen(text));
}

/* Takes item, a whole value. */
static void print(struct ks_jw *w, cJSON *item)
{
    char *text = w->is_pretty ? cJSON_Print(item) : cJSON_PrintUnformatted(item);

    if (text && w->is_list && w->is_element)
        ks_buf_put(w->to, ", ", w->is_pretty ? 2 : 1);
    w->is_element = true;
    if (text)
        put_text(w->to, text, w->is_list);
    cJSON_Delete(item);
    cJSON_free(text);
    if (!text)
        fail(w);
}

static bool is_utf8(const char *text)
{
    size_t left = strlen(text), n;

    for (; left && (n = ks_utf8_next((const unsigned char *)text, left)); left -= n)
        text += n;
    return left == 0;
}

/* Captured output of a dying program may be any bytes; what is no UTF-8 becomes U+FFFD. */
static void put_utf8(struct ks_buf *to, const char *text)
{
    for (size_t left = strlen(text), n; left; left -= n, text += n) {
        n = ks_utf8_next((const unsigned char *)text, left);
        if (n)
            ks_buf_put(to, text, n);
        else
            ks_buf_put(to, "\xef\xbf\xbd", 3);
        n = n ? n : 1;
    }
}

/* `text` itself where it is UTF-8, else what `place` then holds; NULL: out of memory. */
static const char *as_utf8(const char *text, struct ks_buf *place)
{
    if (is_utf8(text))
        return text;
    put_utf8(place, text);
    return ks_buf_ok(place) ? ks_buf_text(place) : NULL;
}

static cJSON *text_item(const char *text)
{
    struct ks_buf place;
    const char *clean;
    cJSON *item;

    ks_buf_init(&place);
    clean = as_utf8(text, &place);
    item = clean ? cJSON_CreateString(clean) : NULL;
    ks_buf_release(&place);
    return item;
}

static bool join(cJSON *parent, const char *key, cJSON *item)
{
    struct ks_buf place;
    const char *clean;
    bool is_joined;

    if (!key)
        return cJSON_IsArray(parent) && cJSON_AddItemToArray(parent, item);
    ks_buf_init(&place);
    clean = as_utf8(key, &place);
    is_joined = clean && cJSON_IsObject(parent) && cJSON_AddItemToObject(parent, clean, item);
    ks_buf_release(&place);
    return is_joined;
}

/* Takes item, which becomes a part of the value that is being built; NULL stands for one that could
 * not be made. False: the buffer has failed. */
static bool add(struct ks_jw *w, const char *key, cJSON *item)
{
    if (item && w->depth && join(w->open[w->depth - 1], key, item))
        return true;
    cJSON_Delete(item);
    fail(w);
    return false;
}

/* Does a value begin here? */
static bool is_outside(const struct ks_jw *w, const char *key)
{
    return w->depth == root_of(w) && !key;
}

static void scalar(struct ks_jw *w, const char *key, cJSON *item)
{
    if (item && !w->to->failed && is_outside(w, key)) {
        print(w, item);
        return;
    }
    if (w->to->failed || w->depth == root_of(w)) {
        cJSON_Delete(item);
        item = NULL;
    }
    add(w, key, item);
}

static void open_list(struct ks_jw *w)
{
    ks_buf_u8(w->to, '[');
    w->open[w->depth++] = NULL;
    w->is_list = true;
    w->is_element = false;
}

void ks_jw_open(struct ks_jw *w, const char *key, char bracket)
{
    bool is_first = is_outside(w, key);
    cJSON *item;

    if (w->to->failed || w->depth == MAX_OPEN || (w->depth == root_of(w) && !is_first)) {
        fail(w);
        return;
    }
    if (w->depth == 0 && bracket == '[') {
        open_list(w);
        return;
    }
    item = bracket == '{' ? cJSON_CreateObject() : cJSON_CreateArray();
    if (!item)
        fail(w);
    else if (is_first || add(w, key, item))
        w->open[w->depth++] = item;
}

void ks_jw_close(struct ks_jw *w, char bracket)
{
    bool is_list_end = w->is_list && w->depth == 1;
    bool is_object = w->depth && !is_list_end && cJSON_IsObject(w->open[w->depth - 1]);

    if (w->to->failed || !w->depth || is_object != (bracket == '}')) {
        fail(w);
    } else if (is_list_end) {
        ks_buf_u8(w->to, ']');
        ks_jw_drop(w);
    } else if (--w->depth == root_of(w)) {
        print(w, w->open[w->depth]);
    }
}

void ks_jw_str(struct ks_jw *w, const char *key, const char *v)
{
    scalar(w, key, v ? text_item(v) : cJSON_CreateNull());
}

void ks_jw_int(struct ks_jw *w, const char *key, int64_t v)
{
    char text[32];

    snprintf(text, sizeof(text), "%lld", (long long)v);
    scalar(w, key, cJSON_CreateRaw(text));
}

void ks_jw_u64(struct ks_jw *w, const char *key, uint64_t v)
{
    char text[32];

    snprintf(text, sizeof(text), "%llu", (unsigned long long)v);
    scalar(w, key, cJSON_CreateRaw(text));
}

void ks_jw_real(struct ks_jw *w, const char *key, double v)
{
    char text[32], number[40];

    if (!isfinite(v)) {
        fail(w);
        return;
    }
    ks_f64_text(v, text);
    /* "5.0" rather than "5": it reads back as the same kind of number. */
    snprintf(number, sizeof(number), "%s%s", text, strpbrk(text, ".e") ? "" : ".0");
    scalar(w, key, cJSON_CreateRaw(number));
}

void ks_jw_known(struct ks_jw *w, const char *key, double v)
{
    if (v >= 0 && isfinite(v))
        ks_jw_real(w, key, v);
    else
        ks_jw_null(w, key);
}

void ks_jw_id(struct ks_jw *w, const char *key, uint64_t id)
{
    char text[17];

    ks_hex64(id, text);
    ks_jw_str(w, key, text);
}

void ks_jw_bool(struct ks_jw *w, const char *key, bool v)
{
    scalar(w, key, cJSON_CreateBool(v));
}

void ks_jw_null(struct ks_jw *w, const char *key)
{
    scalar(w, key, cJSON_CreateNull());
}

static void copy_children(struct ks_jw *w, const char *key, const struct ks_node *n)
{
    bool is_object = n->kind == KS_JSON_OBJECT;

    ks_jw_open(w, key, is_object ? '{' : '[');
    for (const struct ks_node *c = ks_node_first(n); c && !w->to->failed; c = ks_node_next(c))
        ks_jw_node(w, ks_node_key(c), c);
    ks_jw_close(w, is_object ? '}' : ']');
}

void ks_jw_node(struct ks_jw *w, const char *key, const struct ks_node *n)
{
    switch (ks_node_kind(n)) {
    case KS_JSON_NULL:
        ks_jw_null(w, key);
        break;
    case KS_JSON_BOOL:
        ks_jw_bool(w, key, cJSON_IsTrue(n->item));
        break;
    case KS_JSON_INT:
        ks_jw_int(w, key, n->v.i);
        break;
    case KS_JSON_REAL:
        ks_jw_real(w, key, n->v.d);
        break;
    case KS_JSON_STRING:
        ks_jw_str(w, key, n->item->valuestring);
        break;
    case KS_JSON_ARRAY:
    case KS_JSON_OBJECT:
        copy_children(w, key, n);
        break;
    }
}
