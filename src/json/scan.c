/* SPDX-License-Identifier: MIT */
/* scan.c - checks JSON's grammar, limits and UTF-8, and notes kind and line of every value */
#include "json/scan.h"
#include "base/text.h"

#include <ctype.h>
#include <errno.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Long enough for every double written out exactly enough. */
enum { MAX_NUMBER = 60 };

struct scan {
    const char *p, *end;
    const char *name;
    uint32_t line;
    unsigned depth;
    struct ks_nodes *nodes;
    struct ks_err *err;
};

static int value(struct scan *s, size_t parent);

__attribute__((format(printf, 2, 3))) static int bad(struct scan *s, const char *fmt, ...)
{
    char cause[256];
    va_list ap;

    va_start(ap, fmt);
    vsnprintf(cause, sizeof(cause), fmt, ap);
    va_end(ap);
    return ks_fail(s->err, KS_EFORMAT, "%s:%u: %s", s->name, s->line, cause);
}

/* What stands at s->p, as words for a message. */
static const char *found(const struct scan *s, char out[24])
{
    unsigned char c = s->p < s->end ? (unsigned char)*s->p : 0;

    if (s->p == s->end)
        snprintf(out, 24, "the end of the text");
    else if (isprint(c))
        snprintf(out, 24, "'%c'", c);
    else
        snprintf(out, 24, "byte 0x%02x", c);
    return out;
}

static int expected(struct scan *s, const char *what)
{
    char at[24];
    return bad(s, "expected %s, found %s", what, found(s, at));
}

static bool is_space(char c)
{
    return c == ' ' || c == '\t' || c == '\r' || c == '\n';
}

static void skip_space(struct scan *s)
{
    for (; s->p < s->end && is_space(*s->p); s->p++)
        s->line += *s->p == '\n';
}

static bool take(struct scan *s, char c)
{
    skip_space(s);
    if (s->p == s->end || *s->p != c)
        return false;
    s->p++;
    return true;
}

static int add_node(struct scan *s, size_t parent, enum ks_json_kind kind, size_t *i_out)
{
    struct ks_nodes *a = s->nodes;
    struct ks_node *n;

    if (a->n == a->cap) {
        size_t cap = a->cap ? 2 * a->cap : 32;

        n = cap < UINT32_MAX ? realloc(a->at, cap * sizeof(*n)) : NULL;
        if (!n)
            return ks_fail(s->err, KS_ENOMEM, "%s: out of memory at line %u", s->name, s->line);
        a->at = n;
        a->cap = cap;
    }
    n = &a->at[a->n];
    *n = (struct ks_node){ .kind = kind, .line = s->line, .up = (uint32_t)(a->n - parent) };
    *i_out = a->n++;
    return 0;
}

static int hex4(struct scan *s, unsigned *out)
{
    unsigned v = 0;

    for (int i = 0; i < 4; i++, s->p++) {
        unsigned char c = s->p < s->end ? (unsigned char)*s->p : 0;

        if (!isxdigit(c))
            return expected(s, "four hexadecimal digits after \\u");
        v = v << 4 | (unsigned)(isdigit(c) ? c - '0' : tolower(c) - 'a' + 10);
    }
    *out = v;
    return 0;
}

/* Behind "\u". */
static int unicode_escape(struct scan *s)
{
    unsigned first, second;
    int rc = hex4(s, &first);

    if (rc < 0)
        return rc;
    if (first == 0)
        return bad(s, "a string contains the character \\u0000");
    if (first < 0xd800 || first > 0xdfff)
        return 0;
    if (first > 0xdbff || s->end - s->p < 2 || s->p[0] != '\\' || s->p[1] != 'u')
        return bad(s, "\\u%04x is one half of a surrogate pair", first);
    s->p += 2;
    rc = hex4(s, &second);
    if (rc == 0 && (second < 0xdc00 || second > 0xdfff))
        rc = bad(s, "\\u%04x\\u%04x is not a surrogate pair", first, second);
    return rc;
}

static int escape(struct scan *s)
{
    s->p++;
    if (s->p < s->end && *s->p == 'u') {
        s->p++;
        return unicode_escape(s);
    }
    if (s->p == s->end || !memchr("\"\\/bfnrt", *s->p, 8))
        return expected(s, "one of \"\\/bfnrtu after a backslash");
    s->p++;
    return 0;
}

static bool is_plain(unsigned char c)
{
    return c >= 0x20 && c < 0x80 && c != '"' && c != '\\';
}

/* From the opening quote to behind the closing one. */
static int string(struct scan *s)
{
    s->p++;
    while (s->p < s->end && *s->p != '"') {
        size_t n = 1;

        if (is_plain((unsigned char)*s->p)) {
            s->p++;
            continue;
        }
        n = ks_utf8_next((const unsigned char *)s->p, (size_t)(s->end - s->p));
        if (n == 0)
            return bad(s, "byte 0x%02x is not valid UTF-8", (unsigned char)*s->p);
        if ((unsigned char)*s->p < 0x20)
            return bad(s, "a string contains the control character 0x%02x", *s->p);
        if (*s->p == '\\') {
            int rc = escape(s);

            if (rc < 0)
                return rc;
            continue;
        }
        s->p += n;
    }
    if (s->p == s->end)
        return bad(s, "a string has no closing quote");
    s->p++;
    return 0;
}

