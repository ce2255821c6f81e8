/* SPDX-License-Identifier: MIT */
/* text.c - UTF-8 and control characters made printable; CSV fields, Markdown and shell words */
#include "base/text.h"

#include <ctype.h>
#include <string.h>

#define LONGEST_ESCAPE 16u /* four bytes as \xNN */
#define MESSAGE_BYTES  4096u

uint32_t ks_tail_keep(char *tail, uint32_t n_tail, uint32_t cap, const char *bytes, size_t n)
{
    size_t old = n_tail;

    if (n > cap) {
        bytes += n - cap;
        n = cap;
    }
    if (old + n > cap)
        old = cap - n;
    memmove(tail, tail + n_tail - old, old);
    memcpy(tail + old, bytes, n);
    return (uint32_t)(old + n);
}

size_t ks_utf8_next(const unsigned char *p, size_t left)
{
    static const uint32_t least[5] = { 0, 0, 0x80, 0x800, 0x10000 };
    size_t n = p[0] < 0x80 ? 1 : p[0] < 0xc2 ? 0 : p[0] < 0xe0 ? 2 : p[0] < 0xf0 ? 3 : 4;
    uint32_t c = n > 1 ? p[0] & (0xffu >> (n + 1)) : 0;

    if (n < 2)
        return n;
    if (n > left || p[0] > 0xf4)
        return 0;
    for (size_t i = 1; i < n; i++) {
        if ((p[i] & 0xc0) != 0x80)
            return 0;
        c = c << 6 | (p[i] & 0x3f);
    }
    return c < least[n] || c > 0x10ffff || (c >= 0xd800 && c < 0xe000) ? 0 : n;
}

uint32_t ks_utf8_code(const unsigned char *p, size_t n)
{
    uint32_t c = n == 1 ? p[0] : p[0] & (0xffu >> (n + 1));

    for (size_t i = 1; i < n; i++)
        c = c << 6 | (p[i] & 0x3f);
    return c;
}

size_t ks_utf8_count(const char *text, size_t n)
{
    size_t count = 0;

    for (size_t i = 0; i < n; i++)
        count += ((unsigned char)text[i] & 0xc0) != 0x80;
    return count;
}

static bool is_within(uint32_t c, uint32_t from, uint32_t to)
{
    return c >= from && c <= to;
}

bool ks_utf8_is_control(uint32_t c)
{
    return c < 0x20 || is_within(c, 0x7f, 0x9f) || is_within(c, 0x2028, 0x202e) ||
           is_within(c, 0x2066, 0x2069);
}

static size_t put_hex(const unsigned char *p, size_t n, char *out)
{
    static const char digits[] = "0123456789abcdef";

    for (size_t i = 0; i < n; i++) {
        *out++ = '\\';
        *out++ = 'x';
        *out++ = digits[p[i] >> 4];
        *out++ = digits[p[i] & 15];
    }
    return 4 * n;
}

/* The next character as it is printed, at most LONGEST_ESCAPE bytes; *used_out: bytes of p. */
static size_t next(const unsigned char *p, size_t left, enum ks_line_ends lines, char *out,
                   size_t *used_out)
{
    static const char from[] = "\n\t\r", as[] = "ntr";
    size_t n = ks_utf8_next(p, left);
    const char *at = n == 1 && *p ? strchr(from, *p) : NULL;

    *used_out = n ? n : 1;
    if (at && *at != '\r' && lines != KS_LINES_NONE) {
        memcpy(out, "\n    ", 5);
        out[0] = *at;
        return *at == '\n' && lines == KS_LINES_INDENT ? 5 : 1;
    }
    if (at) {
        out[0] = '\\';
        out[1] = as[at - from];
        return 2;
    }
    if (n == 0 || ks_utf8_is_control(ks_utf8_code(p, n)))
        return put_hex(p, *used_out, out);
    memcpy(out, p, n);
    return n;
}

static size_t without_end(const char *text, size_t n, enum ks_line_ends lines)
{
    while (lines == KS_LINES_INDENT && n && text[n - 1] == '\n')
        n--;
    return n;
}

