/* SPDX-License-Identifier: MIT */
/* kernel_adder.c - adds products of trait values to a kernel set: rules, filters, names */
#include "base/file.h"
#include "grid/expr.h"
#include "grid/family_expr.h"
#include "grid/filters.h"
#include "grid/find.h"
#include "grid/inability.h"
#include "grid/instance.h"
#include "grid/kernel_set_impl.h"

#include <stdlib.h>
#include <string.h>

/* More is a mistake in the file: an instance takes half a KiB. */
enum { MOST_INSTANCES = 1000000, MOST_STEPS = 50000000 };

struct ks_family_exprs {
    struct ks_expr **filters; /* [n_filters] all must hold */
    uint32_t n_filters;
    struct ks_expr *rules[KS_RULES_MAX];
    uint32_t level[KS_RULES_MAX]; /* the last trait that the rule names */
    uint64_t n_excluded[KS_RULES_MAX];
    struct ks_lacks lacks;
};

/* A product on its way through: traits below the current one have their values in i. */
struct walk {
    struct ks_adder *a;
    const struct ks_family *f;
    struct ks_family_exprs *j;
    const struct ks_product *p;
    struct ks_name_parts parts;
    struct ks_instance i;
    uint64_t n_below[KS_TRAITS_MAX + 1]; /* combinations of the traits from here on */
    uint64_t n_steps;
};

/* ---- families ---- */

static void free_exprs(struct ks_family_exprs *j)
{
    if (!j)
        return;
    for (uint32_t i = 0; i < j->n_filters; i++)
        ks_expr_free(j->filters[i]);
    free(j->filters);
    for (size_t i = 0; i < KS_RULES_MAX; i++)
        ks_expr_free(j->rules[i]);
    ks_lacks_release(&j->lacks);
    free(j);
}

/* The last trait that an expression needs; 0 when it names none. */
static uint32_t level_of(const struct ks_family *f, const struct ks_expr *e)
{
    const char *name;
    int32_t at = 0;
    int most = 0;

    while ((name = ks_expr_next_name(e, &at))) {
        int t = ks_family_name_trait(f, name);

        most = t > most ? t : most;
    }
    return (uint32_t)most;
}

/* The caller's filter, and those of the set's filter file. */
static int fill_filters(const struct ks_adder *a, const struct ks_family *f,
                        struct ks_family_exprs *j)
{
    const struct ks_filters *file = a->set->filters;
    uint32_t n = file ? file->n : 0;
    int rc = 0;

    j->filters = calloc(n + 1, sizeof *j->filters);
    if (!j->filters)
        return ks_fail(a->err, KS_ENOMEM, "no memory for filters");
    if (a->filter[0])
        rc = ks_family_expr(f, a->filter, &j->filters[j->n_filters++], a->err);
    if (rc < 0)
        return a->set->filter_of ? ks_err_context(a->err, rc, "%s", a->set->filter_of)
                                 : ks_err_context(a->err, rc, "filter of '%s'", a->path);
    for (uint32_t i = 0; rc == 0 && i < n; i++)
        rc = ks_family_expr_at(f, file->list[i].text, &file->list[i].place,
                               &j->filters[j->n_filters++], a->err);
    return rc;
}

static int fill_exprs(const struct ks_adder *a, const struct ks_family *f,
                      struct ks_family_exprs *j)
{
    int rc = fill_filters(a, f, j);

    for (uint32_t i = 0; rc == 0 && i < f->n_rules; i++) {
        rc = ks_family_rule(f, i, &j->rules[i], a->err);
        if (rc == 0)
            j->level[i] = level_of(f, j->rules[i]);
    }
    return rc < 0 ? rc : ks_lacks_init(&j->lacks, f, a->err);
}

/* Places for families up to i_family. An export may name those of earlier files in any order. */
static int grow_exprs(struct ks_adder *a, uint32_t i_family)
{
    struct ks_family_exprs **more;

    if (i_family < a->n_exprs)
        return 0;
    more = realloc(a->exprs, (i_family + 1) * sizeof *more);
    if (!more)
        return ks_fail(a->err, KS_ENOMEM, "no memory for the rules of a family");
    a->exprs = more;
    while (a->n_exprs <= i_family)
        more[a->n_exprs++] = NULL;
    return 0;
}

