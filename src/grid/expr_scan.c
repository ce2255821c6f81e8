/* SPDX-License-Identifier: MIT */
/* expr_scan.c - splits an expression's text into words, and places messages in it */
#include "grid/expr_scan.h"

#include <ctype.h>
#include <errno.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char signs[] = "=!<>+-*/%()[],";

int ks_expr_complain(const struct ks_expr *e, size_t at, struct ks_err *err, const char *fmt, ...)
{
    unsigned line = e->place.line, column = e->place.column;
    char what[512];
    va_list args;

    va_start(args, fmt);
    vsnprintf(what, sizeof what, fmt, args);
    va_end(args);
    if (!e->place.file)
        return ks_fail(err, KS_EINVAL, "column %zu: %s (in expression \"%.100s\")", at + 1, what,
                       e->text);
    for (size_t i = 0; i < at; i++) {
        bool is_end = e->text[i] == '\n';

        line += is_end;
        column = is_end ? 1 : column + 1;
    }
    return ks_fail(err, KS_EINVAL, "%s:%u:%u: %s", e->place.file, line, column, what);
}

/* Room is certain (expr_scan.h): a token has at least one character of the text, and takes one byte
 * more than its own here. */
static const char *keep(struct ks_expr_scanner *s, const char *from, size_t n)
{
    char *to = s->e->pool + s->pool_used;

    memcpy(to, from, n);
    to[n] = '\0';
    s->pool_used += n + 1;
    return to;
}

static size_t n_digits(const char *s)
{
    return strspn(s, "0123456789");
}

/* Characters of the number; *is_real_out: it has a point or an exponent. */
static size_t number_length(const char *s, bool *is_real_out)
{
    size_t n = n_digits(s), sign;

    *is_real_out = s[n] == '.';
    if (s[n] == '.')
        n += 1 + n_digits(s + n + 1);
    if (s[n] != 'e' && s[n] != 'E')
        return n;
    sign = s[n + 1] == '+' || s[n + 1] == '-';
    if (!isdigit((unsigned char)s[n + 1 + sign]))
        return n;
    *is_real_out = true;
    return n + 1 + sign + n_digits(s + n + 1 + sign);
}

static bool is_word(char c)
{
    return isalnum((unsigned char)c) || c == '_';
}

static int scan_number(struct ks_expr_scanner *s, const char *from, struct ks_expr_token *t)
{
    bool is_real, is_over;
    size_t n = number_length(from, &is_real), more = n;

    while (is_word(from[more]) || from[more] == '.')
        more++;
    t->text = keep(s, from, more);
    if (more > n)
        return ks_expr_complain(s->e, t->at, s->err, "'%.40s' is not a decimal number", t->text);
    errno = 0;
    t->kind = is_real ? KS_EXPR_T_REAL : KS_EXPR_T_INT;
    if (is_real)
        t->real = strtod(t->text, NULL);
    else
        t->value = strtoll(t->text, NULL, 10);
    is_over = is_real ? !isfinite(t->real) : errno == ERANGE;
    if (is_over)
        return ks_expr_complain(s->e, t->at, s->err, "number out of range '%.40s'", t->text);
    if (!is_real && t->text[0] == '0' && t->value != 0)
        return ks_expr_complain(s->e, t->at, s->err, "number with a leading zero '%.40s'", t->text);
    s->at += n;
    return 0;
}

static int scan_text(struct ks_expr_scanner *s, const char *from, struct ks_expr_token *t)
{
    const char stop[] = { from[0], '\\', '\n', '\0' };
    size_t n = strcspn(from + 1, stop);

    if (from[1 + n] == '\\')
        return ks_expr_complain(s->e, t->at + 1 + n, s->err, "no backslash in a text");
    if (from[1 + n] != from[0])
        return ks_expr_complain(s->e, t->at, s->err, "text without closing quote");
    t->kind = KS_EXPR_T_TEXT;
    t->text = keep(s, from + 1, n);
    s->at += n + 2;
    return 0;
}

static size_t word_length(const char *s)
{
    size_t n = 0;

    while (is_word(s[n]))
        n++;
    return n;
}

/* A name; "c." before it means nothing. */
static int scan_name(struct ks_expr_scanner *s, const char *from, struct ks_expr_token *t)
{
    size_t n = word_length(from);

    t->kind = KS_EXPR_T_NAME;
    if (from[n] == '.') {
        if (n != 1 || from[0] != 'c' || !is_word(from[2]) || isdigit((unsigned char)from[2]))
            return ks_expr_complain(s->e, t->at, s->err,
                                    "only c. may stand before a name, not '%.*s.'",
                                    (int)(n < 40 ? n : 40), from);
        from += 2;
        s->at += 2;
        n = word_length(from);
        t->kind = KS_EXPR_T_MEMBER;
    }
    t->text = keep(s, from, n);
    s->at += n;
    return 0;
}

static int scan_sign(struct ks_expr_scanner *s, const char *from, struct ks_expr_token *t)
{
    bool is_two = (strchr("=!<>", from[0]) && from[1] == '=') ||
                  (strchr("*/", from[0]) && from[1] == from[0]);

    if (strchr("&|^~", from[0]) || (from[0] == '!' && !is_two))
        return ks_expr_complain(s->e, t->at, s->err, "write and, or, not instead of '%c'", from[0]);
    if (!strchr(signs, from[0]) && !isprint((unsigned char)from[0]))
        return ks_expr_complain(s->e, t->at, s->err, "unexpected byte outside ASCII");
    if (!strchr(signs, from[0]))
        return ks_expr_complain(s->e, t->at, s->err, "unexpected '%c'", from[0]);
    t->kind = KS_EXPR_T_SIGN;
    t->text = keep(s, from, is_two ? 2 : 1);
    s->at += is_two ? 2 : 1;
    return 0;
}

/* Blanks, and comments up to the end of their line. */
static void skip(struct ks_expr_scanner *s)
{
    const char *text = s->e->text;

    for (;;) {
        s->at += strspn(text + s->at, " \t\r\n\f");
        if (text[s->at] != '#')
            return;
        s->at += strcspn(text + s->at, "\n");
    }
}

int ks_expr_scan(struct ks_expr_scanner *s, struct ks_expr_token *out)
{
    struct ks_expr_token t = { .kind = KS_EXPR_T_END, .text = "" };
    const char *from;
    int rc = 0;

    skip(s);
    from = s->e->text + s->at;
    t.at = (uint32_t)s->at;
    if (isdigit((unsigned char)from[0]) || (from[0] == '.' && isdigit((unsigned char)from[1])))
        rc = scan_number(s, from, &t);
    else if (from[0] == '\'' || from[0] == '"')
        rc = scan_text(s, from, &t);
    else if (is_word(from[0]))
        rc = scan_name(s, from, &t);
    else if (from[0])
        rc = scan_sign(s, from, &t);
    if (rc == 0)
        *out = t;
    return rc;
}
