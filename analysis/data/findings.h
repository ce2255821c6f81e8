/* SPDX-License-Identifier: MIT */
/* findings.h - what analysis/learn found in a results file, as plain values: the only thing that
 * learn and the writers of reports share. Texts are borrowed from the file; -1 stands for a time,
 * speed or ratio that is not known. */
#ifndef KS_ANALYSIS_FINDINGS_H
#define KS_ANALYSIS_FINDINGS_H

#include "record/outcome.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define KS_NOT_KNOWN (-1.0)

/* ---- rows of the joined tables ---- */

struct ks_problem_ref {
    uint64_t id;
    const char *name, *canonical; /* "" = none */
    double flops;                 /* or KS_NOT_KNOWN */
};
struct ks_instance_ref { /* as built in one run */
    uint64_t id;
    const char *name, *code_id; /* "" = none */
    uint32_t config_order;      /* among the instances of its run's configs */
    uint32_t code_group;        /* rows with the same code_id; UINT32_MAX = none */
};
struct ks_device_ref {
    uint64_t id;
    uint32_t rank;
    const char *host, *model, *core_set, *text;
};

/* ---- findings ---- */

struct ks_best { /* of one problem */
    const struct ks_problem_ref *problem;
    const struct ks_instance_ref *kernel; /* NULL: no instance is ok */
    double median_ns, se_ns, lo95_ns, hi95_ns;
    double gflops, gflops_se, gflops_lo95, gflops_hi95;
    double worst_over_best;
    uint32_t n_ok, n_rows;
    uint32_t n_codes; /* of the n_ok those that compete */
    uint32_t n_tied;  /* others that cannot be told from the best, not counting those of the same
                         code */
    uint32_t n_contaminated; /* of the n_rows */
    bool is_contaminated;    /* the time of the best is */
    bool shares_name;        /* with another problem of the summary */
};
/* What pruning left out, by what its controls say. */
struct ks_pruned_found {
    uint64_t n_left_out; /* cells */
    uint64_t n_controls; /* cells that were measured all the same */
    uint64_t n_compared; /* of them: ok, and so is a kept one of the problem */
    uint64_t n_better;   /* of them: faster than every kept one, beyond a tie */
    /* of the n_compared the one that does best: time of the best kept one / its own */
    double ratio;
    const struct ks_problem_ref *problem;
    const struct ks_instance_ref *control;
};
struct ks_rank_count {
    const struct ks_device_ref *device;
    uint64_t n_cells;
};
struct ks_code_group {                      /* instances of one code_id, two or more */
    const struct ks_instance_ref **members; /* [n] in the order of the configs */
    uint32_t n, code_group;
    uint64_t n_aliased; /* cells of members that were not measured */
};
struct ks_aliases_found {
    struct ks_code_group *groups; /* [n_groups] most aliased cells first */
    size_t n_groups;
    uint64_t n_aliased;       /* cells */
    uint64_t n_controls;      /* aliases that were measured all the same */
    uint64_t n_other_outcome; /* of them: ended otherwise than what they are compared with */
    uint64_t n_compared;      /* both are ok */
    uint64_t n_apart;         /* of them: differ beyond noise */
    /* of the n_compared the one whose difference is largest in terms of its noise */
    double difference, noise; /* parts of the representative's time */
    const struct ks_problem_ref *problem;
    const struct ks_instance_ref *control, *first;
    const struct ks_instance_ref **held; /* all members; private */
};
struct ks_summary {
    uint64_t n_cells, n_pending, n_dropped, outcome[KS_O_LIMIT], n_contaminated;
    struct ks_best *problems; /* [n_problems] in the order of the rows */
    size_t n_problems;
    struct ks_rank_count *ranks; /* [n_ranks] that measured a cell */
    size_t n_ranks;
    double median_worst_over_best;       /* over problems with two ok codes or more */
    uint32_t n_winners;                  /* instances that are best somewhere, untied */
    uint32_t n_codes;                    /* distinct code_ids among ok rows, each instance whose
                                            code is not known as one */
    uint32_t n_codes_unknown;            /* of them: such instances */
    const struct ks_instance_ref *fixed; /* ok everywhere and best on (geometric) average, of equal
                                            ones the first in the configs; or NULL */
    double fixed_share;                  /* its speed relative to the best of each problem */
    struct ks_aliases_found aliases;
    struct ks_pruned_found pruned;
};

#endif
