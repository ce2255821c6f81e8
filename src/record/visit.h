/* SPDX-License-Identifier: MIT */
/* visit.h - which visits are closed, and whose times count: the one rule that the race, the table
 * and the analysis share.
 *
 * A visit is what one block has of one round of a problem on one device. It is closed when each of
 * its n_visit instances has all its passes, or has failed. One that was cut (its worker died, or
 * the sweep was drained) measured only the first few instances of its order, so that its times say
 * nothing of who is fastest: they stay in the journal and in /attempts and count for nothing. */
#ifndef KS_RECORD_VISIT_H
#define KS_RECORD_VISIT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define KS_VISIT_PASSES 2u /* over the instances: A B C C B A */

struct ks_visit_pass { /* a record of role cell with n_visit > 0 */
    uint64_t device_id, block_id, instance;
    uint32_t race; /* any number of the problem in its run: visits of two races are two */
    uint32_t round, n_visit;
    bool is_void;  /* withdrawn: as if its instance had not been measured in the visit */
    bool is_timed; /* it counts (ks_record_counts) and the outcome of its cell is ok; if not, its
                      instance has failed */
    bool is_clean; /* neither contaminated nor suspect */
    size_t i;      /* the caller's number, distinct */
    /* set by ks_visits_close */
    bool is_closed; /* its visit is */
    bool counts;    /* .. and is the one of its race, device and round with the lowest block */
};

/* ks_visits_close() - which visits are closed, and which of them count.
 * @p [inout] [n] passes in any order, each once; afterwards by race, device, round, block,
 * instance, i */
void ks_visits_close(struct ks_visit_pass *p, size_t n, uint32_t passes);

/* ks_visits_device() - the device on which instances have most clean values of visits that count.
 * @p [in] [n] of one race, as ks_visits_close left them
 * Returns of equals, or when there is none, `own`, else the lowest id. */
uint64_t ks_visits_device(const struct ks_visit_pass *p, size_t n, uint64_t own);

#endif
