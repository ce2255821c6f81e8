/* SPDX-License-Identifier: MIT */
/* plain_read.c - reads plain grid files, which hosts without JSON measure (docs/grid-file.md) */
#include "grid/plain.h"

#include "base/file.h"
#include "base/lines.h"
#include "grid/domain_parts.h"
#include "grid/family_store.h"
#include "grid/find.h"
#include "grid/grid_impl.h"
#include "grid/helpers.h"
#include "grid/missing.h"
#include "grid/plain_impl.h"
#include "grid/words.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

const char *const ks_plain_kinds[] = { "int", "name", "bool", NULL };

enum { MOST_FAMILIES = 64, MOST_ITEMS = 1 << 28 };

/* Such machines have no coordinator, which is what visits need. */
bool ks_plain_has_section(const struct ks_job_section *s)
{
    return strcmp(s->name, "device") != 0 && strcmp(s->name, "rounds") != 0;
}

void ks_plain_key(const struct ks_job_section *s, const struct ks_opt *o, char *out, size_t cap)
{
    snprintf(out, cap, "%s%s%s.%s", s->parent ? s->parent : "", s->parent ? "." : "", s->name,
             o->name);
}

/* ---- what all lines need ---- */

struct reader {
    struct ks_lines l;
    struct ks_grid *g;
    struct ks_kernel_set set; /* of the device */
    struct ks_buf cpu_flags;
    uint32_t cap_families, cap_instances;
    uint64_t condition, digest; /* as the file has them */
    const char *backend, *arch; /* NULL: the file's */
    struct ks_err *err;
};

/* The failure of somebody else at this line. */
static void note(struct reader *r, int rc)
{
    if (rc == 0 || r->l.rc < 0)
        return;
    r->l.rc = ks_err_context(r->err, rc, "%s:%u", r->l.name, r->l.line);
    r->l.key = NULL;
}

static bool is_word(const char *text, const char *allowed)
{
    return text[0] && !text[strspn(text, allowed)];
}

/* A word of the line that is made of these characters. */
static void take_word(struct reader *r, size_t i, const char *allowed, char *out, size_t cap)
{
    ks_lines_copy(&r->l, i, out, cap);
    if (r->l.rc == 0 && !is_word(out, allowed))
        ks_lines_fail(&r->l, "'%.40s' is not a word", out);
}

/* The same, or nothing. */
static void take_word_or_none(struct reader *r, size_t i, const char *allowed, char *out,
                              size_t cap)
{
    ks_lines_copy(&r->l, i, out, cap);
    if (r->l.rc == 0 && out[0] && !is_word(out, allowed))
        ks_lines_fail(&r->l, "'%.40s' is not a word", out);
}

/* The index of a word of the line among names; 0 after a failure. */
static int take_choice(struct reader *r, size_t i, const char *const *names)
{
    const char *text = ks_lines_text(&r->l, i);
    int k = 0;

    while (r->l.rc == 0 && names[k] && strcmp(names[k], text) != 0)
        k++;
    if (r->l.rc == 0 && names[k])
        return k;
    ks_lines_fail(&r->l, "unknown value '%.40s'", text);
    return 0;
}

/* Room for one more of n; NULL: failed. A family is large, and most grids have one or two. */
static void *grown(struct reader *r, void *list, uint32_t n, uint32_t *cap, size_t size)
{
    uint32_t more = *cap ? 2 * *cap : 1;
    void *at;

    if (r->l.rc < 0 || n < *cap)
        return r->l.rc < 0 ? NULL : list;
    at = more <= MOST_ITEMS ? realloc(list, more * size) : NULL;
    if (!at) {
        note(r, ks_fail(r->err, KS_ENOMEM, "no memory for a grid"));
        return NULL;
    }
    *cap = more;
    return at;
}

/* ---- job ---- */

