/* SPDX-License-Identifier: MIT */
/* gpu_code.c - physical identity of kernels in a code object.
 *
 * Code of a GPU is linked when we see it. What it reaches beside itself (constants, functions that
 * were not inlined) it names by distances, so where there is any of that, the identity holds all of
 * it with its addresses: equal code at another place is then another id. Kernels that are on their
 * own, as all of ours should be, are compared by their bytes alone. */
#include "build/gpu_code.h"

#include "build/object.h"
#include "build/unit.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define DESCRIPTOR_BYTES 64
#define DESCRIPTOR_ENTRY 16 /* distance to the code, 8 bytes */

#define CUDA_ENTRY    0x10 /* st_other of a kernel */
#define INFO_PAYLOAD  4    /* format of a record of .nv.info with a length */
#define INFO_PARAMS   0x0a /* begins with the number of a symbol, as the next four do */
#define INFO_FRAME    0x11
#define INFO_STACK    0x12
#define INFO_STACKMAX 0x23
#define INFO_REGS     0x2f

struct identity {
    struct ks_object o;
    struct ks_sha256 hash;
    uint32_t instance;
    uint64_t n_code;
    bool is_unknown; /* something was met that may not be equal to anything */
};

static void hash_u64(struct identity *d, uint64_t v)
{
    uint8_t bytes[8];
    for (int i = 0; i < 8; i++)
        bytes[i] = (uint8_t)(v >> (8 * i));
    ks_sha256_add(&d->hash, bytes, sizeof(bytes));
}

static void hash_bytes(struct identity *d, const uint8_t *bytes, uint64_t n)
{
    hash_u64(d, n);
    ks_sha256_add(&d->hash, bytes, n);
}

/* AMD
 * ------------------------------------------------------------------------------------------- */

/* The bytes of a symbol, by addresses. */
static int find_bytes(const struct identity *d, const Elf64_Sym *s, const uint8_t **out,
                      struct ks_err *err)
{
    Elf64_Shdr of;
    int rc = ks_object_section(&d->o, s->st_shndx, &of, err);
    if (rc < 0)
        return rc;
    if (of.sh_type != SHT_PROGBITS || s->st_value < of.sh_addr ||
        s->st_value - of.sh_addr > of.sh_size ||
        s->st_size > of.sh_size - (s->st_value - of.sh_addr))
        return ks_fail(err, KS_EFORMAT, "a symbol is not inside its section");
    *out = d->o.bytes + of.sh_offset + (s->st_value - of.sh_addr);
    return 0;
}

static int find_descriptor(const struct identity *d, const char *kernel, Elf64_Sym *out)
{
    char name[192];
    snprintf(name, sizeof(name), "%.180s.kd", kernel);
    return ks_object_find(&d->o, name, out, NULL);
}

static int add_amd_kernel(struct identity *d, const char *name, struct ks_err *err)
{
    Elf64_Sym code, descriptor;
    const uint8_t *bytes, *head;
    uint8_t blanked[DESCRIPTOR_BYTES];
    int rc = ks_object_find(&d->o, name, &code, err);
    if (rc == 0)
        rc = find_bytes(d, &code, &bytes, err);
    if (rc == 0 && find_descriptor(d, name, &descriptor) < 0)
        rc = ks_fail(err, KS_EFORMAT, "kernel '%s' has no descriptor", name);
    if (rc == 0)
        rc = find_bytes(d, &descriptor, &head, err);
    if (rc == 0 && descriptor.st_size != DESCRIPTOR_BYTES)
        rc = ks_fail(err, KS_EFORMAT, "the descriptor of '%s' has another size", name);
    if (rc < 0)
        return rc;
    memcpy(blanked, head, sizeof(blanked));
    memset(blanked + DESCRIPTOR_ENTRY, 0, 8);
    hash_bytes(d, blanked, sizeof(blanked));
    hash_bytes(d, bytes, code.st_size);
    d->n_code += code.st_size;
    return 0;
}

/* "k3_kernel0" with `suffix` behind it? */
static bool is_kernels(const char *name, const char *suffix)
{
    static const char middle[] = "_kernel", digits[] = "0123456789";
    if (*name++ != 'k' || !strspn(name, digits))
        return false;
    name += strspn(name, digits);
    if (strncmp(name, middle, sizeof(middle) - 1) != 0)
        return false;
    name += sizeof(middle) - 1;
    return strspn(name, digits) && strcmp(name + strspn(name, digits), suffix) == 0;
}

