/* SPDX-License-Identifier: MIT */
/* t1_conditions.c - finds conditions that exclude the combinations which no rule excludes */
/* The traits that distinguish them from the instances, and a tree of decisions over their values,
 * written as few conditions. */
#include "grid/t1_space.h"

#include <stdlib.h>
#include <string.h>

enum { WIDTH = KS_TRAITS_MAX };

/* A combination; traits that do not matter are 0. */
struct row {
    uint8_t value[WIDTH];
    uint8_t is_in;
};

struct tree {
    struct ks_t1_space *s;
    struct row *rows; /* [n] sorted and distinct */
    uint32_t n;
    uint32_t trait[KS_TRAITS_MAX]; /* [n_traits] that matter */
    uint32_t n_traits;
    struct ks_err *err;
};

enum state { ALL, NONE, SOME, TOO_LONG };

void ks_t1_literal(const struct ks_trait *t, uint32_t i_value, struct ks_buf *text_out)
{
    const char *text = t->text[i_value];
    char quote = strchr(text, '\'') ? '"' : '\'';

    if (t->kind == KS_TRAIT_NAME && !t->is_real)
        ks_buf_printf(text_out, "%c%s%c", quote, text, quote);
    else
        ks_buf_printf(text_out, "%s", text);
}

/* ---- the traits that matter ---- */

static int by_row(const void *a, const void *b)
{
    return memcmp(a, b, sizeof(struct row));
}

/* Sorts and drops repetitions. false: a combination is both in and out. */
static bool tidy(struct row *rows, uint32_t *n)
{
    uint32_t kept = 0;

    qsort(rows, *n, sizeof *rows, by_row);
    for (uint32_t i = 0; i < *n; i++) {
        if (kept > 0 && by_row(&rows[kept - 1], &rows[i]) == 0)
            continue;
        if (kept > 0 && memcmp(rows[kept - 1].value, rows[i].value, WIDTH) == 0)
            return false;
        rows[kept++] = rows[i];
    }
    *n = kept;
    return true;
}

/* Without trait t, if what is in can still be told from what is out. */
static int try_without(struct tree *tree, uint32_t t, bool *is_without)
{
    struct row *less = malloc((size_t)tree->n * sizeof *less);
    uint32_t n = tree->n;

    if (!less)
        return ks_fail(tree->err, KS_ENOMEM, "no memory for conditions");
    memcpy(less, tree->rows, (size_t)n * sizeof *less);
    for (uint32_t i = 0; i < n; i++)
        less[i].value[t] = 0;
    *is_without = tidy(less, &n);
    if (!*is_without) {
        free(less);
        return 0;
    }
    free(tree->rows);
    tree->rows = less;
    tree->n = n;
    return 0;
}

static int choose_traits(struct tree *tree)
{
    uint32_t n = tree->s->f->n_traits;
    bool is_without[KS_TRAITS_MAX] = { false };
    int rc = 0;

    for (uint32_t t = n; rc == 0 && t-- > 0;)
        rc = try_without(tree, t, &is_without[t]);
    for (uint32_t t = 0; rc == 0 && t < n; t++)
        if (!is_without[t])
            tree->trait[tree->n_traits++] = t;
    return rc;
}

static int fill_rows(struct tree *tree, const uint8_t *extra, uint32_t n_extra)
{
    const struct ks_t1_space *s = tree->s;
    uint32_t width = s->f->n_traits;

    tree->rows = calloc((size_t)s->n_instances + n_extra, sizeof *tree->rows);
    if (!tree->rows)
        return ks_fail(tree->err, KS_ENOMEM, "no memory for conditions");
    for (uint32_t i = 0; i < s->n_instances; i++) {
        memcpy(tree->rows[tree->n].value, s->instances[i]->value, width);
        tree->rows[tree->n++].is_in = 1;
    }
    for (uint32_t i = 0; i < n_extra; i++)
        memcpy(tree->rows[tree->n++].value, extra + (size_t)i * width, width);
    return 0;
}

/* ---- the tree as text ---- */

/* One value of the current trait: rows from .. to. */
struct branch {
    uint32_t from, to;
    uint8_t value;
    enum state state;
    struct ks_buf text; /* SOME: what must hold of the traits behind */
    bool is_said;
};

