/* SPDX-License-Identifier: MIT */
/* buffers.c - operands, output and workspace on the device between guard zones */
#include "worker/buffers.h"

#include "base/hash.h"
#include "op/clones.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void fill(uint8_t *to, size_t n, uint32_t pattern)
{
    size_t whole = n / sizeof(pattern) * sizeof(pattern);

    for (size_t i = 0; i < whole; i += sizeof(pattern))
        memcpy(to + i, &pattern, sizeof(pattern));
    memcpy(to + whole, &pattern, n - whole);
}

void ks_zone_mend(struct ks_zone *z)
{
    if (z->view == NULL)
        return;
    fill(z->view, KS_GUARD_BYTES, z->guard);
    fill(z->view + KS_GUARD_BYTES + z->bytes, KS_GUARD_BYTES, z->guard);
}

void ks_zone_release(struct ks_device *dev, struct ks_zone *z)
{
    if (z->is_copy)
        free(z->view);
    if (z->mem != NULL)
        dev->ops->free(dev, z->mem);
    memset(z, 0, sizeof(*z));
}

static int zone_allocate(struct ks_device *dev, struct ks_zone *z, size_t bytes, struct ks_err *err)
{
    struct ks_zone n = { .cap = bytes };
    size_t whole = bytes + 2 * KS_GUARD_BYTES;
    void *mem = NULL;
    int rc;

    if (whole < bytes)
        return ks_fail(err, KS_ENOMEM, "out of memory for a buffer of %zu bytes", bytes);
    ks_zone_release(dev, z);
    rc = dev->ops->alloc(dev, whole, &mem, err);
    if (rc < 0)
        return rc;
    n.mem = mem;
    n.view = dev->ops->host_view(dev, mem);
    if (n.view == NULL) {
        n.view = malloc(whole);
        n.is_copy = true;
    }
    if (n.view == NULL) {
        ks_zone_release(dev, &n);
        return ks_fail(err, KS_ENOMEM, "out of memory for a copy of %zu bytes", whole);
    }
    *z = n;
    return 0;
}

void *ks_zone_device(const struct ks_zone *z)
{
    return z->mem != NULL ? z->mem + KS_GUARD_BYTES : NULL;
}

void *ks_zone_host(const struct ks_zone *z)
{
    return z->view != NULL ? z->view + KS_GUARD_BYTES : NULL;
}

int ks_zone_push(struct ks_device *dev, struct ks_zone *z, struct ks_err *err)
{
    if (!z->is_copy)
        return 0;
    return dev->ops->upload(dev, z->mem, z->view, z->bytes + 2 * KS_GUARD_BYTES, err);
}

int ks_zone_pull(struct ks_device *dev, struct ks_zone *z, struct ks_err *err)
{
    if (!z->is_copy)
        return 0;
    z->has_pulled = true;
    return dev->ops->download(dev, z->view, z->mem, z->bytes + 2 * KS_GUARD_BYTES, err);
}

typedef int (*transfer_fn)(struct ks_device *dev, struct ks_zone *z, size_t from, size_t n,
                           struct ks_err *err);

static int upload(struct ks_device *dev, struct ks_zone *z, size_t from, size_t n,
                  struct ks_err *err)
{
    return dev->ops->upload(dev, z->mem + from, z->view + from, n, err);
}

static int download(struct ks_device *dev, struct ks_zone *z, size_t from, size_t n,
                    struct ks_err *err)
{
    return dev->ops->download(dev, z->view + from, z->mem + from, n, err);
}

static int transfer_guards(struct ks_device *dev, struct ks_zone *z, transfer_fn transfer,
                           struct ks_err *err)
{
    int rc;

    if (!z->is_copy)
        return 0;
    rc = transfer(dev, z, 0, KS_GUARD_BYTES, err);
    return rc == 0 ? transfer(dev, z, KS_GUARD_BYTES + z->bytes, KS_GUARD_BYTES, err) : rc;
}

int ks_zone_push_guards(struct ks_device *dev, struct ks_zone *z, struct ks_err *err)
{
    return transfer_guards(dev, z, upload, err);
}

