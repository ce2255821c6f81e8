/* SPDX-License-Identifier: MIT */
/* forest.c - reads the trees of a saved model, one by one, and walks them */
#include "analysis/model/forest.h"
#include "analysis/model/forest_text.h"
#include "base/array.h"
#include "base/file.h"
#include "json/json.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define FEATURES_MAX 32767
#define NODES_MAX    0xffff

void ks_forest_release(struct ks_forest *f)
{
    free(f->nodes);
    free(f->gain);
    free(f->cover);
    free(f->trees);
    *f = (struct ks_forest){ 0 };
}

double ks_forest_predict(const struct ks_forest *f, const float *row)
{
    const struct ks_sel_model m = { .n_features = f->n_features,
                                    .nodes = f->nodes,
                                    .trees = f->trees,
                                    .n_trees = f->n_trees,
                                    .base = f->base };

    return ks_sel_predict(&m, row);
}

/* ---- reading ---- */

/* The lists of a saved tree. */
enum list { LEFT, RIGHT, FEATURE, CONDITION, DEFAULT_LEFT, GAIN, COVER, N_LISTS };
static const char *const list_names[N_LISTS] = {
    "left_children", "right_children", "split_indices", "split_conditions",
    "default_left",  "loss_changes",   "sum_hessian",
};

struct parse {
    const struct ks_json *doc; /* the model without its trees, or the tree that is read */
    struct ks_forest_text text;
    const char *name;
    struct ks_forest *f;
    struct ks_err *err;
    double *list[N_LISTS]; /* [n] of the tree that is read; owned */
    uint16_t *number;      /* [n] where a saved node stands here, from the root; owned */
    uint32_t *queue;       /* [n] saved numbers in the order in which they stand here; owned */
    size_t n, cap;
};

static int no_memory(struct ks_err *err)
{
    return ks_fail(err, KS_ENOMEM, "out of memory for the trees of a model");
}

static int bad(struct parse *r, const struct ks_node *n, const char *what)
{
    struct ks_err *err = r->err;
    int rc = ks_node_fail(r->doc, n, err, "%s", what);

    if (err)
        err->code = KS_EFORMAT;
    return rc < 0 ? KS_EFORMAT : rc;
}

static const struct ks_node *down(const struct ks_node *n, const char *const *keys)
{
    for (size_t i = 0; n && keys[i]; i++)
        n = ks_node_kind(n) == KS_JSON_OBJECT ? ks_node_at(n, keys[i]) : NULL;
    return n;
}

/* XGBoost writes its parameters as texts: "5E-1". */
static int get_parameter(struct parse *r, const struct ks_node *n, const char *what, double *out)
{
    const char *text = NULL;
    char *end;

    if (ks_node_kind(n) != KS_JSON_STRING || ks_node_str(r->doc, n, &text, r->err) < 0)
        return bad(r, n ? n : ks_json_root(r->doc), what);
    *out = strtod(text, &end);
    return end == text || *end || !isfinite(*out) ? bad(r, n, what) : 0;
}

static int reserve(struct parse *r, size_t n)
{
    if (n <= r->cap)
        return 0;
    for (size_t k = 0; k < N_LISTS; k++) {
        free(r->list[k]);
        r->list[k] = malloc(n * sizeof(*r->list[k]));
        if (!r->list[k])
            return no_memory(r->err);
    }
    free(r->number);
    free(r->queue);
    r->number = malloc(n * sizeof(*r->number));
    r->queue = malloc(n * sizeof(*r->queue));
    r->cap = n;
    return r->number && r->queue ? 0 : no_memory(r->err);
}

static int get_list(struct parse *r, const struct ks_node *tree, enum list which)
{
    const struct ks_node *list = ks_node_at(tree, list_names[which]), *at;
    size_t i = 0;

    if (ks_node_kind(list) != KS_JSON_ARRAY || ks_node_size(list) != r->n)
        return bad(r, list ? list : tree, "the lists of a tree must exist and have equal length");
    for (at = ks_node_first(list); at; at = ks_node_next(at)) {
        bool is = false;
        const enum ks_json_kind kind = ks_node_kind(at);

        if (kind == KS_JSON_BOOL && ks_node_bool(r->doc, at, &is, r->err) == 0)
            r->list[which][i++] = is;
        else if ((kind != KS_JSON_INT && kind != KS_JSON_REAL) ||
                 ks_node_real(r->doc, at, &r->list[which][i++], r->err) < 0)
            return bad(r, at, "a list of a tree has a value that is not a number");
    }
    return 0;
}

static bool is_node(double x, size_t n)
{
    return x >= 1 && x < (double)n && x <= NODES_MAX && x == floor(x);
}

