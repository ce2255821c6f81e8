/* SPDX-License-Identifier: MIT */
/* lines_impl.h - what the lines_*.c files share: the options of the adapter `lines`. */
#ifndef KS_PROFILER_LINES_IMPL_H
#define KS_PROFILER_LINES_IMPL_H

#include "profiler/pattern.h"
#include "profiler/profiler_impl.h"

enum { KS_LINES_PATTERNS = 16, KS_LINES_FIELDS = 64 };

enum ks_lines_output { KS_LINES_JSON, KS_LINES_CSV, KS_LINES_PATTERN };

/* Patterns beside those of rows: of the lines that say something else. */
enum ks_lines_event {
    KS_LINES_START,         /* an instance begins to run */
    KS_LINES_UNSUPPORTED,   /* an instance cannot run this problem */
    KS_LINES_WRONG,         /* an instance's result is wrong: the held row, or one of its own */
    KS_LINES_UNIMPLEMENTED, /* the program has nothing for this problem */
    KS_LINES_END,           /* what the program prints last */
    KS_LINES_N_EVENTS
};

struct ks_lines_options {
    struct ks_json *doc;        /* a copy of the options, owned */
    const struct ks_node *root; /* of doc */
    enum ks_lines_output output;
    struct ks_pattern patterns[KS_LINES_PATTERNS];
    size_t n_patterns;
    struct ks_pattern events[KS_LINES_N_EVENTS];
    const char *keys[KS_LINES_FIELDS];    /* "time": borrowed from doc */
    const char *sources[KS_LINES_FIELDS]; /* path or column of keys[i] */
    size_t n_fields;
    double time_ns, rate, bandwidth; /* what one unit of the program's is */
    char separator;
};

/* Is it a field that a template may name, whatever the operator? near_out: the most similar one. */
bool ks_lines_field_known(const char *name, size_t n, const char **near_out);
/* One word of the command with its {fields} filled in. KS_EUNSUPPORTED: the problem lacks one, or
 * its value is not among options.words. */
int ks_lines_expand(const struct ks_lines_options *o, const char *word, const struct ks_problem *p,
                    const char *program, struct ks_buf *out, struct ks_err *err);

struct ks_lines_state; /* of the reader */
void *ks_lines_state_new(const void *options, const struct ks_problem *p,
                         const struct ks_profiler_choice *choice);
void ks_lines_state_free(void *state);
int ks_lines_line(struct ks_profiler_reader *r, char *text, size_t n, struct ks_err *err);

#endif
