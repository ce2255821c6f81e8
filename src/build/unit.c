/* SPDX-License-Identifier: MIT */
/* unit.c - writes translation units, and digests what they include. */
#include "build/unit.h"

#include "base/file.h"
#include "kernels/abi.h"

#include <dirent.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

void ks_unit_symbol(uint32_t i, char symbol_out[32])
{
    snprintf(symbol_out, 32, "k%" PRIu32 "_entry", i);
}

static void put_macro(const struct ks_family *f, const struct ks_instance *i, uint32_t t,
                      struct ks_buf *text_out)
{
    const struct ks_trait *trait = &f->traits[t];
    if (trait->macro[0])
        ks_buf_printf(text_out, "#define %s %" PRId64 "\n", trait->macro,
                      trait->value[i->value[t]]);
}

void ks_unit_macros(const struct ks_family *f, const struct ks_instance *i, struct ks_buf *text_out)
{
    for (uint32_t t = 0; t < f->n_traits; t++)
        put_macro(f, i, t, text_out);
}

void ks_unit_kernel(uint32_t i, uint32_t j, char symbol_out[32])
{
    snprintf(symbol_out, 32, "k%" PRIu32 "_kernel%" PRIu32, i, j);
}

void ks_unit_device_macros(const struct ks_family *f, const struct ks_instance *i,
                           struct ks_buf *text_out)
{
    for (uint32_t t = 0; t < f->n_traits; t++)
        if (f->traits[t].role != KS_ROLE_ARGUMENT)
            put_macro(f, i, t, text_out);
}

/* The source, once, with KS_PREFIX and what the caller has defined. */
static void put_source(const struct ks_family *f, uint32_t i, struct ks_buf *b)
{
    ks_buf_printf(b, "#define KS_PREFIX k%" PRIu32 "\n#include \"%s\"\n#undef KS_PREFIX\n", i,
                  f->source);
    for (uint32_t t = 0; t < f->n_traits; t++)
        if (f->traits[t].macro[0])
            ks_buf_printf(b, "#undef %s\n", f->traits[t].macro);
}

static void put_instance(const struct ks_family *f, const struct ks_instance *inst, uint32_t i,
                         struct ks_buf *b)
{
    ks_buf_printf(b, "\n#define KS_NAME \"%s\"\n", inst->name);
    ks_unit_macros(f, inst, b);
    /* A tentative definition: keeps the entry in the object, where its code is identified. */
    ks_buf_printf(b, "static const struct ks_abi_entry k%" PRIu32 "_entry __attribute__((used));\n",
                  i);
    put_source(f, i, b);
    ks_buf_printf(b, "#undef KS_NAME\n");
}

/* The entries are copied when the object is loaded: not every compiler takes the value of a
 * constant struct as an initialiser. */
static void put_table(uint32_t n, struct ks_buf *b)
{
    ks_buf_printf(b, "\nstatic struct ks_abi_entry entries[%" PRIu32 "];\n", n);
    ks_buf_printf(b, "__attribute__((constructor)) static void fill_entries(void)\n{\n");
    for (uint32_t i = 0; i < n; i++) {
        char symbol[32];
        ks_unit_symbol(i, symbol);
        ks_buf_printf(b, "    entries[%" PRIu32 "] = %s;\n", i, symbol);
    }
    ks_buf_printf(b,
                  "}\n__attribute__((visibility(\"default\")))\n"
                  "const struct ks_abi_table %s = { KS_ABI_MAJOR, %" PRIu32 ", entries };\n",
                  KS_ABI_SYMBOL, n);
}

static void put_names(struct ks_buf *b)
{
    ks_buf_printf(b, "#define KS_PASTE_(a, b) a##_##b\n"
                     "#define KS_PASTE(a, b)  KS_PASTE_(a, b)\n"
                     "#define KS_FN(x)        KS_PASTE(KS_PREFIX, x)\n");
}

static int check_source(const struct ks_family *f, struct ks_err *err)
{
    if (strpbrk(f->source, "\"\n\\"))
        return ks_fail(err, KS_EINVAL,
                       "'%s': a source path must not contain quotes, backslashes or newlines",
                       f->source);
    return 0;
}

