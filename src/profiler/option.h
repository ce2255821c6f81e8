/* SPDX-License-Identifier: MIT */
/* option.h - typed options of adapters; between the files here. */
#ifndef KS_PROFILER_OPTION_H
#define KS_PROFILER_OPTION_H

#include "json/json.h"

#include <stdbool.h>

/* Each leaves *out as it is where the key (or the object) is absent. KS_EINVAL names file, key and
 * the known values. */
int ks_profiler_choice_option(const struct ks_json *doc, const struct ks_node *object,
                              const char *key, const char *const *names, int *out,
                              struct ks_err *err);
int ks_profiler_bool_option(const struct ks_json *doc, const struct ks_node *object,
                            const char *key, bool *out, struct ks_err *err);
int ks_profiler_int_option(const struct ks_json *doc, const struct ks_node *object, const char *key,
                           int64_t least, int64_t most, int64_t *out, struct ks_err *err);

#endif
