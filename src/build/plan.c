/* SPDX-License-Identifier: MIT */
/* plan.c - units of a grid, and what the cache knows of each instance. */
#include "build/plan.h"

#include "base/clock.h"
#include "base/file.h"
#include "base/limits.h"
#include "build/plugin.h"
#include "build/trial.h"
#include "build/unit.h"
#include "record/outcome.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define TIMEOUT_S  300u
#define MEMORY_MIB 4096u
#define FILE_MIB   1024u

const char *const ks_artefact_states[] = {
    [KS_ART_MISSING] = "missing",        [KS_ART_READY] = "ready",
    [KS_ART_FAILED] = "build_failed",    [KS_ART_TIMEOUT] = "build_timeout",
    [KS_ART_UNLOADABLE] = "load_failed", [KS_ART_UNSUPPORTED] = "unsupported"
};

uint32_t ks_artefact_outcome(enum ks_artefact_state state)
{
    static const uint8_t outcomes[] = {
        [KS_ART_MISSING] = KS_O_BUILD_FAILED,   [KS_ART_READY] = KS_O_OK,
        [KS_ART_FAILED] = KS_O_BUILD_FAILED,    [KS_ART_TIMEOUT] = KS_O_BUILD_TIMEOUT,
        [KS_ART_UNLOADABLE] = KS_O_LOAD_FAILED, [KS_ART_UNSUPPORTED] = KS_O_UNSUPPORTED
    };
    return outcomes[state];
}

/* Does the job's device run what we compile? A simulated one takes every instance as it is. */
static bool is_compiled(const struct ks_build *b)
{
    return ks_job_is(&b->grid->job, KS_BACKEND_COMPILES);
}

const struct ks_toolchain *ks_build_toolchain(const struct ks_build *b, uint32_t i_instance)
{
    return &b->tools.tools[b->tools.of[i_instance]].chain;
}

const struct ks_gpu_chain *ks_build_gpu_chain(const struct ks_build *b, uint32_t i_instance)
{
    return &b->tools.tools[b->tools.of[i_instance]].gpu;
}

const char *ks_build_version(const struct ks_build *b, uint32_t i_instance)
{
    const struct ks_tool *t = &b->tools.tools[b->tools.of[i_instance]];
    return t->gpu.target != KS_GPU_NONE ? t->gpu.version : t->chain.version;
}

void ks_build_flags(const struct ks_build *b, uint32_t i_instance, struct ks_buf *text_out)
{
    const struct ks_instance *inst = &b->grid->instances[i_instance];
    const struct ks_family *f = &b->grid->families[inst->i_family];
    ks_buf_printf(text_out, "%s ", f->extra_flags);
    ks_instance_flags(f, inst, text_out);
}

/* Identity ----------------------------------------------------------------------------------------
 */

/* build_id: sources, compiler, flags, target and traits of one instance; not of its unit. */
static int identify(struct ks_build *b, uint32_t i, struct ks_err *err)
{
    const struct ks_instance *inst = &b->grid->instances[i];
    const struct ks_family *f = &b->grid->families[inst->i_family];
    struct ks_artefact *a = &b->artefacts[i];
    const struct ks_gpu_chain *gpu = ks_build_gpu_chain(b, i);
    char sources_hex[33], tool_hex[33];
    struct ks_buf text;
    ks_buf_init(&text);
    ks_hex128(b->sources[inst->i_family], sources_hex);
    ks_hex128(ks_build_toolchain(b, i)->id, tool_hex);
    ks_buf_printf(&text, "unit 2\nsources %s\ntoolchain %s\n", sources_hex, tool_hex);
    if (gpu->target != KS_GPU_NONE) {
        ks_hex128(gpu->id, tool_hex);
        ks_buf_printf(&text, "device %s %s\n", tool_hex, b->grid->job.device.arch_text);
    }
    ks_buf_printf(&text, "flags ");
    ks_build_flags(b, i, &text);
    if (f->link_flags[0]) /* units without them keep the identity they had */
        ks_buf_printf(&text, "\nlink %s", f->link_flags);
    ks_buf_printf(&text, "\nname %s\n", inst->name);
    ks_instance_canonical(f, inst, &text);
    ks_buf_printf(&text, "\n");
    ks_unit_macros(f, inst, &text);
    const bool ok = ks_buf_ok(&text);
    if (ok)
        a->build_id = ks_id128(text.data, text.len);
    ks_buf_release(&text);
    return ok ? 0
              : ks_fail(err, KS_ENOMEM, "out of memory computing the identity of '%s'", inst->name);
}

