/* SPDX-License-Identifier: MIT */
/* import.h - what the importers of problem lists share. */
#ifndef KS_GRID_IMPORT_H
#define KS_GRID_IMPORT_H

#include "base/buf.h"
#include "base/err.h"
#include "grid/problems.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

extern const struct ks_importer ks_import_csv, ks_import_miopen, ks_import_ck, ks_import_ckprofiler,
    ks_import_ck_config, ks_import_fdb, ks_import_generator, ks_import_pytorch, ks_import_trace;

/* One file on its way into a set, line by line. */
struct ks_import {
    struct ks_problem_set *set;
    const char *name; /* for messages */
    bool strict;
    struct ks_err *err;
    const char *rest; /* not yet read */
    size_t n_rest;
    uint64_t n_read;    /* lines read so far */
    uint64_t line;      /* number of the one in `text`, from 1; of joined lines the first */
    struct ks_buf text; /* the line, NUL-terminated, without its end; NUL bytes are '?' */
    int64_t count;      /* how often the source has the line: 1, or what `uniq -c` says */
    uint32_t rank;      /* priority of the next problems taken; 0: not told */
    const char *label;  /* names the next blank convolution; NULL: its line does */
};

void ks_import_start(struct ks_import *im, struct ks_problem_set *set, const char *text, size_t len,
                     const char *name, bool strict, struct ks_err *err);
void ks_import_stop(struct ks_import *im);
/* 1 = a line (LF, CR LF or the end of the text ended it), 0 = no more, < 0 no memory. */
int ks_import_line(struct ks_import *im);
/* The same, but the next line is appended to `text`; `line` stays. */
int ks_import_more(struct ks_import *im);

/* The same, of a file that is all text: 2 = the line was refused, because it has a byte that is not
 * UTF-8, or a control character other than a tab; the message has its column. < 0: KS_EFORMAT, too,
 * when strict. */
int ks_import_text_line(struct ks_import *im);

/* Counts the command on this line as refused. KS_EFORMAT when strict, else 0. */
int ks_import_refuse(struct ks_import *im, const char *fmt, ...)
    __attribute__((format(printf, 2, 3)));
/* The same for an error that another function has worded; running out of memory is no fault of the
 * line and stays an error. */
int ks_import_refuse_err(struct ks_import *im, const struct ks_err *why);
/* Counts it as taken and adds its n finished problems. */
int ks_import_take(struct ks_import *im, const struct ks_problem *p, size_t n);

/* A whole number with optional sign and nothing behind it: NULL, or what is wrong with the text
 * ("is not a whole number"). */
const char *ks_import_number(const char *text, int64_t *out);

/* The first line that is neither blank nor a comment; NULL: none. Not NUL-terminated. */
const char *ks_import_first_line(const char *text, size_t len, size_t *n_out);
bool ks_import_is_blank(const char *line); /* empty, or a comment that begins with # */

/* A blank grouped convolution with the line's count, named after the line: "list.txt:12". */
int ks_import_blank_conv(const struct ks_import *im, struct ks_problem *p_out);

/* One command of a shell script or log: the word behind the program's name and what follows. */
struct ks_import_command {
    char word[64];
    char *args; /* NUL-terminated in place */
};
/* Hands each line of a shell script, a log or a Markdown page to `take`, which returns < 0 to stop,
 * ready for ks_import_next_command(): without Markdown's quote marks ("> "), joined with those that
 * follow while it ends in a backslash, and without the count that `uniq -c` writes before a line,
 * which becomes im->count. A count is a number before the program's name, or behind blanks before
 * any text that names the program. A count of 0 or beyond 2^31 - 1 refuses the line, and the next
 * one follows. line: in im->text; NULL for an empty line. Returns 0 at the end, or what `take` or
 * reading failed with. */
int ks_import_command_lines(struct ks_import *im, const char *program,
                            int (*take)(struct ks_import *im, char *line));
/* Finds the next "<program> word args" at or behind *at, wherever it stands in its line, whose word
 * `is_mine` wants; *at moves behind it, or becomes NULL at the end. A command ends where a shell
 * would end it, at one of ; | & < > ) ` or a comment: so Markdown's `code` ends there, too. A line
 * that is a comment holds none. */
bool ks_import_next_command(char **at, const char *program, bool (*is_mine)(const char *word),
                            struct ks_import_command *out);
/* One command of Composable Kernel's profiler: the operation ("grouped_conv_fwd") and its
 * arguments, which are changed on the way. Takes or refuses it. */
int ks_import_ckprofiler_command(struct ks_import *im, const char *op, char *args);
/* The next word, NUL-terminated in place, or NULL. Quotes hold blanks. */
char *ks_import_word(char **at);

#endif
