/* SPDX-License-Identifier: MIT */
/* source_report.h - what a report says of data that were not measured as a model's training. */
#ifndef KS_ANALYSIS_SOURCE_REPORT_H
#define KS_ANALYSIS_SOURCE_REPORT_H

#include "analysis/cmd/dataset.h"
#include "json/json.h"

struct ks_source_input {           /* borrowed */
    const char *name;              /* in the report: "results", "--ceiling" */
    const char *command;           /* in notes */
    const struct ks_dataset *data; /* empty: not given */
};

/* Whether times of this source can be compared with those that the model was trained on; files do
 * not matter. */
bool ks_source_is_of(const struct ks_time_source *s, const struct ks_time_source *model);
/* A line for each source that is not the model's; nothing if there is none. Appended. */
void ks_sources_text(const struct ks_source_input *inputs, size_t n,
                     const struct ks_time_source *model, struct ks_buf *to);
/* All sources, as member `sources` of the object that is open. */
void ks_sources_json(const struct ks_source_input *inputs, size_t n,
                     const struct ks_time_source *model, struct ks_jw *w);

#endif
