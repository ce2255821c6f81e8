/* SPDX-License-Identifier: MIT */
/* record.h - what is known of one attempt and round of one cell, and the other journalled values.
 * Plain structs without pointers; encoded as tagged fields (frame.h) through one table each. */
#ifndef KS_RECORD_H
#define KS_RECORD_H

#include "base/buf.h"
#include "base/err.h"
#include "base/hash.h"
#include "base/reading.h"
#include "record/measured.h"
#include "record/outcome.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define KS_SAMPLES_MAX  1000u /* of one round; job limit for max_samples */
#define KS_MISMATCH_MAX 16u
#define KS_TAIL_MAX     4096u /* of what a failed cell printed */
#define KS_OUTPUT_MAX   65536u
#define KS_START_MAX    64u

/* A cell is this tuple, never a hash of it. */
struct ks_cell {
    uint64_t problem, instance, condition;
};
int ks_cell_compare(const struct ks_cell *a, const struct ks_cell *b); /* total order */

enum ks_role { KS_ROLE_CELL = 0, KS_ROLE_ANCHOR = 1, KS_ROLE_CANARY = 2, KS_ROLE_CONTROL = 3 };

struct ks_mismatch {
    int64_t index; /* flat element index in operand c */
    double got, want, tolerance;
};

/* denied_call of a GPU's worker: calls that are refused there fail uncounted, n_denied is 0. */
#define KS_DENIED_UNCOUNTED (-2)

/* Everything that is recorded of one attempt and round. Most members are rows of KS_MEASURED, where
 * their meaning and unit are; what is not known has the initial value of ks_record_init. */
struct ks_record {
    struct ks_cell cell;
    struct ks_id128 worker; /* nonce of the worker process */
    struct ks_id128 build_id, code_id;
#define MEMBER(tag, rtype, type, name, ...) KS_MEMBER_##rtype(name);
#define TEXT(tag, bytes, name, ...)         char name[bytes];
    KS_MEASURED(MEMBER, TEXT, KS_NOTHING, KS_NOTHING, KS_NOTHING, KS_NOTHING)
#undef MEMBER
#undef TEXT
    uint32_t n_samples;
    double sample_ns[KS_SAMPLES_MAX]; /* time of calls_per_sample calls over their number */
    uint32_t n_mismatches;            /* held below: the first ones */
    struct ks_mismatch mismatch[KS_MISMATCH_MAX];
    uint32_t n_box;               /* dims of the output shape; 0 = no box */
    int64_t box_lo[6], box_hi[6]; /* bounding box of all wrong elements, inclusive */
    uint64_t check_seed;          /* of all that was drawn for the checks; 0: none */
    /* the device before the first sample and after the last */
    struct ks_reading before, after;
    /* abnormal ends */
    uint64_t fault_address;
    uint32_t n_denied;   /* calls refused by the filter */
    int32_t denied_call; /* number of the last one; -1 none; or KS_DENIED_UNCOUNTED */
    uint32_t n_tail;
    char tail[KS_TAIL_MAX]; /* last bytes of stdout and stderr, not terminated */
    uint64_t n_printed;     /* bytes, by a cell that came to its end; they stand in KS_F_OUTPUT */
};

/* A record with every field at its "nothing known" value. ~14 KB: keep it off deep stacks. */
void ks_record_init(struct ks_record *r);
/* Only fields that differ from ks_record_init are written, and the few that identify the record. */
void ks_record_encode(const struct ks_record *r, struct ks_buf *body_out);
/* KS_EFORMAT when the body is malformed or a value is out of range (an outcome that does not exist,
 * more samples than fit, a sample that is not finite and > 0 ...). Unknown tags are counted in
 * *n_unknown (may be NULL). *r_out untouched on failure. */
int ks_record_decode(const void *body, size_t n, struct ks_record *r_out, uint32_t *n_unknown,
                     struct ks_err *err);

/* Gives an encoded record its disturbance, without decoding it. */
void ks_record_set_disturbance(struct ks_buf *body, double disturbance);

/* What the ranks and rank 0 need of every record; it saves them the 14 KB. */
struct ks_record_head {
    struct ks_cell cell;
    uint32_t attempt, round_index, role, outcome, outcome_flags;
    uint64_t block_id;
    uint32_t position;
    uint32_t mpi_rank;
    uint64_t device_id;
    struct ks_id128 worker;
    uint64_t seq, started_ns;
    struct ks_id128 code_id;
    uint64_t wall_ns, timing_ns;
    uint64_t involuntary_switches, cpu_ns, span_ns;
    double canary_ratio, disturbance;
    uint32_t n_denied;
    uint64_t n_printed;
    uint32_t n_visit;
};
/* As ks_record_decode, with the same checks of the whole body. */
int ks_record_peek(const void *body, size_t n, struct ks_record_head *out, struct ks_err *err);
void ks_record_head_of(const struct ks_record *r, struct ks_record_head *out);

