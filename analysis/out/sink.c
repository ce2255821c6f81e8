/* SPDX-License-Identifier: MIT */
#include "analysis/out/sink.h"
#include "base/file.h"

void ks_sink_init(struct ks_sink *s, int fd, const char *name)
{
    *s = (struct ks_sink){ .fd = fd, .name = name };
    ks_buf_init(&s->text);
}

void ks_sink_release(struct ks_sink *s)
{
    ks_buf_release(&s->text);
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
    ks_buf_clear(&s->text);
    return rc < 0 ? ks_err_context(err, rc, "'%s'", s->name) : 0;
}

int ks_sink_step(struct ks_sink *s, struct ks_err *err)
{
    return s->text.len < KS_SINK_BYTES && ks_buf_ok(&s->text) ? 0 : ks_sink_flush(s, err);
}
