/* SPDX-License-Identifier: MIT */
/* memory.c - device memory that the host cannot touch, but for the time of an operation */
#include "fake.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#define PAGE ((size_t)4096)
/* Larger blocks stay in sight: page by page, hiding them around each operation takes longer than
 * all operations. Those of tests that must not be touched are smaller. */
#define HIDDEN_MOST ((size_t)16 << 20)

static void protect(const struct fake_memory *m, int protection)
{
    if (m->mapped <= HIDDEN_MOST)
        mprotect(m->p, m->mapped, protection);
}

int fake_memory_alloc(struct fake_device *d, size_t bytes, void **p_out)
{
    size_t mapped = (bytes + PAGE - 1) / PAGE * PAGE;
    struct fake_memory *m = calloc(1, sizeof *m);
    char *base;

    pthread_mutex_lock(&d->pages);
    if (!m || d->used + mapped > d->fake->config.mem_bytes) {
        pthread_mutex_unlock(&d->pages);
        free(m);
        return KS_GPU_EMEMORY;
    }
    base = mmap(NULL, mapped + 2 * PAGE, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1,
                0);
    if (base == MAP_FAILED ||
        mprotect(base + PAGE, mapped, PROT_READ | PROT_WRITE) != 0) { /* a page before and after */
        pthread_mutex_unlock(&d->pages);
        free(m);
        return KS_GPU_EMEMORY;
    }
    *m = (struct fake_memory){ base + PAGE, bytes, mapped, d->n_open, d->memory };
    memset(m->p, 0xa5, mapped); /* never zeros by luck */
    if (d->n_open == 0)
        protect(m, PROT_NONE);
    d->memory = m;
    d->used += mapped;
    pthread_mutex_unlock(&d->pages);
    *p_out = m->p;
    return KS_GPU_OK;
}

int fake_memory_free(struct fake_device *d, void *p)
{
    struct fake_memory **at = &d->memory, *m;

    pthread_mutex_lock(&d->pages);
    while (*at && (*at)->p != p)
        at = &(*at)->next;
    m = *at;
    if (m) {
        *at = m->next;
        d->used -= m->mapped;
        munmap(m->p - PAGE, m->mapped + 2 * PAGE);
        free(m);
    }
    pthread_mutex_unlock(&d->pages);
    return m ? KS_GPU_OK : KS_GPU_EINVALID;
}

static bool is_in(const struct fake_memory *m, const void *at, size_t bytes)
{
    const char *q = at;

    return q >= m->p && q <= m->p + m->bytes && bytes <= (size_t)(m->p + m->bytes - q);
}

/* Counts: several threads may want the same block, and a launch wants all of them. */
static void count(struct fake_device *d, const void *p, int by)
{
    pthread_mutex_lock(&d->pages);
    if (!p)
        d->n_open += by;
    for (struct fake_memory *m = d->memory; m; m = m->next) {
        const int was = m->n_open;

        if (p && !is_in(m, p, 0))
            continue;
        m->n_open += by;
        if (was == 0)
            protect(m, PROT_READ | PROT_WRITE);
        if (m->n_open == 0)
            protect(m, PROT_NONE);
    }
    pthread_mutex_unlock(&d->pages);
}

void fake_memory_show(struct fake_device *d, const void *p)
{
    count(d, p, 1);
}

void fake_memory_hide(struct fake_device *d, const void *p)
{
    count(d, p, -1);
}

bool fake_memory_owns(struct fake_device *d, const void *p, size_t bytes)
{
    bool found = false;

    pthread_mutex_lock(&d->pages);
    for (struct fake_memory *m = d->memory; m && !found; m = m->next)
        found = is_in(m, p, bytes);
    pthread_mutex_unlock(&d->pages);
    return found;
}
