/* SPDX-License-Identifier: MIT */
/* device_gpu_module.c - artefacts of a GPU and the launches of their kernels. */
#include "device/gpu_device.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { NAME_MAX_BYTES = 160, CUDA_SHARED_PLAIN = 48 << 10 };

static void kernel_name(const struct ks_gpu_entry *e, uint32_t k, char out[NAME_MAX_BYTES])
{
    snprintf(out, NAME_MAX_BYTES, "%s_kernel%u", e->prefix, k);
}

static int read_attr(struct ks_gpu_device *g, int attr, void *func, uint32_t *out,
                     struct ks_err *err, const char *name)
{
    int v = 0;
    int rc = ks_gpu_status(g, g->api.func_attr(&v, attr, func), KS_ELOAD, err, name);

    if (rc == 0)
        *out = v > 0 ? (uint32_t)v : 0;
    return rc;
}

/* The k-th kernel of an entry, looked up when it is first needed. */
static int find_kernel(struct ks_gpu_device *g, struct ks_gpu_entry *e, uint32_t k,
                       struct ks_err *err)
{
    struct ks_gpu_kernel found = { .func = NULL };
    char name[NAME_MAX_BYTES];
    int rc;

    if (e->prefix == NULL || k >= KS_GPU_KERNELS)
        return ks_fail(err, KS_EDEVICE, "'%s' launches kernel %u, which its object does not have",
                       e->abi.name, k);
    if (e->kernels[k].func != NULL)
        return 0;
    kernel_name(e, k, name);
    rc =
        ks_gpu_status(g, g->api.module_func(&found.func, e->mod->image, name), KS_ELOAD, err, name);
    if (rc == 0)
        rc = read_attr(g, KS_GPU_FUNC_SHARED, found.func, &found.static_shared, err, name);
    if (rc == 0)
        rc = read_attr(g, KS_GPU_FUNC_MAX_THREADS, found.func, &found.max_threads, err, name);
    if (rc == 0)
        rc = read_attr(g, KS_GPU_FUNC_REGISTERS, found.func, &found.registers, err, name);
    if (rc == 0)
        e->kernels[k] = found;
    return rc;
}

/* CUDA wants to be told before it gives a block more than the plain 48 KiB. */
static int allow_shared(struct ks_gpu_device *g, const struct ks_gpu_kernel *k, uint32_t shared,
                        const char *name, struct ks_err *err)
{
    if (g->api.func_set == NULL || k->static_shared + (uint64_t)shared <= CUDA_SHARED_PLAIN)
        return 0;
    return ks_gpu_status(g, g->api.func_set(k->func, KS_GPU_FUNC_DYNAMIC_SHARED, (int)shared),
                         KS_EDEVICE, err, name);
}

/* Whether a launch of that shape can ever run here. */
static int check_fit(struct ks_gpu_device *g, const struct ks_gpu_kernel *k, uint32_t block,
                     uint32_t shared, const char *name, struct ks_err *err)
{
    uint64_t all_shared = k->static_shared + (uint64_t)shared;
    int n_blocks = 0;
    int code, rc;

    if (g->props.shared_bytes > 0 && all_shared > g->props.shared_bytes)
        return ks_fail(err, KS_EUNSUPPORTED,
                       "'%s' needs %llu bytes of shared memory, a block has %llu", name,
                       (unsigned long long)all_shared, (unsigned long long)g->props.shared_bytes);
    if (block > k->max_threads || block > g->max_threads)
        return ks_fail(err, KS_EUNSUPPORTED,
                       "'%s' needs %u threads of %u registers, a block of it has at most %u", name,
                       block, k->registers,
                       k->max_threads < g->max_threads ? k->max_threads : g->max_threads);
    rc = allow_shared(g, k, shared, name, err);
    if (rc < 0)
        return rc;
    code = g->api.occupancy(&n_blocks, k->func, (int)block, shared);
    if (code == KS_GPU_OK && n_blocks == 0)
        return ks_fail(err, KS_EUNSUPPORTED,
                       "no block of '%s' fits on the device: %u threads of %u registers, %llu "
                       "bytes of shared memory",
                       name, block, k->registers, (unsigned long long)all_shared);
    /* A runtime that cannot tell leaves it to the launch, unless it is dead. */
    return ks_gpu_is_sticky(g->api.vendor, code) ? ks_gpu_status(g, code, KS_EDEVICE, err, name)
                                                 : 0;
}

static int prepare_launch(struct ks_gpu_device *g, struct ks_gpu_entry *e,
                          const struct ks_abi_launch *l, struct ks_err *err)
{
    char name[NAME_MAX_BYTES];
    struct ks_gpu_kernel *k;
    int rc = ks_gpu_ready(g, err);

    if (rc == 0)
        rc = find_kernel(g, e, l->kernel, err);
    if (rc < 0)
        return rc;
    k = &e->kernels[l->kernel];
    if (k->block == l->block && k->shared == l->shared_bytes)
        return 0;
    kernel_name(e, l->kernel, name);
    rc = check_fit(g, k, l->block, l->shared_bytes, name, err);
    if (rc == 0) {
        k->block = l->block;
        k->shared = l->shared_bytes;
    }
    return rc;
}

static struct ks_gpu_run *run_of(const struct ks_abi_gpu *gpu)
{
    return ((const struct ks_gpu_launcher *)(const void *)gpu)->run;
}