#define KS_FENCES_MAX 16u
struct ks_fence { /* an older segment counts only up to n_bytes, see journal.h */
    uint32_t segment;
    uint64_t n_bytes;
};
struct ks_segment { /* KS_F_SEGMENT */
    struct ks_id128 run_id;
    uint32_t incarnation; /* the segment's number */
    int32_t pid;
    uint64_t pid_start; /* /proc/PID/stat field 22: tells a reused pid */
    uint64_t pid_space; /* ks_process_space() of that pid; 0: not known, as in older segments */
    char host[64], boot_id[40], version[40];
    uint64_t realtime_ns;
    uint32_t n_fences;
    struct ks_fence fences[KS_FENCES_MAX];
};
struct ks_job_rec { /* KS_F_JOB; the text is passed beside it */
    uint64_t grid_digest, condition;
    uint64_t n_problems, n_instances;
    uint64_t n_absent; /* of their pairs: those that are no cell */
};
struct ks_device_rec { /* KS_F_DEVICE */
    uint64_t device_id, device_class;
    uint32_t rank, local_rank;
    char host[64];
    char text[256]; /* "machine-id + core set" or GPU UUID; for people */
    char backend[16], arch[64], model[64], core_set[64];
    char boot_id[40];
    double idle_switches_per_s, idle_stolen; /* the host's idle baseline, < 0 unknown */
    char pci[16];                            /* address of the device, "" none */
    char numa[32];                           /* NUMA nodes nearest to its core: "0"; "" unknown */
    char host_domain[16];  /* "core", "l3", "socket": what one rank measures on; "" a device */
    uint32_t n_neighbours; /* ranks that measured under the same last-level cache, itself too */
    uint32_t n_memory_neighbours; /* and with memory from the same NUMA nodes; 0 unknown */
    uint32_t n_units;             /* of a GPU: compute units, multiprocessors; 0 unknown */
    uint64_t memory_bytes;        /* of a GPU; 0 unknown */
    char driver[32];              /* of a GPU: its version; "" unknown */
};
/* What a GPU's kernel needs, as its code object says (build/code_object.h). -1: not recorded. */
struct ks_code_rec {
    char target[32]; /* "gfx942", "sm_90"; "": not a GPU's */
    int32_t vgprs, agprs, sgprs;
    int32_t vgpr_spills, sgpr_spills;
    int32_t wave, max_threads;
    int64_t lds_bytes, scratch_bytes, kernarg_bytes, code_bytes;
};
struct ks_build_rec { /* KS_F_BUILD */
    uint64_t instance;
    uint32_t outcome; /* KS_O_OK, KS_O_BUILD_FAILED, KS_O_BUILD_TIMEOUT, KS_O_UNSUPPORTED */
    uint32_t is_cached;
    struct ks_id128 build_id, code_id;
    uint64_t compile_ns; /* share of the unit's compile time */
    uint64_t object_bytes;
    char reason[256]; /* the compiler's first error line */
    char compiler[96];
    struct ks_code_rec code;
};
struct ks_start_cell {
    struct ks_cell cell;
    uint32_t attempt, round;
    uint32_t role; /* enum ks_role */
};
enum ks_start_why {
    KS_WHY_LEASE = 0,
    KS_WHY_RETRY = 1, /* alone, after an abnormal end */
    KS_WHY_SUSPECT = 2,
    KS_WHY_CONTAMINATED = 3,
    KS_WHY_BAD_DEVICE = 4, /* that measured it before */
    KS_WHY_OTHER_CODE = 5, /* no alias after all: where it was measured its code was another */
    KS_WHY_CONFIRM = 6     /* of a failure, on another device */
};
struct ks_start { /* KS_F_START */
    uint64_t lease_id, block_id, device_id;
    uint32_t rank;
    uint32_t why; /* enum ks_start_why */
    uint32_t n_cells;
    struct ks_start_cell cells[KS_START_MAX];
};
struct ks_output { /* KS_F_OUTPUT; the bytes are passed beside it */
    struct ks_cell cell;
    uint32_t attempt, round;
    uint64_t n_total; /* bytes printed in all; the last KS_OUTPUT_MAX are kept */
};
struct ks_block { /* KS_F_BLOCK: written when it opens and again when it closes */
    uint64_t block_id, problem, device_id,
        anchor; /* anchor: instance id, 0 = none could be found */
    uint32_t rank, n_cells, is_closed;
    double open_ns, close_ns; /* median of the anchor at each end; <= 0 = missing */
    double open_lo_ns, open_hi_ns, close_lo_ns, close_hi_ns; /* 95 % intervals */
    uint64_t opened_ns, closed_ns;                           /* realtime */
};
#define KS_RACE_REC_CUT 6u /* a stop: the sweep ended before, a later one goes on */
/* KS_F_RACE: where the visits of a problem stand. Written when they end, and with the stop `cut`
 * when one of them costs a rank or does not come to its end; of several the one counts that knows
 * most (ks_race_rec_is_newer), in whatever order they are read. When a record comes that an ended
 * race did not know of and that may change its label, a KS_F_RACE with the stop `cut` and the label
 * 0 withdraws the verdict. */
