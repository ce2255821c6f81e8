/* SPDX-License-Identifier: MIT */
/* code_image.c - makes small code objects by hand, of every kind that readers know */
#include "tests/unit/code_image.h"

#include <elf.h>
#include <stdio.h>
#include <string.h>

#define MAX_SECTIONS 12u

struct section {
    const char *name;
    uint32_t type, link;
    uint64_t address, entry_bytes;
    struct ks_buf bytes;
    uint64_t n; /* of one without bytes */
};

struct image {
    uint16_t machine;
    uint8_t osabi;
    uint32_t flags;
    uint32_t n;
    struct section s[MAX_SECTIONS];
};

static struct ks_buf *add(struct image *im, const char *name, uint32_t type)
{
    im->s[im->n] = (struct section){ .name = name, .type = type };
    ks_buf_init(&im->s[im->n].bytes);
    return &im->s[im->n++].bytes;
}

/* Two sections: the symbols' table, then their names. */
static struct ks_buf *add_symbols(struct image *im, uint32_t type)
{
    struct ks_buf *symbols = add(im, type == SHT_SYMTAB ? ".symtab" : ".dynsym", type);
    im->s[im->n - 1].link = im->n;
    im->s[im->n - 1].entry_bytes = sizeof(Elf64_Sym);
    ks_buf_u8(add(im, ".strtab", SHT_STRTAB), 0);
    ks_buf_put(symbols, &(Elf64_Sym){ 0 }, sizeof(Elf64_Sym));
    return symbols;
}

static void add_symbol(struct image *im, struct ks_buf *symbols, const char *name, uint8_t type,
                       uint16_t section, uint64_t value, uint64_t size)
{
    struct ks_buf *names = &im->s[0].bytes;
    for (uint32_t i = 0; i + 1 < im->n; i++)
        if (&im->s[i].bytes == symbols)
            names = &im->s[i + 1].bytes;
    const Elf64_Sym s = { .st_name = (uint32_t)names->len,
                          .st_info = ELF64_ST_INFO(STB_GLOBAL, type),
                          .st_shndx = section,
                          .st_value = value,
                          .st_size = size };
    ks_buf_put(symbols, &s, sizeof(s));
    ks_buf_put(names, name, strlen(name) + 1);
}

static void put_header(const struct image *im, uint64_t table, struct ks_buf *out)
{
    Elf64_Ehdr h = { .e_type = ET_DYN,
                     .e_machine = im->machine,
                     .e_version = 1,
                     .e_shoff = table,
                     .e_flags = im->flags,
                     .e_ehsize = sizeof(h),
                     .e_shentsize = sizeof(Elf64_Shdr),
                     .e_shnum = (uint16_t)im->n,
                     .e_shstrndx = (uint16_t)(im->n - 1) };
    memcpy(h.e_ident, ELFMAG, SELFMAG);
    h.e_ident[EI_CLASS] = ELFCLASS64;
    h.e_ident[EI_DATA] = ELFDATA2LSB;
    h.e_ident[EI_VERSION] = 1;
    h.e_ident[EI_OSABI] = im->osabi;
    ks_buf_put(out, &h, sizeof(h));
}

/* Header, the sections' bytes, the table of sections; takes the sections. */
static void put_image(struct image *im, struct ks_buf *out)
{
    Elf64_Shdr rows[MAX_SECTIONS];
    struct ks_buf *names = add(im, ".shstrtab", SHT_STRTAB);
    uint64_t at = sizeof(Elf64_Ehdr);
    for (uint32_t i = 0; i < im->n; i++) {
        struct section *s = &im->s[i];
        rows[i].sh_name = (uint32_t)names->len;
        ks_buf_put(names, s->name, strlen(s->name) + 1);
    }
    for (uint32_t i = 0; i < im->n; i++) {
        struct section *s = &im->s[i];
        rows[i] = (Elf64_Shdr){ .sh_name = rows[i].sh_name,
                                .sh_type = s->type,
                                .sh_addr = s->address,
                                .sh_offset = at,
                                .sh_size = s->type == SHT_NOBITS ? s->n : s->bytes.len,
                                .sh_link = s->link,
                                .sh_addralign = 1,
                                .sh_entsize = s->entry_bytes };
        at += s->bytes.len;
    }
    put_header(im, at, out);
    for (uint32_t i = 0; i < im->n; i++) {
        ks_buf_put(out, im->s[i].bytes.data, im->s[i].bytes.len);
        ks_buf_release(&im->s[i].bytes);
    }
    ks_buf_put(out, rows, im->n * sizeof(rows[0]));
}

