/* SPDX-License-Identifier: MIT */
/* page.h - what the page of a report shows of a results file: the summary, every cell's speed, the
 * best instances of each problem with their samples, failures, blocks, and where the time went.
 *
 * Memory: 12 to 24 bytes per row, about 100 per kept time (at most KS_PAGE_TOP per problem). */
#ifndef KS_REPORT_PAGE_H
#define KS_REPORT_PAGE_H

#include "analysis/data/view.h"
#include "analysis/data/words.h"
#include "analysis/learn/summary.h"
#include "store/keys.h"

#define KS_PAGE_TOP        12   /* times kept per problem at most */
#define KS_PAGE_SAMPLES    48   /* quantiles kept of the samples of a time */
#define KS_PAGE_FAILURES   2000 /* listed one by one; the groups count all of them */
#define KS_PAGE_SPREAD     24   /* bins of the spread of samples */
#define KS_PAGE_SPREAD_MIN 1e-4 /* relative; bins are logarithmic up to 1 */

struct ks_page_cell {  /* in the order of the view */
    uint32_t instance; /* number in instances; KS_NO_ROW: not known */
    uint8_t outcome, is_contaminated;
    float ns; /* comparable within its problem; of an alias that of its code; <= 0: none */
};
struct ks_page_time { /* one of the best of a problem, fastest first */
    uint32_t instance;
    bool is_tied, is_contaminated;
    double ns, lo95_ns, hi95_ns, p10_ns, p90_ns; /* as measured; <= 0: not known */
    uint64_t attempt_row;
    size_t first_sample, n_samples; /* quantiles in `samples`; 0: not kept */
};
struct ks_page_problem { /* beside summary.problems */
    size_t first_cell, n_cells, first_time, n_times;
    double best_ns; /* comparable with its cells; 0: none */
};
struct ks_page_instance {
    uint64_t id;
    const char *name; /* borrowed from the file */
    uint32_t n_ok, n_rows, n_wins, n_look;
    double log_share; /* sum over n_ok of log(best / time) */
};
struct ks_page_group {        /* of rows that are not ok */
    uint32_t outcome, reason; /* number in reasons */
    uint64_t n;
    size_t first; /* number of a cell */
};
struct ks_page_failure {
    size_t cell;
    uint32_t problem, group;
};
enum ks_page_phase { /* of a record */
                     KS_PP_INPUT,
                     KS_PP_REFERENCE,
                     KS_PP_LOAD,
                     KS_PP_EXACT,
                     KS_PP_WARMUP,
                     KS_PP_TIMING,
                     KS_PP_TOLERANCE,
                     KS_PP_OTHER,
                     KS_PP_COUNT
};
extern const char *const ks_page_phases[]; /* [KS_PP_COUNT] */

struct ks_page {      /* zero-initialised = empty */
    const char *path; /* as given; borrowed */
    struct ks_view *view;
    struct ks_joined *joined[3];
    struct ks_tables tables;
    struct ks_summary summary;
    struct ks_page_cell *cells;
    struct ks_page_time *times;
    struct ks_page_problem *problems; /* [summary.n_problems] */
    struct ks_page_instance *instances;
    struct ks_page_group *groups;
    struct ks_page_failure *failures;
    float *samples;
    size_t n_cells, n_times, n_problems, n_instances, n_groups, n_failures, n_samples;
    size_t cap_cells, cap_times, cap_problems, cap_groups, cap_failures;
    struct ks_keys instance_keys, group_keys;
    struct ks_words reasons;
    uint64_t spread[KS_PAGE_SPREAD];                   /* ok cells by (p90 - p10) / median */
    double phase_s[KS_PP_COUNT], role_s[4], retried_s; /* over all records; retried: not final */
    double compile_s;
    uint64_t n_attempts, n_compiled, n_cached;
};

/* ks_page_load() - from a results file or a run's directory.
 * @path [in] borrowed until release
 * Returns 0; errors of ks_view_open; KS_ENOMEM. After a failure only ks_page_release is allowed. */
int ks_page_load(struct ks_page *p, const char *path, enum ks_merge merge, struct ks_err *err);
void ks_page_release(struct ks_page *p);
/* The same without what only the page shows: the summary alone. */
int ks_page_load_summary(struct ks_page *p, const char *path, enum ks_merge merge,
                         struct ks_err *err);

/* Inside: what /attempts and /samples add. */
int ks_page_attempts(struct ks_page *p, struct ks_err *err);

/* ks_page_html() - one self-contained page.
 * @other [in] NULL, or a run to put beside it
 * KS_ENOMEM. */
int ks_page_html(const struct ks_page *p, const struct ks_page *other, struct ks_buf *to,
                 struct ks_err *err);
/* Its data alone, as JSON without a byte that HTML could read as markup. KS_ENOMEM. */
int ks_page_data(const struct ks_page *p, const struct ks_page *other, struct ks_buf *to,
                 struct ks_err *err);

#endif
