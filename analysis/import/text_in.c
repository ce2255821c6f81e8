/* SPDX-License-Identifier: MIT */
/* text_in.c - reads a text file by lines or bytes, with its line number and digest */
#include "analysis/import/text_in.h"
#include "base/file.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define PIECE ((size_t)256 << 10)
#define HEAD  ((size_t)64 << 10)

#define END (-1) /* of ks_text_in_next */

int ks_text_in_open(struct ks_text_in *in, const char *path, struct ks_err *err)
{
    *in = (struct ks_text_in){ .name = path, .fd = -1 };
    ks_buf_init(&in->held);
    ks_buf_init(&in->text);
    ks_sha256_init(&in->sha);
    in->fd = ks_file_open(path, err);
    return in->fd < 0 ? in->fd : 0;
}

int ks_text_in_bytes(struct ks_text_in *in, const void *bytes, size_t n, const char *name,
                     struct ks_err *err)
{
    *in = (struct ks_text_in){ .name = name, .fd = -1, .n_bytes = n };
    ks_buf_init(&in->held);
    ks_buf_init(&in->text);
    ks_sha256_init(&in->sha);
    ks_sha256_add(&in->sha, bytes, n);
    ks_buf_put(&in->held, bytes, n);
    return ks_buf_ok(&in->held) ? 0 : ks_fail(err, KS_ENOMEM, "out of memory for '%s'", name);
}

void ks_text_in_close(struct ks_text_in *in)
{
    if (in->name)
        ks_fd_close(&in->fd);
    ks_buf_release(&in->held);
    ks_buf_release(&in->text);
    in->name = NULL;
}

/* One more piece behind what is held. 1; 0 at the end of the file. */
static int fill(struct ks_text_in *in, struct ks_err *err)
{
    ssize_t n;

    if (in->fd < 0)
        return 0;
    ks_buf_drop(&in->held, in->at);
    in->at = 0;
    if (!ks_buf_reserve(&in->held, PIECE))
        return ks_fail(err, KS_ENOMEM, "out of memory for '%s'", in->name);
    do
        n = read(in->fd, in->held.data + in->held.len, PIECE);
    while (n < 0 && errno == EINTR);
    if (n < 0)
        return ks_fail_errno(err, "'%s'", in->name);
    ks_sha256_add(&in->sha, in->held.data + in->held.len, (size_t)n);
    in->held.len += (size_t)n;
    in->n_bytes += (uint64_t)n;
    return n > 0;
}

static size_t n_left(const struct ks_text_in *in)
{
    return in->held.len - in->at;
}

int ks_text_in_line(struct ks_text_in *in, char **line_out, size_t *n_out, struct ks_err *err)
{
    const uint8_t *end = NULL;
    size_t n, looked = 0;
    int rc = 1;

    while (rc > 0) {
        end = n_left(in) > looked
                  ? memchr(in->held.data + in->at + looked, '\n', n_left(in) - looked)
                  : NULL;
        looked = n_left(in);
        if (end || looked > KS_TEXT_IN_LINE_MAX)
            break;
        rc = fill(in, err);
    }
    if (rc < 0 || n_left(in) == 0)
        return rc;
    in->line++;
    n = end ? (size_t)(end - in->held.data) - in->at : n_left(in);
    if (n > KS_TEXT_IN_LINE_MAX)
        return ks_fail(err, KS_EFORMAT, "%s:%llu: a line of more than %zu MiB", in->name,
                       (unsigned long long)in->line, KS_TEXT_IN_LINE_MAX >> 20);
    ks_buf_clear(&in->text);
    ks_buf_put(&in->text, in->held.data + in->at, n);
    in->at += n + (end != NULL);
    if (!ks_buf_reserve(&in->text, 1))
        return ks_fail(err, KS_ENOMEM, "out of memory for a line of %zu bytes", n);
    if (memchr(in->text.data, '\0', n))
        return ks_fail(err, KS_EFORMAT, "%s:%llu: a NUL byte: this is not a text file", in->name,
                       (unsigned long long)in->line);
    n -= n > 0 && in->text.data[n - 1] == '\r';
    in->text.data[n] = '\0';
    *line_out = (char *)in->text.data;
    *n_out = n;
    return 1;
}

int ks_text_in_peek(struct ks_text_in *in, struct ks_err *err)
{
    int rc = n_left(in) ? 1 : fill(in, err);

    if (rc <= 0)
        return rc < 0 ? rc - 1 : END; /* codes are negative, too: one lower they are below END */
    return in->held.data[in->at];
}

int ks_text_in_next(struct ks_text_in *in, struct ks_err *err)
{
    int c = ks_text_in_peek(in, err);

    if (c < 0)
        return c;
    in->line += in->line == 0 || c == '\n';
    in->at++;
    return c;
}

int ks_text_in_head(struct ks_text_in *in, const char **head_out, size_t *n_out, struct ks_err *err)
{
    int rc = 1;

    while (rc > 0 && n_left(in) < HEAD)
        rc = fill(in, err);
    if (rc < 0)
        return rc;
    if (!ks_buf_reserve(&in->held, 1))
        return ks_fail(err, KS_ENOMEM, "out of memory for '%s'", in->name);
    in->held.data[in->held.len] = '\0';
    *head_out = (const char *)in->held.data;
    *n_out = n_left(in) < HEAD ? n_left(in) : HEAD;
    return 0;
}

int ks_text_in_is_hdf5(const char *path, bool *out, struct ks_err *err)
{
    static const char magic[] = "\x89HDF\r\n\x1a\n";
    struct ks_text_in in = { 0 };
    const char *head;
    size_t n;
    int rc = ks_text_in_open(&in, path, err);

    if (rc == 0)
        rc = ks_text_in_head(&in, &head, &n, err);
    if (rc == 0)
        *out = n >= sizeof(magic) - 1 && memcmp(head, magic, sizeof(magic) - 1) == 0;
    ks_text_in_close(&in);
    return rc;
}

int ks_text_in_digest(struct ks_text_in *in, char hex_out[65], struct ks_err *err)
{
    struct ks_sha256 sha;
    uint8_t digest[32];
    int rc = 1;

    while (rc > 0) {
        in->at = in->held.len;
        rc = fill(in, err);
    }
    if (rc < 0)
        return rc;
    sha = in->sha;
    ks_sha256_end(&sha, digest);
    for (size_t i = 0; i < sizeof(digest); i++)
        snprintf(hex_out + 2 * i, 3, "%02x", digest[i]);
    return 0;
}
