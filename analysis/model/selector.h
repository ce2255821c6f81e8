/* SPDX-License-Identifier: MIT */
/* selector.h - a selector: candidates, trees and table in the form of selector_core.h, to choose
 * with, and to write as C source. */
#ifndef KS_ANALYSIS_SELECTOR_H
#define KS_ANALYSIS_SELECTOR_H

#include "analysis/model/distill.h"
#include "analysis/model/forest.h"
#include "base/buf.h"

#include <stdbool.h>

/* What the user wants. */
struct ks_selector_options {
    uint32_t size; /* enum ks_sel_size */
    /* At most so many candidates: the smallest set that loses at most 1 %; 0 = all. */
    uint32_t smallest;
};

/* A budgeted selector has a shortlist of 8 candidates, which go through a tree together, and so
 * many trees that their depths add up to this: 20 us on one core (tests/bench/bench_selector.c). */
#define KS_SEL_BUDGET 1300
#define KS_SEL_SHORT  8
#define KS_SEL_ENOUGH 0.01 /* what a smallest set may lose */
/* The orders of all classes together have at most so many entries: 64 KiB. An order that has more
 * than its share keeps as many from each domain (direction, data type, layout, dimensions), the
 * best ones: instances of other domains never apply to a problem. */
#define KS_SEL_CLASS_ENTRIES 32768

/* Zero-initialised = empty. Owns everything; `model` points into it, so it must not move. */
struct ks_selector {
    struct ks_sel_model model;
    double least[KS_FX_N_QUANTITIES], most[KS_FX_N_QUANTITIES];
    uint16_t *index, *order, *class_orders;
    uint32_t class_first[KS_FX_N_CLASSES + 1]; /* into class_orders */
    float *values;
    struct ks_fx_instance *instances;
    const struct ks_feature_spec *spec; /* borrowed */
    uint32_t *from;                     /* [model.n_instances] instance of the specification */
    uint32_t *measured; /* [n_measured] instances of the specification that training has times of */
    uint32_t n_measured, n_wanted; /* n_wanted: of a smallest set, at most */
    struct ks_forest forest;
    struct ks_distilled table;
    struct ks_losses losses; /* of the candidates in training */
    struct ks_distill_options table_options;
    uint16_t
        *smallest; /* [n_smallest] of the specification, in the order in which they were taken */
    double *smallest_loss; /* [n_smallest] mean loss of the set up to each */
    uint32_t n_smallest;
};

/* ks_selector_create() - @spec, forest [in] of one model; forest is taken on success
 * @target [in] enum ks_target: what scores mean
 * @cells, fold [in] training data: table, static orders and smallest set are learned from it
 * s_out is the caller's to release, whatever is returned.
 * Returns 0; KS_EINVAL: the trees and the specification do not fit each other; KS_ENOMEM. */
int ks_selector_create(const struct ks_feature_spec *spec, struct ks_forest *forest,
                       uint32_t target, const struct ks_cells *cells, const uint8_t *fold,
                       const struct ks_selector_options *options, struct ks_selector *s_out,
                       struct ks_err *err);
void ks_selector_release(struct ks_selector *s);
/* ks_selector_calibrate() - what differences of scores mean, for a target that is an order: the
 * factor that takes them to ln(time / time of the pick), least squares over the training cells,
 * each problem with the same weight. It stays unknown where the two do not grow together.
 * @scores [in] [c->n] out of fold; NaN = none */
void ks_selector_calibrate(struct ks_selector *s, const struct ks_cells *c, const float *scores);

/* ks_sel_select() for a problem; instances of picks are numbers of the selector's candidates. */
int ks_selector_pick(const struct ks_selector *s, const struct ks_problem *p, const uint8_t *mask,
                     struct ks_sel_pick *picks_out, int k, int *rule_out);

/* ---- how good it is ---- */

/* Efficiency (best time / time; 0 where it was not measured) of the best of the first 1, 2, 4. */
struct ks_selector_line {
    size_t n;
    double mean[3], p10[3];
};
/* ks_selector_score() - each problem by trees, a table, its depth and a smallest set that have not
 * seen the problem's fold.
 * @scores [in] [c->n] out of fold, NaN = none: ranks last; NULL = no trees: the table alone
 * @is_outside [in] [c->n_problems] of the range of the fold's training: the class's static order
 * ranks, as where no candidate of the list was measured
 * @with_table [in] only candidates of the problem's list
 * Among the measured candidates of each problem. KS_ENOMEM, KS_EINVAL. */
int ks_selector_score(const struct ks_selector *s, const struct ks_cells *c, const float *scores,
                      const bool *is_outside, bool with_table, struct ks_selector_line *line_out,
                      struct ks_err *err);
/* What the selector itself picks for the problems of training, which it has seen.
 * @among_measured [in] only measured candidates; else all, and unmeasured picks count 0 */
int ks_selector_try(const struct ks_selector *s, const struct ks_cells *c, bool among_measured,
                    struct ks_selector_line *line_out, struct ks_err *err);

/* ---- as C ---- */

/* name: prefix of all names and of the file names; a C identifier. Appended. */
void ks_selector_write_header(const struct ks_selector *s, const char *name, struct ks_buf *to);
void ks_selector_write_source(const struct ks_selector *s, const char *name, struct ks_buf *to);
/* A program that holds the selector's picks against these, computed here: TAP, exit 1 if one
 * differs. problems: [n]. */
void ks_selector_write_test(const struct ks_selector *s, const char *name,
                            const struct ks_problem *problems, size_t n, struct ks_buf *to);

#endif
