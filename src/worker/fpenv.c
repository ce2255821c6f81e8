/* SPDX-License-Identifier: MIT */
/* fpenv.c - saves and restores the CPU's floating-point state around kernels */
#include "worker/fpenv.h"

#if defined(__x86_64__)
#include <cpuid.h>

#define MXCSR_CONTROL 0xffc0u /* DAZ, masks, rounding, FTZ */
#define X87_CONTROL   0x0f3fu /* masks, precision, rounding */
#define X87_RESERVED  0x0040u /* reads as 1 */
#define X87_EMPTY     0xffffu /* tag word of an empty stack */
#define USES_X87      (1ull << 0)
#define USES_UPPER    (1ull << 2 | 1ull << 6) /* bits 128 to 255, 256 to 511 of registers 0 to 15 */
#define FLAG_DF       (1ull << 10)
#define FLAG_AC       (1ull << 18)

/* As `fnstenv` writes it. */
struct x87_env {
    uint32_t control, status, tags;
    uint32_t rest[4];
};

static void find_features(struct ks_fpenv *out)
{
    unsigned a = 0, b = 0, c = 0, d = 0;
    bool has_xsave;

    if (!__get_cpuid(1, &a, &b, &c, &d))
        return;
    has_xsave = (c & bit_OSXSAVE) != 0; /* the kernel has switched it on */
    out->has_avx = has_xsave && (c & bit_AVX) != 0;
    if (has_xsave && __get_cpuid_count(0xd, 1, &a, &b, &c, &d))
        out->has_xinuse = (a & (1u << 2)) != 0;
}

static uint64_t state_in_use(const struct ks_fpenv *want)
{
    uint32_t low, high;

    if (!want->has_xinuse)
        return USES_X87;
    __asm__ volatile("xgetbv" : "=a"(low), "=d"(high) : "c"(1));
    return low | (uint64_t)high << 32;
}

static bool is_x87_empty(void)
{
    struct x87_env env;

    /* Masks all exceptions, which the control word that is compared before has masked as well. */
    __asm__ volatile("fnstenv %0" : "=m"(env));
    return (env.tags & X87_EMPTY) == X87_EMPTY;
}

static uint16_t x87_control(void)
{
    uint16_t word;

    __asm__ volatile("fnstcw %0" : "=m"(word));
    return word & X87_CONTROL;
}

static bool restore_x87(const struct ks_fpenv *want, bool is_used)
{
    const uint16_t word = (uint16_t)(want->x87 | X87_RESERVED);

    if (x87_control() == want->x87 && (!is_used || is_x87_empty()))
        return false;
    __asm__ volatile("fninit\n\tfldcw %0" : : "m"(word));
    return true;
}

static bool restore_mxcsr(const struct ks_fpenv *want)
{
    const unsigned now = __builtin_ia32_stmxcsr();

    if ((now & MXCSR_CONTROL) == want->control)
        return false;
    __builtin_ia32_ldmxcsr((unsigned)want->control | (now & ~MXCSR_CONTROL));
    return true;
}

static bool restore_upper(const struct ks_fpenv *want, uint64_t in_use)
{
    if (want->has_avx && (!want->has_xinuse || (in_use & USES_UPPER) != 0))
        __asm__ volatile("vzeroupper"
                         :
                         :
                         : "xmm0", "xmm1", "xmm2", "xmm3", "xmm4", "xmm5", "xmm6", "xmm7", "xmm8",
                           "xmm9", "xmm10", "xmm11", "xmm12", "xmm13", "xmm14", "xmm15");
    return want->has_xinuse && (in_use & USES_UPPER) != 0;
}

static bool restore_flags(void)
{
    const uint64_t flags = __builtin_ia32_readeflags_u64();

    if ((flags & (FLAG_DF | FLAG_AC)) == 0)
        return false;
    __builtin_ia32_writeeflags_u64(flags & ~(FLAG_DF | FLAG_AC));
    return true;
}

void ks_fpenv_save(struct ks_fpenv *out)
{
    *out = (struct ks_fpenv){ .control = __builtin_ia32_stmxcsr() & MXCSR_CONTROL,
                              .x87 = x87_control() };
    find_features(out);
}

bool ks_fpenv_restore(const struct ks_fpenv *want)
{
    const bool had_flags = restore_flags(); /* first: whatever is called relies on them */
    const uint64_t in_use = state_in_use(want);
    const bool had_upper = restore_upper(want, in_use);
    const bool had_x87 = restore_x87(want, (in_use & USES_X87) != 0);
    const bool had_mxcsr = restore_mxcsr(want);

    return had_flags || had_upper || had_x87 || had_mxcsr;
}
#elif defined(__aarch64__)
static uint64_t read_fpcr(void)
{
    uint64_t value;

    __asm__ volatile("mrs %0, fpcr" : "=r"(value));
    return value;
}

void ks_fpenv_save(struct ks_fpenv *out)
{
    *out = (struct ks_fpenv){ .control = read_fpcr() };
}

bool ks_fpenv_restore(const struct ks_fpenv *want)
{
    if (read_fpcr() == want->control)
        return false;
    __asm__ volatile("msr fpcr, %0" : : "r"(want->control));
    return true;
}
#endif