static void read_device(struct reader *r)
{
    struct ks_job *job = &r->g->job;
    const char *backend, *arch;
    int rc = 0;

    if (!ks_lines_expect(&r->l, "device", 2))
        return;
    backend = ks_lines_text(&r->l, 0);
    arch = ks_lines_text(&r->l, 1);
    job->device.arch = job->device.arch_text;
    rc = ks_job_choose(job, backend, arch, r->err);
    if (rc == 0)
        rc = ks_job_choose(job, r->backend, r->arch, r->err);
    if (rc == 0 && ks_job_is(job, KS_BACKEND_COMPILES)) {
        rc = ks_grid_check_arch(job, r->err);
        if (rc == 0)
            rc = ks_kernel_set_arch(&r->set, job->device.arch_text, &r->cpu_flags, r->err);
    }
    note(r, rc);
    ks_lines_next(&r->l);
}

static void set_key(struct reader *r, const char *key, const char *value)
{
    for (int i = 0; i < KS_JOB_N_SECTIONS; i++) {
        const struct ks_job_section *s = &ks_job_sections[i];

        for (const struct ks_opt *o = s->opts; ks_plain_has_section(s) && o->name; o++) {
            char name[96];

            ks_plain_key(s, o, name, sizeof name);
            if (strcmp(name, key) != 0)
                continue;
            note(r, ks_opt_set(o, (char *)&r->g->job + s->offset, o->name, value, r->err));
            return;
        }
    }
    ks_lines_fail(&r->l, "unknown setting '%.60s'", key);
}

/* Settings that the file lacks are younger than it: they have their defaults. */
static void read_settings(struct reader *r)
{
    for (int i = 0; i < KS_JOB_N_SECTIONS; i++)
        if (strcmp(ks_job_sections[i].name, "device") != 0)
            note(r, ks_opt_defaults(ks_job_sections[i].opts,
                                    (char *)&r->g->job + ks_job_sections[i].offset, r->err));
    for (; ks_lines_is(&r->l, "set"); ks_lines_next(&r->l))
        if (ks_lines_expect(&r->l, "set", 2))
            set_key(r, ks_lines_text(&r->l, 0), ks_lines_text(&r->l, 1));
}

static void read_head(struct reader *r)
{
    struct ks_job *job = &r->g->job;
    const char *condition;

    snprintf(job->path, sizeof job->path, "%s", r->l.name);
    if (ks_lines_expect(&r->l, "job", 3)) {
        ks_lines_copy(&r->l, 0, job->name, sizeof job->name);
        ks_lines_copy(&r->l, 1, job->op, sizeof job->op);
        ks_lines_copy(&r->l, 2, job->why, sizeof job->why);
    }
    ks_lines_next(&r->l);
    read_device(r);
    read_settings(r);
    if (ks_lines_expect(&r->l, "condition", 1)) {
        condition = ks_lines_text(&r->l, 0);
        r->condition = ks_id64(condition, strlen(condition));
    }
    ks_lines_next(&r->l);
    if (ks_lines_expect(&r->l, "digest", 1))
        r->digest = ks_lines_id(&r->l, 0);
    ks_lines_next(&r->l);
}

/* ---- families ---- */

static void read_source(struct reader *r, size_t i, struct ks_family *f)
{
    const char *name = ks_lines_text(&r->l, i);
    char dir[sizeof f->source] = "", path[sizeof f->source];
    int rc = 0;

    if (!name[0])
        return;
    if (name[0] != '/')
        rc = ks_data_path(dir, sizeof dir, "kernels", r->err);
    if (rc == 0)
        rc = ks_path_join(path, sizeof path, dir, name, r->err);
    if (rc == 0 && !ks_path_exists(path))
        rc = ks_fail(r->err, KS_ENOENT, "no kernel source '%s'", path);
    if (rc == 0)
        rc = ks_find_absolute(path, f->source, sizeof f->source, r->err);
    note(r, rc);
}

/* Names that are separated by one blank each. */
static void take_names(struct reader *r, size_t i, char *out, size_t cap)
{
    ks_lines_copy(&r->l, i, out, cap);
    if (out[0] == ' ' || strstr(out, "  ") || (out[0] && out[strlen(out) - 1] == ' '))
        ks_lines_fail(&r->l, "'%.40s' is not a list of names separated by single blanks", out);
}

