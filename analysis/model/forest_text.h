/* SPDX-License-Identifier: MIT */
/* forest_text.h - the list of trees in the text of a model that XGBoost saved as JSON. A large
 * model has more text than the JSON reader takes at once (json/json.h), and its values need many
 * times the memory of the text; so each tree is parsed alone. */
#ifndef KS_ANALYSIS_FOREST_TEXT_H
#define KS_ANALYSIS_FOREST_TEXT_H

#include "base/buf.h"
#include "base/err.h"

#include <stddef.h>

/* Zero-initialised = empty. */
struct ks_forest_text {
    struct ks_buf rest;   /* the text with an empty list in place of the trees; owned */
    const char *at, *end; /* what is left of the list, without its brackets; borrowed; NULL: the
                             text has no such list */
    const char *name;     /* borrowed; for messages */
};
/* ks_forest_text_open() - finds learner.gradient_booster.model.trees. What is no JSON is found by
 * the parser of `rest` and of the trees.
 * @text [in] [len] borrowed
 * KS_EFORMAT: the list has no end; KS_ENOMEM. */
int ks_forest_text_open(struct ks_forest_text *t_out, const char *text, size_t len,
                        const char *name, struct ks_err *err);
void ks_forest_text_release(struct ks_forest_text *t);

/* The next tree: 1 = [*len_out] at *tree_out; 0 = that was the last one; KS_EFORMAT. */
int ks_forest_text_next(struct ks_forest_text *t, const char **tree_out, size_t *len_out,
                        struct ks_err *err);

#endif
