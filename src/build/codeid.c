/* SPDX-License-Identifier: MIT */
/* codeid.c - physical identity of compiled code.
 *
 * A node is a section, one element of a mergeable section, or an external symbol. Nodes are
 * numbered in the order in which they are first reached; each adds its bytes, with the fields of
 * relocations blanked, and for each relocation the number of the node it points to. So names and
 * addresses drop out, and recursion needs no special care. */
#include "build/codeid.h"

#include "build/object.h"
#include "build/operand.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#define NODES_MAX 16384u

enum node_kind { NODE_SECTION, NODE_ELEMENT, NODE_EXTERN, NODE_ABSOLUTE };

struct node {
    enum node_kind kind;
    uint32_t section;
    uint64_t at, n;   /* bytes in the section; NODE_ABSOLUTE: at = value */
    const char *name; /* NODE_EXTERN; borrowed from the object */
};

struct walk {
    struct ks_object o;
    struct ks_sha256 hash;
    struct node *nodes; /* owned */
    uint32_t n_nodes, cap;
    uint64_t n_code; /* bytes of functions */
    bool is_written; /* writable data was reached */
};

static void hash_u64(struct walk *w, uint64_t v)
{
    uint8_t bytes[8];
    for (int i = 0; i < 8; i++)
        bytes[i] = (uint8_t)(v >> (8 * i));
    ks_sha256_add(&w->hash, bytes, sizeof(bytes));
}

static bool has_relocations(const struct walk *w, uint32_t section)
{
    for (uint32_t i = 0; i < w->o.head.e_shnum; i++) {
        Elf64_Shdr s;
        if (ks_object_section(&w->o, i, &s, NULL) < 0 ||
            ((s.sh_type == SHT_RELA || s.sh_type == SHT_REL) && s.sh_info == section))
            return true;
    }
    return false;
}

/* Constants without a name are what they hold, wherever a compiler puts them. */
static bool same_bytes(const struct walk *w, const struct node *a, const struct node *b)
{
    Elf64_Shdr sa, sb;
    return a->n == b->n && ks_object_section(&w->o, a->section, &sa, NULL) == 0 &&
           ks_object_section(&w->o, b->section, &sb, NULL) == 0 &&
           memcmp(w->o.bytes + sa.sh_offset + a->at, w->o.bytes + sb.sh_offset + b->at, a->n) ==
               0 &&
           !has_relocations(w, a->section) && !has_relocations(w, b->section);
}

static bool same_node(const struct walk *w, const struct node *a, const struct node *b)
{
    if (a->kind != b->kind)
        return false;
    if (a->kind == NODE_EXTERN)
        return strcmp(a->name, b->name) == 0;
    if (a->section == b->section && a->at == b->at && a->n == b->n)
        return true;
    return a->kind == NODE_ELEMENT && same_bytes(w, a, b);
}

static int number_node(struct walk *w, const struct node *node, uint32_t *i_out, struct ks_err *err)
{
    for (uint32_t i = 0; i < w->n_nodes; i++) {
        if (same_node(w, &w->nodes[i], node)) {
            *i_out = i;
            return 0;
        }
    }
    if (w->n_nodes == NODES_MAX)
        return ks_fail(err, KS_EFORMAT, "the code refers to more than %u sections or functions",
                       NODES_MAX);
    if (w->n_nodes == w->cap) {
        const uint32_t cap = w->cap ? 2 * w->cap : 64;
        struct node *more = realloc(w->nodes, cap * sizeof(*more));
        if (!more)
            return ks_fail(err, KS_ENOMEM, "out of memory computing code identity");
        w->nodes = more;
        w->cap = cap;
    }
    w->nodes[w->n_nodes] = *node;
    *i_out = w->n_nodes++;
    return 0;
}

static bool is_written(const struct walk *w, const Elf64_Shdr *s)
{
    /* Constant tables with pointers are written by the loader only. */
    static const char constant[] = ".data.rel.ro";
    if (s->sh_flags & SHF_TLS)
        return true;
    return (s->sh_flags & SHF_WRITE) &&
           strncmp(ks_object_section_name(&w->o, s), constant, sizeof(constant) - 1) != 0;
}

