/* SPDX-License-Identifier: MIT */
/* job.c - reads job files: sections of options, kernels, problems, programs */
#include "grid/job.h"

#include "base/file.h"
#include "grid/fields.h"
#include "grid/find.h"
#include "grid/job_program.h"
#include "grid/job_section.h"
#include "op/op.h"
#include "json/json.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* What is being read. */
struct source {
    const struct ks_json *doc;
    char dir[KS_PATH_MAX]; /* where relative paths begin; "" = paths are taken as they stand */
    struct ks_err *err;
};

static int check_kind(const struct source *s, const struct ks_node *n, const struct ks_opt *o)
{
    enum ks_json_kind kind = ks_node_kind(n);
    bool is_number = kind == KS_JSON_INT || kind == KS_JSON_REAL;

    if (o->type == KS_OPT_BOOL)
        return kind == KS_JSON_BOOL ? 0 : ks_node_fail(s->doc, n, s->err, "expected true or false");
    if (o->type == KS_OPT_ENUM || o->type == KS_OPT_STR)
        return kind == KS_JSON_STRING ? 0 : ks_node_fail(s->doc, n, s->err, "expected a string");
    return is_number ? 0 : ks_node_fail(s->doc, n, s->err, "expected a number");
}

static const struct ks_opt *find_opt(const struct ks_opt *table, const char *key)
{
    while (table->name && strcmp(table->name, key) != 0)
        table++;
    return table->name ? table : NULL;
}

static int set_key(const struct source *s, const struct ks_opt *o, const struct ks_node *n,
                   void *cfg)
{
    char text[128], where[256];
    int rc = check_kind(s, n, o);

    if (rc == 0 && o->type == KS_OPT_STR)
        return ks_node_str(s->doc, n, (const char **)((char *)cfg + o->offset), s->err);
    if (rc == 0)
        rc = ks_node_text(s->doc, n, text, sizeof text, s->err);
    if (rc < 0)
        return rc;
    rc = ks_opt_set(o, cfg, o->name, text, s->err);
    if (rc == 0)
        return 0;
    ks_node_where(s->doc, n, where, sizeof where);
    return ks_err_context(s->err, rc, "%s", where);
}

/* Keys of a section: its options and the sections inside it. */
static void list_keys(const struct ks_job_section *section, const char *keys[24])
{
    size_t n = 0;

    for (const struct ks_opt *o = section->opts; o->name; o++)
        keys[n++] = o->name;
    for (int i = 0; i < KS_JOB_N_SECTIONS; i++)
        if (ks_job_sections[i].parent && strcmp(ks_job_sections[i].parent, section->name) == 0)
            keys[n++] = ks_job_sections[i].name;
    keys[n] = NULL;
}

static int read_section(const struct source *s, const struct ks_node *root,
                        const struct ks_job_section *section, struct ks_job *j)
{
    void *cfg = (char *)j + section->offset;
    const struct ks_node *parent = section->parent ? ks_node_at(root, section->parent) : root;
    const struct ks_node *obj = parent ? ks_node_at(parent, section->name) : NULL;
    const char *keys[24];
    int rc = ks_opt_defaults(section->opts, cfg, s->err);

    if (rc < 0 || !obj)
        return rc;
    if (ks_node_kind(obj) != KS_JSON_OBJECT)
        return ks_node_fail(s->doc, obj, s->err, "expected an object { ... }");
    list_keys(section, keys);
    rc = ks_node_only(s->doc, obj, keys, s->err);
    for (const struct ks_node *n = ks_node_first(obj); rc == 0 && n; n = ks_node_next(n)) {
        const struct ks_opt *o = find_opt(section->opts, ks_node_key(n));

        if (o)
            rc = set_key(s, o, n, cfg);
    }
    return rc;
}

static int read_device(const struct source *s, const struct ks_node *root, struct ks_job *j)
{
    struct ks_job_device *d = &j->device;
    const struct ks_node *obj = ks_node_at(root, "device");

    if (!d->arch)
        d->arch = "native";
    if (strlen(d->arch) >= sizeof d->arch_text)
        return ks_node_fail(s->doc, ks_node_at(obj, "arch"), s->err, "longer than %zu characters",
                            sizeof d->arch_text - 1);
    snprintf(d->arch_text, sizeof d->arch_text, "%s", d->arch);
    d->arch = d->arch_text;
    return 0;
}

static int check_measure(const struct source *s, const struct ks_node *root, const struct ks_job *j)
{
    const struct ks_node *obj = ks_node_at(root, "measure");

    if (j->measure.racing)
        return ks_node_fail(
            s->doc, ks_node_at(obj, "racing"), s->err,
            "racing was replaced by measure.rounds, for instance \"rounds\": { \"max\": 10 }");
    if (j->measure.min_samples > j->measure.max_samples)
        return ks_node_fail(s->doc, obj, s->err, "min_samples %u is above max_samples %u",
                            j->measure.min_samples, j->measure.max_samples);
    return 0;
}

