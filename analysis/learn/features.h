/* SPDX-License-Identifier: MIT */
/* features.h - what a model sees of a problem and an instance, and the feature_spec.json that says
 * so. Names follow from the operator's dimensions and the families' traits; the arithmetic is
 * feature_core.h, which selectors contain verbatim.
 *
 * How to use it: 1. ks_features_need() adds the columns; 2. ks_traits_add() collects the instances
 * of all frames; 3. ks_feature_spec_create() decides which features there are, from problems and
 * instances of training rows only; 4. ks_feature_spec_calibrate(), optional, from the times of a
 * few of them; 5. ks_features_row() for any pair, measured or not. */
#ifndef KS_ANALYSIS_FEATURES_H
#define KS_ANALYSIS_FEATURES_H

#include "analysis/data/frame.h"
#include "analysis/learn/feature_core.h"
#include "base/buf.h"
#include "op/op.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define KS_FEATURE_SPEC_VERSION 1
#define KS_FEATURES_MAX         512
#define KS_FEATURE_NAME         96
/* More different texts of a trait, or instances without traits, become their rank instead of a
 * feature each. */
#define KS_ONE_HOT_MAX 48

/* ---- instances with their traits, as a frame has them ---- */

/* A value of an instance: a number or a text; neither = the instance has no such trait. */
struct ks_trait_value {
    double number; /* NaN = none */
    char *text;    /* owned; NULL = none */
};
/* Zero-initialised = empty. Columns are in the order of the frames': those of the first, then what
 * later ones add. */
struct ks_traits {
    char **columns; /* [n_columns] "trait_tile_m", "lds_bytes"; owned */
    size_t n_columns, n_instances, cap;
    uint64_t *ids;                 /* [n_instances] */
    char **names, **families;      /* [n_instances] owned */
    struct ks_trait_value *values; /* [n_instances][n_columns] */
};
void ks_traits_release(struct ks_traits *t);

struct ks_sources; /* analysis/data/catalogue.h */
struct ks_store_file;
/* Adds the columns that the calls below read: identities, dimensions, traits, code-object metadata.
 * KS_ENOMEM. */
int ks_features_need(struct ks_sources *sources, const struct ks_store_file *f, struct ks_err *err);
/* ks_traits_add() - the instances of a frame that are not there yet, in order of their first row,
 * and of the others what was not known. Frames may have different traits; what an instance's frames
 * do not have is missing.
 * Returns 0; KS_EINVAL the frame has no identities; KS_ENOMEM. */
int ks_traits_add(struct ks_traits *t, const struct ks_df *f, struct ks_err *err);
/* UINT32_MAX: none of that id. */
uint32_t ks_traits_find(const struct ks_traits *t, uint64_t id);

/* The problem of a row, from the column `canonical`.
 * Returns 1; 0: no operator of ours has such a problem (imported rows), or the row has none;
 * KS_EINVAL the frame lacks the column; KS_ENOMEM. */
int ks_frame_problem(const struct ks_df *f, size_t row, struct ks_problem *p_out,
                     struct ks_err *err);

/* ---- the specification ---- */

enum ks_feature_kind {
    KS_FEATURE_PROBLEM,  /* index: enum ks_fx_quantity */
    KS_FEATURE_INSTANCE, /* index: into ks_feature_instance.value */
    KS_FEATURE_PAIR,     /* index: enum ks_fx_pair */
    KS_N_FEATURE_KINDS
};
struct ks_feature {
    char name[KS_FEATURE_NAME]; /* "log2_m", "trait_tile_m", "trait_pipeline=packed" */
    char unit[16];              /* "" = none */
    char meaning[128];
    uint32_t kind, index;
};
struct ks_feature_instance {
    uint64_t id;
    char *name, *family; /* owned */
    struct ks_fx_instance fx;
    double *value; /* [n_values] owned; NaN = missing */
};
/* Features stand in the order problem, instance, pair; a model's column i is feature i. */
struct ks_feature_spec {
    uint32_t op; /* index into ks_operators */
    struct ks_feature *features;
    size_t n_features, n_problem, n_values; /* all; of kind problem; of kind instance */
    struct ks_feature_instance
        *instances; /* [n_instances] candidates, in the order of the traits */
    size_t n_instances;
    struct ks_fx_device device;
    double lo[KS_FX_N_QUANTITIES], hi[KS_FX_N_QUANTITIES]; /* range of the problems; NaN = none */
    bool is_calibrated;
    uint64_t digest; /* of everything above */
};
void ks_feature_spec_release(struct ks_feature_spec *s); /* zeroed is fine */

