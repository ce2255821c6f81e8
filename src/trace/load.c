/* SPDX-License-Identifier: MIT */
/* load.c - events to rows. */
#include "trace/load.h"

#include "trace/text.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ns: 146 years. Times are within it, and so is the sum of the durations of rows, so that sums of
 * some and the distance of two times fit in int64. */
#define TIME_MAX (INT64_MAX / 2)

/* What is needed while rows are made. Keys are interned texts whose number is the row. */
struct loader {
    struct ks_trace *t;
    struct ks_buf scratch;
    struct ks_names track_keys;  /* pid '\n' tid */
    struct ks_names stream_keys; /* device and stream id, 16 bytes */
    struct ks_names raw_shapes;  /* as written */
    uint32_t *shape_of;          /* [raw_shapes.cap] owned: raw to t->shapes */
    uint32_t cap_shape_of, cap_tracks, cap_streams;
    int64_t sum_ns; /* of the durations of rows */
    bool is_ok;     /* there was memory so far */
};

static void loader_release(struct loader *l)
{
    ks_buf_release(&l->scratch);
    ks_names_release(&l->track_keys);
    ks_names_release(&l->stream_keys);
    ks_names_release(&l->raw_shapes);
    free(l->shape_of);
}

/* Doubles *array (entries of `size`) until it has room for row n. */
static bool room(void **array, uint32_t *cap, uint32_t n, size_t size)
{
    const uint32_t more = *cap ? 2 * *cap : 64;
    void *grown;

    if (n < *cap)
        return true;
    grown = realloc(*array, more * size);
    if (!grown)
        return false;
    *array = grown;
    *cap = more;
    return true;
}

static uint32_t intern(struct loader *l, struct ks_names *names, struct ks_span text)
{
    uint32_t i;

    if (text.n && memchr(text.p, '\\', text.n)) {
        ks_buf_clear(&l->scratch);
        ks_trace_unescape(text, &l->scratch);
        text = (struct ks_span){ ks_buf_text(&l->scratch), l->scratch.len };
    }
    i = ks_names_put(names, text.p ? text.p : "", text.n);
    l->is_ok &= i != KS_NAME_NONE;
    return i;
}

/* ---- threads and streams ---- */

static int64_t number_of(struct ks_span text)
{
    int64_t v;

    return ks_trace_int(text, &v) ? v : INT64_MIN;
}

static void put_span(struct ks_buf *to, struct ks_span s)
{
    if (s.n)
        ks_buf_put(to, s.p, s.n);
}

static uint32_t track_of(struct loader *l, const struct ks_trace_event *ev)
{
    struct ks_trace *t = l->t;
    struct ks_trace_track track;
    uint32_t row;

    ks_buf_clear(&l->scratch);
    put_span(&l->scratch, ev->pid);
    ks_buf_u8(&l->scratch, '\n');
    put_span(&l->scratch, ev->tid);
    row = ks_names_put(&l->track_keys, ks_buf_text(&l->scratch), l->scratch.len);
    if (row == KS_NAME_NONE || row < t->n_tracks) {
        l->is_ok &= row != KS_NAME_NONE;
        return row;
    }
    track.pid = intern(l, &t->names, ev->pid);
    track.tid = intern(l, &t->names, ev->tid);
    track.pid_number = number_of(ev->pid);
    track.tid_number = number_of(ev->tid);
    l->is_ok &= room((void **)&t->tracks, &l->cap_tracks, row, sizeof(track));
    if (!l->is_ok)
        return KS_NAME_NONE;
    t->tracks[row] = track;
    t->n_tracks = row + 1;
    return row;
}

/* "stream 7" as well as 7. */
static int64_t stream_id(const struct ks_trace_event *ev)
{
    struct ks_span text =
        ks_trace_has(ev, KS_TRACE_ARG_STREAM) ? ev->arg[KS_TRACE_ARG_STREAM] : ev->tid;
    int64_t id;

    if (ks_span_begins(text, "stream "))
        text = (struct ks_span){ text.p + 7, text.n - 7 };
    return ks_trace_int(text, &id) ? id : -1;
}

static int64_t device_id(const struct ks_trace_event *ev)
{
    int64_t id;

    if (ks_trace_has(ev, KS_TRACE_ARG_DEVICE) && ks_trace_int(ev->arg[KS_TRACE_ARG_DEVICE], &id))
        return id;
    return ks_trace_int(ev->pid, &id) ? id : 0;
}