/* The branches of rows from .. to at trait number `depth`. */
static uint32_t split(const struct tree *tree, uint32_t from, uint32_t to, uint32_t depth,
                      struct branch *out)
{
    uint32_t t = tree->trait[depth], n = 0;

    for (uint32_t i = from; i < to; i++) {
        if (n == 0 || tree->rows[i].value[t] != out[n - 1].value) {
            out[n] = (struct branch){ .from = i, .value = tree->rows[i].value[t] };
            ks_buf_init(&out[n++].text);
        }
        out[n - 1].to = i + 1;
    }
    return n;
}

static enum state state_of(const struct tree *tree, uint32_t from, uint32_t to)
{
    uint32_t n_in = 0;

    for (uint32_t i = from; i < to; i++)
        n_in += tree->rows[i].is_in;
    if (n_in == 0)
        return NONE;
    return n_in == to - from ? ALL : SOME;
}

static void put_compare(const struct tree *tree, uint32_t depth, const char *sign, uint8_t value,
                        struct ks_buf *out)
{
    const struct ks_trait *t = &tree->s->f->traits[tree->trait[depth]];

    ks_buf_printf(out, "%s %s ", t->name, sign);
    ks_t1_literal(t, value, out);
}

static bool is_like(const struct branch *a, const struct branch *b)
{
    return a->state == b->state &&
           (a->state != SOME || strcmp(ks_buf_text(&a->text), ks_buf_text(&b->text)) == 0);
}

/* "x == 1 or x == 2" of all branches like number k, or "x != 3" where that says the same; brackets
 * where it is more than one comparison. */
static void put_values(const struct tree *tree, uint32_t depth, struct branch *b, uint32_t n,
                       uint32_t k, struct ks_buf *out)
{
    uint32_t n_like = 0, n_put = 0;
    bool is_turned, is_many;

    for (uint32_t i = 0; i < n; i++)
        n_like += is_like(&b[i], &b[k]);
    is_turned = n_like > n - n_like;
    is_many = (is_turned ? n - n_like : n_like) > 1;
    ks_buf_printf(out, is_many ? "(" : "");
    for (uint32_t i = 0; i < n; i++) {
        bool is_same = is_like(&b[i], &b[k]);

        if (is_same != is_turned) {
            ks_buf_printf(out, n_put++ == 0 ? "" : is_turned ? " and " : " or ");
            put_compare(tree, depth, is_turned ? "!=" : "==", b[i].value, out);
        }
        b[i].is_said |= is_same;
    }
    ks_buf_printf(out, is_many ? ")" : "");
}

/* Is every branch like number k, or in whatever the traits behind are? */
static bool is_rest(const struct branch *b, uint32_t n, uint32_t k)
{
    for (uint32_t i = 0; i < n; i++)
        if (b[i].state != ALL && !is_like(&b[i], &b[k]))
            return false;
    return true;
}

/* "x == 1 or x == 2 and (...)": one term for all branches that are alike. Returns how many. */
static uint32_t put_terms(const struct tree *tree, uint32_t depth, struct branch *b, uint32_t n,
                          struct ks_buf *out)
{
    uint32_t n_terms = 0;

    for (uint32_t k = 0; k < n; k++) {
        bool is_bare = b[k].state == SOME && is_rest(b, n, k);

        if (b[k].is_said || b[k].state == NONE)
            continue;
        ks_buf_printf(out, n_terms++ ? " or " : "");
        if (is_bare) {
            ks_buf_printf(out, "%s", ks_buf_text(&b[k].text));
            for (uint32_t i = 0; i < n; i++)
                b[i].is_said |= is_like(&b[i], &b[k]);
            continue;
        }
        put_values(tree, depth, b, n, k, out);
        if (b[k].state == SOME)
            ks_buf_printf(out, " and %s", ks_buf_text(&b[k].text));
    }
    return n_terms;
}

static void put_branches(const struct tree *tree, uint32_t depth, struct branch *b, uint32_t n,
                         struct ks_buf *out)
{
    struct ks_buf terms;

    ks_buf_init(&terms);
    if (put_terms(tree, depth, b, n, &terms) > 1)
        ks_buf_printf(out, "(%s)", ks_buf_text(&terms));
    else
        ks_buf_printf(out, "%s", ks_buf_text(&terms));
    out->failed |= terms.failed;
    ks_buf_release(&terms);
}