static int identify_all(struct ks_build *b, struct ks_err *err)
{
    const struct ks_grid *g = b->grid;
    int rc = 0;
    for (uint32_t i = 0; i < ks_grid_n_built(g) && rc == 0; i++) {
        const uint32_t f = g->instances[i].i_family;
        if (b->tools.of[i] == KS_NO_TOOL || b->artefacts[i].state == KS_ART_UNSUPPORTED)
            continue;
        if (ks_id128_is_zero(b->sources[f]))
            rc = ks_unit_sources(&g->families[f], ks_build_toolchain(b, i)->abi_path,
                                 ks_build_gpu_chain(b, i)->target != KS_GPU_NONE, &b->sources[f],
                                 err);
        if (rc == 0)
            rc = identify(b, i, err);
    }
    return rc;
}

/* The cache
 * ---------------------------------------------------------------------------------------- */

static bool still_holds(const struct ks_build *b, const struct ks_manifest *m,
                        const struct ks_manifest_row *row)
{
    if (row->holds == KS_HOLDS_LIMITS)
        return m->timeout_s >= b->timeout_s && m->memory_mib >= b->memory_mib &&
               m->file_mib >= b->file_mib;
    return row->holds == KS_HOLDS_ALWAYS || m->created_ns >= b->created_ns;
}

/* What the manifest says of an instance becomes its artefact. */
static int take_row(struct ks_build *b, uint32_t i, const struct ks_manifest *m, bool is_cached,
                    struct ks_err *err)
{
    struct ks_artefact *a = &b->artefacts[i];
    const struct ks_manifest_row *row = ks_manifest_find(m, a->build_id);
    const bool is_ready = row && row->state == KS_ART_READY;
    if (!row || (is_ready && m->object_bytes == 0) || (!is_ready && !still_holds(b, m, row)))
        return 0;
    struct ks_artefact got = *a;
    if (is_ready) {
        int rc = ks_cache_object(&b->cache, m->unit, got.path, sizeof(got.path), err);
        if (rc < 0)
            return rc;
        memcpy(got.digest, m->digest, sizeof(got.digest));
        got.code_id = row->code_id;
        got.code_bytes = row->code_bytes;
        got.code = row->code;
        got.object_bytes = m->object_bytes;
    }
    got.state = row->state;
    got.compile_ns = m->compile_ns / m->n_rows;
    got.is_cached = is_cached;
    snprintf(got.reason, sizeof(got.reason), "%s", row->reason);
    *a = got;
    return 0;
}

/* Fill in the missing artefacts among `list`; each unit of the cache is read once. */
static int look_up(struct ks_build *b, const uint32_t *list, uint32_t n, bool is_cached,
                   struct ks_err *err)
{
    struct ks_manifest m = { .rows = NULL };
    struct ks_id128 unit, last = { 0, 0 };
    int rc = 0;
    for (uint32_t k = 0; k < n && rc == 0; k++) {
        const uint32_t i = list[k];
        if (b->artefacts[i].state != KS_ART_MISSING ||
            ks_cache_find(&b->cache, b->artefacts[i].build_id, &unit) < 0)
            continue;
        if (!ks_id128_eq(unit, last)) {
            struct ks_err why;
            ks_manifest_release(&m);
            last = unit;
            rc = ks_manifest_read(&b->cache, unit, &m, &why);
            if (rc == KS_ENOENT || rc == KS_EFORMAT)
                rc = 0; /* damaged: built again; m is empty */
            else if (rc < 0)
                rc = ks_fail(err, why.code, "%s", why.text);
        }
        if (rc == 0 && m.n_rows)
            rc = take_row(b, i, &m, is_cached, err);
    }
    ks_manifest_release(&m);
    return rc;
}

/* The plan
 * ---------------------------------------------------------------------------------------- */

static int allocate(struct ks_build *b, struct ks_err *err)
{
    const size_t n = ks_grid_n_built(b->grid) + 1u;
    b->artefacts = calloc(n, sizeof(*b->artefacts));
    b->order = calloc(n, sizeof(*b->order));
    b->units = calloc(n, sizeof(*b->units));
    b->finished = calloc(n, sizeof(*b->finished));
    b->items = calloc(n, sizeof(*b->items));
    b->sources = calloc(b->grid->n_families + 1u, sizeof(*b->sources));
    if (!b->artefacts || !b->sources || !b->order || !b->units || !b->finished || !b->items)
        return ks_fail(err, KS_ENOMEM, "out of memory for a build plan of %u instances",
                       ks_grid_n_built(b->grid));
    return 0;
}

