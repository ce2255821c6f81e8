/* SPDX-License-Identifier: MIT */
/* merge_kernels.c - reads the device times that are to be merged, by operator and thread */
#include "analysis/trace/merge_kernels.h"
#include "base/buf.h"
#include "base/file.h"
#include "trace/source.h"
#include "trace/text.h"

#include <stdlib.h>
#include <string.h>

enum { CHUNK_BYTES = 1 << 16 };

static int read_whole(const char *path, struct ks_buf *to, struct ks_err *err)
{
    struct ks_trace_source *s = NULL;
    char *chunk = malloc(CHUNK_BYTES);
    size_t n = 1;
    int rc = chunk ? ks_trace_source_open(path, &s, err) : ks_fail(err, KS_ENOMEM, "out of memory");

    while (rc == 0 && n > 0) {
        rc = ks_trace_source_read(s, chunk, CHUNK_BYTES, &n, err);
        if (rc == 0)
            ks_buf_put(to, chunk, n);
        if (rc == 0 && to->len > KS_FILE_MAX)
            rc = ks_fail(err, KS_EINVAL, "%s: longer than %llu bytes", path, KS_FILE_MAX);
    }
    if (rc == 0 && ks_trace_source_damage(s))
        rc = ks_fail(err, KS_EFORMAT, "%s: %s", path, ks_trace_source_damage(s));
    if (rc == 0 && !ks_buf_ok(to))
        rc = ks_fail(err, KS_ENOMEM, "out of memory for '%s'", path);
    ks_trace_source_close(s);
    free(chunk);
    return rc;
}

static int bad_value(const char *path, struct ks_span key, struct ks_span field, struct ks_err *err)
{
    return ks_fail(err, KS_EFORMAT, "%s: \"%.*s\": \"%.*s\" is not a usable number", path,
                   (int)(key.n < 120 ? key.n : 120), key.p, (int)(field.n < 60 ? field.n : 60),
                   field.p);
}

static int read_field(const char *path, struct ks_span key, const struct ks_trace_member *m,
                      struct ks_merge_entry *e, bool *has_time, bool *has_stream,
                      struct ks_err *err)
{
    if (ks_span_is(m->key, "kernel_time")) {
        *has_time = true;
        return ks_trace_ns(m->value, &e->time_ns) && e->time_ns >= 0
                   ? 0
                   : bad_value(path, key, m->key, err);
    }
    if (ks_span_is(m->key, "device_memory_usage"))
        return ks_trace_int(m->value, &e->memory_bytes) ? 0 : bad_value(path, key, m->key, err);
    if (ks_span_is(m->key, "device"))
        return ks_trace_int(m->value, &e->device) && e->device >= 0
                   ? 0
                   : bad_value(path, key, m->key, err);
    if (ks_span_is(m->key, "stream")) {
        *has_stream = true;
        return ks_trace_int(m->value, &e->stream) && e->stream >= 0
                   ? 0
                   : bad_value(path, key, m->key, err);
    }
    return 0;
}

static int read_entry(const char *path, const struct ks_trace_member *m, struct ks_merge_entry *e,
                      bool *has_stream, struct ks_err *err)
{
    struct ks_trace_walk w = ks_trace_walk(m->value);
    struct ks_trace_member field;
    bool has_time = false;
    int rc = 0;

    *e = (struct ks_merge_entry){ .memory_bytes = -1 };
    if (m->is_string || !w.is_object)
        return ks_fail(err, KS_EFORMAT, "%s: \"%.*s\" is not an object", path,
                       (int)(m->key.n < 120 ? m->key.n : 120), m->key.p);
    while (rc == 0 && ks_trace_walk_next(&w, &field))
        rc = read_field(path, m->key, &field, e, &has_time, has_stream, err);
    if (rc == 0 && (w.is_bad || !has_time))
        rc = ks_fail(err, KS_EFORMAT, "%s: \"%.*s\" has no \"kernel_time\"", path,
                     (int)(m->key.n < 120 ? m->key.n : 120), m->key.p);
    return rc;
}

/* The key without "_<digits>" at its end. */
static size_t stem_of(const char *key, size_t n)
{
    size_t at = n;

    while (at > 0 && key[at - 1] >= '0' && key[at - 1] <= '9')
        at--;
    return at > 0 && at < n && key[at - 1] == '_' ? at - 1 : n;
}

