/* SPDX-License-Identifier: MIT */
/* so_table.c - opens a shared object of kernels and checks its table before anything is called */
#include "device/so_table.h"

#include <dlfcn.h>
#include <string.h>

/* The table must be usable before anything in it is called. */
static int check_table(const struct ks_abi_table *t, const char *path, struct ks_err *err)
{
    if (t->abi_major != KS_ABI_MAJOR)
        return ks_fail(err, KS_ELOAD, "'%s' has ABI %u, this program needs %u", path, t->abi_major,
                       KS_ABI_MAJOR);
    if (t->n_entries == 0 || t->entries == NULL)
        return ks_fail(err, KS_ELOAD, "'%s' has an empty " KS_ABI_SYMBOL, path);
    for (uint32_t i = 0; i < t->n_entries; i++) {
        const struct ks_abi_entry *e = &t->entries[i];

        if (e->name == NULL || e->unsupported == NULL || e->workspace_bytes == NULL ||
            e->run == NULL)
            return ks_fail(err, KS_ELOAD, "'%s': entry %u of " KS_ABI_SYMBOL " is not complete",
                           path, i);
    }
    return 0;
}

static int check_image(const struct ks_abi_image *image, uint32_t n_entries, const char *path,
                       struct ks_err *err)
{
    if (image->bytes == NULL || image->n_bytes == 0 || image->kernels == NULL)
        return ks_fail(err, KS_ELOAD, "'%s' has an empty " KS_ABI_IMAGE_SYMBOL, path);
    for (uint32_t i = 0; i < n_entries; i++) {
        if (image->kernels[i] == NULL)
            return ks_fail(err, KS_ELOAD, "'%s': " KS_ABI_IMAGE_SYMBOL " names no kernel %u", path,
                           i);
    }
    return 0;
}

int ks_so_table_open(const char *path, struct ks_so_table *out, struct ks_err *err)
{
    struct ks_so_table t = { .handle = dlopen(path, RTLD_NOW | RTLD_LOCAL) };
    int rc;

    if (t.handle == NULL)
        return ks_fail(err, KS_ELOAD, "%s", dlerror());
    t.table = dlsym(t.handle, KS_ABI_SYMBOL);
    t.image = dlsym(t.handle, KS_ABI_IMAGE_SYMBOL);
    if (t.table == NULL)
        rc = ks_fail(err, KS_ELOAD, "'%s' does not export " KS_ABI_SYMBOL, path);
    else
        rc = check_table(t.table, path, err);
    if (rc == 0 && t.image != NULL)
        rc = check_image(t.image, t.table->n_entries, path, err);
    if (rc < 0) {
        dlclose(t.handle);
        return rc;
    }
    *out = t;
    return 0;
}

void ks_so_table_close(struct ks_so_table *t)
{
    if (t->handle != NULL)
        dlclose(t->handle);
    *t = (struct ks_so_table){ .handle = NULL };
}

int ks_so_table_find(const struct ks_so_table *t, const char *name, uint32_t *index_out,
                     struct ks_err *err)
{
    for (uint32_t i = 0; i < t->table->n_entries; i++) {
        if (strcmp(t->table->entries[i].name, name) == 0) {
            *index_out = i;
            return 0;
        }
    }
    return ks_fail(err, KS_ELOAD, "no entry '%s' among the %u of the object", name,
                   t->table->n_entries);
}
