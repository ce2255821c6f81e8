/* SPDX-License-Identifier: MIT */
/* combine_ids.c - gives the ids of each of several traces a range of their own */
#include "analysis/trace/combine_ids.h"

#include "base/array.h"
#include "trace/text.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { NUMBER_MAX = 20 /* digits of 64 bits */ };
#define PID_STEP (INT64_C(1) << 24) /* above any process id of Linux */

struct ks_id_edit {
    struct ks_span old;
    char text[32]; /* in its place, or with is_suffix behind it */
    bool is_suffix;
};

/* NULL: no memory. */
static struct ks_id_edit *new_edit(struct ks_ids *ids, struct ks_span old)
{
    if (ks_reserve(&ids->edits, ids->n + 1, &ids->cap, sizeof(*ids->edits), "ids", NULL) < 0) {
        ids->is_full = true;
        return NULL;
    }
    ids->edits[ids->n] = (struct ks_id_edit){ .old = old };
    return &ids->edits[ids->n++];
}

void ks_ids_release(struct ks_ids *ids)
{
    free(ids->edits);
    ids->edits = NULL;
    ids->n = ids->cap = 0;
}

/* ---- numbers ---- */

void ks_ids_set(struct ks_ids *ids, struct ks_span number, int64_t id)
{
    struct ks_id_edit *e = new_edit(ids, number);

    if (e)
        snprintf(e->text, sizeof(e->text), "%lld", (long long)id);
}

static void shift(struct ks_ids *ids, struct ks_span number)
{
    int64_t v;

    if (number.p && ids->file > 0 && ks_trace_int(number, &v) && v >= 0 &&
        !__builtin_add_overflow(v, ids->file * ids->id_step, &v))
        ks_ids_set(ids, number, v);
}

/* "0x7f3c": what Chrome's own tools write as ids. */
static bool read_hex(struct ks_span s, int64_t *out)
{
    int64_t v = 0;

    if (s.n < 3 || s.n > 2 + 15 || s.p[0] != '0' || (s.p[1] | 0x20) != 'x')
        return false;
    for (size_t i = 2; i < s.n; i++) {
        if (!isxdigit((unsigned char)s.p[i]))
            return false;
        v = v * 16 + (s.p[i] <= '9' ? s.p[i] - '0' : (s.p[i] | 0x20) - 'a' + 10);
    }
    *out = v;
    return true;
}

/* Damaged text may begin like one. */
static bool is_number(struct ks_span s)
{
    for (size_t i = 0; i < s.n; i++)
        if (!strchr("+-.0123456789Ee", s.p[i]) || !s.p[i])
            return false;
    return s.n > 0 && s.n <= NUMBER_MAX;
}

/* Of a process, a flow, an asynchronous event, an object or a frame. Numbers stay hexadecimal if
 * they were, and texts of the first file stay. */
static void rename_id(struct ks_ids *ids, struct ks_span name, bool is_text, int64_t step)
{
    struct ks_id_edit *e;
    int64_t v = -1;
    const bool is_hex = is_text && read_hex(name, &v);
    const bool is_int = !is_hex && ks_trace_int(name, &v);
    const bool moves = v >= 0 && v < step;
    const bool is_plain_text = is_text && !is_hex && !is_int;

    if (!(is_text || is_number(name)) || (ids->file == 0 && (moves || is_plain_text)))
        return;
    e = new_edit(ids, name);
    if (!e)
        return;
    e->is_suffix = is_text && !moves;
    if (moves)
        snprintf(e->text, sizeof(e->text), is_hex ? "0x%llx" : "%lld",
                 (long long)(v + ids->file * step));
    else if (!is_text)
        snprintf(e->text, sizeof(e->text), "\"%.*s #%lld\"", (int)name.n, name.p,
                 (long long)ids->file + 1);
    else
        snprintf(e->text, sizeof(e->text), " #%lld", (long long)ids->file + 1);
}

/* A value as the reader gives it: a string without its quotes. */
static void rename_value(struct ks_ids *ids, struct ks_span value, int64_t step)
{
    if (value.p)
        rename_id(ids, value, value.p[-1] == '"', step);
}

/* ---- events ---- */

/* Negative numbers are no processes. */
static void add_process(struct ks_ids *ids, struct ks_span pid)
{
    int64_t v;

    if (!(pid.p && ks_trace_int(pid, &v) && v < 0))
        rename_value(ids, pid, PID_STEP);
}

/* {"local": "0x1"}, of the process, or {"global": "0x1"}: viewers may show a process without a
 * number, so both move. */
static void add_id2(struct ks_ids *ids, struct ks_span id2)
{
    struct ks_span last[2] = { { NULL, 0 }, { NULL, 0 } };
    struct ks_trace_walk members;
    struct ks_trace_member m;

    if (id2.n < 2 || *id2.p != '{')
        return;
    for (members = ks_trace_walk(id2); ks_trace_walk_next(&members, &m);)
        if (ks_span_is(m.key, "local") || ks_span_is(m.key, "global"))
            last[ks_span_is(m.key, "global")] = m.value;
    for (int i = 0; i < 2; i++)
        rename_value(ids, last[i], ids->id_step);
}

