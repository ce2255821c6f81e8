/* SPDX-License-Identifier: MIT */
/* host_peak.c - measures the most multiply-adds per second of one core */
#include "device/host_peak.h"

#include "base/clock.h"

#include <math.h>
#include <stddef.h>
#include <stdint.h>

#if defined(__x86_64__)
#include <immintrin.h>

#define N_SUMS 12   /* independent, so that no result is waited for: 2 a cycle of 4 to 6 cycles */
#define STEPS  1000 /* of a run: some 4 us */
#if defined(__clang__) /* so that the sums stay in registers */
#define UNROLL _Pragma("clang loop unroll(full)")
#else
#define UNROLL _Pragma("GCC unroll 12")
#endif
#define RUNS 50 /* the fastest counts: most others are disturbed */

/* Each returns a number that depends on all of its work. */
__attribute__((target("avx512f"))) static float run_avx512(float with)
{
    __m512 sum[N_SUMS], x = _mm512_set1_ps(with), all = _mm512_setzero_ps();

    for (int i = 0; i < N_SUMS; i++)
        sum[i] = _mm512_set1_ps((float)i);
    for (int k = 0; k < STEPS; k++) {
        UNROLL
        for (int i = 0; i < N_SUMS; i++)
            sum[i] = _mm512_fmadd_ps(sum[i], x, x);
    }
    for (int i = 0; i < N_SUMS; i++)
        all = _mm512_add_ps(all, sum[i]);
    return _mm512_cvtss_f32(all);
}

__attribute__((target("avx512f,avx512bf16"))) static float run_bf16(float with)
{
    __m512 sum[N_SUMS], all = _mm512_setzero_ps();
    __m512bh x = (__m512bh)_mm512_set1_ps(with);

    for (int i = 0; i < N_SUMS; i++)
        sum[i] = _mm512_set1_ps((float)i);
    for (int k = 0; k < STEPS; k++) {
        UNROLL
        for (int i = 0; i < N_SUMS; i++)
            sum[i] = _mm512_dpbf16_ps(sum[i], x, x);
    }
    for (int i = 0; i < N_SUMS; i++)
        all = _mm512_add_ps(all, sum[i]);
    return _mm512_cvtss_f32(all);
}

__attribute__((target("avx2,fma"))) static float run_avx2(float with)
{
    __m256 sum[N_SUMS], x = _mm256_set1_ps(with), all = _mm256_setzero_ps();

    for (int i = 0; i < N_SUMS; i++)
        sum[i] = _mm256_set1_ps((float)i);
    for (int k = 0; k < STEPS; k++) {
        UNROLL
        for (int i = 0; i < N_SUMS; i++)
            sum[i] = _mm256_fmadd_ps(sum[i], x, x);
    }
    for (int i = 0; i < N_SUMS; i++)
        all = _mm256_add_ps(all, sum[i]);
    return _mm256_cvtss_f32(all);
}

static double flops_per_s(float (*run)(float), double flops)
{
    volatile float sink = 0.5f; /* not known to the compiler */
    uint64_t best = UINT64_MAX;

    for (int i = 0; i < RUNS; i++) {
        uint64_t from = ks_now_ns(), ns;

        sink = run(sink);
        ns = ks_now_ns() - from;
        sink = 0.5f;
        best = ns < best ? ns : best;
    }
    return flops * N_SUMS * STEPS / (1e-9 * (double)(best > 0 ? best : 1));
}

double ks_host_peak_measure(void)
{
    double peak = 0.0;

    if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma"))
        peak = flops_per_s(run_avx2, 16.0);
    if (__builtin_cpu_supports("avx512f"))
        peak = fmax(peak, flops_per_s(run_avx512, 32.0));
    if (__builtin_cpu_supports("avx512bf16"))
        peak = fmax(peak, flops_per_s(run_bf16, 64.0));
    return peak;
}
#else
double ks_host_peak_measure(void)
{
    return 0.0;
}
#endif