/* MessagePack -----------------------------------------------------------------------------------*/

static void mp_text(struct ks_buf *b, const char *text)
{
    ks_buf_u8(b, 0xd9); /* a length of one byte: right for short and long ones */
    ks_buf_u8(b, (uint8_t)strlen(text));
    ks_buf_put(b, text, strlen(text));
}

static void mp_number(struct ks_buf *b, uint32_t n_bytes, uint64_t v)
{
    ks_buf_u8(b, (uint8_t)(n_bytes == 1 ? 0xcc : n_bytes == 2 ? 0xcd : n_bytes == 4 ? 0xce : 0xcf));
    while (n_bytes--)
        ks_buf_u8(b, (uint8_t)(v >> (8 * n_bytes)));
}

static void mp_pair(struct ks_buf *b, const char *key, uint32_t n_bytes, uint64_t v)
{
    mp_text(b, key);
    mp_number(b, n_bytes, v);
}

/* A member that readers skip, with a value of every kind. */
static void mp_odd(struct ks_buf *b)
{
    static const uint8_t odd[] = {
        0xdc, 0,    14,                                /* a list of 14 */
        0xc0, 0xc2, 0xc3,                              /* nil, false, true */
        0xc4, 2,    1,    2,                           /* bytes */
        0xc7, 3,    9,    1,    2, 3,                  /* extension of 3 */
        0xca, 0,    0,    0,    0,                     /* float */
        0xcb, 0,    0,    0,    0, 0,    0,   0,    0, /* double */
        0xd0, 0x80, 0xd1, 0x80, 0,                     /* -128, -32768 */
        0xd4, 1,    2,                                 /* extension of 1 */
        0xd5, 1,    2,    3,                           /* extension of 2 */
        0xff, 0x7f,                                    /* -1, 127 */
        0x82, 0xa1, 'a',  0x91, 1, 0xa1, 'b', 0x80,    /* {a: [1], b: {}} */
    };
    mp_text(b, ".args");
    ks_buf_put(b, odd, sizeof(odd));
}

static void put_kernels(struct ks_buf *b)
{
    mp_text(b, "amdhsa.kernels");
    ks_buf_u8(b, 0x92);
    ks_buf_put(b, "\xde\x00\x09", 3); /* a map of 9, its length in two bytes */
    mp_odd(b);
    mp_pair(b, ".vgpr_count", 1, 24);
    mp_pair(b, ".sgpr_count", 2, 300);
    mp_pair(b, ".group_segment_fixed_size", 4, 70000);
    mp_pair(b, ".private_segment_fixed_size", 1, 0);
    mp_pair(b, ".kernarg_segment_size", 8, 88);
    mp_text(b, ".name");
    ks_buf_put(b, "\xa5plain", 6);
    mp_text(b, ".wavefront_size");
    ks_buf_u8(b, 32);
    mp_pair(b, ".max_flat_workgroup_size", 2, 1024);
    ks_buf_u8(b, 0x86);
    mp_text(b, ".name");
    mp_text(b, "spills");
    mp_pair(b, ".vgpr_count", 2, 256);
    mp_pair(b, ".agpr_count", 1, 128);
    mp_pair(b, ".vgpr_spill_count", 2, 288);
    mp_pair(b, ".sgpr_spill_count", 1, 2);
    mp_pair(b, ".private_segment_fixed_size", 2, 420);
}

