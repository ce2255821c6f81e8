/* SPDX-License-Identifier: MIT */
/* combine.c - several traces in one file. Events are copied as they are, but for the numbers that
 * would collide: those of combine_ids.h, and devices that an earlier file uses. */
#include "analysis/trace/combine.h"

#include "analysis/trace/combine_ids.h"
#include "analysis/trace/verbs.h"
#include "analysis/trace/view.h"
#include "base/array.h"
#include "base/text.h"
#include "trace/output.h"
#include "trace/text.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { DEVICES_MAX = 4096, FILES_MAX = 8192 };
#define ID_STEP    (INT64_C(1) << 44) /* less for more than 2^(EXACT_BITS - 44) files */
#define EXACT_BITS 53                 /* viewers read numbers as doubles */

struct config {
    const char *output;
};
static const struct ks_opt opts[] = {
    { .name = "output",
      .letter = 'o',
      .type = KS_OPT_STR,
      .offset = offsetof(struct config, output),
      .arg = "FILE",
      .help =
          "trace to write; compressed with gzip if the name ends in .gz; must not be an input" },
    KS_OPT_END
};

/* Devices of one file: ids as it writes them, and as they become. */
struct device_map {
    int64_t from[DEVICES_MAX], to[DEVICES_MAX];
    bool is_described[DEVICES_MAX];
    uint32_t n;
};

struct combine {
    struct ks_trace_output *out;
    struct ks_ids ids; /* of the present file */
    struct device_map map;
    int64_t *used; /* [n_used] ids of the output that events or properties name */
    size_t n_used, cap_used;
    bool is_full; /* devices would collide: DEVICES_MAX in one file, or no memory */
    struct ks_buf properties, text;
    struct ks_buf frames, samples;     /* members and elements of all files, without the brackets */
    struct ks_buf before_id, after_id; /* the present file's first device, around its id */
    bool has_event;                    /* one was written */
    bool is_plain;                     /* events stay as they are */
    const char *path;                  /* the present file's */
    struct ks_buf *notes;
};

/* ---- devices ---- */

static bool is_used(const struct combine *c, int64_t id)
{
    for (size_t i = 0; i < c->n_used; i++)
        if (c->used[i] == id)
            return true;
    return false;
}

static int64_t fresh_id(const struct combine *c)
{
    int64_t id = 0;

    for (size_t i = 0; i < c->n_used; i++)
        id = c->used[i] >= id && c->used[i] < INT32_MAX ? c->used[i] + 1 : id;
    return id;
}

/* Devices that only events name, as of ROCm, are like the first that the file describes. Properties
 * may stand behind the events, so this is done at the end of the file. */
static void describe_rest(struct combine *c)
{
    for (uint32_t i = 0; c->before_id.len && i < c->map.n; i++) {
        if (c->map.is_described[i])
            continue;
        ks_buf_printf(&c->properties, ",\n");
        ks_buf_put(&c->properties, c->before_id.data, c->before_id.len);
        ks_buf_printf(&c->properties, "%lld", (long long)c->map.to[i]);
        ks_buf_put(&c->properties, c->after_id.data, c->after_id.len);
    }
}

/* The id that a device of the present file gets. */
static int64_t device_of(struct combine *c, int64_t id, bool is_described)
{
    int64_t to = id;

    for (uint32_t i = 0; i < c->map.n; i++)
        if (c->map.from[i] == id) {
            c->map.is_described[i] |= is_described;
            return c->map.to[i];
        }
    if (c->map.n == DEVICES_MAX ||
        ks_reserve(&c->used, c->n_used + 1, &c->cap_used, sizeof(*c->used), "devices", NULL) < 0) {
        c->is_full = true;
        return id;
    }
    if (is_used(c, id))
        to = fresh_id(c);
    c->map.from[c->map.n] = id;
    c->map.is_described[c->map.n] = is_described;
    c->map.to[c->map.n++] = to;
    c->used[c->n_used++] = to;
    return to;
}