static void add_flags(struct reader *r, struct ks_family *f, struct ks_trait *t, const char *text,
                      size_t *used)
{
    size_t n = strlen(text) + 1;

    if (n == 1) /* the first one is "" */
        return;
    if (*used + n > sizeof f->flags) {
        ks_lines_fail(&r->l, "all flags together exceed %zu characters", sizeof f->flags);
        return;
    }
    memcpy(f->flags + *used, text, n);
    t->flags_at[t->n_values] = (uint16_t)*used;
    *used += n;
    f->n_flags++;
}

/* The number that a value stands for. */
static int64_t take_value(struct reader *r, enum ks_trait_role role)
{
    switch (role) {
    case KS_ROLE_NUMERICS:
        return ks_lines_int(&r->l, 1, 0, KS_N_NUMERICS - 1);
    case KS_ROLE_THREADS:
        return ks_lines_int(&r->l, 1, 1, KS_THREADS_MAX);
    default:
        return ks_lines_int(&r->l, 1, INT64_MIN, INT64_MAX);
    }
}

static void read_value(struct reader *r, struct ks_family *f, struct ks_trait *t, size_t *used)
{
    const uint32_t v = t->n_values;

    if (!ks_lines_expect(&r->l, "value", t->role == KS_ROLE_FLAGS ? 3 : 2))
        return;
    if (v == KS_TRAIT_VALUES_MAX) {
        ks_lines_fail(&r->l, "more than %d values", KS_TRAIT_VALUES_MAX);
        return;
    }
    ks_lines_copy(&r->l, 0, t->text[v], sizeof t->text[v]);
    t->value[v] = take_value(r, t->role);
    if (t->role == KS_ROLE_FLAGS)
        add_flags(r, f, t, ks_lines_text(&r->l, 2), used);
    t->n_values++;
}

static void read_trait(struct reader *r, struct ks_family *f, size_t *used)
{
    struct ks_trait *t = &f->traits[f->n_traits];
    int kind;

    if (f->n_traits == KS_TRAITS_MAX)
        ks_lines_fail(&r->l, "more than %d traits", KS_TRAITS_MAX);
    if (!ks_lines_expect(&r->l, "trait", 6))
        return;
    take_word(r, 0, KS_ANY_WORD, t->name, sizeof t->name);
    kind = take_choice(r, 1, ks_plain_kinds);
    t->is_bool = kind == KS_PLAIN_BOOL;
    t->kind = kind == KS_TRAIT_NAME ? KS_TRAIT_NAME : KS_TRAIT_INT;
    t->role = (enum ks_trait_role)take_choice(r, 2, ks_trait_role_names);
    take_word_or_none(r, 3, KS_ANY_WORD, t->macro, sizeof t->macro);
    take_word_or_none(r, 4, KS_ANY_WORD "{}", t->suffix, sizeof t->suffix);
    t->i_default = (uint32_t)ks_lines_int(&r->l, 5, 0, KS_TRAIT_VALUES_MAX - 1);
    f->n_traits++;
    for (ks_lines_next(&r->l); ks_lines_is(&r->l, "value"); ks_lines_next(&r->l))
        read_value(r, f, t, used);
    if (t->i_default >= t->n_values)
        ks_lines_fail(&r->l, "trait '%s' has no value %" PRIu32, t->name, t->i_default);
}

/* The number of a fixed part; of a trait its place, in domain_trait. */
static uint32_t take_part(struct reader *r, struct ks_family *f, int k)
{
    const struct ks_domain_part *part = &ks_domain_parts[k];
    const char *text = ks_lines_text(&r->l, (size_t)k);
    int t = ks_family_trait(f, part->name), v;

    if (strcmp(text, "-") == 0 && t >= 0) {
        f->domain_trait[k] = (uint8_t)(t + 1);
        return 0;
    }
    if (!part->from)
        return (uint32_t)ks_lines_int(&r->l, (size_t)k, 0, part->n - 1);
    v = part->from(text);
    if (v < 0)
        ks_lines_fail(&r->l, "unknown %s '%.40s'", part->name, text);
    return v < 0 ? 0 : (uint32_t)v;
}

