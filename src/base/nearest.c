/* SPDX-License-Identifier: MIT */
/* nearest.c - finds the known name that is nearest to a mistyped one, by edit distance */
#include "base/opt.h"

#include <ctype.h>
#include <string.h>

enum { MAX_WORD = 63 };

static int fold(char c)
{
    return c == '_' ? '-' : tolower((unsigned char)c);
}

static unsigned min3(unsigned a, unsigned b, unsigned c)
{
    unsigned m = a < b ? a : b;
    return m < c ? m : c;
}

/* Edit distance with swaps of neighbours (optimal string alignment, Damerau 1964), at most
 * MAX_WORD letters each; case and '-' against '_' cost nothing. */
static unsigned distance(const char *a, size_t n_a, const char *b, size_t n_b)
{
    unsigned row[3][MAX_WORD + 1];
    unsigned *before = row[0], *last = row[1], *now = row[2];

    for (size_t j = 0; j <= n_b; j++)
        last[j] = (unsigned)j;
    for (size_t i = 1; i <= n_a; i++) {
        unsigned *spare = before;

        now[0] = (unsigned)i;
        for (size_t j = 1; j <= n_b; j++) {
            unsigned is_other = fold(a[i - 1]) != fold(b[j - 1]);

            now[j] = min3(last[j] + 1, now[j - 1] + 1, last[j - 1] + is_other);
            if (i > 1 && j > 1 && fold(a[i - 1]) == fold(b[j - 2]) &&
                fold(a[i - 2]) == fold(b[j - 1]) && before[j - 2] + 1 < now[j])
                now[j] = before[j - 2] + 1;
        }
        before = last;
        last = now;
        now = spare;
    }
    return last[n_b];
}

const char *ks_nearest(const char *word, const char *const *names)
{
    size_t n = strlen(word);
    unsigned best = 1 + (unsigned)n / 3;
    const char *found = NULL;

    if (n > MAX_WORD)
        return NULL;
    for (; *names; names++) {
        size_t m = strlen(*names);
        unsigned d = m > MAX_WORD ? MAX_WORD : distance(word, n, *names, m);

        if (d > best || (found && d == best) || d >= m)
            continue;
        best = d;
        found = *names;
    }
    return found;
}
