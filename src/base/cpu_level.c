/* SPDX-License-Identifier: MIT */
/* cpu_level.c - the levels of x86-64. */
#include "base/cpu_level.h"

#include <stddef.h>
#include <string.h>

#define BLANKS " \t\n"

const struct ks_cpu_level ks_cpu_levels[KS_CPU_LEVELS] = {
    { "x86-64", "fpu cx8 cmov mmx fxsr sse sse2 syscall lm" },
    { "x86-64-v2", "cx16 lahf_lm popcnt pni ssse3 sse4_1 sse4_2" },
    { "x86-64-v3", "avx avx2 bmi1 bmi2 f16c fma abm movbe xsave" },
    { "x86-64-v4", "avx512f avx512bw avx512cd avx512dq avx512vl" },
};

static bool has_word(const char *flags, const char *word, size_t n)
{
    while (*flags) {
        flags += strspn(flags, BLANKS);
        const size_t n_here = strcspn(flags, BLANKS);
        if (n_here == n && n > 0 && strncmp(flags, word, n) == 0)
            return true;
        flags += n_here;
    }
    return false;
}

bool ks_cpu_flags_has(const char *flags, const char *flag)
{
    return has_word(flags, flag, strlen(flag));
}

static bool has_all(const char *flags, const char *words)
{
    while (*words) {
        const size_t n = strcspn(words, BLANKS);
        if (!has_word(flags, words, n))
            return false;
        words += n;
        words += strspn(words, BLANKS);
    }
    return true;
}

const char *ks_cpu_level_of(const char *flags)
{
    size_t i = 1;

    while (i < KS_CPU_LEVELS && has_all(flags, ks_cpu_levels[i].flags))
        i++;
    return ks_cpu_levels[i - 1].name;
}
