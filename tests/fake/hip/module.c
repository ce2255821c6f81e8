/* SPDX-License-Identifier: MIT */
/* module.c - images, functions and launches. An image is a shared object made of a kernel's source
 * and the emulator; of a kernel NAME it has NAME_entry, NAME_block, NAME_lds, NAME_warp and
 * NAME_args, and once ks_simt_launch and ks_simt_pool_release. */
#include "fake.h"

#include <dlfcn.h>
#include <elf.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define DIGEST_SEED 14695981039346656037u /* FNV-1a */

static uint64_t digest(uint64_t h, const void *p, size_t n)
{
    const unsigned char *s = p;

    for (size_t i = 0; i < n; i++)
        h = (h ^ s[i]) * 1099511628211u;
    return h;
}

/* An image says itself how long it is: to the end of its sections, or of its segments. */
static size_t image_bytes(const Elf64_Ehdr *e)
{
    const char *base = (const char *)e;
    size_t end = e->e_shoff + (size_t)e->e_shnum * e->e_shentsize;

    for (unsigned i = 0; i < e->e_phnum; i++) {
        const Elf64_Phdr *p = (const void *)(base + e->e_phoff + (size_t)i * e->e_phentsize);

        if (p->p_offset + p->p_filesz > end)
            end = p->p_offset + p->p_filesz;
    }
    return end;
}

static int load(struct fake_module *m, const void *image)
{
    size_t n = image_bytes(image), at = 0;
    char path[64];

    m->fd = memfd_create("fake-hip", MFD_CLOEXEC);
    while (m->fd >= 0 && at < n) {
        ssize_t w = write(m->fd, (const char *)image + at, n - at);

        if (w <= 0)
            return FAKE_EUNKNOWN;
        at += (size_t)w;
    }
    snprintf(path, sizeof path, "/proc/self/fd/%d", m->fd);
    m->handle = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    if (!m->handle) {
        fprintf(stderr, "fake hip: %s\n", dlerror());
        return FAKE_EIMAGE;
    }
    return KS_GPU_OK;
}

static void release_pool(struct fake_module *m)
{
    void *symbol = m->pool.run ? dlsym(m->handle, "ks_simt_pool_release") : NULL;
    void (*release)(struct fake_pool * pool);

    if (!symbol)
        return;
    memcpy(&release, &symbol, sizeof release);
    release(&m->pool);
}

static void unload(struct fake_module *m)
{
    release_pool(m);
    while (m->functions) {
        struct fake_function *f = m->functions;

        m->functions = f->next;
        free(f);
    }
    if (m->handle)
        dlclose(m->handle);
    if (m->fd >= 0)
        close(m->fd);
    free(m);
}

int hipModuleLoadData(void **out, const void *image)
{
    struct fake_device *d = fake_current();
    const Elf64_Ehdr *e = image;
    struct fake_site site = { .device = d->index };
    struct fake_module *m;
    int rc = fake_state(d);

    if (rc != 0)
        return rc;
    if (memcmp(e->e_ident, ELFMAG, SELFMAG) != 0 || e->e_ident[EI_CLASS] != ELFCLASS64)
        return FAKE_EIMAGE;
    if (e->e_machine != EM_X86_64 && e->e_machine != EM_AARCH64)
        return FAKE_ENOBINARY;
    site.image = digest(DIGEST_SEED, image, image_bytes(e));
    fake_log(d->fake, "%d %d load %016llx\n", (int)getpid(), d->index,
             (unsigned long long)site.image);
    if (fake_fires(d->fake, FAKE_LOAD, &site))
        return FAKE_ENOBINARY;
    m = calloc(1, sizeof *m);
    if (!m)
        return KS_GPU_EMEMORY;
    *m = (struct fake_module){ .fd = -1, .digest = site.image };
    rc = load(m, image);
    if (rc != 0) {
        unload(m);
        return rc;
    }
    *out = m;
    return KS_GPU_OK;
}

int hipModuleUnload(void *module)
{
    struct fake_device *d = fake_current();
    int rc = fake_wait_all(d);

    unload(module);
    return rc;
}

static void *find(const struct fake_function *f, const char *what)
{
    char name[192];

    snprintf(name, sizeof name, "%s_%s", f->name, what);
    return dlsym(f->module->handle, name);
}

int hipModuleGetFunction(void **out, void *module, const char *name)
{
    struct fake_module *m = module;
    struct fake_function *f = calloc(1, sizeof *f);
    void *entry, *launch;
    const int *block, *shared, *warp;

    if (!f || strlen(name) >= sizeof f->name) {
        free(f);
        return KS_GPU_EINVALID;
    }
    f->module = m;
    memcpy(f->name, name, strlen(name) + 1);
    entry = find(f, "entry");
    launch = dlsym(m->handle, "ks_simt_launch");
    block = find(f, "block");
    shared = find(f, "lds");
    warp = find(f, "warp");
    f->sizes = find(f, "args");
    if (!entry || !launch || !block || !shared || !warp || !f->sizes) {
        free(f);
        return FAKE_ENOTFOUND;
    }
    memcpy(&f->entry, &entry, sizeof entry);
    memcpy(&f->launch, &launch, sizeof launch);
    f->block = *block;
    f->shared = *shared;
    f->warp = *warp;
    f->next = m->functions;
    m->functions = f;
    *out = f;
    return KS_GPU_OK;
}