static uint32_t stream_row(struct loader *l, int64_t device, int64_t stream)
{
    struct ks_trace *t = l->t;
    const int64_t key[2] = { device, stream };
    const uint32_t row = ks_names_put(&l->stream_keys, (const char *)key, sizeof(key));
    uint32_t device_row;

    if (row == KS_NAME_NONE || row < t->n_streams) {
        l->is_ok &= row != KS_NAME_NONE;
        return row;
    }
    device_row = ks_trace_device_row(t, device);
    l->is_ok &= device_row != KS_TRACE_NONE &&
                room((void **)&t->streams, &l->cap_streams, row, sizeof(*t->streams));
    if (!l->is_ok)
        return KS_NAME_NONE;
    t->streams[row] = (struct ks_trace_stream){ .device = device_row, .id = stream };
    t->n_streams = row + 1;
    return row;
}

static uint32_t stream_of(struct loader *l, const struct ks_trace_event *ev)
{
    return stream_row(l, device_id(ev), stream_id(ev));
}

/* ---- args ---- */

static int64_t int_arg(const struct ks_trace_event *ev, enum ks_trace_arg a, int64_t otherwise)
{
    int64_t v;

    return ks_trace_has(ev, a) && ks_trace_int(ev->arg[a], &v) ? v : otherwise;
}

static double f64_arg(const struct ks_trace_event *ev, enum ks_trace_arg a)
{
    double v;

    return ks_trace_has(ev, a) && ks_trace_f64(ev->arg[a], &v) ? v : (double)NAN;
}

struct ks_trace_place ks_trace_place_of(const struct ks_trace_event *ev)
{
    const struct ks_span s = ev->args.p ? ev->args : ev->raw;
    const char *p = s.p + s.n - 1;
    struct ks_trace_place place = { .at = ev->at + (uint64_t)(p - ev->raw.p),
                                    .has_args = ev->args.p ? 1 : 0 };

    for (p--; place.has_args == 1 && p > ev->args.p; p--)
        if ((unsigned char)*p > ' ')
            place.has_args = 2;
    return place;
}

/* The text without blanks outside strings. */
static void put_dense(struct ks_buf *to, struct ks_span s)
{
    bool is_string = false;

    for (size_t i = 0; i < s.n; i++) {
        const char c = s.p[i];

        if (c == '\n' || (!is_string && (unsigned char)c <= ' '))
            continue;
        ks_buf_u8(to, (uint8_t)c);
        if (c == '\\' && is_string && i + 1 < s.n && s.p[i + 1] != '\n')
            ks_buf_u8(to, (uint8_t)s.p[++i]);
        else if (c == '"')
            is_string = !is_string;
    }
}

static const enum ks_trace_arg shape_args[] = { KS_TRACE_ARG_INPUT_DIMS, KS_TRACE_ARG_INPUT_TYPE,
                                                KS_TRACE_ARG_INPUT_STRIDES, KS_TRACE_ARG_CONCRETE };
enum { N_SHAPE_ARGS = sizeof(shape_args) / sizeof(shape_args[0]) };

static void put_shape(struct ks_buf *to, const struct ks_trace_event *ev, bool is_dense)
{
    ks_buf_clear(to);
    for (size_t i = 0; i < N_SHAPE_ARGS; i++) {
        if (ks_trace_has(ev, shape_args[i]) && is_dense)
            put_dense(to, ev->arg[shape_args[i]]);
        else if (ks_trace_has(ev, shape_args[i]))
            put_span(to, ev->arg[shape_args[i]]);
        if (i + 1 < N_SHAPE_ARGS)
            ks_buf_u8(to, is_dense ? '\n' : '\x1e');
    }
}

static uint32_t shape_of(struct loader *l, const struct ks_trace_event *ev)
{
    struct ks_trace *t = l->t;
    const uint32_t wanted = 1u << KS_TRACE_ARG_INPUT_DIMS | 1u << KS_TRACE_ARG_INPUT_TYPE |
                            1u << KS_TRACE_ARG_INPUT_STRIDES | 1u << KS_TRACE_ARG_CONCRETE;
    const uint32_t n_before = l->raw_shapes.n;
    uint32_t raw;

    if (!(ev->has & wanted))
        return KS_TRACE_NONE;
    t->has_shapes |= ks_trace_has(ev, KS_TRACE_ARG_INPUT_DIMS);
    put_shape(&l->scratch, ev, false);
    raw = ks_names_put(&l->raw_shapes, ks_buf_text(&l->scratch), l->scratch.len);
    if (raw == KS_NAME_NONE ||
        !room((void **)&l->shape_of, &l->cap_shape_of, raw, sizeof(*l->shape_of))) {
        l->is_ok = false;
        return KS_TRACE_NONE;
    }
    if (raw == n_before) {
        put_shape(&l->scratch, ev, true);
        l->shape_of[raw] = ks_names_put(&t->shapes, ks_buf_text(&l->scratch), l->scratch.len);
        l->is_ok &= l->shape_of[raw] != KS_NAME_NONE;
    }
    return l->shape_of[raw];
}

