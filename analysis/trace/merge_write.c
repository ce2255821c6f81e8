/* SPDX-License-Identifier: MIT */
/* merge_write.c - writes the events of a merge, with numbers that the trace does not use */
#include "analysis/trace/merge_write.h"
#include "base/text.h"
#include "trace/text.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#define MOST_ID ((int64_t)1 << 53) /* beyond it viewers, which use doubles, confuse numbers */

/* ---- numbers that are free ---- */

static void above(struct ks_span text, int64_t *io)
{
    int64_t number;

    if (text.p && ks_trace_int(text, &number) && number >= *io && number < INT64_MAX)
        *io = number + 1;
}

int ks_merge_ids_find(struct ks_trace_source *source, struct ks_merge_ids *out, struct ks_err *err)
{
    struct ks_trace_reader *reader = NULL;
    struct ks_merge_ids ids = { .first_flow = 1, .first_pid = 1 };
    struct ks_trace_item item;
    bool is_closed = false;
    int rc = ks_trace_reader_create(source, &reader, err);

    while (rc >= 0 && (rc = ks_trace_reader_next(reader, &item, err)) > 0) {
        if (item.type == KS_TRACE_ITEM_EVENT) {
            ids.has_events = true;
            above(item.event.id, &ids.first_flow);
            above(item.event.pid, &ids.first_pid);
        } else if (item.type == KS_TRACE_ITEM_END) {
            ids.events_end = item.at;
            is_closed = !ks_trace_reader_dirt(reader)->is_cut;
        }
    }
    ks_trace_reader_destroy(reader);
    if (rc == 0 && !is_closed)
        rc = ks_fail(err, KS_EFORMAT, "%s: the list of events is not closed: the file is truncated",
                     ks_trace_source_name(source));
    if (rc == 0 && (ids.first_flow > MOST_ID || ids.first_pid > MOST_ID))
        rc = ks_fail(err, KS_EFORMAT, "%s: the ids of flows or processes are too large to add more",
                     ks_trace_source_name(source));
    if (rc == 0)
        *out = ids;
    return rc;
}

/* ---- events ---- */

void ks_merge_string_put(const char *text, struct ks_buf *to)
{
    const unsigned char *p = (const unsigned char *)text;
    size_t left = strlen(text);

    ks_buf_u8(to, '"');
    while (left) {
        const size_t n = ks_utf8_next(p, left);

        if (*p == '"' || *p == '\\')
            ks_buf_printf(to, "\\%c", *p);
        else if (*p < 0x20)
            ks_buf_printf(to, "\\u%04x", *p);
        else if (n)
            ks_buf_put(to, p, n);
        else
            ks_buf_printf(to, "\xef\xbf\xbd");
        p += n ? n : 1;
        left -= n ? n : 1;
    }
    ks_buf_u8(to, '"');
}

/* Microseconds, exact. */
static void put_us(int64_t ns, struct ks_buf *to)
{
    const uint64_t size = ns < 0 ? -(uint64_t)ns : (uint64_t)ns;

    ks_buf_printf(to, "%s%" PRIu64 ".%03u", ns < 0 ? "-" : "", size / 1000,
                  (unsigned)(size % 1000));
}

/* A thread as the trace writes it: a number or a string. */
static void put_track(const struct ks_trace *host, uint32_t track, struct ks_buf *to)
{
    const struct ks_trace_track *t = &host->tracks[track];

    ks_buf_printf(to, "\"pid\": ");
    if (t->pid_number != INT64_MIN)
        ks_buf_printf(to, "%" PRId64, t->pid_number);
    else
        ks_merge_string_put(ks_trace_name(host, t->pid), to);
    ks_buf_printf(to, ", \"tid\": ");
    if (t->tid_number != INT64_MIN)
        ks_buf_printf(to, "%" PRId64, t->tid_number);
    else
        ks_merge_string_put(ks_trace_name(host, t->tid), to);
}

struct place {
    int64_t pid, tid;
};

static struct place place_of(const struct ks_merge_slice *s, const struct ks_merge_ids *ids)
{
    return (struct place){ ks_ns_add(ids->first_pid, s->device), s->stream };
}

