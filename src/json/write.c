/* SPDX-License-Identifier: MIT */
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

void ks_jw_drop(struct ks_jw *w)
{
    if (w->depth)
        cJSON_Delete(w->open[0]);
    w->depth = 0;
}

static void fail(struct ks_jw *w)
{
    w->to->failed = true;
    ks_jw_drop(w);
}

/* cJSON indents by tabs and puts one behind each colon; inside of strings it escapes them. */
static void put_pretty(struct ks_buf *to, const char *text)
{
    for (const char *tab; (tab = strchr(text, '\t')); text = tab + 1) {
        ks_buf_put(to, text, (size_t)(tab - text));
        ks_buf_put(to, "  ", tab > text && tab[-1] == ':' ? 1 : 2);
    }
    ks_buf_put(to, text, strlen(text));
}

/* Takes item. */
static void print(struct ks_jw *w, cJSON *item)
{
    char *text = w->is_pretty ? cJSON_Print(item) : cJSON_PrintUnformatted(item);

    if (!text)
        w->to->failed = true;
    else if (w->is_pretty)
        put_pretty(w->to, text);
    else
        ks_buf_put(w->to, text, strlen(text));
    cJSON_free(text);
    cJSON_Delete(item);
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

/* Takes item; NULL stands for one that could not be made. False: the buffer has failed. */
static bool add(struct ks_jw *w, const char *key, cJSON *item)
{
    if (item && !w->to->failed && w->depth && join(w->open[w->depth - 1], key, item))
        return true;
    cJSON_Delete(item);
    fail(w);
    return false;
}

static void scalar(struct ks_jw *w, const char *key, cJSON *item)
{
    if (item && !w->to->failed && !w->depth && !key)
        print(w, item);
    else
        add(w, key, item);
}

void ks_jw_open(struct ks_jw *w, const char *key, char bracket)
{
    cJSON *item = bracket == '{' ? cJSON_CreateObject() : cJSON_CreateArray();

    if (w->depth == MAX_OPEN || !item || w->to->failed || (!w->depth && key)) {
        cJSON_Delete(item);
        fail(w);
        return;
    }
    if (w->depth && !add(w, key, item))
        return;
    w->open[w->depth++] = item;
}

void ks_jw_close(struct ks_jw *w, char bracket)
{
    if (w->to->failed || !w->depth || cJSON_IsObject(w->open[w->depth - 1]) != (bracket == '}')) {
        fail(w);
        return;
    }
    if (--w->depth == 0)
        print(w, w->open[0]);
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
