/* SPDX-License-Identifier: MIT */
/* units.c - which instances are compiled together. */
#include "build/plan.h"

#include <stdlib.h>
#include <string.h>

#define UNIT_SIZE 27u
/* With fewer for each they are handed out at once: a compiler's start, and what instances share,
 * cost as much as two or three of them. */
#define LAST_UNIT 24u

/* Factoring (Hummel, Schonberg, Flynn 1992): rounds of equal units, each round half of what is
 * left, so that all who compile end at about the same time. */
uint32_t ks_units_size(uint32_t left, uint32_t unit_size, uint32_t n_parallel)
{
    uint32_t n = unit_size;
    if (n_parallel > 1)
        n = left / n_parallel >= LAST_UNIT ? left / n_parallel / 2
                                           : (left + n_parallel - 1) / n_parallel;
    return n < 1 ? 1 : n < unit_size ? n : unit_size;
}

static bool is_buildable(const struct ks_build *b, uint32_t i_instance)
{
    return b->artefacts[i_instance].state != KS_ART_UNSUPPORTED &&
           b->tools.of[i_instance] != KS_NO_TOOL;
}

/* Instances that may share a unit have the same. */
static int group_of(const struct ks_build *b, uint32_t i, struct ks_buf *out, struct ks_err *err)
{
    ks_buf_clear(out);
    ks_buf_printf(out, "%u %u ", b->grid->instances[i].i_family, b->tools.of[i]);
    ks_build_flags(b, i, out);
    return ks_buf_ok(out) ? 0 : ks_fail(err, KS_ENOMEM, "out of memory for the units of a build");
}

/* i_group: [ks_grid_n_built()] numbers in the order of the first of each. */
static int find_groups(const struct ks_build *b, uint32_t *i_group, uint32_t *n_out,
                       struct ks_err *err)
{
    struct ks_buf mine, other;
    uint32_t n_groups = 0, *first = calloc(ks_grid_n_built(b->grid) + 1u, sizeof(*first));
    int rc = first ? 0 : ks_fail(err, KS_ENOMEM, "out of memory for the units of a build");
    ks_buf_init(&mine);
    ks_buf_init(&other);
    for (uint32_t i = 0; i < ks_grid_n_built(b->grid) && rc == 0; i++) {
        uint32_t g = 0;
        if (!is_buildable(b, i))
            continue;
        rc = group_of(b, i, &mine, err);
        for (; g < n_groups && rc == 0; g++) {
            rc = group_of(b, first[g], &other, err);
            if (rc == 0 && mine.len == other.len && memcmp(mine.data, other.data, mine.len) == 0)
                break;
        }
        if (g == n_groups)
            first[n_groups++] = i;
        i_group[i] = g;
    }
    ks_buf_release(&mine);
    ks_buf_release(&other);
    free(first);
    *n_out = n_groups;
    return rc;
}

static struct ks_id128 key_of(const struct ks_build *b, const struct ks_unit *u)
{
    struct ks_sha256 h;
    ks_sha256_init(&h);
    for (uint32_t i = 0; i < u->n; i++) {
        char hex[33];
        ks_hex128(b->artefacts[b->order[u->first + i]].build_id, hex);
        ks_sha256_add(&h, hex, sizeof(hex));
    }
    return ks_sha256_id128(&h);
}

struct cutter { /* of one round */
    uint32_t n_parallel, unit_size;
    uint32_t left; /* instances in no unit yet */
    uint32_t size, n_units;
};

/* Units of order[at..end), of one group. */
static void cut_group(struct ks_build *b, struct cutter *c, uint32_t at, uint32_t end)
{
    while (at < end) {
        if (c->n_units++ % c->n_parallel == 0)
            c->size = ks_units_size(c->left, c->unit_size, c->n_parallel);
        const uint32_t n = c->size < end - at ? c->size : end - at;
        struct ks_unit *u = &b->units[b->n_units++];
        *u = (struct ks_unit){ .first = at, .n = n };
        u->key = key_of(b, u);
        at += n;
        c->left -= n;
    }
}

/* By family, compiler and flags, in the config's order: the same units for all who build it. */
int ks_units_cut(struct ks_build *b, uint32_t unit_size, uint32_t n_parallel, struct ks_err *err)
{
    const uint32_t n = ks_grid_n_built(b->grid);
    struct cutter c = { .n_parallel = n_parallel ? n_parallel : 1,
                        .unit_size = unit_size ? unit_size : UNIT_SIZE };
    uint32_t n_groups = 0, n_order = 0, *i_group = calloc(n + 1u, sizeof(*i_group));
    int rc = i_group ? find_groups(b, i_group, &n_groups, err)
                     : ks_fail(err, KS_ENOMEM, "out of memory for the units of a build");
    for (uint32_t i = 0; i < n; i++)
        c.left += is_buildable(b, i);
    for (uint32_t g = 0; g < n_groups && rc == 0; g++) {
        const uint32_t from = n_order;
        for (uint32_t i = 0; i < n; i++)
            if (i_group[i] == g && is_buildable(b, i))
                b->order[n_order++] = i;
        cut_group(b, &c, from, n_order);
    }
    free(i_group);
    return rc;
}