static void put_kernel(const struct ks_trace *host, const struct ks_merge_slice *s, struct place at,
                       struct ks_buf *to)
{
    ks_buf_printf(to, "{\"ph\": \"X\", \"cat\": \"kernel\", \"name\": ");
    ks_merge_string_put(ks_trace_name(host, host->ops.name[s->op]), to);
    ks_buf_printf(to, ", \"pid\": %" PRId64 ", \"tid\": %" PRId64 ", \"ts\": ", at.pid, at.tid);
    put_us(s->start_ns, to);
    ks_buf_printf(to, ", \"dur\": ");
    put_us(s->dur_ns, to);
    ks_buf_printf(to,
                  ", \"args\": {\"External id\": %" PRId64 ", \"device\": %" PRId64
                  ", \"stream\": %" PRId64 "%s}}",
                  host->ops.external[s->op], s->device, s->stream,
                  s->is_self ? ", \"self time\": true" : "");
}

static void put_flow(const struct ks_trace *host, const struct ks_merge_slice *s, struct place at,
                     int64_t id, struct ks_buf *to)
{
    ks_buf_printf(
        to, ",\n{\"ph\": \"s\", \"cat\": \"ac2g\", \"name\": \"ac2g\", \"id\": %" PRId64 ", ", id);
    put_track(host, host->ops.track[s->op], to);
    ks_buf_printf(to, ", \"ts\": ");
    put_us(s->launch_ns, to);
    ks_buf_printf(to,
                  "},\n{\"ph\": \"f\", \"bp\": \"e\", \"cat\": \"ac2g\", \"name\": \"ac2g\", "
                  "\"id\": %" PRId64 ", \"pid\": %" PRId64 ", \"tid\": %" PRId64 ", \"ts\": ",
                  id, at.pid, at.tid);
    put_us(s->start_ns, to);
    ks_buf_printf(to, "}");
}

static void put_memory(const struct ks_merge_slice *s, int64_t bytes, struct place at,
                       struct ks_buf *to)
{
    ks_buf_printf(to,
                  ",\n{\"ph\": \"C\", \"cat\": \"memory\", \"name\": \"memory\", \"pid\": %" PRId64
                  ", \"ts\": ",
                  at.pid);
    put_us(s->start_ns, to);
    ks_buf_printf(to, ", \"args\": {\"bytes\": %" PRId64 "}}", bytes);
}

static void put_names(const struct ks_merge_slice *s, struct place at, bool is_new_device,
                      struct ks_buf *to)
{
    if (is_new_device)
        ks_buf_printf(to,
                      ",\n{\"ph\": \"M\", \"name\": \"process_name\", \"pid\": %" PRId64
                      ", \"tid\": 0, \"ts\": 0, \"args\": {\"name\": \"device %" PRId64
                      " (times merged)\"}}",
                      at.pid, s->device);
    ks_buf_printf(to,
                  ",\n{\"ph\": \"M\", \"name\": \"thread_name\", \"pid\": %" PRId64
                  ", \"tid\": %" PRId64 ", \"ts\": 0, \"args\": {\"name\": \"queue %" PRId64 "\"}}",
                  at.pid, at.tid, s->stream);
}

/* Has an earlier slice the same device, and the same queue? */
static bool is_first(const struct ks_merge_plan *plan, struct ks_names *seen, uint32_t i,
                     bool *is_new_device)
{
    const struct ks_merge_slice *s = &plan->at[i];
    char key[64];
    const uint32_t before = seen->n;
    int n = snprintf(key, sizeof(key), "%" PRId64, s->device);

    (void)ks_names_put(seen, key, (size_t)n);
    *is_new_device = seen->n > before;
    n = snprintf(key, sizeof(key), "%" PRId64 " %" PRId64, s->device, s->stream);
    (void)ks_names_put(seen, key, (size_t)n);
    return seen->n > before + *is_new_device;
}

void ks_merge_events_put(const struct ks_trace *host, const struct ks_merge_kernels *kernels,
                         const struct ks_merge_plan *plan, const struct ks_merge_ids *ids,
                         struct ks_buf *to)
{
    struct ks_names seen;

    ks_names_init(&seen);
    for (uint32_t i = 0; i < plan->n; i++) {
        const struct ks_merge_slice *s = &plan->at[i];
        const struct place at = place_of(s, ids);
        const int64_t memory = kernels->at[s->entry].memory_bytes;
        bool is_new_device;

        ks_buf_printf(to, "%s\n", i || ids->has_events ? "," : "");
        put_kernel(host, s, at, to);
        put_flow(host, s, at, ks_ns_add(ids->first_flow, i), to);
        if (memory >= 0)
            put_memory(s, memory, at, to);
        if (is_first(plan, &seen, i, &is_new_device))
            put_names(s, at, is_new_device, to);
    }
    ks_names_release(&seen);
}
