/* SPDX-License-Identifier: MIT */
#include "base/file.h"
#include "base/opt.h"
#include "grid/cpu_flags.h"
#include "grid/expr.h"
#include "grid/family.h"
#include "grid/family_expr.h"
#include "grid/fields.h"
#include "grid/find.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_COMBINATIONS = 4000000 };

/* One config on its way into the set. */
struct adder {
    struct ks_kernel_set *set;
    const struct ks_json *doc;
    uint32_t i_family;
    struct ks_expr *filter; /* NULL: all */
    struct ks_expr *rules[KS_RULES_MAX];
    struct ks_expr *needs[KS_NEEDS_MAX];
    struct ks_expr *inabilities[KS_NEEDS_MAX];
    uint64_t n_excluded[KS_RULES_MAX];
    uint64_t n_seen, n_filtered;
    struct ks_err *err;
};

/* The value lists of one entry, and the combination that is on. */
struct product {
    uint32_t n[KS_TRAITS_MAX];
    uint8_t choice[KS_TRAITS_MAX][KS_TRAIT_VALUES_MAX];
    uint32_t at[KS_TRAITS_MAX];
};

static const struct ks_family *family_of(const struct adder *a)
{
    return &a->set->families[a->i_family];
}

static int add_choice(const struct adder *a, const struct ks_node *n, uint32_t t, struct product *p)
{
    const struct ks_trait *trait = &family_of(a)->traits[t];
    uint32_t v;
    int rc = ks_trait_value_node(a->doc, n, trait, &v, a->err);

    if (rc < 0)
        return rc;
    for (uint32_t i = 0; i < p->n[t]; i++)
        if (p->choice[t][i] == v)
            return ks_node_fail(a->doc, n, a->err, "value '%s' stands twice", trait->text[v]);
    p->choice[t][p->n[t]++] = (uint8_t)v;
    return 0;
}

static int read_choices(const struct adder *a, const struct ks_node *n, uint32_t t,
                        struct product *p)
{
    int rc = 0;

    if (ks_node_kind(n) != KS_JSON_ARRAY)
        return add_choice(a, n, t, p);
    if (ks_node_size(n) == 0)
        return ks_node_fail(a->doc, n, a->err, "at least one value is wanted");
    for (const struct ks_node *v = ks_node_first(n); rc == 0 && v; v = ks_node_next(v))
        rc = add_choice(a, v, t, p);
    return rc;
}

static int read_entry(const struct adder *a, const struct ks_node *entry, struct product *p)
{
    const struct ks_family *f = family_of(a);
    const char *names[KS_TRAITS_MAX + 1] = { NULL };
    uint64_t n_all = 1;
    int rc;

    for (uint32_t t = 0; t < f->n_traits; t++)
        names[t] = f->traits[t].name;
    rc = ks_node_kind(entry) == KS_JSON_OBJECT
             ? ks_node_only(a->doc, entry, names, a->err)
             : ks_node_fail(a->doc, entry, a->err, "an entry is an object of traits { ... }");
    for (uint32_t t = 0; rc == 0 && t < f->n_traits; t++) {
        const struct ks_node *n = ks_node_at(entry, names[t]);

        if (n)
            rc = read_choices(a, n, t, p);
        else
            p->choice[t][p->n[t]++] = (uint8_t)f->traits[t].i_default;
        n_all *= p->n[t] ? p->n[t] : 1;
        if (rc == 0 && n_all > MOST_COMBINATIONS)
            return ks_node_fail(a->doc, entry, a->err, "more than %d combinations",
                                MOST_COMBINATIONS);
    }
    return rc;
}

static int test(const struct adder *a, const struct ks_expr *e, const struct ks_instance *i,
                bool *out)
{
    struct ks_family_scope scope = { family_of(a), i };

    return ks_expr_test(e, ks_family_name, &scope, out, a->err);
}

/* *is_in_out: no rule forbids it and the filter lets it through. */
static int judge(struct adder *a, const struct ks_instance *i, bool *is_in_out)
{
    const struct ks_family *f = family_of(a);
    bool is_hit = false;
    int rc;

    for (uint32_t r = 0; r < f->n_rules; r++) {
        rc = test(a, a->rules[r], i, &is_hit);
        if (rc < 0)
            return ks_err_context(a->err, rc, "rule '%s' of family '%s'", f->rules[r].why, f->name);
        if (!is_hit)
            continue;
        a->n_excluded[r]++;
        *is_in_out = false;
        return 0;
    }
    a->n_seen++;
    *is_in_out = true;
    if (!a->filter)
        return 0;
    rc = test(a, a->filter, i, is_in_out);
    if (rc == 0 && !*is_in_out)
        a->n_filtered++;
    return rc < 0 ? ks_err_context(a->err, rc, "filter") : 0;
}

