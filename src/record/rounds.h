/* SPDX-License-Identifier: MIT */
/* rounds.h - the time of a cell over its rounds: the one rule that the race, gather and the table
 * share. */
#ifndef KS_RECORD_ROUNDS_H
#define KS_RECORD_ROUNDS_H

#include "record/record.h"
#include "record/statistic.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The label's statistic of one record's samples, by the backend (base/backend.h) that measured:
 * on host the 10 % quantile, which had the least regret of all that were compared
 * (docs/benchmarks.md, repeat); elsewhere, unknown names included, the median. */
enum ks_statistic ks_label_statistic(const char *backend);
/* And over rounds, whatever the backend. */
#define KS_LABEL_OVER      KS_OVER_MEDIAN
#define KS_LABEL_OVER_NAME KS_OVER_NAME_MEDIAN

/* The time of one record, ns; 0 when it has no samples. */
double ks_rounds_statistic(const struct ks_record *r, enum ks_statistic statistic);

struct ks_round_time { /* a round of a cell on a device */
    uint64_t device_id;
    uint32_t round, n; /* n: records, >= 1 */
    bool is_clean;     /* none of them contaminated or suspect */
    double sum;        /* of the logs of their times, ns */
};

/* Takes a record with this time (ns, > 0) into v [*n_io], which has room for one more. */
void ks_rounds_add(struct ks_round_time *v, size_t *n_io, const struct ks_record *r,
                   double time_ns);

/* ks_rounds_time() - KS_LABEL_OVER of the rounds' means of logs, as a time. Only the
 * clean rounds on this device count; if there is none, all on this device.
 * @scratch [out] [2 n]. Returns ns; -1: there is no round on this device. */
double ks_rounds_time(const struct ks_round_time *v, size_t n, uint64_t device_id, double *scratch);

#endif
