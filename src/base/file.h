/* SPDX-License-Identifier: MIT */
/* file.h - whole files, atomic replacement, paths. All return 0 or KS_E* < 0 with err filled. */
#ifndef KS_BASE_FILE_H
#define KS_BASE_FILE_H

#include "base/buf.h"
#include "base/err.h"

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

/* Inputs are regular files: FIFOs, sockets, devices, terminals and directories are refused before
 * they are opened, so that no reader waits for a writer or reads for ever. Nothing is read from a
 * pipe or standard input.
 * A file may have KS_FILE_MAX bytes; one whose size the kernel does not know (0, as in /proc) may
 * have KS_FILE_UNSIZED_MAX. */
#define KS_FILE_MAX         (1ull << 30)
#define KS_FILE_UNSIZED_MAX (16ull << 20)

/* Open for reading: the descriptor (close-on-exec, non-blocking), or KS_ENOENT; KS_EINVAL: not a
 * regular file, not readable, or no path at all (ks_fail_path); KS_EIO. */
int ks_file_open(const char *path, struct ks_err *err);
/* The same check for a library that opens the file itself. */
int ks_file_check(const char *path, struct ks_err *err);
/* The content replaces what buf_out held; text is NUL-terminated beyond its length. As
 * ks_file_open, and KS_EINVAL when it is longer than allowed. */
int ks_file_read(const char *path, struct ks_buf *buf_out, struct ks_err *err);

/* Temporary file beside `path`, write, fsync, rename, fsync of the directory: readers see the old
 * or the new content, never a part. The temporary is removed on failure. */
int ks_file_replace(const char *path, const void *bytes, size_t n, struct ks_err *err);

/* The same for content that is written piece by piece: a temporary file beside `path`, which
 * ks_file_commit makes the file and ks_file_abandon removes. One of the two must be called. */
struct ks_new_file {
    int fd;          /* for writing; -1 afterwards */
    char path[4096]; /* what it becomes */
    char temp[4096]; /* "": there is none, fd writes through */
};
int ks_file_begin(const char *path, struct ks_new_file *file_out, struct ks_err *err);
/* After a failure the temporary file is gone and `path` is as it was. */
int ks_file_commit(struct ks_new_file *f, struct ks_err *err);
void ks_file_abandon(struct ks_new_file *f);

/* The result of a command, to a file that the user names: a new or a regular file, behind links, is
 * replaced whole; anything else, such as a pipe or a device, is written through, because a rename
 * would destroy it. KS_EINVAL, KS_ENOENT, KS_EIO. */
int ks_file_begin_output(const char *path, struct ks_new_file *file_out, struct ks_err *err);
int ks_file_output(const char *path, const void *bytes, size_t n, struct ks_err *err);
/* Of a file of /proc or /sys: without the newline, cut at cap; "" when it cannot be read. */
void ks_file_first_line(const char *path, char *out, size_t cap);
int ks_file_sync_dir(const char *dir, struct ks_err *err);

int ks_write_all(int fd, const void *bytes, size_t n, struct ks_err *err); /* resumes after EINTR */
void ks_fd_close(int *fd); /* and forgets it: *fd is -1 afterwards; -1 is fine */
bool ks_path_exists(const char *path);
bool ks_path_is_dir(const char *path);
bool ks_path_is_same(const char *a, const char *b); /* both exist, and are the same, behind links */
int ks_mkdirs(const char *path, mode_t mode, struct ks_err *err); /* like mkdir -p */

/* Joined path (out may be dir); `name` alone when it is absolute. KS_EINVAL when it does not fit.
 */
int ks_path_join(char *out, size_t cap, const char *dir, const char *name, struct ks_err *err);
void ks_path_dir(char *out, size_t cap, const char *path); /* "." when there is no slash */
const char *ks_path_base(const char *path);                /* borrowed; after the last slash */
int ks_remove_tree(const char *path, struct ks_err *err);  /* like rm -rf; for temporaries */

/* Directory of the running program (from /proc/self/exe). */
int ks_program_dir(char *out, size_t cap, struct ks_err *err);

/* Installed or source data (kernels/, jobs/): $KSWEEP_DATA_DIR, else ../share/ksweep beside the
 * program, else the source tree the program was built from, if it still exists. */
int ks_data_path(char *out, size_t cap, const char *name, struct ks_err *err);

#endif
