/* SPDX-License-Identifier: MIT */
/* t1_space.c - turns a set of instances into a product of values and the conditions on it */
#include "grid/t1_space.h"

#include "grid/family_expr.h"
#include "grid/t1.h"

#include <stdlib.h>
#include <string.h>

enum { MOST_STEPS = 20000000, MOST_EXTRA = 1000000 };

/* ---- instances and values ---- */

static int by_values(const void *a, const void *b)
{
    const struct ks_instance *const *x = a, *const *y = b;

    return memcmp((*x)->value, (*y)->value, KS_TRAITS_MAX);
}

/* is_before[t][u][v]: an instance with value u of trait t stands directly before one that has v
 * there and the same in all traits before t. */
struct order {
    bool is_seen[KS_TRAITS_MAX][KS_TRAIT_VALUES_MAX];
    bool is_before[KS_TRAITS_MAX][KS_TRAIT_VALUES_MAX][KS_TRAIT_VALUES_MAX];
};

static void note_values(struct order *o, const struct ks_t1_space *s, const struct ks_instance *i,
                        const struct ks_instance *previous)
{
    uint32_t t = 0;

    for (uint32_t k = 0; k < s->f->n_traits; k++)
        o->is_seen[k][i->value[k]] = true;
    while (previous && t < s->f->n_traits && previous->value[t] == i->value[t])
        t++;
    if (previous && t < s->f->n_traits)
        o->is_before[t][previous->value[t]][i->value[t]] = true;
}

static bool is_free(const struct order *o, uint32_t t, uint32_t v)
{
    for (uint32_t u = 0; u < KS_TRAIT_VALUES_MAX; u++)
        if (o->is_seen[t][u] && o->is_before[t][u][v])
            return false;
    return true;
}

/* An order in which all combinations come as the instances do, if there is one: each next value is
 * the first in the family's order that none of the others precedes. */
static void order_values(struct order *o, struct ks_t1_space *s, uint32_t t)
{
    for (;;) {
        int next = -1;

        for (uint32_t v = KS_TRAIT_VALUES_MAX; v-- > 0;)
            if (o->is_seen[t][v] &&
                (next < 0 || is_free(o, t, v) || !is_free(o, t, (uint32_t)next)))
                next = (int)v;
        if (next < 0)
            return;
        s->value[t][s->n[t]++] = (uint8_t)next;
        o->is_seen[t][next] = false;
    }
}

static int take_values(struct ks_t1_space *s, struct ks_err *err)
{
    struct order *o = calloc(1, sizeof *o);

    if (!o)
        return ks_fail(err, KS_ENOMEM, "no memory to export instances");
    for (uint32_t i = 0; i < s->n_instances; i++)
        note_values(o, s, s->instances[i], i ? s->instances[i - 1] : NULL);
    for (uint32_t t = 0; t < s->f->n_traits; t++)
        order_values(o, s, t);
    free(o);
    return 0;
}

static int take_instances(struct ks_t1_space *s, const struct ks_kernel_set *set,
                          struct ks_err *err)
{
    int rc;

    if (set->n_instances == 0)
        return ks_fail(err, KS_EINVAL, "no instance to export");
    s->f = &set->families[set->instances[0].i_family];
    s->instances = calloc(set->n_instances, sizeof *s->instances);
    if (!s->instances)
        return ks_fail(err, KS_ENOMEM, "no memory to export instances");
    for (uint32_t i = 0; i < set->n_instances; i++) {
        const struct ks_instance *k = &set->instances[i];

        if (k->i_family != set->instances[0].i_family)
            return ks_fail(err, KS_EUNSUPPORTED,
                           "a T1 file holds one kernel family, here are '%s' and '%s': export one "
                           "config at a time, or as JSON",
                           s->f->name, set->families[k->i_family].name);
        s->instances[s->n_instances++] = k;
    }
    rc = take_values(s, err);
    qsort(s->instances, s->n_instances, sizeof *s->instances, by_values);
    return rc;
}