/* What the CPU lacks. */
static int judge_needs(const struct adder *a, struct ks_instance *i)
{
    const struct ks_family *f = family_of(a);
    const struct ks_kernel_set *s = a->set;
    const char *cpu = s->cpu_name ? s->cpu_name : "this CPU";

    for (uint32_t k = 0; s->cpu_flags && !i->missing[0] && k < f->n_needs; k++) {
        bool is_needed;
        int rc;

        if (ks_cpu_flags_has(s->cpu_flags, f->needs[k].needs))
            continue;
        rc = test(a, a->needs[k], i, &is_needed);
        if (rc < 0)
            return ks_err_context(a->err, rc, "need '%s' of family '%s'", f->needs[k].needs,
                                  f->name);
        if (is_needed)
            snprintf(i->missing, sizeof i->missing, "needs %s, %s lacks it", f->needs[k].needs,
                     cpu);
    }
    return 0;
}

/* Is `arch` among names that are separated by blanks? */
static bool is_arch_among(const char *arch, const char *names)
{
    while (*names) {
        size_t n = strcspn(names, " ");
        bool is_start = names[n - 1] == '*';

        if (is_start ? strncmp(arch, names, n - 1) == 0
                     : strlen(arch) == n && strncmp(arch, names, n) == 0)
            return true;
        names += n + (names[n] == ' ');
    }
    return false;
}

/* What the device of the set's arch cannot do. */
static int judge_arch(const struct adder *a, struct ks_instance *i)
{
    const struct ks_family *f = family_of(a);
    const char *arch = a->set->arch;

    if (!a->set->cpu_flags && f->archs[0] && !is_arch_among(arch, f->archs))
        snprintf(i->missing, sizeof i->missing, "family %s knows nothing of arch %.40s", f->name,
                 arch);
    for (uint32_t k = 0; !i->missing[0] && k < f->n_inabilities; k++) {
        const struct ks_inability *r = &f->inabilities[k];
        bool is_hit;
        int rc;

        if (r->arch[0] && !is_arch_among(arch, r->arch))
            continue;
        rc = test(a, a->inabilities[k], i, &is_hit);
        if (rc < 0)
            return ks_err_context(a->err, rc, "unsupported '%s' of family '%s'", r->why, f->name);
        if (is_hit)
            snprintf(i->missing, sizeof i->missing, "%s", r->why);
    }
    return 0;
}

static int find_missing(const struct adder *a, struct ks_instance *i)
{
    const struct ks_family *f = family_of(a);
    int rc = judge_needs(a, i);

    if (rc == 0 && a->set->arch)
        rc = judge_arch(a, i);
    if (rc == 0 && a->set->arch && !i->missing[0] && !f->source[0])
        snprintf(i->missing, sizeof i->missing,
                 "family %s has no kernel of its own: a plug-in supplies it", f->name);
    return rc;
}

static int append(struct ks_kernel_set *s, const struct ks_instance *i, struct ks_err *err)
{
    if (s->n_instances == s->cap_instances) {
        uint32_t cap = s->cap_instances ? 2 * s->cap_instances : 64;
        struct ks_instance *more = realloc(s->instances, cap * sizeof *more);

        if (!more)
            return ks_fail(err, KS_ENOMEM, "no memory for %u instances", cap);
        s->instances = more;
        s->cap_instances = cap;
    }
    s->instances[s->n_instances++] = *i;
    return 0;
}

static int take(struct adder *a, const struct product *p)
{
    const struct ks_family *f = family_of(a);
    struct ks_instance i = { .i_family = a->i_family }, back;
    bool is_in = false;
    int rc;

    for (uint32_t t = 0; t < f->n_traits; t++)
        i.value[t] = p->choice[t][p->at[t]];
    rc = judge(a, &i, &is_in);
    if (rc < 0 || !is_in)
        return rc;
    rc = ks_instance_finish(f, &i, a->err);
    if (rc == 0)
        rc = ks_instance_parse_name(f, i.name, &back, a->err);
    if (rc == 0 && back.id != i.id)
        rc = ks_fail(a->err, KS_EFORMAT, "name '%s' does not read back as its instance", i.name);
    if (rc == 0)
        rc = find_missing(a, &i);
    return rc < 0 ? rc : append(a->set, &i, a->err);
}

