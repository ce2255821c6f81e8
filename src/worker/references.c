/* SPDX-License-Identifier: MIT */
/* references.c - computes a problem's references, seals them in a memfd, opens sealed ones */
#include "worker/references.h"

#include "base/hash.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#define ALIGN      64u
#define SEALS_DONE (F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_WRITE | F_SEAL_SEAL)

_Static_assert(sizeof(struct ks_reference_header) == ALIGN, "layout of the memfd");
_Static_assert(sizeof(struct ks_reference_digests) <= ALIGN, "layout of the memfd");

struct layout {
    size_t exact_at, real_at, abs_at, total;
};

static size_t aligned(size_t n)
{
    return (n + ALIGN - 1) / ALIGN * ALIGN;
}

static struct layout layout_of(size_t n, uint32_t dtype, uint32_t parts)
{
    size_t exact = (parts & KS_PART_EXACT) != 0 ? n * ks_dtype_bytes(dtype) : 0;
    size_t real = (parts & KS_PART_REAL) != 0 ? n * sizeof(double) : 0;
    struct layout l = { .exact_at = ALIGN };

    if ((parts & KS_PART_DIGESTS) != 0)
        return (struct layout){ .exact_at = ALIGN, .total = 2 * ALIGN };
    l.real_at = l.exact_at + aligned(exact);
    l.abs_at = l.real_at + aligned(real);
    l.total = l.abs_at + aligned(real);
    return l;
}

static size_t n_elements(const struct ks_problem *p)
{
    return (size_t)ks_operators[p->op]->extents(p).c;
}

static struct ks_reference_header header_of(const struct ks_problem *p, uint32_t parts)
{
    struct ks_reference_header h = { .magic = KS_REFERENCE_MAGIC,
                                     .problem = p->id,
                                     .n_elements = n_elements(p),
                                     .parts = parts,
                                     .dtype = p->dtype };

    h.total_bytes = layout_of((size_t)h.n_elements, h.dtype, h.parts).total;
    h.crc = ks_crc32c(0, &h, offsetof(struct ks_reference_header, crc));
    return h;
}

/* Point into a mapping of known parts. */
static struct ks_references view_of(const struct ks_problem *p, uint32_t parts, void *map)
{
    struct layout l = layout_of(n_elements(p), p->dtype, parts);
    uint8_t *base = map;
    struct ks_references r = { .parts = parts, .map = map, .map_bytes = l.total };

    if ((parts & KS_PART_EXACT) != 0)
        r.exact = base + l.exact_at;
    if ((parts & KS_PART_REAL) != 0) {
        r.real = base + l.real_at;
        r.abs = base + l.abs_at;
    }
    return r;
}

struct ks_masked ks_references_part(const struct ks_references *r, const void *part,
                                    const struct ks_mask *mask)
{
    size_t at = (size_t)((const uint8_t *)part - (const uint8_t *)r->map);

    return (struct ks_masked){ .at = part, .word = at / sizeof(uint64_t), .mask = mask };
}

static int compute_exact(const struct ks_problem *p, const struct ks_reference_inputs *in, void *to,
                         struct ks_err *err)
{
    const struct ks_operator *op = ks_operators[p->op];
    size_t n = n_elements(p);
    double *r = malloc(n * sizeof(*r));
    int rc;

    if (r == NULL)
        return ks_fail(err, KS_ENOMEM, "out of memory for an exact reference of %zu elements", n);
    rc = op->reference(p, in->exact_a, in->exact_b, r, NULL, err);
    if (rc == 0)
        rc = op->prove_exact(p, in->exact_a, in->exact_b, r, p->id, err);
    if (rc == 0)
        ks_elements_round(r, (int64_t)n, p->dtype, to);
    explicit_bzero(r, n * sizeof(*r)); /* kernels use the same heap */
    free(r);
    return rc;
}

static int compute_real(const struct ks_problem *p, const struct ks_reference_inputs *in, double *r,
                        double *abs, struct ks_err *err)
{
    const struct ks_operator *op = ks_operators[p->op];
    int rc = op->reference(p, in->real_a, in->real_b, r, abs, err);

    if (rc < 0)
        return rc;
    return op->prove_real(p, in->real_a, in->real_b, r, abs, p->id, KS_REFERENCE_SAMPLES, err);
}

/* No kernel runs before the mask is on. */
static int compute_into(const struct ks_problem *p, const struct ks_reference_inputs *in,
                        uint32_t parts, const struct ks_mask *mask, uint8_t *map,
                        struct ks_err *err)
{
    struct layout l = layout_of(n_elements(p), p->dtype, parts);
    struct ks_reference_header h = header_of(p, parts);
    int rc = 0;

    if ((parts & KS_PART_EXACT) != 0)
        rc = compute_exact(p, in, map + l.exact_at, err);
    if (rc == 0 && (parts & KS_PART_REAL) != 0)
        rc = compute_real(p, in, (double *)(void *)(map + l.real_at),
                          (double *)(void *)(map + l.abs_at), err);
    ks_mask_apply(mask, ALIGN / sizeof(uint64_t), map + ALIGN, map + ALIGN, l.total - ALIGN);
    memcpy(map, &h, sizeof(h)); /* last: a half-written memfd has no valid header */
    return rc;
}

bool ks_references_are_sealed(int fd)
{
    int seals = fcntl(fd, F_GET_SEALS);

    return seals >= 0 && (seals & F_SEAL_WRITE) != 0;
}

static bool read_header(int fd, struct ks_reference_header *out)
{
    return pread(fd, out, sizeof(*out), 0) == (ssize_t)sizeof(*out) &&
           out->magic == KS_REFERENCE_MAGIC &&
           out->crc == ks_crc32c(0, out, offsetof(struct ks_reference_header, crc));
}

