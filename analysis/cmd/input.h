/* SPDX-License-Identifier: MIT */
/* input.h - what `oracle`, `compare` and `table --oracle` share: results files side by side, the
 * label's statistic, and rows in one of several formats. */
#ifndef KS_ANALYSIS_INPUT_H
#define KS_ANALYSIS_INPUT_H

#include "analysis/learn/trials.h"
#include "analysis/out/rows.h"
#include "record/rounds.h"

struct ks_input {
    struct ks_sweeps sweeps;
    struct ks_trials trials;
    enum ks_statistic statistic; /* of the label */
};

/* Options --statistic and --over. */
#define KS_OPT_STATISTIC(at)                                                                       \
    {                                                                                              \
        .name = "statistic", .type = KS_OPT_ENUM, .offset = (at), .def = "label",                  \
        .choices = ks_input_statistics, .arg = "NAME",                                             \
        .help = "statistic over the samples of a round; label: that of the file's labels (column " \
                "rounds_statistic); low: the 10 % quantile; groups: the median of the minima of "  \
                "groups of 8"                                                                      \
    }
#define KS_OPT_OVER(at)                                                                            \
    {                                                                                              \
        .name = "over", .type = KS_OPT_ENUM, .offset = (at), .def = KS_LABEL_OVER_NAME,            \
        .choices = ks_over_names, .arg = "NAME", .help = "statistic over the rounds of a cell"     \
    }
enum { KS_INPUT_LABEL }; /* "label"; the others are 1 + enum ks_statistic */
extern const char *const ks_input_statistics[];

/* ks_input_load() - @statistic [in] index into ks_input_statistics; @over [in] enum ks_over
 * Returns 0; errors of ks_sweeps_load; KS_EINVAL no samples, or KS_INPUT_LABEL and the runs differ;
 * KS_ENOMEM. After a failure only ks_input_release is allowed. */
int ks_input_load(struct ks_input *in, const char *const *paths, size_t n, unsigned statistic,
                  unsigned over, struct ks_err *err);
void ks_input_release(struct ks_input *in);
/* How many of the sweeps are from the first n paths. */
uint32_t ks_input_sweeps_of(const struct ks_input *in, const char *const *paths, size_t n);

/* Choices of an option --format; 0 is a report for people, the others are rows. */
extern const char *const ks_input_formats[];
const struct ks_format *ks_input_writer(unsigned format); /* format > 0 */

/* "median of round medians" */
void ks_input_label_text(unsigned statistic, unsigned over, char *out, size_t cap);
/* 12.34 us */
void ks_input_time_text(double ns, char *out, size_t cap);
/* Text from a file: one line, control characters escaped. */
void ks_input_put_name(struct ks_buf *to, const char *name);

#endif