/* ---- rules and filters that T1 can say ---- */

static const char *name_in_t1(const void *family, const char *name)
{
    const struct ks_family *f = family;
    int t = ks_family_name_trait(f, name);

    if (t < 0 || (strcmp(f->traits[t].name, name) != 0 && strcmp(f->traits[t].key, name) != 0))
        return NULL;
    return f->traits[t].name;
}

/* Attributes have no name in T1, and texts in texts no form. */
static bool has_form(const struct ks_t1_space *s, const struct ks_expr *e, bool is_rule)
{
    struct ks_buf text;
    bool is_said;

    ks_buf_init(&text);
    is_said = ks_expr_print_plain(e, is_rule, name_in_t1, s->f, KS_T1_CONDITION, &text);
    ks_buf_release(&text);
    return is_said;
}

/* Rules of a T1 file are "not (EXPRESSION)": they go back as they came. */
static bool is_from_t1(const struct ks_t1_space *s, bool is_rule)
{
    return is_rule && strcmp(s->f->op, "none") == 0;
}

static int give(struct ks_t1_space *s, const char *text, bool is_rule, struct ks_err *err)
{
    struct ks_expr *e = NULL;
    int rc;

    if (s->n_given == KS_RULES_MAX)
        return 0;
    rc = is_from_t1(s, is_rule) ? ks_family_condition(s->f, text, &e, err)
                                : ks_family_expr(s->f, text, &e, err);
    if (rc < 0)
        return rc;
    if (!is_from_t1(s, is_rule) && !has_form(s, e, is_rule)) {
        ks_expr_free(e);
        return 0;
    }
    s->given[s->n_given] = e;
    s->given_text[s->n_given] = text;
    s->is_rule[s->n_given++] = is_rule;
    return 0;
}

static int give_all(struct ks_t1_space *s, const char *const *filters, struct ks_err *err)
{
    int rc = 0;

    for (uint32_t r = 0; rc == 0 && r < s->f->n_rules; r++)
        rc = give(s, s->f->rules[r].when, true, err);
    for (; rc == 0 && *filters; filters++)
        rc = give(s, *filters, false, err);
    return rc;
}

/* ---- combinations that nothing keeps out although they are no instances ---- */

struct walk {
    struct ks_t1_space *s;
    struct ks_instance i;
    uint32_t level[KS_RULES_MAX]; /* the last trait that is named */
    struct ks_buf extra;          /* n_traits bytes each */
    uint32_t n_extra, n_met, n_steps;
    struct ks_err *err;
};

static uint32_t level_of(const struct ks_family *f, const struct ks_expr *e)
{
    const char *name;
    int32_t at = 0;
    int most = 0;

    while ((name = ks_expr_next_name(e, &at)) != NULL) {
        int t = ks_family_name_trait(f, name);

        most = t > most ? t : most;
    }
    return (uint32_t)most;
}

static int evaluate(struct walk *w, uint32_t t, bool *is_out)
{
    struct ks_family_scope scope = { w->s->f, &w->i };
    int rc = 0;

    *is_out = false;
    for (uint32_t k = 0; rc == 0 && !*is_out && k < w->s->n_given; k++) {
        bool is_true;

        if (w->level[k] != t)
            continue;
        rc = ks_expr_test(w->s->given[k], ks_family_name, &scope, &is_true, w->err);
        *is_out = rc == 0 && is_true == w->s->is_rule[k];
        w->s->n_hits[k] += *is_out;
    }
    return rc;
}

static int take(struct walk *w)
{
    const struct ks_instance *key = &w->i;

    if (bsearch(&key, w->s->instances, w->s->n_instances, sizeof *w->s->instances, by_values)) {
        w->n_met++;
        return 0;
    }
    if (++w->n_extra > MOST_EXTRA)
        return ks_fail(w->err, KS_EUNSUPPORTED,
                       "the set is too far from a product with conditions for T1: more than %d "
                       "combinations of its values are not in it (export it as JSON)",
                       MOST_EXTRA);
    ks_buf_put(&w->extra, w->i.value, w->s->f->n_traits);
    return ks_buf_ok(&w->extra) ? 0 : ks_fail(w->err, KS_ENOMEM, "no memory for combinations");
}

