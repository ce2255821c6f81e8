/* SPDX-License-Identifier: MIT */
/* cmd_util.c - shared by commands: the grid of a job file, printing with controls escaped */
#include "cmd/cmd_util.h"

#include "base/text.h"
#include "mpi/seat.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

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

void ks_cmd_printf(const char *fmt, ...)
{
    const size_t before = leading(fmt), after = fmt[before] ? trailing(fmt) : 0;
    struct ks_buf b;
    va_list ap;

    ks_buf_init(&b);
    va_start(ap, fmt);
    ks_buf_vprintf(&b, fmt, ap);
    va_end(ap);
    if (ks_buf_ok(&b) && b.len >= before + after) {
        const char *text = ks_buf_text(&b);

        (void)fwrite(text, 1, before, stdout);
        (void)ks_text_write(stdout, text + before, b.len - before - after, KS_LINES_NONE);
        (void)fwrite(text + b.len - after, 1, after, stdout);
    }
    ks_buf_release(&b);
}
