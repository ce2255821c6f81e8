/* SPDX-License-Identifier: MIT */
/* rows.h - one struct per table of results.h5, as plain values. A member named as a column holds
 * that column; columns, units, meaning and what stands for "missing" are in record/measured.h and
 * record/tables.h, from which most members are made. */
#ifndef KS_STORE_ROWS_H
#define KS_STORE_ROWS_H

#include "base/hash.h"
#include "op/op.h"
#include "record/record.h"
#include "record/stats.h"
#include "record/tables.h"

#include <stdint.h>

#define KS_NO_ROW       UINT32_MAX
#define KS_MISSING      (-1.0)    /* of a double: no time, ratio or error is negative */
#define KS_MISSING_CODE INT32_MIN /* of ks_row.status_code */
#define KS_MISSING_DIM  INT64_MIN /* the operator has no such dimension */
#define KS_STORE_DIMS   48        /* distinct dimension names of all operators in one file */
#define KS_CANONICAL    1024
#define KS_BOX_TEXT     256
#define KS_PATH_BYTES   1024

#define MEMBER(type, name, ...) KS_MEMBER_##type(name);
#define TEXT(bytes, name, ...)  char name[bytes];
#define MEMBERS(list)           list(MEMBER, TEXT, KS_NOTHING, KS_NOTHING)

struct ks_run_row {
    MEMBERS(KS_RUN_COLUMNS)   /* job: owned by whoever holds the row */
    char path[KS_PATH_BYTES]; /* of the directory as it was given; not in the file */
};

struct ks_host_row { /* provenance of a host, one row per value */
    MEMBERS(KS_HOST_COLUMNS)
};

struct ks_device_row {
    MEMBERS(KS_DEVICE_COLUMNS)
    struct ks_device_rec rec;
};

struct ks_problem_row {
    MEMBERS(KS_PROBLEM_COLUMNS)
    int64_t dim[KS_STORE_DIMS]; /* by the names in the file's columns */
    struct ks_problem problem;  /* parsed from canonical; has_problem 0: could not be */
    uint32_t has_problem;
};

struct ks_kernel_row { /* one instance as built in one run; several rows when it was rebuilt */
    MEMBERS(KS_KERNEL_COLUMNS)
    struct ks_code_rec code; /* what is not known is -1 */
};

struct ks_trait_row {
    MEMBERS(KS_TRAIT_COLUMNS)
};

struct ks_block_row {
    MEMBERS(KS_BLOCK_COLUMNS)
    struct ks_block rec;
};

struct ks_event_row {
    MEMBERS(KS_EVENT_COLUMNS)
    struct ks_event_rec rec;
};

struct ks_failure_row { /* what an attempt that went wrong left behind */
    MEMBERS(KS_FAILURE_COLUMNS)
};

struct ks_mismatch_row {
    MEMBERS(KS_MISMATCH_COLUMNS)
};
#undef MEMBER
#undef TEXT
#undef MEMBERS

/* /attempts and /measurements: what is known of one attempt and round, or of one cell. */
struct ks_row {
#define RECORDED(tag, rtype, type, name, ...)  KS_MEMBER_##type(name);
#define PATH(tag, kind, path, type, name, ...) KS_MEMBER_##type(name);
#define DERIVED(type, name, ...)               KS_MEMBER_##type(name);
#define RECORDED_TEXT(tag, bytes, name, ...)   char name[bytes];
#define DERIVED_TEXT(bytes, name, ...)         char name[bytes];
    KS_MEASURED(RECORDED, RECORDED_TEXT, PATH, KS_NOTHING, DERIVED, DERIVED_TEXT)
#undef RECORDED
#undef PATH
#undef DERIVED
#undef RECORDED_TEXT
#undef DERIVED_TEXT
};

#endif