/* The element of a mergeable section that begins at, or contains, `at`. */
static void cut_element(const struct walk *w, const Elf64_Shdr *s, uint64_t at, struct node *node)
{
    node->kind = NODE_ELEMENT;
    if (s->sh_flags & SHF_STRINGS) {
        const uint8_t *text = w->o.bytes + s->sh_offset + at;
        const uint8_t *end = memchr(text, 0, s->sh_size - at);
        node->at = at;
        node->n = end ? (uint64_t)(end - text) + 1 : s->sh_size - at;
        return;
    }
    node->at = at - at % s->sh_entsize;
    node->n = s->sh_entsize < s->sh_size - node->at ? s->sh_entsize : s->sh_size - node->at;
}

/* Constants too long for a mergeable section (a vector of 64 bytes) lie nameless side by side in
 * ".rodata", those of all functions together. Everything with a name has a section of its own. */
static bool is_pool(const struct walk *w, const Elf64_Shdr *s)
{
    return s->sh_type == SHT_PROGBITS && !(s->sh_flags & (SHF_MERGE | SHF_EXECINSTR | SHF_WRITE)) &&
           strcmp(ks_object_section_name(&w->o, s), ".rodata") == 0;
}

/* The bytes that the instruction of a relocation reads of constants in s; false when that is not
 * known. from: the section with the instruction. */
static bool cut_operand(const struct walk *w, const Elf64_Shdr *from, const Elf64_Rela *r,
                        const Elf64_Sym *sym, const Elf64_Shdr *s, struct node *node)
{
    struct ks_operand what;
    if (!(from->sh_flags & SHF_EXECINSTR) || from->sh_type == SHT_NOBITS ||
        r->r_offset > from->sh_size || ELF64_R_TYPE(r->r_info) != R_X86_64_PC32 ||
        !ks_operand_at(w->o.bytes + from->sh_offset, r->r_offset, &what))
        return false;
    /* The displacement counts from the end of the instruction. */
    const uint64_t at = sym->st_value + (uint64_t)r->r_addend + 4 + what.n_immediate;
    if (at >= s->sh_size)
        return false;
    uint64_t end = s->sh_size;
    if (s->sh_flags & SHF_MERGE) /* no constant reaches beyond its element */
        end = at - at % s->sh_entsize + s->sh_entsize;
    if (end > s->sh_size)
        end = s->sh_size;
    node->kind = NODE_ELEMENT;
    node->at = at;
    node->n = what.n_bytes < end - at ? what.n_bytes : end - at;
    return true;
}

static bool is_mergeable(const Elf64_Shdr *s)
{
    return (s->sh_flags & SHF_MERGE) && s->sh_type != SHT_NOBITS && s->sh_entsize;
}

/* The constant in section s that a relocation points to, where it can be told from its
 * neighbours. */
static void cut_constant(const struct walk *w, const Elf64_Shdr *from, const Elf64_Rela *r,
                         const Elf64_Sym *sym, const Elf64_Shdr *s, struct node *node)
{
    uint64_t at = sym->st_value;
    const uint64_t type = ELF64_R_TYPE(r->r_info);
    const bool is_text = s->sh_flags & SHF_STRINGS;
    if (!is_mergeable(s) && !is_pool(w, s))
        return;
    if (!is_text && cut_operand(w, from, r, sym, s, node))
        return;
    /* Assemblers keep a symbol for each element that is reached by a relative address; by the
     * symbol of the section its place is known only to an absolute one. */
    if (ELF64_ST_TYPE(sym->st_info) == STT_SECTION) {
        if (type != R_X86_64_64 && type != R_X86_64_32 && type != R_X86_64_32S)
            return;
        at += (uint64_t)r->r_addend;
    }
    if (is_mergeable(s) && at < s->sh_size)
        cut_element(w, s, at, node);
}

/* What symbol `sym` points to, and the offset of the symbol in it.
 * from, r: the section with the relocation, and it; NULL: there is none */
