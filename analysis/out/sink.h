/* SPDX-License-Identifier: MIT */
/* sink.h - where a writer's text goes: a descriptor, through a buffer of bounded size. */
#ifndef KS_ANALYSIS_SINK_H
#define KS_ANALYSIS_SINK_H

#include "base/buf.h"
#include "base/err.h"

#include <stddef.h>
#include <stdint.h>

#define KS_SINK_BYTES ((size_t)256 << 10)

struct ks_sink {
    int fd;                      /* borrowed; -1 = nowhere: all text stays in buf */
    const char *name;            /* for messages; borrowed */
    struct ks_buf text;          /* put here, then call ks_sink_step */
    uint64_t n_written, n_given; /* bytes; n_given: the system was told to write them back */
};

void ks_sink_init(struct ks_sink *s, int fd, const char *name);
void ks_sink_release(struct ks_sink *s);
/* After every few hundred bytes: writes when there is enough. KS_EIO, KS_ENOSPC, KS_ENOMEM. */
int ks_sink_step(struct ks_sink *s, struct ks_err *err);
/* Writes what is in the buffer, then `text`: both are empty afterwards, or `text` was moved into a
 * buffer that goes nowhere. */
int ks_sink_put(struct ks_sink *s, struct ks_buf *text, struct ks_err *err);
/* Writes what is left. */
int ks_sink_flush(struct ks_sink *s, struct ks_err *err);

#endif
