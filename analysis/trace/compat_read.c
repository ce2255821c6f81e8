/* SPDX-License-Identifier: MIT */
/* compat_read.c - the events that PyTorch's script looks at, and what it writes into them. */
#include "analysis/trace/compat.h"

#include "analysis/trace/view.h"
#include "base/array.h"
#include "trace/text.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void ks_compat_release(struct ks_compat *t)
{
    ks_names_release(&t->names);
    ks_names_release(&t->shapes);
    ks_names_release(&t->externals);
    free(t->kernels);
    free(t->ops);
    free(t->devices);
    memset(t, 0, sizeof(*t));
}

/* ---- events ---- */

static uint32_t put_text(struct ks_names *names, struct ks_span text, struct ks_buf *scratch)
{
    ks_buf_clear(scratch);
    ks_trace_unescape(text, scratch);
    return ks_names_put(names, ks_buf_text(scratch), scratch->len);
}

static void put_line(struct ks_buf *to, const struct ks_trace_event *ev, enum ks_trace_arg a,
                     const char *end)
{
    const struct ks_span s = ks_trace_has(ev, a) ? ev->arg[a] : (struct ks_span){ "", 0 };

    for (size_t i = 0; i < s.n; i++)
        ks_buf_u8(to, s.p[i] == '\n' ? ' ' : (uint8_t)s.p[i]);
    ks_buf_printf(to, "%s", end);
}

static uint32_t put_shape(struct ks_compat *t, const struct ks_trace_event *ev,
                          struct ks_buf *scratch)
{
    ks_buf_clear(scratch);
    put_line(scratch, ev, KS_TRACE_ARG_INPUT_DIMS, "\n");
    put_line(scratch, ev, KS_TRACE_ARG_INPUT_TYPE, "\n");
    put_line(scratch, ev, KS_TRACE_ARG_CONCRETE, "");
    return ks_names_put(&t->shapes, ks_buf_text(scratch), scratch->len);
}

static int64_t int_of(const struct ks_trace_event *ev, enum ks_trace_arg a)
{
    int64_t v;

    return ks_trace_has(ev, a) && ks_trace_int(ev->arg[a], &v) ? v : INT64_MIN;
}

static double f64_of(const struct ks_trace_event *ev, enum ks_trace_arg a)
{
    double v;

    return ks_trace_has(ev, a) && ks_trace_f64(ev->arg[a], &v) ? v : (double)NAN;
}

static int add_row(struct ks_compat *t, const struct ks_trace_event *ev, bool is_op,
                   struct ks_buf *scratch, struct ks_err *err)
{
    struct ks_compat_row row = { .external = int_of(ev, KS_TRACE_ARG_EXTERNAL_ID),
                                 .device = int_of(ev, KS_TRACE_ARG_DEVICE),
                                 .dur_ns = ev->has_dur ? ev->dur_ns : 0,
                                 .flop = f64_of(ev, KS_TRACE_ARG_KERNEL_FLOP),
                                 .gb = f64_of(ev, KS_TRACE_ARG_KERNEL_GB),
                                 .place = ks_trace_place_of(ev) };
    int rc;

    if (is_op && row.external == INT64_MIN)
        return 0;
    row.name = put_text(&t->names, ev->name, scratch);
    row.shape = put_shape(t, ev, scratch);
    if (row.name == KS_NAME_NONE || row.shape == KS_NAME_NONE)
        return ks_fail(err, KS_ENOMEM, "out of memory for events");
    if (is_op) { /* the first of an id counts */
        const uint32_t n = t->externals.n;
        const uint32_t at =
            ks_names_put(&t->externals, (const char *)&row.external, sizeof(row.external));

        if (at != n)
            return at == KS_NAME_NONE ? ks_fail(err, KS_ENOMEM, "out of memory for events") : 0;
    }
    rc = is_op ? ks_reserve(&t->ops, t->n_ops + 1, &t->cap_ops, sizeof(row), "operators", err)
               : ks_reserve(&t->kernels, t->n_kernels + 1, &t->cap_kernels, sizeof(row), "kernels",
                            err);
    if (rc == 0)
        *(is_op ? &t->ops[t->n_ops++] : &t->kernels[t->n_kernels++]) = row;
    return rc;
}

/* ---- devices ---- */

static int add_device(struct ks_compat *t, int64_t id, const char *name, struct ks_err *err)
{
    int rc;

    for (size_t i = 0; i < t->n_devices; i++)
        if (t->devices[i].id == id)
            return 0;
    rc = ks_reserve(&t->devices, t->n_devices + 1, &t->cap_devices, sizeof(*t->devices), "devices",
                    err);
    if (rc == 0) {
        struct ks_compat_device *d = &t->devices[t->n_devices++];

        d->id = id;
        snprintf(d->name, sizeof(d->name), "%s", name);
    }
    return rc;
}