static int add_exprs(struct ks_adder *a, uint32_t i_family)
{
    struct ks_family_exprs *j;
    int rc = grow_exprs(a, i_family);

    if (rc < 0 || a->exprs[i_family])
        return rc;
    j = calloc(1, sizeof *j);
    if (!j)
        return ks_fail(a->err, KS_ENOMEM, "no memory for the rules of a family");
    rc = fill_exprs(a, &a->set->families[i_family], j);
    if (rc < 0)
        free_exprs(j);
    else
        a->exprs[i_family] = j;
    return rc;
}

/* Room behind the last family. */
static int grow_families(struct ks_adder *a, struct ks_family **room_out)
{
    struct ks_kernel_set *s = a->set;
    struct ks_family *more = realloc(s->families, (s->n_families + 1) * sizeof *more);

    if (!more)
        return ks_fail(a->err, KS_ENOMEM, "no memory for a kernel family");
    s->families = more;
    *room_out = &more[s->n_families];
    return 0;
}

/* Takes the family that lies behind the last one, unless it is there already: then it is released.
 */
static int take_family(struct ks_adder *a, uint32_t *i_out)
{
    struct ks_kernel_set *s = a->set;
    struct ks_family *f = &s->families[s->n_families];
    uint32_t i = 0;
    int rc = 0;

    for (; i < s->n_families && strcmp(s->families[i].path, f->path) != 0; i++)
        if (strcmp(s->families[i].name, f->name) == 0) {
            rc = ks_fail(a->err, KS_EINVAL, "'%s' and '%s' are two different families named '%s'",
                         s->families[i].path, f->path, f->name);
            break;
        }
    if (rc == 0 && i == s->n_families)
        s->n_families++;
    else
        ks_family_release(f);
    *i_out = i;
    return rc < 0 ? rc : add_exprs(a, i);
}

int ks_adder_family(struct ks_adder *a, struct ks_family *f, uint32_t *i_family_out)
{
    struct ks_family *room = NULL;
    int rc = grow_families(a, &room);

    if (rc < 0) {
        ks_family_release(f);
        return rc;
    }
    *room = *f;
    *f = (struct ks_family){ .n_traits = 0 };
    return take_family(a, i_family_out);
}

int ks_adder_family_file(struct ks_adder *a, const char *name, const struct ks_node *named_at,
                         uint32_t *i_family_out)
{
    char dir[1024], path[1024], where[256];
    struct ks_family *room = NULL;
    int rc;

    ks_path_dir(dir, sizeof dir, a->path);
    rc = ks_find_file(dir, name, path, sizeof path, a->err);
    if (rc == 0)
        rc = grow_families(a, &room);
    if (rc == 0)
        rc = ks_family_load(path, room, a->err);
    if (rc == 0)
        return take_family(a, i_family_out);
    ks_node_where(a->doc, named_at, where, sizeof where);
    return ks_err_context(a->err, rc, "%s", where);
}

/* ---- values ---- */

static int add_choice(const struct ks_adder *a, const struct ks_node *n,
                      const struct ks_trait *trait, uint32_t t, struct ks_product *p)
{
    uint32_t v;
    int rc = ks_trait_value_node(a->doc, n, trait, &v, a->err);

    if (rc < 0)
        return rc;
    for (uint32_t i = 0; i < p->n[t]; i++)
        if (p->choice[t][i] == v)
            return ks_node_fail(a->doc, n, a->err, "duplicate value '%s'", trait->text[v]);
    p->choice[t][p->n[t]++] = (uint8_t)v;
    return 0;
}

int ks_adder_choices(const struct ks_adder *a, uint32_t i_family, const struct ks_node *n,
                     uint32_t t, struct ks_product *p)
{
    const struct ks_trait *trait = &a->set->families[i_family].traits[t];
    int rc = 0;

    if (ks_node_kind(n) != KS_JSON_ARRAY)
        return add_choice(a, n, trait, t, p);
    if (ks_node_size(n) == 0)
        return ks_node_fail(a->doc, n, a->err, "expected at least one value");
    for (const struct ks_node *v = ks_node_first(n); rc == 0 && v; v = ks_node_next(v))
        rc = add_choice(a, v, trait, t, p);
    return rc;
}

/* ---- instances ---- */