/* Bytes at the beginning that are printed as they are: printable ASCII. */
static size_t plain_run(const unsigned char *p, size_t n)
{
    size_t k = 0;

    while (k < n && p[k] >= 0x20 && p[k] < 0x7f)
        k++;
    return k;
}

void ks_text_put(struct ks_buf *to, const char *text, size_t n, enum ks_line_ends lines)
{
    const unsigned char *p = (const unsigned char *)text;
    size_t used;

    n = without_end(text, n, lines);
    for (size_t at = 0; at < n; at += used) {
        char out[LONGEST_ESCAPE];

        used = plain_run(p + at, n - at);
        if (used)
            ks_buf_put(to, p + at, used);
        else
            ks_buf_put(to, out, next(p + at, n - at, lines, out, &used));
    }
}

bool ks_text_write(FILE *to, const char *text, size_t n, enum ks_line_ends lines)
{
    const unsigned char *p = (const unsigned char *)text;
    bool is_ok = true;
    size_t used;

    n = without_end(text, n, lines);
    for (size_t at = 0; at < n && is_ok; at += used) {
        char out[LONGEST_ESCAPE];
        const size_t run = plain_run(p + at, n - at);
        const size_t k = run ? run : next(p + at, n - at, lines, out, &used);

        used = run ? run : used;
        is_ok = fwrite(run ? (const char *)p + at : out, 1, k, to) == k;
    }
    return is_ok;
}

size_t ks_text_escape(char *out, size_t cap, const char *text, size_t n, enum ks_line_ends lines)
{
    const unsigned char *p = (const unsigned char *)text;
    size_t len = 0, used;

    n = without_end(text, n, lines);
    for (size_t at = 0; at < n; at += used) {
        char one[LONGEST_ESCAPE];
        size_t k = next(p + at, n - at, lines, one, &used);

        if (len + k >= cap)
            break;
        memcpy(out + len, one, k);
        len += k;
    }
    out[len] = '\0';
    return len;
}

void ks_text_print(FILE *to, const char *prefix, const char *text)
{
    char line[MESSAGE_BYTES];

    ks_text_escape(line, sizeof(line), text, strlen(text), KS_LINES_INDENT);
    fprintf(to, "%s: %s\n", prefix, line);
}

void ks_csv_put(struct ks_buf *to, const char *text)
{
    const size_t n = strlen(text);
    bool is_quoted =
        n && (strpbrk(text, ",\"") || strchr(" \t", text[0]) || strchr(" \t", text[n - 1]));

    if (is_quoted)
        ks_buf_u8(to, '"');
    while (*text) {
        const size_t k = strcspn(text, "\"");

        ks_text_put(to, text, k, KS_LINES_NONE);
        text += k;
        if (*text) {
            ks_buf_put(to, "\"\"", 2);
            text++;
        }
    }
    if (is_quoted)
        ks_buf_u8(to, '"');
}

/* A call of strspn() costs more than what it finds. */
static char *behind_blanks(char *at, bool is_trimmed)
{
    while (is_trimmed && (*at == ' ' || *at == '\t'))
        at++;
    return at;
}

/* One field at *from to *to, quotes resolved; what is wrong with it, or NULL. */
static const char *split_field(char **from, char **to, bool is_trimmed)
{
    char *begin = *to;

    *from = behind_blanks(*from, is_trimmed);
    if (**from != '"') {
        while (**from && **from != ',')
            *(*to)++ = *(*from)++;
        while (is_trimmed && *to > begin && ((*to)[-1] == ' ' || (*to)[-1] == '\t'))
            (*to)--;
        return NULL;
    }
    for (++*from; **from && (**from != '"' || (*from)[1] == '"'); ++*from) {
        *from += **from == '"';
        *(*to)++ = **from;
    }
    if (!**from)
        return "closing quote is missing";
    *from = behind_blanks(*from + 1, is_trimmed);
    return **from && **from != ',' ? "text after a closing quote" : NULL;
}

