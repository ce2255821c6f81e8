/* SPDX-License-Identifier: MIT */
/* manifest.c - the manifest beside a compiled unit. */
#include "base/file.h"
#include "base/lines.h"
#include "build/cache.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define KIND    "ksweep-unit"
#define VERSION 4 /* 3 had no file_mib; 1 and 2 were JSON, under another name */

static const char *const state_names[] = { [KS_ART_READY] = "ready",
                                           [KS_ART_FAILED] = "build_failed",
                                           [KS_ART_TIMEOUT] = "build_timeout",
                                           [KS_ART_UNLOADABLE] = "load_failed" };

static const char *const holds_names[] = {
    [KS_HOLDS_ALWAYS] = "always", [KS_HOLDS_LIMITS] = "limits", [KS_HOLDS_RUN] = "run"
};

/* Numbers of struct ks_code_object, as they are called in it. */
#define NUMBER(name)                                                                               \
    {                                                                                              \
#name, offsetof(struct ks_code_object, name),                                              \
            sizeof(((struct ks_code_object *)0)->name) == sizeof(int64_t)                          \
    }
static const struct {
    const char *key;
    size_t at;
    bool is_long;
} numbers[] = { NUMBER(vgprs),         NUMBER(agprs),         NUMBER(sgprs),
                NUMBER(vgpr_spills),   NUMBER(sgpr_spills),   NUMBER(lds_bytes),
                NUMBER(scratch_bytes), NUMBER(kernarg_bytes), NUMBER(wave),
                NUMBER(max_threads),   NUMBER(code_bytes) };
#undef NUMBER
enum { N_NUMBERS = sizeof(numbers) / sizeof(*numbers) };

void ks_manifest_release(struct ks_manifest *m)
{
    free(m->rows);
    *m = (struct ks_manifest){ .rows = NULL };
}

static void put_id(struct ks_buf *b, const char *key, struct ks_id128 id)
{
    char hex[33];
    ks_hex128(id, hex);
    ks_lines_put(b, key, hex);
}

static void put_digest(struct ks_buf *b, const char *key, const uint8_t digest[32])
{
    char hex[65];
    for (int i = 0; i < 32; i++)
        snprintf(hex + 2 * i, 3, "%02x", digest[i]);
    ks_lines_put(b, key, hex);
}

static void put_u64(struct ks_buf *b, const char *key, uint64_t v)
{
    ks_lines_put_number(b, key, (int64_t)v);
}

static int64_t number_of(const struct ks_code_object *c, size_t i)
{
    const char *at = (const char *)c + numbers[i].at;
    int64_t v = 0;
    int32_t w = 0;
    if (numbers[i].is_long) {
        memcpy(&v, at, sizeof(v));
        return v;
    }
    memcpy(&w, at, sizeof(w));
    return w;
}

static void put_code(struct ks_buf *b, const struct ks_code_object *c)
{
    if (!c->target[0])
        return;
    ks_lines_put(b, "code", c->name);
    ks_lines_put(b, "target", c->target);
    for (size_t i = 0; i < N_NUMBERS; i++)
        ks_lines_put_number(b, numbers[i].key, number_of(c, i));
}

static void put_row(struct ks_buf *b, const struct ks_manifest_row *r)
{
    ks_lines_put(b, "instance", r->name);
    put_id(b, "build_id", r->build_id);
    put_id(b, "code_id", r->code_id);
    ks_lines_put(b, "state", state_names[r->state]);
    ks_lines_put(b, "holds", holds_names[r->holds]);
    put_u64(b, "code_bytes", r->code_bytes);
    ks_lines_put(b, "reason", r->reason);
    put_code(b, &r->code);
}

void ks_manifest_print(const struct ks_manifest *m, struct ks_buf *text_out)
{
    ks_lines_begin(text_out, KIND, VERSION);
    put_id(text_out, "unit", m->unit);
    ks_lines_put(text_out, "compiler", m->compiler);
    put_digest(text_out, "digest", m->digest);
    put_u64(text_out, "object_bytes", m->object_bytes);
    put_u64(text_out, "compile_ns", m->compile_ns);
    put_u64(text_out, "timeout_s", m->timeout_s);
    put_u64(text_out, "memory_mib", m->memory_mib);
    put_u64(text_out, "file_mib", m->file_mib);
    put_u64(text_out, "created_ns", m->created_ns);
    for (uint32_t i = 0; i < m->n_rows; i++)
        put_row(text_out, &m->rows[i]);
    ks_lines_finish(text_out);
}

/* Reading: each of these takes one line. */

static void get_text(struct ks_lines *l, const char *key, char *out, size_t cap)
{
    if (ks_lines_expect(l, key, 1))
        ks_lines_copy(l, 0, out, cap);
    ks_lines_next(l);
}

static int64_t get_int(struct ks_lines *l, const char *key, int64_t min, int64_t max)
{
    const int64_t v = ks_lines_expect(l, key, 1) ? ks_lines_int(l, 0, min, max) : 0;
    ks_lines_next(l);
    return v;
}

static uint64_t get_u64(struct ks_lines *l, const char *key)
{
    return (uint64_t)get_int(l, key, 0, INT64_MAX);
}

static void get_id(struct ks_lines *l, const char *key, struct ks_id128 *out)
{
    if (ks_lines_expect(l, key, 1) && !ks_unhex128(ks_lines_text(l, 0), out))
        ks_lines_fail(l, "expected 32 hex digits");
    ks_lines_next(l);
}