static int append(struct ks_kernel_set *s, const struct ks_instance *i, struct ks_err *err)
{
    if (s->n_instances == MOST_INSTANCES)
        return ks_fail(err, KS_EINVAL, "more than %d instances", MOST_INSTANCES);
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

/* Its name must stand for it alone. */
static int check_name(const struct walk *w)
{
    struct ks_instance back = { 0 };
    int n_ways = ks_name_read(w->f, &w->parts, w->i.name, &back);

    if (n_ways == 1 && memcmp(back.value, w->i.value, w->f->n_traits) == 0)
        return 0;
    return ks_fail(w->a->err, KS_EFORMAT,
                   "name '%s' stands for several instances of family '%s': put a letter between "
                   "the values in name_pattern",
                   w->i.name, w->f->name);
}

static int test(const struct walk *w, const struct ks_expr *e, bool *out)
{
    struct ks_family_scope scope = { w->f, &w->i };

    return ks_expr_test(e, ks_family_name, &scope, out, w->a->err);
}

/* A whole combination: filtered, named, checked, kept. */
static int take(struct walk *w)
{
    bool is_in = true;
    int rc = 0;

    for (uint32_t i = 0; rc == 0 && is_in && i < w->j->n_filters; i++)
        rc = test(w, w->j->filters[i], &is_in);
    if (rc < 0)
        return ks_err_context(w->a->err, rc, "filter");
    if (!is_in) {
        w->a->n_filtered++;
        return 0;
    }
    rc = ks_instance_name(w->f, &w->parts, &w->i, w->a->err);
    if (rc == 0)
        rc = check_name(w);
    if (rc == 0)
        rc = ks_lacks_find(&w->j->lacks, w->a->set, w->f, &w->i, w->a->err);
    return rc < 0 ? rc : append(w->a->set, &w->i, w->a->err);
}

/* Does a rule whose last trait is t forbid all that follows? */
static int is_forbidden(struct walk *w, uint32_t t, bool *out)
{
    *out = false;
    for (uint32_t r = 0; !*out && r < w->f->n_rules; r++) {
        int rc;

        if (w->j->level[r] != t)
            continue;
        rc = test(w, w->j->rules[r], out);
        if (rc < 0)
            return ks_err_context(w->a->err, rc, "rule '%s' of family '%s'", w->f->rules[r].why,
                                  w->f->name);
        if (*out)
            w->j->n_excluded[r] += w->n_below[t + 1];
    }
    return 0;
}

static int step(struct walk *w, uint32_t t)
{
    int rc = 0;

    if (t == w->f->n_traits)
        return take(w);
    for (uint32_t c = 0; rc == 0 && c < w->p->n[t]; c++) {
        bool is_out;

        if (++w->n_steps > MOST_STEPS)
            return ks_fail(w->a->err, KS_EINVAL,
                           "more than %d steps: let the rules exclude combinations by the family's "
                           "first traits, or name fewer values",
                           MOST_STEPS);
        w->i.value[t] = w->p->choice[t][c];
        rc = is_forbidden(w, t, &is_out);
        if (rc == 0 && !is_out)
            rc = step(w, t + 1);
    }
    return rc;
}

int ks_adder_product(struct ks_adder *a, uint32_t i_family, const struct ks_product *p)
{
    struct walk w = { .a = a, .j = a->exprs[i_family], .p = p, .i = { .i_family = i_family } };
    int rc;

    w.f = &a->set->families[i_family];
    rc = ks_name_parts(w.f, w.f->name_pattern, false, &w.parts, a->err);
    if (rc < 0)
        return rc;
    w.n_below[w.f->n_traits] = 1;
    for (uint32_t t = w.f->n_traits; t-- > 0;)
        if (__builtin_mul_overflow(w.n_below[t + 1], p->n[t], &w.n_below[t]))
            return ks_fail(a->err, KS_EINVAL, "more than 2^64 combinations");
    return step(&w, 0);
}

int ks_adder_instance(struct ks_adder *a, uint32_t i_family, const struct ks_instance *i)
{
    struct ks_product p = { 0 };

    for (uint32_t t = 0; t < a->set->families[i_family].n_traits; t++) {
        p.choice[t][0] = i->value[t];
        p.n[t] = 1;
    }
    return ks_adder_product(a, i_family, &p);
}

uint64_t ks_adder_book_excluded(struct ks_adder *a)
{
    uint64_t sum = 0;

    for (uint32_t i = 0; i < a->n_exprs; i++)
        for (uint32_t r = 0; a->exprs[i] && r < a->set->families[i].n_rules; r++) {
            a->set->families[i].rules[r].n_excluded += a->exprs[i]->n_excluded[r];
            sum += a->exprs[i]->n_excluded[r];
        }
    return sum;
}

void ks_adder_release(struct ks_adder *a)
{
    for (uint32_t i = 0; i < a->n_exprs; i++)
        free_exprs(a->exprs[i]);
    free(a->exprs);
    a->exprs = NULL;
    a->n_exprs = 0;
}