static void put_note(struct ks_buf *b, const char *owner, uint32_t type, const struct ks_buf *bytes)
{
    ks_buf_u32(b, (uint32_t)strlen(owner) + 1);
    ks_buf_u32(b, (uint32_t)bytes->len);
    ks_buf_u32(b, type);
    ks_buf_put(b, owner, strlen(owner) + 1);
    while (b->len % 4)
        ks_buf_u8(b, 0);
    ks_buf_put(b, bytes->data, bytes->len);
    while (b->len % 4)
        ks_buf_u8(b, 0);
}

static void make_amd(struct ks_buf *out)
{
    struct image im = { .machine = 224, .osabi = 64, .flags = 0x3f };
    struct ks_buf metadata, *note, *symbols;
    ks_buf_init(&metadata);
    ks_buf_u8(&metadata, 0x83);
    put_kernels(&metadata);
    mp_text(&metadata, "amdhsa.target");
    mp_text(&metadata, "amdgcn-amd-amdhsa--gfx90a:sramecc+:xnack-");
    mp_text(&metadata, "amdhsa.version");
    ks_buf_put(&metadata, "\x92\x01\x02", 3);
    add(&im, "", SHT_NULL);
    note = add(&im, ".note", SHT_NOTE);
    put_note(note, "GNU", 3, &(struct ks_buf){ .data = (uint8_t *)"abcde", .len = 5 });
    put_note(note, "AMDGPU", 32, &metadata);
    symbols = add_symbols(&im, SHT_DYNSYM);
    add_symbol(&im, symbols, "plain.kd", STT_OBJECT, 4, 0, 64);
    add_symbol(&im, symbols, "plain", STT_FUNC, 4, 0, 16);
    ks_buf_put(add(&im, ".text", SHT_PROGBITS), "0123456789abcdef", 16);
    put_image(&im, out);
    ks_buf_release(&metadata);
}

/* cubin -----------------------------------------------------------------------------------------*/

static void put_attribute(struct ks_buf *b, uint8_t format, uint8_t attribute, uint16_t value)
{
    ks_buf_u8(b, format);
    ks_buf_u8(b, attribute);
    ks_buf_u16(b, value);
}

static void put_pair(struct ks_buf *b, uint8_t attribute, uint32_t symbol, uint32_t value)
{
    put_attribute(b, 4, attribute, 8);
    ks_buf_u32(b, symbol);
    ks_buf_u32(b, value);
}

static void make_cuda(struct ks_buf *out, uint8_t osabi, uint32_t flags, uint64_t reserved)
{
    struct image im = { .machine = EM_CUDA, .osabi = osabi, .flags = flags };
    struct ks_buf *symbols, *info;
    add(&im, "", SHT_NULL);
    symbols = add_symbols(&im, SHT_SYMTAB);
    add_symbol(&im, symbols, "two", STT_FUNC, 8, 0, 64);
    add_symbol(&im, symbols, "one", STT_FUNC, 7, 0, 128);
    add_symbol(&im, symbols, "two_lds", STT_OBJECT, 9, 4, 4);
    info = add(&im, ".nv.info", SHT_LOPROC);
    put_pair(info, 0x2f, 1, 255);
    put_pair(info, 0x2f, 2, 40);
    put_pair(info, 0x11, 1, 0);
    put_pair(info, 0x12, 2, 7); /* another attribute of the same shape */
    put_pair(info, 0x11, 2, 16);
    info = add(&im, ".nv.info.one", SHT_LOPROC);
    put_attribute(info, 3, 0x1b, 255);
    put_attribute(info, 3, 0x19, 28);
    put_attribute(info, 4, 0x05, 12);
    ks_buf_u32(info, 64);
    ks_buf_u32(info, 2);
    ks_buf_u32(info, 2);
    add(&im, ".nv.shared.one", SHT_NOBITS);
    im.s[im.n - 1].n = 256 + reserved;
    ks_buf_put(add(&im, ".nv.constant0.one", SHT_PROGBITS), "0123456789", 10);
    for (int i = 0; i < 8; i++)
        ks_buf_put(i ? &im.s[im.n - 1].bytes : add(&im, ".text.one", SHT_PROGBITS),
                   "0123456789abcdef", 16);
    ks_buf_put(add(&im, ".text.two", SHT_PROGBITS), "0123456789abcdef", 16);
    info = add(&im, ".nv.constant3", SHT_PROGBITS);
    ks_buf_u32(info, 7);
    ks_buf_u32(info, 49152);
    put_image(&im, out);
}