/* The file that the document names at `n`. */
static int find_path(const struct source *s, const struct ks_node *n, const char *name, char *out)
{
    char where[256];
    int rc;

    if (!s->dir[0]) {
        snprintf(out, KS_PATH_MAX, "%s", name);
        return 0;
    }
    rc = ks_find_file(s->dir, name, out, KS_PATH_MAX, s->err);
    if (rc == 0)
        return 0;
    ks_node_where(s->doc, n, where, sizeof where);
    return ks_err_context(s->err, rc, "%s", where);
}

static int read_path(const struct source *s, const struct ks_node *obj, const char *key, char *out)
{
    char name[KS_PATH_MAX];
    int rc = ks_grid_field_text(s->doc, obj, key, NULL, name, sizeof name, s->err);

    return rc < 0 ? rc : find_path(s, ks_node_at(obj, key), name, out);
}

/* Links in its path stay: those of a virtual environment decide what an interpreter finds. Whether
 * it is there is asked where it is to run (ks_programs_check). */
static int read_program(const struct source *s, const struct ks_node *obj, struct ks_job_kernels *k)
{
    char path[KS_PATH_MAX];
    int rc;

    k->program = calloc(1, sizeof *k->program);
    rc = k->program ? ks_job_program_read(s->doc, obj, k->program, s->err)
                    : ks_fail(s->err, KS_ENOMEM, "no memory for a job");
    if (rc == 0)
        rc = ks_grid_field_text(s->doc, obj, "path", NULL, path, sizeof path, s->err);
    return rc < 0 ? rc
                  : ks_path_join(k->program->path, sizeof k->program->path,
                                 s->dir[0] ? s->dir : ".", path, s->err);
}

static int read_kernels(const struct source *s, const struct ks_node *obj, struct ks_job *j)
{
    static const char *const keys[] = { "config", "filter", "plugin", NULL };
    struct ks_job_kernels *k = &j->kernels[j->n_kernels++];
    int rc;

    if (ks_node_at(obj, "program"))
        return read_program(s, obj, k);
    rc = ks_node_only(s->doc, obj, keys, s->err);
    if (rc == 0)
        rc = read_path(s, obj, "config", k->config);
    if (rc == 0)
        rc = ks_grid_field_text(s->doc, obj, "filter", "", k->filter, sizeof k->filter, s->err);
    if (rc == 0 && ks_node_at(obj, "plugin"))
        rc = read_path(s, obj, "plugin", k->plugin);
    return rc;
}

static int read_natural(const struct source *s, const struct ks_node *obj, const char *key,
                        int64_t *out)
{
    const struct ks_node *n = ks_node_at(obj, key);
    int rc = n ? ks_node_int(s->doc, n, out, s->err) : 0;

    if (rc == 0 && *out < 0)
        return ks_node_fail(s->doc, n, s->err, "must be 0 or more");
    return rc;
}

/* An optional word of a list given by its names; -1 when absent. */
static int read_name(const struct source *s, const struct ks_node *obj, const char *key,
                     const char *(*name_of)(uint32_t), uint32_t n_names, int *out)
{
    const struct ks_node *n = ks_node_at(obj, key);
    const char *names[8] = { NULL };

    *out = -1;
    for (uint32_t i = 0; i < n_names && i < 7; i++)
        names[i] = name_of(i);
    return n ? ks_grid_field_choice(s->doc, n, names, out, s->err) : 0;
}

static int read_directions(const struct source *s, const struct ks_node *obj, uint32_t *mask_out)
{
    const char *names[KS_N_DIRECTIONS + 1] = { NULL };
    const struct ks_node *list = ks_node_at(obj, "directions");
    int rc = 0;

    *mask_out = 0;
    if (!list)
        return 0;
    for (uint32_t i = 0; i < KS_N_DIRECTIONS; i++)
        names[i] = ks_direction_name(i);
    if (ks_node_kind(list) != KS_JSON_ARRAY || ks_node_size(list) == 0)
        return ks_node_fail(s->doc, list, s->err, "expected a list of directions");
    for (const struct ks_node *n = ks_node_first(list); rc == 0 && n; n = ks_node_next(n)) {
        int which = 0;

        rc = ks_grid_field_choice(s->doc, n, names, &which, s->err);
        if (rc == 0 && *mask_out & (uint32_t)1 << which)
            rc = ks_node_fail(s->doc, n, s->err, "duplicate '%s'", names[which]);
        *mask_out |= (uint32_t)1 << which;
    }
    return rc;
}

