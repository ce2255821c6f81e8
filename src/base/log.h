/* SPDX-License-Identifier: MIT */
/* log.h - lines on stderr: `time level rank text`. Only src/mpi, src/cmd and the mains log; modules
 * below return errors. The logger is a value its user owns: no file-scope state. */
#ifndef KS_BASE_LOG_H
#define KS_BASE_LOG_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

enum ks_level { KS_ERROR, KS_WARN, KS_INFO, KS_DEBUG, KS_TRACE };

struct ks_log {
    FILE *to;          /* usually stderr; NULL: nowhere; borrowed */
    FILE *copy;        /* NULL, or a second place (DIR/log); borrowed */
    const char *erase; /* NULL, or written to `to` before each entry: a line there is rewritten in
                          place (term.h); borrowed */
    enum ks_level level;
    int rank; /* -1: not part of a job, no rank printed */
};

struct ks_log ks_log_stderr(enum ks_level level, int rank);
/* One entry: control characters are escaped, and further lines of a text are indented, so that
 * nothing in it looks like another entry (text.h). */
void ks_logf(const struct ks_log *log, enum ks_level level, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));

/* Lines of a kind that may come with every cell. Begins as zero. */
struct ks_log_often {
    uint64_t n;
};
#define KS_LOG_OFTEN 1000u
/* true: write the next line of this kind. The first KS_LOG_OFTEN are written, then one in so many,
 * which a line says once: a log must not grow with the sweep. what: "failures". */
bool ks_log_often(const struct ks_log *log, struct ks_log_often *often, const char *what);

/* The level named by text ("error".."trace"), or `otherwise`. */
enum ks_level ks_level_from(const char *text, enum ks_level otherwise);

#endif
