/* SPDX-License-Identifier: MIT */
/* job.h - the job file (DESIGN section 10): JSON, unknown keys are errors that name the key and
 * suggest the nearest. One option table per section: job key, default, range, help and provenance
 * come from it. */
#ifndef KS_GRID_JOB_H
#define KS_GRID_JOB_H

#include "base/backend.h"
#include "base/buf.h"
#include "base/err.h"
#include "base/opt.h"
#include "base/sampling.h"

#include <stdbool.h>
#include <stdint.h>

#define KS_PATH_MAX     1024
#define KS_JOB_LISTS    32 /* entries of kernels and of problems, at most */
#define KS_JOB_EXCLUDES 8

struct ks_job_measure {
    KS_SAMPLING;
    bool racing;          /* of earlier versions, refused when true: see ks_job_rounds */
    double alias_control; /* share of the aliases that are measured all the same */
};
/* Visits to the instances that may be the best (src/race). */
struct ks_job_rounds {
    uint32_t max;         /* rounds of a problem, round 0 included; 1: no visits */
    uint32_t gap_s;       /* between two visits of a problem, at least, while there is other work */
    double alpha, margin; /* as in struct ks_race_config */
    uint32_t max_ms;      /* kernel time of all visits of a problem; 0: no limit */
};
struct ks_job_contention {
    uint32_t retries;
    double switches_per_s, stolen;
    double canary; /* 0: see ks_job_canary_limit() */
};
extern const char *const ks_job_prunings[]; /* "none", "spill" */
struct ks_job_prune {
    unsigned by;    /* index into ks_job_prunings */
    double control; /* share of the pruned cells that are measured all the same */
};
struct ks_job_isolate {
    uint32_t batch; /* 0: see ks_job_batch() */
    uint32_t kernel_timeout_s, retries, memory_mib;
};
struct ks_job_verify {
    bool exact, elementwise;
    bool judge; /* on a GPU: its own kernels compare (kernels/judge.h), else the host */
};
struct ks_job_device {
    unsigned backend; /* index into ks_backends */
    const char *arch; /* points into arch_text of the job that a function of this module
                         filled: set it anew after copying a struct ks_job */
    char arch_text[64];
};

struct ks_job_problems {
    char file[KS_PATH_MAX]; /* absolute */
    int64_t sample;         /* 0 = all */
    uint64_t seed;
    bool is_stratified;           /* the sample is by shape class */
    char (*exclude)[KS_PATH_MAX]; /* [n_exclude] lists whose problems are left out; absolute */
    uint32_t n_exclude;
    int layout, dtype;   /* -1 = as in the list */
    uint32_t directions; /* bit mask 1 << enum ks_direction; 0 = as in the list */
};
struct ks_job_kernels {
    char config[KS_PATH_MAX]; /* absolute */
    char filter[512];         /* expression, "" = all */
    char plugin[KS_PATH_MAX]; /* shared object with the kernels of the config's instances, absolute;
                                 "": they are compiled */
    struct ks_job_program *program; /* instead of all above; NULL: none */
};
/* A program that times kernels itself (docs/profilers.md). */
struct ks_job_program {
    char adapter[32];       /* of ks_profilers */
    char path[KS_PATH_MAX]; /* a program, or a directory with one; absolute */
    char options[8192];     /* resolved, one line of JSON */
    char environment[4096]; /* NAME=VALUE lines */
    uint32_t repeat;        /* runs per problem, 1 to KS_JOB_REPEATS */
    uint32_t silence_s;     /* without output, after which a run is ended; 0: no limit */
    uint32_t timeout_s;     /* of a whole run */
};
#define KS_JOB_REPEATS 100

/* Moves as a struct, with the lists that it owns; ks_job_release() frees them. */
struct ks_job {
    char name[64], why[512];
    char op[32];                    /* operator */
    char path[KS_PATH_MAX];         /* of the job file, absolute */
    struct ks_job_kernels *kernels; /* [n_kernels] */
    uint32_t n_kernels;
    struct ks_job_problems *problems; /* [n_problems] */
    uint32_t n_problems;
    struct ks_job_device device;
    struct ks_job_measure measure;
    struct ks_job_rounds rounds;
    struct ks_job_contention contention;
    struct ks_job_prune prune;
    struct ks_job_isolate isolate;
    struct ks_job_verify verify;
};

/* Option tables of the sections, for --help, docs and tests; offsets into the section's struct. */
extern const struct ks_opt ks_job_measure_opts[], ks_job_rounds_opts[], ks_job_contention_opts[],
    ks_job_prune_opts[], ks_job_isolate_opts[], ks_job_verify_opts[], ks_job_device_opts[];

/* Frees what it owns; it is zero then. A zeroed one is fine. */
void ks_job_release(struct ks_job *job);

/* The caller releases what these read. Paths are absolute, else relative to the job file, else to
 * the installed data. */
int ks_job_load(const char *path, struct ks_job *job_out, struct ks_err *err);
int ks_job_parse(const char *text, size_t len, const char *name, struct ks_job *job_out,
                 struct ks_err *err);
/* A job that ks_job_print printed, perhaps elsewhere: its files need not be here. */
int ks_job_parse_resolved(const char *text, size_t len, const char *name, struct ks_job *job_out,
                          struct ks_err *err);
/* The resolved job as JSON (defaults filled in, paths absolute), loadable by ks_job_parse. */
void ks_job_print(const struct ks_job *job, struct ks_buf *json_out);

const struct ks_backend *ks_job_backend(const struct ks_job *job);
bool ks_job_is(const struct ks_job *job, uint32_t flags); /* has its backend all of these? */
bool ks_job_is_gpu(const struct ks_job *job);             /* KS_BACKEND_GPU */
bool ks_job_runs_programs(const struct ks_job *job);      /* its kernels are programs */
bool ks_job_compiles(const struct ks_job *job);           /* its kernels are compiled before */
/* So many runs per problem of every program, instead of the job's. KS_EINVAL: it names none. */
int ks_job_repeat(struct ks_job *job, uint32_t n, struct ks_err *err);
/* Cells that a worker measures: what the job says, else what suits its device. */
uint32_t ks_job_batch(const struct ks_job *job);
/* By how much the canary loop may be slower than its baseline before a cell counts as contaminated:
 * the job's, or what suits its backend. */
double ks_job_canary_limit(const struct ks_job *job);
/* The job on another device: a name of ks_backends, and an arch, which is "native" where only
 * the backend is given and is another; NULL: as it is. KS_EINVAL. */
int ks_job_choose(struct ks_job *job, const char *backend, const char *arch, struct ks_err *err);

/* What differs between two resolved jobs, one line per key "measure.max_ms: 500 -> 100" appended to
 * fatal_out (keys that decide what is measured: measure, verify, device, condition; and alpha and
 * margin of measure.rounds) or to harmless_out (isolation, scheduling, contention limits, limits of
 * visits, name, why). Lists are compared by the grid, not here. Returns the number of fatal
 * differences. */
int ks_job_diff(const struct ks_job *was, const struct ks_job *now, struct ks_buf *fatal_out,
                struct ks_buf *harmless_out);

#endif
