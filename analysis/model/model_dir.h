/* SPDX-License-Identifier: MIT */
/* model_dir.h - a trained model as a directory:
 *
 *   model.json        XGBoost's JSON; a score is the sum of the leaves, lowest first
 *   feature_spec.json names, units and meaning of the columns, instances, version (features.h)
 *   manifest.json     what it was trained on and how
 *   metrics.json      cross-validated figures
 *   problems.csv      training problems: problem_id, fold, class, uses, is_outside of the range of
 *                     the other folds, canonical
 *   instances.csv     candidates: instance_id, n_cells, name
 *   oof.csv           a row per training cell: time and the score of a model that has not seen the
 *                     problem; empty: that model does not know the instance. is_pick: what the
 *                     model picks; outside of its range the class's static order does
 *   importances.csv   total gain of the splits by each feature
 *
 * Nothing in it depends on when or where it was made. */
#ifndef KS_ANALYSIS_MODEL_DIR_H
#define KS_ANALYSIS_MODEL_DIR_H

#include "analysis/learn/features.h"
#include "analysis/model/train.h"
#include "base/buf.h"

/* 2: a score in oof.csv may be missing. 3: is_outside, sources; before it is_pick was by scores
 * alone. Formats 1 and 2 are read, too. */
#define KS_MODEL_FORMAT 3

struct ks_model_file { /* what it was trained on */
    const char *name, *digest;
    uint64_t schema_major, schema_minor, n_rows, n_usable;
};
struct ks_model_about {                /* borrowed */
    const struct ks_model_file *files; /* [n_files] */
    size_t n_files;
    const char *program;                  /* "ksweep-analyze 0.1.0" */
    const struct ks_time_source *device;  /* the model's: its features are this one's */
    const struct ks_time_source *sources; /* [n_sources] of the training problems */
    size_t n_sources;
    const char *const *where; /* [n_where] filters */
    size_t n_where;
    bool is_mixed;
    size_t n_other_sources; /* rows left out because their problem has more of another source */
    /* The model that training continued: NULL: none. Its problems are in problems.csv, its cells
     * with their scores in oof.csv, its trees in model.json. */
    const char *start_name, *start_digest; /* directory; SHA-256 of its model.json */
    size_t start_problems, start_trees;
};

/* ks_model_write() - makes the directory, whole or not at all.
 * @feature_spec, metrics [in] the two JSON files
 * KS_EEXIST: there is something of that name; KS_EIO, KS_ENOSPC, KS_ENOMEM, KS_EINVAL. */
int ks_model_write(const char *dir, const struct ks_fit_input *in,
                   const struct ks_train_options *options, const struct ks_trained *t,
                   const struct ks_model_about *about, const struct ks_buf *feature_spec,
                   const struct ks_buf *metrics, struct ks_err *err);

/* What is read back. Zero-initialised = empty. */
struct ks_model {
    struct ks_cells cells; /* of training */
    uint8_t *fold;         /* [n_problems] */
    float *scores;         /* [n cells] out of fold; NaN = none */
    size_t *pick;          /* [n_problems] the cell picked out of fold */
    bool *is_outside;      /* [n_problems] of the range of the fold's training: the pick is the
                              first of the class's static order; formats 1, 2: false */
    struct ks_booster *booster;
    struct ks_time_source device;   /* what its features are of; n_problems is of all sources */
    struct ks_time_source *sources; /* [n_sources] of training; formats 1, 2: the device */
    size_t n_sources;
    int64_t format;
    uint64_t seed;
    uint32_t target; /* enum ks_target */
};
/* m_out is the caller's to release, whatever is returned. KS_ENOENT, KS_EFORMAT: no model, of
 * another format, or damaged. */
int ks_model_read(const char *dir, uint32_t n_threads, struct ks_model *m_out, struct ks_err *err);
void ks_model_release(struct ks_model *m);
/* ks_model_read_spec() - the model's feature_spec.json.
 * @dir [in] that of the model
 * @spec_out [out] untouched on failure; the caller releases it
 * As ks_feature_spec_read(); KS_EFORMAT, too, when it is for another operator than the model's
 * problems, or has another number of features than its trees. */
int ks_model_read_spec(const struct ks_model *m, const char *dir, struct ks_feature_spec *spec_out,
                       struct ks_err *err);

/* Its texts in the order in which they are read. */
enum { KS_MODEL_TEXTS = 4 };
extern const char *const ks_model_texts[KS_MODEL_TEXTS];
/* ks_model_parse() - one of them from memory, behind those before it.
 * @name [in] stands for the file in messages
 * KS_EFORMAT, KS_EINVAL, KS_ENOMEM. */
int ks_model_parse(struct ks_model *m_io, size_t i_text, const char *text, size_t len,
                   const char *name, struct ks_err *err);

#endif