/* Marks what kernels and their descriptors have of a section: covered[0..size). */
static void cover(const struct identity *d, uint32_t section, const Elf64_Shdr *s, uint8_t *covered)
{
    for (uint32_t i = 0; i < d->o.n_symbols; i++) {
        Elf64_Sym sym;
        if (ks_object_symbol(&d->o, i, &sym, NULL) < 0 || sym.st_shndx != section ||
            sym.st_value < s->sh_addr || sym.st_value - s->sh_addr > s->sh_size ||
            sym.st_size > s->sh_size - (sym.st_value - s->sh_addr))
            continue;
        const char *name = ks_object_symbol_name(&d->o, &sym);
        if (is_kernels(name, ELF64_ST_TYPE(sym.st_info) == STT_FUNC ? "" : ".kd"))
            memset(covered + (sym.st_value - s->sh_addr), 1, sym.st_size);
    }
}

/* Between kernels stand s_nop 0, s_code_end and zeros. */
static bool is_padding(const uint8_t *bytes, const uint8_t *covered, uint64_t n)
{
    for (uint64_t i = 0; i < n; i += 4) {
        uint32_t word = 0;
        if (covered[i])
            continue;
        if (n - i < sizeof(word))
            return false;
        memcpy(&word, bytes + i, sizeof(word));
        if (word != 0 && word != 0xbf800000u && word != 0xbf9f0000u)
            return false;
    }
    return true;
}

/* Is there more in the section than kernels? Then it counts, with its place. */
static int add_amd_section(struct identity *d, uint32_t i, const Elf64_Shdr *s, bool *is_placed,
                           struct ks_err *err)
{
    const uint8_t *bytes = d->o.bytes + s->sh_offset;
    uint8_t *covered = calloc(s->sh_size + 1, 1);
    if (!covered)
        return ks_fail(err, KS_ENOMEM, "out of memory computing code identity");
    cover(d, i, s, covered);
    const bool is_ours = s->sh_flags & SHF_EXECINSTR ? is_padding(bytes, covered, s->sh_size)
                                                     : !memchr(covered, 0, s->sh_size);
    free(covered);
    if (is_ours)
        return 0;
    *is_placed = true;
    hash_u64(d, s->sh_addr);
    hash_bytes(d, bytes, s->sh_size);
    return 0;
}

/* What the loader needs, and no code sees. */
static bool is_loaders(const struct identity *d, const Elf64_Shdr *s)
{
    return s->sh_type == SHT_NOTE || s->sh_type == SHT_DYNSYM || s->sh_type == SHT_HASH ||
           s->sh_type == SHT_GNU_HASH || s->sh_type == SHT_STRTAB || s->sh_type == SHT_DYNAMIC ||
           strcmp(ks_object_section_name(&d->o, s), ".relro_padding") == 0;
}

/* clang marks each object of HIP with a byte that no code uses. */
static bool is_mark(const struct identity *d, uint32_t section, const Elf64_Shdr *s)
{
    static const char mark[] = "__hip_cuid_";
    uint64_t n = 0;
    for (uint32_t i = 0; i < d->o.n_symbols; i++) {
        Elf64_Sym sym;
        if (ks_object_symbol(&d->o, i, &sym, NULL) == 0 && sym.st_shndx == section &&
            strncmp(ks_object_symbol_name(&d->o, &sym), mark, sizeof(mark) - 1) == 0)
            n += sym.st_size;
    }
    return n == s->sh_size;
}

/* All of the object that is in memory beside kernels. */
static int add_amd_rest(struct identity *d, bool *is_placed, struct ks_err *err)
{
    int rc = 0;
    for (uint32_t i = 0; i < d->o.head.e_shnum && rc == 0; i++) {
        Elf64_Shdr s;
        rc = ks_object_section(&d->o, i, &s, err);
        if (rc < 0 || !(s.sh_flags & SHF_ALLOC) || s.sh_size == 0 || is_loaders(d, &s))
            continue;
        if ((s.sh_flags & SHF_WRITE) || s.sh_type != SHT_PROGBITS)
            d->is_unknown |= !is_mark(d, i, &s);
        else
            rc = add_amd_section(d, i, &s, is_placed, err);
    }
    return rc;
}

static int add_place(struct identity *d, const char *name, struct ks_err *err)
{
    Elf64_Sym code;
    const int rc = ks_object_find(&d->o, name, &code, err);
    if (rc == 0)
        hash_u64(d, code.st_value);
    return rc;
}

/* NVIDIA
 * ------------------------------------------------------------------------------------------- */

/* ".text.k3_kernel0" is ".text" of "k3_kernel0". */
static bool is_of(const char *section, const char *kernel)
{
    const size_t n = strlen(section), m = strlen(kernel);
    return n > m + 1 && section[n - m - 1] == '.' && strcmp(section + n - m, kernel) == 0;
}

