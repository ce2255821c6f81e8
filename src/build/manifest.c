/* SPDX-License-Identifier: MIT */
/* manifest.c - manifest.json beside a compiled unit. */
#include "build/cache.h"
#include "json/json.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define SCHEMA 2

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

static void put_id(struct ks_jw *w, const char *key, struct ks_id128 id)
{
    char hex[33];
    ks_hex128(id, hex);
    ks_jw_str(w, key, hex);
}

static void put_digest(struct ks_jw *w, const char *key, const uint8_t digest[32])
{
    char hex[65];
    for (int i = 0; i < 32; i++)
        snprintf(hex + 2 * i, 3, "%02x", digest[i]);
    ks_jw_str(w, key, hex);
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

static void put_code(struct ks_jw *w, const struct ks_code_object *c)
{
    if (!c->target[0])
        return;
    ks_jw_open(w, "code", '{');
    ks_jw_str(w, "name", c->name);
    ks_jw_str(w, "target", c->target);
    for (size_t i = 0; i < N_NUMBERS; i++)
        ks_jw_int(w, numbers[i].key, number_of(c, i));
    ks_jw_close(w, '}');
}

static void put_row(struct ks_jw *w, const struct ks_manifest_row *r)
{
    ks_jw_open(w, NULL, '{');
    ks_jw_str(w, "name", r->name);
    put_id(w, "build_id", r->build_id);
    put_id(w, "code_id", r->code_id);
    ks_jw_str(w, "state", state_names[r->state]);
    ks_jw_str(w, "holds", holds_names[r->holds]);
    ks_jw_u64(w, "code_bytes", r->code_bytes);
    ks_jw_str(w, "reason", r->reason);
    put_code(w, &r->code);
    ks_jw_close(w, '}');
}

void ks_manifest_print(const struct ks_manifest *m, struct ks_buf *json_out)
{
    struct ks_jw w;
    ks_jw_init(&w, json_out, true);
    ks_jw_open(&w, NULL, '{');
    ks_jw_int(&w, "schema", SCHEMA);
    put_id(&w, "unit", m->unit);
    ks_jw_str(&w, "compiler", m->compiler);
    put_digest(&w, "digest", m->digest);
    ks_jw_u64(&w, "object_bytes", m->object_bytes);
    ks_jw_u64(&w, "compile_ns", m->compile_ns);
    ks_jw_int(&w, "timeout_s", m->timeout_s);
    ks_jw_int(&w, "memory_mib", m->memory_mib);
    ks_jw_u64(&w, "created_ns", m->created_ns);
    ks_jw_open(&w, "instances", '[');
    for (uint32_t i = 0; i < m->n_rows; i++)
        put_row(&w, &m->rows[i]);
    ks_jw_close(&w, ']');
    ks_jw_close(&w, '}');
    ks_buf_printf(json_out, "\n");
}

/* Reading: values of one object, the first failure stays in rc. */
struct reader {
    const struct ks_json *doc;
    const struct ks_node *obj;
    struct ks_err *err;
    int rc;
};

static const struct ks_node *need(struct reader *r, const char *key)
{
    const struct ks_node *n = ks_node_at(r->obj, key);
    if (!n && r->rc == 0)
        r->rc = ks_node_fail(r->doc, r->obj, r->err, "'%s' is missing", key);
    return r->rc == 0 ? n : NULL;
}

static void get_text(struct reader *r, const char *key, char *out, size_t cap)
{
    const char *text;
    const struct ks_node *n = need(r, key);
    if (!n)
        return;
    r->rc = ks_node_str(r->doc, n, &text, r->err);
    if (r->rc == 0 && strlen(text) >= cap)
        r->rc = ks_node_fail(r->doc, n, r->err, "text is too long");
    if (r->rc == 0)
        snprintf(out, cap, "%s", text);
}

static void get_int(struct reader *r, const char *key, int64_t min, int64_t max, int64_t *out)
{
    int64_t v;
    const struct ks_node *n = need(r, key);
    if (!n)
        return;
    r->rc = ks_node_int(r->doc, n, &v, r->err);
    if (r->rc == 0 && (v < min || v > max))
        r->rc = ks_node_fail(r->doc, n, r->err, "out of range");
    if (r->rc == 0)
        *out = v;
}

static void get_u64(struct reader *r, const char *key, int64_t max, uint64_t *out)
{
    int64_t v = 0;
    get_int(r, key, 0, max, &v);
    if (r->rc == 0)
        *out = (uint64_t)v;
}

static void get_id(struct reader *r, const char *key, struct ks_id128 *out)
{
    char hex[33] = "";
    get_text(r, key, hex, sizeof(hex));
    if (r->rc == 0 && !ks_unhex128(hex, out))
        r->rc = ks_node_fail(r->doc, need(r, key), r->err, "32 hex digits expected");
}

static void get_digest(struct reader *r, const char *key, uint8_t digest[32])
{
    char hex[65] = "";
    get_text(r, key, hex, sizeof(hex));
    for (size_t i = 0; i < 4 && r->rc == 0; i++) {
        char part[17] = "";
        uint64_t v;
        snprintf(part, sizeof(part), "%.16s", strlen(hex) == 64 ? hex + 16 * i : "");
        if (!ks_unhex64(part, &v)) {
            r->rc = ks_node_fail(r->doc, need(r, key), r->err, "64 hex digits expected");
            return;
        }
        for (size_t k = 0; k < 8; k++)
            digest[8 * i + k] = (uint8_t)(v >> (56 - 8 * k));
    }
}

/* A text that is one of names[first..last]. */
static int get_name(struct reader *r, const char *key, const char *const *names, int first,
                    int last)
{
    char text[24] = "";
    get_text(r, key, text, sizeof(text));
    for (int i = first; i <= last && r->rc == 0; i++)
        if (strcmp(text, names[i]) == 0)
            return i;
    if (r->rc == 0)
        r->rc = ks_node_fail(r->doc, need(r, key), r->err, "no %s is called '%s'", key, text);
    return first;
}

/* Only a unit of a GPU has it. */
static void get_code(struct reader *of, struct ks_code_object *c)
{
    const struct ks_node *n = ks_node_at(of->obj, "code");
    struct reader r = { of->doc, n, of->err, of->rc };
    ks_code_object_init(c);
    if (!n || of->rc < 0)
        return;
    get_text(&r, "name", c->name, sizeof(c->name));
    get_text(&r, "target", c->target, sizeof(c->target));
    for (size_t i = 0; i < N_NUMBERS && r.rc == 0; i++) {
        char *at = (char *)c + numbers[i].at;
        int64_t v = -1;
        get_int(&r, numbers[i].key, -1, numbers[i].is_long ? INT64_MAX : INT32_MAX, &v);
        const int32_t narrow = (int32_t)v;
        if (numbers[i].is_long)
            memcpy(at, &v, sizeof(v));
        else
            memcpy(at, &narrow, sizeof(narrow));
    }
    of->rc = r.rc;
}

static int read_rows(const struct ks_json *doc, const struct ks_node *list, struct ks_manifest *m,
                     struct ks_err *err)
{
    const size_t n = ks_node_size(list);
    if (ks_node_kind(list) != KS_JSON_ARRAY || n == 0 || n > UINT32_MAX)
        return ks_node_fail(doc, list, err, "a list of instances expected");
    m->rows = calloc(n, sizeof(*m->rows));
    if (!m->rows)
        return ks_fail(err, KS_ENOMEM, "manifest of %zu instances", n);
    for (const struct ks_node *c = ks_node_first(list); c; c = ks_node_next(c)) {
        struct ks_manifest_row *row = &m->rows[m->n_rows++];
        struct reader r = { doc, c, err, 0 };
        get_text(&r, "name", row->name, sizeof(row->name));
        get_id(&r, "build_id", &row->build_id);
        get_id(&r, "code_id", &row->code_id);
        row->state = (enum ks_artefact_state)get_name(&r, "state", state_names, KS_ART_READY,
                                                      KS_ART_UNLOADABLE);
        row->holds =
            (enum ks_holds)get_name(&r, "holds", holds_names, KS_HOLDS_ALWAYS, KS_HOLDS_RUN);
        get_u64(&r, "code_bytes", INT64_MAX, &row->code_bytes);
        get_text(&r, "reason", row->reason, sizeof(row->reason));
        get_code(&r, &row->code);
        if (r.rc < 0)
            return r.rc;
    }
    return 0;
}

static int read_document(const struct ks_json *doc, struct ks_manifest *m, struct ks_err *err)
{
    struct reader r = { doc, ks_json_root(doc), err, 0 };
    uint64_t schema = 0, timeout_s = 0, memory_mib = 0;
    if (ks_node_kind(r.obj) != KS_JSON_OBJECT)
        return ks_node_fail(doc, r.obj, err, "an object expected");
    get_u64(&r, "schema", INT64_MAX, &schema);
    if (r.rc == 0 && schema != SCHEMA)
        return ks_node_fail(doc, need(&r, "schema"), err, "schema %d expected", SCHEMA);
    get_id(&r, "unit", &m->unit);
    get_text(&r, "compiler", m->compiler, sizeof(m->compiler));
    get_digest(&r, "digest", m->digest);
    get_u64(&r, "object_bytes", INT64_MAX, &m->object_bytes);
    get_u64(&r, "compile_ns", INT64_MAX, &m->compile_ns);
    get_u64(&r, "timeout_s", UINT32_MAX, &timeout_s);
    get_u64(&r, "memory_mib", UINT32_MAX, &memory_mib);
    get_u64(&r, "created_ns", INT64_MAX, &m->created_ns);
    m->timeout_s = (uint32_t)timeout_s;
    m->memory_mib = (uint32_t)memory_mib;
    const struct ks_node *list = need(&r, "instances");
    return r.rc < 0 ? r.rc : read_rows(doc, list, m, err);
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

/* Takes doc. rc: of opening it. */
static int take_document(int rc, struct ks_json *doc, struct ks_manifest *out, struct ks_err *err)
{
    struct ks_manifest m = { .rows = NULL };
    if (rc == 0)
        rc = read_document(doc, &m, err);
    ks_json_close(doc);
    if (rc < 0) {
        ks_manifest_release(&m);
        if (rc != KS_EINVAL)
            return rc;
        /* Whatever is wrong with a file that we wrote: it must be written again. */
        if (err)
            err->code = KS_EFORMAT;
        return KS_EFORMAT;
    }
    *out = m;
    return 0;
}

int ks_manifest_load(const char *path, struct ks_manifest *out, struct ks_err *err)
{
    struct ks_json *doc = NULL;
    const int rc = ks_json_open(path, &doc, err);
    return take_document(rc, doc, out, err);
}

int ks_manifest_parse(const char *text, size_t n, const char *name, struct ks_manifest *out,
                      struct ks_err *err)
{
    struct ks_json *doc = NULL;
    const int rc = ks_json_parse(text, n, name, &doc, err);
    return take_document(rc, doc, out, err);
}
