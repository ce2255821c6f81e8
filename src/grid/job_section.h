/* SPDX-License-Identifier: MIT */
/* job_section.h - a job's sections, for those who read, print and compare all of them. */
#ifndef KS_GRID_JOB_SECTION_H
#define KS_GRID_JOB_SECTION_H

#include "grid/job.h"

#include <stdbool.h>
#include <stddef.h>

struct ks_job_section {
    const char *name;   /* "measure" */
    const char *parent; /* "measure" for contention; NULL: top level */
    const struct ks_opt *opts;
    size_t offset; /* into struct ks_job */
    bool is_fatal; /* decides what is measured: may not change on resume */
};
/* A section stands before those inside it. */
enum { KS_JOB_N_SECTIONS = 7 };
extern const struct ks_job_section ks_job_sections[KS_JOB_N_SECTIONS];

#endif
