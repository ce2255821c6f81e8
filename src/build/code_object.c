/* SPDX-License-Identifier: MIT */
/* code_object.c - which kind of image it is. */
#include "build/code_object_impl.h"

#include "base/buf.h"

#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#define BUNDLE_MAGIC     "__CLANG_OFFLOAD_BUNDLE__"
#define COMPRESSED_MAGIC "CCOB"

void ks_code_object_init(struct ks_code_object *c)
{
    memset(c, 0, sizeof(*c));
    c->vgprs = c->agprs = c->sgprs = c->vgpr_spills = c->sgpr_spills = -1;
    c->lds_bytes = c->scratch_bytes = c->kernarg_bytes = c->code_bytes = -1;
    c->wave = c->max_threads = -1;
}

int ks_code_no_kernel(const char *name, struct ks_err *err)
{
    return name ? ks_fail(err, KS_ENOENT, "code object has no kernel '%.200s'", name)
                : ks_fail(err, KS_ENOENT, "code object has no kernels");
}

void ks_code_copy_text(char *out, size_t room, const char *text, size_t n)
{
    n = n < room ? n : room - 1;
    memcpy(out, text, n);
    out[n] = '\0';
}

int32_t ks_code_constant(const struct ks_object *o, const char *name, const char *what)
{
    char symbol[512];
    Elf64_Sym s;
    Elf64_Shdr home;
    const int n = snprintf(symbol, sizeof(symbol), "%s%s", name, what);
    if (n < 0 || (size_t)n >= sizeof(symbol) || ks_object_find(o, symbol, &s, NULL) < 0 ||
        ks_object_section(o, s.st_shndx, &home, NULL) < 0 || home.sh_type == SHT_NOBITS ||
        s.st_value < home.sh_addr || s.st_value - home.sh_addr > home.sh_size)
        return -1;
    const uint64_t at = s.st_value - home.sh_addr;
    struct ks_cur c = ks_cur(o->bytes + home.sh_offset + at, (size_t)(home.sh_size - at));
    const uint32_t v = ks_cur_u32(&c);
    return c.failed || v > INT32_MAX ? -1 : (int32_t)v;
}

static bool begins_with(const void *image, size_t n, const char *magic)
{
    return n >= strlen(magic) && memcmp(image, magic, strlen(magic)) == 0;
}

/* The first entry of a bundle that is for a GPU: the host's is there too, and empty. */
static int open_bundle(const void **image, size_t *n, struct ks_err *err)
{
    struct ks_cur c = ks_cur(*image, *n);
    ks_cur_take(&c, strlen(BUNDLE_MAGIC));
    for (uint64_t left = ks_cur_u64(&c); left && !c.failed; left--) {
        const uint64_t offset = ks_cur_u64(&c), size = ks_cur_u64(&c), n_id = ks_cur_u64(&c);
        const char *id = ks_cur_take(&c, (size_t)n_id);
        if (!id || offset > *n || size > *n - offset)
            break;
        if (size == 0 || begins_with(id, (size_t)n_id, "host"))
            continue;
        *image = (const char *)*image + offset;
        *n = (size_t)size;
        return 0;
    }
    return ks_fail(err, KS_EFORMAT, "offload bundle is malformed, or has no code for a GPU");
}

static int read_image(const struct ks_object *o, const char *name, struct ks_code_object *out,
                      struct ks_err *err)
{
    if (ks_object_is_hosts(o))
        return ks_code_read_emulator(o, name, out, err);
    switch (o->head.e_machine) {
    case KS_EM_AMDGPU:
        return ks_code_read_amd(o, name, out, err);
    case EM_CUDA:
        return ks_code_read_cuda(o, name, out, err);
    default:
        return ks_fail(err, KS_EFORMAT, "ELF file for machine %u is not a GPU code object",
                       o->head.e_machine);
    }
}

int ks_code_object_read(const void *image, size_t n, const char *name, struct ks_code_object *out,
                        struct ks_err *err)
{
    struct ks_code_object c;
    struct ks_object o;
    int rc = 0;
    ks_code_object_init(&c);
    if (begins_with(image, n, COMPRESSED_MAGIC))
        return ks_fail(err, KS_EFORMAT,
                       "code object is compressed: compile with -no-offload-compress");
    if (begins_with(image, n, BUNDLE_MAGIC))
        rc = open_bundle(&image, &n, err);
    if (rc == 0)
        rc = ks_object_open_image(image, n, &o, err);
    if (rc == 0)
        rc = read_image(&o, name, &c, err);
    if (rc < 0)
        return rc;
    *out = c;
    return 0;
}
