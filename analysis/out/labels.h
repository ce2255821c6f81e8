/* SPDX-License-Identifier: MIT */
/* labels.h - names in columns: what all of them begin with is said once, the rest of each is
 * printed whole. */
#ifndef KS_ANALYSIS_LABELS_H
#define KS_ANALYSIS_LABELS_H

#include "base/buf.h"

#define KS_LABEL_DOTS "..."

/* Names on one line each. Zero-initialised = empty. */
struct ks_labels {
    struct ks_buf *text; /* [n] escaped (base/text.h) */
    size_t n, cap;
    size_t prefix; /* bytes that all of them begin with; 0: too few to leave out */
    int width;     /* columns of the longest one as ks_labels_put prints it */
};

/* KS_ENOMEM. The name is copied. */
int ks_labels_add(struct ks_labels *names, const char *name, struct ks_err *err);
/* After the last one: finds the prefix, which ends behind a separator ('_', '.', '-', '/', ':' or a
 * blank) and has 8 characters or more, and the width. */
void ks_labels_end(struct ks_labels *names);
void ks_labels_release(struct ks_labels *names);

/* Name i, padded to the width: whole, or "..." and what follows the prefix. */
void ks_labels_put(const struct ks_labels *names, size_t i, struct ks_buf *to);

#endif
