/* SPDX-License-Identifier: MIT */
/* err.c - texts and exit statuses of error codes; fills struct ks_err from causes and errno */
#include "base/err.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

__attribute__((format(printf, 5, 0))) static int fail_v(struct ks_err *err, enum ks_code code,
                                                        const char *file, int line, const char *fmt,
                                                        va_list ap)
{
    int saved = errno;

    if (err) {
        err->code = code;
        err->file = file;
        err->line = line;
        vsnprintf(err->text, sizeof(err->text), fmt, ap);
    }
    errno = saved;
    return (int)code;
}

int ks_fail_at(struct ks_err *err, enum ks_code code, const char *file, int line, const char *fmt,
               ...)
{
    va_list ap;
    int rc;

    va_start(ap, fmt);
    rc = fail_v(err, code, file, line, fmt, ap);
    va_end(ap);
    return rc;
}

struct errno_row {
    int e;
    enum ks_code code;
};

static const struct errno_row errno_rows[] = {
    { ENOSPC, KS_ENOSPC }, { EDQUOT, KS_ENOSPC },  { ENOMEM, KS_ENOMEM },
    { ENOENT, KS_ENOENT }, { EEXIST, KS_EEXIST },  { EISDIR, KS_EINVAL },
    { ELOOP, KS_EINVAL },  { ENOTDIR, KS_EINVAL }, { ENAMETOOLONG, KS_EINVAL },
};

/* Beside those above: of what the user named. */
static const int path_errnos[] = { EACCES, EPERM, EROFS, ENXIO, ENODEV };

static enum ks_code code_of_errno(int e)
{
    for (size_t i = 0; i < sizeof(errno_rows) / sizeof(errno_rows[0]); i++)
        if (errno_rows[i].e == e)
            return errno_rows[i].code;
    return KS_EIO;
}

static enum ks_code code_of_path(int e)
{
    for (size_t i = 0; i < sizeof(path_errnos) / sizeof(path_errnos[0]); i++)
        if (path_errnos[i] == e)
            return KS_EINVAL;
    return code_of_errno(e);
}

/* A long text is cut rather than the reason. */
static void append_reason(struct ks_err *err, int e)
{
    char buffer[128];
    const char *reason = strerror_r(e, buffer, sizeof(buffer));
    size_t used, most = sizeof(err->text) - sizeof(": ") - strlen(reason);

    if (!err)
        return;
    used = strlen(err->text);
    used = used < most ? used : most;
    snprintf(err->text + used, sizeof(err->text) - used, ": %s", reason);
}

__attribute__((format(printf, 6, 0))) static int fail_errno_v(struct ks_err *err, enum ks_code code,
                                                              int saved, const char *file, int line,
                                                              const char *fmt, va_list ap)
{
    fail_v(err, code, file, line, fmt, ap);
    append_reason(err, saved);
    errno = saved;
    return (int)code;
}

int ks_fail_errno_at(struct ks_err *err, const char *file, int line, const char *fmt, ...)
{
    const int saved = errno;
    va_list ap;
    int rc;

    va_start(ap, fmt);
    rc = fail_errno_v(err, code_of_errno(saved), saved, file, line, fmt, ap);
    va_end(ap);
    return rc;
}

int ks_fail_path_at(struct ks_err *err, const char *file, int line, const char *fmt, ...)
{
    const int saved = errno;
    va_list ap;
    int rc;

    va_start(ap, fmt);
    rc = fail_errno_v(err, code_of_path(saved), saved, file, line, fmt, ap);
    va_end(ap);
    return rc;
}

int ks_err_context(struct ks_err *err, int rc, const char *fmt, ...)
{
    char cause[sizeof(err->text)];
    va_list ap;
    int n;

    if (!err)
        return rc;
    memcpy(cause, err->text, sizeof(cause));
    cause[sizeof(cause) - 1] = '\0';
    va_start(ap, fmt);
    n = vsnprintf(err->text, sizeof(err->text), fmt, ap);
    va_end(ap);
    if (n < 0)
        n = 0;
    /* A long context is cut rather than the cause: the cause is what the reader needs. */
    if ((size_t)n > sizeof(err->text) / 2)
        n = sizeof(err->text) / 2;
    snprintf(err->text + n, sizeof(err->text) - (size_t)n, ": %.*s", (int)sizeof(err->text) - n - 3,
             cause);
    return rc;
}

struct code_row {
    int code;
    const char *name;
    const char *text;
    int exit_status;
};

static const struct code_row code_rows[] = {
#define X(name, value, text, exit_status) { value, #name, text, exit_status },
    KS_ERR_LIST(X)
#undef X
};

static const struct code_row *find(int code)
{
    for (size_t i = 0; i < sizeof(code_rows) / sizeof(code_rows[0]); i++)
        if (code_rows[i].code == code)
            return &code_rows[i];
    return NULL;
}

const char *ks_code_name(int code)
{
    const struct code_row *r = find(code);
    return r ? r->name : "KS_?";
}

const char *ks_code_text(int code)
{
    const struct code_row *r = find(code);
    return r ? r->text : "unknown error";
}

int ks_code_exit(int code)
{
    const struct code_row *r = find(code);
    return r ? r->exit_status : 3;
}
