/* SPDX-License-Identifier: MIT */
/* publish.c - from a finished compiler run to a unit of the cache and its artefacts. */
#include "build/codeid.h"
#include "build/gpu_code.h"
#include "build/plan.h"

#include "base/clock.h"
#include "base/file.h"
#include "build/unit.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int begin(const struct ks_build *b, const struct ks_compile *c, struct ks_manifest *m,
                 struct ks_err *err)
{
    *m = (struct ks_manifest){ .compile_ns = c->compile_ns,
                               .timeout_s = b->timeout_s,
                               .memory_mib = b->memory_mib,
                               .file_mib = b->file_mib,
                               .created_ns = ks_realtime_ns(),
                               .n_rows = c->n };
    snprintf(m->compiler, sizeof(m->compiler), "%s", ks_build_version(b, c->instances[0]));
    m->rows = calloc(c->n, sizeof(*m->rows));
    if (!m->rows)
        return ks_fail(err, KS_ENOMEM, "out of memory for a manifest of %u instances", c->n);
    for (uint32_t i = 0; i < c->n; i++) {
        struct ks_manifest_row *row = &m->rows[i];
        row->build_id = b->artefacts[c->instances[i]].build_id;
        row->state = KS_ART_READY;
        ks_code_object_init(&row->code);
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
    return ok ? 0 : ks_fail(err, KS_ENOMEM, "out of memory computing code identity");
}

/* The files that a compiler run left. */
struct outputs {
    struct ks_buf object; /* of the host's code */
    struct ks_buf image;  /* of a GPU's; empty: there is none */
};

static int read_outputs(const struct ks_compile *c, struct outputs *out, struct ks_err *err)
{
    int rc = read_in(c->dir, "unit.o", &out->object, err);
    if (rc == 0 && c->device_of)
        rc = read_in(c->dir, KS_UNIT_IMAGE, &out->image, err);
    return rc;
}

/* What the device runs: by its code, or for the emulator by all that its code is made of. */
static int identify_device(const struct ks_build *b, const struct ks_compile *c, uint32_t i,
                           const struct ks_buf *image, struct ks_id128 *out, uint64_t *n_bytes_out,
                           struct ks_err *err)
{
    const struct ks_gpu_chain *gpu = ks_build_gpu_chain(b, c->instances[i]);
    const struct ks_instance *inst = &b->grid->instances[c->instances[i]];
    char sources[33], tool[33];
    struct ks_buf text;
    int rc = ks_gpu_code(image->data, image->len, c->device_of[i], out, n_bytes_out, err);
    if (rc < 0 || gpu->target != KS_GPU_EMULATOR)
        return rc;
    ks_buf_init(&text);
    ks_hex128(b->sources[inst->i_family], sources);
    ks_hex128(gpu->id, tool);
    ks_buf_printf(&text, "emulated %s by %s\n", sources, tool);
    ks_unit_device_macros(&b->grid->families[inst->i_family], inst, &text);
    if (ks_buf_ok(&text))
        *out = ks_id128(text.data, text.len);
    else
        rc = ks_fail(err, KS_ENOMEM, "out of memory computing code identity");
    ks_buf_release(&text);
    return rc;
}

/* A code object that cannot be read says nothing; it may run all the same. */
static void measure_device(const struct ks_compile *c, uint32_t i, const struct ks_buf *image,
                           struct ks_manifest_row *row)
{
    char kernel[32];
    ks_unit_kernel(c->device_of[i], 0, kernel);
    (void)ks_code_object_read(image->data, image->len, kernel, &row->code, NULL);
}

/* Both halves: what the device runs, and how it is launched. */
static int add_device(const struct ks_build *b, const struct ks_compile *c, uint32_t i,
                      const struct ks_buf *image, struct ks_manifest_row *row, struct ks_err *err)
{
    struct ks_id128 device = { 0, 0 };
    char host_hex[33], device_hex[33], text[100];
    int rc = identify_device(b, c, i, image, &device, &row->code_bytes, err);
    if (rc < 0 && rc != KS_EFORMAT && rc != KS_ENOENT)
        return rc; /* not understood: never aliased */
    measure_device(c, i, image, row);
    ks_hex128(row->code_id, host_hex);
    ks_hex128(device, device_hex);
    const int n = snprintf(text, sizeof(text), "host %s device %s", host_hex, device_hex);
    if (ks_id128_is_zero(device) || ks_id128_is_zero(row->code_id))
        row->code_id = (struct ks_id128){ 0, 0 };
    else
        row->code_id = ks_id128(text, (size_t)n);
    return 0;
}

static int identify_one(const struct ks_build *b, const struct ks_compile *c, uint32_t i,
                        const struct outputs *from, struct ks_manifest_row *row, struct ks_err *err)
{
    char symbol[32];
    ks_unit_symbol(i, symbol);
    int rc = ks_code_id(from->object.data, from->object.len, symbol, &row->code_id,
                        &row->code_bytes, err);
    if (rc == KS_EFORMAT)
        rc = 0; /* not understood: stays zero, like what is never aliased */
    if (rc == 0 && c->device_of)
        rc = add_device(b, c, i, &from->image, row, err);
    return rc < 0 ? rc : add_arguments(b, c->instances[i], &row->code_id, err);
}

static int identify_code(const struct ks_build *b, const struct ks_compile *c,
                         struct ks_manifest *m, struct ks_err *err)
{
    struct outputs from;
    ks_buf_init(&from.object);
    ks_buf_init(&from.image);
    int rc = read_outputs(c, &from, err);
    for (uint32_t i = 0; i < m->n_rows && rc == 0; i++) {
        rc = identify_one(b, c, i, &from, &m->rows[i], err);
        if (rc < 0)
            rc = ks_err_context(err, rc, "code of '%s'", m->rows[i].name);
    }
    ks_buf_release(&from.object);
    ks_buf_release(&from.image);
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
        a->code = m->rows[i].code;
        a->compile_ns = m->compile_ns / m->n_rows;
        a->object_bytes = m->object_bytes;
        a->is_cached = false;
        snprintf(a->path, sizeof(a->path), "%s", path);
        snprintf(a->reason, sizeof(a->reason), "%s", m->rows[i].reason);
        memcpy(a->digest, m->digest, sizeof(a->digest));
    }
    return 0;
}

static bool is_kept(const char *name, bool has_object)
{
    static const char *const kept[] = { ".", "..", "unit.c", "device.c" };
    for (size_t i = 0; i < sizeof(kept) / sizeof(*kept); i++)
        if (strcmp(name, kept[i]) == 0)
            return true;
    return has_object && strcmp(name, KS_UNIT_OBJECT) == 0;
}

/* Nothing else that compilers wrote goes into the cache, nor what one that was killed has left. */
static void remove_others(const struct ks_compile *c, bool has_object)
{
    struct dirent **names = NULL;
    const int n = scandir(c->dir, &names, NULL, NULL);
    for (int i = 0; i < n; i++) {
        char path[900];
        if (!is_kept(names[i]->d_name, has_object) &&
            ks_path_join(path, sizeof(path), c->dir, names[i]->d_name, NULL) == 0)
            (void)ks_remove_tree(path, NULL);
        free(names[i]);
    }
    free(names);
}

int ks_compile_publish(struct ks_build *b, struct ks_compile *c, struct ks_err *err)
{
    struct ks_manifest m;
    int rc = begin(b, c, &m, err);
    if (rc == 0)
        rc = identify_code(b, c, &m, err);
    if (rc == 0)
        rc = digest_object(c, &m, err);
    remove_others(c, true);
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
    remove_others(c, false);
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