static int read_excludes(const struct source *s, const struct ks_node *obj,
                         struct ks_job_problems *p)
{
    const struct ks_node *list = ks_node_at(obj, "exclude");
    int rc = 0;

    if (list && (ks_node_kind(list) != KS_JSON_ARRAY || ks_node_size(list) > KS_JOB_EXCLUDES))
        return ks_node_fail(s->doc, list, s->err, "expected a list of at most %d files",
                            KS_JOB_EXCLUDES);
    p->exclude = list ? calloc(ks_node_size(list) + 1u, sizeof *p->exclude) : NULL;
    if (list && !p->exclude)
        return ks_fail(s->err, KS_ENOMEM, "no memory for a job");
    for (const struct ks_node *n = list ? ks_node_first(list) : NULL; rc == 0 && n;
         n = ks_node_next(n)) {
        const char *name;

        rc = ks_node_str(s->doc, n, &name, s->err);
        if (rc == 0)
            rc = find_path(s, n, name, p->exclude[p->n_exclude]);
        p->n_exclude += rc == 0;
    }
    return rc;
}

static int read_sample(const struct source *s, const struct ks_node *obj, struct ks_job_problems *p)
{
    const struct ks_node *stratified = ks_node_at(obj, "stratified");
    int64_t seed = 0;
    int rc = read_natural(s, obj, "sample", &p->sample);

    if (rc == 0)
        rc = read_natural(s, obj, "seed", &seed);
    if (rc == 0 && stratified)
        rc = ks_node_bool(s->doc, stratified, &p->is_stratified, s->err);
    if (rc == 0 && p->is_stratified && p->sample == 0)
        rc = ks_node_fail(s->doc, stratified, s->err,
                          "stratified needs \"sample\", the number of problems");
    p->seed = (uint64_t)seed;
    return rc;
}

static int read_problems(const struct source *s, const struct ks_node *obj, struct ks_job *j)
{
    static const char *const keys[] = { "file",       "sample",  "seed",  "stratified", "layout",
                                        "directions", "exclude", "dtype", NULL };
    struct ks_job_problems *p = &j->problems[j->n_problems++];
    int rc = ks_node_only(s->doc, obj, keys, s->err);

    if (rc == 0)
        rc = read_path(s, obj, "file", p->file);
    if (rc == 0)
        rc = read_sample(s, obj, p);
    if (rc == 0)
        rc = read_excludes(s, obj, p);
    if (rc == 0)
        rc = read_name(s, obj, "layout", ks_layout_name, KS_N_LAYOUTS, &p->layout);
    if (rc == 0)
        rc = read_name(s, obj, "dtype", ks_dtype_name, KS_N_DTYPES, &p->dtype);
    if (rc == 0)
        rc = read_directions(s, obj, &p->directions);
    return rc;
}

static int find_list(const struct source *s, const struct ks_node *root, const char *key,
                     const struct ks_node **list_out)
{
    int rc = ks_grid_field_node(s->doc, root, key, KS_JSON_ARRAY, list_out, s->err);

    if (rc == 0 && (ks_node_size(*list_out) == 0 || ks_node_size(*list_out) > KS_JOB_LISTS))
        rc = ks_node_fail(s->doc, *list_out, s->err, "expected 1 to %d entries", KS_JOB_LISTS);
    return rc;
}

static int read_entries(const struct source *s, const struct ks_node *list,
                        int (*read)(const struct source *, const struct ks_node *, struct ks_job *),
                        struct ks_job *j)
{
    int rc = 0;

    for (const struct ks_node *n = ks_node_first(list); rc == 0 && n; n = ks_node_next(n)) {
        if (ks_node_kind(n) != KS_JSON_OBJECT)
            return ks_node_fail(s->doc, n, s->err, "expected an object { ... }");
        rc = read(s, n, j);
    }
    return rc;
}

static int read_lists(const struct source *s, const struct ks_node *root, struct ks_job *j)
{
    const struct ks_node *kernels, *problems;
    int rc = find_list(s, root, "kernels", &kernels);

    if (rc < 0)
        return rc;
    j->kernels = calloc(ks_node_size(kernels), sizeof *j->kernels);
    if (!j->kernels)
        return ks_fail(s->err, KS_ENOMEM, "no memory for a job");
    rc = read_entries(s, kernels, read_kernels, j);
    for (uint32_t i = 1; rc == 0 && i < j->n_kernels; i++)
        if (!j->kernels[i].program != !j->kernels[0].program)
            rc = ks_node_fail(s->doc, kernels, s->err,
                              "a job cannot have both programs and configs, whose times cannot be "
                              "compared: use two jobs");
    if (rc == 0)
        rc = find_list(s, root, "problems", &problems);
    if (rc < 0)
        return rc;
    j->problems = calloc(ks_node_size(problems), sizeof *j->problems);
    if (!j->problems)
        return ks_fail(s->err, KS_ENOMEM, "no memory for a job");
    return read_entries(s, problems, read_problems, j);
}

