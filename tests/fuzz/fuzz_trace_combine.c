/* SPDX-License-Identifier: MIT */
/* fuzz_trace_combine.c - any bytes as the second trace: with other ids it has as many events */
#include "analysis/trace/combine_ids.h"
#include "tests/fuzz/fuzz.h"
#include "trace/text.h"

#include <stdlib.h>

static void demand(bool holds)
{
    if (!holds)
        abort();
}

static void put_item(struct ks_ids *ids, const struct ks_trace_item *item, struct ks_buf *events,
                     struct ks_buf *tops)
{
    const struct ks_span value = item->top.value;

    if (item->type == KS_TRACE_ITEM_EVENT) {
        ks_ids_of_event(ids, &item->event);
        ks_buf_printf(events, "%s", events->len > 1 ? ",\n" : "");
        ks_ids_put(ids, item->event.raw, events);
    } else if (item->type == KS_TRACE_ITEM_TOP && value.n > 1) {
        if (ks_span_is(item->top.key, "stackFrames"))
            ks_ids_of_frames(ids, value);
        else
            ks_ids_of_samples(ids, value);
        ks_buf_clear(tops);
        ks_ids_put(ids, value, tops);
        demand(ks_buf_ok(tops));
    }
}

/* Returns the number of events; those with other ids are in `events`, an array. */
static uint64_t rename_all(const void *bytes, size_t n, struct ks_buf *events)
{
    struct ks_ids ids = { .file = 1, .id_step = INT64_C(1) << 44 };
    struct ks_trace_item *item = malloc(sizeof(*item));
    struct ks_trace_source *source = NULL;
    struct ks_trace_reader *r = NULL;
    struct ks_buf tops;
    struct ks_err err;
    uint64_t n_events;

    ks_buf_init(&tops);
    ks_buf_printf(events, "[");
    demand(item && ks_trace_source_memory(bytes, n, "f", &source, &err) == 0 &&
           ks_trace_reader_create(source, &r, &err) == 0);
    while (ks_trace_reader_next(r, item, &err) > 0)
        put_item(&ids, item, events, &tops);
    ks_buf_printf(events, "]");
    demand(ks_buf_ok(events));
    n_events = ks_trace_reader_dirt(r)->n_events;
    ks_trace_reader_destroy(r);
    ks_trace_source_close(source);
    ks_ids_release(&ids);
    ks_buf_release(&tops);
    free(item);
    return n_events;
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n)
{
    struct ks_buf first, second;
    uint64_t n_events;

    ks_buf_init(&first);
    ks_buf_init(&second);
    n_events = rename_all(bytes, n, &first);
    demand(n_events == 0 || rename_all(first.data, first.len, &second) == n_events);
    ks_buf_release(&first);
    ks_buf_release(&second);
    return 0;
}
