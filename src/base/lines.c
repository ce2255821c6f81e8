/* SPDX-License-Identifier: MIT */
/* lines.c - writes and strictly reads line-oriented files that end with a digest of themselves */
#include "base/lines.h"

#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- writing ---- */

void ks_lines_begin(struct ks_buf *b, const char *kind, unsigned version)
{
    ks_buf_printf(b, "%s %u\n", kind, version);
}

void ks_lines_key(struct ks_buf *b, const char *key)
{
    ks_buf_put(b, key, strlen(key));
}

static bool is_control(unsigned char c)
{
    return c < 0x20 || c == 0x7f;
}

static bool is_bare(const char *text)
{
    for (const char *p = text; *p; p++)
        if (is_control((unsigned char)*p) || strchr(" \"\\", *p))
            return false;
    return text[0] != '\0';
}

static void put_quoted(struct ks_buf *b, const char *text)
{
    ks_buf_u8(b, '"');
    for (; *text; text++) {
        if (*text == '\n')
            ks_buf_put(b, "\\n", 2);
        else if (is_control((unsigned char)*text))
            ks_buf_printf(b, "\\x%02x", (unsigned char)*text);
        else
            ks_buf_printf(b, "%s%c", *text == '"' || *text == '\\' ? "\\" : "", *text);
    }
    ks_buf_u8(b, '"');
}

void ks_lines_word(struct ks_buf *b, const char *text)
{
    ks_buf_u8(b, ' ');
    if (is_bare(text))
        ks_buf_put(b, text, strlen(text));
    else
        put_quoted(b, text);
}

void ks_lines_number(struct ks_buf *b, int64_t v)
{
    ks_buf_printf(b, " %" PRId64, v);
}

void ks_lines_end_line(struct ks_buf *b)
{
    ks_buf_u8(b, '\n');
}

void ks_lines_put(struct ks_buf *b, const char *key, const char *text)
{
    ks_lines_key(b, key);
    ks_lines_word(b, text);
    ks_lines_end_line(b);
}

void ks_lines_put_number(struct ks_buf *b, const char *key, int64_t v)
{
    ks_lines_key(b, key);
    ks_lines_number(b, v);
    ks_lines_end_line(b);
}

void ks_lines_finish(struct ks_buf *b)
{
    char hex[17];

    ks_hex64(ks_id64(b->data, b->len), hex);
    ks_buf_printf(b, "end %s\n", hex);
}

/* ---- reading ---- */

int ks_lines_fail(struct ks_lines *l, const char *fmt, ...)
{
    char cause[320];
    va_list ap;

    if (l->rc < 0)
        return l->rc;
    va_start(ap, fmt);
    vsnprintf(cause, sizeof cause, fmt, ap);
    va_end(ap);
    l->rc = ks_fail(l->err, KS_EFORMAT, "%s:%u: %s", l->name, l->line, cause);
    l->key = NULL;
    return l->rc;
}

static int hex_digit(char c)
{
    const char *digits = "0123456789abcdef", *at = c ? strchr(digits, c) : NULL;

    return at ? (int)(at - digits) : -1;
}

/* Behind the backslash at *from: writes one character, moves *from behind the sequence. */
static bool unescape(const char **from, char **to)
{
    const char *p = *from;
    int hi, lo;

    if (*p == 'x') {
        hi = hex_digit(p[1]);
        lo = hi < 0 ? -1 : hex_digit(p[2]);
        if (lo < 0 || hi + lo == 0)
            return false;
        *(*to)++ = (char)(hi << 4 | lo);
        *from = p + 3;
        return true;
    }
    if (*p != '"' && *p != '\\' && *p != 'n')
        return false;
    *(*to)++ = *p;
    if (*p == 'n')
        (*to)[-1] = '\n';
    *from = p + 1;
    return true;
}

/* From the opening quote: decodes in place, leaves *at behind the closing one. */
static const char *take_quoted(struct ks_lines *l, char **at)
{
    char *word = *at, *to = word;
    const char *from = word + 1;

    while (*from && *from != '"') {
        if (*from != '\\') {
            if (is_control((unsigned char)*from))
                ks_lines_fail(l, "a word contains the control character 0x%02x", *from);
            *to++ = *from++;
            continue;
        }
        from++;
        if (!unescape(&from, &to)) {
            ks_lines_fail(l, "a backslash must be followed by \", \\, n or xHH");
            return "";
        }
    }
    *at = word + (from - word);
    if (**at != '"')
        ks_lines_fail(l, "a word has no closing quote");
    else
        ++*at;
    *to = '\0';
    return word;
}

/* One word, and the blank or the end of the line behind it. `at` is at its first character. */
static const char *take_word(struct ks_lines *l, char **at)
{
    const char *word = *at;
    char *end;

    if (**at == '"') {
        word = take_quoted(l, at);
        if (**at != '\0' && **at != ' ')
            ks_lines_fail(l, "a blank must follow a closing quote");
    } else {
        while (**at && !strchr(" \"\\", **at) && !is_control((unsigned char)**at))
            ++*at;
        if (*at == word || (**at != '\0' && **at != ' '))
            ks_lines_fail(
                l, "a word that is empty or contains blanks, quotes or backslashes must be quoted");
    }
    end = *at;
    if (*end == ' ') {
        ++*at;
        if (**at == '\0')
            ks_lines_fail(l, "the line ends with a blank");
    }
    *end = '\0';
    return word;
}

