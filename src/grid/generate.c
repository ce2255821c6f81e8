/* SPDX-License-Identifier: MIT */
/* generate.c - reads problem generators: JSON sets of loops, values and conditions */
/* See docs/problem-lists.md, "Generators". */
#include "grid/generate.h"

#include "grid/fields.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define LETTERS "abcdefghijklmnopqrstuvwxyz_0123456789"

static const char *const words[] = { "direction", "dtype", "layout", "count", NULL };

static int target_of(uint32_t op, const char *name)
{
    int dim = ks_problem_dim(op, name);

    if (dim >= 0)
        return dim;
    for (int i = 0; words[i]; i++)
        if (strcmp(words[i], name) == 0)
            return KS_GEN_DIRECTION + i;
    return KS_GEN_HELPER;
}

static struct ks_gen_name *find_name(struct ks_gen_set *s, const char *name)
{
    for (int i = 0; i < s->n_names; i++)
        if (strcmp(s->names[i].name, name) == 0)
            return &s->names[i];
    return NULL;
}

/* A new name of n characters; `at` is where the document has it. */
static int add_name(struct ks_gen_set *s, const struct ks_node *at, const char *text, size_t n,
                    struct ks_gen_name **out)
{
    struct ks_gen_name *name = &s->names[s->n_names];

    if (s->n_names == KS_GEN_NAMES)
        return ks_node_fail(s->doc, at, s->im->err, "more than %d names", KS_GEN_NAMES);
    if (n == 0 || n >= sizeof name->name || strspn(text, LETTERS) < n ||
        strchr("0123456789", text[0]))
        return ks_node_fail(s->doc, at, s->im->err,
                            "'%.*s' is not a name (lower-case letters, digits, _)",
                            (int)(n < 40 ? n : 40), text);
    memcpy(name->name, text, n);
    name->name[n] = '\0';
    if (find_name(s, name->name))
        return ks_node_fail(s->doc, at, s->im->err, "duplicate '%s'", name->name);
    name->target = target_of(s->op, name->name);
    s->n_names++;
    *out = name;
    return 0;
}

/* The rows of a loop: each has as many values as the loop has names, all of the right kind. */
static int check_rows(struct ks_gen_set *s, const struct ks_gen_loop *l)
{
    int rc = 0;

    for (const struct ks_node *row = ks_node_first(l->list); rc == 0 && row;
         row = ks_node_next(row)) {
        const struct ks_node *n = row;

        if (l->n_names > 1 &&
            (ks_node_kind(row) != KS_JSON_ARRAY || ks_node_size(row) != (size_t)l->n_names))
            return ks_node_fail(s->doc, row, s->im->err, "expected a list of %d values",
                                l->n_names);
        if (l->n_names > 1)
            n = ks_node_first(row);
        for (int i = 0; rc == 0 && i < l->n_names; i++, n = ks_node_next(n))
            rc = ks_gen_assign(s, &s->names[l->first_name + i], n);
    }
    return rc;
}

/* "hi": [8, 16] or "c_total, k_total": [[64, 128], [128, 256]]. */
static int read_loop(struct ks_gen_set *s, const struct ks_node *list)
{
    struct ks_gen_loop *l = &s->loops[s->n_loops];
    const char *key = ks_node_key(list);
    int rc = 0;

    if (s->n_loops == KS_GEN_LOOPS)
        return ks_node_fail(s->doc, list, s->im->err, "more than %d lists", KS_GEN_LOOPS);
    if (ks_node_kind(list) != KS_JSON_ARRAY || ks_node_size(list) == 0)
        return ks_node_fail(s->doc, list, s->im->err, "expected a list of values");
    *l = (struct ks_gen_loop){ .first_name = s->n_names, .list = list };
    while (rc == 0 && key) {
        const char *comma = strchr(key, ',');
        size_t n = comma ? (size_t)(comma - key) : strlen(key);
        struct ks_gen_name *name = NULL;

        if (l->n_names == KS_GEN_COLUMNS)
            return ks_node_fail(s->doc, list, s->im->err, "more than %d names", KS_GEN_COLUMNS);
        rc = add_name(s, list, key, n, &name);
        if (rc < 0)
            return rc;
        name->is_loop = true;
        l->n_names++;
        key = comma ? comma + 1 + strspn(comma + 1, " ") : NULL;
    }
    s->n_loops++;
    return check_rows(s, l);
}

static void note_use(struct ks_gen_set *s, const struct ks_expr *e)
{
    const char *used;
    int32_t at = 0;

    while ((used = ks_expr_next_name(e, &at)) != NULL) {
        struct ks_gen_name *n = find_name(s, used);

        if (n)
            n->is_used = true;
    }
}

