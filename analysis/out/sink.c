/* SPDX-License-Identifier: MIT */
/* sink.c - where text goes: kept, and written to a descriptor in large pieces */
#include "analysis/out/sink.h"
#include "base/file.h"

#include <fcntl.h>

#define WRITE_BACK_BYTES ((uint64_t)8 << 20)

void ks_sink_init(struct ks_sink *s, int fd, const char *name)
{
    *s = (struct ks_sink){ .fd = fd, .name = name };
    ks_buf_init(&s->text);
}

void ks_sink_release(struct ks_sink *s)
{
    ks_buf_release(&s->text);
}

/* The disk works while the next text is made, so that the sync at the end is short. Not of pipes
 * and terminals: then nothing happens. */
static void start_write_back(struct ks_sink *s)
{
    s->n_written += s->text.len;
    if (s->n_written - s->n_given < WRITE_BACK_BYTES)
        return;
    (void)sync_file_range(s->fd, (off_t)s->n_given, (off_t)(s->n_written - s->n_given),
                          SYNC_FILE_RANGE_WRITE);
    s->n_given = s->n_written;
}

int ks_sink_flush(struct ks_sink *s, struct ks_err *err)
{
    int rc = 0;

    if (!ks_buf_ok(&s->text))
        return ks_fail(err, KS_ENOMEM, "out of memory for the text");
    if (s->fd < 0)
        return 0;
    if (s->text.len)
        rc = ks_write_all(s->fd, s->text.data, s->text.len, err);
    if (rc == 0)
        start_write_back(s);
    ks_buf_clear(&s->text);
    return rc < 0 ? ks_err_context(err, rc, "'%s'", s->name) : 0;
}

int ks_sink_put(struct ks_sink *s, struct ks_buf *text, struct ks_err *err)
{
    struct ks_buf own;
    int rc = ks_sink_flush(s, err);

    if (rc == 0 && !ks_buf_ok(text))
        rc = ks_fail(err, KS_ENOMEM, "out of memory for the text");
    if (rc < 0)
        return rc;
    if (s->fd < 0) {
        ks_buf_put(&s->text, text->data, text->len);
        ks_buf_clear(text);
        return 0;
    }
    own = s->text;
    s->text = *text;
    rc = ks_sink_flush(s, err);
    *text = s->text;
    s->text = own;
    return rc;
}

int ks_sink_step(struct ks_sink *s, struct ks_err *err)
{
    return s->text.len < KS_SINK_BYTES && ks_buf_ok(&s->text) ? 0 : ks_sink_flush(s, err);
}
