/* SPDX-License-Identifier: MIT */
#include "cmd/cmd_util.h"

#include "base/file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

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

/* A new file or an existing plain one. Renaming over anything else would destroy it: a link such as
 * /dev/stdout, a pipe, a device. */
static bool may_replace(const char *file)
{
    struct stat st;

    return lstat(file, &st) < 0 ? errno == ENOENT : S_ISREG(st.st_mode);
}

static int write_through(const struct ks_buf *result, const char *file, struct ks_err *err)
{
    int fd = open(file, O_WRONLY | O_TRUNC | O_CLOEXEC), rc;

    if (fd < 0)
        return ks_fail_errno(err, "'%s'", file);
    rc = ks_write_all(fd, result->data, result->len, err);
    if (close(fd) < 0 && rc == 0)
        rc = ks_fail_errno(err, "'%s'", file);
    return rc;
}

int ks_cmd_emit(const struct ks_buf *result, const char *file, struct ks_err *err)
{
    if (!ks_buf_ok(result))
        return ks_fail(err, KS_ENOMEM, "no memory for the result");
    if (file)
        return may_replace(file) ? ks_file_replace(file, result->data, result->len, err)
                                 : write_through(result, file, err);
    if (result->len > 0 && fwrite(result->data, 1, result->len, stdout) != result->len)
        return ks_fail_errno(err, "standard output");
    return 0;
}