/* *p anywhere outside of a string; leaves it behind the string. */
static bool next_string(const char **p, const char *end, struct ks_span *out)
{
    const char *q = memchr(*p, '"', (size_t)(end - *p));

    if (!q)
        return false;
    out->p = ++q;
    while (q < end && *q != '"')
        q += *q == '\\' ? 2 : 1;
    if (q >= end)
        return false;
    out->n = (size_t)(q - out->p);
    *p = q + 1;
    return true;
}

static const char *skip_blanks(const char *p, const char *end)
{
    while (p < end && strchr(" \t\r\n", *p))
        p++;
    return p;
}

/* *p behind a string. true: it is a key, and its value, which *p is behind then, is a scalar. */
static bool next_scalar(const char **p, const char *end, struct ks_span *out)
{
    const char *q = skip_blanks(*p, end);

    if (q == end || *q != ':')
        return false;
    *p = q = skip_blanks(q + 1, end);
    if (q == end || *q == '{' || *q == '[')
        return false;
    if (*q == '"')
        return next_string(p, end, out);
    while (q < end && !strchr(",]} \t\r\n", *q))
        q++;
    *out = (struct ks_span){ *p, (size_t)(q - *p) };
    *p = q;
    return out->n > 0;
}

/* An object within the snapshot of another has the id "type/0x7f3c". */
static void add_inner_object(struct ks_ids *ids, struct ks_span id)
{
    const char *slash = id.p[-1] == '"' ? memrchr(id.p, '/', id.n) : NULL;

    if (slash && slash > id.p && slash + 1 < id.p + id.n)
        rename_id(ids, (struct ks_span){ slash + 1, (size_t)(id.p + id.n - slash) - 1 }, true,
                  ids->id_step);
}

/* References to objects, at any depth. */
static void add_references(struct ks_ids *ids, const struct ks_trace_event *ev)
{
    const char *p = ev->args.p, *const end = p + ev->args.n;
    const bool is_snapshot = ev->ph == 'O';
    struct ks_span key, value;

    if (!is_snapshot && !ks_span_has(ev->args, "\"id_ref\""))
        return;
    while (next_string(&p, end, &key)) {
        if (!next_scalar(&p, end, &value))
            continue;
        if (ks_span_is(key, "id_ref"))
            rename_value(ids, value, ids->id_step);
        else if (is_snapshot && ks_span_is(key, "id"))
            add_inner_object(ids, value);
    }
}

void ks_ids_of_event(struct ks_ids *ids, const struct ks_trace_event *ev)
{
    static const enum ks_trace_arg shifted[] = { KS_TRACE_ARG_CORRELATION, KS_TRACE_ARG_EXTERNAL_ID,
                                                 KS_TRACE_ARG_WAIT_CORRELATION };
    const struct ks_span renamed[] = { ev->id, ev->bind_id, ev->sf, ev->esf };

    add_process(ids, ev->pid);
    for (size_t i = 0; i < sizeof(renamed) / sizeof(renamed[0]); i++)
        rename_value(ids, renamed[i], ids->id_step);
    add_id2(ids, ev->id2);
    for (size_t i = 0; i < sizeof(shifted) / sizeof(shifted[0]); i++)
        if (ks_trace_has(ev, shifted[i]))
            shift(ids, ev->arg[shifted[i]]);
    if (ev->args.p)
        add_references(ids, ev);
}

/* ---- stack frames ---- */

/* The frames that the members of an object or the elements of an array name. */
static void add_named_frames(struct ks_ids *ids, struct ks_span list, const char *key)
{
    struct ks_trace_walk objects = ks_trace_walk(list);
    struct ks_trace_member object, m;

    while (ks_trace_walk_next(&objects, &object)) {
        struct ks_trace_walk members = ks_trace_walk(object.value);

        if (object.key.p)
            rename_value(ids, object.key, ids->id_step);
        while (!object.is_string && ks_trace_walk_next(&members, &m))
            if (ks_span_is(m.key, key))
                rename_value(ids, m.value, ids->id_step);
    }
}

void ks_ids_of_frames(struct ks_ids *ids, struct ks_span frames)
{
    add_named_frames(ids, frames, "parent");
}

void ks_ids_of_samples(struct ks_ids *ids, struct ks_span samples)
{
    add_named_frames(ids, samples, "sf");
}

/* ---- the text ---- */

static int by_place(const void *x, const void *y)
{
    const struct ks_id_edit *a = x, *b = y;

    return (a->old.p > b->old.p) - (a->old.p < b->old.p);
}

void ks_ids_put(struct ks_ids *ids, struct ks_span text, struct ks_buf *to)
{
    const char *from = text.p, *const end = from + text.n;

    if (ids->n > 0)
        qsort(ids->edits, ids->n, sizeof(*ids->edits), by_place);
    for (size_t i = 0; i < ids->n; i++) {
        const struct ks_id_edit *e = &ids->edits[i];
        const char *at = e->is_suffix ? e->old.p + e->old.n : e->old.p;

        ks_buf_put(to, from, (size_t)(at - from));
        ks_buf_printf(to, "%s", e->text);
        from = e->old.p + e->old.n;
    }
    ks_buf_put(to, from, (size_t)(end - from));
    ids->n = 0;
    to->failed |= ids->is_full;
}