static int step(struct walk *w, uint32_t t)
{
    const struct ks_t1_space *s = w->s;
    int rc = 0;

    if (t == s->f->n_traits)
        return take(w);
    for (uint32_t k = 0; rc == 0 && k < s->n[t]; k++) {
        bool is_out;

        if (++w->n_steps > MOST_STEPS)
            return ks_fail(w->err, KS_EUNSUPPORTED,
                           "the set's values have too many combinations for T1 (export it as "
                           "JSON)");
        w->i.value[t] = s->value[t][k];
        rc = evaluate(w, t, &is_out);
        if (rc == 0 && !is_out)
            rc = step(w, t + 1);
    }
    return rc;
}

static int find_extra(struct walk *w)
{
    int rc;

    for (uint32_t k = 0; k < w->s->n_given; k++)
        w->level[k] = level_of(w->s->f, w->s->given[k]);
    rc = step(w, 0);
    if (rc == 0 && w->n_met != w->s->n_instances)
        rc = ks_fail(w->err, KS_EINVAL, "a filter does not hold for all instances of the set");
    return rc;
}

/* ---- conditions ---- */

int ks_t1_condition(struct ks_t1_space *s, const char *text, struct ks_err *err)
{
    if (s->n_conditions == KS_RULES_MAX)
        return ks_fail(err, KS_EUNSUPPORTED,
                       "the set is not a product with conditions that fit T1: it needs more than "
                       "%d of them (export it as JSON)",
                       KS_RULES_MAX);
    ks_buf_put(&s->conditions, text, strlen(text) + 1);
    s->n_conditions++;
    return ks_buf_ok(&s->conditions) ? 0 : ks_fail(err, KS_ENOMEM, "no memory for conditions");
}

static int say(struct ks_t1_space *s, uint32_t k, struct ks_err *err)
{
    struct ks_buf text;
    int rc;

    ks_buf_init(&text);
    if (is_from_t1(s, s->is_rule[k])) {
        size_t n = strlen(s->given_text[k]);

        ks_buf_put(&text, s->given_text[k] + sizeof "not (" - 1, n - (sizeof "not ()" - 1));
    } else {
        ks_expr_print_plain(s->given[k], s->is_rule[k], name_in_t1, s->f, KS_T1_CONDITION, &text);
    }
    rc = ks_t1_condition(s, ks_buf_text(&text), err);
    ks_buf_release(&text);
    return rc;
}

/* What keeps nothing out is left away, unless the family came with it. */
static int say_given(struct ks_t1_space *s, struct ks_err *err)
{
    int rc = 0;

    for (uint32_t k = 0; rc == 0 && k < s->n_given; k++)
        if (s->n_hits[k] || is_from_t1(s, s->is_rule[k]))
            rc = say(s, k, err);
    return rc;
}

int ks_t1_space_init(struct ks_t1_space *s, const struct ks_kernel_set *set,
                     const char *const *filters, struct ks_err *err)
{
    struct walk w = { .s = s, .err = err };
    int rc = take_instances(s, set, err);

    ks_buf_init(&w.extra);
    if (rc == 0)
        rc = give_all(s, filters, err);
    if (rc == 0)
        rc = find_extra(&w);
    if (rc == 0)
        rc = say_given(s, err);
    if (rc == 0 && w.n_extra > 0)
        rc = ks_t1_conditions_against(s, w.extra.data, w.n_extra, err);
    ks_buf_release(&w.extra);
    return rc;
}

void ks_t1_space_release(struct ks_t1_space *s)
{
    for (uint32_t k = 0; k < s->n_given; k++)
        ks_expr_free(s->given[k]);
    free(s->instances);
    ks_buf_release(&s->conditions);
    *s = (struct ks_t1_space){ 0 };
}
