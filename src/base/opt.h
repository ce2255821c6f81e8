/* SPDX-License-Identifier: MIT */
/* opt.h - one table drives argv, job-file keys, --help, the manual and provenance. */
#ifndef KS_BASE_OPT_H
#define KS_BASE_OPT_H

#include "base/buf.h"
#include "base/err.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum ks_opt_type {
    KS_OPT_BOOL,        /* bool: yes|no|true|false; bare --flag means yes */
    KS_OPT_U32,         /* uint32_t, whole */
    KS_OPT_U64,         /* uint64_t, whole, also 0x... */
    KS_OPT_F64,         /* double, finite */
    KS_OPT_DURATION_MS, /* uint32_t ms: 500, 500ms, 2s, 3m, 1h */
    KS_OPT_ENUM,        /* unsigned: index into choices */
    KS_OPT_STR,         /* const char *, borrowed from argv or the job document */
    KS_OPT_LIST         /* struct ks_opt_list: a text each time that the option is given */
};

/* Begins as zero; ks_opt_release() frees the array. */
struct ks_opt_list {
    const char **text; /* [n], each borrowed from argv */
    uint32_t n;
};

struct ks_opt {
    const char *name; /* "--max-time" and the job key "max_time" ('-' and '_' are the same) */
    char letter;      /* 'n' or 0 */
    enum ks_opt_type type;
    size_t offset;   /* into the command's config struct */
    const char *def; /* parsed by the same parser, so --help cannot lie; NULL for STR, LIST */
    double min, max; /* inclusive; numbers only; both 0: no limit but the type */
    const char *const *choices; /* NULL-terminated, ENUM only */
    const char *arg;            /* "N", "FILE"; NULL for BOOL */
    const char *help;
    bool is_input; /* STR, LIST: files that the command reads, as it does its operands */
    bool
        is_output; /* STR: a file that the command writes, and that must not be one that it reads */
};

#define KS_OPT_END                                                                                 \
    {                                                                                              \
        .name = NULL                                                                               \
    }

/* Write every default into cfg, which holds no list yet. KS_EINVAL when the table itself is wrong
 * (a unit test runs it over every table). */
int ks_opt_defaults(const struct ks_opt *table, void *cfg, struct ks_err *err);

/* Set one option from text; argv, environment and job file all come through here. An unknown name
 * is KS_EINVAL and suggests the nearest one. */
int ks_opt_set(const struct ks_opt *table, void *cfg, const char *name, const char *value,
               struct ks_err *err);

/* Parse argv[1..argc). Options may stand before, between and after operands; "--" ends them.
 * Operands are moved (as pointers) to operands_out [caller's array of argc], their number to
 * *n_operands_out. "--help" sets *help_out and stops. */
int ks_opt_argv(const struct ks_opt *table, void *cfg, int argc, char *const argv[],
                const char **operands_out, int *n_operands_out, bool *help_out, struct ks_err *err);

/* The text of an option of type STR; NULL: not set. */
const char *ks_opt_text(const struct ks_opt *o, const void *cfg);

/* Frees the lists of cfg. */
void ks_opt_release(const struct ks_opt *table, void *cfg);

/* width: columns of a line, 0 = no limit (wrap.h). */
void ks_opt_help(const struct ks_opt *table, unsigned width, struct ks_buf *to);
/* What --help says of one option: its help, choices, range and default. */
void ks_opt_meaning(const struct ks_opt *o, struct ks_buf *to);
void ks_opt_markdown(const struct ks_opt *table, struct ks_buf *to);

/* The value now stored in cfg, as text that ks_opt_set reads back; of a list the last. */
void ks_opt_print(const struct ks_opt *o, const void *cfg, char *text_out, size_t cap);

/* The entry of `names` (NULL-terminated) nearest to `word` by edit distance, NULL if none is near.
 */
const char *ks_nearest(const char *word, const char *const *names);

#endif
