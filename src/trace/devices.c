/* SPDX-License-Identifier: MIT */
/* devices.c - the devices that a trace describes or only names */
#include "trace/load.h"
#include "trace/text.h"

#include <stdlib.h>
#include <string.h>

enum { DEVICES_MAX = 1024 }; /* tables look at all work once per device */

uint32_t ks_trace_device_row(struct ks_trace *t, int64_t id)
{
    struct ks_trace_device *grown;

    for (uint32_t i = 0; i < t->n_devices; i++)
        if (t->devices[i].id == id)
            return i;
    if (t->n_devices == DEVICES_MAX)
        return 0; /* nobody has so many: the ids are garbage */
    grown = realloc(t->devices, (t->n_devices + 1) * sizeof(*grown));
    if (!grown)
        return KS_TRACE_NONE;
    t->devices = grown;
    grown[t->n_devices] = (struct ks_trace_device){ .id = id };
    return t->n_devices++;
}

static void set_name(struct ks_trace_device *d, struct ks_span text)
{
    struct ks_buf name;

    ks_buf_init(&name);
    ks_trace_unescape(text, &name);
    strncpy(d->name, ks_buf_text(&name), sizeof(d->name) - 1);
    ks_buf_release(&name);
}

static void set_int32(int32_t *to, struct ks_span value)
{
    int64_t v;

    if (ks_trace_int(value, &v) && v >= 0 && v <= INT32_MAX)
        *to = (int32_t)v;
}

static void set_member(struct ks_trace_device *d, const struct ks_trace_member *m)
{
    const struct {
        const char *key;
        int32_t *to;
    } numbers[] = { { "computeMajor", &d->major },
                    { "major", &d->major },
                    { "computeMinor", &d->minor },
                    { "minor", &d->minor },
                    { "numSms", &d->n_sms },
                    { "multiProcessorCount", &d->n_sms },
                    { "warpSize", &d->warp_size },
                    { "regsPerBlock", &d->regs_per_block },
                    { "maxThreadsPerMultiprocessor", &d->threads_per_sm },
                    { "clockRate", &d->clock_khz } };

    if (ks_span_is(m->key, "name"))
        set_name(d, m->value);
    else if (ks_span_is(m->key, "totalGlobalMem"))
        (void)ks_trace_int(m->value, &d->memory_bytes);
    for (size_t i = 0; i < sizeof(numbers) / sizeof(numbers[0]); i++)
        if (ks_span_is(m->key, numbers[i].key))
            set_int32(numbers[i].to, m->value);
}

static int64_t id_of(struct ks_span object, int64_t otherwise)
{
    struct ks_trace_walk w = ks_trace_walk(object);
    struct ks_trace_member m;
    int64_t id = otherwise;

    while (ks_trace_walk_next(&w, &m))
        if (ks_span_is(m.key, "id"))
            (void)ks_trace_int(m.value, &id);
    return id;
}

bool ks_trace_load_devices(struct ks_trace *t, struct ks_span value)
{
    struct ks_trace_walk list = ks_trace_walk(value);
    struct ks_trace_member object, m;
    int64_t i = 0;

    while (ks_trace_walk_next(&list, &object)) {
        struct ks_trace_walk w = ks_trace_walk(object.value);
        const uint32_t row = ks_trace_device_row(t, id_of(object.value, i++));

        if (row == KS_TRACE_NONE)
            return false;
        t->devices[row].is_described = true;
        while (ks_trace_walk_next(&w, &m))
            set_member(&t->devices[row], &m);
    }
    return true;
}

static bool is_alike(const struct ks_trace_device *a, const struct ks_trace_device *b)
{
    return strcmp(a->name, b->name) == 0 && a->major == b->major && a->minor == b->minor &&
           a->n_sms == b->n_sms;
}

void ks_trace_finish_devices(struct ks_trace *t)
{
    const struct ks_trace_device *model = NULL;

    for (uint32_t i = 0; i < t->n_devices; i++) {
        const struct ks_trace_device *d = &t->devices[i];

        if (d->is_described && model && !is_alike(d, model))
            return;
        if (d->is_described && !model)
            model = d;
    }
    for (uint32_t i = 0; model && i < t->n_devices; i++) {
        const int64_t id = t->devices[i].id;

        if (t->devices[i].is_described)
            continue;
        t->devices[i] = *model;
        t->devices[i].id = id;
        t->devices[i].is_described = false;
    }
}