static void get_digest(struct ks_lines *l, const char *key, uint8_t digest[32])
{
    char hex[65] = "";
    get_text(l, key, hex, sizeof(hex));
    for (size_t i = 0; i < 4 && l->rc == 0; i++) {
        char part[17] = "";
        uint64_t v;
        snprintf(part, sizeof(part), "%.16s", strlen(hex) == 64 ? hex + 16 * i : "");
        if (!ks_unhex64(part, &v)) {
            ks_lines_fail(l, "expected 64 hex digits before this line");
            return;
        }
        for (size_t k = 0; k < 8; k++)
            digest[8 * i + k] = (uint8_t)(v >> (56 - 8 * k));
    }
}

/* A text that is one of names[first..last]. */
static int get_name(struct ks_lines *l, const char *key, const char *const *names, int first,
                    int last)
{
    int found = last + 1;
    if (ks_lines_expect(l, key, 1))
        for (found = first; found <= last && strcmp(ks_lines_text(l, 0), names[found]); found++)
            ;
    if (found > last)
        ks_lines_fail(l, "unknown %s '%.40s'", key, ks_lines_text(l, 0));
    ks_lines_next(l);
    return found > last ? first : found;
}

/* Only a unit of a GPU has it. */
static void get_code(struct ks_lines *l, struct ks_code_object *c)
{
    ks_code_object_init(c);
    if (!ks_lines_is(l, "code"))
        return;
    get_text(l, "code", c->name, sizeof(c->name));
    get_text(l, "target", c->target, sizeof(c->target));
    for (size_t i = 0; i < N_NUMBERS; i++) {
        char *at = (char *)c + numbers[i].at;
        const int64_t v =
            get_int(l, numbers[i].key, -1, numbers[i].is_long ? INT64_MAX : INT32_MAX);
        const int32_t narrow = (int32_t)v;
        if (numbers[i].is_long)
            memcpy(at, &v, sizeof(v));
        else
            memcpy(at, &narrow, sizeof(narrow));
    }
}

static int add_row(struct ks_manifest *m, uint32_t *cap, struct ks_err *err)
{
    if (m->n_rows == *cap) {
        const uint32_t more = *cap ? 2 * *cap : 64;
        struct ks_manifest_row *rows = realloc(m->rows, more * sizeof(*rows));
        if (!rows)
            return ks_fail(err, KS_ENOMEM, "out of memory for a manifest of %u instances", more);
        m->rows = rows;
        *cap = more;
    }
    m->rows[m->n_rows++] = (struct ks_manifest_row){ .state = KS_ART_READY };
    return 0;
}

static int read_rows(struct ks_lines *l, struct ks_manifest *m)
{
    uint32_t cap = 0;
    while (l->rc == 0 && (l->key || m->n_rows == 0)) {
        struct ks_manifest_row *row;
        const int rc = add_row(m, &cap, l->err);
        if (rc < 0)
            return rc;
        row = &m->rows[m->n_rows - 1];
        get_text(l, "instance", row->name, sizeof(row->name));
        get_id(l, "build_id", &row->build_id);
        get_id(l, "code_id", &row->code_id);
        row->state = (enum ks_artefact_state)get_name(l, "state", state_names, KS_ART_READY,
                                                      KS_ART_UNLOADABLE);
        row->holds =
            (enum ks_holds)get_name(l, "holds", holds_names, KS_HOLDS_ALWAYS, KS_HOLDS_RUN);
        row->code_bytes = get_u64(l, "code_bytes");
        get_text(l, "reason", row->reason, sizeof(row->reason));
        get_code(l, &row->code);
    }
    return l->rc;
}

static int read_lines(struct ks_lines *l, struct ks_manifest *m)
{
    get_id(l, "unit", &m->unit);
    get_text(l, "compiler", m->compiler, sizeof(m->compiler));
    get_digest(l, "digest", m->digest);
    m->object_bytes = get_u64(l, "object_bytes");
    m->compile_ns = get_u64(l, "compile_ns");
    m->timeout_s = (uint32_t)get_int(l, "timeout_s", 0, UINT32_MAX);
    m->memory_mib = (uint32_t)get_int(l, "memory_mib", 0, UINT32_MAX);
    m->file_mib = (uint32_t)get_int(l, "file_mib", 0, UINT32_MAX);
    m->created_ns = get_u64(l, "created_ns");
    return l->rc < 0 ? l->rc : read_rows(l, m);
}

const struct ks_manifest_row *ks_manifest_find(const struct ks_manifest *m,
                                               struct ks_id128 build_id)
{
    for (uint32_t i = 0; i < m->n_rows; i++)
        if (ks_id128_eq(m->rows[i].build_id, build_id))
            return &m->rows[i];
    return NULL;
}

struct ks_id128 ks_manifest_unit(const struct ks_manifest *m)
{
    struct ks_sha256 h;
    ks_sha256_init(&h);
    for (uint32_t i = 0; i < m->n_rows; i++) {
        char hex[33];
        ks_hex128(m->rows[i].build_id, hex);
        ks_sha256_add(&h, hex, sizeof(hex));
    }
    return ks_sha256_id128(&h);
}

int ks_manifest_parse(const char *text, size_t n, const char *name, struct ks_manifest *out,
                      struct ks_err *err)
{
    struct ks_manifest m = { .rows = NULL };
    struct ks_lines l;
    int rc = ks_lines_open(&l, text, n, name, KIND, VERSION, err);
    if (rc == 0)
        rc = read_lines(&l, &m);
    ks_lines_close(&l);
    if (rc < 0) {
        ks_manifest_release(&m);
        return rc;
    }
    *out = m;
    return 0;
}

int ks_manifest_load(const char *path, struct ks_manifest *out, struct ks_err *err)
{
    struct ks_buf text;
    ks_buf_init(&text);
    int rc = ks_file_read(path, &text, err);
    if (rc == 0)
        rc = ks_manifest_parse(ks_buf_text(&text), text.len, path, out, err);
    ks_buf_release(&text);
    return rc;
}
