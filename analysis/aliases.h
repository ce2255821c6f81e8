/* SPDX-License-Identifier: MIT */
/* aliases.h - which instances are the same machine code, how many cells that saved, and whether the
 * aliases that were measured all the same (controls) agree with what stands for them. */
#ifndef KS_ANALYSIS_ALIASES_H
#define KS_ANALYSIS_ALIASES_H

#include "analysis/join.h"

struct ks_code_group {                    /* instances of one code_id, two or more */
    const struct ks_kernel_row **members; /* [n] in the order of the configs */
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
    const struct ks_problem_row *problem;
    const struct ks_kernel_row *control, *first;
    const struct ks_kernel_row **held; /* all members; private */
};

/* Groups of the file's instances; counts are zero. Points into f. KS_ENOMEM. */
int ks_aliases_find(const struct ks_store_file *f, struct ks_aliases_found *out,
                    struct ks_err *err);
/* Counts the rows of one problem. */
void ks_aliases_count(const struct ks_store_file *f, const struct ks_join *join,
                      const struct ks_row *rows, size_t n, struct ks_aliases_found *a);
void ks_aliases_sort(struct ks_aliases_found *a); /* once all are counted */
void ks_aliases_free(struct ks_aliases_found *a);

/* What two times may differ by without being told apart: where their 95 % intervals end, or the
 * drift of their blocks' anchors, whichever is more; as parts of the first's time. Rows of
 * different blocks are scaled by the blocks' anchors where both have one. */
double ks_alias_difference(const struct ks_store_file *f, const struct ks_row *first,
                           const struct ks_row *control, double *noise_out);

#endif
