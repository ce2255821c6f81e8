/* SPDX-License-Identifier: MIT */
/* output.c - writes a trace, gzipped if its name ends so, and replaces the file at the end */
#include "trace/output.h"

#include "base/file.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <zlib.h>

enum { BLOCK = 256 << 10, GZIP_WINDOW = 15 + 16, LEVEL = 1, MEMORY = 8 };

struct ks_trace_output {
    struct ks_new_file file;
    bool is_gzip;
    z_stream z;
    uint8_t block[BLOCK]; /* what is to be written: text, or compressed */
    size_t n;
};

int ks_trace_output_check(const char *path, const char *const *inputs, size_t n, struct ks_err *err)
{
    for (size_t i = 0; i < n; i++)
        if (ks_path_is_same(path, strcmp(inputs[i], "-") == 0 ? "/dev/stdin" : inputs[i]))
            return ks_fail(err, KS_EINVAL, "'%s' is also an input: choose another output file",
                           path);
    return 0;
}

int ks_trace_output_open(const char *path, const char *const *inputs, size_t n_inputs,
                         struct ks_trace_output **out, struct ks_err *err)
{
    const size_t n = strlen(path);
    struct ks_trace_output *o = calloc(1, sizeof(*o));
    int rc = o ? 0 : ks_fail(err, KS_ENOMEM, "out of memory");

    if (rc == 0)
        rc = ks_trace_output_check(path, inputs, n_inputs, err);
    if (rc == 0)
        rc = ks_file_begin_output(path, &o->file, err);
    if (rc < 0) {
        free(o);
        return rc;
    }
    o->is_gzip = n > 3 && strcmp(path + n - 3, ".gz") == 0;
    if (o->is_gzip &&
        deflateInit2(&o->z, LEVEL, Z_DEFLATED, GZIP_WINDOW, MEMORY, Z_DEFAULT_STRATEGY) != Z_OK) {
        ks_file_abandon(&o->file);
        free(o);
        return ks_fail(err, KS_ENOMEM, "out of memory compressing '%s'", path);
    }
    *out = o;
    return 0;
}

static int flush(struct ks_trace_output *o, struct ks_err *err)
{
    const int rc = ks_write_all(o->file.fd, o->block, o->n, err);

    o->n = 0;
    return rc < 0 ? ks_err_context(err, rc, "'%s'", o->file.path) : 0;
}

/* All of z.next_in; with Z_FINISH the end, too. */
static int compress_some(struct ks_trace_output *o, int how, struct ks_err *err)
{
    int z = Z_OK, rc = 0;

    while (rc == 0 && (o->z.avail_in > 0 || (how == Z_FINISH && z != Z_STREAM_END))) {
        o->z.next_out = o->block;
        o->z.avail_out = BLOCK;
        z = deflate(&o->z, how);
        if (z != Z_OK && z != Z_STREAM_END && z != Z_BUF_ERROR)
            return ks_fail(err, KS_EIO, "'%s': compression failed", o->file.path);
        o->n = BLOCK - o->z.avail_out;
        rc = flush(o, err);
    }
    return rc;
}

int ks_trace_output_put(struct ks_trace_output *o, const void *bytes, size_t n, struct ks_err *err)
{
    const uint8_t *p = bytes;
    int rc = 0;

    while (rc == 0 && n > 0) {
        const size_t room = o->is_gzip ? 1u << 30 : BLOCK - o->n;
        const size_t step = n < room ? n : room;

        if (o->is_gzip) {
            o->z.next_in = (uint8_t *)(uintptr_t)p;
            o->z.avail_in = (unsigned)step;
            rc = compress_some(o, Z_NO_FLUSH, err);
        } else {
            memcpy(o->block + o->n, p, step);
            o->n += step;
            if (o->n == BLOCK)
                rc = flush(o, err);
        }
        p += step;
        n -= step;
    }
    return rc;
}

int ks_trace_output_close(struct ks_trace_output *o, int rc, struct ks_err *err)
{
    int failed = 0;

    if (!o)
        return rc;
    if (rc >= 0)
        failed = o->is_gzip ? compress_some(o, Z_FINISH, err) : flush(o, err);
    if (rc >= 0 && failed == 0)
        failed = ks_file_commit(&o->file, err);
    else
        ks_file_abandon(&o->file);
    if (o->is_gzip)
        deflateEnd(&o->z);
    free(o);
    return failed < 0 ? failed : rc;
}