/* The last trait varies fastest; false behind the last combination. */
static bool advance(struct product *p, uint32_t n_traits)
{
    for (uint32_t t = n_traits; t-- > 0;) {
        if (++p->at[t] < p->n[t])
            return true;
        p->at[t] = 0;
    }
    return false;
}

static int add_entry(struct adder *a, const struct ks_node *entry)
{
    struct product p = { 0 };
    int rc = read_entry(a, entry, &p);

    if (rc < 0)
        return rc;
    do
        rc = take(a, &p);
    while (rc == 0 && advance(&p, family_of(a)->n_traits));
    return rc;
}

static int by_id(const void *a, const void *b)
{
    const struct ks_instance *const *x = a, *const *y = b;

    return (*x)->id < (*y)->id ? -1 : (*x)->id > (*y)->id;
}

static int by_name(const void *a, const void *b)
{
    const struct ks_instance *const *x = a, *const *y = b;

    return strcmp((*x)->name, (*y)->name);
}

static int check_neighbours(const struct ks_instance *a, const struct ks_instance *b,
                            struct ks_err *err)
{
    bool is_same_name = strcmp(a->name, b->name) == 0;

    if (a->id == b->id && a->i_family == b->i_family && is_same_name)
        return ks_fail(err, KS_EINVAL, "instance '%s' is named twice: keep one entry", a->name);
    if (a->id == b->id)
        return ks_fail(err, KS_EFORMAT, "instances '%s' and '%s' have the same id", a->name,
                       b->name);
    if (is_same_name)
        return ks_fail(err, KS_EINVAL, "two families have an instance of the name '%s'", a->name);
    return 0;
}

static int check_unique(const struct ks_kernel_set *s, struct ks_err *err)
{
    const struct ks_instance **order = calloc(s->n_instances + 1, sizeof *order);
    int rc = 0;

    if (!order)
        return ks_fail(err, KS_ENOMEM, "no memory to sort instances");
    for (uint32_t i = 0; i < s->n_instances; i++)
        order[i] = &s->instances[i];
    for (int turn = 0; turn < 2; turn++) {
        qsort(order, s->n_instances, sizeof *order, turn ? by_name : by_id);
        for (uint32_t i = 1; rc == 0 && i < s->n_instances; i++)
            rc = check_neighbours(order[i - 1], order[i], err);
    }
    free(order);
    return rc;
}

static int add_family(struct ks_kernel_set *s, const char *path, uint32_t *i_out,
                      struct ks_err *err)
{
    struct ks_family *more = realloc(s->families, (s->n_families + 1) * sizeof *more);
    struct ks_family *f;
    int rc;

    if (!more)
        return ks_fail(err, KS_ENOMEM, "no memory for a kernel family");
    s->families = more;
    f = &more[s->n_families];
    rc = ks_family_load(path, f, err);
    if (rc < 0)
        return rc;
    for (uint32_t i = 0; i < s->n_families; i++) {
        if (strcmp(more[i].path, f->path) == 0) {
            *i_out = i;
            return 0;
        }
        if (strcmp(more[i].name, f->name) == 0)
            return ks_fail(err, KS_EINVAL, "'%s' and '%s' are both named '%s'", more[i].path,
                           f->path, f->name);
    }
    *i_out = s->n_families++;
    return 0;
}

static int parse_expressions(struct adder *a, const char *filter)
{
    const struct ks_family *f = family_of(a);
    int rc = 0;

    if (filter[0])
        rc = ks_family_expr(f, filter, &a->filter, a->err);
    if (rc < 0)
        return ks_err_context(a->err, rc, "filter of '%s'", ks_json_name(a->doc));
    for (uint32_t i = 0; rc == 0 && i < f->n_rules; i++)
        rc = ks_family_expr(f, f->rules[i].when, &a->rules[i], a->err);
    for (uint32_t i = 0; rc == 0 && i < f->n_needs; i++)
        rc = ks_family_expr(f, f->needs[i].when, &a->needs[i], a->err);
    for (uint32_t i = 0; rc == 0 && i < f->n_inabilities; i++)
        rc = ks_family_expr(f, f->inabilities[i].when, &a->inabilities[i], a->err);
    return rc;
}

static int read_family_of(struct adder *a, const char *config_path, const struct ks_node *root)
{
    char dir[1024], name[1024], path[1024], where[256];
    int rc = ks_grid_field_text(a->doc, root, "family", NULL, name, sizeof name, a->err);

    if (rc < 0)
        return rc;
    ks_path_dir(dir, sizeof dir, config_path);
    rc = ks_find_file(dir, name, path, sizeof path, a->err);
    if (rc == 0)
        return add_family(a->set, path, &a->i_family, a->err);
    ks_node_where(a->doc, ks_node_at(root, "family"), where, sizeof where);
    return ks_err_context(a->err, rc, "%s", where);
}