static int add_devices(struct ks_compat *t, struct ks_span list, struct ks_buf *scratch,
                       struct ks_err *err)
{
    struct ks_trace_walk w = ks_trace_walk(list);
    struct ks_trace_member object, m;
    int rc = 0;

    while (rc == 0 && ks_trace_walk_next(&w, &object)) {
        struct ks_trace_walk members = ks_trace_walk(object.value);
        int64_t id = INT64_MIN;

        ks_buf_clear(scratch);
        while (ks_trace_walk_next(&members, &m)) {
            if (ks_span_is(m.key, "id"))
                (void)ks_trace_int(m.value, &id);
            else if (ks_span_is(m.key, "name") && m.is_string)
                ks_trace_unescape(m.value, scratch);
        }
        if (id != INT64_MIN)
            rc = add_device(t, id, ks_buf_text(scratch), err);
    }
    return rc;
}

/* Devices that only kernels name have the name of the first. */
static int add_named(struct ks_compat *t, struct ks_err *err)
{
    char first[sizeof(t->devices->name)] = "unknown";
    int rc = 0;

    if (t->n_devices)
        memcpy(first, t->devices[0].name, sizeof(first));
    for (size_t i = 0; rc == 0 && i < t->n_kernels; i++)
        if (t->kernels[i].device != INT64_MIN)
            rc = add_device(t, t->kernels[i].device, first, err);
    return rc;
}

/* ---- what the script adds ---- */

/* One value of an event, unless one is there that is not 0. */
static double value_of(const struct ks_compat *t, const struct ks_compat_row *r, bool is_flop)
{
    const double old = is_flop ? r->flop : r->gb;
    const char *name = ks_names_text(&t->names, r->name);
    const char *shape = ks_names_text(&t->shapes, r->shape);

    if (old > 0 || old < 0)
        return old;
    return is_flop ? ks_compat_flop(name, shape) : ks_compat_gb(name, shape);
}

static void augment(struct ks_compat *t)
{
    for (size_t i = 0; i < t->n_kernels; i++) {
        struct ks_compat_row *k = &t->kernels[i], *op;
        const uint32_t at =
            k->external == INT64_MIN
                ? KS_NAME_NONE
                : ks_names_find(&t->externals, (const char *)&k->external, sizeof(k->external));

        if (at == KS_NAME_NONE)
            continue;
        op = &t->ops[at];
        op->is_flop_new |= isnan(op->flop);
        op->is_gb_new |= isnan(op->gb);
        k->is_flop_new = isnan(k->flop);
        k->is_gb_new = isnan(k->gb);
        op->flop = value_of(t, op, true);
        if (op->flop == 0)
            op->flop = value_of(t, k, true);
        op->gb = value_of(t, op, false);
        k->flop = op->flop;
        k->gb = op->gb;
    }
}

/* ---- reading ---- */

static int read_items(struct ks_compat *t, struct ks_trace_reader *r, struct ks_err *err)
{
    struct ks_trace_item *item = malloc(sizeof(*item));
    struct ks_buf scratch;
    int rc = item ? 1 : ks_fail(err, KS_ENOMEM, "out of memory");

    ks_buf_init(&scratch);
    while (rc > 0 && (rc = ks_trace_reader_next(r, item, err)) > 0) {
        const struct ks_trace_event *ev = &item->event;
        int added = 0;

        if (item->type == KS_TRACE_ITEM_EVENT && ev->args.p && ks_span_is(ev->cat, "kernel"))
            added = add_row(t, ev, false, &scratch, err);
        else if (item->type == KS_TRACE_ITEM_EVENT && ev->args.p && ks_span_is(ev->cat, "cpu_op"))
            added = add_row(t, ev, true, &scratch, err);
        else if (item->type == KS_TRACE_ITEM_TOP && item->top.value.p &&
                 ks_span_is(item->top.key, "deviceProperties"))
            added = add_devices(t, item->top.value, &scratch, err);
        rc = added < 0 ? added : rc;
    }
    ks_buf_release(&scratch);
    free(item);
    return rc;
}

int ks_compat_read(struct ks_trace_source *source, struct ks_compat *out, struct ks_buf *notes,
                   struct ks_err *err)
{
    struct ks_trace_reader *r = NULL;
    int rc;

    memset(out, 0, sizeof(*out));
    rc = ks_trace_reader_create(source, &r, err);
    if (rc == 0)
        rc = read_items(out, r, err);
    if (rc == 0 && ks_trace_reader_dirt(r)->n_events == 0)
        rc = ks_fail(err, KS_EFORMAT, "%s: the trace has no events", ks_trace_source_name(source));
    if (rc == 0)
        rc = add_named(out, err);
    if (rc == 0) {
        augment(out);
        ks_trace_note_dirt(ks_trace_source_name(source), ks_trace_reader_dirt(r), notes);
    }
    ks_trace_reader_destroy(r);
    return rc;
}
