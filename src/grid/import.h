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

extern const struct ks_importer ks_import_csv, ks_import_miopen;

/* One file on its way into a set, line by line. */
struct ks_import {
    struct ks_problem_set *set;
    const char *name; /* for messages */
    bool strict;
    struct ks_err *err;
    const char *rest; /* not yet read */
    size_t n_rest;
    uint64_t line;      /* number of the one in `text`, from 1 */
    struct ks_buf text; /* the line, NUL-terminated, without its end; NUL bytes are '?' */
};

void ks_import_start(struct ks_import *im, struct ks_problem_set *set, const char *text, size_t len,
                     const char *name, bool strict, struct ks_err *err);
void ks_import_stop(struct ks_import *im);
/* 1 = a line (LF, CR LF or the end of the text ended it), 0 = no more, < 0 no memory. */
int ks_import_line(struct ks_import *im);

/* Counts the command on this line as refused. KS_EFORMAT when strict, else 0. */
int ks_import_refuse(struct ks_import *im, const char *fmt, ...)
    __attribute__((format(printf, 2, 3)));
/* The same for an error that another function has worded; running out of memory is no fault of the
 * line and stays an error. */
int ks_import_refuse_err(struct ks_import *im, const struct ks_err *why);
/* Counts it as taken and adds its n finished problems. */
int ks_import_take(struct ks_import *im, const struct ks_problem *p, size_t n);

/* A whole number with optional sign and nothing behind it. */
bool ks_import_whole(const char *text, int64_t *out);

#endif
