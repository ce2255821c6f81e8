/* SPDX-License-Identifier: MIT */
/* err.h - one error value, worded where it is detected, carried up, printed once at the top. */
#ifndef KS_BASE_ERR_H
#define KS_BASE_ERR_H

/* X(name, value, text, exit_status): the only list of codes in the program. exit_status is what
 * a command line program ends with when this error reaches its main (DESIGN: 2 usage or input,
 * 3 incomplete and resumable). */
#define KS_ERR_LIST(X)                                                                             \
    X(KS_OK, 0, "ok", 0)                                                                           \
    X(KS_EINVAL, -1, "invalid argument or configuration", 2)                                       \
    X(KS_ENOMEM, -2, "out of memory", 3)                                                           \
    X(KS_EIO, -3, "input/output error", 3)                                                         \
    X(KS_EFORMAT, -4, "malformed or damaged data", 2)                                              \
    X(KS_EUNSUPPORTED, -5, "not supported", 2)                                                     \
    X(KS_ENODEVICE, -6, "no such device", 2)                                                       \
    X(KS_EDEVICE, -7, "device runtime failure", 3)                                                 \
    X(KS_EDEVMEM, -8, "out of device memory", 3)                                                   \
    X(KS_ELOAD, -9, "kernel could not be loaded", 3)                                               \
    X(KS_ETIMEOUT, -10, "deadline passed", 3)                                                      \
    X(KS_ECHILD, -11, "child process ended abnormally", 3)                                         \
    X(KS_EPROTO, -12, "peer broke the protocol", 3)                                                \
    X(KS_EEXIST, -13, "already exists", 2)                                                         \
    X(KS_ENOENT, -14, "does not exist", 2)                                                         \
    X(KS_EOWNER, -15, "owned by another process", 3)                                               \
    X(KS_ENOSPC, -16, "no space left", 3)                                                          \
    X(KS_EINTR, -17, "interrupted", 3)                                                             \
    X(KS_EDEVLOST, -18, "device lost to this process", 3)

enum ks_code {
#define X(name, value, text, exit_status) name = value,
    KS_ERR_LIST(X)
#undef X
};

/* Caller-owned; filled exactly when the callee returned < 0, untouched otherwise; no allocation. */
struct ks_err {
    enum ks_code code;
    const char *file; /* static string: where it was detected */
    int line;
    char text[512];
};

/* Tells the compiler what is so by contract: an error code is negative. */
static inline int ks_negative(int rc)
{
    if (rc >= 0)
        __builtin_unreachable();
    return rc;
}

/* Set *err (NULL allowed) and return `code`, so that `return ks_fail(...)` is one line. */
#define ks_fail(err, code, ...)                                                                    \
    ks_negative(ks_fail_at((err), (code), __FILE__, __LINE__, __VA_ARGS__))
int ks_fail_at(struct ks_err *err, enum ks_code code, const char *file, int line, const char *fmt,
               ...) __attribute__((format(printf, 5, 6)));

/* ks_fail_errno() - as ks_fail with ": strerror(errno)" appended; ENOSPC and EDQUOT become
 * KS_ENOSPC, ENOMEM KS_ENOMEM, ENOENT KS_ENOENT, EEXIST KS_EEXIST; a path of the wrong kind
 * (EISDIR, ENOTDIR, ELOOP, ENAMETOOLONG) KS_EINVAL; everything else KS_EIO. */
#define ks_fail_errno(err, ...)                                                                    \
    ks_negative(ks_fail_errno_at((err), __FILE__, __LINE__, __VA_ARGS__))
int ks_fail_errno_at(struct ks_err *err, const char *file, int line, const char *fmt, ...)
    __attribute__((format(printf, 4, 5)));

/* ks_fail_path() - the same for opening or creating what the user named: EACCES, EPERM, EROFS,
 * ENXIO and ENODEV are KS_EINVAL, too, because only a person can mend them and a requeued job would
 * not. */
#define ks_fail_path(err, ...) ks_negative(ks_fail_path_at((err), __FILE__, __LINE__, __VA_ARGS__))
int ks_fail_path_at(struct ks_err *err, const char *file, int line, const char *fmt, ...)
    __attribute__((format(printf, 4, 5)));

/* Prepend "context: " while unwinding; returns rc. */
int ks_err_context(struct ks_err *err, int rc, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));

const char *ks_code_name(int code); /* "KS_EIO"; "KS_?" for an unknown code */
const char *ks_code_text(int code);
int ks_code_exit(int code); /* exit status of a program that ends with this error */

#endif
