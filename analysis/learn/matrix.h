/* SPDX-License-Identifier: MIT */
/* matrix.h - what a model is trained on: the usable cells of a table grouped by problem, and
 * features as rows of floats.
 *
 * A group is a problem by its full canonical text (stride, padding, dilation, data type and layout
 * included); a candidate is an instance. Cells are sorted by problem, then by instance. */
#ifndef KS_ANALYSIS_MATRIX_H
#define KS_ANALYSIS_MATRIX_H

#include "base/err.h"
#include "op/op.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define KS_NO_CELL SIZE_MAX

/* Zero-initialised = empty. */
struct ks_matrix {
    size_t n_rows, n_cols;
    float *x; /* [n_rows][n_cols] row-major, owned; NaN = missing */
};
/* @matrix_out [out] every value NaN. KS_ENOMEM. */
int ks_matrix_init(struct ks_matrix *matrix_out, size_t n_rows, size_t n_cols, struct ks_err *err);
void ks_matrix_release(struct ks_matrix *m);

static inline float *ks_matrix_row(const struct ks_matrix *m, size_t row)
{
    return m->x + row * m->n_cols;
}

/* ---- cells ---- */

struct ks_timed_cell {
    uint32_t problem, instance; /* indices into ks_cells */
    uint32_t file;              /* that the time is from, as the caller numbers them */
    double time_ns;             /* > 0, comparable within the problem */
    double se_ns;               /* standard error of time_ns; < 0 = not known */
    double weight;              /* (0, 1]; 1 = the label's uncertainty does not matter */
};
/* The minor version of schema 1 since which the label is a time over rounds. Later ones only add
 * columns. */
#define KS_ROUNDS_MINOR 6

/* Where times are from. */
struct ks_time_source {
    uint64_t device_class, condition;
    bool is_over_rounds; /* KS_ROUNDS_MINOR */
    bool has_device;     /* false: no device is known; what has no time is of its file's source */
    size_t file;
    char arch[64], model[192]; /* of the device; "" = not known */
    uint32_t n_units;
    size_t n_problems; /* that keep its times */
};
/* Whether their times can be compared: device class, condition and is_over_rounds are equal, and
 * without a device class the file is, too. */
bool ks_time_source_is_same(const struct ks_time_source *a, const struct ks_time_source *b);

struct ks_cell_problem {
    struct ks_problem problem; /* .id identifies the group; .count = how often it is used */
    uint32_t class_id;         /* enum ks_problem_class_id (grid/problem_class.h) */
    size_t first, n;           /* its cells: [first, first + n) */
    size_t best;               /* the cell with the least time, of equal ones the first */
    bool is_truncated;         /* the source keeps the fastest candidates only */
    uint32_t source;           /* of several sources of times that of this problem, else 0 */
};
struct ks_cell_instance {
    uint64_t id; /* candidate */
    char *name;  /* owned */
    size_t n_cells;
};
/* A pair that no selector offers: the instance's own test refuses the problem, or the instance is
 * the same machine code as another one. */
struct ks_cell_pair {
    uint32_t problem, instance;
};

/* Zero-initialised = empty; filled by the calls below, read once ks_cells_finish() succeeded. */
struct ks_cells {
    struct ks_timed_cell *cells; /* [n] */
    size_t n, cap;
    struct ks_cell_problem *problems; /* [n_problems] in the order in which they were added */
    size_t n_problems, cap_problems;
    struct ks_cell_instance *instances; /* [n_instances] likewise */
    size_t n_instances, cap_instances;
    struct ks_cell_pair *refused; /* [n_refused] sorted */
    size_t n_refused, cap_refused;
    struct ks_cell_pair *lost; /* [n_lost] sorted: measured, but not ok */
    size_t n_lost, cap_lost;
    size_t n_replaced;  /* cells that a later one of the same pair replaced */
    uint32_t *slots[2]; /* hash tables over ids: index + 1, 0 = free; private */
    size_t n_slots[2];
};
void ks_cells_release(struct ks_cells *c);

