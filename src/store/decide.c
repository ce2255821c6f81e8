/* SPDX-License-Identifier: MIT */
/* decide.c - when all journals were read: which attempt of each cell counts, and which rounds */
#include "store/index.h"

#include "record/visit.h"

#include <stdlib.h>

/* ---- attempts ---- */

static uint32_t count_attempts(const struct ks_attempt *a, size_t n)
{
    uint32_t count = 0;

    for (size_t i = 0; i < n; i++)
        count += a[i].role == KS_ROLE_CELL && a[i].round == 0;
    return count;
}

/* Marks the records that count, those of visits included that do not. */
static int mark_counting(struct ks_index *x, struct ks_cell_info *cell, const struct ks_attempt *a,
                         const uint32_t *where, size_t n, struct ks_err *err)
{
    bool *counts = calloc(n + 1, sizeof(*counts));
    int final;

    if (!counts)
        return ks_fail(err, KS_ENOMEM, "out of memory for %zu records of a cell", n);
    final = ks_record_counts(a, n, counts);
    for (size_t i = 0; i < n; i++)
        ((struct ks_record_ref *)ks_list_at(&x->records, where[i]))->counts = counts[i];
    cell->is_timed = final >= 0 && a[final].outcome == KS_O_OK;
    if (final >= 0 && cell->max_started <= cell->max_done) {
        cell->final = where[final];
        x->n_measurements++;
    }
    free(counts);
    return 0;
}

static int decide(struct ks_index *x, struct ks_cell_info *cell, struct ks_list *held,
                  struct ks_list *where, struct ks_err *err)
{
    void *added;
    int rc = 0;

    held->n = where->n = 0;
    for (uint32_t i = cell->first; rc == 0 && i != KS_NO_ROW;) {
        const struct ks_record_ref *r = ks_list_at(&x->records, i);
        uint32_t at = i;

        i = r->next;
        rc = ks_list_add(held, &added, err);
        if (rc == 0)
            *(struct ks_attempt *)added = r->key;
        if (rc == 0)
            rc = ks_list_add(where, &added, err);
        if (rc == 0)
            *(uint32_t *)added = at;
    }
    if (rc < 0)
        return rc;
    cell->n_attempts = count_attempts(held->at, held->n);
    return mark_counting(x, cell, held->at, where->at, held->n, err);
}

bool ks_index_is_found(const struct ks_index *x, const struct ks_cell_info *cell)
{
    return cell->first != KS_NO_ROW &&
           ((struct ks_record_ref *)ks_list_at(&x->records, cell->first))->run_cell != KS_NO_ROW;
}

static bool row_counts(const struct ks_index *x, const struct ks_record_ref *ref)
{
    const struct ks_cell_info *run = ks_list_at(&x->cells, ref->run_cell);
    const struct ks_record_ref *done =
        run->final == KS_NO_ROW ? NULL : ks_list_at(&x->records, run->final);
    const struct ks_found_key row = { ref->worker, ref->key.attempt };
    const struct ks_found_key final = { done ? done->worker : 0, done ? done->key.attempt : 0 };

    return ks_found_counts(&row, done ? &final : NULL);
}

/* Repeats are runs with attempts of their own: those that count are taken for the rounds of one
 * attempt, the first of them for round 0; the others count as withdrawn. */
static void choose_rows(struct ks_index *x, const struct ks_cell_info *cell)
{
    uint32_t first = UINT32_MAX;
    struct ks_record_ref *ref;

    for (uint32_t i = cell->first; i != KS_NO_ROW; i = ref->next) {
        ref = ks_list_at(&x->records, i);
        if (!row_counts(x, ref)) {
            ref->key.flags |= KS_FL_VOID;
            ref->key.attempt = 0;
            continue;
        }
        struct ks_cell_info *run = ks_list_at(&x->cells, ref->run_cell);

        run->n_found++;
        run->is_told = run->is_told || ks_outcome_is_abnormal(ref->key.outcome);
        ref->key.attempt = 1;
        if (ref->key.round < first)
            first = ref->key.round;
    }
    for (uint32_t i = cell->first; i != KS_NO_ROW; i = ref->next) {
        ref = ks_list_at(&x->records, i);
        if (ref->key.attempt)
            ref->key.round -= first;
    }
}