static int resolve(struct walk *w, const Elf64_Sym *sym, const Elf64_Shdr *from,
                   const Elf64_Rela *r, struct node *node, uint64_t *offset_out, struct ks_err *err)
{
    Elf64_Shdr s;
    *node = (struct node){ .kind = NODE_EXTERN, .name = ks_object_symbol_name(&w->o, sym) };
    *offset_out = 0;
    if (sym->st_shndx == SHN_UNDEF)
        return 0;
    if (sym->st_shndx == SHN_ABS) {
        *node = (struct node){ .kind = NODE_ABSOLUTE, .at = sym->st_value };
        return 0;
    }
    if (sym->st_shndx == SHN_COMMON) {
        w->is_written = true;
        return 0;
    }
    int rc = ks_object_section(&w->o, sym->st_shndx, &s, err);
    if (rc < 0)
        return rc;
    w->is_written |= is_written(w, &s);
    *node = (struct node){ .kind = NODE_SECTION, .section = sym->st_shndx, .n = s.sh_size };
    if (r)
        cut_constant(w, from, r, sym, &s, node);
    *offset_out = sym->st_value - node->at;
    return 0;
}

/* One relocation of a node in section s whose bytes are in copy[0..n). */
static int follow(struct walk *w, const struct node *node, const Elf64_Shdr *s, const Elf64_Rela *r,
                  uint8_t *copy, struct ks_err *err)
{
    const uint32_t type = (uint32_t)ELF64_R_TYPE(r->r_info);
    const uint32_t width = ks_object_rela_bytes(type);
    Elf64_Sym sym;
    struct node to;
    uint64_t offset;
    uint32_t i;
    if (r->r_offset < node->at || r->r_offset >= node->at + node->n || type == R_X86_64_NONE)
        return 0;
    if (!width || width > node->at + node->n - r->r_offset)
        return ks_fail(err, KS_EFORMAT, "relocation of type %u at %llu", type,
                       (unsigned long long)r->r_offset);
    memset(copy + (r->r_offset - node->at), 0, width);
    int rc = ks_object_symbol(&w->o, (uint32_t)ELF64_R_SYM(r->r_info), &sym, err);
    if (rc == 0)
        rc = resolve(w, &sym, s, r, &to, &offset, err);
    if (rc == 0)
        rc = number_node(w, &to, &i, err);
    if (rc < 0)
        return rc;
    hash_u64(w, r->r_offset - node->at);
    hash_u64(w, type);
    hash_u64(w, i);
    hash_u64(w, offset + (uint64_t)r->r_addend);
    return 0;
}

/* All relocations of a node's section `of`, in the order of the file. */
static int follow_all(struct walk *w, const struct node *node, const Elf64_Shdr *of, uint8_t *copy,
                      struct ks_err *err)
{
    for (uint32_t i = 0; i < w->o.head.e_shnum; i++) {
        Elf64_Shdr s;
        Elf64_Rela r;
        int rc = ks_object_section(&w->o, i, &s, err);
        if (rc < 0)
            return rc;
        if (s.sh_type == SHT_REL && s.sh_info == node->section)
            return ks_fail(err, KS_EFORMAT, "relocations without addends");
        if (s.sh_type != SHT_RELA || s.sh_info != node->section)
            continue;
        for (uint64_t k = 0; (rc = ks_object_rela(&w->o, &s, k, &r, err)) == 0; k++) {
            rc = follow(w, node, of, &r, copy, err);
            if (rc < 0)
                return rc;
        }
        if (rc != KS_ENOENT)
            return rc;
    }
    return 0;
}

static int hash_bytes(struct walk *w, const struct node *node, struct ks_err *err)
{
    Elf64_Shdr s;
    int rc = ks_object_section(&w->o, node->section, &s, err);
    if (rc < 0)
        return rc;
    hash_u64(w, s.sh_flags & SHF_EXECINSTR);
    if (s.sh_flags & SHF_EXECINSTR)
        w->n_code += node->n;
    hash_u64(w, node->n);
    if (s.sh_type == SHT_NOBITS)
        return 0;
    uint8_t *copy = malloc(node->n + 1);
    if (!copy)
        return ks_fail(err, KS_ENOMEM, "out of memory computing code identity");
    memcpy(copy, w->o.bytes + s.sh_offset + node->at, node->n);
    rc = follow_all(w, node, &s, copy, err);
    ks_sha256_add(&w->hash, copy, node->n);
    free(copy);
    return rc;
}