static bool digits(struct scan *s)
{
    const char *from = s->p;

    while (s->p < s->end && isdigit((unsigned char)*s->p))
        s->p++;
    return s->p > from;
}

/* -? (0 | [1-9][0-9]*) (. [0-9]+)? ([eE] [+-]? [0-9]+)? */
static int number_grammar(struct scan *s, bool *is_real_out)
{
    if (*s->p == '-')
        s->p++;
    if (s->p < s->end && *s->p == '0') {
        s->p++;
        if (s->p < s->end && isdigit((unsigned char)*s->p))
            return bad(s, "a number has a leading zero");
    } else if (!digits(s)) {
        return expected(s, "a digit");
    }
    if (s->p < s->end && *s->p == '.') {
        *is_real_out = true;
        s->p++;
        if (!digits(s))
            return expected(s, "a digit after the decimal point");
    }
    if (s->p < s->end && (*s->p == 'e' || *s->p == 'E')) {
        *is_real_out = true;
        s->p++;
        if (s->p < s->end && (*s->p == '+' || *s->p == '-'))
            s->p++;
        if (!digits(s))
            return expected(s, "a digit in the exponent");
    }
    return 0;
}

/* Is there a digit other than 0 before the exponent? */
static bool has_digit(const char *number)
{
    return strcspn(number, "123456789") < strcspn(number, "eE");
}

static int number(struct scan *s, size_t parent)
{
    const char *from = s->p;
    char text[MAX_NUMBER + 1];
    bool is_real = false;
    struct ks_node *n;
    size_t i = 0;
    int rc = number_grammar(s, &is_real);

    if (rc < 0)
        return rc;
    if (s->p - from > MAX_NUMBER)
        return bad(s, "a number has more than %d characters", MAX_NUMBER);
    memcpy(text, from, (size_t)(s->p - from));
    text[s->p - from] = '\0';
    rc = add_node(s, parent, is_real ? KS_JSON_REAL : KS_JSON_INT, &i);
    if (rc < 0)
        return rc;
    n = &s->nodes->at[i];
    errno = 0;
    if (!is_real) {
        n->v.i = strtoll(text, NULL, 10);
        return errno ? bad(s, "%s does not fit a 64-bit integer", text) : 0;
    }
    n->v.d = strtod(text, NULL);
    if (!isfinite(n->v.d) || (n->v.d == 0 && has_digit(text)))
        return bad(s, "%s does not fit a double", text);
    return 0;
}

static int literal(struct scan *s, size_t parent)
{
    static const struct {
        const char *text;
        enum ks_json_kind kind;
    } words[] = { { "null", KS_JSON_NULL }, { "true", KS_JSON_BOOL }, { "false", KS_JSON_BOOL } };

    for (size_t k = 0; k < sizeof(words) / sizeof(words[0]); k++) {
        size_t n = strlen(words[k].text), i;

        if ((size_t)(s->end - s->p) < n || memcmp(s->p, words[k].text, n) != 0)
            continue;
        s->p += n;
        return add_node(s, parent, words[k].kind, &i);
    }
    return expected(s, "a value");
}

static int member_key(struct scan *s)
{
    int rc;

    skip_space(s);
    if (s->p == s->end || *s->p != '"')
        return expected(s, "a key in double quotes");
    rc = string(s);
    if (rc == 0 && !take(s, ':'))
        rc = expected(s, "':' after a key");
    return rc;
}

static int container(struct scan *s, size_t parent, bool is_object)
{
    char close = is_object ? '}' : ']';
    size_t i = 0;
    int rc = add_node(s, parent, is_object ? KS_JSON_OBJECT : KS_JSON_ARRAY, &i);

    if (rc < 0)
        return rc;
    if (++s->depth > KS_JSON_MAX_DEPTH)
        return bad(s, "nested deeper than %d", KS_JSON_MAX_DEPTH);
    s->p++;
    if (!take(s, close)) {
        do {
            if (is_object)
                rc = member_key(s);
            if (rc == 0)
                rc = value(s, i);
            if (rc < 0)
                return rc;
        } while (take(s, ','));
        if (!take(s, close))
            return expected(s, is_object ? "',' or '}'" : "',' or ']'");
    }
    s->depth--;
    return 0;
}

static int string_value(struct scan *s, size_t parent)
{
    size_t i;
    int rc = add_node(s, parent, KS_JSON_STRING, &i);

    return rc == 0 ? string(s) : rc;
}

static int value(struct scan *s, size_t parent)
{
    skip_space(s);
    switch (s->p < s->end ? *s->p : '\0') {
    case '{':
        return container(s, parent, true);
    case '[':
        return container(s, parent, false);
    case '"':
        return string_value(s, parent);
    case '-':
    case '0':
    case '1':
    case '2':
    case '3':
    case '4':
    case '5':
    case '6':
    case '7':
    case '8':
    case '9':
        return number(s, parent);
    default:
        return literal(s, parent);
    }
}

int ks_json_scan(const char *text, size_t len, const char *name, struct ks_nodes *nodes_out,
                 struct ks_err *err)
{
    struct scan s = { .p = text, .end = text + len, .name = name, .line = 1, .err = err };
    int rc;

    s.nodes = nodes_out;
    rc = value(&s, 0);
    if (rc < 0)
        return rc;
    skip_space(&s);
    return s.p == s.end ? 0 : expected(&s, "the end of the text");
}
