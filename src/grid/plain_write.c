/* SPDX-License-Identifier: MIT */
/* plain_write.c - writes a grid as a plain file, for hosts without JSON (docs/grid-file.md) */
#include "grid/plain.h"

#include "base/file.h"
#include "base/lines.h"
#include "grid/domain_parts.h"
#include "grid/find.h"
#include "grid/inability.h"
#include "grid/plain_impl.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void put_settings(const struct ks_job *job, struct ks_buf *b)
{
    for (int i = 0; i < KS_JOB_N_SECTIONS; i++) {
        const struct ks_job_section *s = &ks_job_sections[i];

        for (const struct ks_opt *o = s->opts; ks_plain_has_section(s) && o->name; o++) {
            char key[96], value[128];

            ks_plain_key(s, o, key, sizeof key);
            ks_opt_print(o, (const char *)job + s->offset, value, sizeof value);
            ks_lines_key(b, "set");
            ks_lines_word(b, key);
            ks_lines_word(b, value);
            ks_lines_end_line(b);
        }
    }
}

static void put_head(const struct ks_grid *g, struct ks_buf *b)
{
    struct ks_buf condition;
    char hex[17];

    ks_buf_init(&condition);
    ks_condition_canonical(&g->job, &condition);
    b->failed |= !ks_buf_ok(&condition);
    ks_lines_key(b, "job");
    ks_lines_word(b, g->job.name);
    ks_lines_word(b, g->job.op);
    ks_lines_word(b, g->job.why);
    ks_lines_end_line(b);
    ks_lines_key(b, "device");
    ks_lines_word(b, ks_job_backend(&g->job)->name);
    ks_lines_word(b, g->job.device.arch_text);
    ks_lines_end_line(b);
    put_settings(&g->job, b);
    ks_lines_put(b, "condition", ks_buf_text(&condition));
    ks_hex64(g->digest, hex);
    ks_lines_put(b, "digest", hex);
    ks_buf_release(&condition);
}

/* ---- families ---- */

/* What follows `dir` in a path below it, with its slash; NULL: elsewhere. */
static const char *below(const char *path, const char *dir)
{
    size_t n = strlen(dir);

    return strncmp(path, dir, n) == 0 && path[n] == '/' ? path + n : NULL;
}

/* Relative to the installed kernels/ where it lies below the folder that holds them. */
static void put_source(const char *source, struct ks_buf *b)
{
    char dir[KS_PATH_MAX], kernels[KS_PATH_MAX], data[KS_PATH_MAX], relative[KS_PATH_MAX + 2];
    const char *rest;

    if (ks_data_path(dir, sizeof dir, "kernels", NULL) == 0 &&
        ks_find_absolute(dir, kernels, sizeof kernels, NULL) == 0) {
        ks_path_dir(data, sizeof data, kernels);
        if ((rest = below(source, kernels)) != NULL) {
            source = rest + 1;
        } else if ((rest = below(source, data)) != NULL) {
            snprintf(relative, sizeof relative, "..%s", rest);
            source = relative;
        }
    }
    ks_lines_word(b, source);
}

static void put_trait(const struct ks_family *f, const struct ks_trait *t, struct ks_buf *b)
{
    ks_lines_key(b, "trait");
    ks_lines_word(b, t->name);
    ks_lines_word(b, ks_plain_kinds[t->is_bool ? KS_PLAIN_BOOL : t->kind]);
    ks_lines_word(b, ks_trait_role_names[t->role]);
    ks_lines_word(b, t->macro);
    ks_lines_word(b, t->suffix);
    ks_lines_number(b, t->i_default);
    ks_lines_end_line(b);
    for (uint32_t v = 0; v < t->n_values; v++) {
        ks_lines_key(b, "value");
        ks_lines_word(b, t->text[v]);
        ks_lines_number(b, t->value[v]);
        if (t->role == KS_ROLE_FLAGS)
            ks_lines_word(b, f->flags + t->flags_at[v]);
        ks_lines_end_line(b);
    }
}

static void put_domain(const struct ks_family *f, struct ks_buf *b)
{
    const uint32_t fixed[KS_N_DOMAIN_PARTS] = { f->direction, f->dtype, f->layout, f->ndim };

    ks_lines_key(b, "domain");
    for (int k = 0; k < KS_N_DOMAIN_PARTS; k++)
        if (f->domain_trait[k])
            ks_lines_word(b, "-");
        else if (ks_domain_parts[k].name_of)
            ks_lines_word(b, ks_domain_parts[k].name_of(fixed[k]));
        else
            ks_lines_number(b, fixed[k]);
    ks_lines_end_line(b);
}

