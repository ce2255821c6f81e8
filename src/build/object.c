/* SPDX-License-Identifier: MIT */
/* object.c - reading an ELF object without trusting it. */
#include "build/object.h"

#include <string.h>

/* Of the running program; every linker of ELF files defines it. */
extern const Elf64_Ehdr __ehdr_start __attribute__((visibility("hidden")));

static bool is_inside(const struct ks_object *o, uint64_t offset, uint64_t size)
{
    return offset <= o->n && size <= o->n - offset;
}

/* NUL-terminated text at `at` of a string table, "" when it does not end inside. */
static const char *text_at(const struct ks_object *o, const Elf64_Shdr *table, uint64_t at)
{
    if (table->sh_type != SHT_STRTAB || at >= table->sh_size)
        return "";
    const char *text = (const char *)o->bytes + table->sh_offset + at;
    return memchr(text, '\0', table->sh_size - at) ? text : "";
}

bool ks_object_is_hosts(const struct ks_object *o)
{
    return o->head.e_machine == __ehdr_start.e_machine;
}

int ks_object_section(const struct ks_object *o, uint32_t i, Elf64_Shdr *out, struct ks_err *err)
{
    Elf64_Shdr s;
    if (i >= o->head.e_shnum)
        return ks_fail(err, KS_EFORMAT, "object has no section %u", i);
    memcpy(&s, o->bytes + o->head.e_shoff + (uint64_t)i * sizeof(s), sizeof(s));
    if (s.sh_type != SHT_NOBITS && !is_inside(o, s.sh_offset, s.sh_size))
        return ks_fail(err, KS_EFORMAT, "section %u is not inside the object", i);
    *out = s;
    return 0;
}

const char *ks_object_section_name(const struct ks_object *o, const Elf64_Shdr *s)
{
    Elf64_Shdr names;
    if (ks_object_section(o, o->head.e_shstrndx, &names, NULL) < 0)
        return "";
    return text_at(o, &names, s->sh_name);
}

static int read_head(const void *bytes, size_t n, struct ks_object *o, struct ks_err *err)
{
    if (n < sizeof(o->head))
        return ks_fail(err, KS_EFORMAT, "object of %zu bytes is too short for an ELF file", n);
    memcpy(&o->head, bytes, sizeof(o->head));
    const unsigned char *id = o->head.e_ident;
    if (memcmp(id, ELFMAG, SELFMAG) != 0 || id[EI_CLASS] != ELFCLASS64 ||
        id[EI_DATA] != ELFDATA2LSB)
        return ks_fail(err, KS_EFORMAT, "not a 64-bit little-endian ELF file");
    if (o->head.e_shentsize != sizeof(Elf64_Shdr) ||
        !is_inside(o, o->head.e_shoff, (uint64_t)o->head.e_shnum * sizeof(Elf64_Shdr)))
        return ks_fail(err, KS_EFORMAT, "section table is not inside the object");
    return 0;
}

/* The first table of this type; KS_ENOENT when there is none. */
static int find_symbols(struct ks_object *o, uint32_t type, struct ks_err *err)
{
    for (uint32_t i = 0; i < o->head.e_shnum; i++) {
        Elf64_Shdr s;
        int rc = ks_object_section(o, i, &s, err);
        if (rc < 0)
            return rc;
        if (s.sh_type != type)
            continue;
        if (s.sh_entsize != sizeof(Elf64_Sym) || s.sh_size / sizeof(Elf64_Sym) > UINT32_MAX)
            return ks_fail(err, KS_EFORMAT, "symbol table of odd size");
        o->symtab = s;
        o->n_symbols = (uint32_t)(s.sh_size / sizeof(Elf64_Sym));
        return ks_object_section(o, s.sh_link, &o->strtab, err);
    }
    return ks_fail(err, KS_ENOENT, "object has no symbol table");
}

