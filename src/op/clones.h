/* SPDX-License-Identifier: MIT */
/* clones.h - KS_CLONES before a function compiles it for several vector widths; the loader picks
 * one. For plain loops that the compiler vectorises. Results must not depend on the width: use it
 * only where the arithmetic is exact or its order is fixed. */
#ifndef KS_OP_CLONES_H
#define KS_OP_CLONES_H

#if defined(__x86_64__) && defined(__clang__)
#define KS_CLONES __attribute__((target_clones("avx512f", "avx2", "default")))
#elif defined(__x86_64__) && defined(__GNUC__) && __GNUC__ >= 12
#define KS_CLONES __attribute__((target_clones("arch=x86-64-v4", "arch=x86-64-v3", "default")))
#elif defined(__x86_64__) && defined(__GNUC__)
#define KS_CLONES __attribute__((target_clones("avx512f", "avx2", "default")))
#else
#define KS_CLONES
#endif

#endif
