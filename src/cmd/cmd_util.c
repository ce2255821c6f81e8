/* SPDX-License-Identifier: MIT */
#include "cmd/cmd_util.h"

#include "base/file.h"
#include "base/text.h"
#include "mpi/seat.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int ks_cmd_parse(const struct ks_command *cmd, void *cfg, int argc, char **argv,
                 const char **operands_out, int n_min, int n_max, int *n_operands_out,
                 struct ks_err *err)
{
    bool is_help = false;
    int rc = ks_opt_defaults(cmd->opts, cfg, err);

    if (rc == 0)
        rc = ks_opt_argv(cmd->opts, cfg, argc, argv, operands_out, n_operands_out, &is_help, err);
    if (rc < 0)
        return rc;
    if (*n_operands_out < n_min || (n_max > 0 && *n_operands_out > n_max))
        return ks_fail(err, KS_EINVAL, "%s argument; usage: ksweep %s",
                       *n_operands_out < n_min ? "missing" : "too many", cmd->usage);
    return 0;
}

static int open_grid(struct ks_cmd_ctx *ctx, const char *path, const char *backend,
                     const char *arch, struct ks_job *job, struct ks_grid *grid_out)
{
    struct ks_bind_card card;
    int rc = ks_job_load(path, job, &ctx->err);

    if (rc == 0)
        rc = ks_job_choose(job, backend, arch, &ctx->err);
    if (rc == 0 && ks_seat_is_asked(job))
        rc = ks_seat_card(job, ctx->warden, &card, &ctx->err);
    if (rc == 0)
        rc = ks_seat_native(job, &card, &ctx->err);
    return rc < 0 ? rc : ks_grid_load_job(job, grid_out, &ctx->err);
}

int ks_cmd_grid(struct ks_cmd_ctx *ctx, const char *path, const char *backend, const char *arch,
                struct ks_grid *grid_out)
{
    struct ks_job *job = malloc(sizeof *job);
    int rc = job ? open_grid(ctx, path, backend, arch, job, grid_out)
                 : ks_fail(&ctx->err, KS_ENOMEM, "out of memory");

    free(job);
    return rc;
}

int ks_cmd_emit(const struct ks_buf *result, const char *file, struct ks_err *err)
{
    if (!ks_buf_ok(result))
        return ks_fail(err, KS_ENOMEM, "no memory for the result");
    if (file)
        return ks_file_output(file, result->data, result->len, err);
    if (!ks_text_write(stdout, ks_buf_text(result), result->len, KS_LINES_KEEP))
        return ks_fail_errno(err, "standard output");
    return 0;
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
