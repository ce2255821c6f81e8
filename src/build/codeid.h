/* SPDX-License-Identifier: MIT */
/* codeid.h - physical identity of a compiled function: digest of its section with relocations
 * replaced, transitively, by the digest of what they point to (code, rodata), names dropped. */
#ifndef KS_BUILD_CODEID_H
#define KS_BUILD_CODEID_H

#include "base/err.h"
#include "base/hash.h"

#include <stddef.h>
#include <stdint.h>

/* @object [in] an ELF64 relocatable x86-64 object compiled with -ffunction-sections -fdata-sections
 * @symbol [in] name of a function or of a data object (an entry: follows its function pointers)
 * Undefined external symbols (memcpy) enter by name. Writable data that is reached makes the result
 * zero (never aliased). Constants are compared by the bytes that are read: what a vector
 * instruction reads (operand.h), a string to its end, an element of a mergeable section, else the
 * whole section. Errs to one side only: equal code may get two ids (where an old instruction or an
 * address that is taken reaches a constant that was stored as part of a longer one), different code
 * never gets one. *n_bytes_out: of the functions that are reached. Returns 0; KS_EFORMAT for
 * anything malformed (never reads out of bounds); KS_ENOENT when the symbol is not there. */
int ks_code_id(const void *object, size_t n, const char *symbol, struct ks_id128 *out,
               uint64_t *n_bytes_out, struct ks_err *err);

#endif
