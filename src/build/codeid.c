/* SPDX-License-Identifier: MIT */
/* codeid.c - physical identity of compiled code.
 *
 * A node is a section, one element of a mergeable section, or an external symbol. Nodes are
 * numbered in the order in which they are first reached; each adds its bytes, with the fields of
 * relocations blanked, and for each relocation the number of the node it points to. So names and
 * addresses drop out, and recursion needs no special care. */
#include "build/codeid.h"

#include "build/object.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#define NODES_MAX    16384u
#define VECTOR_BYTES 64u

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
    uint32_t pool;     /* section that targets are of; 0: none yet */
    uint64_t *targets; /* owned, ascending */
    size_t n_targets, cap_targets;
    bool is_written; /* writable data was reached */
};

static void hash_u64(struct walk *w, uint64_t v)
{
    uint8_t bytes[8];
    for (int i = 0; i < 8; i++)
        bytes[i] = (uint8_t)(v >> (8 * i));
    ks_sha256_add(&w->hash, bytes, sizeof(bytes));
}

static bool same_node(const struct node *a, const struct node *b)
{
    if (a->kind != b->kind)
        return false;
    if (a->kind == NODE_EXTERN)
        return strcmp(a->name, b->name) == 0;
    return a->section == b->section && a->at == b->at && a->n == b->n;
}

