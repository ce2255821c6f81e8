/* SPDX-License-Identifier: MIT */
/* elements.c - reads a JSON document element by element, which may end before its last bracket */
#include "analysis/import/elements.h"

#include <stdio.h>
#include <string.h>

/* Results of a step; errors are below 0. */
enum { STEP_OK, STEP_CUT };

struct reading {
    struct ks_elements *e;
    struct ks_text_in *in;
    struct ks_buf key, value;
    struct ks_err *err;
};

static int fail(const struct reading *r, const char *what)
{
    return ks_fail(r->err, KS_EFORMAT, "%s:%llu: %s", r->in->name,
                   (unsigned long long)(r->in->line ? r->in->line : 1), what);
}

/* The end of the file, or what ks_text_in_next said of a failure. */
static int ended(const struct reading *r, int c)
{
    if (c < -1)
        return c + 1;
    if (r->e->may_be_cut)
        return STEP_CUT;
    return fail(r, "the file is truncated: it ends within a value");
}

/* The next byte that is no blank, not taken; below 0 as ks_text_in_peek. */
static int peek(struct reading *r)
{
    int c = ks_text_in_peek(r->in, r->err);

    while (c == ' ' || c == '\t' || c == '\n' || c == '\r') {
        (void)ks_text_in_next(r->in, r->err);
        c = ks_text_in_peek(r->in, r->err);
    }
    return c;
}

static int expect(struct reading *r, char wanted)
{
    char what[48];
    int c = peek(r);

    if (c < 0)
        return ended(r, c);
    snprintf(what, sizeof(what), "'%c' is missing", wanted);
    if (c != wanted)
        return fail(r, what);
    (void)ks_text_in_next(r->in, r->err);
    return STEP_OK;
}

static int put(struct reading *r, int c)
{
    if (r->value.len == KS_ELEMENT_MAX)
        return fail(r, "a value of more than 16 MiB");
    ks_buf_u8(&r->value, (uint8_t)c);
    return ks_buf_ok(&r->value) ? STEP_OK : ks_fail(r->err, KS_ENOMEM, "out of memory for a value");
}

/* The text of one value into r->value: brackets are counted, strings respected; what is in it is
 * the parser's business. */
static int take_value(struct reading *r)
{
    bool in_string = false, is_escaped = false;
    int depth = 0, rc = STEP_OK, c;

    ks_buf_clear(&r->value);
    (void)peek(r);
    while (rc == STEP_OK) {
        c = ks_text_in_peek(r->in, r->err);
        if (c < 0 && (c < -1 || depth > 0 || in_string || r->value.len == 0))
            return ended(r, c);
        if (c < 0 || (depth == 0 && !in_string && (c == ',' || c == '}' || c == ']')))
            return STEP_OK;
        (void)ks_text_in_next(r->in, r->err);
        rc = put(r, c);
        if (in_string && !is_escaped && c == '\\') {
            is_escaped = true;
            continue;
        }
        in_string = in_string != (c == '"' && !is_escaped);
        is_escaped = false;
        depth += !in_string && (c == '{' || c == '[');
        depth -= !in_string && (c == '}' || c == ']');
    }
    return rc;
}

static int parse(struct reading *r, uint64_t line, struct ks_json **doc_out)
{
    char name[400];

    snprintf(name, sizeof(name), "%.300s, value from line %llu on", r->in->name,
             (unsigned long long)line);
    return ks_json_parse(ks_buf_text(&r->value), r->value.len, name, doc_out, r->err);
}

/* "key": */
static int take_key(struct reading *r)
{
    struct ks_json *doc = NULL;
    const char *text;
    int c = peek(r), rc;

    if (c < 0)
        return ended(r, c);
    if (c != '"')
        return fail(r, "a key is missing");
    ks_buf_clear(&r->value);
    for (bool is_escaped = false, is_open = false; !is_open || c != '"' || is_escaped;) {
        is_escaped = is_open && c == '\\' && !is_escaped;
        is_open = true;
        (void)ks_text_in_next(r->in, r->err);
        rc = put(r, c);
        if (rc < 0)
            return rc;
        c = ks_text_in_peek(r->in, r->err);
        if (c < 0)
            return ended(r, c);
    }
    (void)ks_text_in_next(r->in, r->err);
    rc = put(r, c);
    if (rc == STEP_OK)
        rc = parse(r, r->in->line, &doc);
    if (rc == STEP_OK)
        rc = ks_node_str(doc, ks_json_root(doc), &text, r->err);
    if (rc == STEP_OK) {
        ks_buf_clear(&r->key);
        ks_buf_put(&r->key, text, strlen(text) + 1);
        if (!ks_buf_ok(&r->key))
            rc = ks_fail(r->err, KS_ENOMEM, "out of memory for a key");
    }
    ks_json_close(doc);
    return rc == STEP_OK ? expect(r, ':') : rc;
}