static void put_family(const struct ks_family *f, struct ks_buf *b)
{
    ks_lines_key(b, "family");
    ks_lines_word(b, f->name);
    ks_lines_word(b, f->op);
    ks_lines_word(b, f->backend);
    put_source(f->source, b);
    ks_lines_end_line(b);
    ks_lines_put(b, "flags", f->extra_flags);
    if (f->link_flags[0])
        ks_lines_put(b, "link_flags", f->link_flags);
    ks_lines_put(b, "archs", f->archs);
    ks_lines_put(b, "pattern", f->name_pattern);
    for (uint32_t t = 0; t < f->n_traits; t++)
        put_trait(f, &f->traits[t], b);
    put_domain(f, b);
    for (uint32_t i = 0; i < f->n_needs; i++)
        ks_lines_put(b, "need", f->needs[i].needs);
    for (uint32_t i = 0; i < f->n_inabilities; i++) {
        ks_lines_key(b, "lack");
        ks_lines_word(b, f->inabilities[i].arch);
        ks_lines_word(b, f->inabilities[i].why);
        ks_lines_end_line(b);
    }
}

/* A family of a T1 file computes no problem, so a grid without it measures the same. */
static int check_family(const struct ks_family *f, struct ks_err *err)
{
    if (f->i_op != UINT32_MAX)
        return 0;
    return ks_fail(err, KS_EUNSUPPORTED,
                   "family '%s' comes from a T1 file and has no operator, so it cannot be "
                   "exported: leave '%s' out of the job",
                   f->name, f->path);
}

/* ---- instances ---- */

/* Which rows of its family concern the instance, as bits. */
static int concerns_of(const struct ks_lacks *l, const struct ks_family *f,
                       const struct ks_instance *i, uint64_t *bits_out, struct ks_err *err)
{
    *bits_out = 0;
    for (uint32_t row = 0; row < ks_missing_n_rows(f); row++) {
        bool is_one = false;
        int rc = ks_lacks_concern(l, f, i, row, &is_one, err);

        if (rc < 0)
            return rc;
        *bits_out |= (uint64_t)is_one << row;
    }
    return 0;
}

static int put_instance(const struct ks_grid *g, const struct ks_lacks *lacks, uint32_t at,
                        struct ks_buf *b, struct ks_err *err)
{
    const struct ks_instance *i = &g->instances[at];
    const struct ks_family *f = &g->families[i->i_family];
    uint64_t bits;
    char hex[17];
    int rc = concerns_of(&lacks[i->i_family], f, i, &bits, err);

    if (rc < 0)
        return rc;
    if (f->is_program)
        return ks_fail(err, KS_EUNSUPPORTED,
                       "programs that time kernels themselves (%s) cannot be exported", f->name);
    if (ks_grid_plugin(g, at)[0])
        return ks_fail(err, KS_EUNSUPPORTED,
                       "kernels of the plug-in '%s' cannot be exported: only what is compiled from "
                       "its source can",
                       ks_grid_plugin(g, at));
    ks_hex64(i->id, hex);
    ks_lines_key(b, at < g->n_instances ? "instance" : "helper");
    ks_buf_printf(b, " %s %" PRIu32 " %" PRIx64, hex, i->i_family, bits);
    for (uint32_t t = 0; t < f->n_traits; t++)
        ks_lines_number(b, i->value[t]);
    ks_lines_end_line(b);
    return 0;
}

static int put_instances(const struct ks_grid *g, struct ks_buf *b, struct ks_err *err)
{
    struct ks_lacks *lacks = calloc(g->n_families + 1u, sizeof *lacks);
    int rc = lacks ? 0 : ks_fail(err, KS_ENOMEM, "no memory for a plain grid");

    for (uint32_t k = 0; rc == 0 && k < g->n_families; k++)
        rc = ks_lacks_init(&lacks[k], &g->families[k], err);
    for (uint32_t i = 0; rc == 0 && i < ks_grid_n_built(g); i++)
        rc = put_instance(g, lacks, i, b, err);
    for (uint32_t k = 0; lacks && k < g->n_families; k++)
        ks_lacks_release(&lacks[k]);
    free(lacks);
    return rc;
}

/* ---- problems ---- */

static void put_problem(const struct ks_problem_table *t, uint32_t i, struct ks_buf *b)
{
    const struct ks_problem p = ks_problem_table_get(t, i);

    ks_lines_key(b, "problem");
    ks_lines_number(b, p.count);
    ks_lines_word(b, p.name);
    ks_buf_u8(b, ' ');
    ks_problem_canonical(&p, b); /* its words are bare */
    ks_lines_end_line(b);
}

int ks_plain_write(const struct ks_grid *g, struct ks_buf *text_out, struct ks_err *err)
{
    int rc = 0;

    for (uint32_t i = 0; rc == 0 && i < g->n_families; i++)
        rc = check_family(&g->families[i], err);
    if (rc < 0)
        return rc;
    ks_lines_begin(text_out, KS_PLAIN_KIND, KS_PLAIN_VERSION);
    put_head(g, text_out);
    for (uint32_t i = 0; i < g->n_families; i++)
        put_family(&g->families[i], text_out);
    rc = put_instances(g, text_out, err);
    for (uint32_t i = 0; rc == 0 && i < g->n_problems; i++)
        put_problem(&g->problems, i, text_out);
    ks_lines_finish(text_out);
    if (rc == 0 && !ks_buf_ok(text_out))
        rc = ks_fail(err, KS_ENOMEM, "no memory for a plain grid");
    return rc;
}
