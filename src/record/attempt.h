/* SPDX-License-Identifier: MIT */
/* attempt.h - which of a cell's attempts counts: the one rule that rank 0, resume, gather and the
 * table share. */
#ifndef KS_RECORD_ATTEMPT_H
#define KS_RECORD_ATTEMPT_H

#include <stddef.h>
#include <stdint.h>

struct ks_attempt { /* the fields of a record that the choice needs */
    uint32_t attempt, round, role, outcome, flags;
    double disturbance; /* < 0: not known (journals before schema 1.4) */
};

/* ks_record_final() - which attempt of a cell counts.
 * @r [in] [n] any order, one cell, all attempts; only round 0 decides the outcome
 * Candidates are the records of role cell that are not void: an attempt is void when any of its
 * records in round 0 has the flag (a record is withdrawn by journalling it again with the flag).
 * The highest attempt counts, except when it is `ok` and no suspect:
 *   - the highest attempt that is `ok` and not contaminated, if there is one;
 *   - else, of the attempts that are `ok` and no suspects, the one with the smallest disturbance;
 *     of equals the highest. An unknown disturbance is never preferred to a later attempt, and the
 *     highest attempt counts when its own is unknown.
 * Times never decide.
 * Returns the index, or -1 when there is none. */
int ks_record_final(const struct ks_attempt *r, size_t n);

#endif
