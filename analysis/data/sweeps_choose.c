/* SPDX-License-Identifier: MIT */
/* sweeps_choose.c - of a problem's records those that count, and the device whose visits count */
#include "analysis/data/sweeps_impl.h"

#include "record/attempt.h"
#include "record/outcome.h"
#include "record/visit.h"

#include <stdlib.h>

struct work {
    struct ks_attempt *keys; /* of one cell */
    bool *counts;
    struct ks_visit_pass *passes; /* all [n] */
};

size_t ks_sweeps_cell_end(const struct ks_sweep_entry *e, size_t first, size_t n)
{
    size_t end = first + 1;

    while (end < n && ks_cell_compare(&e[end].cell, &e[first].cell) == 0)
        end++;
    return end;
}

/* e: [n] of one cell. Without a final one it is pending: a lost attempt is to be measured again.
 * Its records still say whether visits are closed. */
static void mark_cell(const struct work *w, struct ks_sweep_entry *e, size_t n)
{
    bool is_done = false, is_ok;
    int final;

    for (size_t i = 0; i < n; i++) {
        w->keys[i] = (struct ks_attempt){ e[i].attempt,       e[i].round.round, KS_ROLE_CELL,
                                          e[i].round.outcome, e[i].flags,       e[i].disturbance };
        is_done = is_done || e[i].is_final;
    }
    final = ks_record_counts(w->keys, n, w->counts);
    is_ok = final >= 0 && w->keys[final].outcome == KS_O_OK;
    for (size_t i = 0; i < n; i++) {
        e[i].is_timed = w->counts[i] && is_ok;
        e[i].counts = w->counts[i] && is_done;
    }
}

static size_t list_passes(const struct ks_sweep_entry *e, size_t n, struct ks_visit_pass *out)
{
    size_t n_passes = 0;

    for (size_t i = 0; i < n; i++)
        if (e[i].round.round > 0 && e[i].n_visit > 0)
            out[n_passes++] = (struct ks_visit_pass){ .device_id = e[i].device_id,
                                                      .block_id = e[i].round.block_id,
                                                      .instance = e[i].cell.instance,
                                                      .round = e[i].round.round,
                                                      .n_visit = e[i].n_visit,
                                                      .is_void = e[i].flags & KS_FL_VOID,
                                                      .is_timed = e[i].is_timed,
                                                      .is_clean = e[i].round.is_clean,
                                                      .i = i };
    return n_passes;
}

/* Whether the visit of this pass counts and has measured anything that is clean. */
static bool is_fruitful(const struct ks_visit_pass *p, size_t n, const struct ks_visit_pass *of)
{
    for (size_t i = 0; i < n; i++)
        if (p[i].device_id == of->device_id && p[i].round == of->round &&
            p[i].block_id == of->block_id && p[i].counts && p[i].is_timed && p[i].is_clean)
            return true;
    return false;
}

/* 0: there is no visit. */
static uint64_t device_of_visits(const struct ks_sweep_entry *e, const struct ks_visit_pass *p,
                                 size_t n)
{
    const struct ks_visit_pass *last = NULL;

    for (size_t i = 0; i < n; i++)
        if (!last || e[p[i].i].round.started_ns > e[last->i].round.started_ns)
            last = &p[i];
    if (!last)
        return 0;
    return is_fruitful(p, n, last) ? last->device_id : ks_visits_device(p, n, last->device_id);
}

static void choose(struct ks_sweep_entry *e, size_t n, struct ks_visit_pass *p)
{
    const size_t n_passes = list_passes(e, n, p);
    uint64_t device;

    ks_visits_close(p, n_passes, KS_VISIT_PASSES);
    device = device_of_visits(e, p, n_passes);
    for (size_t i = 0; i < n_passes; i++)
        if (p[i].is_timed && (!p[i].counts || p[i].device_id != device))
            e[p[i].i].counts = false;
    for (size_t i = 0; i < n; i++)
        e[i].round.is_elsewhere = n_passes > 0 && e[i].round.round == 0 && e[i].device_id != device;
}

int ks_sweeps_choose(struct ks_sweep_entry *e, size_t n, struct ks_err *err)
{
    struct work w = { .keys = calloc(n + 1, sizeof(*w.keys)),
                      .counts = calloc(n + 1, sizeof(*w.counts)),
                      .passes = calloc(n + 1, sizeof(*w.passes)) };
    const bool is_enough = w.keys && w.counts && w.passes;

    for (size_t i = 0, end; is_enough && i < n; i = end) {
        end = ks_sweeps_cell_end(e, i, n);
        mark_cell(&w, &e[i], end - i);
    }
    if (is_enough)
        choose(e, n, w.passes);
    free(w.keys);
    free(w.counts);
    free(w.passes);
    return is_enough ? 0 : ks_fail(err, KS_ENOMEM, "out of memory for %zu records", n);
}
