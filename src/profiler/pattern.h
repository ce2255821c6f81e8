/* SPDX-License-Identifier: MIT */
/* pattern.h - POSIX extended regular expressions with named groups: "(?<time>[0-9.]+) ms". */
#ifndef KS_PROFILER_PATTERN_H
#define KS_PROFILER_PATTERN_H

#include "base/err.h"

#include <regex.h>
#include <stdbool.h>
#include <stddef.h>

enum {
    KS_PATTERN_GROUPS = 32,     /* at most, named or not */
    KS_PATTERN_TEXT_MAX = 65536 /* bytes of a line that are looked at */
};

/* All zero: matches nothing. */
struct ks_pattern {
    regex_t *compiled;              /* owned; NULL: none */
    char *names[KS_PATTERN_GROUPS]; /* of group i + 1; owned; NULL: it has none */
    size_t n_groups;
};

/* ks_pattern_compile() - "(?<name>...)" is a named group, "(?:...)" and "(...)" have no name.
 * Returns 0; KS_EINVAL not an expression, a bad or repeated name, too many groups; KS_ENOMEM. */
int ks_pattern_compile(const char *source, struct ks_pattern *out, struct ks_err *err);
void ks_pattern_release(struct ks_pattern *p);
/* Does it match anywhere in the text? groups_out [n_groups]; so is -1 for a group without part. */
bool ks_pattern_match(const struct ks_pattern *p, const char *text,
                      regmatch_t groups_out[KS_PATTERN_GROUPS]);
/* Has it a group of this name? */
bool ks_pattern_has(const struct ks_pattern *p, const char *name);

#endif