/* The id of a device's object; the profiler of 2021 gives none: the position counts. */
static int64_t id_in(struct ks_span object, int64_t position, struct ks_span *text_out)
{
    struct ks_trace_walk members = ks_trace_walk(object);
    struct ks_trace_member m;
    int64_t id;

    *text_out = (struct ks_span){ NULL, 0 };
    while (ks_trace_walk_next(&members, &m))
        if (ks_span_is(m.key, "id") && ks_trace_int(m.value, &id)) {
            *text_out = m.value;
            return id;
        }
    return position;
}

static void add_object(struct combine *c, struct ks_span object, int64_t position)
{
    struct ks_span old;
    const int64_t id = id_in(object, position, &old);
    const char *end = object.p + object.n, *before = old.p ? old.p : object.p + 1;
    const char *after = old.p ? old.p + old.n : before;
    const bool is_first = c->before_id.len == 0;
    struct ks_buf *parts[] = { &c->properties, is_first ? &c->before_id : NULL };

    if (c->is_plain && is_used(c, id))
        return;
    ks_buf_printf(&c->properties, "%s", c->properties.len ? ",\n" : "");
    for (int i = 0; i < 2 && parts[i]; i++) {
        ks_buf_put(parts[i], object.p, (size_t)(before - object.p));
        ks_buf_printf(parts[i], "%s", old.p ? "" : "\"id\": ");
    }
    ks_buf_printf(&c->properties, "%lld", (long long)device_of(c, id, true));
    parts[1] = is_first ? &c->after_id : NULL;
    for (int i = 0; i < 2 && parts[i]; i++) {
        ks_buf_printf(parts[i], "%s", old.p ? "" : ", ");
        ks_buf_put(parts[i], after, (size_t)(end - after));
    }
}

/* Each device's object with its id replaced. */
static void add_properties(struct combine *c, struct ks_span list)
{
    struct ks_trace_walk w = ks_trace_walk(list);
    struct ks_trace_member object;
    int64_t position = 0;

    for (; ks_trace_walk_next(&w, &object); position++)
        if (object.value.n >= 2 && object.value.p[0] == '{')
            add_object(c, object.value, position);
}

/* ---- events ---- */

static void add_device(struct combine *c, const struct ks_trace_event *ev)
{
    int64_t id;

    if (!ks_trace_has(ev, KS_TRACE_ARG_DEVICE) ||
        !ks_trace_int(ev->arg[KS_TRACE_ARG_DEVICE], &id) || id < 0 ||
        (ev->kind != KS_TRACE_KERNEL && ev->kind != KS_TRACE_MEMCPY &&
         ev->kind != KS_TRACE_MEMSET && ev->kind != KS_TRACE_SYNC))
        return;
    ks_ids_set(&c->ids, ev->arg[KS_TRACE_ARG_DEVICE], device_of(c, id, false));
}

static int put_event(struct combine *c, const struct ks_trace_event *ev, struct ks_err *err)
{
    if (!c->is_plain) {
        add_device(c, ev); /* of the first file, too: its devices are used then */
        ks_ids_of_event(&c->ids, ev);
    }
    ks_buf_clear(&c->text);
    ks_buf_put(&c->text, ",\n", c->has_event ? 2 : 0);
    ks_ids_put(&c->ids, ev->raw, &c->text);
    c->has_event = true;
    if (!ks_buf_ok(&c->text))
        return ks_fail(err, KS_ENOMEM, "out of memory for an event");
    return ks_trace_output_put(c->out, c->text.data, c->text.len, err);
}

/* ---- files ---- */

/* The reader holds no value of more than KS_TRACE_TOP_MAX bytes, and no secrets. */
static void note_left_out(struct combine *c, const struct ks_trace_top *top)
{
    const bool is_secret = ks_span_is(top->key, "metadata");

    if (is_secret && c->ids.file > 0)
        return;
    ks_buf_printf(c->notes, "ksweep-analyze trace: ");
    ks_text_put(c->notes, c->path, strlen(c->path), KS_LINES_NONE);
    ks_buf_printf(c->notes, ": left out '");
    ks_text_put(c->notes, top->key.p, top->key.n, KS_LINES_NONE);
    ks_buf_printf(c->notes, "' (%llu bytes): %s\n", (unsigned long long)(top->end - top->at),
                  is_secret ? "it may contain the environment"
                            : "top-level values of more than 1 MiB are not copied");
}

