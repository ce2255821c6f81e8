/* SPDX-License-Identifier: MIT */
/* profiler_impl.h - what an adapter defines, and what it reads with; between the files here. */
#ifndef KS_PROFILER_IMPL_H
#define KS_PROFILER_IMPL_H

#include "profiler/adapter.h"
#include "record/outcome.h"

extern const struct ks_profiler ks_profiler_ckprofiler, ks_profiler_miopendriver, ks_profiler_lines;

/* A row that is being put together. Texts are copied. */
struct ks_profiler_draft {
    struct ks_profiler_row row; /* numbers; texts are set when the row is given */
    struct ks_buf name, reason, rest;
    struct ks_buf traits; /* key, NUL, value, NUL, ... */
    size_t n_traits;
};

/* Contract: pure; outputs only on success. `options` is the adapter's own, made by options_read. */
struct ks_profiler {
    const char *name, *summary;
    const char *const *programs; /* file names to look for in a directory, NULL-terminated */
    /* Reads the options (NULL: defaults); *options_out is owned by the setup. */
    int (*options_read)(const struct ks_json *doc, const struct ks_node *node, void **options_out,
                        struct ks_err *err);
    void (*options_free)(void *options);                        /* never NULL there */
    void (*options_text)(const void *options, struct ks_jw *w); /* keys of an open object */
    void (*protocol)(const void *options, const struct ks_problem *p,
                     struct ks_profiler_protocol *out);
    /* NULL: `programs` for every problem. As ks_profiler_program_name(). */
    bool (*program_name)(const void *options, const struct ks_problem *p, unsigned i,
                         struct ks_buf *name_out);
    int (*command)(const void *options, const struct ks_problem *p, const char *program,
                   const struct ks_profiler_choice *choice, struct ks_profiler_command *out,
                   struct ks_err *err);
    /* NULL: the program cannot list. */
    int (*list_command)(const void *options, const struct ks_problem *p, const char *program,
                        struct ks_profiler_command *out, struct ks_err *err);
    bool (*runs_by_choice)(const void *options); /* NULL: never */
    const struct ks_profiler_variable *(*variable)(const void *options,
                                                   unsigned i); /* NULL: none */
    /* State of the reader between lines; NULL: none is needed. */
    void *(*state_new)(const void *options, const struct ks_problem *p,
                       const struct ks_profiler_choice *choice);
    void (*state_free)(void *state);
    /* One line, NUL-terminated, without its end; may be changed. */
    int (*line)(struct ks_profiler_reader *r, char *text, size_t n, struct ks_err *err);
    /* Traits of an instance's name; NULL: none. */
    void (*traits)(struct ks_profiler_draft *d);
};

struct ks_profiler_setup {
    const struct ks_profiler *adapter;
    void *options;
};

/* ---- for commands ---- */

/* Appends a copy of a word. KS_ENOMEM. */
int ks_profiler_word(struct ks_profiler_command *c, const char *word, struct ks_err *err);
int ks_profiler_number(struct ks_profiler_command *c, int64_t v, struct ks_err *err);

/* ---- for readers ---- */

const void *ks_reader_options(const struct ks_profiler_reader *r);
void *ks_reader_state(const struct ks_profiler_reader *r);
struct ks_profiler_summary *ks_reader_summary(struct ks_profiler_reader *r);
/* Gives the row that is held and begins a new, blank one, which is held until the next begins.
 * NULL: err is filled. */
struct ks_profiler_draft *ks_reader_begin(struct ks_profiler_reader *r, struct ks_err *err);
/* The row that is held; NULL: none. */
struct ks_profiler_draft *ks_reader_held(struct ks_profiler_reader *r);
/* Gives the row that is held, if any. */
int ks_reader_flush(struct ks_profiler_reader *r, struct ks_err *err);
/* An instance begins to run (NULL: none does). */
void ks_reader_set_running(struct ks_profiler_reader *r, const char *name, size_t n);
void ks_reader_set_reason(struct ks_profiler_reader *r, const char *text, size_t n);
void ks_reader_set_best(struct ks_profiler_reader *r, const char *name, size_t n);
void ks_reader_count_other(struct ks_profiler_reader *r);

void ks_draft_name(struct ks_profiler_draft *d, const char *text, size_t n);
void ks_draft_reason(struct ks_profiler_draft *d, const char *text, size_t n);
void ks_draft_rest(struct ks_profiler_draft *d, const char *text, size_t n);
void ks_draft_trait(struct ks_profiler_draft *d, const char *key, const char *value, size_t n);

#endif