static void read_domain(struct reader *r, struct ks_family *f)
{
    uint32_t *const fixed[KS_N_DOMAIN_PARTS] = { &f->direction, &f->dtype, &f->layout, &f->ndim };

    if (ks_lines_expect(&r->l, "domain", KS_N_DOMAIN_PARTS))
        for (int k = 0; k < KS_N_DOMAIN_PARTS; k++)
            *fixed[k] = take_part(r, f, k);
    ks_lines_next(&r->l);
}

static void read_lacks(struct reader *r, struct ks_family *f)
{
    for (; ks_lines_is(&r->l, "need"); ks_lines_next(&r->l)) {
        if (f->n_needs == KS_NEEDS_MAX)
            ks_lines_fail(&r->l, "more than %d needs", KS_NEEDS_MAX);
        else if (ks_lines_expect(&r->l, "need", 1))
            take_word(r, 0, KS_WORD, f->needs[f->n_needs].needs, sizeof f->needs[0].needs);
        f->n_needs += r->l.rc == 0;
    }
    for (; ks_lines_is(&r->l, "lack"); ks_lines_next(&r->l)) {
        struct ks_inability *a = &f->inabilities[f->n_inabilities];

        if (f->n_inabilities == KS_NEEDS_MAX)
            ks_lines_fail(&r->l, "more than %d 'lack' lines", KS_NEEDS_MAX);
        if (ks_lines_expect(&r->l, "lack", 2)) {
            take_names(r, 0, a->arch, sizeof a->arch);
            ks_lines_copy(&r->l, 1, a->why, sizeof a->why);
        }
        f->n_inabilities += r->l.rc == 0;
    }
}

/* A line of one text. */
static void read_text(struct reader *r, const char *key, char *out, size_t cap)
{
    if (ks_lines_expect(&r->l, key, 1))
        ks_lines_copy(&r->l, 0, out, cap);
    ks_lines_next(&r->l);
}

static void fill_family(struct reader *r, struct ks_family *f)
{
    size_t used = 1;

    f->n_flags = 1;
    if (ks_lines_expect(&r->l, "family", 4)) {
        take_word(r, 0, KS_ANY_WORD, f->name, sizeof f->name);
        ks_lines_copy(&r->l, 1, f->op, sizeof f->op);
        if (r->l.rc == 0)
            note(r, ks_operator_find(f->op, &f->i_op, r->err));
        snprintf(f->backend, sizeof f->backend, "%s",
                 ks_family_backends[take_choice(r, 2, ks_family_backends)]);
        read_source(r, 3, f);
    }
    ks_lines_next(&r->l);
    read_text(r, "flags", f->extra_flags, sizeof f->extra_flags);
    if (ks_lines_is(&r->l, "link_flags"))
        read_text(r, "link_flags", f->link_flags, sizeof f->link_flags);
    if (ks_lines_expect(&r->l, "archs", 1))
        take_names(r, 0, f->archs, sizeof f->archs);
    ks_lines_next(&r->l);
    if (ks_lines_expect(&r->l, "pattern", 1))
        take_word(r, 0, KS_ANY_WORD "{}", f->name_pattern, sizeof f->name_pattern);
    ks_lines_next(&r->l);
    while (ks_lines_is(&r->l, "trait"))
        read_trait(r, f, &used);
    read_domain(r, f);
    read_lacks(r, f);
}

static void read_family(struct reader *r)
{
    struct ks_grid *g = r->g;
    struct ks_family *all =
        grown(r, g->families, g->n_families, &r->cap_families, sizeof *g->families);
    struct ks_family *f;
    int rc;

    if (!all)
        return;
    g->families = all;
    if (g->n_families == MOST_FAMILIES) {
        ks_lines_fail(&r->l, "more than %d families", MOST_FAMILIES);
        return;
    }
    f = &all[g->n_families];
    memset(f, 0, sizeof *f);
    rc = ks_family_begin(f, r->err);
    g->n_families += rc == 0;
    if (rc == 0)
        fill_family(r, f);
    if (rc == 0 && r->l.rc == 0)
        rc = ks_family_fit(f, r->err);
    note(r, rc);
}

