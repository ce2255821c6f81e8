/* SPDX-License-Identifier: MIT */
#include "store/text.h"

#include <stdint.h>
#include <string.h>

/* Length of the well-formed character at s, at most n bytes; 0 = none. Source: Unicode 15, table
 * 3-7 (RFC 3629). */
static size_t character(const unsigned char *s, size_t n)
{
    static const struct {
        unsigned char first_lo, first_hi, second_lo, second_hi;
        size_t len;
    } forms[] = {
        { 0x20, 0x7e, 0, 0, 1 },       { 0xc2, 0xdf, 0x80, 0xbf, 2 }, { 0xe0, 0xe0, 0xa0, 0xbf, 3 },
        { 0xe1, 0xec, 0x80, 0xbf, 3 }, { 0xed, 0xed, 0x80, 0x9f, 3 }, { 0xee, 0xef, 0x80, 0xbf, 3 },
        { 0xf0, 0xf0, 0x90, 0xbf, 4 }, { 0xf1, 0xf3, 0x80, 0xbf, 4 }, { 0xf4, 0xf4, 0x80, 0x8f, 4 },
    };

    if (*s == '\n' || *s == '\t')
        return 1;
    for (size_t i = 0; i < sizeof(forms) / sizeof(forms[0]); i++) {
        size_t k = 2;

        if (*s < forms[i].first_lo || *s > forms[i].first_hi)
            continue;
        if (forms[i].len == 1)
            return 1;
        if (forms[i].len > n || s[1] < forms[i].second_lo || s[1] > forms[i].second_hi)
            return 0;
        while (k < forms[i].len && (s[k] & 0xc0) == 0x80)
            k++;
        return k == forms[i].len ? k : 0;
    }
    return 0;
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