static int number_node(struct walk *w, const struct node *node, uint32_t *i_out, struct ks_err *err)
{
    for (uint32_t i = 0; i < w->n_nodes; i++) {
        if (same_node(&w->nodes[i], node)) {
            *i_out = i;
            return 0;
        }
    }
    if (w->n_nodes == NODES_MAX)
        return ks_fail(err, KS_EFORMAT, "code reaches more than %u pieces", NODES_MAX);
    if (w->n_nodes == w->cap) {
        const uint32_t cap = w->cap ? 2 * w->cap : 64;
        struct node *more = realloc(w->nodes, cap * sizeof(*more));
        if (!more)
            return ks_fail(err, KS_ENOMEM, "identity of code");
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

/* Where in its section a relocation points, rounded down: the displacement of a relative one counts
 * from the end of its four bytes, and an immediate may follow them. */
static uint64_t pool_target(const Elf64_Sym *sym, const Elf64_Rela *r)
{
    const uint32_t type = (uint32_t)ELF64_R_TYPE(r->r_info);
    const uint64_t skip = type == R_X86_64_64 || type == R_X86_64_32S ? 0 : 4;
    return (sym->st_value + (uint64_t)r->r_addend + skip) & ~UINT64_C(15);
}

static int compare_u64(const void *a, const void *b)
{
    const uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
    return x < y ? -1 : x > y;
}

static int add_target(struct walk *w, const Elf64_Rela *r, struct ks_err *err)
{
    Elf64_Sym sym;
    int rc = ks_object_symbol(&w->o, (uint32_t)ELF64_R_SYM(r->r_info), &sym, err);
    if (rc < 0 || sym.st_shndx != w->pool)
        return rc;
    if (w->n_targets == w->cap_targets) {
        const size_t cap = w->cap_targets ? 2 * w->cap_targets : 64;
        uint64_t *more = realloc(w->targets, cap * sizeof(*more));
        if (!more)
            return ks_fail(err, KS_ENOMEM, "identity of code");
        w->targets = more;
        w->cap_targets = cap;
    }
    w->targets[w->n_targets++] = pool_target(&sym, r);
    return 0;
}

/* All places of the pool that relocations of the object point to, in order. */
static int find_targets(struct walk *w, uint32_t pool, struct ks_err *err)
{
    if (w->pool == pool)
        return 0;
    w->pool = pool;
    w->n_targets = 0;
    for (uint32_t i = 0; i < w->o.head.e_shnum; i++) {
        Elf64_Shdr s;
        Elf64_Rela r;
        int rc = ks_object_section(&w->o, i, &s, err);
        for (uint64_t k = 0; rc == 0 && s.sh_type == SHT_RELA; k++) {
            rc = ks_object_rela(&w->o, &s, k, &r, err);
            if (rc == 0)
                rc = add_target(w, &r, err);
        }
        if (rc < 0 && rc != KS_ENOENT)
            return rc;
    }
    if (w->n_targets)
        qsort(w->targets, w->n_targets, sizeof(*w->targets), compare_u64);
    return 0;
}

/* The nearest of them behind `at`, `end` when there is none. */
static uint64_t next_target(const struct walk *w, uint64_t at, uint64_t end)
{
    size_t lo = 0, hi = w->n_targets;
    while (lo < hi) {
        const size_t mid = lo + (hi - lo) / 2;
        if (w->targets[mid] > at)
            hi = mid;
        else
            lo = mid + 1;
    }
    return lo < w->n_targets && w->targets[lo] < end ? w->targets[lo] : end;
}

/* The constant of a pool: up to the next that is pointed to, and at least a whole vector. */
static int cut_constant(struct walk *w, const Elf64_Shdr *s, const Elf64_Sym *sym,
                        const Elf64_Rela *r, struct node *node, struct ks_err *err)
{
    const uint64_t at = pool_target(sym, r);
    if (at >= s->sh_size)
        return 0; /* the whole section */
    int rc = find_targets(w, sym->st_shndx, err);
    if (rc < 0)
        return rc;
    uint64_t end = next_target(w, at, s->sh_size);
    if (end - at < VECTOR_BYTES)
        end = s->sh_size - at < VECTOR_BYTES ? s->sh_size : at + VECTOR_BYTES;
    node->kind = NODE_ELEMENT;
    node->at = at;
    node->n = end - at;
    return 0;
}

/* What symbol `sym` points to, and the offset of the symbol in it. r: the relocation, or NULL. */
static int resolve(struct walk *w, const Elf64_Sym *sym, const Elf64_Rela *r, struct node *node,
                   uint64_t *offset_out, struct ks_err *err)
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
    /* Assemblers keep a symbol for each element; by a section symbol the element is not known. */
    if ((s.sh_flags & SHF_MERGE) && s.sh_type != SHT_NOBITS && s.sh_entsize &&
        sym->st_value < s.sh_size && ELF64_ST_TYPE(sym->st_info) != STT_SECTION)
        cut_element(w, &s, sym->st_value, node);
    else if (r && is_pool(w, &s))
        rc = cut_constant(w, &s, sym, r, node, err);
    *offset_out = sym->st_value - node->at;
    return rc;
}

/* One relocation of a node whose bytes are in copy[0..n). */
static int follow(struct walk *w, const struct node *node, const Elf64_Rela *r, uint8_t *copy,
                  struct ks_err *err)
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
        rc = resolve(w, &sym, r, &to, &offset, err);
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

/* All relocations of a section, in the order of the file. */
static int follow_all(struct walk *w, const struct node *node, uint8_t *copy, struct ks_err *err)
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
            rc = follow(w, node, &r, copy, err);
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
    hash_u64(w, node->n);
    if (s.sh_type == SHT_NOBITS)
        return 0;
    uint8_t *copy = malloc(node->n + 1);
    if (!copy)
        return ks_fail(err, KS_ENOMEM, "identity of code");
    memcpy(copy, w->o.bytes + s.sh_offset + node->at, node->n);
    rc = follow_all(w, node, copy, err);
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
    rc = resolve(w, &sym, r, &to, &offset, err);
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
    rc = resolve(w, &root, NULL, &node, &offset, err);
    if (rc == 0)
        rc = number_node(w, &node, &i, err);
    if (rc == 0)
        hash_u64(w, offset);
    return rc;
}

int ks_code_id(const void *object, size_t n, const char *symbol, struct ks_id128 *out,
               struct ks_err *err)
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
    free(w.targets);
    if (rc < 0)
        return rc;
    const struct ks_id128 id = ks_sha256_id128(&w.hash);
    *out = w.is_written ? (struct ks_id128){ 0, 0 } : id;
    return 0;
}
