/* SPDX-License-Identifier: MIT */
/* filters.c - reads filter files: an expression per line, or a Python filter_config() */
#include "grid/filters.h"

#include "base/buf.h"
#include "base/file.h"

#include <stdlib.h>
#include <string.h>

enum { MOST_FILTERS = 256 };

struct reader {
    const char *text;
    size_t at;
    struct ks_filters *to;
    struct ks_err *err;
};

static struct ks_expr_place place_of(const struct reader *r, size_t at)
{
    struct ks_expr_place p = { r->to->path, 1, 1 };

    for (size_t i = 0; i < at; i++) {
        bool is_end = r->text[i] == '\n';

        p.line += is_end;
        p.column = is_end ? 1 : p.column + 1;
    }
    return p;
}

static int complain(const struct reader *r, size_t at, const char *what)
{
    struct ks_expr_place p = place_of(r, at);

    return ks_fail(r->err, KS_EINVAL, "%s:%u:%u: %s", p.file, p.line, p.column, what);
}

/* Blanks, comments, and line ends. */
static void skip(struct reader *r)
{
    for (;;) {
        r->at += strspn(r->text + r->at, " \t\r\n\f");
        if (r->text[r->at] != '#')
            return;
        r->at += strcspn(r->text + r->at, "\n");
    }
}

/* Behind a text that begins at `at`, or at the end of its line. */
static size_t text_end(const char *text, size_t at)
{
    const char stop[] = { text[at], '\n', '\0' };
    size_t end = at + 1 + strcspn(text + at + 1, stop);

    return text[end] == text[at] ? end + 1 : end;
}

/* Where an expression ends: at the end of its line, behind all brackets where they count. */
static size_t expression_end(const struct reader *r, bool has_brackets)
{
    int depth = 0;
    size_t at = r->at;

    while (r->text[at] && (r->text[at] != '\n' || (has_brackets && depth > 0))) {
        char c = r->text[at];

        if (c == '#') {
            at += strcspn(r->text + at, "\n");
        } else if (c == '\'' || c == '"') {
            at = text_end(r->text, at);
        } else {
            depth += strchr("([", c) ? 1 : strchr(")]", c) ? -1 : 0;
            at++;
        }
    }
    return at;
}

/* Takes r->at up to `end` as an expression, if it is one. */
static int add(struct reader *r, size_t end)
{
    struct ks_filters *to = r->to;
    struct ks_filter *more = realloc(to->list, (to->n + 1) * sizeof *more);
    struct ks_filter *f;
    struct ks_expr *e = NULL;
    int rc;

    if (!more)
        return ks_fail(r->err, KS_ENOMEM, "no memory for a filter");
    to->list = more;
    if (to->n == MOST_FILTERS)
        return complain(r, r->at, "too many filters");
    f = &more[to->n];
    f->place = place_of(r, r->at);
    f->text = strndup(r->text + r->at, end - r->at);
    if (!f->text)
        return ks_fail(r->err, KS_ENOMEM, "no memory for a filter");
    to->n++;
    rc = ks_expr_parse_at(f->text, &f->place, &e, r->err);
    ks_expr_free(e);
    r->at = end;
    return rc;
}

static int read_lines(struct reader *r)
{
    int rc = 0;

    for (skip(r); rc == 0 && r->text[r->at]; skip(r))
        rc = add(r, expression_end(r, false));
    if (rc == 0 && r->to->n == 0)
        rc = ks_fail(r->err, KS_EINVAL, "%s: no expression in this filter file", r->to->path);
    return rc;
}

static bool is_word_char(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
}

/* The next token must be this one. */
static int expect(struct reader *r, const char *token)
{
    size_t n = strlen(token);
    bool is_there = strncmp(r->text + r->at, token, n) == 0 &&
                    !(is_word_char(token[n - 1]) && is_word_char(r->text[r->at + n]));

    if (!is_there)
        return complain(
            r, r->at,
            "a Python filter must be exactly 'def filter_config(c): return EXPRESSION', "
            "with line breaks only inside brackets");
    r->at += n;
    return 0;
}

static int read_python(struct reader *r)
{
    static const char *const head[] = { "def", "filter_config", "(", "c", ")", ":", "return" };
    int rc = 0;

    skip(r);
    for (size_t i = 0; rc == 0 && i < sizeof head / sizeof head[0]; i++) {
        rc = expect(r, head[i]);
        r->at += strspn(r->text + r->at, " \t");
        if (head[i][0] == ':')
            skip(r);
    }
    if (rc == 0)
        rc = add(r, expression_end(r, true));
    if (rc < 0)
        return rc;
    skip(r);
    return r->text[r->at] ? complain(r, r->at, "nothing may follow the return of a Python filter")
                          : 0;
}

/* A line that begins with "def filter_config". */
static bool is_python(const char *text)
{
    for (const char *s = text; s; s = strchr(s, '\n')) {
        s += strspn(s, " \t\r\n\f");
        if (strncmp(s, "def", 3) == 0 && (s[3] == ' ' || s[3] == '\t') &&
            strncmp(s + 3 + strspn(s + 3, " \t"), "filter_config", 13) == 0)
            return true;
    }
    return false;
}

int ks_filters_parse(const char *text, size_t len, const char *name, struct ks_filters *out,
                     struct ks_err *err)
{
    struct ks_filters f = { .path = strdup(name) };
    struct reader r = { .text = text, .to = &f, .err = err };
    int rc;

    if (!f.path)
        rc = ks_fail(err, KS_ENOMEM, "no memory for a filter file");
    else if (strlen(text) != len)
        rc = complain(&r, strlen(text), "a NUL byte in a filter file");
    else
        rc = is_python(text) ? read_python(&r) : read_lines(&r);
    if (rc < 0)
        ks_filters_release(&f);
    else
        *out = f;
    return rc;
}

int ks_filters_open(const char *path, struct ks_filters *out, struct ks_err *err)
{
    struct ks_buf text;
    int rc;

    ks_buf_init(&text);
    rc = ks_file_read(path, &text, err);
    if (rc == 0)
        rc = ks_filters_parse(ks_buf_text(&text), text.len, path, out, err);
    ks_buf_release(&text);
    return rc;
}

void ks_filters_release(struct ks_filters *f)
{
    for (uint32_t i = 0; i < f->n; i++)
        free(f->list[i].text);
    free(f->list);
    free(f->path);
    *f = (struct ks_filters){ 0 };
}
