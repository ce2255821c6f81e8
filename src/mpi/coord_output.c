/* SPDX-License-Identifier: MIT */
/* coord_output.c - outputs of programs, in files beside the journal. A file has its name when it is
 * complete and on disk, which is before the record of its run is. */
#include "base/file.h"
#include "mpi/coord_impl.h"
#include "record/found.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <unistd.h>

/* All of it at its place: a piece that comes twice does no harm. */
static int put(int fd, const char *path, uint64_t offset, const void *bytes, size_t n,
               struct ks_err *err)
{
    const char *p = bytes;
    size_t done = 0;
    while (done < n) {
        ssize_t k = pwrite(fd, p + done, n - done, (off_t)(offset + done));
        if (k < 0 && errno == EINTR)
            continue;
        if (k < 0)
            return ks_fail_errno(err, "writing '%s'", path);
        done += (size_t)k;
    }
    return 0;
}

int ks_coord_take_output(struct ks_coord *c, const struct ks_frame *f, struct ks_err *err)
{
    char dir[1100], path[1300], part[1320];
    struct ks_program_piece piece;
    const void *bytes;
    size_t n;
    int fd = -1, rc = ks_program_piece_decode(f->body, f->n, &piece, &bytes, &n, err);
    if (rc < 0)
        return rc;
    snprintf(dir, sizeof(dir), "%s/output", c->c.dir);
    snprintf(path, sizeof(path), "%s/%s", dir, piece.file);
    snprintf(part, sizeof(part), "%s.part", path);
    rc = ks_mkdirs(dir, 0777, err);
    if (rc == 0 && (fd = open(part, O_WRONLY | O_CREAT | O_CLOEXEC, 0666)) < 0)
        rc = ks_fail_errno(err, "creating '%s'", part);
    if (rc == 0)
        rc = put(fd, part, piece.offset, bytes, n, err);
    if (rc == 0 && piece.is_last && (fdatasync(fd) < 0 || rename(part, path) < 0))
        rc = ks_fail_errno(err, "writing '%s'", path);
    ks_fd_close(&fd);
    return rc == 0 && piece.is_last ? ks_file_sync_dir(dir, err) : rc;
}
