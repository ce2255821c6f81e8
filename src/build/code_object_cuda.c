/* SPDX-License-Identifier: MIT */
/* code_object_cuda.c - NVIDIA: a section .text.KERNEL for each kernel, beside it .nv.shared.KERNEL,
 * .nv.info.KERNEL and, of all kernels, .nv.info. The last two are rows of records: a byte format, a
 * byte attribute, two bytes of value or length. How many bytes were spilled is not in a cubin; a
 * frame is, and a kernel that spills has one. */
#include "build/code_object_impl.h"

#include "base/buf.h"

#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#define FORMAT_HALF    3 /* the value is the two bytes themselves */
#define FORMAT_BYTES   4 /* so many bytes follow */
#define MAX_THREADS    0x05
#define FRAME_SIZE     0x11 /* of .nv.info: symbol, value */
#define PARAM_BYTES    0x19
#define REGISTERS      0x2f /* of .nv.info: symbol, value */
#define OSABI_NEW      0x41 /* CUDA 13: the architecture moved one byte up in e_flags */
#define RESERVED_SM    90   /* from here on .nv.shared begins with 1 KiB of the system's */
#define RESERVED_BYTES 1024

/* Section `prefix``name`; name NULL: the first that begins so. */
static bool find_section(const struct ks_object *o, const char *prefix, const char *name,
                         Elf64_Shdr *out)
{
    const size_t n = strlen(prefix);
    for (uint32_t i = 0; i < o->head.e_shnum; i++) {
        Elf64_Shdr s;
        if (ks_object_section(o, i, &s, NULL) < 0)
            return false;
        const char *is = ks_object_section_name(o, &s);
        if (strncmp(is, prefix, n) != 0 || (name && strcmp(is + n, name) != 0))
            continue;
        *out = s;
        return true;
    }
    return false;
}

static uint32_t architecture(const struct ks_object *o)
{
    const uint32_t flags = o->head.e_flags;
    return (o->head.e_ident[EI_OSABI] == OSABI_NEW ? flags >> 8 : flags) & 0xffu;
}

static int32_t narrow(uint64_t v)
{
    return v <= INT32_MAX ? (int32_t)v : -1;
}

/* A record with bytes. */
static void take_bytes(const struct ks_object *o, const char *name, uint32_t attribute,
                       struct ks_cur c, struct ks_code_object *out)
{
    const uint32_t first = ks_cur_u32(&c), second = ks_cur_u32(&c), third = ks_cur_u32(&c);
    Elf64_Sym symbol;
    if (attribute == MAX_THREADS && !c.failed) {
        const uint64_t plane = (uint64_t)first * second;
        out->max_threads = plane <= INT32_MAX ? narrow(plane * third) : -1;
    }
    if ((attribute != REGISTERS && attribute != FRAME_SIZE) ||
        ks_object_symbol(o, first, &symbol, NULL) < 0 ||
        strcmp(ks_object_symbol_name(o, &symbol), name) != 0)
        return;
    if (attribute == REGISTERS)
        out->vgprs = narrow(second);
    else
        out->scratch_bytes = second;
}

static int read_info(const struct ks_object *o, const char *name, const Elf64_Shdr *s,
                     struct ks_code_object *out, struct ks_err *err)
{
    struct ks_cur c = ks_cur(o->bytes + s->sh_offset, (size_t)s->sh_size);
    if (s->sh_type == SHT_NOBITS)
        return ks_fail(err, KS_EFORMAT, "cubin: .nv.info has no bytes");
    while (c.left && !c.failed) {
        const uint8_t format = ks_cur_u8(&c), attribute = ks_cur_u8(&c);
        const uint16_t value = ks_cur_u16(&c);
        if (format == FORMAT_HALF && attribute == PARAM_BYTES)
            out->kernarg_bytes = value;
        if (format != FORMAT_BYTES)
            continue;
        const void *bytes = ks_cur_take(&c, value);
        if (bytes)
            take_bytes(o, name, attribute, ks_cur(bytes, value), out);
    }
    return c.failed ? ks_fail(err, KS_EFORMAT, "cubin: .nv.info is malformed") : 0;
}

/* Static, and what the launch adds where the kernel says so beside it (kernels/gpu/dev.h). */
static int64_t shared_bytes(const struct ks_object *o, const char *name, uint32_t sm)
{
    const int32_t added = ks_code_constant(o, name, "_lds");
    int64_t n = added > 0 ? added : 0;
    Elf64_Shdr s;
    if (!find_section(o, ".nv.shared.", name, &s))
        return n;
    if (s.sh_size > INT32_MAX)
        return -1;
    n += (int64_t)s.sh_size;
    return sm >= RESERVED_SM && s.sh_size >= RESERVED_BYTES ? n - RESERVED_BYTES : n;
}

int ks_code_read_cuda(const struct ks_object *o, const char *name, struct ks_code_object *out,
                      struct ks_err *err)
{
    static const char text[] = ".text.";
    const uint32_t sm = architecture(o);
    Elf64_Shdr code, info;
    if (!find_section(o, text, name, &code))
        return ks_code_no_kernel(name, err);
    const char *kernel = ks_object_section_name(o, &code) + strlen(text);
    ks_code_copy_text(out->name, sizeof(out->name), kernel, strlen(kernel));
    snprintf(out->target, sizeof(out->target), "sm_%u", sm);
    out->wave = 32;
    out->code_bytes = (int64_t)code.sh_size;
    out->lds_bytes = shared_bytes(o, kernel, sm);
    if (!find_section(o, ".nv.info", "", &info))
        return ks_fail(err, KS_EFORMAT, "cubin without .nv.info");
    int rc = read_info(o, kernel, &info, out, err);
    if (rc == 0 && find_section(o, ".nv.info.", kernel, &info))
        rc = read_info(o, kernel, &info, out, err);
    return rc;
}