/* Numbers the nodes breadth first, children side by side; refuses what is no tree. */
static int number(struct parse *r, const struct ks_node *tree, uint32_t *n_out)
{
    uint32_t n = 1;

    memset(r->number, 0xff, r->n * sizeof(*r->number));
    r->number[0] = 0;
    r->queue[0] = 0;
    for (uint32_t i = 0; i < n; i++) {
        const uint32_t at = r->queue[i];
        const double child[2] = { r->list[LEFT][at], r->list[RIGHT][at] };

        if (child[0] < 0 && child[1] < 0)
            continue;
        for (int side = 0; side < 2; side++) {
            if (!is_node(child[side], r->n) || r->number[(size_t)child[side]] != NODES_MAX)
                return bad(r, tree, "the nodes do not form a tree");
            r->number[(size_t)child[side]] = (uint16_t)n;
            r->queue[n++] = (uint32_t)child[side];
        }
    }
    *n_out = n;
    return 0;
}

static int put_node(struct parse *r, const struct ks_node *tree, uint32_t at,
                    struct ks_sel_node *out)
{
    const double feature = r->list[FEATURE][at], value = r->list[CONDITION][at];

    if (!(fabs(value) <= 3.4028234663852886e38))
        return bad(r, tree, "a threshold or leaf is not a float");
    out->value = (float)value;
    if (r->list[LEFT][at] < 0) {
        out->feature = r->f->n_features;
        out->left = r->number[at];
        return 0;
    }
    if (!(feature >= 0 && feature < r->f->n_features && feature == floor(feature)))
        return bad(r, tree, "a split uses a feature that the model does not have");
    out->feature = (uint16_t)feature;
    if (r->list[DEFAULT_LEFT][at] == 0)
        out->feature = (uint16_t)(out->feature + r->f->n_features + 1);
    out->left = r->number[(size_t)r->list[LEFT][at]];
    return 0;
}

static uint16_t depth_of(const struct ks_sel_node *tree, uint32_t n, uint16_t n_features)
{
    uint16_t depth = 0;

    /* Breadth first, so each level is a run of nodes. */
    for (uint32_t from = 0, to = 1; from < to; depth++) {
        uint32_t next = to;

        for (uint32_t i = from; i < to; i++)
            next += tree[i].feature == n_features ? 0 : 2;
        from = to;
        to = next > n ? n : next;
    }
    return (uint16_t)(depth - 1);
}

static int grow(struct parse *r, uint32_t n)
{
    struct ks_forest *f = r->f;
    const size_t total = (size_t)f->n_nodes + n;
    struct ks_sel_node *nodes = realloc(f->nodes, total * sizeof(*nodes));
    float *gain = realloc(f->gain, total * sizeof(*gain)), *cover;

    f->nodes = nodes ? nodes : f->nodes;
    f->gain = gain ? gain : f->gain;
    cover = realloc(f->cover, total * sizeof(*cover));
    f->cover = cover ? cover : f->cover;
    return nodes && gain && cover && total < UINT32_MAX ? 0 : no_memory(r->err);
}

static int check_splits(struct parse *r, const struct ks_node *tree)
{
    const struct ks_node *list = ks_node_at(tree, "split_type");

    for (list = ks_node_first(list); list; list = ks_node_next(list)) {
        int64_t type = 1;

        if (ks_node_kind(list) != KS_JSON_INT || ks_node_int(r->doc, list, &type, r->err) < 0 ||
            type != 0)
            return bad(r, list, "categorical splits are not supported: train with numbers only");
    }
    return 0;
}

static int get_tree(struct parse *r, const struct ks_node *tree, struct ks_sel_tree *out)
{
    struct ks_forest *f = r->f;
    uint32_t n = 0;
    int rc;

    r->n = ks_node_size(ks_node_at(tree, list_names[LEFT]));
    if (r->n == 0 || r->n > NODES_MAX)
        return bad(r, tree, "a tree must have 1 to 65,535 nodes");
    rc = reserve(r, r->n);
    for (int k = 0; rc == 0 && k < N_LISTS; k++)
        rc = get_list(r, tree, (enum list)k);
    rc = rc == 0 ? check_splits(r, tree) : rc;
    rc = rc == 0 ? number(r, tree, &n) : rc;
    rc = rc == 0 ? grow(r, n) : rc;
    for (uint32_t i = 0; rc == 0 && i < n; i++) {
        f->gain[f->n_nodes + i] = (float)r->list[GAIN][r->queue[i]];
        f->cover[f->n_nodes + i] = (float)r->list[COVER][r->queue[i]];
        rc = put_node(r, tree, r->queue[i], &f->nodes[f->n_nodes + i]);
    }
    if (rc < 0)
        return rc;
    *out = (struct ks_sel_tree){ f->n_nodes, depth_of(f->nodes + f->n_nodes, n, f->n_features) };
    f->n_nodes += n;
    return 0;
}