int ks_zone_pull_guards(struct ks_device *dev, struct ks_zone *z, struct ks_err *err)
{
    return transfer_guards(dev, z, download, err);
}

int ks_zone_resize(struct ks_device *dev, struct ks_zone *z, size_t bytes, uint32_t guard,
                   struct ks_err *err)
{
    int rc;

    if (bytes == 0) {
        ks_zone_release(dev, z);
        return 0;
    }
    if (z->mem == NULL || z->cap < bytes) {
        rc = zone_allocate(dev, z, bytes, err);
        if (rc < 0)
            return rc;
    }
    z->bytes = bytes;
    z->guard = guard;
    ks_zone_mend(z);
    rc = ks_zone_push_guards(dev, z, err);
    if (rc < 0)
        ks_zone_release(dev, z);
    return rc;
}

int ks_zone_fill(struct ks_device *dev, struct ks_zone *z, uint32_t pattern, struct ks_err *err)
{
    size_t whole = z->bytes / sizeof(pattern) * sizeof(pattern);
    int rc;

    if (z->view == NULL)
        return 0;
    if (!z->is_copy) {
        fill(ks_zone_host(z), z->bytes, pattern);
        return 0;
    }
    rc = whole > 0 ? dev->ops->fill(dev, ks_zone_device(z), pattern, whole, err) : 0;
    if (rc < 0 || whole == z->bytes)
        return rc;
    fill(z->view + KS_GUARD_BYTES + whole, z->bytes - whole, pattern);
    return upload(dev, z, KS_GUARD_BYTES + whole, z->bytes - whole, err);
}

void ks_zone_fill_view(struct ks_zone *z, uint32_t pattern)
{
    if (z->view != NULL)
        fill(ks_zone_host(z), z->bytes, pattern);
}

/* `nothing` is 0, which the compiler does not know. */
static void add_to_words(uint8_t *p, size_t n, uint32_t nothing)
{
    for (size_t i = 0; i + sizeof(uint32_t) <= n; i += sizeof(uint32_t)) {
        uint32_t word;

        memcpy(&word, p + i, sizeof(word));
        word += nothing;
        memcpy(p + i, &word, sizeof(word));
    }
}

void ks_zone_rewrite(struct ks_zone *z)
{
    const volatile uint32_t nothing = 0;

    if (z->view != NULL && !z->is_copy)
        add_to_words(ks_zone_host(z), z->bytes, nothing);
}

static bool guard_is_intact(const uint8_t *at, uint32_t pattern, size_t *offset_out)
{
    uint8_t want[KS_GUARD_BYTES];

    fill(want, sizeof(want), pattern);
    if (memcmp(at, want, sizeof(want)) == 0)
        return true;
    *offset_out = 0;
    while (at[*offset_out] == want[*offset_out])
        (*offset_out)++;
    return false;
}

bool ks_zone_is_intact(const struct ks_zone *z, int64_t *offset_out)
{
    size_t at = 0;

    if (z->view == NULL)
        return true;
    if (!guard_is_intact(z->view, z->guard, &at)) {
        *offset_out = (int64_t)at - (int64_t)KS_GUARD_BYTES;
        return false;
    }
    if (!guard_is_intact(z->view + KS_GUARD_BYTES + z->bytes, z->guard, &at)) {
        *offset_out = (int64_t)(z->bytes + at);
        return false;
    }
    return true;
}

typedef uint32_t lanes __attribute__((vector_size(64), aligned(1), may_alias));

KS_CLONES static void hash_lanes(const uint8_t *p, size_t n_blocks, uint32_t sum_out[16])
{
    lanes sum = { 0 };

    /* Each step is a bijection of the sum, so a single changed word is never lost. */
    for (size_t i = 0; i < n_blocks; i++)
        sum = ((sum << 5) | (sum >> 27)) + *(const lanes *)(p + i * sizeof(lanes));
    memcpy(sum_out, &sum, sizeof(sum));
}

