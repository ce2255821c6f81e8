/* SPDX-License-Identifier: MIT */
/* tables.h - the joined tables as rows that findings point to. */
#ifndef KS_ANALYSIS_TABLES_H
#define KS_ANALYSIS_TABLES_H

#include "analysis/data/findings.h"
#include "analysis/data/frame.h"

struct ks_tables {
    struct ks_problem_ref *problems;   /* [n_problems] */
    struct ks_instance_ref *instances; /* [n_instances] rows of /kernels */
    struct ks_device_ref *devices;     /* [n_devices] */
    uint32_t n_problems, n_instances, n_devices;
};

/* The columns each frame must have; NULL-terminated. */
extern const char *const ks_tables_problems[], *const ks_tables_instances[],
                                                   *const ks_tables_devices[];

/* From the frames of /problems, /kernels and /devices, which must outlive t. KS_EINVAL, KS_ENOMEM.
 */
int ks_tables_init(struct ks_tables *t, const struct ks_df *problems, const struct ks_df *instances,
                   const struct ks_df *devices, struct ks_err *err);
void ks_tables_release(struct ks_tables *t);

/* NULL when the row is none of the table. */
const struct ks_problem_ref *ks_tables_problem(const struct ks_tables *t, uint32_t row);
const struct ks_instance_ref *ks_tables_instance(const struct ks_tables *t, uint32_t row);

#endif