/* What can be said of the instances without looking at the cache. */
static void check_instances(struct ks_build *b)
{
    for (uint32_t i = 0; i < ks_grid_n_built(b->grid); i++) {
        const struct ks_instance *inst = &b->grid->instances[i];
        const struct ks_family *f = &b->grid->families[inst->i_family];
        struct ks_artefact *a = &b->artefacts[i];
        const struct ks_tool *t =
            b->tools.of && b->tools.of[i] != KS_NO_TOOL ? &b->tools.tools[b->tools.of[i]] : NULL;
        a->compiler = t ? ks_build_version(b, i) : "";
        snprintf(a->entry, sizeof(a->entry), "%s", inst->name);
        ks_code_object_init(&a->code);
        snprintf(a->reason, sizeof(a->reason), "%s", inst->missing);
        if (!inst->missing[0] && t)
            snprintf(a->reason, sizeof(a->reason), "%s", t->missing);
        if (!inst->missing[0] && is_compiled(b) &&
            !ks_family_serves(f, ks_job_backend(&b->grid->job)))
            snprintf(a->reason, sizeof(a->reason), "family %s is for backend %s", f->name,
                     f->backend);
        if (!inst->missing[0] && !f->source[0] && !ks_grid_plugin(b->grid, i)[0] && is_compiled(b))
            snprintf(a->reason, sizeof(a->reason),
                     "family %s has no kernel of its own: name a plug-in that has it", f->name);
        if (!a->reason[0] && !ks_grid_is_used(b->grid, i))
            snprintf(a->reason, sizeof(a->reason), "no problem of the job matches the instance");
        if (a->reason[0])
            a->state = KS_ART_UNSUPPORTED;
        else if (!is_compiled(b))
            a->state = KS_ART_READY;
    }
}

/* Compilers of what the cache does not have, and whether it can take it. */
static int try_what_is_missing(struct ks_build *b, struct ks_err *err)
{
    int rc = ks_build_n_missing(b) ? ks_cache_is_writable(&b->cache, err) : 0;
    for (uint32_t i = 0; i < ks_grid_n_built(b->grid) && rc == 0; i++) {
        struct ks_artefact *a = &b->artefacts[i];
        struct ks_tool *t = a->state == KS_ART_MISSING ? &b->tools.tools[b->tools.of[i]] : NULL;
        if (!t)
            continue;
        rc = ks_trial(t, b->warden, err);
        if (rc == 0 && t->missing[0]) {
            a->state = KS_ART_UNSUPPORTED;
            snprintf(a->reason, sizeof(a->reason), "%s", t->missing);
        }
    }
    return rc;
}

/* Without any nothing is built, and a new cache would stay empty. */
static bool has_compiler(const struct ks_toolset *s)
{
    for (uint32_t i = 0; i < s->n_tools; i++)
        if (!s->tools[i].missing[0])
            return true;
    return false;
}

static int make_plan(struct ks_build *b, const struct ks_build_options *opt, struct ks_err *err)
{
    char place[600];
    bool is_new = false;
    int rc = allocate(b, err);
    if (rc == 0 && is_compiled(b)) {
        rc = ks_cache_place(opt->cache_dir, place, sizeof(place), err);
        if (rc == 0)
            rc = ks_path_join(place, sizeof(place), place, "host", err);
        is_new = rc == 0 && !ks_path_exists(place);
        if (rc == 0)
            rc = ks_toolset_find(b->grid, opt->compiler, b->warden, &b->tools, err);
        /* Before the cache is made; what is in one decides which compilers are needed. */
        if (rc == 0 && opt->try_compilers && is_new)
            rc = ks_trial_all(&b->tools, b->warden, err);
        if (rc == 0 && (!is_new || !opt->try_compilers || has_compiler(&b->tools)))
            rc = ks_cache_open(opt->cache_dir, opt->trust_cache, &b->cache, err);
    }
    if (rc < 0)
        return rc;
    check_instances(b);
    if (!is_compiled(b))
        return 0;
    rc = ks_plugins_take(b->grid, b->artefacts, err);
    if (rc == 0)
        rc = identify_all(b, err);
    if (rc == 0)
        rc = ks_units_cut(b, b->unit_size, opt->n_parallel, err);
    if (rc < 0 || !b->n_units)
        return rc;
    const struct ks_unit *last = &b->units[b->n_units - 1];
    rc = look_up(b, b->order, last->first + last->n, true, err);
    return rc < 0 || is_new || !opt->try_compilers ? rc : try_what_is_missing(b, err);
}

int ks_build_create(const struct ks_grid *grid, const struct ks_build_options *opt,
                    struct ks_warden *warden, struct ks_build **b_out, struct ks_err *err)
{
    static const struct ks_build_options defaults = { .unit_size = 0 };
    if (!opt)
        opt = &defaults;
    struct ks_build *b = calloc(1, sizeof(*b));
    if (!b)
        return ks_fail(err, KS_ENOMEM, "out of memory for a build plan");
    b->grid = grid;
    b->warden = warden;
    b->timeout_s = opt->timeout_s ? opt->timeout_s : TIMEOUT_S;
    b->memory_mib = opt->memory_mib ? opt->memory_mib : MEMORY_MIB;
    b->file_mib = ks_limits_file_mib(opt->file_mib ? opt->file_mib : FILE_MIB);
    b->unit_size = opt->unit_size;
    b->created_ns = ks_realtime_ns();
    int rc = opt->worker ? ks_path_join(b->worker, sizeof(b->worker), "", opt->worker, err) : 0;
    if (rc == 0)
        rc = make_plan(b, opt, err);
    if (rc < 0) {
        ks_build_destroy(b);
        return rc;
    }
    *b_out = b;
    return 0;
}

