/* SPDX-License-Identifier: MIT */
/* log.c - log lines with time, level and rank, each in one write; thins out frequent warnings */
#include "base/log.h"
#include "base/clock.h"
#include "base/text.h"

#include <stdarg.h>
#include <string.h>

static const char *const level_names[] = { "error", "warn", "info", "debug", "trace" };
enum { N_LEVELS = sizeof(level_names) / sizeof(level_names[0]) };

struct ks_log ks_log_stderr(enum ks_level level, int rank)
{
    return (struct ks_log){ .to = stderr, .level = level, .rank = rank };
}

/* One write per line, so that lines of several processes on one terminal do not mix. */
static void put_line(FILE *to, const char *before, const char *line, size_t n)
{
    if (!to)
        return;
    if (before)
        fputs(before, to);
    fwrite(line, 1, n, to);
    fflush(to);
}

void ks_logf(const struct ks_log *log, enum ks_level level, const char *fmt, ...)
{
    char message[2000], line[4096], when[32], rank[24] = "";
    size_t room = sizeof(line) - 1; /* one byte stays for the newline */
    size_t n;
    va_list ap;
    int k;

    if (level > log->level || (unsigned)level >= N_LEVELS)
        return;
    ks_utc_text(ks_realtime_ns(), when, sizeof(when));
    if (log->rank >= 0)
        snprintf(rank, sizeof(rank), " rank %d", log->rank);
    k = snprintf(line, room, "%s %s%s ", when, level_names[level], rank);
    n = k < 0 ? 0 : (size_t)k;
    va_start(ap, fmt);
    k = vsnprintf(message, sizeof(message), fmt, ap);
    va_end(ap);
    if (k > 0)
        n += ks_text_escape(line + n, room - n, message, strlen(message), KS_LINES_INDENT);
    line[n++] = '\n';
    put_line(log->to, log->erase, line, n);
    put_line(log->copy, NULL, line, n);
}

bool ks_log_often(const struct ks_log *log, struct ks_log_often *often, const char *what)
{
    uint64_t n = often->n++;

    if (n == KS_LOG_OFTEN)
        ks_logf(log, KS_WARN,
                "%u %s so far; from now on only one in %u is logged, the journal has all",
                KS_LOG_OFTEN, what, KS_LOG_OFTEN);
    return n < KS_LOG_OFTEN || n % KS_LOG_OFTEN == 0;
}

enum ks_level ks_level_from(const char *text, enum ks_level otherwise)
{
    for (unsigned i = 0; text && i < N_LEVELS; i++)
        if (!strcmp(text, level_names[i]))
            return (enum ks_level)i;
    return otherwise;
}
