/* SPDX-License-Identifier: MIT */
/* codeid.h - physical identity of a compiled function: digest of its section with relocations
 * replaced, transitively, by the digest of what they point to (code, rodata), names dropped. */
#ifndef KS_BUILD_CODEID_H
#define KS_BUILD_CODEID_H

#include "base/err.h"
#include "base/hash.h"

#include <stddef.h>

/* @object [in] an ELF64 relocatable x86-64 object compiled with -ffunction-sections -fdata-sections
 * @symbol [in] name of a function or of a data object (an entry: follows its function pointers)
 * Undefined external symbols (memcpy) enter by name. Writable data that is reached makes the result
 * zero (never aliased). Errs to one side only: equal code may get two ids (a constant that a
 * compiler stored as part of a longer one of another function), different code never gets one.
 * Returns 0; KS_EFORMAT for anything malformed (never reads out of bounds); KS_ENOENT when the
 * symbol is not there. */
int ks_code_id(const void *object, size_t n, const char *symbol, struct ks_id128 *out,
               struct ks_err *err);

#endif
