/* SPDX-License-Identifier: MIT */
/* object.h - private to src/build: a bounds-checked view of an ELF64 file: a relocatable x86-64
 * object, or a linked image of any machine.
 * Nothing is trusted: every offset, size and index is checked before it is used, and values are
 * copied out, so that alignment does not matter. Source: System V ABI, chapters 4 and 5; x86-64
 * psABI 4.4 (relocation types). */
#ifndef KS_BUILD_OBJECT_H
#define KS_BUILD_OBJECT_H

#include "base/err.h"

#include <elf.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define KS_EM_AMDGPU 224 /* e_machine; older elf.h lack it */

struct ks_object {
    const uint8_t *bytes; /* borrowed */
    size_t n;
    Elf64_Ehdr head;
    Elf64_Shdr symtab, strtab; /* of symbol names; zero: an image without symbols */
    uint32_t n_symbols;
};

/* KS_EFORMAT for anything but a well-formed relocatable object. */
int ks_object_open(const void *bytes, size_t n, struct ks_object *out, struct ks_err *err);

/* The same of an image: what a linker or a GPU's compiler made. Its symbols are those of .symtab,
 * else of .dynsym, else none. */
int ks_object_open_image(const void *bytes, size_t n, struct ks_object *out, struct ks_err *err);

/* Whether it is for the machine that this program is for, whichever that is. */
bool ks_object_is_hosts(const struct ks_object *o);

/* Section header i; its bytes are inside the object unless it is SHT_NOBITS. */
int ks_object_section(const struct ks_object *o, uint32_t i, Elf64_Shdr *out, struct ks_err *err);
/* Name of a section; "" when it has none that ends inside its table. */
const char *ks_object_section_name(const struct ks_object *o, const Elf64_Shdr *s);

int ks_object_symbol(const struct ks_object *o, uint32_t i, Elf64_Sym *out, struct ks_err *err);
const char *ks_object_symbol_name(const struct ks_object *o, const Elf64_Sym *s);
/* KS_ENOENT when no function, object or untyped symbol that is defined has that name. */
int ks_object_find(const struct ks_object *o, const char *name, Elf64_Sym *out, struct ks_err *err);

/* Relocation i of the relocation section `rela`; KS_ENOENT beyond the last. */
int ks_object_rela(const struct ks_object *o, const Elf64_Shdr *rela, uint64_t i, Elf64_Rela *out,
                   struct ks_err *err);
/* Bytes that a relocation of this type overwrites; 0 for an unknown type. */
uint32_t ks_object_rela_bytes(uint32_t type);

#endif