static bool add_stem(struct ks_merge_kernels *k, const char *key, size_t n, uint32_t entry)
{
    const uint32_t before = k->stems.n, stem = ks_names_put(&k->stems, key, stem_of(key, n));

    if (stem == KS_NAME_NONE)
        return false;
    k->of_stem[stem] = stem == before ? entry : KS_NAME_NONE;
    return true;
}

uint32_t ks_merge_kernels_find(const struct ks_merge_kernels *k, const char *key, size_t n,
                               size_t n_stem)
{
    const uint32_t entry = ks_names_find(&k->keys, key, n);
    const uint32_t stem =
        entry == KS_NAME_NONE ? ks_names_find(&k->stems, key, n_stem) : KS_NAME_NONE;

    return stem == KS_NAME_NONE ? entry : k->of_stem[stem];
}

static int grow_entries(struct ks_merge_kernels *k, struct ks_err *err)
{
    const uint32_t cap = k->cap ? 2 * k->cap : 64;
    struct ks_merge_entry *at;
    uint32_t *of_stem;

    if (k->keys.n < k->cap)
        return 0;
    at = realloc(k->at, cap * sizeof(*at));
    k->at = at ? at : k->at;
    of_stem = realloc(k->of_stem, cap * sizeof(*of_stem));
    k->of_stem = of_stem ? of_stem : k->of_stem;
    if (!at || !of_stem)
        return ks_fail(err, KS_ENOMEM, "out of memory for %u kernels", cap);
    k->cap = cap;
    return 0;
}

static int add_entry(struct ks_merge_kernels *k, const char *path, struct ks_span key,
                     const struct ks_merge_entry *e, struct ks_err *err)
{
    const uint32_t n = k->keys.n;
    struct ks_buf name;
    uint32_t number = KS_NAME_NONE;
    int rc = grow_entries(k, err);

    if (rc < 0)
        return rc;
    ks_buf_init(&name);
    ks_trace_unescape(key, &name);
    if (ks_buf_ok(&name))
        number = ks_names_put(&k->keys, ks_buf_text(&name), name.len);
    if (number == n && !add_stem(k, ks_buf_text(&name), name.len, number))
        number = KS_NAME_NONE;
    ks_buf_release(&name);
    if (number == KS_NAME_NONE)
        return ks_fail(err, KS_ENOMEM, "out of memory for %u kernels", n + 1);
    if (number < n)
        return ks_fail(err, KS_EFORMAT, "%s: duplicate key \"%s\"", path,
                       ks_names_text(&k->keys, number));
    k->at[number] = *e;
    return 0;
}

int ks_merge_kernels_parse(const char *text, size_t len, const char *path,
                           struct ks_merge_kernels *out, struct ks_err *err)
{
    struct ks_trace_walk w = ks_trace_walk((struct ks_span){ .p = text, .n = len });
    struct ks_merge_kernels k = { 0 };
    struct ks_trace_member m;
    int rc = 0;

    ks_names_init(&k.keys);
    ks_names_init(&k.stems);
    if (!w.is_object)
        return ks_fail(err, KS_EFORMAT, "%s: expected a JSON object of device times", path);
    while (rc == 0 && ks_trace_walk_next(&w, &m)) {
        struct ks_merge_entry e;

        rc = read_entry(path, &m, &e, &k.has_streams, err);
        if (rc == 0)
            rc = add_entry(&k, path, m.key, &e, err);
    }
    if (rc == 0 && w.is_bad)
        rc = ks_fail(err, KS_EFORMAT, "%s: byte %zu: not JSON", path, (size_t)(w.p - text));
    if (rc < 0)
        ks_merge_kernels_release(&k);
    else
        *out = k;
    return rc;
}

int ks_merge_kernels_read(const char *path, struct ks_merge_kernels *out, struct ks_err *err)
{
    struct ks_buf text;
    int rc;

    ks_buf_init(&text);
    rc = read_whole(path, &text, err);
    if (rc == 0)
        rc = ks_merge_kernels_parse(ks_buf_text(&text), text.len, path, out, err);
    ks_buf_release(&text);
    return rc;
}

void ks_merge_kernels_release(struct ks_merge_kernels *k)
{
    ks_names_release(&k->keys);
    ks_names_release(&k->stems);
    free(k->at);
    free(k->of_stem);
    *k = (struct ks_merge_kernels){ 0 };
}
