/* SPDX-License-Identifier: MIT */
/* dataset.h - results files as training cells: usable rows that pass a filter, of one device class,
 * one condition and one schema version unless the caller says otherwise. */
#ifndef KS_ANALYSIS_DATASET_H
#define KS_ANALYSIS_DATASET_H

#include "analysis/cmd/mixed.h"
#include "analysis/learn/features.h"
#include "analysis/learn/matrix.h"
#include "base/opt.h"
#include "grid/problems.h"

/* Options of `train` and `validate`; at: offset of the member. */
#define KS_OPT_WHERE(at)                                                                           \
    {                                                                                              \
        .name = "where", .type = KS_OPT_LIST, .offset = (at), .arg = "NAME=VALUE",                 \
        .help = "use only problems whose operator, direction, dtype, layout, class or dimension "  \
                "has one of these values (VALUE[,VALUE]); can be repeated"                         \
    }

#define KS_OPT_PROBLEMS(at)                                                                        \
    {                                                                                              \
        .name = "problems", .type = KS_OPT_STR, .offset = (at), .arg = "LIST",                     \
        .help = "use only problems of this list, in any format that jobs can read"                 \
    }

struct ks_dataset_file {
    const char *path; /* borrowed */
    char digest[65];  /* SHA-256 */
    uint64_t schema_major, schema_minor, n_rows, n_usable;
};
struct ks_dataset_run {
    char id[33];
    size_t file; /* index into ks_dataset.files */
};
/* Zero-initialised = empty. The cells' files are indices into `files`. */
struct ks_dataset {
    struct ks_cells cells;
    struct ks_cells left_out; /* problems only: those of rules.leave_out that were there */
    struct ks_mixed mixed;    /* its sources number those of the problems; without rules.is_mixed
                                 there is one */
    struct ks_traits traits;
    struct ks_dataset_file *files; /* [n_files] */
    size_t n_files;
    struct ks_dataset_run *runs; /* [n_runs] of all files */
    size_t n_runs, cap_runs;
    uint64_t device_class, condition; /* of mixed.sources[0], as arch, model and n_units */
    bool has_device, has_row;         /* while files are read */
    char arch[64], model[192];
    uint32_t n_units;
    uint64_t n_rows, n_unusable, n_filtered, n_left_out, n_times;
};

/* What to call a device in a message: its model, of an imported one its architecture. */
const char *ks_device_called(const char *model, const char *arch);
/* "MI300X (class .., condition ..)"; appended. */
void ks_source_text(const struct ks_time_source *s, struct ks_buf *to);

struct ks_dataset_rules {
    unsigned merge;           /* enum ks_merge */
    struct ks_opt_list where; /* "NAME=VALUE[,VALUE]": direction, dtype, layout, operator, class or
                                 a dimension */
    const struct ks_problem_set *only; /* no others; NULL: all */
    bool is_mixed; /* several device classes, conditions or schema versions are fine; each problem
                      keeps the rows of one of them (mixed.h) */
    const struct ks_cells
        *leave_out[2];       /* problems that are not read, counted in n_left_out; NULL */
    struct ks_buf *left_out; /* their canonical texts, a line each; may be NULL */
};

/* ks_dataset_read() - all files; ends with ks_cells_finish().
 * d_out is the caller's to release, whatever is returned.
 * paths: as ks_results_path
 * Returns 0; KS_EINVAL mixed devices, conditions or schema versions, a filter that names nothing,
 * no usable row; KS_ENOENT, KS_EFORMAT, KS_EIO, KS_ENOMEM. */
int ks_dataset_read(struct ks_dataset *d_out, const char *const *paths, size_t n_paths,
                    const struct ks_dataset_rules *rules, struct ks_err *err);
void ks_dataset_release(struct ks_dataset *d);
/* The path of the first file that has a usable row: the one to name in a message on the device of
 * all. */
const char *ks_dataset_first(const struct ks_dataset *d);
/* The path of the first file of d that has a run, or the same bytes, as a file of the other, so
 * that their times are the same; NULL: there is none. */
const char *ks_dataset_shared(const struct ks_dataset *d, const struct ks_dataset *with);
/* What --mixed left out, and the sources if there are several, as notes of the command. */
void ks_dataset_note_mixed(const struct ks_dataset *d, const char *command, struct ks_buf *notes);

#endif