int ks_object_open(const void *bytes, size_t n, struct ks_object *out, struct ks_err *err)
{
    struct ks_object o = { .bytes = bytes, .n = n };
    int rc = read_head(bytes, n, &o, err);
    if (rc == 0 && (o.head.e_type != ET_REL || o.head.e_machine != EM_X86_64))
        rc = ks_fail(err, KS_EFORMAT, "not a relocatable x86-64 object");
    if (rc == 0)
        rc = find_symbols(&o, SHT_SYMTAB, err);
    if (rc == KS_ENOENT)
        rc = ks_fail(err, KS_EFORMAT, "object has no symbol table");
    if (rc < 0)
        return rc;
    *out = o;
    return 0;
}

int ks_object_open_image(const void *bytes, size_t n, struct ks_object *out, struct ks_err *err)
{
    struct ks_object o = { .bytes = bytes, .n = n };
    int rc = read_head(bytes, n, &o, err);
    if (rc == 0)
        rc = find_symbols(&o, SHT_SYMTAB, err);
    if (rc == KS_ENOENT)
        rc = find_symbols(&o, SHT_DYNSYM, err);
    if (rc < 0 && rc != KS_ENOENT)
        return rc;
    *out = o;
    return 0;
}

int ks_object_symbol(const struct ks_object *o, uint32_t i, Elf64_Sym *out, struct ks_err *err)
{
    if (i >= o->n_symbols)
        return ks_fail(err, KS_EFORMAT, "object has no symbol %u", i);
    memcpy(out, o->bytes + o->symtab.sh_offset + (uint64_t)i * sizeof(*out), sizeof(*out));
    return 0;
}

const char *ks_object_symbol_name(const struct ks_object *o, const Elf64_Sym *s)
{
    return text_at(o, &o->strtab, s->st_name);
}

int ks_object_find(const struct ks_object *o, const char *name, Elf64_Sym *out, struct ks_err *err)
{
    for (uint32_t i = 0; i < o->n_symbols; i++) {
        Elf64_Sym s;
        int rc = ks_object_symbol(o, i, &s, err);
        if (rc < 0)
            return rc;
        const unsigned type = ELF64_ST_TYPE(s.st_info);
        if (type != STT_FUNC && type != STT_OBJECT && type != STT_NOTYPE)
            continue;
        if (s.st_shndx == SHN_UNDEF || s.st_shndx >= SHN_LORESERVE ||
            strcmp(ks_object_symbol_name(o, &s), name) != 0)
            continue;
        *out = s;
        return 0;
    }
    return ks_fail(err, KS_ENOENT, "object defines no '%s'", name);
}

int ks_object_rela(const struct ks_object *o, const Elf64_Shdr *rela, uint64_t i, Elf64_Rela *out,
                   struct ks_err *err)
{
    if (i >= rela->sh_size / sizeof(*out))
        return KS_ENOENT;
    if (rela->sh_entsize != sizeof(*out) || !is_inside(o, rela->sh_offset, rela->sh_size))
        return ks_fail(err, KS_EFORMAT, "relocation table of odd size");
    memcpy(out, o->bytes + rela->sh_offset + i * sizeof(*out), sizeof(*out));
    return 0;
}

uint32_t ks_object_rela_bytes(uint32_t type)
{
    switch (type) {
    case R_X86_64_64:
    case R_X86_64_PC64:
    case R_X86_64_GOTOFF64:
        return 8;
    case R_X86_64_PC32:
    case R_X86_64_PLT32:
    case R_X86_64_32:
    case R_X86_64_32S:
    case R_X86_64_GOTPCREL:
    case R_X86_64_GOTPCRELX:
    case R_X86_64_REX_GOTPCRELX:
    case R_X86_64_GOTPC32:
    case R_X86_64_TLSGD:
    case R_X86_64_TLSLD:
    case R_X86_64_DTPOFF32:
    case R_X86_64_GOTTPOFF:
    case R_X86_64_TPOFF32:
        return 4;
    case R_X86_64_16:
    case R_X86_64_PC16:
        return 2;
    case R_X86_64_8:
    case R_X86_64_PC8:
        return 1;
    default:
        return 0;
    }
}
