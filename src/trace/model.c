/* SPDX-License-Identifier: MIT */
/* model.c - a trace in memory: its tables, loaded from a source and linked */
#include "trace/model.h"

#include "base/buf.h"
#include "trace/load.h"
#include "trace/rows.h"

#include <stdlib.h>
#include <string.h>

#define COLUMN(type, member)                                                                       \
    {                                                                                              \
        offsetof(struct type, member), sizeof(*((struct type *)0)->member)                         \
    }
#define N_OF(array) (sizeof(array) / sizeof((array)[0]))

static const struct ks_rows_column gpu_columns[] = {
    COLUMN(ks_trace_gpu, ts_ns),    COLUMN(ks_trace_gpu, dur_ns), COLUMN(ks_trace_gpu, name),
    COLUMN(ks_trace_gpu, kind),     COLUMN(ks_trace_gpu, stream), COLUMN(ks_trace_gpu, correlation),
    COLUMN(ks_trace_gpu, external), COLUMN(ks_trace_gpu, bytes),  COLUMN(ks_trace_gpu, gb_per_s),
    COLUMN(ks_trace_gpu, flop),     COLUMN(ks_trace_gpu, gb),     COLUMN(ks_trace_gpu, call),
    COLUMN(ks_trace_gpu, op),       COLUMN(ks_trace_gpu, place)
};
static const struct ks_rows_column call_columns[] = {
    COLUMN(ks_trace_calls, ts_ns),       COLUMN(ks_trace_calls, dur_ns),
    COLUMN(ks_trace_calls, name),        COLUMN(ks_trace_calls, track),
    COLUMN(ks_trace_calls, correlation), COLUMN(ks_trace_calls, external),
    COLUMN(ks_trace_calls, op)
};
static const struct ks_rows_column op_columns[] = {
    COLUMN(ks_trace_ops, ts_ns), COLUMN(ks_trace_ops, dur_ns),   COLUMN(ks_trace_ops, name),
    COLUMN(ks_trace_ops, track), COLUMN(ks_trace_ops, external), COLUMN(ks_trace_ops, sequence),
    COLUMN(ks_trace_ops, shape), COLUMN(ks_trace_ops, parent),   COLUMN(ks_trace_ops, flop),
    COLUMN(ks_trace_ops, gb),    COLUMN(ks_trace_ops, place)
};
static const struct ks_rows_column note_columns[] = {
    COLUMN(ks_trace_notes, ts_ns), COLUMN(ks_trace_notes, dur_ns), COLUMN(ks_trace_notes, name),
    COLUMN(ks_trace_notes, track), COLUMN(ks_trace_notes, is_gpu)
};
static const struct ks_rows_column wait_columns[] = { COLUMN(ks_trace_waits, stream),
                                                      COLUMN(ks_trace_waits, on),
                                                      COLUMN(ks_trace_waits, correlation),
                                                      COLUMN(ks_trace_waits, record) };

bool ks_trace_room_gpu(struct ks_trace *t)
{
    return ks_rows_room(&t->gpu, gpu_columns, N_OF(gpu_columns), t->gpu.n, &t->gpu.cap);
}

bool ks_trace_room_call(struct ks_trace *t)
{
    return ks_rows_room(&t->calls, call_columns, N_OF(call_columns), t->calls.n, &t->calls.cap);
}

bool ks_trace_room_op(struct ks_trace *t)
{
    return ks_rows_room(&t->ops, op_columns, N_OF(op_columns), t->ops.n, &t->ops.cap);
}

bool ks_trace_room_note(struct ks_trace *t)
{
    return ks_rows_room(&t->notes, note_columns, N_OF(note_columns), t->notes.n, &t->notes.cap);
}

bool ks_trace_room_wait(struct ks_trace *t)
{
    return ks_rows_room(&t->waits, wait_columns, N_OF(wait_columns), t->waits.n, &t->waits.cap);
}

void ks_trace_release(struct ks_trace *t)
{
    if (!t)
        return;
    ks_rows_release(&t->gpu, gpu_columns, N_OF(gpu_columns));
    ks_rows_release(&t->calls, call_columns, N_OF(call_columns));
    ks_rows_release(&t->ops, op_columns, N_OF(op_columns));
    ks_rows_release(&t->notes, note_columns, N_OF(note_columns));
    ks_rows_release(&t->waits, wait_columns, N_OF(wait_columns));
    ks_names_release(&t->names);
    ks_names_release(&t->shapes);
    free(t->devices);
    free(t->streams);
    free(t->tracks);
    free(t->path);
    free(t);
}

static int trace_new(const char *path, struct ks_trace **out, struct ks_err *err)
{
    struct ks_trace *t = calloc(1, sizeof(*t));

    if (t)
        t->path = strdup(path);
    if (!t || !t->path) {
        free(t);
        return ks_fail(err, KS_ENOMEM, "out of memory");
    }
    t->rank = -1;
    t->first_ns = INT64_MAX;
    t->last_ns = INT64_MIN;
    *out = t;
    return 0;
}

static int check(const struct ks_trace *t, struct ks_err *err)
{
    struct ks_buf dirt;
    int rc = 0;

    if (t->dirt.n_events > 0)
        return 0;
    ks_buf_init(&dirt);
    ks_trace_dirt_put(&t->dirt, &dirt);
    rc = ks_fail(err, KS_EFORMAT, "%s: %s%s%s%s", t->path,
                 t->dirt.has_events ? "the trace has no events"
                                    : "neither a traceEvents array nor a bare array of events",
                 dirt.len ? " (" : "", ks_buf_text(&dirt), dirt.len ? ")" : "");
    ks_buf_release(&dirt);
    return rc;
}

int ks_trace_read(struct ks_trace_source *source, struct ks_trace **out, struct ks_err *err)
{
    struct ks_trace *t = NULL;
    int rc = trace_new(ks_trace_source_name(source), &t, err);

    if (rc == 0)
        rc = ks_trace_load_rows(t, source, err);
    if (rc == 0)
        rc = check(t, err);
    if (rc == 0)
        rc = ks_trace_link(t, err);
    if (rc < 0)
        ks_trace_release(t);
    else
        *out = t;
    return rc;
}

int ks_trace_load(const char *path, struct ks_trace **out, struct ks_err *err)
{
    struct ks_trace_source *s = NULL;
    int rc = ks_trace_source_open(path, &s, err);

    if (rc == 0)
        rc = ks_trace_read(s, out, err);
    ks_trace_source_close(s);
    return rc;
}