static bool has_symbol(uint32_t attribute)
{
    return attribute == INFO_PARAMS || attribute == INFO_FRAME || attribute == INFO_STACK ||
           attribute == INFO_STACKMAX || attribute == INFO_REGS;
}

/* Records of .nv.info: of one kernel (symbol 0), or of all kernels those of this symbol. */
static int add_info(struct identity *d, const Elf64_Shdr *s, uint32_t symbol, struct ks_err *err)
{
    const uint8_t *p = d->o.bytes + s->sh_offset;
    for (uint64_t at = 0, n; at < s->sh_size; at += n) {
        uint32_t of = 0;
        if (s->sh_size - at < 4)
            return ks_fail(err, KS_EFORMAT, ".nv.info ends inside a record");
        n = 4;
        if (p[at] == INFO_PAYLOAD)
            n += (uint64_t)p[at + 2] | (uint64_t)p[at + 3] << 8;
        if (n > s->sh_size - at)
            return ks_fail(err, KS_EFORMAT, ".nv.info ends inside a record");
        const bool is_named = n >= 8 && has_symbol(p[at + 1]);
        if (is_named)
            memcpy(&of, p + at + 4, sizeof(of));
        if (is_named && symbol && of != symbol)
            continue;
        hash_bytes(d, p + at, 4);
        if (n > 4)
            hash_bytes(d, p + at + (is_named ? 8 : 4), n - (is_named ? 8 : 4));
    }
    return 0;
}

/* One section whose name ends in the kernel's. */
static int add_own_section(struct identity *d, const Elf64_Shdr *s, const char *name,
                           const char *kernel, struct ks_err *err)
{
    static const char info[] = ".nv.info.";
    if (s->sh_type == SHT_RELA || s->sh_type == SHT_REL) {
        d->is_unknown |= s->sh_size > 0;
        return 0;
    }
    if (strncmp(name, info, sizeof(info) - 1) == 0)
        return add_info(d, s, 0, err);
    if (!(s->sh_flags & SHF_ALLOC))
        return 0;
    if (s->sh_flags & SHF_EXECINSTR)
        d->n_code += s->sh_size;
    ks_sha256_add(&d->hash, name, strlen(name) - strlen(kernel));
    hash_u64(d, s->sh_flags);
    hash_u64(d, s->sh_size);
    if (s->sh_type != SHT_NOBITS)
        hash_bytes(d, d->o.bytes + s->sh_offset, s->sh_size);
    return 0;
}

static int find_symbol_number(const struct identity *d, const char *name, uint32_t *out,
                              struct ks_err *err)
{
    for (uint32_t i = 1; i < d->o.n_symbols; i++) {
        Elf64_Sym s;
        int rc = ks_object_symbol(&d->o, i, &s, err);
        if (rc < 0)
            return rc;
        if (ELF64_ST_TYPE(s.st_info) == STT_FUNC && s.st_shndx != SHN_UNDEF &&
            strcmp(ks_object_symbol_name(&d->o, &s), name) == 0) {
            *out = i;
            return 0;
        }
    }
    return ks_fail(err, KS_ENOENT, "code object has no kernel '%s'", name);
}

/* Bytes of a section that are notes: "k3_kernel0_lds" tells readers of the code object how much
 * shared memory a launch adds; no code reads it. */
static uint64_t count_notes(const struct identity *d, uint32_t section)
{
    uint64_t n = 0;
    for (uint32_t i = 0; i < d->o.n_symbols; i++) {
        Elf64_Sym s;
        if (ks_object_symbol(&d->o, i, &s, NULL) == 0 && s.st_shndx == section &&
            is_kernels(ks_object_symbol_name(&d->o, &s), "_lds"))
            n += s.st_size;
    }
    return n;
}

static int add_cuda_kernel(struct identity *d, const char *kernel, struct ks_err *err)
{
    uint32_t symbol;
    int rc = find_symbol_number(d, kernel, &symbol, err);
    for (uint32_t i = 0; i < d->o.head.e_shnum && rc == 0; i++) {
        Elf64_Shdr s;
        rc = ks_object_section(&d->o, i, &s, err);
        if (rc < 0)
            break;
        const char *name = ks_object_section_name(&d->o, &s);
        if (strcmp(name, ".nv.info") == 0)
            rc = add_info(d, &s, symbol, err);
        else if (is_of(name, kernel))
            rc = add_own_section(d, &s, name, kernel, err);
    }
    return rc;
}

static bool has_kernel(const struct identity *d, uint32_t section)
{
    for (uint32_t i = 0; i < d->o.n_symbols; i++) {
        Elf64_Sym s;
        if (ks_object_symbol(&d->o, i, &s, NULL) == 0 && s.st_shndx == section &&
            ELF64_ST_TYPE(s.st_info) == STT_FUNC && (s.st_other & CUDA_ENTRY))
            return true;
    }
    return false;
}