/* Of the program that runs: the emulator's images are for the same. 0 when it cannot be read. */
static uint16_t own_machine(void)
{
    Elf64_Ehdr head = { .e_machine = EM_NONE };
    FILE *f = fopen("/proc/self/exe", "rb");
    if (f) {
        if (fread(&head, sizeof(head), 1, f) != 1)
            head.e_machine = EM_NONE;
        fclose(f);
    }
    return head.e_machine;
}

static void make_emulator(struct ks_buf *out)
{
    struct image im = { .machine = own_machine() };
    struct ks_buf *constants, *symbols;
    add(&im, "", SHT_NULL);
    constants = add(&im, ".rodata", SHT_PROGBITS);
    im.s[1].address = 0x2000;
    ks_buf_u32(constants, 99);
    ks_buf_u32(constants, 4096);
    ks_buf_u32(constants, 64);
    ks_buf_u32(constants, 128);
    ks_buf_put(add(&im, ".text", SHT_PROGBITS), "\xc3", 1);
    symbols = add_symbols(&im, SHT_DYNSYM);
    add_symbol(&im, symbols, "some_entry", STT_OBJECT, 1, 0x2000, 4); /* not a kernel */
    add_symbol(&im, symbols, "k0_kernel0_lds", STT_OBJECT, 1, 0x2004, 4);
    add_symbol(&im, symbols, "k0_kernel0_warp", STT_OBJECT, 1, 0x2008, 4);
    add_symbol(&im, symbols, "k0_kernel0_block", STT_OBJECT, 1, 0x200c, 4);
    add_symbol(&im, symbols, "k0_kernel0_entry", STT_FUNC, 2, 0, 1);
    add_symbol(&im, symbols, "k0_kernel1_entry", STT_FUNC, 2, 0, 1);
    put_image(&im, out);
}

static void make_bundle(struct ks_buf *out)
{
    static const char host[] = "host-x86_64-unknown-linux--",
                      gpu[] = "hipv4-amdgcn-amd-amdhsa--gfx90a";
    const uint64_t head = 24 + 8 + 2 * 24 + strlen(host) + strlen(gpu);
    struct ks_buf inner;
    ks_buf_init(&inner);
    make_amd(&inner);
    ks_buf_put(out, "__CLANG_OFFLOAD_BUNDLE__", 24);
    ks_buf_u64(out, 2);
    ks_buf_u64(out, head);
    ks_buf_u64(out, 0);
    ks_buf_u64(out, strlen(host));
    ks_buf_put(out, host, strlen(host));
    ks_buf_u64(out, head);
    ks_buf_u64(out, inner.len);
    ks_buf_u64(out, strlen(gpu));
    ks_buf_put(out, gpu, strlen(gpu));
    ks_buf_put(out, inner.data, inner.len);
    ks_buf_release(&inner);
}

void code_image_make(enum code_image kind, struct ks_buf *out)
{
    switch (kind) {
    case CODE_AMD:
        make_amd(out);
        break;
    case CODE_CUDA:
        make_cuda(out, 0x41, 0x6005a04, 1024);
        break;
    case CODE_CUDA_OLD:
        make_cuda(out, 0x33, 0x500550, 0);
        break;
    case CODE_EMULATOR:
        make_emulator(out);
        break;
    default:
        make_bundle(out);
        break;
    }
}