const char *ks_csv_split(char *line, bool is_trimmed, const char **fields, size_t most,
                         size_t *n_out)
{
    char *from = line, *to = line;
    bool is_last = false;
    size_t n = 0;

    while (!is_last) {
        const char *wrong;

        if (n == most)
            return "too many columns";
        fields[n++] = to;
        wrong = split_field(&from, &to, is_trimmed);
        if (wrong)
            return wrong;
        is_last = !*from;
        from += !is_last;
        *to++ = '\0';
    }
    *n_out = n;
    return NULL;
}

/* An underscore is a letter of a name, but in front of one it would begin emphasis. */
static void put_markdown_byte(struct ks_buf *to, char c, bool *is_in_word_io)
{
    const bool is_special = strchr("\\|`*[]~", c) || (c == '_' && !*is_in_word_io);

    if (c == '<')
        ks_buf_put(to, "&lt;", 4);
    else if (c == '&')
        ks_buf_put(to, "&amp;", 5);
    else
        ks_buf_printf(to, "%s%c", is_special ? "\\" : "", c);
    if (c != '_')
        *is_in_word_io = isalnum((unsigned char)c) || (unsigned char)c >= 0x80;
}

/* Character by character: the backslashes of escaped control characters are escaped, too. */
void ks_markdown_put(struct ks_buf *to, const char *text)
{
    bool is_in_word = false;

    while (*text) {
        const size_t next = ks_utf8_next((const unsigned char *)text, strnlen(text, 4));
        const size_t n = next ? next : 1;
        char escaped[24];

        ks_text_escape(escaped, sizeof(escaped), text, n, KS_LINES_NONE);
        for (const char *p = escaped; *p; p++)
            put_markdown_byte(to, *p, &is_in_word);
        text += n;
    }
}

/* Nothing in it means anything to a shell. */
static bool is_plain(const char *word)
{
    static const char plain[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"
                                "_-./:,+@%=";

    return word[0] && !word[strspn(word, plain)];
}

static bool needs_escapes(const char *word, size_t n)
{
    char out[LONGEST_ESCAPE];
    size_t used;

    for (size_t at = 0; at < n; at += used)
        if (next((const unsigned char *)word + at, n - at, KS_LINES_NONE, out, &used) != used)
            return true;
    return false;
}

static void put_quoted(struct ks_buf *to, const char *word)
{
    ks_buf_u8(to, '\'');
    for (; *word; word++) {
        if (*word == '\'')
            ks_buf_put(to, "'\\''", 4);
        else
            ks_buf_u8(to, (uint8_t)*word);
    }
    ks_buf_u8(to, '\'');
}

/* Octal, because not every shell ends \x after two digits. */
static void put_escaped(struct ks_buf *to, const char *word, size_t n)
{
    const unsigned char *p = (const unsigned char *)word;
    size_t used;

    ks_buf_put(to, "$'", 2);
    for (size_t at = 0; at < n; at += used) {
        char out[LONGEST_ESCAPE];

        if (next(p + at, n - at, KS_LINES_NONE, out, &used) != used) {
            for (size_t i = 0; i < used; i++)
                ks_buf_printf(to, "\\%03o", p[at + i]);
            continue;
        }
        if (word[at] == '\'' || word[at] == '\\')
            ks_buf_u8(to, '\\');
        ks_buf_put(to, p + at, used);
    }
    ks_buf_u8(to, '\'');
}

void ks_shell_put(struct ks_buf *to, const char *word)
{
    if (is_plain(word))
        ks_buf_put(to, word, strlen(word));
    else if (needs_escapes(word, strlen(word)))
        put_escaped(to, word, strlen(word));
    else
        put_quoted(to, word);
}

void ks_shell_words(struct ks_buf *to, const char *const *words)
{
    for (size_t i = 0; words[i]; i++) {
        if (i)
            ks_buf_u8(to, ' ');
        ks_shell_put(to, words[i]);
    }
}

bool ks_text_ends_in(const char *text, const char *end)
{
    const size_t n = strlen(text), n_end = strlen(end);

    return n >= n_end && strcmp(text + n - n_end, end) == 0;
}
