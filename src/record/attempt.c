/* SPDX-License-Identifier: MIT */
/* attempt.c - decides which record of a cell is final, and which records count towards it */
#include "record/attempt.h"
#include "record/outcome.h"
#include "record/record.h"

static bool is_of(const struct ks_attempt *r, uint32_t attempt)
{
    return r->role == KS_ROLE_CELL && r->attempt == attempt;
}

static bool is_void(const struct ks_attempt *r, size_t n, uint32_t attempt, uint32_t round)
{
    for (size_t k = 0; k < n; k++)
        if (is_of(&r[k], attempt) && r[k].round == round && (r[k].flags & KS_FL_VOID))
            return true;
    return false;
}

/* Whether a rather than b says what their attempt came to. */
static bool speaks_before(const struct ks_attempt *a, const struct ks_attempt *b)
{
    const bool a_failed = a->outcome != KS_O_OK, b_failed = b->outcome != KS_O_OK;

    if (a_failed != b_failed)
        return a_failed;
    if (a->round != b->round)
        return a->round < b->round;
    return a->outcome > b->outcome;
}

static bool has_round_0(const struct ks_attempt *r, size_t n, uint32_t attempt)
{
    for (size_t k = 0; k < n; k++)
        if (is_of(&r[k], attempt) && r[k].round == 0)
            return !is_void(r, n, attempt, 0);
    return false;
}

static bool is_candidate(const struct ks_attempt *r, size_t n, size_t i)
{
    const uint32_t attempt = r[i].attempt;

    if (!is_of(&r[i], attempt) || (r[i].round > 0 && r[i].outcome == KS_O_OK) ||
        is_void(r, n, attempt, r[i].round) || !has_round_0(r, n, attempt))
        return false;
    for (size_t k = 0; k < n; k++)
        if (is_of(&r[k], attempt) && !is_void(r, n, attempt, r[k].round) &&
            (speaks_before(&r[k], &r[i]) || (k < i && !speaks_before(&r[i], &r[k]))))
            return false;
    return true;
}

static bool is_clean_ok(const struct ks_attempt *r)
{
    return r->outcome == KS_O_OK && !(r->flags & KS_FL_CONTAMINATED);
}

/* A suspicion that stands must not be lost behind another record that knew nothing of it. */
static bool is_ok_and_no_suspect(const struct ks_attempt *r)
{
    return r->outcome == KS_O_OK && !(r->flags & KS_FL_SUSPECT);
}

static bool is_later(const struct ks_attempt *r, int best, size_t i)
{
    return best < 0 || r[i].attempt > r[best].attempt;
}

/* The least disturbed one, compared with the highest attempt `last`. */
static int least_disturbed(const struct ks_attempt *r, size_t n, int last)
{
    int best = last;

    for (size_t i = 0; i < n && r[last].disturbance >= 0; i++) {
        double d = r[i].disturbance;

        if (!is_candidate(r, n, i) || !is_ok_and_no_suspect(&r[i]) || d < 0)
            continue;
        if (d < r[best].disturbance || (d <= r[best].disturbance && is_later(r, best, i)))
            best = (int)i;
    }
    return best;
}

int ks_record_final(const struct ks_attempt *r, size_t n)
{
    int last = -1, clean = -1;

    for (size_t i = 0; i < n; i++) {
        if (!is_candidate(r, n, i))
            continue;
        if (is_later(r, last, i))
            last = (int)i;
        if (is_clean_ok(&r[i]) && is_later(r, clean, i))
            clean = (int)i;
    }
    if (last < 0 || !is_ok_and_no_suspect(&r[last]))
        return last;
    return clean >= 0 ? clean : least_disturbed(r, n, last);
}

static bool came_to_ok(const struct ks_attempt *r, size_t n, uint32_t attempt)
{
    for (size_t k = 0; k < n; k++)
        if (is_of(&r[k], attempt) && r[k].outcome != KS_O_OK && !is_void(r, n, attempt, r[k].round))
            return false;
    return has_round_0(r, n, attempt);
}

int ks_record_counts(const struct ks_attempt *r, size_t n, bool *counts_out)
{
    int final = ks_record_final(r, n);
    const struct ks_attempt none = { .attempt = 0 }, *f = final < 0 ? &none : &r[final];

    for (size_t i = 0; i < n; i++) {
        const bool is_visit = f->outcome == KS_O_OK && r[i].round > 0;

        counts_out[i] = final >= 0 && r[i].role == KS_ROLE_CELL &&
                        (is_visit ? came_to_ok(r, n, r[i].attempt) : r[i].attempt == f->attempt) &&
                        !is_void(r, n, r[i].attempt, r[i].round);
    }
    return final;
}