/* ---- rows ---- */

static void add_gpu(struct loader *l, const struct ks_trace_event *ev)
{
    struct ks_trace_gpu *g = &l->t->gpu;
    const uint32_t i = g->n;

    if (!ks_trace_room_gpu(l->t)) {
        l->is_ok = false;
        return;
    }
    g->ts_ns[i] = ev->ts_ns;
    g->dur_ns[i] = ev->dur_ns;
    g->name[i] = intern(l, &l->t->names, ev->name);
    g->kind[i] = (uint8_t)ev->kind;
    g->stream[i] = stream_of(l, ev);
    g->correlation[i] = int_arg(ev, KS_TRACE_ARG_CORRELATION, KS_TRACE_NO_ID);
    g->external[i] = int_arg(ev, KS_TRACE_ARG_EXTERNAL_ID, KS_TRACE_NO_ID);
    g->bytes[i] = int_arg(ev, KS_TRACE_ARG_BYTES, -1);
    g->gb_per_s[i] = (float)f64_arg(ev, KS_TRACE_ARG_BANDWIDTH);
    g->flop[i] = f64_arg(ev, KS_TRACE_ARG_KERNEL_FLOP);
    g->gb[i] = f64_arg(ev, KS_TRACE_ARG_KERNEL_GB);
    g->call[i] = g->op[i] = KS_TRACE_NONE;
    g->place[i] = ks_trace_place_of(ev);
    g->n++;
}

static void add_call(struct loader *l, const struct ks_trace_event *ev)
{
    struct ks_trace_calls *c = &l->t->calls;
    const uint32_t i = c->n;

    if (!ks_trace_room_call(l->t)) {
        l->is_ok = false;
        return;
    }
    c->ts_ns[i] = ev->ts_ns;
    c->dur_ns[i] = ev->dur_ns;
    c->name[i] = intern(l, &l->t->names, ev->name);
    c->track[i] = track_of(l, ev);
    c->correlation[i] = int_arg(ev, KS_TRACE_ARG_CORRELATION, KS_TRACE_NO_ID);
    c->external[i] = int_arg(ev, KS_TRACE_ARG_EXTERNAL_ID, KS_TRACE_NO_ID);
    c->op[i] = KS_TRACE_NONE;
    c->n++;
}

static void add_op(struct loader *l, const struct ks_trace_event *ev)
{
    struct ks_trace_ops *o = &l->t->ops;
    const uint32_t i = o->n;

    if (!ks_trace_room_op(l->t)) {
        l->is_ok = false;
        return;
    }
    o->ts_ns[i] = ev->ts_ns;
    o->dur_ns[i] = ev->dur_ns;
    o->name[i] = intern(l, &l->t->names, ev->name);
    o->track[i] = track_of(l, ev);
    o->external[i] = int_arg(ev, KS_TRACE_ARG_EXTERNAL_ID, KS_TRACE_NO_ID);
    o->sequence[i] = int_arg(ev, KS_TRACE_ARG_SEQUENCE, KS_TRACE_NO_ID);
    o->shape[i] = shape_of(l, ev);
    o->parent[i] = KS_TRACE_NONE;
    o->flop[i] = f64_arg(ev, KS_TRACE_ARG_KERNEL_FLOP);
    o->gb[i] = f64_arg(ev, KS_TRACE_ARG_KERNEL_GB);
    o->place[i] = ks_trace_place_of(ev);
    o->n++;
}

static void add_note(struct loader *l, const struct ks_trace_event *ev)
{
    struct ks_trace_notes *n = &l->t->notes;
    const uint32_t i = n->n;

    if (!ks_trace_room_note(l->t)) {
        l->is_ok = false;
        return;
    }
    n->ts_ns[i] = ev->ts_ns;
    n->dur_ns[i] = ev->dur_ns;
    n->name[i] = intern(l, &l->t->names, ev->name);
    n->track[i] = track_of(l, ev);
    n->is_gpu[i] = ev->kind == KS_TRACE_GPU_NOTE;
    n->n++;
}

static void add_wait(struct loader *l, const struct ks_trace_event *ev)
{
    struct ks_trace_waits *w = &l->t->waits;
    const uint32_t i = w->n;
    int64_t on;

    if (!ks_trace_has(ev, KS_TRACE_ARG_WAIT_STREAM) ||
        !ks_trace_int(ev->arg[KS_TRACE_ARG_WAIT_STREAM], &on))
        return;
    if (!ks_trace_room_wait(l->t)) {
        l->is_ok = false;
        return;
    }
    w->stream[i] = stream_of(l, ev);
    w->on[i] = stream_row(l, device_id(ev), on);
    w->correlation[i] = int_arg(ev, KS_TRACE_ARG_CORRELATION, KS_TRACE_NO_ID);
    w->record[i] = int_arg(ev, KS_TRACE_ARG_WAIT_CORRELATION, KS_TRACE_NO_ID);
    w->n++;
}

