/* SPDX-License-Identifier: MIT */
/* attempt.h - which of a cell's attempts, and which of its rounds, count: the one rule that rank 0,
 * resume, the race, gather, the table and the analysis share. */
#ifndef KS_RECORD_ATTEMPT_H
#define KS_RECORD_ATTEMPT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct ks_attempt { /* the fields of a record that the choice needs */
    uint32_t attempt, round, role, outcome, flags;
    double disturbance; /* < 0: not known (journals before schema 1.4) */
};

/* ks_record_final() - which attempt of a cell counts.
 * @r [in] [n] any order, one cell, all attempts and rounds
 * Only records of role cell count. A record with the flag void, which no version has written so
 * far, withdraws: in round 0 its attempt, in a later round all that the attempt has of that round.
 * What an attempt came to is said by one of its records: by the failure in the lowest round,
 * else by round 0. The candidates are these records, one per attempt that has a round 0 and is not
 * void.
 * The highest attempt counts, except when it is `ok` and no suspect:
 *   - the highest attempt that is `ok` and not contaminated, if there is one;
 *   - else, of the attempts that are `ok` and no suspects, the one with the smallest disturbance;
 *     of equals the highest. An unknown disturbance is never preferred to a later attempt, and the
 *     highest attempt counts when its own is unknown.
 * Times never decide.
 * Returns the index of a candidate, or -1 when there is none. */
int ks_record_final(const struct ks_attempt *r, size_t n);

/* ks_record_counts() - which records the time of a cell is made of: of what (attempt, round)s.
 * @r [in] [n] as for ks_record_final
 * @counts_out [out] [n]
 * No cell (-1): none. A failed cell: the records of the attempt that counts. An `ok` cell: round 0
 * of the attempt that counts, and the rounds from 1 on of every attempt that came to `ok`; visits
 * join the highest attempt, which need not be the one whose round 0 was least disturbed. What is
 * void never counts. Rounds that are visits then count if their visit does, which depends on all
 * cells of the problem (record/visit.h). Returns ks_record_final(r, n). */
int ks_record_counts(const struct ks_attempt *r, size_t n, bool *counts_out);

#endif