/* Parses the text of node `n` and checks its names. */
static int read_expr(struct ks_gen_set *s, const struct ks_node *n, struct ks_expr **out)
{
    const char *known[KS_GEN_NAMES + KS_MAX_DIMS + 1], *text;
    char where[256];
    int k = 0, rc = ks_node_str(s->doc, n, &text, s->im->err);

    if (rc < 0)
        return rc;
    for (int i = 0; i < s->n_names; i++)
        known[k++] = s->names[i].name;
    for (int i = 0; ks_operators[s->op]->dim_names[i]; i++)
        if (ks_operators[s->op]->dim_defaults[i] != INT64_MIN)
            known[k++] = ks_operators[s->op]->dim_names[i];
    known[k] = NULL;
    rc = ks_expr_parse(text, out, s->im->err);
    if (rc == 0)
        rc = ks_expr_check(*out, ks_gen_lookup, NULL, known, s, s->im->err);
    if (rc == 0) {
        note_use(s, *out);
        return 0;
    }
    ks_node_where(s->doc, n, where, sizeof where);
    return ks_err_context(s->im->err, rc, "%s", where);
}

/* "wi": "hi", "n": 1, "dtype": "bf16". */
static int read_let(struct ks_gen_set *s, const struct ks_node *n)
{
    struct ks_gen_name *name = NULL;
    struct ks_expr *expr = NULL;
    int target = target_of(s->op, ks_node_key(n)), rc = 0;
    bool is_word = target >= KS_GEN_DIRECTION && target <= KS_GEN_LAYOUT;

    if (!is_word && ks_node_kind(n) == KS_JSON_STRING)
        rc = read_expr(s, n, &expr);
    if (rc == 0)
        rc = add_name(s, n, ks_node_key(n), strlen(ks_node_key(n)), &name);
    if (rc < 0) {
        ks_expr_free(expr);
        return rc;
    }
    name->node = n;
    name->expr = expr;
    name->is_set = true;
    return expr ? 0 : ks_gen_assign(s, name, n);
}

/* The set's own, or the document's: they fill in what the set leaves open. */
static int read_lets(struct ks_gen_set *s, const struct ks_node *obj, bool is_own)
{
    int rc = 0;

    if (obj && ks_node_kind(obj) != KS_JSON_OBJECT)
        return ks_node_fail(s->doc, obj, s->im->err, "expected an object { ... }");
    for (const struct ks_node *n = obj ? ks_node_first(obj) : NULL; rc == 0 && n;
         n = ks_node_next(n))
        if (is_own || !find_name(s, ks_node_key(n)))
            rc = read_let(s, n);
    return rc;
}

/* A name that fills nothing and that no expression uses is a slip of the pen. */
static int check_used(struct ks_gen_set *s)
{
    char hint[64];

    for (int i = 0; i < s->n_names; i++) {
        if (s->names[i].target != KS_GEN_HELPER || s->names[i].is_used)
            continue;
        ks_grid_field_hint(s->names[i].name, ks_operators[s->op]->dim_names, hint, sizeof hint);
        return ks_node_fail(s->doc, s->node, s->im->err,
                            "'%s' is not a dimension of %s and no expression uses it%s",
                            s->names[i].name, ks_operators[s->op]->name, hint);
    }
    return 0;
}

/* Direction, dtype and layout must be said, as in the columns of a CSV: nothing is assumed. */
static int check_words(struct ks_gen_set *s)
{
    for (int target = KS_GEN_DIRECTION; target <= KS_GEN_LAYOUT; target++)
        if (!find_name(s, words[target - KS_GEN_DIRECTION]))
            return ks_node_fail(s->doc, s->node, s->im->err,
                                "'%s' is missing: set it in 'let' or 'for'",
                                words[target - KS_GEN_DIRECTION]);
    return 0;
}

static int read_set(struct ks_gen_set *s, const struct ks_node *root)
{
    static const char *const keys[] = { "name", "why", "for", "let", "when", NULL };
    const struct ks_node *loops = ks_node_at(s->node, "for");
    char ignored[512];
    int rc;

    if (ks_node_kind(s->node) != KS_JSON_OBJECT)
        return ks_node_fail(s->doc, s->node, s->im->err, "expected an object { ... }");
    rc = ks_node_only(s->doc, s->node, keys, s->im->err);
    if (rc == 0)
        rc = ks_grid_field_text(s->doc, s->node, "name", NULL, s->name, sizeof s->name, s->im->err);
    if (rc == 0)
        rc = ks_grid_field_text(s->doc, s->node, "why", "", ignored, sizeof ignored, s->im->err);
    if (rc == 0 && loops && ks_node_kind(loops) != KS_JSON_OBJECT)
        rc = ks_node_fail(s->doc, loops, s->im->err, "expected an object { ... }");
    for (const struct ks_node *n = loops ? ks_node_first(loops) : NULL; rc == 0 && n;
         n = ks_node_next(n))
        rc = read_loop(s, n);
    if (rc == 0)
        rc = read_lets(s, ks_node_at(s->node, "let"), true);
    if (rc == 0)
        rc = read_lets(s, ks_node_at(root, "let"), false);
    s->when_node = ks_node_at(s->node, "when");
    if (rc == 0 && s->when_node)
        rc = read_expr(s, s->when_node, &s->when);
    if (rc == 0)
        rc = check_used(s);
    return rc < 0 ? rc : check_words(s);
}