static int check_left(const struct adder *a, const struct ks_node *list, uint32_t n_before)
{
    if (a->set->n_instances > n_before)
        return 0;
    if (a->n_filtered > 0)
        return ks_fail(a->err, KS_EINVAL, "the filter keeps none of the %llu instances of %s",
                       (unsigned long long)a->n_filtered, ks_json_name(a->doc));
    return ks_node_fail(a->doc, list, a->err, "no instance: the rules exclude every combination");
}

static int add_config(struct adder *a, const char *config_path, const char *filter)
{
    static const char *const keys[] = { "family", "why", "instances", NULL };
    const struct ks_node *root = ks_json_root(a->doc), *list = NULL;
    uint32_t n_before = a->set->n_instances;
    char why[1024];
    int rc = ks_node_kind(root) == KS_JSON_OBJECT
                 ? ks_node_only(a->doc, root, keys, a->err)
                 : ks_node_fail(a->doc, root, a->err, "a kernel config is an object { ... }");

    if (rc == 0)
        rc = ks_grid_field_text(a->doc, root, "why", "", why, sizeof why, a->err);
    if (rc == 0)
        rc = ks_grid_field_node(a->doc, root, "instances", KS_JSON_ARRAY, &list, a->err);
    if (rc == 0 && ks_node_size(list) == 0)
        rc = ks_node_fail(a->doc, list, a->err, "at least one entry is wanted");
    if (rc == 0)
        rc = read_family_of(a, config_path, root);
    if (rc == 0)
        rc = parse_expressions(a, filter);
    for (const struct ks_node *n = ks_node_first(list); rc == 0 && n; n = ks_node_next(n))
        rc = add_entry(a, n);
    if (rc == 0)
        rc = check_left(a, list, n_before);
    if (rc < 0)
        return rc;
    rc = check_unique(a->set, a->err);
    return rc < 0 ? ks_err_context(a->err, rc, "%s", config_path) : 0;
}

static uint64_t book_excluded(struct adder *a)
{
    struct ks_family *f = &a->set->families[a->i_family];
    uint64_t sum = 0;

    for (uint32_t r = 0; r < f->n_rules; r++) {
        f->rules[r].n_excluded += a->n_excluded[r];
        sum += a->n_excluded[r];
    }
    return sum;
}

int ks_kernel_set_add(struct ks_kernel_set *set, const char *config_path, const char *filter,
                      uint64_t *n_excluded_out, struct ks_err *err)
{
    struct adder a = { .set = set, .err = err };
    uint32_t n_families = set->n_families, n_instances = set->n_instances;
    uint64_t n_excluded;
    struct ks_json *doc = NULL;
    int rc = ks_json_open(config_path, &doc, err);

    a.doc = doc;
    if (rc == 0)
        rc = add_config(&a, config_path, filter ? filter : "");
    if (rc == 0) {
        n_excluded = book_excluded(&a);
        if (n_excluded_out)
            *n_excluded_out = n_excluded;
    } else {
        set->n_families = n_families;
        set->n_instances = n_instances;
    }
    ks_expr_free(a.filter);
    for (size_t i = 0; i < KS_RULES_MAX; i++)
        ks_expr_free(a.rules[i]);
    for (size_t i = 0; i < KS_NEEDS_MAX; i++) {
        ks_expr_free(a.needs[i]);
        ks_expr_free(a.inabilities[i]);
    }
    ks_json_close(doc);
    return rc;
}

void ks_kernel_set_release(struct ks_kernel_set *set)
{
    free(set->families);
    free(set->instances);
    *set = (struct ks_kernel_set){ .cpu_flags = set->cpu_flags,
                                   .cpu_name = set->cpu_name,
                                   .arch = set->arch };
}

/* Names of GPUs; every other arch is a CPU's. */
static bool is_gpu(const char *arch)
{
    return strncmp(arch, "gfx", 3) == 0 || strncmp(arch, "sm_", 3) == 0;
}

int ks_kernel_set_arch(struct ks_kernel_set *set, const char *arch, struct ks_buf *flags,
                       struct ks_err *err)
{
    int rc = is_gpu(arch) ? 0 : ks_cpu_flags_read(arch, flags, err);

    if (rc < 0)
        return rc;
    set->arch = arch;
    set->cpu_flags = is_gpu(arch) ? NULL : ks_buf_text(flags);
    set->cpu_name = strcmp(arch, "native") == 0 ? NULL : arch;
    return 0;
}
