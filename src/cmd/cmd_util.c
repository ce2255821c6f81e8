/* SPDX-License-Identifier: MIT */
/* cmd_util.c - shared by commands: the grid of a job file, printing with controls escaped */
#include "cmd/cmd_util.h"

#include "base/text.h"
#include "base/wrap.h"
#include "mpi/launch.h"
#include "mpi/seat.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { INDENT = 4 }; /* of the rest of a long line */

static int open_grid(struct ks_warden *warden, const char *path, const char *backend,
                     const char *arch, struct ks_job *job, struct ks_grid *grid_out,
                     struct ks_err *err)
{
    struct ks_bind_card card;
    int rc = ks_job_load(path, job, err);

    if (rc == 0)
        rc = ks_job_choose(job, backend, arch, err);
    if (rc == 0 && ks_seat_is_asked(job))
        rc = ks_seat_card(job, warden, &card, err);
    if (rc == 0)
        rc = ks_seat_native(job, &card, err);
    return rc < 0 ? rc : ks_grid_load_job(job, grid_out, err);
}

int ks_cmd_grid(struct ks_warden *warden, const char *path, const char *backend, const char *arch,
                struct ks_grid *grid_out, struct ks_err *err)
{
    struct ks_job *job = calloc(1, sizeof *job);
    int rc = job ? open_grid(warden, path, backend, arch, job, grid_out, err)
                 : ks_fail(err, KS_ENOMEM, "out of memory");

    if (job)
        ks_job_release(job);
    free(job);
    return rc;
}

/* How many line ends fmt begins with, and how many it has at its end. */
static size_t leading(const char *fmt)
{
    return strspn(fmt, "\n");
}

static size_t trailing(const char *fmt)
{
    size_t n = strlen(fmt), k = 0;

    while (k < n && fmt[n - 1 - k] == '\n')
        k++;
    return k;
}

static void put(struct ks_buf *to, const char *fmt, va_list ap)
{
    const size_t before = leading(fmt), after = fmt[before] ? trailing(fmt) : 0;
    struct ks_buf b;

    ks_buf_init(&b);
    ks_buf_vprintf(&b, fmt, ap);
    if (ks_buf_ok(&b) && b.len >= before + after) {
        const char *text = ks_buf_text(&b);

        ks_buf_put(to, text, before);
        ks_text_put(to, text + before, b.len - before - after, KS_LINES_NONE);
        ks_buf_put(to, text + b.len - after, after);
    }
    ks_buf_release(&b);
}

void ks_cmd_put(struct ks_buf *to, const char *fmt, ...)
{
    va_list ap;

    va_start(ap, fmt);
    put(to, fmt, ap);
    va_end(ap);
}

void ks_cmd_printf(const char *fmt, ...)
{
    struct ks_buf b;
    va_list ap;

    ks_buf_init(&b);
    va_start(ap, fmt);
    put(&b, fmt, ap);
    va_end(ap);
    if (ks_buf_ok(&b))
        (void)fwrite(ks_buf_text(&b), 1, b.len, stdout);
    ks_buf_release(&b);
}

unsigned ks_cmd_width(void)
{
    const bool is_shown = isatty(STDOUT_FILENO) && !ks_launch_is_live();

    return is_shown ? ks_wrap_width(STDOUT_FILENO) : 0;
}

void ks_cmd_wrap(struct ks_buf *to, const char *lines, unsigned width)
{
    struct ks_buf line;

    ks_buf_init(&line);
    for (size_t n; *lines; lines += n + (lines[n] == '\n')) {
        n = strcspn(lines, "\n");
        ks_buf_clear(&line);
        ks_buf_put(&line, lines, n);
        ks_wrap_put(to, ks_buf_text(&line), 0, INDENT, width);
        ks_buf_put(to, lines + n, lines[n] == '\n');
    }
    ks_buf_release(&line);
}

void ks_cmd_warn_kept(const struct ks_log *log, const char *kept_as)
{
    if (kept_as[0])
        ks_logf(log, KS_WARN,
                "the journal has lost measurements that the old results file has: it is kept as "
                "'%s'",
                kept_as);
}