static int run_set(struct ks_import *im, const struct ks_json *doc, uint32_t op,
                   const struct ks_node *node, uint64_t *n_left)
{
    struct ks_gen_set *s = calloc(1, sizeof *s);
    int rc;

    if (!s)
        return ks_fail(im->err, KS_ENOMEM, "no memory for a problem set");
    s->im = im;
    s->doc = doc;
    s->op = op;
    s->node = node;
    s->n_left = *n_left;
    im->line = ks_node_line(node);
    rc = read_set(s, ks_json_root(doc));
    if (rc < 0 && s->name[0])
        ks_err_context(im->err, rc, "set '%.40s'", s->name);
    if (rc == 0)
        rc = ks_gen_run(s);
    *n_left = s->n_left;
    for (int i = 0; i < s->n_names; i++)
        ks_expr_free(s->names[i].expr);
    ks_expr_free(s->when);
    free(s);
    return rc;
}

static int read_operator(const struct ks_json *doc, uint32_t *op_out, struct ks_err *err)
{
    char name[64], where[256];
    const struct ks_node *root = ks_json_root(doc);
    int rc = ks_grid_field_text(doc, root, "operator", NULL, name, sizeof name, err);

    if (rc < 0 || ks_operator_find(name, op_out, err) == 0)
        return rc;
    ks_node_where(doc, ks_node_at(root, "operator"), where, sizeof where);
    return ks_err_context(err, KS_EINVAL, "%s", where);
}

static int read_document(struct ks_import *im, const struct ks_json *doc)
{
    static const char *const keys[] = { "operator", "why", "let", "sets", NULL };
    const struct ks_node *root = ks_json_root(doc), *sets = NULL;
    uint64_t n_left = KS_GEN_MOST;
    uint32_t op = 0;
    char ignored[1024];
    int rc;

    if (ks_node_kind(root) != KS_JSON_OBJECT)
        return ks_node_fail(doc, root, im->err, "expected an object { ... }");
    rc = ks_node_only(doc, root, keys, im->err);
    if (rc == 0)
        rc = read_operator(doc, &op, im->err);
    if (rc == 0)
        rc = ks_grid_field_text(doc, root, "why", "", ignored, sizeof ignored, im->err);
    if (rc == 0)
        rc = ks_grid_field_node(doc, root, "sets", KS_JSON_ARRAY, &sets, im->err);
    for (const struct ks_node *n = rc == 0 ? ks_node_first(sets) : NULL; rc == 0 && n;
         n = ks_node_next(n))
        rc = run_set(im, doc, op, n, &n_left);
    return rc;
}

/* Another JSON file (a job, a kernel config) has no "sets". */
static bool generator_sniff(const char *text, size_t len)
{
    size_t at = len >= 3 && memcmp(text, "\xef\xbb\xbf", 3) == 0 ? 3 : 0;

    while (at < len && strchr(" \t\r\n", text[at]) && text[at])
        at++;
    return at < len && text[at] == '{' && memmem(text, len, "\"sets\"", 6) != NULL;
}

static int generator_read(struct ks_problem_set *set, const char *text, size_t len,
                          const char *name, bool strict, struct ks_err *err)
{
    struct ks_json *doc = NULL;
    struct ks_import im;
    uint64_t n_lines = len > 0 && text[len - 1] != '\n';
    int rc = ks_json_parse(text, len, name, &doc, err);

    ks_import_start(&im, set, text, len, name, strict, err);
    for (size_t i = 0; i < len; i++)
        n_lines += text[i] == '\n';
    if (rc == 0)
        rc = read_document(&im, doc);
    if (rc == 0) {
        set->n_lines += n_lines;
        set->n_other += n_lines;
    }
    ks_import_stop(&im);
    ks_json_close(doc);
    return rc;
}

const struct ks_importer ks_import_generator = { .name = "generator",
                                                 .sniff = generator_sniff,
                                                 .read = generator_read };
