/* SPDX-License-Identifier: MIT */
#include "simt_async.h"

#include <string.h>

static void land(struct ks_simt_copies *c, const struct ks_simt_memory *m,
                 const struct ks_simt_copy *one)
{
    memcpy(m->seen + one->at, one->src, one->bytes);
    c->written[c->n_written++ % KS_SIMT_MAX_WRITTEN] = *one;
}

void ks_simt_copies_begin(struct ks_simt_copies *c, const struct ks_simt_memory *m, uint32_t at,
                          const void *src, uint32_t bytes, bool is_late)
{
    const struct ks_simt_copy one = { at, bytes, src, c->n_groups };

    memset(m->async + at, 0xff, bytes);
    if (!is_late || c->n == KS_SIMT_MAX_COPIES) {
        land(c, m, &one);
        return;
    }
    memset(m->seen + at, 0xff, bytes);
    c->under_way[c->n++] = one;
}

void ks_simt_copies_wait(struct ks_simt_copies *c, const struct ks_simt_memory *m, int n_pending)
{
    unsigned kept = 0;

    for (unsigned i = 0; i < c->n; i++) {
        if (c->under_way[i].group + (unsigned)n_pending < c->n_groups)
            land(c, m, &c->under_way[i]);
        else
            c->under_way[kept++] = c->under_way[i];
    }
    c->n = kept;
}

static void show(struct ks_simt_copies *c, const struct ks_simt_memory *m, uint64_t n)
{
    const uint64_t n_known =
        c->n_written < KS_SIMT_MAX_WRITTEN ? c->n_written : KS_SIMT_MAX_WRITTEN;

    if (n > n_known)
        n = n_known;
    for (uint64_t i = 0; i < n; i++)
        memcpy(m->async + c->written[i].at, m->seen + c->written[i].at, c->written[i].bytes);
    memmove(c->written, c->written + n, (size_t)(n_known - n) * sizeof c->written[0]);
    c->n_written = n_known - n;
    c->n_handed = 0;
}

void ks_simt_copies_show(struct ks_simt_copies *c, const struct ks_simt_memory *m)
{
    show(c, m, c->n_written);
}

void ks_simt_copies_hand_over(struct ks_simt_copies *c)
{
    c->n_handed = c->n_written;
}

void ks_simt_copies_show_handed(struct ks_simt_copies *c, const struct ks_simt_memory *m)
{
    if (c->n_handed)
        show(c, m, c->n_handed);
}