uint64_t ks_quick_hash(const void *bytes, size_t n)
{
    const uint8_t *p = bytes;
    size_t n_blocks = n / sizeof(lanes), done = n_blocks * sizeof(lanes);
    uint32_t sum[16];
    uint64_t h = n;

    hash_lanes(p, n_blocks, sum);
    for (size_t i = 0; i < 16; i++)
        h = ks_mix64(h ^ sum[i]);
    for (size_t i = done; i < n; i++)
        h = ks_mix64(h ^ p[i]);
    return h;
}

static uint64_t zone_hash(const struct ks_zone *z)
{
    return z->view != NULL ? ks_quick_hash(z->view, z->bytes + 2 * KS_GUARD_BYTES) : 0;
}

/* Write an input's data and guards, from the problem's seed alone. */
static int make_input(struct ks_workset *set, size_t i, struct ks_err *err)
{
    enum ks_data data = i < KS_Z_REAL_A ? KS_DATA_EXACT : KS_DATA_RANDOM;
    struct ks_zone *z = &set->zone[i];

    ks_zone_mend(z);
    ks_problem_inputs(&set->problem, data, i % 2 == 0 ? 'a' : 'b', ks_zone_host(z));
    return ks_zone_push(set->dev, z, err);
}

static int allocate_operands(struct ks_workset *s, bool has_exact, struct ks_err *err)
{
    size_t bytes[2] = { (size_t)s->extents.a * s->element_bytes,
                        (size_t)s->extents.b * s->element_bytes };
    int rc = 0;

    for (size_t i = has_exact ? KS_Z_EXACT_A : KS_Z_REAL_A; rc == 0 && i < KS_Z_INPUTS; i++) {
        rc = ks_zone_resize(s->dev, &s->zone[i], bytes[i % 2], KS_PATTERN_NAN, err);
        if (rc == 0)
            rc = make_input(s, i, err);
        if (rc == 0)
            s->hash[i] = zone_hash(&s->zone[i]);
    }
    if (rc == 0)
        rc = ks_zone_resize(s->dev, &s->zone[KS_Z_C], (size_t)s->extents.c * s->element_bytes,
                            KS_PATTERN_EDGE, err);
    if (rc == 0)
        rc = ks_signs_create(&s->problem, &s->signs, err);
    return rc == 0 ? ks_zone_fill(s->dev, &s->zone[KS_Z_C], KS_PATTERN_NAN, err) : rc;
}

int ks_workset_create(struct ks_device *dev, const struct ks_problem *p, bool has_exact,
                      struct ks_workset *set_out, struct ks_err *err)
{
    struct ks_workset s = { .dev = dev, .problem = *p, .op = ks_operators[p->op] };
    int rc = 0;

    s.op->to_abi(p, &s.abi);
    s.extents = s.op->extents(p);
    s.element_bytes = ks_dtype_bytes(p->dtype);
    if (!dev->ops->is_virtual)
        rc = allocate_operands(&s, has_exact, err);
    if (rc < 0) {
        ks_workset_release(&s);
        return rc;
    }
    *set_out = s;
    return 0;
}

void ks_workset_release(struct ks_workset *set)
{
    for (size_t i = 0; i < KS_Z_COUNT; i++)
        ks_zone_release(set->dev, &set->zone[i]);
    ks_signs_release(&set->signs);
    memset(set, 0, sizeof(*set));
}

struct ks_abi_buffers ks_workset_buffers(const struct ks_workset *set, enum ks_data data)
{
    size_t a = data == KS_DATA_EXACT ? KS_Z_EXACT_A : KS_Z_REAL_A;

    return (struct ks_abi_buffers){ .a = ks_zone_device(&set->zone[a]),
                                    .b = ks_zone_device(&set->zone[a + 1]),
                                    .c = ks_zone_device(&set->zone[KS_Z_C]),
                                    .workspace = ks_zone_device(&set->zone[KS_Z_WORKSPACE]) };
}