/* All nodes, also those that are found on the way. */
static int hash_nodes(struct walk *w, struct ks_err *err)
{
    int rc = 0;
    for (uint32_t i = 0; i < w->n_nodes && rc == 0; i++) {
        const struct node node = w->nodes[i]; /* a copy: the list grows and moves */
        hash_u64(w, node.kind);
        if (node.kind == NODE_EXTERN)
            ks_sha256_add(&w->hash, node.name, strlen(node.name) + 1);
        else if (node.kind == NODE_ABSOLUTE)
            hash_u64(w, node.at);
        else
            rc = hash_bytes(w, &node, err);
    }
    return rc;
}

/* Is the target of a relocation code? */
static int is_code(struct walk *w, const Elf64_Sym *sym, bool *out, struct ks_err *err)
{
    Elf64_Shdr s = { 0 };
    *out = false;
    if (sym->st_shndx == SHN_UNDEF || sym->st_shndx >= SHN_LORESERVE)
        return 0;
    int rc = ks_object_section(&w->o, sym->st_shndx, &s, err);
    *out = rc == 0 && (s.sh_flags & SHF_EXECINSTR);
    return rc;
}

/* One pointer of a data root: functions are followed, names are not part of the identity. */
static int add_pointer(struct walk *w, const Elf64_Rela *r, struct ks_err *err)
{
    Elf64_Sym sym;
    struct node to;
    uint64_t offset;
    uint32_t i;
    bool code = false;
    int rc = ks_object_symbol(&w->o, (uint32_t)ELF64_R_SYM(r->r_info), &sym, err);
    if (rc == 0)
        rc = is_code(w, &sym, &code, err);
    if (rc < 0 || !code)
        return rc;
    rc = resolve(w, &sym, NULL, NULL, &to, &offset, err);
    if (rc == 0)
        rc = number_node(w, &to, &i, err);
    if (rc < 0)
        return rc;
    hash_u64(w, i);
    hash_u64(w, offset + (uint64_t)r->r_addend);
    return 0;
}

static int add_pointers(struct walk *w, const Elf64_Sym *root, struct ks_err *err)
{
    for (uint32_t i = 0; i < w->o.head.e_shnum; i++) {
        Elf64_Shdr s;
        Elf64_Rela r;
        int rc = ks_object_section(&w->o, i, &s, err);
        if (rc < 0)
            return rc;
        if (s.sh_type != SHT_RELA || s.sh_info != root->st_shndx)
            continue;
        for (uint64_t k = 0; (rc = ks_object_rela(&w->o, &s, k, &r, err)) == 0; k++) {
            if (r.r_offset < root->st_value || r.r_offset - root->st_value >= root->st_size)
                continue;
            rc = add_pointer(w, &r, err);
            if (rc < 0)
                return rc;
        }
        if (rc != KS_ENOENT)
            return rc;
    }
    return 0;
}

static int add_root(struct walk *w, const char *symbol, struct ks_err *err)
{
    Elf64_Sym root;
    struct node node;
    uint64_t offset;
    uint32_t i;
    bool code;
    int rc = ks_object_find(&w->o, symbol, &root, err);
    if (rc == 0)
        rc = is_code(w, &root, &code, err);
    if (rc < 0)
        return rc;
    if (!code)
        return add_pointers(w, &root, err);
    rc = resolve(w, &root, NULL, NULL, &node, &offset, err);
    if (rc == 0)
        rc = number_node(w, &node, &i, err);
    if (rc == 0)
        hash_u64(w, offset);
    return rc;
}

int ks_code_id(const void *object, size_t n, const char *symbol, struct ks_id128 *out,
               uint64_t *n_bytes_out, struct ks_err *err)
{
    struct walk w = { 0 };
    ks_sha256_init(&w.hash);
    int rc = ks_object_open(object, n, &w.o, err);
    if (rc == 0)
        rc = add_root(&w, symbol, err);
    if (rc == 0 && w.n_nodes == 0)
        rc = ks_fail(err, KS_EFORMAT, "'%s' points to no code", symbol);
    if (rc == 0)
        rc = hash_nodes(&w, err);
    free(w.nodes);
    if (rc < 0)
        return rc;
    const struct ks_id128 id = ks_sha256_id128(&w.hash);
    *out = w.is_written ? (struct ks_id128){ 0, 0 } : id;
    *n_bytes_out = w.n_code;
    return 0;
}
