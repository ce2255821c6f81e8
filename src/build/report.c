/* SPDX-License-Identifier: MIT */
/* report.c - what is known of every instance, for people and scripts. */
#include "build/plan.h"

#include "base/text.h"
#include "grid/arch.h"
#include "json/json.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

struct row { /* of one instance, all as text or numbers */
    char id[17], build_id[33], code_id[33], digest[65];
    const char *name, *family, *compiler, *state, *reason, *path;
    const struct ks_artefact *of;
};

static void fill_row(const struct ks_build *b, uint32_t i, struct row *r)
{
    const struct ks_instance *inst = &b->grid->instances[i];
    const struct ks_artefact *a = &b->artefacts[i];
    *r = (struct row){ .name = inst->name,
                       .family = b->grid->families[inst->i_family].name,
                       .compiler = a->compiler,
                       .state = ks_artefact_states[a->state],
                       .reason = a->reason,
                       .path = a->path,
                       .of = a };
    ks_hex64(inst->id, r->id);
    ks_hex128(a->build_id, r->build_id);
    ks_hex128(a->code_id, r->code_id);
    for (int k = 0; k < 32 && a->path[0]; k++)
        snprintf(r->digest + 2 * k, 3, "%02x", a->digest[k]);
}

/* Absent is null, not an empty text. */
static void put_text(struct ks_jw *w, const char *key, const char *text)
{
    ks_jw_str(w, key, text[0] ? text : NULL);
}

static void put_instance(struct ks_jw *w, const struct row *r)
{
    ks_jw_open(w, NULL, '{');
    ks_jw_str(w, "id", r->id);
    ks_jw_str(w, "name", r->name);
    ks_jw_str(w, "family", r->family);
    put_text(w, "compiler", r->compiler);
    ks_jw_str(w, "state", r->state);
    put_text(w, "reason", r->reason);
    ks_jw_bool(w, "cached", r->of->is_cached);
    ks_jw_str(w, "build_id", r->build_id);
    ks_jw_str(w, "code_id", r->code_id);
    put_text(w, "digest", r->digest);
    ks_jw_u64(w, "compile_ns", r->of->compile_ns);
    ks_jw_u64(w, "code_bytes", r->of->code_bytes);
    ks_jw_u64(w, "object_bytes", r->of->object_bytes);
    put_text(w, "path", r->path);
    ks_jw_close(w, '}');
}

static void put_compiler(struct ks_jw *w, const char *name, const char *command,
                         const char *version, const char *flags, const char *missing)
{
    ks_jw_open(w, NULL, '{');
    put_text(w, "name", name);
    put_text(w, "command", command);
    put_text(w, "version", version);
    put_text(w, "flags", flags);
    put_text(w, "reason", missing);
    ks_jw_close(w, '}');
}

/* Of a GPU both: the host's half, and under the arch's name the device's. */
static void put_tool(const struct ks_build *b, struct ks_jw *w, const struct ks_tool *t)
{
    const char *arch = b->grid->job.device.arch_text;
    const bool is_gpu = ks_arch_is_gpu(arch);
    put_compiler(w, t->name, t->chain.command, t->chain.version, t->chain.flags,
                 is_gpu && t->chain.version[0] ? "" : t->missing);
    if (is_gpu && t->chain.version[0])
        put_compiler(w, arch, t->gpu.command, t->gpu.version, t->gpu.flags, t->missing);
}

static void put_instances(const struct ks_build *b, struct ks_jw *w, const char *key, uint32_t from,
                          uint32_t to)
{
    ks_jw_open(w, key, '[');
    for (uint32_t i = from; i < to; i++) {
        struct row r;
        fill_row(b, i, &r);
        put_instance(w, &r);
    }
    ks_jw_close(w, ']');
}

void ks_build_print_json(const struct ks_build *b, struct ks_jw *w)
{
    ks_jw_open(w, "compilers", '[');
    for (uint32_t i = 0; i < b->tools.n_tools; i++)
        put_tool(b, w, &b->tools.tools[i]);
    ks_jw_close(w, ']');
    ks_build_print_counts(b, w);
    put_instances(b, w, "instances", 0, b->grid->n_instances);
    if (b->grid->n_helpers)
        put_instances(b, w, "judge", b->grid->n_instances, ks_grid_n_built(b->grid));
}

static void put_field(struct ks_buf *out, const char *text, const char *end)
{
    ks_csv_put(out, text);
    ks_buf_printf(out, "%s", end);
}

void ks_build_print_csv(const struct ks_build *b, struct ks_buf *csv_out)
{
    ks_buf_printf(csv_out, "id,name,family,compiler,state,reason,cached,build_id,code_id,digest,"
                           "compile_ns,code_bytes,object_bytes,path\n");
    for (uint32_t i = 0; i < b->grid->n_instances; i++) {
        struct row r;
        fill_row(b, i, &r);
        const char *const before[] = { r.id, r.name, r.family, r.compiler, r.state, r.reason };
        for (size_t k = 0; k < sizeof(before) / sizeof(*before); k++)
            put_field(csv_out, before[k], ",");
        ks_buf_printf(csv_out, "%d,%s,%s,%s,%" PRIu64 ",%" PRIu64 ",%" PRIu64 ",", r.of->is_cached,
                      r.build_id, r.code_id, r.digest, r.of->compile_ns, r.of->code_bytes,
                      r.of->object_bytes);
        put_field(csv_out, r.path, "\n");
    }
}
