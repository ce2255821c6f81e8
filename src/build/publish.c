/* SPDX-License-Identifier: MIT */
/* publish.c - from a finished compiler run to a unit of the cache and its artefacts. */
#include "build/codeid.h"
#include "build/plan.h"

#include "base/clock.h"
#include "base/file.h"
#include "build/unit.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static int begin(const struct ks_build *b, const struct ks_compile *c, struct ks_manifest *m,
                 struct ks_err *err)
{
    *m = (struct ks_manifest){ .compile_ns = c->compile_ns,
                               .timeout_s = b->timeout_s,
                               .memory_mib = b->memory_mib,
                               .created_ns = ks_realtime_ns(),
                               .n_rows = c->n };
    snprintf(m->compiler, sizeof(m->compiler), "%s",
             ks_build_toolchain(b, c->instances[0])->version);
    m->rows = calloc(c->n, sizeof(*m->rows));
    if (!m->rows)
        return ks_fail(err, KS_ENOMEM, "manifest of %u instances", c->n);
    for (uint32_t i = 0; i < c->n; i++) {
        struct ks_manifest_row *row = &m->rows[i];
        row->build_id = b->artefacts[c->instances[i]].build_id;
        row->state = KS_ART_READY;
        snprintf(row->name, sizeof(row->name), "%s", b->grid->instances[c->instances[i]].name);
    }
    m->unit = ks_manifest_unit(m);
    return 0;
}

static int read_in(const char *dir, const char *name, struct ks_buf *out, struct ks_err *err)
{
    char path[700];
    int rc = ks_path_join(path, sizeof(path), dir, name, err);
    return rc < 0 ? rc : ks_file_read(path, out, err);
}

/* The same code with other arguments, or held to other rounding, is another thing. */
static int add_arguments(const struct ks_build *b, uint32_t i_instance, struct ks_id128 *code_id,
                         struct ks_err *err)
{
    const struct ks_instance *inst = &b->grid->instances[i_instance];
    const struct ks_family *f = &b->grid->families[inst->i_family];
    const enum ks_numerics numerics = ks_instance_numerics(f, inst);
    char hex[33];
    struct ks_buf text;
    ks_buf_init(&text);
    ks_instance_arguments(f, inst, &text);
    const bool is_plain = text.len == 0 && numerics == KS_NUMERICS_FP32;
    ks_hex128(*code_id, hex);
    ks_buf_printf(&text, " numerics %d code %s", (int)numerics, hex);
    const bool ok = ks_buf_ok(&text);
    if (ok && !is_plain && !ks_id128_is_zero(*code_id))
        *code_id = ks_id128(text.data, text.len);
    ks_buf_release(&text);
    return ok ? 0 : ks_fail(err, KS_ENOMEM, "identity of code");
}

static int identify_code(const struct ks_build *b, const struct ks_compile *c,
                         struct ks_manifest *m, struct ks_err *err)
{
    struct ks_buf object;
    ks_buf_init(&object);
    int rc = read_in(c->dir, "unit.o", &object, err);
    for (uint32_t i = 0; i < m->n_rows && rc == 0; i++) {
        struct ks_manifest_row *row = &m->rows[i];
        char symbol[32];
        ks_unit_symbol(i, symbol);
        rc = ks_code_id(object.data, object.len, symbol, &row->code_id, &row->code_bytes, err);
        if (rc == KS_EFORMAT)
            rc = 0; /* not understood: stays zero, like what is never aliased */
        if (rc == 0)
            rc = add_arguments(b, c->instances[i], &row->code_id, err);
        if (rc < 0)
            rc = ks_err_context(err, rc, "code of '%s'", row->name);
    }
    ks_buf_release(&object);
    return rc;
}

static int digest_object(const struct ks_compile *c, struct ks_manifest *m, struct ks_err *err)
{
    struct ks_buf bytes;
    struct ks_sha256 h;
    ks_buf_init(&bytes);
    int rc = read_in(c->dir, KS_UNIT_OBJECT, &bytes, err);
    if (rc == 0 && bytes.len == 0)
        rc = ks_fail(err, KS_EIO, "the linker wrote an empty object");
    if (rc == 0) {
        ks_sha256_init(&h);
        ks_sha256_add(&h, bytes.data, bytes.len);
        ks_sha256_end(&h, m->digest);
        m->object_bytes = bytes.len;
    }
    ks_buf_release(&bytes);
    return rc;
}

static int fill_artefacts(struct ks_build *b, const struct ks_compile *c,
                          const struct ks_manifest *m, struct ks_err *err)
{
    char path[sizeof(b->artefacts->path)];
    int rc = ks_cache_object(&b->cache, m->unit, path, sizeof(path), err);
    if (rc < 0)
        return rc;
    for (uint32_t i = 0; i < c->n; i++) {
        struct ks_artefact *a = &b->artefacts[c->instances[i]];
        a->state = m->rows[i].state;
        a->code_id = m->rows[i].code_id;
        a->code_bytes = m->rows[i].code_bytes;
        a->compile_ns = m->compile_ns / m->n_rows;
        a->object_bytes = m->object_bytes;
        a->is_cached = false;
        snprintf(a->path, sizeof(a->path), "%s", path);
        snprintf(a->reason, sizeof(a->reason), "%s", m->rows[i].reason);
        memcpy(a->digest, m->digest, sizeof(a->digest));
    }
    return 0;
}

int ks_compile_publish(struct ks_build *b, struct ks_compile *c, struct ks_err *err)
{
    char object[700];
    struct ks_manifest m;
    int rc = begin(b, c, &m, err);
    if (rc == 0)
        rc = identify_code(b, c, &m, err);
    if (rc == 0)
        rc = digest_object(c, &m, err);
    if (rc == 0)
        rc = ks_path_join(object, sizeof(object), c->dir, "unit.o", err);
    if (rc == 0)
        (void)unlink(object);
    if (rc == 0)
        rc = ks_cache_publish(&b->cache, c->dir, &m, err);
    /* Another process may have published the unit first: its object counts. */
    if (rc == 0) {
        struct ks_manifest there = { .rows = NULL };
        rc = ks_manifest_read(&b->cache, m.unit, &there, err);
        if (rc == 0 && there.n_rows == c->n)
            rc = fill_artefacts(b, c, &there, err);
        ks_manifest_release(&there);
    }
    ks_manifest_release(&m);
    return rc;
}

int ks_compile_fail(struct ks_build *b, struct ks_compile *c, enum ks_artefact_state state,
                    enum ks_holds holds, const char *reason, struct ks_err *err)
{
    struct ks_artefact *a = &b->artefacts[c->instances[0]];
    struct ks_manifest m;
    int rc = begin(b, c, &m, err);
    if (rc == 0) {
        m.rows[0].state = state;
        m.rows[0].holds = holds;
        snprintf(m.rows[0].reason, sizeof(m.rows[0].reason), "%s", reason);
        rc = ks_cache_publish(&b->cache, c->dir, &m, err);
    }
    ks_manifest_release(&m);
    if (rc < 0)
        return rc;
    a->state = state;
    a->compile_ns = c->compile_ns;
    a->is_cached = false;
    snprintf(a->reason, sizeof(a->reason), "%s", reason);
    return 0;
}