struct ks_race_rec {
    uint64_t problem, condition, device_id; /* device: whose visits count */
    uint64_t label;                         /* instance; 0: none is left */
    uint32_t stop;                          /* enum ks_race_stop */
    uint32_t n_rounds, n_members, n_contenders;
    double time_ns, lo_ns, hi_ns; /* of the label; 0 = not known */
    double regret_bound;
    uint64_t spent_ns; /* kernel time of all visits */
    struct {           /* its part of the pooled spread: struct ks_race_spread */
        uint64_t squares, freedom;
    } paired, first, level;
    uint32_t i_class;   /* of cells: whose pool has that part */
    uint32_t statistic; /* enum ks_statistic: of its times; older journals have medians, 0 */
    uint64_t n_seen;    /* observations that it was made of; 0: not known (older journals) */
    /* of all lives: ranks lost in its visits, unless what costs them is known; visits in a row that
     * ended before all was measured */
    uint32_t n_losses, n_unclosed;
};
enum ks_event_kind {
    KS_EV_INFO = 0,
    KS_EV_RANK_LOST,
    KS_EV_WARDEN_LOST,
    KS_EV_WORKER_DEATH,
    KS_EV_QUARANTINE,
    KS_EV_RESUMED,
    KS_EV_SIGNAL,
    KS_EV_CHANGED_KEY,
    KS_EV_IDLE_RANK,
    KS_EV_ABANDONED,
    KS_EV_MAX_TIME,
    KS_EV_RANK_SUMMARY,
    KS_EV_OVERDUE /* a lease was given again, its rank is still there */
};
const char *ks_event_text(uint32_t kind);
struct ks_event_rec { /* KS_F_EVENT */
    uint32_t kind, rank;
    uint64_t realtime_ns;
    char host[64];
    char text[512];
};

/* One pair per value; same rules as ks_record_*. Encoders append a body, callers frame it. */
void ks_segment_encode(const struct ks_segment *v, struct ks_buf *body_out);
int ks_segment_decode(const void *body, size_t n, struct ks_segment *out, struct ks_err *err);
void ks_job_rec_encode(const struct ks_job_rec *v, const char *text, struct ks_buf *body_out);
uint64_t ks_job_rec_n_cells(const struct ks_job_rec *v);
/* *text_out is a copy the caller frees. */
int ks_job_rec_decode(const void *body, size_t n, struct ks_job_rec *out, char **text_out,
                      struct ks_err *err);
void ks_device_rec_encode(const struct ks_device_rec *v, struct ks_buf *body_out);
int ks_device_rec_decode(const void *body, size_t n, struct ks_device_rec *out, struct ks_err *err);
void ks_build_rec_init(struct ks_build_rec *v); /* every field at its "nothing known" value */
void ks_build_rec_encode(const struct ks_build_rec *v, struct ks_buf *body_out);
int ks_build_rec_decode(const void *body, size_t n, struct ks_build_rec *out, struct ks_err *err);
void ks_start_encode(const struct ks_start *v, struct ks_buf *body_out);
int ks_start_decode(const void *body, size_t n, struct ks_start *out, struct ks_err *err);
void ks_output_encode(const struct ks_output *v, const void *bytes, size_t n_bytes,
                      struct ks_buf *body_out);
/* *bytes_out is borrowed from body. */
int ks_output_decode(const void *body, size_t n, struct ks_output *out, const void **bytes_out,
                     size_t *n_bytes_out, struct ks_err *err);
void ks_block_encode(const struct ks_block *v, struct ks_buf *body_out);
int ks_block_decode(const void *body, size_t n, struct ks_block *out, struct ks_err *err);
/* Mean of its medians at both ends, or the one there is; <= 0: neither. */
double ks_block_anchor_ns(const struct ks_block *v);
/* Whether a rather than b counts: more instances, more visits, ended rather than cut. */
bool ks_race_rec_is_newer(const struct ks_race_rec *a, const struct ks_race_rec *b);
void ks_race_rec_encode(const struct ks_race_rec *v, struct ks_buf *body_out);
int ks_race_rec_decode(const void *body, size_t n, struct ks_race_rec *out, struct ks_err *err);
void ks_event_encode(const struct ks_event_rec *v, struct ks_buf *body_out);
int ks_event_decode(const void *body, size_t n, struct ks_event_rec *out, struct ks_err *err);

/* Names of problems and instances: id, canonical text, count, display name. */
struct ks_name_rec { /* KS_F_PROBLEM, KS_F_INSTANCE, KS_F_HOST */
    uint64_t id;     /* KS_F_HOST: rank */
    int64_t count;
    char name[192];
    char text[4096];   /* canonical text; KS_F_HOST: key=value lines */
    uint32_t n_absent; /* of a problem: instances that it has no cell with */
};
void ks_name_rec_encode(const struct ks_name_rec *v, struct ks_buf *body_out);
int ks_name_rec_decode(const void *body, size_t n, struct ks_name_rec *out, struct ks_err *err);

#endif
