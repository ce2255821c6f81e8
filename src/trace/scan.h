/* SPDX-License-Identifier: MIT */
/* scan.h - finds the bytes that matter in JSON text: with AVX2 where the CPU has it, SSE2 on every
 * x86-64, else byte by byte. All variants give the same results (a test compares them).
 *
 * Every text that is scanned is followed by KS_SCAN_PAD quotes, so that a search always ends; a
 * result at or behind the end of the text means: not found. */
#ifndef KS_TRACE_SCAN_H
#define KS_TRACE_SCAN_H

#include <stdint.h>

#if defined(__SSE2__)
#include <emmintrin.h>
#endif

#define KS_SCAN_PAD 64

struct ks_scan {
    const char *name;
    const char *(*quote)(const char *p); /* the first '"' or '\\' from p on */
    const char *(*mark)(const char *p);  /* the first of " [ ] { } */
};
extern const struct ks_scan ks_scan_portable;
const struct ks_scan *ks_scan_best(void);
/* The variants that this CPU can run, NULL-terminated, at most 4 with the NULL. For tests. */
void ks_scan_all(const struct ks_scan *out[4]);

#if defined(__SSE2__)
/* The first 16 bytes without a call: most strings end there. */
static inline const char *ks_scan_quote(const struct ks_scan *s, const char *p)
{
    const __m128i v = _mm_loadu_si128((const __m128i *)(const void *)p);
    const __m128i hit =
        _mm_or_si128(_mm_cmpeq_epi8(v, _mm_set1_epi8('"')), _mm_cmpeq_epi8(v, _mm_set1_epi8('\\')));
    const unsigned mask = (unsigned)_mm_movemask_epi8(hit);

    return mask ? p + __builtin_ctz(mask) : s->quote(p + 16);
}

static inline const char *ks_scan_blanks_far(const char *p)
{
    for (;;) {
        const __m128i v = _mm_loadu_si128((const __m128i *)(const void *)p);
        const __m128i is_text = _mm_cmpeq_epi8(_mm_max_epu8(v, _mm_set1_epi8('!')), v);
        const unsigned mask = (unsigned)_mm_movemask_epi8(is_text);

        if (mask)
            return p + __builtin_ctz(mask);
        p += 16;
    }
}
#else
static inline const char *ks_scan_quote(const struct ks_scan *s, const char *p)
{
    return s->quote(p);
}

static inline const char *ks_scan_blanks_far(const char *p)
{
    while ((unsigned char)*p <= ' ')
        p++;
    return p;
}
#endif

/* The first byte that is no blank; control characters count as blanks. */
static inline const char *ks_scan_blanks(const char *p)
{
    if ((unsigned char)*p > ' ')
        return p;
    if ((unsigned char)*++p > ' ')
        return p;
    return ks_scan_blanks_far(p);
}

#endif