/* The inside of an object of stack frames or an array of samples, behind that of earlier files. */
static void add_inside(struct combine *c, struct ks_span value, struct ks_buf *to)
{
    struct ks_trace_walk w = ks_trace_walk(value);
    struct ks_trace_member first;

    if (!ks_trace_walk_next(&w, &first)) /* empty */
        return;
    if (to == &c->frames)
        ks_ids_of_frames(&c->ids, value);
    else
        ks_ids_of_samples(&c->ids, value);
    ks_buf_printf(to, "%s", to->len ? ",\n" : "");
    ks_ids_put(&c->ids, (struct ks_span){ value.p + 1, value.n - 2 }, to);
}

static void add_top(const struct ks_trace_top *top, struct ks_buf *tops)
{
    /* The value of a string comes without its quotes. */
    const char *quote = top->value.p[-1] == '"' ? "\"" : "";

    ks_buf_printf(tops, ",\n\"");
    ks_buf_put(tops, top->key.p, top->key.n);
    ks_buf_printf(tops, "\": %s", quote);
    ks_buf_put(tops, top->value.p, top->value.n);
    ks_buf_printf(tops, "%s", quote);
}

/* Devices, stack frames and samples of all files; of the first file also what it says of itself. */
static void put_top(struct combine *c, const struct ks_trace_top *top, struct ks_buf *tops)
{
    const bool is_devices =
        ks_span_is(top->key, "deviceProperties") || ks_span_is(top->key, "computeProperties");
    const bool is_frames = !c->is_plain && ks_span_is(top->key, "stackFrames");
    const bool is_samples = !c->is_plain && ks_span_is(top->key, "samples");

    if (ks_span_is(top->key, "traceEvents") ||
        (c->ids.file > 0 && !is_devices && !is_frames && !is_samples))
        return;
    if (!top->value.p)
        note_left_out(c, top);
    else if (is_devices)
        add_properties(c, top->value);
    else if (!is_frames && !is_samples)
        add_top(top, tops);
    else if (*top->value.p == (is_frames ? '{' : '[') && top->value.p[-1] != '"')
        add_inside(c, top->value, is_frames ? &c->frames : &c->samples);
}

static int put_items(struct combine *c, struct ks_trace_reader *r, struct ks_buf *tops,
                     struct ks_err *err)
{
    struct ks_trace_item *item = malloc(sizeof(*item));
    int rc = item ? 1 : ks_fail(err, KS_ENOMEM, "out of memory");

    while (rc > 0 && (rc = ks_trace_reader_next(r, item, err)) > 0) {
        if (item->type == KS_TRACE_ITEM_EVENT)
            rc = put_event(c, &item->event, err);
        else if (item->type == KS_TRACE_ITEM_TOP)
            put_top(c, &item->top, tops);
        rc = rc < 0 ? rc : 1;
    }
    free(item);
    return rc;
}

static int put_file(struct combine *c, const char *path, struct ks_buf *tops, struct ks_err *err)
{
    struct ks_trace_source *source = NULL;
    struct ks_trace_reader *r = NULL;
    int rc = ks_trace_source_open(path, &source, err);

    c->path = path;
    c->map.n = 0;
    ks_buf_clear(&c->before_id);
    ks_buf_clear(&c->after_id);
    if (rc == 0)
        rc = ks_trace_reader_create(source, &r, err);
    if (rc == 0)
        rc = put_items(c, r, tops, err);
    describe_rest(c);
    if (rc == 0 && c->is_full)
        rc = ks_fail(err, KS_EINVAL, "%s: more than %d devices in one trace", path, DEVICES_MAX);
    if (rc == 0 && ks_trace_reader_dirt(r)->n_events == 0)
        rc = ks_fail(err, KS_EFORMAT, "%s: the trace has no events", path);
    if (rc == 0)
        ks_trace_note_dirt(path, ks_trace_reader_dirt(r), c->notes);
    ks_trace_reader_destroy(r);
    ks_trace_source_close(source);
    return rc;
}

static int put_text(struct combine *c, const char *text, struct ks_err *err)
{
    return ks_trace_output_put(c->out, text, strlen(text), err);
}