/* Finds or adds the problem, instance of that id. KS_ENOMEM. */
int ks_cells_problem(struct ks_cells *c, const struct ks_problem *p, uint32_t *problem_out,
                     struct ks_err *err);
int ks_cells_instance(struct ks_cells *c, uint64_t id, const char *name, uint32_t *instance_out,
                      struct ks_err *err);
/* KS_EINVAL: a time or weight that is not finite and above 0; KS_ENOMEM. */
int ks_cells_add(struct ks_cells *c, const struct ks_timed_cell *cell, struct ks_err *err);
int ks_cells_refuse(struct ks_cells *c, uint32_t problem, uint32_t instance, struct ks_err *err);

/* Adds all problems, instances, cells and refused pairs of a finished table. KS_ENOMEM. */
int ks_cells_append(struct ks_cells *c, const struct ks_cells *from, struct ks_err *err);

int ks_cells_lose(struct ks_cells *c, uint32_t problem, uint32_t instance, struct ks_err *err);
void ks_cells_truncate(struct ks_cells *c, uint32_t problem); /* is_truncated */

/* ks_cells_finish() - sorts; of several cells of one pair the one added last counts; drops problems
 * and instances without a cell, so indices change.
 * Returns 0; KS_EINVAL no cell at all; KS_ENOMEM. */
int ks_cells_finish(struct ks_cells *c, struct ks_err *err);

/* Index of the problem, instance with that id; UINT32_MAX: none. */
uint32_t ks_cells_find_problem(const struct ks_cells *c, uint64_t id);
uint32_t ks_cells_find_instance(const struct ks_cells *c, uint64_t id);
/* The cell of a pair; KS_NO_CELL: not measured. */
size_t ks_cells_at(const struct ks_cells *c, uint32_t problem, uint32_t instance);
bool ks_cells_is_refused(const struct ks_cells *c, uint32_t problem, uint32_t instance);
/* Without a time, and presumably no good: it failed, or a truncated list leaves it out. */
bool ks_cells_is_lost(const struct ks_cells *c, uint32_t problem, uint32_t instance);

/* Whether the times of two cells cannot be told apart: they differ by at most 1.96 standard errors
 * of their difference; only equal times where an error is not known. */
bool ks_cells_tied(const struct ks_timed_cell *a, const struct ks_timed_cell *b);

/* Weight of a label by the standard error of its median: 1 / (1 + (relative error / 1 %)^2); 1
 * where the error is not known (< 0). */
double ks_label_weight(double time_ns, double se_ns);

/* A row of a training matrix. */
struct ks_pair_row {
    uint32_t problem, instance;
    size_t cell; /* KS_NO_CELL: lost */
};

/* ---- features ---- */

/* Features of any pair, measured or not. */
struct ks_featurizer {
    size_t n_cols;
    const char *const *names; /* [n_cols] borrowed */
    size_t analytic; /* the column that orders instances without any training, lowest first;
                        SIZE_MAX: there is none */
    void *ctx;
    /* @row_out [out] [n_cols]; NaN = missing. Pure; may not fail. */
    void (*fill)(void *ctx, uint32_t problem, uint32_t instance, float *row_out);
    /* Whether a model with these features can offer the instance; NULL: all of them. */
    bool (*knows)(void *ctx, uint32_t instance);
    /* Whether an instance that is known computes the problem, as a selector tests it; NULL: all do.
     */
    bool (*applies)(void *ctx, uint32_t problem, uint32_t instance);
    /* What of a problem lies outside the range of the training problems; NULL: nothing does. The
     * slot is NULL where features have no range. */
    const char *(*outside)(void *ctx, uint32_t problem);
};

/* Whether a model with these features can choose the instance for the problem. */
static inline bool ks_featurizer_offers(const struct ks_featurizer *f, uint32_t problem,
                                        uint32_t instance)
{
    return (!f->knows || f->knows(f->ctx, instance)) &&
           (!f->applies || f->applies(f->ctx, problem, instance));
}

#endif
