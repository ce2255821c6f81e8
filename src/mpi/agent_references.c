/* SPDX-License-Identifier: MIT */
/* agent_references.c - references are computed by the first worker of a problem and sealed; those
 * of some problems are kept. */
#include "base/file.h"
#include "mpi/agent_impl.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

bool ks_references_are_sealed(int fd)
{
    int seals = fcntl(fd, F_GET_SEALS);
    return seals >= 0 && (seals & (F_SEAL_WRITE | F_SEAL_FUTURE_WRITE));
}

void ks_references_init(struct references *r)
{
    *r = (struct references){ .n_uses = 0 };
    for (uint32_t i = 0; i < KEPT_REFERENCES; i++)
        r->kept[i].fd = -1;
}

void ks_references_release(struct references *r)
{
    for (uint32_t i = 0; i < KEPT_REFERENCES; i++)
        ks_fd_close(&r->kept[i].fd);
}

static void swap_first(struct references *r, uint32_t i)
{
    struct kept k = r->kept[i];
    r->kept[i] = r->kept[0];
    r->kept[0] = k;
}

static uint64_t bytes_of(const struct kept *k)
{
    struct stat st;
    return k->fd >= 0 && fstat(k->fd, &st) == 0 ? (uint64_t)st.st_size : 0;
}

/* The place that is empty, else the one that was used longest ago. */
static uint32_t oldest(const struct references *r)
{
    uint32_t at = 0;
    for (uint32_t i = 0; i < KEPT_REFERENCES; i++)
        if (r->kept[i].fd < 0)
            return i;
        else if (r->kept[i].used < r->kept[at].used)
            at = i;
    return at;
}

/* The first one stays. */
static void shrink(struct references *r)
{
    uint64_t sum = 0;
    for (uint32_t i = 1; i < KEPT_REFERENCES; i++)
        sum += bytes_of(&r->kept[i]);
    while (sum > KEPT_BYTES) {
        uint32_t at = 0;
        for (uint32_t i = 1; i < KEPT_REFERENCES; i++)
            if (r->kept[i].fd >= 0 && (!at || r->kept[i].used < r->kept[at].used))
                at = i;
        sum -= bytes_of(&r->kept[at]);
        ks_fd_close(&r->kept[at].fd);
    }
}

int ks_references_need(struct references *r, uint32_t i_problem, struct ks_err *err)
{
    uint32_t at = KEPT_REFERENCES;
    for (uint32_t i = 0; i < KEPT_REFERENCES; i++) {
        struct kept *k = &r->kept[i];
        if (k->fd < 0)
            continue;
        if (!ks_references_are_sealed(k->fd)) /* unfinished: its worker died */
            ks_fd_close(&k->fd);
        else if (k->i_problem == i_problem)
            at = i;
    }
    if (at == KEPT_REFERENCES) {
        at = oldest(r);
        ks_fd_close(&r->kept[at].fd);
        r->kept[at] =
            (struct kept){ .fd = memfd_create("ksweep-reference", MFD_CLOEXEC | MFD_ALLOW_SEALING),
                           .key = ks_id128_random(),
                           .i_problem = i_problem };
        if (r->kept[at].fd < 0)
            return ks_fail_errno(err, "reference memory");
    }
    r->kept[at].used = ++r->n_uses;
    swap_first(r, at);
    shrink(r);
    return 0;
}
