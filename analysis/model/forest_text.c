/* SPDX-License-Identifier: MIT */
/* forest_text.c - cuts a saved model into its trees by counting brackets and respecting strings */
#include "analysis/model/forest_text.h"

#include <stdbool.h>
#include <string.h>

/* Where the trees are: keys from the outermost object on. */
static const char *const path[] = { "learner", "gradient_booster", "model", "trees" };
enum { LEVELS = sizeof(path) / sizeof(path[0]) };

struct scan {
    const char *p, *end;
    int depth;                /* open brackets */
    bool on_path[LEVELS + 1]; /* [depth] whether the bracket is one of those around the trees */
    bool is_next;             /* the last key leads to the trees */
};

static const char *skip_blanks(const char *p, const char *end)
{
    while (p < end && (*p == ' ' || *p == '\t' || *p == '\n' || *p == '\r'))
        p++;
    return p;
}

/* From an opening quote to behind the closing one; `end` where there is none. */
static const char *skip_string(const char *p, const char *end)
{
    for (p++; p < end && *p != '"'; p++)
        if (*p == '\\' && p + 1 < end)
            p++;
    return p < end ? p + 1 : end;
}

/* A key of the innermost object, or a value. */
static void take_string(struct scan *s)
{
    const char *from = s->p + 1;
    size_t len;

    s->p = skip_string(s->p, s->end);
    len = (size_t)(s->p - from) - (s->p > from);
    s->p = skip_blanks(s->p, s->end);
    if (s->p == s->end || *s->p != ':')
        return;
    s->is_next = s->depth >= 1 && s->depth <= LEVELS && s->on_path[s->depth] &&
                 len == strlen(path[s->depth - 1]) && memcmp(from, path[s->depth - 1], len) == 0;
}

static void open_bracket(struct scan *s)
{
    const bool is_on = s->depth == 0 || s->is_next;

    s->depth++;
    s->is_next = false;
    if (s->depth <= LEVELS)
        s->on_path[s->depth] = is_on && *s->p == '{';
}

/* The opening bracket of the list; NULL: there is none. */
static const char *find_list(const char *text, size_t len)
{
    struct scan s = { .p = text, .end = text + len };

    while (s.p < s.end) {
        const char c = *s.p;

        if (c == '"') {
            take_string(&s);
            continue;
        }
        if (c == '[' && s.depth == LEVELS && s.is_next)
            return s.p;
        if (c == '{' || c == '[')
            open_bracket(&s);
        else if (c == '}' || c == ']')
            s.depth -= s.depth > 0;
        if (c == ',' || c == '}' || c == ']')
            s.is_next = false;
        s.p++;
    }
    return NULL;
}

/* Behind a value: a comma or bracket that is not in it; `end` where there is none. */
static const char *skip_value(const char *p, const char *end)
{
    int depth = 0;

    while (p < end && (depth > 0 || (*p != ',' && *p != ']' && *p != '}'))) {
        if (*p == '"') {
            p = skip_string(p, end);
            continue;
        }
        depth += *p == '{' || *p == '[';
        depth -= *p == '}' || *p == ']';
        p++;
    }
    return p;
}

static int no_end(const struct ks_forest_text *t, struct ks_err *err)
{
    return ks_fail(err, KS_EFORMAT, "%s: the list of trees has no end", t->name);
}

int ks_forest_text_open(struct ks_forest_text *t_out, const char *text, size_t len,
                        const char *name, struct ks_err *err)
{
    struct ks_forest_text t = { .name = name };
    const char *list = find_list(text, len), *end = text + len, *at = list ? list + 1 : end;

    ks_buf_init(&t.rest);
    while (at < end && *at != ']' && *at != '}') {
        at = skip_value(at, end);
        at += at < end && *at == ',';
    }
    if (list && at == end)
        return no_end(&t, err);
    if (list) {
        t.at = list + 1;
        t.end = at;
        ks_buf_put(&t.rest, text, (size_t)(list + 1 - text));
    }
    ks_buf_put(&t.rest, list ? at : text, list ? (size_t)(end - at) : len);
    if (!ks_buf_ok(&t.rest)) {
        ks_buf_release(&t.rest);
        return ks_fail(err, KS_ENOMEM, "out of memory for '%s'", name);
    }
    *t_out = t;
    return 0;
}

void ks_forest_text_release(struct ks_forest_text *t)
{
    ks_buf_release(&t->rest);
    *t = (struct ks_forest_text){ 0 };
}

int ks_forest_text_next(struct ks_forest_text *t, const char **tree_out, size_t *len_out,
                        struct ks_err *err)
{
    const char *from = skip_blanks(t->at, t->end), *to;

    if (from == t->end)
        return 0;
    to = skip_value(from, t->end);
    *tree_out = from;
    *len_out = (size_t)(to - from);
    t->at = to + (to < t->end);
    if (to < t->end && (*to != ',' || skip_blanks(t->at, t->end) == t->end))
        return ks_fail(err, KS_EFORMAT, "%s: a tree is missing behind a comma", t->name);
    return 1;
}
