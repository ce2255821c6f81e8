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

void ks_unit_symbol(uint32_t i, char symbol_out[32])
{
    snprintf(symbol_out, 32, "k%" PRIu32 "_entry", i);
}

void ks_unit_macros(const struct ks_family *f, const struct ks_instance *i, struct ks_buf *text_out)
{
    for (uint32_t t = 0; t < f->n_traits; t++) {
        const struct ks_trait *trait = &f->traits[t];
        if (trait->macro[0])
            ks_buf_printf(text_out, "#define %s %" PRId64 "\n", trait->macro,
                          trait->value[i->value[t]]);
    }
}

static void put_instance(const struct ks_family *f, const struct ks_instance *inst, uint32_t i,
                         struct ks_buf *b)
{
    ks_buf_printf(b, "\n#define KS_PREFIX k%" PRIu32 "\n#define KS_NAME \"%s\"\n", i, inst->name);
    ks_unit_macros(f, inst, b);
    /* A tentative definition: keeps the entry in the object, where its code is identified. */
    ks_buf_printf(b, "static const struct ks_abi_entry KS_FN(entry) __attribute__((used));\n");
    ks_buf_printf(b, "#include \"%s\"\n", f->source);
    for (uint32_t t = 0; t < f->n_traits; t++)
        if (f->traits[t].macro[0])
            ks_buf_printf(b, "#undef %s\n", f->traits[t].macro);
    ks_buf_printf(b, "#undef KS_PREFIX\n#undef KS_NAME\n");
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

int ks_unit_text(const struct ks_family *f, const struct ks_instance *all, const uint32_t *indices,
                 uint32_t n, struct ks_buf *text_out, struct ks_err *err)
{
    if (strpbrk(f->source, "\"\n\\"))
        return ks_fail(err, KS_EINVAL, "'%s': a source path with a quote, backslash or newline",
                       f->source);
    ks_buf_printf(text_out, "/* %" PRIu32 " instances of %s */\n#include \"abi.h\"\n", n, f->name);
    ks_buf_printf(text_out, "#define KS_PASTE_(a, b) a##_##b\n"
                            "#define KS_PASTE(a, b)  KS_PASTE_(a, b)\n"
                            "#define KS_FN(x)        KS_PASTE(KS_PREFIX, x)\n");
    for (uint32_t i = 0; i < n; i++)
        put_instance(f, &all[indices[i]], i, text_out);
    put_table(n, text_out);
    return ks_buf_ok(text_out) ? 0 : ks_fail(err, KS_ENOMEM, "unit of %s", f->name);
}

static int is_source(const struct dirent *e)
{
    const char *dot = strrchr(e->d_name, '.');
    return e->d_name[0] != '.' && dot && (strcmp(dot, ".k") == 0 || strcmp(dot, ".h") == 0);
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

int ks_unit_sources(const struct ks_family *f, const char *abi_path, struct ks_id128 *out,
                    struct ks_err *err)
{
    char dir[1024], path[1024];
    struct dirent **names = NULL;
    struct ks_sha256 h;
    ks_sha256_init(&h);
    ks_path_dir(dir, sizeof(dir), f->source);
    const int n = scandir(dir, &names, is_source, by_name);
    if (n < 0)
        return ks_fail_errno(err, "'%s'", dir);
    int rc = 0;
    for (int i = 0; i < n; i++) {
        if (rc == 0)
            rc = ks_path_join(path, sizeof(path), dir, names[i]->d_name, err);
        if (rc == 0)
            rc = add_file(&h, path, err);
        free(names[i]);
    }
    free(names);
    /* The source itself may have another suffix. */
    if (rc == 0)
        rc = add_file(&h, f->source, err);
    if (rc == 0)
        rc = add_file(&h, abi_path, err);
    if (rc == 0)
        *out = ks_sha256_id128(&h);
    return rc;
}