/* ks_feature_spec_create() - the features that differ between these problems or instances, and all
 * interactions that the instances' traits allow.
 * @problems [in] [n_problems] of one operator
 * @device   [in] NULL: one unit of a CPU; rates are 0 until calibrated
 * @spec_out [out] untouched on failure; the caller releases it
 * Returns 0; KS_EINVAL no problem, no instance, several operators, or more than KS_FEATURES_MAX;
 * KS_ENOMEM. */
int ks_feature_spec_create(const struct ks_problem *problems, size_t n_problems,
                           const struct ks_traits *traits, const struct ks_fx_device *device,
                           struct ks_feature_spec *spec_out, struct ks_err *err);

/* Widens the range by problems, of the specification's operator, that a model is also trained on.
 * KS_ENOMEM. */
int ks_feature_spec_widen(struct ks_feature_spec *s, const struct ks_problem *problems, size_t n,
                          struct ks_err *err);

/* What is known of a device by its arch ("gfx942", "zen4") and number of units (0 = not known). */
struct ks_fx_device ks_feature_device(const char *arch, uint32_t n_units);

/* ---- rows ---- */

/* ks_features_row() - the features of a pair.
 * @p [in] of the specification's operator
 * @row_out [out] [n_features]; NaN = missing. Pure; does not fail. */
void ks_features_row(const struct ks_feature_spec *s, const struct ks_problem *p,
                     uint32_t i_instance, float *row_out);
/* UINT32_MAX: the specification has no instance of that id. */
uint32_t ks_feature_spec_find(const struct ks_feature_spec *s, uint64_t instance_id);
/* Whether the instance's domain and needs allow the problem. An instance without any known needs
 * applies to its whole domain: a caller's mask decides (has_needs). */
bool ks_feature_applies(const struct ks_feature_spec *s, const struct ks_problem *p,
                        uint32_t i_instance);
struct ks_fx_problem ks_feature_problem(const struct ks_problem *p);

/* The range of the problems that a selector is for: small numbers within that of training, such as
 * strides and filter extents; larger ones within a factor of two.
 * @least_out, most_out [out] [KS_FX_N_QUANTITIES] */
void ks_feature_limits(const struct ks_feature_spec *s, double *least_out, double *most_out);
/* NULL: inside. Else the name of the first quantity that is not, for which a selector falls back.
 * @p [in] of the specification's operator */
const char *ks_feature_outside(const struct ks_feature_spec *s, const struct ks_problem *p);

/* ks_features_fill() - the features of all rows of a frame.
 * @x_out [out] [n_rows][n_features]; rows whose instance is not in the specification are NaN but
 * for their problem's features; rows whose problem ks_frame_problem() does not read are NaN
 * Returns the number of the former; KS_EINVAL: another operator, a missing column; KS_ENOMEM. */
int ks_features_fill(const struct ks_feature_spec *s, const struct ks_df *f, float *x_out,
                     struct ks_err *err);

/* ---- feature_spec.json ---- */

/* Appended. */
void ks_feature_spec_write(const struct ks_feature_spec *s, struct ks_buf *json_out);
/* KS_EFORMAT: not a specification, another version of it or of the arithmetic, a feature that is
 * not known, or another digest than it says; names the file and the place. */
int ks_feature_spec_read(const char *path, struct ks_feature_spec *spec_out, struct ks_err *err);
int ks_feature_spec_parse(const char *text, size_t len, const char *name,
                          struct ks_feature_spec *spec_out, struct ks_err *err);

#endif