static void put_host_half(const struct ks_unit_members *m, struct ks_buf *b)
{
    ks_buf_printf(b, "#include \"abi.h\"\n");
    put_names(b);
    for (uint32_t i = 0; i < m->n; i++)
        put_instance(m->f, &m->all[m->at[i]], i, b);
    put_table(m->n, b);
}

int ks_unit_text(const struct ks_unit_members *m, struct ks_buf *text_out, struct ks_err *err)
{
    ks_buf_printf(text_out, "/* %" PRIu32 " instances of %s */\n", m->n, m->f->name);
    put_host_half(m, text_out);
    const int rc = check_source(m->f, err);
    return rc < 0 || ks_buf_ok(text_out)
               ? rc
               : ks_fail(err, KS_ENOMEM, "out of memory for a unit of %s", m->f->name);
}

/* Two halves
 * ------------------------------------------------------------------------------------------- */

int ks_unit_devices(const struct ks_unit_members *m, uint32_t *device_of_out, struct ks_err *err)
{
    struct ks_buf text;
    struct ks_id128 *ids = calloc(m->n + 1u, sizeof(*ids));
    bool ok = ids;
    ks_buf_init(&text);
    for (uint32_t i = 0; i < m->n && ok; i++) {
        uint32_t k = 0;
        ks_buf_clear(&text);
        ks_unit_device_macros(m->f, &m->all[m->at[i]], &text);
        ok = ks_buf_ok(&text);
        if (ok)
            ids[i] = ks_id128(text.data, text.len);
        while (ok && !ks_id128_eq(ids[k], ids[i]))
            k++;
        device_of_out[i] = k;
    }
    ks_buf_release(&text);
    free(ids);
    return ok ? 0 : ks_fail(err, KS_ENOMEM, "out of memory for a unit of %s", m->f->name);
}

static void put_pass(int pass, int target, struct ks_buf *b)
{
    ks_buf_printf(b, "#define KS_GPU_PASS %d\n#define KS_GPU_TARGET %d\n", pass, target);
}

int ks_unit_device_text(const struct ks_unit_members *m, const uint32_t *device_of, int target,
                        struct ks_buf *text_out, struct ks_err *err)
{
    put_pass(1, target, text_out);
    put_names(text_out);
    for (uint32_t i = 0; i < m->n; i++) {
        if (device_of[i] != i)
            continue;
        ks_unit_device_macros(m->f, &m->all[m->at[i]], text_out);
        put_source(m->f, i, text_out);
    }
    const int rc = check_source(m->f, err);
    return rc < 0 || ks_buf_ok(text_out)
               ? rc
               : ks_fail(err, KS_ENOMEM, "out of memory for a unit of %s", m->f->name);
}

/* The image stands in a section of its own, by the assembler: no compiler reads it as text. */
static void put_image(const struct ks_unit_members *m, const uint32_t *device_of,
                      uint64_t image_bytes, struct ks_buf *b)
{
    ks_buf_printf(b, "\n__asm__(\".pushsection .rodata.ks_image,\\\"a\\\"\\n.balign 64\\n\"\n"
                     "        \"ks_image_bytes: .incbin \\\"device.img\\\"\\n.popsection\");\n"
                     "extern const unsigned char ks_image_bytes[] "
                     "__attribute__((visibility(\"hidden\")));\n"
                     "static const char *const kernels[] = {");
    for (uint32_t i = 0; i < m->n; i++)
        ks_buf_printf(b, " \"k%" PRIu32 "\",", device_of[i]);
    ks_buf_printf(b,
                  " };\n__attribute__((visibility(\"default\")))\n"
                  "const struct ks_abi_image %s = { ks_image_bytes, %" PRIu64 "u, kernels };\n",
                  KS_ABI_IMAGE_SYMBOL, image_bytes);
}

