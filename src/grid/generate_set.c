/* SPDX-License-Identifier: MIT */
/* generate_set.c - runs a set of a problem generator: each combination becomes a problem */
#include "grid/generate.h"

#include <stdio.h>
#include <string.h>

static int word_index(int target, const char *text)
{
    if (target == KS_GEN_DIRECTION)
        return ks_direction_from(text);
    return target == KS_GEN_DTYPE ? ks_dtype_from(text) : ks_layout_from(text);
}

static int refuse_word(const struct ks_gen_set *s, const struct ks_gen_name *name,
                       const struct ks_node *n)
{
    struct ks_buf known;
    int rc;

    ks_buf_init(&known);
    ks_word_put_known(name->name, name->text, &known);
    rc = ks_node_fail(s->doc, n, s->im->err, "'%s' is not a known %s%s", name->text, name->name,
                      ks_buf_text(&known));
    ks_buf_release(&known);
    return rc;
}

int ks_gen_assign(const struct ks_gen_set *s, struct ks_gen_name *name, const struct ks_node *n)
{
    bool is_word = name->target >= KS_GEN_DIRECTION && name->target <= KS_GEN_LAYOUT;
    int rc;

    name->text = NULL;
    if (!is_word) {
        rc = ks_node_int(s->doc, n, &name->value, s->im->err);
    } else {
        rc = ks_node_str(s->doc, n, &name->text, s->im->err);
        if (rc == 0)
            name->value = word_index(name->target, name->text);
        if (rc == 0 && name->value < 0)
            rc = refuse_word(s, name, n);
    }
    name->is_set = rc == 0;
    return rc;
}

bool ks_gen_lookup(const void *set, const char *name, struct ks_expr_value *out)
{
    const struct ks_gen_set *s = set;
    int dim;

    for (int i = 0; i < s->n_names; i++)
        if (s->names[i].is_set && strcmp(s->names[i].name, name) == 0) {
            out->kind = s->names[i].text ? KS_EXPR_IS_TEXT : KS_EXPR_IS_INT;
            out->whole = s->names[i].value;
            out->text = s->names[i].text;
            return true;
        }
    dim = ks_problem_dim(s->op, name);
    if (dim < 0 || ks_operators[s->op]->dim_defaults[dim] == INT64_MIN)
        return false;
    out->kind = KS_EXPR_IS_INT;
    out->whole = ks_operators[s->op]->dim_defaults[dim];
    return true;
}

static int assign_row(struct ks_gen_set *s, const struct ks_gen_loop *l)
{
    const struct ks_node *n = l->n_names == 1 ? l->row : ks_node_first(l->row);
    int rc = 0;

    for (int i = 0; rc == 0 && i < l->n_names; i++, n = ks_node_next(n))
        rc = ks_gen_assign(s, &s->names[l->first_name + i], n);
    return rc;
}

/* The names behind the loops. 1: done; 0: the combination was refused; < 0: error. */
static int compute(struct ks_gen_set *s)
{
    struct ks_err why;
    int rc;

    for (int i = 0; i < s->n_names; i++) {
        struct ks_gen_name *n = &s->names[i];

        if (n->is_loop)
            continue;
        if (!n->expr) {
            rc = ks_gen_assign(s, n, n->node);
            if (rc < 0)
                return rc;
            continue;
        }
        if (ks_expr_value(n->expr, ks_gen_lookup, s, &n->value, &why) < 0) {
            rc = ks_import_refuse(s->im, "set '%.40s': %s: %.200s", s->name, n->name, why.text);
            return rc < 0 ? rc : 0;
        }
        n->is_set = true;
    }
    return 1;
}

/* 1: wanted; 0: left out, or refused; < 0: error. */
static int test_when(struct ks_gen_set *s)
{
    struct ks_err why;
    bool is_wanted = true;
    int rc;

    if (!s->when || ks_expr_test(s->when, ks_gen_lookup, s, &is_wanted, &why) == 0)
        return is_wanted;
    rc = ks_import_refuse(s->im, "set '%.40s': when: %.200s", s->name, why.text);
    return rc < 0 ? rc : 0;
}

static void fill(struct ks_problem *p, const struct ks_gen_name *n)
{
    if (n->target < KS_MAX_DIMS)
        p->dim[n->target] = n->value;
    else if (n->target == KS_GEN_DIRECTION)
        p->direction = (uint32_t)n->value;
    else if (n->target == KS_GEN_DTYPE)
        p->dtype = (uint32_t)n->value;
    else if (n->target == KS_GEN_LAYOUT)
        p->layout = (uint32_t)n->value;
    else if (n->target == KS_GEN_COUNT)
        p->count = n->value;
}

/* Which of the loops' values a refusal speaks of: "hi=8 c_total=64". */
static void describe(const struct ks_gen_set *s, char *out, size_t cap)
{
    size_t used = 0;

    out[0] = '\0';
    for (int i = 0; i < s->n_names && used < cap; i++)
        if (s->names[i].is_loop && !s->names[i].text)
            used += (size_t)snprintf(out + used, cap - used, " %s=%lld", s->names[i].name,
                                     (long long)s->names[i].value);
}

static int take_combination(struct ks_gen_set *s)
{
    struct ks_problem p = ks_problem_blank(s->op);
    char where[64];
    struct ks_err why;
    int rc = compute(s);

    if (rc == 1)
        rc = test_when(s);
    if (rc <= 0)
        return rc;
    memcpy(p.name, s->name, sizeof p.name);
    for (int i = 0; i < s->n_names; i++)
        fill(&p, &s->names[i]);
    if (ks_problem_finish(&p, &why) == 0)
        return ks_import_take(s->im, &p, 1);
    if (why.code == KS_ENOMEM)
        return ks_import_refuse_err(s->im, &why);
    describe(s, where, sizeof where);
    return ks_import_refuse(s->im, "set '%.30s',%s: %.100s", s->name, where, why.text);
}

/* The next combination; false behind the last. */
static bool advance(struct ks_gen_set *s)
{
    for (int i = s->n_loops - 1; i >= 0; i--) {
        struct ks_gen_loop *l = &s->loops[i];

        l->row = ks_node_next(l->row);
        if (l->row)
            return true;
        l->row = ks_node_first(l->list);
    }
    return false;
}

/* Combinations of the loops, at most `most` + 1: that many are not counted. */
static uint64_t count_combinations(const struct ks_gen_set *s, uint64_t most)
{
    uint64_t n = 1;

    for (int i = 0; i < s->n_loops; i++) {
        const uint64_t n_rows = ks_node_size(s->loops[i].list);

        n = n_rows > most / n ? most + 1 : n * n_rows;
    }
    return n;
}

int ks_gen_run(struct ks_gen_set *s)
{
    const uint64_t n = count_combinations(s, s->n_left);
    int rc = 0;

    if (n > s->n_left)
        return ks_node_fail(s->doc, s->node, s->im->err, "the file has more than %d combinations",
                            KS_GEN_MOST);
    s->n_left -= n;
    for (int i = 0; i < s->n_loops; i++)
        s->loops[i].row = ks_node_first(s->loops[i].list);
    do {
        for (int i = 0; i < s->n_names; i++)
            s->names[i].is_set = false;
        for (int i = 0; rc == 0 && i < s->n_loops; i++)
            rc = assign_row(s, &s->loops[i]);
        if (rc == 0)
            rc = take_combination(s);
    } while (rc == 0 && advance(s));
    return rc;
}