static bool is_held(enum ks_trace_kind kind)
{
    return kind >= KS_TRACE_OP && kind <= KS_TRACE_GPU_NOTE;
}

static void add_timed(struct loader *l, const struct ks_trace_event *ev)
{
    struct ks_trace *t = l->t;
    int64_t end_ns;

    if (ev->dur_ns < 0 || ev->dur_ns > TIME_MAX - l->sum_ns || ev->ts_ns < -TIME_MAX ||
        ev->ts_ns > TIME_MAX || ev->ts_ns + ev->dur_ns > TIME_MAX) {
        t->n_negative++;
        return;
    }
    end_ns = ev->ts_ns + ev->dur_ns;
    l->sum_ns += is_held(ev->kind) ? ev->dur_ns : 0;
    t->is_augmented |= (ev->kind == KS_TRACE_OP || ev->kind == KS_TRACE_KERNEL) &&
                       (ev->has & (1u << KS_TRACE_ARG_OPERATOR | 1u << KS_TRACE_ARG_KERNELS |
                                   1u << KS_TRACE_ARG_KERNEL_FLOP | 1u << KS_TRACE_ARG_KERNEL_GB));
    t->first_ns = ev->ts_ns < t->first_ns ? ev->ts_ns : t->first_ns;
    t->last_ns = end_ns > t->last_ns ? end_ns : t->last_ns;
    switch (ev->kind) {
    case KS_TRACE_OP:
        add_op(l, ev);
        break;
    case KS_TRACE_KERNEL:
    case KS_TRACE_MEMCPY:
    case KS_TRACE_MEMSET:
        add_gpu(l, ev);
        break;
    case KS_TRACE_CALL:
        add_call(l, ev);
        break;
    case KS_TRACE_NOTE:
    case KS_TRACE_GPU_NOTE:
        add_note(l, ev);
        break;
    case KS_TRACE_SYNC:
        add_wait(l, ev);
        break;
    default:
        break;
    }
}

/* ---- the outermost object ---- */

static int64_t rank_of(struct ks_span value)
{
    struct ks_trace_walk w = ks_trace_walk(value);
    struct ks_trace_member m;
    int64_t rank = -1;

    while (ks_trace_walk_next(&w, &m))
        if (ks_span_is(m.key, "rank"))
            (void)ks_trace_int(m.value, &rank);
    return rank;
}

static void add_top(struct loader *l, const struct ks_trace_top *top)
{
    if (!top->value.p)
        return;
    if (ks_span_is(top->key, "deviceProperties") || ks_span_is(top->key, "computeProperties"))
        l->is_ok &= ks_trace_load_devices(l->t, top->value);
    else if (ks_span_is(top->key, "distributedInfo"))
        l->t->rank = rank_of(top->value);
    else if (ks_span_is(top->key, "baseTimeNanoseconds"))
        (void)ks_trace_int(top->value, &l->t->base_ns);
}

static void add_item(struct loader *l, const struct ks_trace_item *item)
{
    if (item->type == KS_TRACE_ITEM_EVENT) {
        l->t->n_of_kind[item->event.kind]++;
        if (item->event.has_ts && item->event.has_dur)
            add_timed(l, &item->event);
    } else if (item->type == KS_TRACE_ITEM_TOP) {
        add_top(l, &item->top);
    } else if (item->type == KS_TRACE_ITEM_END) {
        l->t->events_end = item->at;
    }
}

static int load_items(struct loader *l, struct ks_trace_reader *r, struct ks_trace_item *item,
                      struct ks_err *err)
{
    int rc;

    while ((rc = ks_trace_reader_next(r, item, err)) > 0) {
        add_item(l, item);
        if (!l->is_ok)
            return ks_fail(err, KS_ENOMEM, "out of memory for the events of '%s'", l->t->path);
    }
    return rc;
}

int ks_trace_load_rows(struct ks_trace *t, struct ks_trace_source *source, struct ks_err *err)
{
    struct loader l = { .t = t, .is_ok = true };
    struct ks_trace_item *item = malloc(sizeof(*item));
    struct ks_trace_reader *r = NULL;
    int rc =
        item ? ks_trace_reader_create(source, &r, err) : ks_fail(err, KS_ENOMEM, "out of memory");

    if (rc == 0)
        rc = load_items(&l, r, item, err);
    if (rc == 0) {
        t->dirt = *ks_trace_reader_dirt(r);
        ks_trace_finish_devices(t);
    }
    ks_trace_reader_destroy(r);
    free(item);
    loader_release(&l);
    return rc;
}