/* Members of all files between `begin` and `end`. */
static int put_merged(struct combine *c, const char *begin, const struct ks_buf *b, const char *end,
                      struct ks_err *err)
{
    int rc = put_text(c, begin, err);

    if (rc == 0)
        rc = ks_trace_output_put(c->out, b->data, b->len, err);
    return rc < 0 ? rc : put_text(c, end, err);
}

static int put_all(struct combine *c, const char *const *paths, size_t n, struct ks_err *err)
{
    struct ks_buf tops;
    int rc = put_text(c, "{\"traceEvents\": [", err);

    ks_buf_init(&tops);
    for (size_t i = 0; rc == 0 && i < n; i++) {
        c->ids.file = (int64_t)i;
        rc = put_file(c, paths[i], &tops, err);
    }
    if (rc == 0 && !(ks_buf_ok(&tops) && ks_buf_ok(&c->properties) && ks_buf_ok(&c->frames) &&
                     ks_buf_ok(&c->samples)))
        rc = ks_fail(err, KS_ENOMEM, "out of memory");
    if (rc == 0)
        rc = put_merged(c, "\n],\n\"deviceProperties\": [", &c->properties, "]", err);
    if (rc == 0 && c->frames.len > 0)
        rc = put_merged(c, ",\n\"stackFrames\": {", &c->frames, "}", err);
    if (rc == 0 && c->samples.len > 0)
        rc = put_merged(c, ",\n\"samples\": [", &c->samples, "]", err);
    if (rc == 0)
        rc = ks_trace_output_put(c->out, tops.data, tops.len, err);
    if (rc == 0)
        rc = put_text(c, "}\n", err);
    ks_buf_release(&tops);
    return rc;
}

int ks_trace_combine(const char *const *paths, size_t n, const char *output, bool is_plain,
                     struct ks_buf *notes, struct ks_err *err)
{
    struct combine *c;
    int rc;

    if (n < 2)
        return ks_fail(err, KS_EINVAL, "give at least 2 traces to combine");
    if (n > FILES_MAX)
        return ks_fail(err, KS_EINVAL, "at most %d traces can be combined, but %zu are given",
                       FILES_MAX, n);
    c = calloc(1, sizeof(*c));
    if (!c)
        return ks_fail(err, KS_ENOMEM, "out of memory");
    c->is_plain = is_plain;
    for (c->ids.id_step = ID_STEP; c->ids.id_step * (int64_t)n > INT64_C(1) << EXACT_BITS;)
        c->ids.id_step /= 2;
    c->notes = notes;
    rc = ks_trace_output_open(output, paths, n, &c->out, err);
    if (rc == 0)
        rc = put_all(c, paths, n, err);
    rc = ks_trace_output_close(c->out, rc, err);
    ks_ids_release(&c->ids);
    ks_buf_release(&c->properties);
    ks_buf_release(&c->frames);
    ks_buf_release(&c->samples);
    ks_buf_release(&c->text);
    ks_buf_release(&c->before_id);
    ks_buf_release(&c->after_id);
    free(c->used);
    free(c);
    return rc;
}

static int combine(const void *cfg, const char *const *operands, int n, struct ks_buf *notes,
                   struct ks_err *err)
{
    const struct config *config = cfg;
    struct ks_paths paths = { 0 };
    int rc;

    if (!config->output)
        return ks_fail(err, KS_EINVAL, "missing -o FILE; usage: ksweep-analyze %s",
                       ks_trace_verb_combine.usage);
    rc = ks_paths_open(operands, n, &paths, err);
    if (rc == 0)
        rc = ks_trace_combine((const char *const *)paths.path, paths.n, config->output, false,
                              notes, err);
    ks_paths_close(&paths);
    return rc;
}

const struct ks_analysis ks_trace_verb_combine = {
    .name = "trace combine",
    .summary = "Combine several traces in one file; processes, flows and devices stay separate.",
    .usage = "trace combine FILE|DIR... -o OUT",
    .opts = opts,
    .cfg_size = sizeof(struct config),
    .n_min = 1,
    .n_max = 0,
    .run = combine,
};