/* Data of all kernels; functions on their own; what a loader would patch. */
static int add_cuda_rest(struct identity *d, struct ks_err *err)
{
    for (uint32_t i = 0; i < d->o.head.e_shnum; i++) {
        Elf64_Shdr s;
        int rc = ks_object_section(&d->o, i, &s, err);
        if (rc < 0)
            return rc;
        const char *name = ks_object_section_name(&d->o, &s);
        if (!(s.sh_flags & SHF_ALLOC) || s.sh_size == 0)
            continue;
        if (s.sh_flags & SHF_EXECINSTR)
            d->is_unknown |= !has_kernel(d, i);
        else if (strncmp(name, ".nv.global", 10) == 0)
            d->is_unknown = true;
        else if (strncmp(name, ".nv.constant", 12) == 0 && !strchr(name + 12, '.') &&
                 count_notes(d, i) != s.sh_size)
            hash_bytes(d, d->o.bytes + s.sh_offset, s.sh_type == SHT_NOBITS ? 0 : s.sh_size);
    }
    return 0;
}

/* Any
 * ------------------------------------------------------------------------------------------- */

/* The emulator's kernels are functions of the host; only their size is asked for. */
static int add_emulated(struct identity *d, const char *kernel, struct ks_err *err)
{
    char name[64];
    Elf64_Sym s;
    snprintf(name, sizeof(name), "%.40s_entry", kernel);
    const int rc = ks_object_find(&d->o, name, &s, err);
    if (rc == 0)
        d->n_code += s.st_size;
    d->is_unknown = true;
    return rc;
}

static int add_kernel(struct identity *d, const char *name, struct ks_err *err)
{
    if (ks_object_is_hosts(&d->o))
        return add_emulated(d, name, err);
    switch (d->o.head.e_machine) {
    case KS_EM_AMDGPU:
        return add_amd_kernel(d, name, err);
    case EM_CUDA:
        return add_cuda_kernel(d, name, err);
    default:
        return ks_fail(err, KS_EFORMAT, "code object for machine %u", d->o.head.e_machine);
    }
}

/* Has the instance a kernel numbered j or more? Behind a gap it is code that nobody looked at. */
static bool has_more(const struct identity *d, uint32_t j)
{
    char stem[32];
    ks_unit_kernel(d->instance, 0, stem);
    const size_t n = strlen(stem) - 1; /* without the number */
    for (uint32_t i = 0; i < d->o.n_symbols; i++) {
        Elf64_Sym s;
        if (ks_object_symbol(&d->o, i, &s, NULL) < 0)
            continue;
        const char *name = ks_object_symbol_name(&d->o, &s);
        if (strncmp(name, stem, n) == 0 && strtoul(name + n, NULL, 10) >= j)
            return true;
    }
    return false;
}

/* KS_ENOENT beyond the last of the instance. */
static int add_kernels(struct identity *d,
                       int (*add)(struct identity *, const char *, struct ks_err *),
                       struct ks_err *err)
{
    char name[32];
    for (uint32_t j = 0;; j++) {
        ks_unit_kernel(d->instance, j, name);
        const int rc = add(d, name, err);
        if (rc == KS_ENOENT && j > 0) {
            d->is_unknown |= has_more(d, j);
            return 0;
        }
        if (rc < 0)
            return rc;
        hash_u64(d, j);
    }
}

static int add_rest(struct identity *d, struct ks_err *err)
{
    bool is_placed = false;
    int rc = 0;
    if (d->o.head.e_machine == EM_CUDA)
        return add_cuda_rest(d, err);
    if (d->o.head.e_machine == KS_EM_AMDGPU)
        rc = add_amd_rest(d, &is_placed, err);
    return rc < 0 || !is_placed ? rc : add_kernels(d, add_place, err);
}

int ks_gpu_code(const void *image, size_t n, uint32_t instance, struct ks_id128 *out,
                uint64_t *n_bytes_out, struct ks_err *err)
{
    struct identity d = { .instance = instance };
    ks_sha256_init(&d.hash);
    int rc = ks_object_open_image(image, n, &d.o, err);
    if (rc == 0) {
        hash_u64(&d, d.o.head.e_machine);
        hash_u64(&d, d.o.head.e_flags);
        rc = add_kernels(&d, add_kernel, err);
    }
    if (rc == 0)
        rc = add_rest(&d, err);
    if (rc < 0)
        return rc;
    const struct ks_id128 id = ks_sha256_id128(&d.hash);
    *out = d.is_unknown ? (struct ks_id128){ 0, 0 } : id;
    *n_bytes_out = d.n_code;
    return 0;
}
