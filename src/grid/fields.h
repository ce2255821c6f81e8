/* SPDX-License-Identifier: MIT */
/* fields.h - what family, config and job files have in common: bounded texts and words from a list,
 * every error with file, line and key. */
#ifndef KS_GRID_FIELDS_H
#define KS_GRID_FIELDS_H

#include "base/err.h"
#include "json/json.h"

#include <stddef.h>

/* The string at obj.key into out [cap]. KS_EINVAL: wrong kind, too long, or absent while
 * `otherwise` is NULL; else an absent one is `otherwise`. */
int ks_grid_field_text(const struct ks_json *doc, const struct ks_node *obj, const char *key,
                       const char *otherwise, char *out, size_t cap, struct ks_err *err);
/* As above; the text must be made of the characters in `allowed`, not empty, and begin with a
 * letter or '_'. */
int ks_grid_field_word(const struct ks_json *doc, const struct ks_node *obj, const char *key,
                       const char *allowed, char *out, size_t cap, struct ks_err *err);
/* The string of node `n` must be one of `names` (NULL-terminated): its index, else KS_EINVAL that
 * names the nearest and all of them. */
int ks_grid_field_choice(const struct ks_json *doc, const struct ks_node *n,
                         const char *const *names, int *out, struct ks_err *err);
/* The node at obj.key must be there and of that kind. */
int ks_grid_field_node(const struct ks_json *doc, const struct ks_node *obj, const char *key,
                       enum ks_json_kind kind, const struct ks_node **out, struct ks_err *err);
/* " did you mean 'x'" or "" into out. */
void ks_grid_field_hint(const char *word, const char *const *names, char *out, size_t cap);

#endif
