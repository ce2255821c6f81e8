/* SPDX-License-Identifier: MIT */
/* option.h - options of adapters as a table: reading, defaults, and writing them resolved. */
#ifndef KS_PROFILER_OPTION_H
#define KS_PROFILER_OPTION_H

#include "json/json.h"

#include <stdbool.h>
#include <stddef.h>

enum ks_profiler_option_kind {
    KS_PROFILER_CHOICE, /* int: index into names */
    KS_PROFILER_BOOL,   /* bool */
    KS_PROFILER_INT,    /* int64_t, within least and most, or the word */
    KS_PROFILER_TEXT    /* char[cap]; written unless it is "" */
};

/* One key of "options", and where its value is in the adapter's struct. */
struct ks_profiler_option {
    const char *key; /* NULL: the end of the table */
    enum ks_profiler_option_kind kind;
    size_t offset, cap;
    const char *const *names; /* NULL-terminated */
    int64_t least, most;
    const char *word; /* of an int: a text that stands for word_value; NULL: none */
    int64_t word_value;
};

/* ks_profiler_options_read() - a struct of options from a job's "options".
 * @node [in] the object; NULL: all defaults
 * @defaults [in] [size] bytes
 * @out  [out] a copy of the defaults with what the object says; the caller frees it
 * Returns 0; KS_EINVAL an unknown key or a value that is not allowed: the text names file, key and
 * the known values; KS_ENOMEM. */
int ks_profiler_options_read(const struct ks_profiler_option *table, const struct ks_json *doc,
                             const struct ks_node *node, const void *defaults, size_t size,
                             void **out, struct ks_err *err);
/* The resolved options as keys of an open object. */
void ks_profiler_options_write(const struct ks_profiler_option *table, const void *options,
                               struct ks_jw *w);

/* One choice; *out stays as it is where the key (or the object) is absent. */
int ks_profiler_choice_option(const struct ks_json *doc, const struct ks_node *object,
                              const char *key, const char *const *names, int *out,
                              struct ks_err *err);

#endif
