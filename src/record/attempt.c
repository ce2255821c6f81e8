/* SPDX-License-Identifier: MIT */
#include "record/attempt.h"
#include "record/outcome.h"
#include "record/record.h"

#include <stdbool.h>

static bool is_in_round_0(const struct ks_attempt *r)
{
    return r->role == KS_ROLE_CELL && r->round == 0;
}

static bool is_candidate(const struct ks_attempt *r, size_t n, size_t i)
{
    if (!is_in_round_0(&r[i]))
        return false;
    for (size_t k = 0; k < n; k++)
        if (is_in_round_0(&r[k]) && r[k].attempt == r[i].attempt && (r[k].flags & KS_FL_VOID))
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