/* What must hold of the traits from `depth` on for rows from .. to to be in. Text only for SOME. */
static enum state describe(const struct tree *tree, uint32_t from, uint32_t to, uint32_t depth,
                           struct ks_buf *out)
{
    struct branch *b;
    enum state state = state_of(tree, from, to);
    uint32_t n;

    if (state != SOME)
        return state;
    b = calloc(KS_TRAIT_VALUES_MAX, sizeof *b);
    n = b ? split(tree, from, to, depth, b) : 0;
    for (uint32_t k = 0; k < n && state == SOME; k++) {
        b[k].state = describe(tree, b[k].from, b[k].to, depth + 1, &b[k].text);
        if (b[k].state == TOO_LONG)
            state = TOO_LONG;
    }
    if (b && state == SOME)
        put_branches(tree, depth, b, n, out);
    for (uint32_t k = 0; k < n; k++)
        ks_buf_release(&b[k].text);
    free(b);
    return !b || out->len > KS_T1_CONDITION || !ks_buf_ok(out) ? TOO_LONG : state;
}

static int put_condition(struct tree *tree, const char *guard, enum state state, const char *text)
{
    struct ks_buf whole;
    int rc;

    ks_buf_init(&whole);
    if (state == NONE)
        ks_buf_put(&whole, guard, strlen(guard) - strlen(" or "));
    else
        ks_buf_printf(&whole, "%s%s", guard, text);
    rc = ks_t1_condition(tree->s, ks_buf_text(&whole), tree->err);
    ks_buf_release(&whole);
    return rc;
}

static int say(struct tree *tree, uint32_t from, uint32_t to, uint32_t depth, const char *guard);

/* One condition, "x != 1 or ...", for each value of a trait. */
static int say_each(struct tree *tree, uint32_t from, uint32_t to, uint32_t depth,
                    const char *guard)
{
    struct branch *b = calloc(KS_TRAIT_VALUES_MAX, sizeof *b);
    uint32_t n = b ? split(tree, from, to, depth, b) : 0;
    struct ks_buf more;
    int rc = b ? 0 : ks_fail(tree->err, KS_ENOMEM, "no memory for conditions");

    ks_buf_init(&more);
    for (uint32_t k = 0; rc == 0 && k < n; k++) {
        ks_buf_clear(&more);
        ks_buf_printf(&more, "%s", guard);
        put_compare(tree, depth, "!=", b[k].value, &more);
        ks_buf_printf(&more, " or ");
        rc = say(tree, b[k].from, b[k].to, depth + 1, ks_buf_text(&more));
    }
    ks_buf_release(&more);
    free(b);
    return rc;
}

/* Conditions that tell rows from .. to, given what `guard` excepts. */
static int say(struct tree *tree, uint32_t from, uint32_t to, uint32_t depth, const char *guard)
{
    struct ks_buf text;
    enum state state;
    int rc = 0;

    ks_buf_init(&text);
    state = describe(tree, from, to, depth, &text);
    if (state == SOME && strlen(guard) + text.len > KS_T1_CONDITION)
        state = TOO_LONG;
    if (state == SOME || state == NONE)
        rc = put_condition(tree, guard, state, ks_buf_text(&text));
    ks_buf_release(&text);
    if (state != TOO_LONG)
        return rc;
    if (depth + 1 < tree->n_traits)
        return say_each(tree, from, to, depth, guard);
    return ks_fail(tree->err, KS_EUNSUPPORTED,
                   "the set is not a product with conditions that are short enough for T1 (export "
                   "it as JSON)");
}

int ks_t1_conditions_against(struct ks_t1_space *s, const uint8_t *extra, uint32_t n_extra,
                             struct ks_err *err)
{
    struct tree tree = { .s = s, .err = err };
    int rc = fill_rows(&tree, extra, n_extra);

    if (rc == 0 && !tidy(tree.rows, &tree.n))
        rc = ks_fail(err, KS_EINVAL, "a combination is in the set and not in it");
    if (rc == 0)
        rc = choose_traits(&tree);
    if (rc == 0)
        rc = say(&tree, 0, tree.n, 0, "");
    free(tree.rows);
    return rc;
}