static int check_guard(struct ks_workset *set, size_t i, bool is_whole, bool *is_intact,
                       char *reason_out, size_t cap, struct ks_err *err)
{
    static const char *const name[KS_Z_COUNT] = {
        [KS_Z_C] = "output", [KS_Z_WORKSPACE] = "workspace"
    };
    struct ks_zone *z = &set->zone[i];
    int64_t at = 0;
    int rc = is_whole ? ks_zone_pull(set->dev, z, err) : ks_zone_pull_guards(set->dev, z, err);

    if (rc < 0 || ks_zone_is_intact(z, &at))
        return rc;
    if (*is_intact)
        snprintf(reason_out, cap, "wrote at byte %lld of the %s of %zu bytes", (long long)at,
                 name[i], z->bytes);
    *is_intact = false;
    ks_zone_mend(z);
    return ks_zone_push_guards(set->dev, z, err);
}

bool ks_workset_check_guards(struct ks_workset *set, bool has_output, char *reason_out, size_t cap,
                             int *rc_out, struct ks_err *err)
{
    bool is_intact = true;

    *rc_out = 0;
    for (size_t i = KS_Z_C; *rc_out == 0 && i < KS_Z_COUNT; i++)
        *rc_out = check_guard(set, i, i == KS_Z_C && has_output, &is_intact, reason_out, cap, err);
    return is_intact && *rc_out == 0;
}

int ks_workset_poison(struct ks_workset *set, struct ks_err *err)
{
    int rc = 0;

    for (size_t i = KS_Z_C; rc == 0 && i < KS_Z_COUNT; i++) {
        struct ks_zone *z = &set->zone[i];

        rc = ks_zone_fill(set->dev, z, KS_PATTERN_NAN, err);
        if (z->has_pulled)
            fill(ks_zone_host(z), z->bytes, KS_PATTERN_NAN);
        z->has_pulled = false;
    }
    return rc;
}

int ks_workset_push_inputs(struct ks_workset *set, struct ks_err *err)
{
    int rc = 0;

    for (size_t i = 0; rc == 0 && i < KS_Z_INPUTS; i++)
        if (set->zone[i].mem != NULL)
            rc = ks_zone_push(set->dev, &set->zone[i], err);
    return rc;
}

int ks_workset_flip(struct ks_workset *set, enum ks_zone_name zone, struct ks_err *err)
{
    struct ks_zone *z = &set->zone[zone];
    const char operand = zone == KS_Z_C ? 'c' : zone == KS_Z_REAL_A ? 'a' : 'b';
    int rc = zone != KS_Z_C ? ks_zone_pull(set->dev, z, err) : 0;

    if (rc < 0)
        return rc;
    ks_signs_flip(&set->signs, operand, set->problem.dtype, ks_zone_host(z));
    return zone != KS_Z_C ? ks_zone_push(set->dev, z, err) : 0;
}

bool ks_workset_is_hidden(const struct ks_workset *set)
{
    return set->zone[KS_Z_C].is_copy;
}

bool ks_workset_check_input(struct ks_workset *set, size_t i_zone, char *reason_out, size_t cap,
                            int *rc_out, struct ks_err *err)
{
    struct ks_zone *z = &set->zone[i_zone];
    char letter = i_zone % 2 == 0 ? 'a' : 'b';
    int64_t at = 0;

    *rc_out = z->view != NULL ? ks_zone_pull(set->dev, z, err) : 0;
    if (*rc_out < 0)
        return false;
    if (zone_hash(z) == set->hash[i_zone])
        return true;
    if (ks_zone_is_intact(z, &at))
        snprintf(reason_out, cap, "wrote its input %c", letter);
    else
        snprintf(reason_out, cap, "wrote at byte %lld of its input %c of %zu bytes", (long long)at,
                 letter, z->bytes);
    *rc_out = make_input(set, i_zone, err);
    return false;
}

bool ks_workset_check_inputs(struct ks_workset *set, char *reason_out, size_t cap, int *rc_out,
                             struct ks_err *err)
{
    bool is_intact = true;

    *rc_out = 0;
    for (size_t i = 0; *rc_out == 0 && i < KS_Z_INPUTS; i++) {
        char reason[160] = "";

        if (ks_workset_check_input(set, i, reason, sizeof(reason), rc_out, err))
            continue;
        if (is_intact)
            snprintf(reason_out, cap, "%s", reason);
        is_intact = false;
    }
    return is_intact && *rc_out == 0;
}