uint32_t ks_references_parts(int fd)
{
    struct ks_reference_header h = { 0 };

    return ks_references_are_sealed(fd) && read_header(fd, &h) ? h.parts : 0;
}

/* A finished memfd of the problem that has all of `parts`, digests or the references themselves. */
static int check_header(const struct ks_problem *p, uint32_t parts, int fd,
                        struct ks_reference_header *out, struct ks_err *err)
{
    struct ks_reference_header want;
    struct stat st;

    if (!ks_references_are_sealed(fd))
        return ks_fail(err, KS_EPROTO, "references: descriptor %d is not a sealed memfd", fd);
    if (!read_header(fd, out))
        return ks_fail(err, KS_EPROTO, "references: the header is damaged");
    if (out->problem != p->id)
        return ks_fail(err, KS_EPROTO, "references are of problem %016llx, not %016llx",
                       (unsigned long long)out->problem, (unsigned long long)p->id);
    want = header_of(p, out->parts);
    if ((out->parts & parts) != parts || ((out->parts ^ parts) & KS_PART_DIGESTS) != 0 ||
        memcmp(out, &want, sizeof(want)) != 0)
        return ks_fail(err, KS_EPROTO, "references: parts %u, expected %u", out->parts, parts);
    if (fstat(fd, &st) < 0 || (uint64_t)st.st_size < out->total_bytes)
        return ks_fail(err, KS_EPROTO, "references: shorter than their header says");
    return 0;
}

int ks_references_open(const struct ks_problem *p, uint32_t parts, int fd,
                       struct ks_references *out, struct ks_err *err)
{
    struct ks_reference_header h = { 0 };
    void *map;
    int rc = check_header(p, parts, fd, &h, err);

    if (rc < 0)
        return rc;
    /* Private: kernels before Linux 6.7 refuse shared mappings of a sealed file even to readers.
     * Pages are shared all the same, nobody writes. */
    map = mmap(NULL, (size_t)h.total_bytes, PROT_READ, MAP_PRIVATE, fd, 0);
    if (map == MAP_FAILED)
        return ks_fail_errno(err, "mapping references");
    *out = view_of(p, h.parts, map);
    return 0;
}

int ks_references_open_digests(const struct ks_problem *p, uint32_t parts, int fd,
                               struct ks_reference_digests *out, struct ks_err *err)
{
    struct ks_reference_header h = { 0 };
    int rc = check_header(p, parts | KS_PART_DIGESTS, fd, &h, err);

    if (rc < 0)
        return rc;
    if (pread(fd, out, sizeof(*out), ALIGN) != (ssize_t)sizeof(*out))
        return ks_fail_errno(err, "reading digests of references");
    if ((parts & KS_PART_EXACT) == 0)
        out->exact = 0;
    if ((parts & KS_PART_REAL) == 0)
        out->real = out->abs = 0;
    return 0;
}

int ks_references_keep_digests(const struct ks_problem *p, uint32_t parts, int fd,
                               const struct ks_reference_digests *d, struct ks_err *err)
{
    struct ks_reference_header h = header_of(p, parts | KS_PART_DIGESTS);

    if (ftruncate(fd, 0) < 0 || ftruncate(fd, (off_t)h.total_bytes) < 0 ||
        pwrite(fd, d, sizeof(*d), ALIGN) != (ssize_t)sizeof(*d) ||
        pwrite(fd, &h, sizeof(h), 0) != (ssize_t)sizeof(h))
        return ks_fail_errno(err, "storing digests of references");
    if (fcntl(fd, F_ADD_SEALS, SEALS_DONE) < 0)
        return ks_fail_errno(err, "sealing references");
    return 0;
}

static int compute_shared(const struct ks_problem *p, const struct ks_reference_inputs *in,
                          uint32_t parts, int fd, const struct ks_mask *mask,
                          struct ks_references *out, struct ks_err *err)
{
    size_t total = layout_of(n_elements(p), p->dtype, parts).total;
    void *map;
    int rc;

    /* Not ftruncate: the memory is wanted now, as an error and not as a SIGBUS later. */
    if (fallocate(fd, 0, 0, (off_t)total) < 0)
        return ks_fail_errno(err, "%zu bytes for references", total);
    map = mmap(NULL, total, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    if (map == MAP_FAILED)
        return ks_fail_errno(err, "mapping %zu bytes for references", total);
    rc = compute_into(p, in, parts, mask, map, err);
    munmap(map, total);
    if (rc < 0)
        return rc;
    if (fcntl(fd, F_ADD_SEALS, SEALS_DONE) < 0)
        return ks_fail_errno(err, "sealing references");
    return ks_references_open(p, parts, fd, out, err);
}

int ks_references_compute(const struct ks_problem *p, const struct ks_reference_inputs *in,
                          uint32_t parts, int fd, const struct ks_mask *mask,
                          struct ks_references *out, struct ks_err *err)
{
    size_t total = layout_of(n_elements(p), p->dtype, parts).total;
    void *map;
    int rc;

    if (fd >= 0)
        return compute_shared(p, in, parts, fd, mask, out, err);
    map = mmap(NULL, total, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (map == MAP_FAILED)
        return ks_fail_errno(err, "%zu bytes for references", total);
    rc = compute_into(p, in, parts, mask, map, err);
    if (rc == 0 && mprotect(map, total, PROT_READ) < 0)
        rc = ks_fail_errno(err, "protecting references");
    if (rc < 0) {
        munmap(map, total);
        return rc;
    }
    *out = view_of(p, parts, map);
    return 0;
}

void ks_references_release(struct ks_references *r)
{
    if (r->map != NULL)
        munmap(r->map, r->map_bytes);
    memset(r, 0, sizeof(*r));
}
