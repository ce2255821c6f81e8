/* SPDX-License-Identifier: MIT */
/* intake.h - one file of another tool on its way into a results file: what is common to all
 * formats. Readers say what the file says; here rows that must not be used silently are marked:
 *
 *   the time is 0                                   untrusted, zero_time, no time
 *   a rate is above the device's peak (peak.h)      untrusted, impossible
 *   the cell is listed again with another time      untrusted, contradicted (all of them); a
 *                                                   failure beside a time, too
 *   ... with the same time                          counted, not stored
 *   the problem cannot be decoded                   untrusted, undecoded
 *   much of the output is zero                      untrusted, partial_output
 *   only some candidates are kept                   truncated_list; the outcome stays
 *
 * Every row has the flag imported: nobody verified it.
 *
 * To add a format: 1. analysis/import/<name>.c with a `const struct ks_intake_format`; 2. its
 * declaration below and its row in formats.c; 3. its unit tests and fuzz target; 4. docs/import.md.
 */
#ifndef KS_ANALYSIS_INTAKE_H
#define KS_ANALYSIS_INTAKE_H

#include "analysis/import/text_in.h"
#include "store/stage.h"

struct ks_intake_options {
    const char *device;  /* NULL: as the file or its name says */
    const char *problem; /* NULL: the same; formats that do not say which problem was measured */
};

struct ks_intake_counts {
    uint64_t n_lists; /* problems of a find-db, results of a file: what the file counts */
    uint64_t n_rows;  /* measured rows in the file; = stored + repeated */
    uint64_t n_stored;
    uint64_t n_repeated;     /* listed again with the same time */
    uint64_t n_failed;       /* failures that the file itself reports */
    uint64_t n_inconsistent; /* rows in which the file contradicts itself: untrusted */
    uint64_t n_zero, n_impossible, n_contradicted, n_undecoded, n_partial; /* rows */
    uint64_t n_undecoded_lists, n_truncated_lists;
    uint64_t n_unknown_names; /* instances whose traits could not be read from their names */
    uint64_t n_cut;           /* results that the end of the file cut */
    uint64_t n_odd_units;     /* 1: the file spells a unit of time wrong */
};

struct ks_intake {
    struct ks_stage *stage;
    struct ks_text_in *in;
    const char *path;
    const struct ks_intake_options *options;
    uint32_t run, device; /* device: KS_NO_ROW until ks_intake_device */
    double n_units_peak;  /* compute units; 0: not known */
    char arch[64];
    struct ks_intake_counts counts;
    const char *note; /* last line of provenance: what the format says of its times; static */
};

struct ks_intake_format {
    const char *name, *about; /* about: one line for --help and provenance */
    /* head [n]: the beginning of the file, NUL-terminated */
    bool (*sniff)(const char *head, size_t n);
    /* Reads im->in to its end. KS_EFORMAT with file and line for what the format does not allow. */
    int (*read)(struct ks_intake *im, struct ks_err *err);
};

extern const struct ks_intake_format ks_intake_fdb, ks_intake_ck, ks_intake_t4,
    ks_intake_kernel_tuner, ks_intake_ktt, ks_intake_profiler_results, ks_intake_profiler_log;
extern const struct ks_intake_format *const ks_intake_formats[]; /* NULL-terminated */

/* ks_intake_file() - one file into the stage, as a run of its own.
 * @format [in] NULL: found by the beginning of the file
 * @used_out [out] the format
 * Returns 0; KS_EFORMAT no format fits, or the file breaks its format; KS_EEXIST: a run with this
 * content is in the stage; KS_ENOENT, KS_EINVAL, KS_EIO, KS_ENOMEM. After a failure the stage must
 * not be written. */
int ks_intake_file(struct ks_stage *stage, const char *path, const struct ks_intake_format *format,
                   const struct ks_intake_options *options, struct ks_intake_counts *counts_out,
                   const struct ks_intake_format **used_out, struct ks_err *err);
/* The same from an input that is open. */
int ks_intake_read(struct ks_stage *stage, struct ks_text_in *in, const char *path,
                   const struct ks_intake_format *format, const struct ks_intake_options *options,
                   struct ks_intake_counts *counts_out, struct ks_err *err);

/* ---- for readers ---- */

/* The device that measured: `arch` ("gfx942") and units as far as known, else ""  and 0. */
int ks_intake_device(struct ks_intake *im, const char *arch, const char *model, uint32_t n_units,
                     const char *from, struct ks_err *err);

struct ks_intake_row {
    uint32_t problem, kernel; /* rows of the stage */
    uint32_t outcome, flags;  /* as the file has it */
    const char *reason;       /* NULL: none */
    double time_ns;           /* 0: the file says 0; KS_MISSING: it says none */
    const double *sample_ns;  /* [n_samples] */
    uint32_t n_samples;
    uint64_t started_ns, n_elements, n_non_zero;
    int64_t workspace_bytes;
    double flops;          /* 0: not known */
    double most_over_peak; /* how far the rate may exceed the peak; 0: any rate is possible */
    double output_bytes;   /* every kernel stores so many; 0: not known */
    uint32_t dtype;        /* enum ks_dtype; for the peak */
    const char *undecoded; /* why the problem could not be decoded; NULL: it was */
};
int ks_intake_put(struct ks_intake *im, const struct ks_intake_row *row, struct ks_err *err);

/* KS_EFORMAT "file:line: ...". */
int ks_intake_fail(const struct ks_intake *im, struct ks_err *err, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));

/* A number >= 0, and nothing behind it. */
bool ks_intake_number(const char *text, double *out);
/* "2023-12-21 10:44:42.236642+00:00" to ns since 1970; 0: not such a text. */
uint64_t ks_intake_time(const char *text);
/* ns of one; 0: unknown. *is_odd_out: "miliseconds", as files in the wild have it. */
double ks_intake_unit_ns(const char *unit, bool *is_odd_out);

#endif