int hipFuncGetAttribute(int *value, int attribute, void *function)
{
    const struct fake_function *f = function;

    *value = attribute == KS_GPU_FUNC_MAX_THREADS ? f->block
             : attribute == KS_GPU_FUNC_SHARED    ? f->shared
             : attribute == KS_GPU_FUNC_REGISTERS ? 64
                                                  : 0;
    return KS_GPU_OK;
}

int hipModuleOccupancyMaxActiveBlocksPerMultiprocessor(int *n_out, void *function, int block,
                                                       size_t dynamic)
{
    const struct fake_function *f = function;
    uint64_t limit = fake_current()->fake->config.shared_bytes;
    uint64_t shared = (uint64_t)f->shared + dynamic, by_shared = shared ? limit / shared : 2048;
    uint64_t by_threads = block > 0 ? 2048u / (unsigned)block : 0;

    *n_out = (int)(by_shared < by_threads ? by_shared : by_threads);
    return KS_GPU_OK;
}

/* --- Launches */

/* Arguments are read now, as by the real one. */
static int copy_args(struct fake_op *op, void **params)
{
    size_t at = 0;

    for (int i = 0; op->function->sizes[i]; i++) {
        size_t n = (size_t)op->function->sizes[i];

        at = (at + 15) & ~(size_t)15;
        if (i == FAKE_MAX_ARGS || at + n > sizeof op->bytes || !params[i])
            return KS_GPU_EINVALID;
        memcpy(op->bytes + at, params[i], n);
        op->args[i] = op->bytes + at;
        at += n;
    }
    return KS_GPU_OK;
}

/* A stand-in for a GPU: waves of blocks over its units, a little spread from launch to launch. Two
 * calls of one wave are a sample: each is emulated. */
static double model_ns(struct fake_op *op)
{
    struct fake_function *f = op->function;
    uint64_t h = digest(f->module->digest, f->name, strlen(f->name));
    uint64_t n_blocks = (uint64_t)op->grid[0] * (uint64_t)op->grid[1] * (uint64_t)op->grid[2];
    double waves = (double)((n_blocks + 103) / 104), ns = 100000 + (double)(h % 90000);

    h = digest(h, &f->n_launches, sizeof f->n_launches);
    return (4000 + ns * waves) * (1 + (double)(h >> 40) / (double)(1 << 24) * 0.01);
}

static void strike(struct fake_device *d, struct fake_op *op, const struct fake_site *site)
{
    static const enum fake_kind kinds[] = { FAKE_FAULT, FAKE_HANG,  FAKE_ABORT, FAKE_SLOW,
                                            FAKE_SKIP,  FAKE_WRONG, FAKE_LOST };

    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
        op->fires[kinds[i]] = fake_fires(d->fake, kinds[i], site);
}

static int start_launch(struct fake_device *d, struct fake_op *op, const struct fake_site *site,
                        void **params)
{
    struct fake_function *f = op->function;
    int rc;

    if (site->block != (unsigned)f->block)
        return KS_GPU_EINVALID;
    for (int i = 0; i < 3; i++)
        if (op->grid[i] < 1 || op->block[i] < 1)
            return KS_GPU_EINVALID;
    if ((uint64_t)f->shared > d->fake->config.shared_bytes)
        return KS_GPU_ERESOURCES;
    if (fake_fires(d->fake, FAKE_LAUNCH, site))
        return KS_GPU_ERESOURCES;
    rc = copy_args(op, params);
    if (rc != 0)
        return rc;
    strike(d, op, site);
    op->ns = model_ns(op);
    f->n_launches++;
    pthread_mutex_lock(&d->lock);
    d->last = *site;
    d->last.name = NULL;
    pthread_mutex_unlock(&d->lock);
    fake_log(d->fake, "%d %d launch %s %ux%ux%u %u\n", (int)getpid(), d->index, f->name,
             site->grid[0], site->grid[1], site->grid[2], site->block);
    return KS_GPU_OK;
}

int hipModuleLaunchKernel(void *function, unsigned gx, unsigned gy, unsigned gz, unsigned bx,
                          unsigned by, unsigned bz, unsigned shared, void *stream, void **params,
                          void **extra)
{
    struct fake_stream *s = stream;
    struct fake_device *d = s ? s->dev : fake_current();
    struct fake_function *f = function;
    struct fake_site site = { .device = d->index,
                              .name = f->name,
                              .grid = { gx, gy, gz },
                              .block = bx * by * bz,
                              .image = f->module->digest };
    struct fake_op *op;
    int rc = fake_state(d);

    if (rc != 0)
        return rc;
    if (shared != 0 || extra) /* shared memory of the emulator is static */
        return KS_GPU_EINVALID;
    op = calloc(1, sizeof *op);
    if (!op)
        return KS_GPU_EMEMORY;
    *op = (struct fake_op){ .what = OP_LAUNCH,
                            .function = f,
                            .grid = { (int)gx, (int)gy, (int)gz },
                            .block = { (int)bx, (int)by, (int)bz } };
    rc = start_launch(d, op, &site, params);
    if (rc != 0) {
        free(op);
        return rc;
    }
    return fake_push(d, op);
}
