/* SPDX-License-Identifier: MIT */
/* operand.h - private to src/build: how much an x86-64 instruction reads at the constant address it
 * names. So constants are compared by what is read of them, not by what lies beside them: compilers
 * store a short constant inside a longer one of any other function of the same file. */
#ifndef KS_BUILD_OPERAND_H
#define KS_BUILD_OPERAND_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct ks_operand {
    uint32_t n_bytes;     /* read at most: never less than what is read */
    uint32_t n_immediate; /* bytes of the instruction behind the displacement */
};

/* @code [in] machine code, at least `at` bytes
 * @at   where the four bytes of a displacement begin, relative to the next instruction
 * false when it is no VEX or EVEX instruction, or could be read in two ways: anything may be read
 * then (an address that is taken, too). Source: Intel SDM volume 2, 2.3 and 2.7 (encodings) and the
 * operand sizes of its instruction reference. */
bool ks_operand_at(const uint8_t *code, size_t at, struct ks_operand *out);

#endif