int ks_unit_host_text(const struct ks_unit_members *m, const uint32_t *device_of, int target,
                      uint64_t image_bytes, struct ks_buf *text_out, struct ks_err *err)
{
    put_pass(0, target, text_out);
    put_host_half(m, text_out);
    put_image(m, device_of, image_bytes, text_out);
    const int rc = check_source(m->f, err);
    return rc < 0 || ks_buf_ok(text_out)
               ? rc
               : ks_fail(err, KS_ENOMEM, "out of memory for a unit of %s", m->f->name);
}

/* What a unit is made of
 * ------------------------------------------------------------------------------------------- */

#define GPU_DIR "kernels/gpu"

static bool ends_in(const char *name, const char *suffix)
{
    const char *dot = strrchr(name, '.');
    return name[0] != '.' && dot && strcmp(dot, suffix) == 0;
}

static int is_source(const struct dirent *e)
{
    return ends_in(e->d_name, ".k") || ends_in(e->d_name, ".h");
}

static int is_header(const struct dirent *e)
{
    return ends_in(e->d_name, ".h");
}

static int is_any(const struct dirent *e)
{
    return e->d_name[0] != '.';
}

static int by_name(const struct dirent **a, const struct dirent **b)
{
    return strcmp((*a)->d_name, (*b)->d_name);
}

static int add_file(struct ks_sha256 *h, const char *path, struct ks_err *err)
{
    struct ks_buf text;
    ks_buf_init(&text);
    int rc = ks_file_read(path, &text, err);
    if (rc == 0) {
        const char *name = ks_path_base(path);
        const uint64_t n = text.len;
        ks_sha256_add(h, name, strlen(name) + 1);
        ks_sha256_add(h, &n, sizeof(n));
        ks_sha256_add(h, text.data, text.len);
    }
    ks_buf_release(&text);
    return rc;
}

static int add_tree(struct ks_sha256 *h, const char *dir, struct ks_err *err);

/* A source, or a directory of them; of anything else nothing. */
static int add_entry(struct ks_sha256 *h, const char *path, struct ks_err *err)
{
    struct stat st;
    const char *name = ks_path_base(path);
    if (stat(path, &st) < 0)
        return ks_fail_path(err, "'%s'", path);
    if (S_ISDIR(st.st_mode)) {
        ks_sha256_add(h, name, strlen(name) + 1);
        return add_tree(h, path, err);
    }
    if (ends_in(name, ".k") || ends_in(name, ".h") || ends_in(name, ".c"))
        return add_file(h, path, err);
    return 0;
}

static int add_list(struct ks_sha256 *h, const char *dir, int (*select)(const struct dirent *),
                    struct ks_err *err)
{
    char path[1024];
    struct dirent **names = NULL;
    int rc = 0;
    const int n = scandir(dir, &names, select, by_name);
    if (n < 0)
        return ks_fail_path(err, "'%s'", dir);
    for (int i = 0; i < n; i++) {
        if (rc == 0)
            rc = ks_path_join(path, sizeof(path), dir, names[i]->d_name, err);
        if (rc == 0)
            rc = select == is_any ? add_entry(h, path, err) : add_file(h, path, err);
        free(names[i]);
    }
    free(names);
    return rc;
}

static int add_tree(struct ks_sha256 *h, const char *dir, struct ks_err *err)
{
    return add_list(h, dir, is_any, err);
}

int ks_unit_sources(const struct ks_family *f, const char *abi_path, bool is_gpu,
                    struct ks_id128 *out, struct ks_err *err)
{
    char dir[1024];
    struct ks_sha256 h;
    ks_sha256_init(&h);
    ks_path_dir(dir, sizeof(dir), f->source);
    int rc = add_list(&h, dir, is_source, err);
    /* The source itself may have another suffix. */
    if (rc == 0)
        rc = add_file(&h, f->source, err);
    ks_path_dir(dir, sizeof(dir), abi_path);
    if (rc == 0)
        rc = add_list(&h, dir, is_header, err);
    if (rc == 0 && is_gpu)
        rc = ks_data_path(dir, sizeof(dir), GPU_DIR, err);
    if (rc == 0 && is_gpu)
        rc = add_tree(&h, dir, err);
    if (rc == 0)
        *out = ks_sha256_id128(&h);
    return rc;
}
