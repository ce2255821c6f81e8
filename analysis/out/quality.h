/* SPDX-License-Identifier: MIT */
/* quality.h - scorecards for people and for programs. */
#ifndef KS_ANALYSIS_OUT_QUALITY_H
#define KS_ANALYSIS_OUT_QUALITY_H

#include "analysis/data/quality.h"
#include "base/buf.h"
#include "json/json.h"

/* All append. */
void ks_quality_text(const struct ks_scorecard *s, struct ks_buf *to);
/* worst: [n]; files: what their numbers of files stand for. */
void ks_worst_text(const struct ks_worst *worst, size_t n, const char *const *files,
                   struct ks_buf *to);
void ks_worst_json(const struct ks_worst *worst, size_t n, const char *const *files,
                   const char *key, struct ks_jw *w);
/* The command that shows all rows of the problem in this file. */
void ks_worst_look(const struct ks_worst *w, const char *file, struct ks_buf *to);
/* name: of the best baseline. */
void ks_retimed_text(const struct ks_retimed *r, const char *name,
                     const struct ks_retimed_pair *pair, struct ks_buf *to);
void ks_retimed_json(const struct ks_retimed *r, const char *key, struct ks_jw *w);
/* networks: [n]. */
void ks_networks_text(const struct ks_network *networks, size_t n, struct ks_buf *to);
void ks_networks_json(const struct ks_network *networks, size_t n, const char *key,
                      struct ks_jw *w);
/* One object under this key; what is not known is left out. */
void ks_quality_json(const struct ks_scorecard *s, const char *key, struct ks_jw *w);

#endif
