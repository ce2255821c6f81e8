/* SPDX-License-Identifier: MIT */
/* fpenv.h - state of the CPU that a kernel must leave as it found it, because the code that runs
 * after it depends on it: how results are rounded, and registers whose content slows down or spoils
 * other instructions. */
#ifndef KS_WORKER_FPENV_H
#define KS_WORKER_FPENV_H

#include <stdbool.h>
#include <stdint.h>

/* x86-64: MXCSR without its exception flags (rounding, flush to zero, denormals are zero, masks),
 * the control word of the x87, an x87 stack that is empty (a kernel that uses MMX without `emms`
 * leaves it full: the next long double is a NaN), upper halves of the vector registers that are
 * zero (a missing `vzeroupper` slows down SSE code), and the flags DF (string instructions) and AC.
 * AArch64: FPCR. */
struct ks_fpenv {
    uint64_t control; /* MXCSR, FPCR */
    uint32_t x87;     /* control word */
    bool has_xinuse;  /* the CPU says which parts of its state are in use: XGETBV with ECX = 1 */
    bool has_avx;
};

void ks_fpenv_save(struct ks_fpenv *out);
/* ks_fpenv_restore() - make it as `want` says; empty and zero for what has no content there.
 * Returns true when anything was different. Where has_xinuse is false, upper halves are made zero
 * but cannot be seen. 10 to 50 ns. */
bool ks_fpenv_restore(const struct ks_fpenv *want);

#endif
