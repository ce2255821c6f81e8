/* SPDX-License-Identifier: MIT */
/* wrap.c - wraps text to the width of a terminal; words in brackets stay together where they fit */
#include "base/wrap.h"

#include "base/text.h"

#include <ctype.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>

enum { USUAL = 80, LEAST = 20, MOST = 1000 };

unsigned ks_wrap_width(int fd)
{
    const char *text = getenv("COLUMNS");
    struct winsize size;
    char *end = NULL;
    unsigned long n = text && isdigit((unsigned char)*text) ? strtoul(text, &end, 10) : 0;

    if (n >= LEAST && n <= MOST && !*end)
        return (unsigned)n;
    if (ioctl(fd, TIOCGWINSZ, &size) == 0 && size.ws_col >= LEAST)
        return size.ws_col;
    return USUAL;
}

/* Bytes up to the next blank, line end or end; blanks within brackets do not count. */
static size_t word_length(const char *text, bool has_brackets)
{
    int depth = 0;
    size_t n = 0;

    while (text[n] && text[n] != '\n' && (text[n] != ' ' || (has_brackets && depth > 0))) {
        depth += (text[n] == '[') - (text[n] == ']');
        n++;
    }
    return n;
}

static void end_line(struct ks_buf *to, unsigned indent)
{
    ks_buf_printf(to, "\n%*s", (int)indent, "");
}

void ks_wrap_put(struct ks_buf *to, const char *text, unsigned column, unsigned indent,
                 unsigned width)
{
    bool is_first = true; /* on its line, behind what stands there already */

    while (*text) {
        size_t n = word_length(text, true);

        if (width && ks_utf8_count(text, n) + indent >= width)
            n = word_length(text, false);
        if (width && !is_first && column + 1 + ks_utf8_count(text, n) >= width) {
            end_line(to, indent);
            column = indent;
            is_first = true;
        }
        if (!is_first && n) {
            ks_buf_u8(to, ' ');
            column++;
        }
        ks_buf_put(to, text, n);
        column += (unsigned)ks_utf8_count(text, n);
        is_first = is_first && n == 0;
        text += n;
        if (*text == '\n') {
            end_line(to, indent);
            column = indent;
            is_first = true;
        }
        text += *text != '\0';
    }
}
