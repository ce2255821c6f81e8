/* SPDX-License-Identifier: MIT */
/* scan.c - finds quotes and brackets in JSON, byte by byte or with SSE2 and AVX2 */
#include "trace/scan.h"

#include <stddef.h>

static const char *portable_quote(const char *p)
{
    while (*p != '"' && *p != '\\')
        p++;
    return p;
}

static const char *portable_mark(const char *p)
{
    while (*p != '"' && ((unsigned char)*p | 0x20) != '{' && ((unsigned char)*p | 0x20) != '}')
        p++;
    return p;
}

const struct ks_scan ks_scan_portable = { "portable", portable_quote, portable_mark };

#if defined(__SSE2__)
#include <immintrin.h>

static const char *sse2_quote(const char *p)
{
    for (;; p += 16) {
        const __m128i v = _mm_loadu_si128((const __m128i *)(const void *)p);
        const __m128i hit = _mm_or_si128(_mm_cmpeq_epi8(v, _mm_set1_epi8('"')),
                                         _mm_cmpeq_epi8(v, _mm_set1_epi8('\\')));
        const unsigned mask = (unsigned)_mm_movemask_epi8(hit);

        if (mask)
            return p + __builtin_ctz(mask);
    }
}

/* '[' and '{', ']' and '}' differ in the bit 0x20 only. */
static const char *sse2_mark(const char *p)
{
    for (;; p += 16) {
        const __m128i v = _mm_loadu_si128((const __m128i *)(const void *)p);
        const __m128i folded = _mm_or_si128(v, _mm_set1_epi8(0x20));
        const __m128i brackets = _mm_or_si128(_mm_cmpeq_epi8(folded, _mm_set1_epi8('{')),
                                              _mm_cmpeq_epi8(folded, _mm_set1_epi8('}')));
        const __m128i hit = _mm_or_si128(brackets, _mm_cmpeq_epi8(v, _mm_set1_epi8('"')));
        const unsigned mask = (unsigned)_mm_movemask_epi8(hit);

        if (mask)
            return p + __builtin_ctz(mask);
    }
}

__attribute__((target("avx2"))) static const char *avx2_quote(const char *p)
{
    for (;; p += 32) {
        const __m256i v = _mm256_loadu_si256((const __m256i *)(const void *)p);
        const __m256i hit = _mm256_or_si256(_mm256_cmpeq_epi8(v, _mm256_set1_epi8('"')),
                                            _mm256_cmpeq_epi8(v, _mm256_set1_epi8('\\')));
        const unsigned mask = (unsigned)_mm256_movemask_epi8(hit);

        if (mask)
            return p + __builtin_ctz(mask);
    }
}

__attribute__((target("avx2"))) static const char *avx2_mark(const char *p)
{
    for (;; p += 32) {
        const __m256i v = _mm256_loadu_si256((const __m256i *)(const void *)p);
        const __m256i folded = _mm256_or_si256(v, _mm256_set1_epi8(0x20));
        const __m256i brackets = _mm256_or_si256(_mm256_cmpeq_epi8(folded, _mm256_set1_epi8('{')),
                                                 _mm256_cmpeq_epi8(folded, _mm256_set1_epi8('}')));
        const __m256i hit = _mm256_or_si256(brackets, _mm256_cmpeq_epi8(v, _mm256_set1_epi8('"')));
        const unsigned mask = (unsigned)_mm256_movemask_epi8(hit);

        if (mask)
            return p + __builtin_ctz(mask);
    }
}

static const struct ks_scan scan_sse2 = { "sse2", sse2_quote, sse2_mark };
static const struct ks_scan scan_avx2 = { "avx2", avx2_quote, avx2_mark };

const struct ks_scan *ks_scan_best(void)
{
    return __builtin_cpu_supports("avx2") ? &scan_avx2 : &scan_sse2;
}

void ks_scan_all(const struct ks_scan *out[4])
{
    size_t n = 0;

    out[n++] = &ks_scan_portable;
    out[n++] = &scan_sse2;
    if (__builtin_cpu_supports("avx2"))
        out[n++] = &scan_avx2;
    out[n] = NULL;
}
#else
const struct ks_scan *ks_scan_best(void)
{
    return &ks_scan_portable;
}

void ks_scan_all(const struct ks_scan *out[4])
{
    out[0] = &ks_scan_portable;
    out[1] = NULL;
}
#endif