static int read_operator(const struct source *s, const struct ks_node *root, struct ks_job *j)
{
    char where[256];
    uint32_t ignored;
    int rc = ks_grid_field_text(s->doc, root, "operator", NULL, j->op, sizeof j->op, s->err);

    if (rc < 0 || ks_operator_find(j->op, &ignored, s->err) == 0)
        return rc;
    ks_node_where(s->doc, ks_node_at(root, "operator"), where, sizeof where);
    return ks_err_context(s->err, KS_EINVAL, "%s", where);
}

static int read_job(const struct source *s, struct ks_job *j)
{
    static const char *const keys[] = { "name",     "why",    "operator", "kernels",
                                        "problems", "device", "measure",  "prune",
                                        "isolate",  "verify", NULL };
    static const char allowed[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"
                                  "_-.";
    const struct ks_node *root = ks_json_root(s->doc);
    int rc = ks_node_kind(root) == KS_JSON_OBJECT
                 ? ks_node_only(s->doc, root, keys, s->err)
                 : ks_node_fail(s->doc, root, s->err, "a job is an object { ... }");

    if (rc == 0)
        rc = ks_grid_field_word(s->doc, root, "name", allowed, j->name, sizeof j->name, s->err);
    if (rc == 0)
        rc = ks_grid_field_text(s->doc, root, "why", "", j->why, sizeof j->why, s->err);
    if (rc == 0)
        rc = read_operator(s, root, j);
    for (int i = 0; rc == 0 && i < KS_JOB_N_SECTIONS; i++)
        rc = read_section(s, root, &ks_job_sections[i], j);
    if (rc == 0)
        rc = read_device(s, root, j);
    if (rc == 0)
        rc = check_measure(s, root, j);
    return rc < 0 ? rc : read_lists(s, root, j);
}

static int read_document(const struct ks_json *doc, const char *path, bool is_resolved,
                         struct ks_job *job_out, struct ks_err *err)
{
    struct source *s = calloc(1, sizeof *s);
    struct ks_job *j = calloc(1, sizeof *j);
    int rc = 0;

    if (!s || !j) {
        rc = ks_fail(err, KS_ENOMEM, "no memory for a job");
        goto out;
    }
    if (strlen(path) >= sizeof j->path) {
        rc = ks_fail(err, KS_EINVAL, "path longer than %zu characters", sizeof j->path - 1);
        goto out;
    }
    memcpy(j->path, path, strlen(path) + 1);
    s->doc = doc;
    s->err = err;
    if (!is_resolved)
        ks_path_dir(s->dir, sizeof s->dir, path);
    rc = read_job(s, j);
    if (rc < 0)
        goto out;
    *job_out = *j;
    job_out->device.arch = job_out->device.arch_text;
    *j = (struct ks_job){ .n_kernels = 0 };
out:
    if (j)
        ks_job_release(j);
    free(s);
    free(j);
    return rc;
}

int ks_job_load(const char *path, struct ks_job *job_out, struct ks_err *err)
{
    char absolute[KS_PATH_MAX], room[KS_PATH_MAX];
    struct ks_json *doc = NULL;
    int rc = ks_find_input(&path, room, sizeof room, err);

    if (rc == 0)
        rc = ks_json_open(path, &doc, err);
    if (rc == 0)
        rc = ks_find_absolute(path, absolute, sizeof absolute, err);
    if (rc == 0)
        rc = read_document(doc, absolute, false, job_out, err);
    ks_json_close(doc);
    return rc;
}

static int parse(const char *text, size_t len, const char *name, bool is_resolved,
                 struct ks_job *job_out, struct ks_err *err)
{
    struct ks_json *doc = NULL;
    int rc = ks_json_parse(text, len, name, &doc, err);

    if (rc == 0)
        rc = read_document(doc, name, is_resolved, job_out, err);
    ks_json_close(doc);
    return rc;
}

int ks_job_parse(const char *text, size_t len, const char *name, struct ks_job *job_out,
                 struct ks_err *err)
{
    return parse(text, len, name, false, job_out, err);
}

int ks_job_parse_resolved(const char *text, size_t len, const char *name, struct ks_job *job_out,
                          struct ks_err *err)
{
    return parse(text, len, name, true, job_out, err);
}
