/* SPDX-License-Identifier: MIT */
/* sweeps.h - the rounds of every cell of one or more runs, side by side: from /attempts and
 * /samples of results files. A sweep is one run of one file.
 *
 * Kept of a cell are the records that count (ks_record_counts); when one of them failed the cell
 * failed. Visits, which are the rounds from 1 on, count if they are closed (record/visit.h), and of
 * a problem in a sweep those on one device only. No column names the device that the race ended on,
 * so it is found as the race does (coord_visit.c): it is that of the last visit, or, if this one
 * was cut or gave nothing clean, the one with most clean values (ks_visits_device). Round 0 on
 * another device is kept and marked. Aliases have no times of their own, but name
 * their representative. */
#ifndef KS_ANALYSIS_SWEEPS_H
#define KS_ANALYSIS_SWEEPS_H

#include "base/buf.h"
#include "base/err.h"
#include "record/statistic.h"
#include "store/keys.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* What a sweep was made with; each a list of distinct texts with ", " between them. */
enum ks_fact { KS_FACT_DEVICE, KS_FACT_DRIVER, KS_FACT_COMPILER, KS_FACT_VERSION, KS_N_FACTS };
extern const char *const ks_fact_names[]; /* "device", "driver", "compiler", "ksweep" */

struct ks_sweep {
    const char *path; /* as it was given; borrowed */
    char run_id[33];
    uint64_t started_ns;
    enum ks_statistic statistic; /* of its labels: what its file says, else by its backend */
    struct ks_buf fact[KS_N_FACTS];
};
struct ks_sweep_problem {
    uint64_t id;
    char name[192];
    int64_t n_uses;          /* >= 1 */
    double flops, min_bytes; /* < 0: not known */
};
struct ks_sweep_instance {
    uint64_t id;
    char name[192];
};
struct ks_sweep_domain { /* cells that may be compared: one class of devices, one condition */
    uint64_t device_class, condition;
    char device[64];
};

#define KS_NO_INSTANCE UINT32_MAX

/* One record of role cell. Failed cells have one entry, whose outcome is not KS_O_OK. */
struct ks_sweep_round {
    uint32_t sweep, domain, problem, instance; /* numbers in struct ks_sweeps */
    uint32_t round, position;
    uint32_t outcome;        /* enum ks_outcome */
    uint32_t representative; /* of an aliased cell: number of an instance, or KS_NO_INSTANCE */
    uint32_t n_samples, calls;
    bool is_clean;     /* neither contaminated nor suspect */
    bool is_elsewhere; /* round 0, on another device than the visits of its problem */
    uint64_t started_ns;
    uint64_t block_id;
    double log_anchor;              /* log of the time of its block's anchor; 0 not known */
    double anchor_shift;            /* log of that at the block's end / at its start; 0 not known */
    double log_ns[KS_N_STATISTICS]; /* of its samples; 0 when it failed */
    double span; /* log of the upper over the lower quartile of its samples; < 0: fewer than 4 */
    double spent_ns;     /* kernel time of all its samples */
    size_t first_sample; /* in ns, when samples are kept */
};

struct ks_sweeps { /* zero-initialised = empty */
    struct ks_sweep *sweeps;
    struct ks_sweep_problem *problems;   /* in the order of the files */
    struct ks_sweep_instance *instances; /* likewise */
    struct ks_sweep_domain *domains;
    uint32_t n_sweeps, n_problems, n_instances, n_domains;
    struct ks_sweep_round *rounds; /* [n_rounds] by domain, problem, instance, sweep, round */
    size_t n_rounds;
    float *ns; /* [n_ns] samples, when they are kept */
    size_t n_ns;
    bool keeps_samples;                                     /* set before the first load */
    size_t cap_rounds, cap_ns, cap_problems, cap_instances; /* private, as the next line */
    struct ks_keys problem_keys, instance_keys;             /* id -> number */
};

/* ks_sweeps_load() - adds the runs of one results file.
 * @path [in] a file, or a run directory whose results.h5 is meant; borrowed
 * Returns 0; KS_ENOENT, KS_EIO, KS_EFORMAT as ks_store_open; KS_EEXIST a run that is there already;
 * KS_ENOMEM. After a failure only ks_sweeps_release is allowed. */
int ks_sweeps_load(struct ks_sweeps *s, const char *path, struct ks_err *err);
/* The label's statistic of all sweeps; KS_EINVAL when they differ. */
int ks_sweeps_statistic(const struct ks_sweeps *s, enum ks_statistic *out, struct ks_err *err);
/* Puts rounds in order; once, after the last load. */
void ks_sweeps_sort(struct ks_sweeps *s);
void ks_sweeps_release(struct ks_sweeps *s);

#endif