static int decide_cells(struct ks_index *x, struct ks_err *err)
{
    struct ks_list held = { .size = sizeof(struct ks_attempt) };
    struct ks_list where = { .size = sizeof(uint32_t) };
    int rc = 0;

    x->n_measurements = 0;
    for (int turn = 0; turn < 2; turn++) /* runs of programs before their rows */
        for (size_t i = 0; rc == 0 && i < x->cells.n; i++) {
            struct ks_cell_info *cell = ks_list_at(&x->cells, i);

            if (ks_index_is_found(x, cell) != (turn == 1))
                continue;
            if (turn == 1)
                choose_rows(x, cell);
            rc = decide(x, cell, &held, &where, err);
        }
    ks_list_release(&held);
    ks_list_release(&where);
    return rc;
}

/* ---- visits ---- */

static bool is_pass(const struct ks_record_ref *r)
{
    return r->key.role == KS_ROLE_CELL && r->key.round > 0 && r->n_visit > 0;
}

static size_t count_passes(const struct ks_index *x)
{
    size_t n = 0;

    for (size_t i = 0; i < x->records.n; i++)
        n += is_pass(ks_list_at(&x->records, i));
    return n;
}

static void list_passes(const struct ks_index *x, struct ks_visit_pass *out)
{
    size_t n = 0;

    for (size_t i = 0; i < x->records.n; i++) {
        const struct ks_record_ref *r = ks_list_at(&x->records, i);
        const struct ks_cell_info *cell = ks_list_at(&x->cells, r->cell);

        if (is_pass(r))
            out[n++] = (struct ks_visit_pass){
                .race = cell->i_race,
                .device_id = r->device,
                .block_id = r->block,
                .instance = r->cell,
                .round = r->key.round,
                .n_visit = r->n_visit,
                .is_void = r->key.flags & KS_FL_VOID,
                .is_timed = r->counts && cell->is_timed,
                .i = i,
            };
    }
}

/* Times of visits that do not count do not, either. How a cell failed does in any visit. */
static int leave_out_visits(struct ks_index *x, struct ks_err *err)
{
    size_t n = count_passes(x);
    struct ks_visit_pass *p = malloc((n + 1) * sizeof(*p));

    if (!p)
        return ks_fail(err, KS_ENOMEM, "out of memory for %zu records of visits", n);
    list_passes(x, p);
    ks_visits_close(p, n, KS_VISIT_PASSES);
    for (size_t i = 0; i < n; i++)
        if (p[i].is_timed && !p[i].counts)
            ((struct ks_record_ref *)ks_list_at(&x->records, p[i].i))->counts = 0;
    free(p);
    return 0;
}

/* ---- rounds ---- */

static bool is_first_of_round(const struct ks_index *x, uint32_t first, uint32_t at)
{
    const uint32_t round = ((const struct ks_record_ref *)ks_list_at(&x->records, at))->key.round;

    while (first != at) {
        const struct ks_record_ref *r = ks_list_at(&x->records, first);

        if (r->counts && r->key.round == round)
            return false;
        first = r->next;
    }
    return true;
}

static void count_rounds(struct ks_index *x, struct ks_cell_info *cell)
{
    cell->n_kept = cell->n_rounds = 0;
    if (cell->final == KS_NO_ROW)
        return;
    for (uint32_t i = cell->first; i != KS_NO_ROW;) {
        const struct ks_record_ref *r = ks_list_at(&x->records, i);

        cell->n_kept += r->counts;
        cell->n_rounds += r->counts && is_first_of_round(x, cell->first, i);
        i = r->next;
    }
    x->has_rounds = x->has_rounds || cell->n_kept > 1;
}

int ks_index_decide(struct ks_index *x, struct ks_err *err)
{
    int rc = decide_cells(x, err);

    if (rc == 0)
        rc = leave_out_visits(x, err);
    for (size_t i = 0; rc == 0 && i < x->cells.n; i++)
        count_rounds(x, ks_list_at(&x->cells, i));
    return rc;
}
