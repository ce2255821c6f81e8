/* SPDX-License-Identifier: MIT */
/* rounds.h - the time of a cell over its rounds: the one rule that the race, gather and the table
 * share. */
#ifndef KS_RECORD_ROUNDS_H
#define KS_RECORD_ROUNDS_H

#include "record/record.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum ks_rounds_over { KS_ROUNDS_MEDIAN = 0, KS_ROUNDS_MINIMUM = 1 };

/* ks_rounds_over() - one value from those of n >= 1 rounds, ascending; of an even number the mean
 * of the middle two. over: enum ks_rounds_over. */
double ks_rounds_over(const double *sorted, size_t n, uint32_t over);

/* The time of one record, ns: the median of its samples; 0 when it has none. */
double ks_rounds_statistic(const struct ks_record *r);

struct ks_round_time { /* a round of a cell on a device */
    uint64_t device_id;
    uint32_t round, n; /* n: records, >= 1 */
    bool is_clean;     /* none of them contaminated or suspect */
    double sum;        /* of the logs of their times, ns */
};

/* Takes a record with this time (ns, > 0) into v [*n_io], which has room for one more. */
void ks_rounds_add(struct ks_round_time *v, size_t *n_io, const struct ks_record *r,
                   double time_ns);

/* ks_rounds_time() - the median over rounds of the mean of the logs in a round, as a time. Only the
 * clean rounds on this device count; if there is none, all on this device.
 * @scratch [out] [n]. Returns ns; -1: there is no round on this device. */
double ks_rounds_time(const struct ks_round_time *v, size_t n, uint64_t device_id, double *scratch);

#endif
