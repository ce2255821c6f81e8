/* SPDX-License-Identifier: MIT */
/* input.h - what `oracle` and `compare` share: results files side by side, the label's statistic,
 * and rows in one of several formats. */
#ifndef KS_ANALYSIS_INPUT_H
#define KS_ANALYSIS_INPUT_H

#include "analysis/learn/trials.h"
#include "analysis/out/rows.h"

struct ks_input {
    struct ks_sweeps sweeps;
    struct ks_trials trials;
};
/* After a failure only ks_input_release is allowed. */
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
