/* SPDX-License-Identifier: MIT */
/* selector_core.h - how a selector chooses: C99, no allocation, no state, no other header of ours
 * but feature_core.h. ksweep-analyze compiles it, and `select` copies it into every selector, so
 * the linked selector and the program choose alike. */
#ifndef KS_SEL_CORE_H
#define KS_SEL_CORE_H

#include "analysis/learn/feature_core.h"

#ifndef KS_SEL_API
#define KS_SEL_API /* a selector says `static` */
#endif

#define KS_SEL_BLOCK 32 /* candidates whose features are held at once */
#ifndef KS_SEL_FEATURES
#define KS_SEL_FEATURES 512 /* at most; a selector has as many as it needs */
#endif
#define KS_SEL_NONE 0xffff

/* A node of a tree. Children stand side by side, `left` counts from the root. A row holds its
 * features twice, each time with one more value: in the first half a missing feature is minus
 * infinity, so it goes left, in the second half plus infinity; a split names the half that it
 * wants. A leaf's children are itself: its feature is the one behind the last, minus infinity, so
 * it goes left, and walks may take more steps than a path has. */
struct ks_sel_node {
    float value;      /* goes left below it; of a leaf: its output */
    uint16_t feature; /* place in such a row */
    uint16_t left;
};
struct ks_sel_tree {
    uint32_t root; /* into nodes */
    uint16_t depth;
};
/* A split of the table on a quantity of the problem, or a leaf: a list of candidates. */
struct ks_sel_split {
    double at;        /* goes left at or below it */
    int16_t quantity; /* enum ks_fx_quantity; -1: leaf */
    uint16_t left;    /* child, the right one is behind it; of a leaf: its list */
};

enum ks_sel_size { KS_SEL_FULL, KS_SEL_BUDGETED, KS_SEL_DISTILLED };

/* What a prediction is, so what regret follows from it. */
enum ks_sel_meaning {
    KS_SEL_ORDER, /* an order; differences times `scale` are about such logarithms, if it is > 0 */
    KS_SEL_LOG,   /* differences are natural logarithms of ratios of times */
    KS_SEL_LOSS   /* 1 - best time / time */
};

/* Which rule chose. */
enum ks_sel_rule {
    KS_SEL_BY_MODEL, /* the trees, among all that apply or the table's shortlist */
    KS_SEL_BY_TABLE, /* the table alone */
    KS_SEL_ONLY,     /* one candidate applies */
    KS_SEL_BY_CLASS, /* outside the range of training: the first of its class's static order that
                        applies */
    KS_SEL_OUTSIDE,  /* likewise, but training has too few problems of the class: the first of the
                        static order of all problems that applies */
    KS_SEL_UNLISTED, /* nothing on the shortlist applies: the first of the class's static order, or
                        of that of all, that applies */
    KS_SEL_SAFE,     /* nothing is known to apply: the first of these orders that is allowed */
    KS_SEL_N_RULES
};

struct ks_sel_model {
    int32_t size;    /* enum ks_sel_size */
    int32_t op;      /* of the problems */
    int32_t meaning; /* enum ks_sel_meaning of a prediction; the lowest is the best */
    uint16_t n_features, n_problem, n_values, n_instances;
    const uint16_t *index; /* [n_features] enum ks_fx_quantity, value, enum ks_fx_pair */
    const float *values;   /* [n_instances][n_values] */
    const struct ks_fx_instance *instances; /* [n_instances] */
    struct ks_fx_device device;
    const double *least, *most; /* [KS_FX_N_QUANTITIES] of the problems it is for; NaN = any */
    const struct ks_sel_node *nodes;
    const struct ks_sel_tree *trees; /* [n_trees] */
    uint32_t n_trees;
    double base, scale;
    const struct ks_sel_split *splits; /* NULL: no table */
    const uint16_t *lists;             /* [n lists][width] instances, KS_SEL_NONE: end */
    uint16_t width;
    const uint16_t *order; /* [n_instances] static order of all problems, the safe instance first */
    /* Static orders of classes: that of class c begins with class_orders[class_first[c]] up to
     * class_first[c + 1], then `order` follows; where it has nothing of its own it is `order`. */
    const uint16_t *class_orders;
    const uint32_t *class_first; /* [KS_FX_N_CLASSES + 1] */
};

struct ks_sel_pick {
    int32_t instance;
    float regret; /* predicted time over that of the first pick - 1; NaN = not predicted */
};

/* ks_sel_select() - the best k candidates, at most 64 of them by the trees.
 * @mask  [in] NULL, or [n_instances]: 0 = the caller rules it out
 * @picks_out [out] [k] best first
 * @rule_out  [out] enum ks_sel_rule
 * Returns how many picks there are, at least 1; 0 if the mask allows nothing or k < 1. */
KS_SEL_API int ks_sel_select(const struct ks_sel_model *m, const struct ks_fx_problem *p,
                             const uint8_t *mask, struct ks_sel_pick *picks_out, int k,
                             int *rule_out);

/* The features of a candidate; row_out: [n_features]. */
KS_SEL_API void ks_sel_features(const struct ks_sel_model *m, const struct ks_fx_problem *p,
                                int instance, float *row_out);
/* What the trees predict of it; row: [n_features], NaN = missing. */
KS_SEL_API double ks_sel_predict(const struct ks_sel_model *m, const float *row);

/* A checksum (FNV-1a) of their bits; all NaNs are equal. */
KS_SEL_API uint32_t ks_sel_bits(const float *row, int n);

#endif