/* ---- instances ---- */

/* ks_concern_fn: the bits of the instance's line. */
static int is_concerned(const void *bits, const struct ks_family *f, const struct ks_instance *i,
                        uint32_t row, bool *out, struct ks_err *err)
{
    (void)f;
    (void)i;
    (void)err;
    *out = *(const uint64_t *)bits >> row & 1;
    return 0;
}

/* Hexadecimal, without leading zeros. */
static uint64_t take_bits(struct reader *r, size_t i)
{
    const char *text = ks_lines_text(&r->l, i);
    size_t n = strlen(text);
    char hex[17] = "0000000000000000";
    uint64_t bits = 0;

    if (n <= 16)
        memcpy(hex + 16 - n, text, n);
    if (n == 0 || n > 16 || !ks_unhex64(hex, &bits))
        ks_lines_fail(&r->l, "'%.40s' is not a hexadecimal number", text);
    return bits;
}

static void fill_instance(struct reader *r, struct ks_instance *i, uint64_t id, uint64_t bits)
{
    const struct ks_family *f = &r->g->families[i->i_family];
    int rc = 0;

    for (uint32_t t = 0; t < f->n_traits; t++)
        i->value[t] = (uint8_t)ks_lines_int(&r->l, 3 + t, 0, f->traits[t].n_values - 1);
    if (r->l.rc == 0)
        rc = ks_instance_finish(f, i, r->err);
    if (rc == 0 && r->l.rc == 0)
        rc = ks_missing_find(&r->set, f, is_concerned, &bits, i, r->err);
    note(r, rc);
    if (r->l.rc == 0 && i->id != id)
        ks_lines_fail(&r->l,
                      "instance '%s' has another id here: the file was written for other "
                      "kernels (ABI); export it again",
                      i->name);
}

static void read_instance(struct reader *r, const char *key)
{
    struct ks_grid *g = r->g;
    uint32_t n = g->n_instances + g->n_helpers;
    struct ks_instance *all = grown(r, g->instances, n, &r->cap_instances, sizeof *g->instances);
    uint32_t i_family = (uint32_t)ks_lines_int(&r->l, 1, 0, (int64_t)g->n_families - 1);

    if (!all)
        return;
    g->instances = all;
    if (r->l.rc == 0 && ks_lines_expect(&r->l, key, 3 + g->families[i_family].n_traits)) {
        all[n] = (struct ks_instance){ .i_family = i_family, .i_kernels = KS_NO_KERNELS };
        fill_instance(r, &all[n], ks_lines_id(&r->l, 0), take_bits(r, 2));
    }
    ks_lines_next(&r->l);
}

static void read_instances(struct reader *r)
{
    for (; ks_lines_is(&r->l, "instance"); r->g->n_instances += r->l.rc == 0)
        read_instance(r, "instance");
    for (; ks_lines_is(&r->l, "helper"); r->g->n_helpers += r->l.rc == 0)
        read_instance(r, "helper");
    if (r->g->n_instances == 0)
        ks_lines_fail(&r->l, "expected an instance before this line");
}

/* ---- problems ---- */

static void read_problem(struct reader *r)
{
    struct ks_problem p;
    int64_t count = ks_lines_int(&r->l, 0, 1, INT64_MAX);
    struct ks_buf text;

    ks_buf_init(&text);
    for (size_t i = 2; i < r->l.n_words; i++)
        ks_buf_printf(&text, "%s%s", i > 2 ? " " : "", ks_lines_text(&r->l, i));
    if (r->l.rc == 0)
        note(r, ks_buf_ok(&text) ? ks_problem_parse(ks_buf_text(&text), &p, r->err)
                                 : ks_fail(r->err, KS_ENOMEM, "no memory for a problem"));
    ks_buf_release(&text);
    if (r->l.rc == 0) {
        p.count = count;
        ks_lines_copy(&r->l, 1, p.name, sizeof p.name);
    }
    if (r->l.rc == 0)
        note(r, ks_problem_table_add(&r->g->problems, &p, r->err));
    r->g->n_problems += r->l.rc == 0;
    ks_lines_next(&r->l);
}