/* text: [len] of one tree. */
static int parse_tree(struct parse *r, const char *text, size_t len, struct ks_sel_tree *out)
{
    const struct ks_json *model = r->doc;
    struct ks_json *doc = NULL;
    char name[400];
    int rc;

    snprintf(name, sizeof(name), "%.300s, tree %u", r->name, (unsigned)r->f->n_trees);
    rc = ks_json_parse(text, len, name, &doc, r->err);
    r->doc = doc;
    if (rc == 0)
        rc = get_tree(r, ks_json_root(doc), out);
    r->doc = model;
    ks_json_close(doc);
    return rc;
}

static int get_trees(struct parse *r, const struct ks_node *learner)
{
    struct ks_forest *f = r->f;
    const char *text;
    size_t len, cap = 0;
    int rc = 0;

    while (r->text.at && (rc = ks_forest_text_next(&r->text, &text, &len, r->err)) > 0) {
        rc = ks_reserve(&f->trees, f->n_trees + 1u, &cap, sizeof(*f->trees), "trees", r->err);
        if (rc == 0)
            rc = parse_tree(r, text, len, &f->trees[f->n_trees]);
        if (rc < 0)
            return rc;
        f->n_trees++;
    }
    return rc == 0 && f->n_trees == 0 ? bad(r, learner, "the model has no trees") : rc;
}

static int get_learner(struct parse *r)
{
    static const char *const booster[] = { "gradient_booster", "name", NULL },
                             *const base[] = { "learner_model_param", "base_score", NULL },
                             *const features[] = { "learner_model_param", "num_feature", NULL },
                             *const classes[] = { "learner_model_param", "num_class", NULL };
    const struct ks_node *root = ks_json_root(r->doc), *learner;
    double n_features = 0, n_classes = 0;
    const char *name = NULL;
    int rc;

    learner = ks_node_kind(root) == KS_JSON_OBJECT ? ks_node_at(root, "learner") : NULL;
    if (ks_node_kind(learner) != KS_JSON_OBJECT)
        return bad(r, root, "not a model that XGBoost saved as JSON");
    if (ks_node_kind(down(learner, booster)) != KS_JSON_STRING ||
        ks_node_str(r->doc, down(learner, booster), &name, r->err) < 0 ||
        strcmp(name, "gbtree") != 0)
        return bad(r, learner, "the booster must be gbtree");
    rc = get_parameter(r, down(learner, base), "the base score is not a number", &r->f->base);
    if (rc == 0)
        rc = get_parameter(r, down(learner, features), "num_feature is not a number", &n_features);
    if (rc == 0)
        rc = get_parameter(r, down(learner, classes), "num_class is not a number", &n_classes);
    if (rc == 0 && n_classes > 1)
        return bad(r, learner, "the model has several outputs");
    if (rc == 0 && !(n_features >= 1 && n_features < FEATURES_MAX))
        return bad(r, learner, "a model must have 1 to 32,766 features");
    r->f->base = (double)(float)r->f->base;
    r->f->n_features = (uint16_t)n_features;
    return rc == 0 ? get_trees(r, learner) : rc;
}

int ks_forest_parse(const char *text, size_t len, const char *name, struct ks_forest *out,
                    struct ks_err *err)
{
    struct ks_forest f = { 0 };
    struct parse r = { .f = &f, .name = name, .err = err };
    struct ks_json *doc = NULL;
    int rc = ks_forest_text_open(&r.text, text, len, name, err);

    if (rc == 0)
        rc = ks_json_parse(ks_buf_text(&r.text.rest), r.text.rest.len, name, &doc, err);
    r.doc = doc;
    if (rc == 0)
        rc = get_learner(&r);
    for (int k = 0; k < N_LISTS; k++)
        free(r.list[k]);
    free(r.number);
    free(r.queue);
    ks_json_close(doc);
    ks_forest_text_release(&r.text);
    if (rc < 0)
        ks_forest_release(&f);
    else
        *out = f;
    return rc;
}

int ks_forest_read(const char *path, struct ks_forest *forest_out, struct ks_err *err)
{
    struct ks_buf text;
    int rc;

    ks_buf_init(&text);
    rc = ks_file_read(path, &text, err);
    if (rc == 0)
        rc = ks_forest_parse(ks_buf_text(&text), text.len, path, forest_out, err);
    ks_buf_release(&text);
    return rc;
}
