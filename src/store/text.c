/* SPDX-License-Identifier: MIT */
/* text.c - replaces invalid UTF-8 and control characters by question marks */
#include "store/text.h"

#include "base/text.h"

#include <stdbool.h>
#include <string.h>

/* Length of the character at s, at most n bytes; 0: not UTF-8, or a control character of ASCII
 * other than tab and newline. C1 controls stay, as in files that were written before. */
static size_t character(const unsigned char *s, size_t n)
{
    const bool is_kept = (*s >= 0x20 && *s != 0x7f) || *s == '\n' || *s == '\t';

    return is_kept ? ks_utf8_next(s, n) : 0;
}

static void clean(char *text, size_t n)
{
    for (size_t i = 0; i < n;) {
        size_t len = character((const unsigned char *)text + i, n - i);

        if (len == 0)
            text[i] = '?';
        i += len ? len : 1;
    }
}

void ks_text_clean(char *text)
{
    clean(text, strlen(text));
}

void ks_text_clean_bytes(const char *bytes, size_t n, char *out)
{
    memcpy(out, bytes, n);
    out[n] = '\0';
    clean(out, n);
}