static int launch(const struct ks_abi_gpu *gpu, const struct ks_abi_launch *l)
{
    struct ks_gpu_run *r = run_of(gpu);
    struct ks_gpu_device *g = r->entry->mod->dev;
    char what[NAME_MAX_BYTES + 96];
    int code;

    if (r->rc == 0)
        r->rc = prepare_launch(g, r->entry, l, &r->err);
    if (r->rc < 0)
        return KS_GPU_ERESOURCES;
    code = g->api.launch(r->entry->kernels[l->kernel].func, l->grid[0], l->grid[1], l->grid[2],
                         l->block, 1, 1, l->shared_bytes, g->stream, l->args, NULL);
    if (code == KS_GPU_OK)
        return 0;
    snprintf(what, sizeof(what), "launching '%s_kernel%u' with %u x %u x %u blocks of %u threads",
             r->entry->prefix, l->kernel, l->grid[0], l->grid[1], l->grid[2], l->block);
    r->rc = ks_gpu_status(g, code, KS_EDEVICE, &r->err, what);
    return code;
}

static int fill(const struct ks_abi_gpu *gpu, void *ptr, uint32_t pattern, uint64_t bytes)
{
    struct ks_gpu_run *r = run_of(gpu);
    struct ks_gpu_device *g = r->entry->mod->dev;
    int code = KS_GPU_EINVALID;

    if (r->rc < 0)
        return KS_GPU_ERESOURCES;
    if (bytes == 0)
        return 0;
    if (bytes % 4 == 0)
        code = g->api.set32((uintptr_t)ptr, pattern, bytes / 4, g->stream);
    r->rc = ks_gpu_status(g, code, KS_EDEVICE, &r->err, "filling memory for the kernel");
    return code;
}

struct ks_gpu_launcher ks_gpu_launcher_of(struct ks_gpu_run *run)
{
    return (struct ks_gpu_launcher){ .base = { .launch = launch, .fill = fill }, .run = run };
}

static int make_entries(struct ks_module *m, struct ks_err *err)
{
    const struct ks_abi_table *t = m->so.table;

    m->entries = calloc(t->n_entries, sizeof(*m->entries));
    if (m->entries == NULL)
        return ks_fail(err, KS_ENOMEM, "out of memory for %u entries of an object", t->n_entries);
    for (uint32_t i = 0; i < t->n_entries; i++) {
        m->entries[i].abi = t->entries[i];
        m->entries[i].mod = m;
        m->entries[i].prefix = m->so.image != NULL ? m->so.image->kernels[i] : NULL;
    }
    return 0;
}

int ks_gpu_module_open(struct ks_device *dev, const char *path, struct ks_module **mod_out,
                       struct ks_err *err)
{
    struct ks_gpu_device *g = ks_gpu_of(dev);
    int rc = ks_gpu_ready(g, err);
    struct ks_module *m;

    if (rc < 0)
        return rc;
    m = calloc(1, sizeof(*m));
    if (m == NULL)
        return ks_fail(err, KS_ENOMEM, "out of memory loading '%s'", path);
    m->dev = g;
    rc = ks_so_table_open(path, &m->so, err);
    if (rc == 0)
        rc = make_entries(m, err);
    if (rc == 0 && m->so.image != NULL)
        rc = ks_gpu_status(g, g->api.module_load(&m->image, m->so.image->bytes), KS_ELOAD, err,
                           path);
    if (rc < 0) {
        ks_gpu_module_close(dev, m);
        return rc;
    }
    *mod_out = m;
    return 0;
}

void ks_gpu_module_close(struct ks_device *dev, struct ks_module *mod)
{
    struct ks_gpu_device *g = ks_gpu_of(dev);

    if (mod == NULL)
        return;
    if (mod->image != NULL && g->lost == 0)
        (void)ks_gpu_sync(g, KS_EDEVICE, NULL, ""); /* it may tell that the device is lost */
    if (mod->image != NULL && g->lost == 0)
        (void)ks_gpu_status(g, g->api.module_unload(mod->image), KS_EDEVICE, NULL, "");
    /* A plug-in has kernels of its own registered with the runtime, which may keep pointing there.
     */
    if (mod->so.image != NULL)
        ks_so_table_close(&mod->so);
    free(mod->entries);
    free(mod);
}

int ks_gpu_module_entry(struct ks_device *dev, struct ks_module *mod, const char *name,
                        const struct ks_abi_entry **entry_out, struct ks_err *err)
{
    struct ks_gpu_device *g = ks_gpu_of(dev);
    char symbol[NAME_MAX_BYTES];
    struct ks_gpu_entry *e;
    uint32_t i = 0;
    int rc = ks_gpu_ready(g, err);

    if (rc == 0)
        rc = ks_so_table_find(&mod->so, name, &i, err);
    if (rc < 0)
        return rc;
    e = &mod->entries[i];
    if (e->prefix != NULL) {
        rc = find_kernel(g, e, 0, err);
        kernel_name(e, 0, symbol);
        /* Dynamic shared memory is known when it is launched. */
        if (rc == 0)
            rc = check_fit(g, &e->kernels[0], e->kernels[0].max_threads, 0, symbol, err);
    }
    if (rc == 0)
        *entry_out = &e->abi;
    return rc;
}