static int take_element(struct reading *r, const char *key)
{
    struct ks_json *doc = NULL;
    uint64_t line;
    int rc, c = peek(r);

    if (c < 0)
        return ended(r, c);
    line = r->in->line ? r->in->line : 1;
    rc = take_value(r);
    if (rc == STEP_CUT)
        r->e->n_cut = 1;
    if (rc == STEP_OK)
        rc = parse(r, line, &doc);
    if (rc == STEP_OK)
        rc = r->e->element(r->e->ctx, key, line, doc, r->err);
    ks_json_close(doc);
    return rc;
}

static int take_member(struct reading *r)
{
    struct ks_json *doc = NULL;
    uint64_t line = r->in->line;
    int rc = take_value(r);

    if (rc == STEP_OK)
        rc = parse(r, line, &doc);
    if (rc == STEP_OK)
        rc = r->e->member(r->e->ctx, (const char *)r->key.data, doc, r->err);
    ks_json_close(doc);
    return rc;
}

/* Behind an element: ',' goes on, `close` ends it. 1 = go on, 0 = end. */
static int next_or_end(struct reading *r, int close, int *rc_out)
{
    int c = peek(r);

    *rc_out = STEP_OK;
    if (c == ',' || c == close) {
        (void)ks_text_in_next(r->in, r->err);
        return c == ',';
    }
    *rc_out = c < 0 ? ended(r, c) : fail(r, "',' or a closing bracket is missing");
    return 0;
}

static int take_container(struct reading *r)
{
    int open = peek(r), close = open == '{' ? '}' : ']', rc = STEP_OK;

    if (open != '{' && open != '[')
        return open < 0 ? ended(r, open) : fail(r, "the results are neither a list nor an object");
    (void)ks_text_in_next(r->in, r->err);
    if (peek(r) == close) {
        (void)ks_text_in_next(r->in, r->err);
        return STEP_OK;
    }
    for (;;) {
        if (r->e->may_be_cut && peek(r) == -1)
            return STEP_CUT; /* behind a comma */
        if (open == '{')
            rc = take_key(r);
        if (rc == STEP_CUT)
            r->e->n_cut = 1;
        if (rc == STEP_OK)
            rc = take_element(r, open == '{' ? (const char *)r->key.data : "");
        if (rc != STEP_OK || !next_or_end(r, close, &rc))
            return rc;
    }
}

static int take_document(struct reading *r)
{
    int rc = expect(r, '{'), c;

    if (rc != STEP_OK)
        return rc;
    if (peek(r) == '}') {
        (void)ks_text_in_next(r->in, r->err);
        return STEP_OK;
    }
    do {
        rc = take_key(r);
        if (rc != STEP_OK)
            return rc;
        rc = strcmp((const char *)r->key.data, r->e->container) == 0 ? take_container(r)
                                                                     : take_member(r);
    } while (rc == STEP_OK && next_or_end(r, '}', &rc));
    if (rc != STEP_OK)
        return rc;
    c = peek(r);
    if (c < -1)
        return c + 1;
    return c == -1 ? STEP_OK : fail(r, "data after the last bracket");
}

int ks_elements_read(struct ks_elements *e, struct ks_text_in *in, struct ks_err *err)
{
    struct reading r = { .e = e, .in = in, .err = err };
    int rc;

    ks_buf_init(&r.key);
    ks_buf_init(&r.value);
    rc = take_document(&r);
    e->is_cut = rc == STEP_CUT;
    ks_buf_release(&r.key);
    ks_buf_release(&r.value);
    return rc < 0 ? rc : 0;
}
