/* SPDX-License-Identifier: MIT */
/* log.h - lines on stderr: `time level rank text`. Only src/mpi, src/cmd and the mains log; modules
 * below return errors. The logger is a value its user owns: no file-scope state. */
#ifndef KS_BASE_LOG_H
#define KS_BASE_LOG_H

#include <stdio.h>

enum ks_level { KS_ERROR, KS_WARN, KS_INFO, KS_DEBUG, KS_TRACE };

struct ks_log {
    FILE *to;   /* usually stderr; borrowed */
    FILE *copy; /* NULL, or a second place (DIR/log); borrowed */
    enum ks_level level;
    int rank; /* -1: not part of a job, no rank printed */
};

struct ks_log ks_log_stderr(enum ks_level level, int rank);
void ks_logf(const struct ks_log *log, enum ks_level level, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));
/* The level named by text ("error".."trace"), or `otherwise`. */
enum ks_level ks_level_from(const char *text, enum ks_level otherwise);

#endif