/* ---- the whole ---- */

static int check_distinct(struct reader *r)
{
    const struct ks_grid *g = r->g;

    for (uint32_t i = 1; i < g->n_problems; i++)
        if (ks_problem_table_id(&g->problems, g->by_problem_id[i]) ==
            ks_problem_table_id(&g->problems, g->by_problem_id[i - 1]))
            return ks_fail(r->err, KS_EFORMAT, "%s: duplicate problem '%s'", r->l.name,
                           ks_problem_table_name(&g->problems, g->by_problem_id[i]));
    for (uint32_t i = 1; i < g->n_instances; i++)
        if (g->instances[g->by_instance_id[i]].id == g->instances[g->by_instance_id[i - 1]].id)
            return ks_fail(r->err, KS_EFORMAT, "%s: duplicate instance '%s'", r->l.name,
                           g->instances[g->by_instance_id[i]].name);
    return 0;
}

static int check_digest(struct reader *r)
{
    uint64_t digest = 0;
    char has[17], says[17];
    int rc = ks_grid_digest(r->g, r->condition, &digest, r->err);

    if (rc < 0 || digest == r->digest)
        return rc;
    ks_hex64(digest, has);
    ks_hex64(r->digest, says);
    return ks_fail(r->err, KS_EFORMAT,
                   "%s: its problems and instances have digest %s, not %s: export it again",
                   r->l.name, has, says);
}

static int read_all(struct reader *r)
{
    int rc;

    read_head(r);
    while (ks_lines_is(&r->l, "family") && r->l.rc == 0)
        read_family(r);
    read_instances(r);
    while (ks_lines_is(&r->l, "problem") && r->l.rc == 0)
        read_problem(r);
    if (r->g->n_problems == 0)
        ks_lines_fail(&r->l, "expected a problem before this line");
    if (r->l.key)
        ks_lines_fail(&r->l, "unexpected line '%.40s'", r->l.key);
    if (r->l.rc < 0)
        return r->l.rc;
    rc = ks_grid_index(r->g, r->err);
    if (rc == 0)
        rc = check_distinct(r);
    return rc < 0 ? rc : check_digest(r);
}

int ks_plain_read(const char *text, size_t n, const char *name, const char *backend,
                  const char *arch, struct ks_grid *grid_out, struct ks_err *err)
{
    struct reader r = { .backend = backend, .arch = arch, .err = err };
    int rc = ks_lines_open(&r.l, text, n, name, KS_PLAIN_KIND, KS_PLAIN_VERSION, err);

    ks_buf_init(&r.cpu_flags);
    if (rc == 0) {
        r.g = calloc(1, sizeof *r.g);
        rc = r.g ? read_all(&r) : ks_fail(err, KS_ENOMEM, "no memory for a grid");
    }
    ks_lines_close(&r.l);
    ks_buf_release(&r.cpu_flags);
    if (rc == 0) {
        *grid_out = *r.g;
        grid_out->job.device.arch = grid_out->job.device.arch_text;
    } else if (r.g) {
        ks_grid_release(r.g);
    }
    free(r.g);
    return rc;
}

int ks_plain_load(const char *path, const char *backend, const char *arch, struct ks_grid *grid_out,
                  struct ks_err *err)
{
    struct ks_buf text;
    int rc;

    ks_buf_init(&text);
    rc = ks_file_read(path, &text, err);
    if (rc == 0)
        rc = ks_plain_read(ks_buf_text(&text), text.len, path, backend, arch, grid_out, err);
    ks_buf_release(&text);
    return rc;
}
