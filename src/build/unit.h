/* SPDX-License-Identifier: MIT */
/* unit.h - private to src/build: the translation unit of several instances of one family.
 *
 * What a family's source may rely on: "abi.h" is included; KS_PREFIX, KS_NAME, KS_FN(x) and the
 * trait macros are defined; it is included once per instance and defines
 * `static const struct ks_abi_entry KS_FN(entry)`. */
#ifndef KS_BUILD_UNIT_H
#define KS_BUILD_UNIT_H

#include "base/buf.h"
#include "base/err.h"
#include "base/hash.h"
#include "grid/family.h"

#include <stdint.h>

/* The macros of one instance, "#define KT_VB 64" a line: with the canonical text, what its code
 * depends on besides the sources. */
void ks_unit_macros(const struct ks_family *f, const struct ks_instance *i,
                    struct ks_buf *text_out);

/* The C text. instances: all of the family `f`; indices into `all`, n of them.
 * KS_EINVAL when the source's path cannot stand in an #include line. */
int ks_unit_text(const struct ks_family *f, const struct ks_instance *all, const uint32_t *indices,
                 uint32_t n, struct ks_buf *text_out, struct ks_err *err);

/* Symbol of the entry of the i-th instance of a unit. */
void ks_unit_symbol(uint32_t i, char symbol_out[32]);

/* Digest of everything that a family's source may include: all .k and .h files of its directory, in
 * the order of their names, and `abi_path`. KS_ENOENT, KS_EIO. */
int ks_unit_sources(const struct ks_family *f, const char *abi_path, struct ks_id128 *out,
                    struct ks_err *err);

#endif
