/* SPDX-License-Identifier: MIT */
/* analysis_kit.h - what the tests of analysis/ share: made-up times, and tables as they come out.
 */
#ifndef KS_TEST_ANALYSIS_KIT_H
#define KS_TEST_ANALYSIS_KIT_H

#include "analysis/data/reader.h"
#include "analysis/learn/join.h"
#include "analysis/learn/summary.h"
#include "analysis/out/writer.h"
#include "store_place.h"
#include "tests/tools/store_kit.h"

#include <stdbool.h>

/* Three samples around ns, the middle one exact. */
struct ks_record *akit_timed(struct skit *k, uint32_t i_problem, uint32_t i_instance, double ns);
struct ks_view *akit_view(const struct place *p, enum ks_merge how);

/* The rows of a view, problem by problem. */
struct akit_rows {
    struct ks_sources sources;
    struct ks_reader *reader;
    struct ks_obs *rows;
};
void akit_rows_open(struct akit_rows *r, struct ks_view *v);
bool akit_rows_next(struct akit_rows *r, const struct ks_obs **rows_out, size_t *n_out);
void akit_rows_close(struct akit_rows *r);

struct akit_held { /* what a summary points to */
    struct ks_joined *joined[3];
    struct ks_tables tables;
};
void akit_summarise(const struct place *p, struct ks_view **v_out, struct ks_summary *s,
                    struct akit_held *held);
void akit_release(struct ks_summary *s, struct akit_held *held);

bool akit_near(double a, double b);

/* The columns of training.csv; b is the caller's to release. */
void akit_write(struct ks_view *v, const struct ks_format *w, enum ks_columns_version version,
                size_t batch_rows, struct ks_buf *b);
/* With the rows of all runs. */
void akit_csv(const struct place *p, enum ks_columns_version version, struct ks_buf *b);
int akit_ck(struct ks_view *v, struct ks_buf *b, struct ks_err *err);
/* Cell `column` of line `line`, as it stands there. */
void akit_cell(const char *csv, int line, const char *column, char *out, size_t cap);
const char *akit_behind(const char *p); /* of the cell that begins at p: where it ends */

#endif