void ks_build_destroy(struct ks_build *b)
{
    if (!b)
        return;
    for (uint32_t i = 0; i < b->n_compiles; i++)
        ks_compile_release(&b->compiles[i]);
    for (uint32_t i = 0; i < b->n_units; i++)
        if (b->units[i].claim.generation)
            ks_claim_release(b->cache.dir, &b->units[i].claim);
    ks_cache_close(&b->cache);
    ks_builder_watch_release(&b->watch);
    ks_toolset_release(&b->tools);
    free(b->compiles);
    free(b->artefacts);
    free(b->sources);
    free(b->order);
    free(b->items);
    free(b->units);
    free(b->finished);
    free(b);
}

/* Questions
 * ---------------------------------------------------------------------------------------- */

uint32_t ks_build_n_units(const struct ks_build *b)
{
    return b->n_units;
}

bool ks_build_unit_is_missing(const struct ks_build *b, uint32_t i_unit)
{
    const struct ks_unit *u = &b->units[i_unit];
    for (uint32_t i = 0; i < u->n; i++)
        if (b->artefacts[b->order[u->first + i]].state == KS_ART_MISSING)
            return true;
    return false;
}

uint32_t ks_build_n_missing(const struct ks_build *b)
{
    uint32_t n = 0;
    for (uint32_t i = 0; i < b->n_units; i++)
        n += ks_build_unit_is_missing(b, i);
    return n;
}

const struct ks_artefact *ks_build_artefact(const struct ks_build *b, uint32_t i_instance)
{
    return &b->artefacts[i_instance];
}

uint32_t ks_build_unit(const struct ks_build *b, uint32_t i_unit, const uint32_t **instances_out)
{
    *instances_out = b->order + b->units[i_unit].first;
    return b->units[i_unit].n;
}

struct ks_id128 ks_build_target(const struct ks_build *b)
{
    struct ks_sha256 h;
    if (!b->n_units)
        return (struct ks_id128){ 0, 0 };
    ks_sha256_init(&h);
    for (uint32_t i = 0; i < ks_grid_n_built(b->grid); i++) {
        char hex[33];
        ks_hex128(b->artefacts[i].build_id, hex);
        ks_sha256_add(&h, hex, sizeof(hex));
    }
    return ks_sha256_id128(&h);
}

struct ks_id128 ks_build_cache(const struct ks_build *b)
{
    return b->n_units ? b->cache.id : (struct ks_id128){ 0, 0 };
}

int ks_build_cut(struct ks_build *b, uint32_t n_parallel, struct ks_err *err)
{
    if (ks_build_n_running(b) || b->n_finished || b->n_started || !b->n_units)
        return 0;
    b->n_units = 0;
    return ks_units_cut(b, b->unit_size, n_parallel, err);
}

const char *ks_build_compiler(const struct ks_build *b)
{
    return b->tools.compilers;
}

const char *ks_build_obstacle(const struct ks_build *b)
{
    const char *why = NULL;
    for (uint32_t i = 0; i < b->grid->n_instances; i++) {
        if (b->artefacts[i].state != KS_ART_UNSUPPORTED)
            return NULL;
        if (!why && b->tools.of[i] != KS_NO_TOOL) /* the rest would compile */
            why = b->artefacts[i].reason;
    }
    return why;
}

int64_t ks_build_lacking(const struct ks_build *b, uint32_t k, const char **why_out)
{
    if (k >= b->tools.n_tools)
        return -1;
    const char *why = b->tools.tools[k].missing;
    int64_t n = 0;
    for (uint32_t i = 0; i < k; i++)
        if (strcmp(b->tools.tools[i].missing, why) == 0)
            return 0; /* said of that one: what a GPU's compiler lacks, all of its job do */
    for (uint32_t i = 0; why[0] && i < b->grid->n_instances; i++)
        n += b->tools.of[i] != KS_NO_TOOL && b->artefacts[i].state == KS_ART_UNSUPPORTED &&
             strcmp(b->artefacts[i].reason, why) == 0;
    *why_out = why;
    return n;
}

int ks_build_refresh(struct ks_build *b, uint32_t i_unit, struct ks_err *err)
{
    const struct ks_unit *u = &b->units[i_unit];
    return look_up(b, b->order + u->first, u->n, false, err);
}