void ks_lines_next(struct ks_lines *l)
{
    char *at = l->next, *end;
    const char *key;

    l->key = NULL;
    l->n_words = 0;
    if (l->rc < 0 || *at == '\0')
        return;
    l->line++;
    end = strchr(at, '\n'); /* the text ends with one */
    *end = '\0';
    l->next = end + 1;
    key = take_word(l, &at);
    while (l->rc == 0 && at < end && l->n_words < KS_LINES_WORDS)
        l->word[l->n_words++] = take_word(l, &at);
    if (l->rc == 0 && at < end)
        ks_lines_fail(l, "more than %d words", KS_LINES_WORDS);
    l->key = l->rc == 0 ? key : NULL;
}

/* Cuts the text before its last line, which must hold the digest of the rest. */
static int check_digest(struct ks_lines *l, size_t n)
{
    static const char form[] = "end 0123456789abcdef\n";
    const size_t n_end = sizeof form - 1;
    const char *end = n >= n_end ? l->text + n - n_end : NULL;
    char hex[17];

    if (!end || end[n_end - 1] != '\n' || memcmp(end, form, 4) != 0 ||
        (end > l->text && end[-1] != '\n'))
        return ks_fail(l->err, KS_EFORMAT, "%s: cut off: its last line is not 'end DIGEST'",
                       l->name);
    ks_hex64(ks_id64(l->text, n - n_end), hex);
    if (memcmp(end + 4, hex, 16) != 0)
        return ks_fail(
            l->err, KS_EFORMAT,
            "%s: changed after it was written: its digest is %s, its last line gives %.16s",
            l->name, hex, end + 4);
    l->text[n - n_end] = '\0';
    return 0;
}

int ks_lines_open(struct ks_lines *l, const char *text, size_t n, const char *name,
                  const char *kind, unsigned version, struct ks_err *err)
{
    char want[16];
    const char *has;
    size_t n_has;

    *l = (struct ks_lines){ .name = name, .err = err, .text = malloc(n + 1) };
    if (!l->text)
        return l->rc = ks_fail(err, KS_ENOMEM, "%s: out of memory", name);
    if (n)
        memcpy(l->text, text, n);
    l->text[n] = '\0';
    l->next = l->text;
    if (strncmp(l->text, kind, strlen(kind)) != 0 || l->text[strlen(kind)] != ' ')
        return l->rc =
                   ks_fail(err, KS_EFORMAT, "%s: the first line must begin with '%s'", name, kind);
    if (memchr(l->text, '\0', n))
        return l->rc = ks_fail(err, KS_EFORMAT, "%s: contains a NUL byte", name);
    snprintf(want, sizeof want, "%u", version);
    has = l->text + strlen(kind) + 1;
    n_has = strcspn(has, "\n");
    if (n_has != strlen(want) || strncmp(has, want, n_has) != 0)
        return l->rc = ks_fail(err, KS_EFORMAT, "%s: version %.*s of %s; this program reads %s",
                               name, n_has < 10 ? (int)n_has : 10, has, kind, want);
    l->rc = check_digest(l, n);
    ks_lines_next(l); /* the first line */
    ks_lines_next(l);
    return l->rc;
}

void ks_lines_close(struct ks_lines *l)
{
    free(l->text);
    *l = (struct ks_lines){ .name = NULL };
}

bool ks_lines_is(const struct ks_lines *l, const char *key)
{
    return l->key && strcmp(l->key, key) == 0;
}

bool ks_lines_expect(struct ks_lines *l, const char *key, size_t n_words)
{
    if (l->rc < 0)
        return false;
    if (!l->key)
        ks_lines_fail(l, "expected a line '%s', found the end of the file", key);
    else if (strcmp(l->key, key) != 0)
        ks_lines_fail(l, "expected a line '%s', found '%.40s'", key, l->key);
    else if (l->n_words != n_words)
        ks_lines_fail(l, "'%s' has %zu words, expected %zu", key, l->n_words, n_words);
    return l->rc == 0;
}

const char *ks_lines_text(struct ks_lines *l, size_t i)
{
    if (l->rc == 0 && i >= l->n_words)
        ks_lines_fail(l, "has only %zu words", l->n_words);
    return l->rc == 0 ? l->word[i] : "";
}

void ks_lines_copy(struct ks_lines *l, size_t i, char *out, size_t cap)
{
    const char *text = ks_lines_text(l, i);

    if (strlen(text) >= cap) {
        ks_lines_fail(l, "'%.40s' has more than %zu characters", text, cap - 1);
        text = "";
    }
    memcpy(out, text, strlen(text) + 1);
}

int64_t ks_lines_int(struct ks_lines *l, size_t i, int64_t min, int64_t max)
{
    const char *text = ks_lines_text(l, i), *digits = text + (text[0] == '-');
    long long v;

    if (l->rc < 0)
        return 0;
    if (!digits[0] || digits[strspn(digits, "0123456789")]) {
        ks_lines_fail(l, "'%.40s' is not a whole number", text);
        return 0;
    }
    errno = 0;
    v = strtoll(text, NULL, 10);
    if (errno || v < min || v > max) {
        ks_lines_fail(l, "%.40s is not from %" PRId64 " to %" PRId64, text, min, max);
        return 0;
    }
    return v;
}

uint64_t ks_lines_id(struct ks_lines *l, size_t i)
{
    const char *text = ks_lines_text(l, i);
    uint64_t id = 0;

    if (l->rc == 0 && !ks_unhex64(text, &id))
        ks_lines_fail(l, "'%.40s' is not 16 hex digits", text);
    return l->rc == 0 ? id : 0;
}
