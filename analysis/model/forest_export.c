/* SPDX-License-Identifier: MIT */
/* forest_export.c - the trees for LightGBM and XGBoost. */
#include "analysis/model/forest.h"
#include "json/json.h"

#include <math.h>
#include <stdio.h>

static uint32_t n_nodes_of(const struct ks_forest *f, uint32_t t)
{
    return (t + 1 < f->n_trees ? f->trees[t + 1].root : f->n_nodes) - f->trees[t].root;
}

static bool is_leaf(const struct ks_forest *f, const struct ks_sel_node *n)
{
    return n->feature == f->n_features;
}

static unsigned feature_of(const struct ks_forest *f, const struct ks_sel_node *n)
{
    return n->feature % (f->n_features + 1u);
}

static bool is_missing_right(const struct ks_forest *f, const struct ks_sel_node *n)
{
    return n->feature > f->n_features;
}

/* ---- LightGBM ---- */

/* A tree while it is written: LightGBM numbers splits and leaves apart. */
struct tree {
    const struct ks_forest *f;
    const struct ks_sel_node *at;
    const float *gain, *cover;
    uint32_t n;
    double add; /* to every leaf */
};

/* How many nodes before i are leaves (or splits). */
static uint32_t count_before(const struct tree *t, uint32_t i, bool leaves)
{
    uint32_t n = 0;

    for (uint32_t k = 0; k < i; k++)
        n += is_leaf(t->f, &t->at[k]) == leaves;
    return n;
}

enum part { SPLIT_FEATURE, SPLIT_GAIN, THRESHOLD, DECISION, LEFT, RIGHT, INTERNAL, LEAF, WEIGHT };

static void put_child(const struct tree *t, uint32_t i, struct ks_buf *to)
{
    const bool leaf = is_leaf(t->f, &t->at[i]);
    const int32_t number = (int32_t)count_before(t, i, leaf);

    ks_buf_printf(to, "%d", leaf ? ~number : number);
}

static void put_real(struct ks_buf *to, double v)
{
    char text[32];

    ks_f64_text(v, text);
    ks_buf_printf(to, "%s", text);
}

static void put_part(const struct tree *t, enum part part, uint32_t i, struct ks_buf *to)
{
    const struct ks_sel_node *n = &t->at[i];

    switch (part) {
    case SPLIT_FEATURE:
        ks_buf_printf(to, "%u", feature_of(t->f, n));
        break;
    case SPLIT_GAIN:
        put_real(to, (double)t->gain[i]);
        break;
    case THRESHOLD: /* x < value of a float = x <= the float below it */
        put_real(to, (double)nextafterf(n->value, -INFINITY));
        break;
    case DECISION: /* numerical, missing is NaN; 2: to the left */
        ks_buf_printf(to, "%d", is_missing_right(t->f, n) ? 8 : 10);
        break;
    case LEFT:
        put_child(t, n->left, to);
        break;
    case RIGHT:
        put_child(t, n->left + 1u, to);
        break;
    case LEAF:
        put_real(to, (double)n->value + t->add);
        break;
    case WEIGHT:
        put_real(to, (double)t->cover[i]);
        break;
    default:
        ks_buf_printf(to, "0");
    }
}

static void put_line(const struct tree *t, const char *key, enum part part, bool leaves,
                     struct ks_buf *to)
{
    const char *blank = "";

    ks_buf_printf(to, "%s=", key);
    for (uint32_t i = 0; i < t->n; i++) {
        if (is_leaf(t->f, &t->at[i]) != leaves)
            continue;
        ks_buf_printf(to, "%s", blank);
        put_part(t, part, i, to);
        blank = " ";
    }
    ks_buf_printf(to, "\n");
}

static void put_tree(const struct ks_forest *f, uint32_t i, struct ks_buf *to)
{
    const uint32_t root = f->trees[i].root;
    const struct tree t = {
        f, f->nodes + root, f->gain + root, f->cover + root, n_nodes_of(f, i), i == 0 ? f->base : 0
    };

    ks_buf_printf(to, "Tree=%u\nnum_leaves=%u\nnum_cat=0\n", i, count_before(&t, t.n, true));
    put_line(&t, "split_feature", SPLIT_FEATURE, false, to);
    put_line(&t, "split_gain", SPLIT_GAIN, false, to);
    put_line(&t, "threshold", THRESHOLD, false, to);
    put_line(&t, "decision_type", DECISION, false, to);
    put_line(&t, "left_child", LEFT, false, to);
    put_line(&t, "right_child", RIGHT, false, to);
    put_line(&t, "leaf_value", LEAF, true, to);
    put_line(&t, "leaf_weight", WEIGHT, true, to);
    put_line(&t, "leaf_count", INTERNAL, true, to);
    put_line(&t, "internal_value", INTERNAL, false, to);
    put_line(&t, "internal_weight", WEIGHT, false, to);
    put_line(&t, "internal_count", INTERNAL, false, to);
    ks_buf_printf(to, "is_linear=0\nshrinkage=1\n\n\n");
}

static void put_names(const struct ks_forest *f, const char *const *names, struct ks_buf *to)
{
    ks_buf_printf(to, "feature_names=");
    for (uint16_t i = 0; i < f->n_features; i++) {
        ks_buf_printf(to, "%s", i ? " " : "");
        for (const char *c = names[i]; *c; c++) /* blanks, brackets and colons end a name there */
            ks_buf_u8(to, (uint8_t)(*c <= ' ' || *c == '"' || *c == ':' || *c == ',' || *c == '[' ||
                                            *c == ']' || *c == '{' || *c == '}'
                                        ? '_'
                                        : *c));
    }
    ks_buf_printf(to, "\nfeature_infos=");
    for (uint16_t i = 0; i < f->n_features; i++)
        ks_buf_printf(to, "%s[-inf:inf]", i ? " " : "");
    ks_buf_printf(to, "\n");
}

void ks_forest_write_lightgbm(const struct ks_forest *f, const char *const *names,
                              struct ks_buf *text_out)
{
    struct ks_buf trees;

    ks_buf_init(&trees);
    ks_buf_printf(text_out,
                  "tree\nversion=v3\nnum_class=1\nnum_tree_per_iteration=1\nlabel_index=0\n"
                  "max_feature_idx=%d\nobjective=regression\n",
                  f->n_features - 1);
    put_names(f, names, text_out);
    ks_buf_printf(text_out, "tree_sizes=");
    for (uint32_t i = 0; i < f->n_trees; i++) {
        const size_t before = trees.len;

        put_tree(f, i, &trees);
        ks_buf_printf(text_out, "%s%zu", i ? " " : "", trees.len - before);
    }
    ks_buf_printf(text_out, "\n\n");
    ks_buf_put(text_out, trees.data, trees.len);
    ks_buf_printf(text_out, "end of trees\n\nfeature_importances:\n\nparameters:\n"
                            "end of parameters\n\npandas_categorical:null\n");
    text_out->failed = text_out->failed || !ks_buf_ok(&trees);
    ks_buf_release(&trees);
}

/* ---- XGBoost ---- */

/* It tells floats from integers by their text, so every float has an exponent. */
enum field {
    F_ZERO,
    F_NOTHING,
    F_DEFAULT,
    F_LEFT,
    F_RIGHT,
    F_PARENT,
    F_INDEX,
    F_VALUE,
    F_GAIN,
    F_COVER
};

static void put_value(const struct tree *t, enum field field, uint32_t i, uint32_t parent,
                      struct ks_buf *to)
{
    const struct ks_sel_node *n = &t->at[i];
    const bool leaf = is_leaf(t->f, n);

    switch (field) {
    case F_ZERO:
        ks_buf_printf(to, "0E0");
        break;
    case F_VALUE:
        ks_buf_printf(to, "%.8E", (double)n->value);
        break;
    case F_GAIN:
        ks_buf_printf(to, "%.8E", (double)t->gain[i]);
        break;
    case F_COVER:
        ks_buf_printf(to, "%.8E", (double)t->cover[i]);
        break;
    case F_PARENT:
        ks_buf_printf(to, "%u", i ? parent : INT32_MAX);
        break;
    case F_LEFT:
    case F_RIGHT:
        ks_buf_printf(to, "%d", leaf ? -1 : n->left + (field == F_RIGHT));
        break;
    case F_INDEX:
        ks_buf_printf(to, "%u", leaf ? 0 : feature_of(t->f, n));
        break;
    default:
        ks_buf_printf(to, "%d", field == F_DEFAULT && !leaf && !is_missing_right(t->f, n));
    }
}

static void put_field(const struct tree *t, const char *key, enum field field, struct ks_buf *to)
{
    uint32_t parent = 0;

    ks_buf_printf(to, "\"%s\":[", key);
    for (uint32_t i = 0; i < t->n; i++) {
        /* breadth first: parents stand in the order of their children */
        while (i && (is_leaf(t->f, &t->at[parent]) || t->at[parent].left + 1u < i))
            parent++;
        ks_buf_printf(to, i ? "," : "");
        put_value(t, field, i, parent, to);
    }
    ks_buf_printf(to, "],");
}

static void put_xgboost_tree(const struct ks_forest *f, uint32_t i, struct ks_buf *to)
{
    const uint32_t root = f->trees[i].root;
    const struct tree t = {
        f, f->nodes + root, f->gain + root, f->cover + root, n_nodes_of(f, i), 0
    };

    ks_buf_printf(to,
                  "%s{\"categories\":[],\"categories_nodes\":[],\"categories_segments\":[],"
                  "\"categories_sizes\":[],\"id\":%u,",
                  i ? "," : "", i);
    put_field(&t, "base_weights", F_ZERO, to);
    put_field(&t, "default_left", F_DEFAULT, to);
    put_field(&t, "left_children", F_LEFT, to);
    put_field(&t, "loss_changes", F_GAIN, to);
    put_field(&t, "parents", F_PARENT, to);
    put_field(&t, "right_children", F_RIGHT, to);
    put_field(&t, "split_conditions", F_VALUE, to);
    put_field(&t, "split_indices", F_INDEX, to);
    put_field(&t, "split_type", F_NOTHING, to);
    put_field(&t, "sum_hessian", F_COVER, to);
    ks_buf_printf(to,
                  "\"tree_param\":{\"num_deleted\":\"0\",\"num_feature\":\"%u\","
                  "\"num_nodes\":\"%u\",\"size_leaf_vector\":\"0\"}}",
                  f->n_features, t.n);
}

static void put_booster(const struct ks_forest *f, struct ks_buf *to)
{
    ks_buf_printf(to,
                  "\"gradient_booster\":{\"model\":{\"gbtree_model_param\":{"
                  "\"num_parallel_tree\":\"1\",\"num_trees\":\"%u\",\"size_leaf_vector\":\"0\"},"
                  "\"tree_info\":[",
                  f->n_trees);
    for (uint32_t i = 0; i < f->n_trees; i++)
        ks_buf_printf(to, i ? ",0" : "0");
    ks_buf_printf(to, "],\"trees\":[");
    for (uint32_t i = 0; i < f->n_trees; i++)
        put_xgboost_tree(f, i, to);
    ks_buf_printf(to, "]},\"name\":\"gbtree\"}");
}

static void put_names_json(const struct ks_forest *f, const char *const *names, struct ks_buf *to)
{
    struct ks_jw w;

    ks_buf_printf(to, "\"feature_names\":");
    ks_jw_init(&w, to, false);
    ks_jw_open(&w, NULL, '[');
    for (uint16_t i = 0; i < f->n_features; i++)
        ks_jw_str(&w, NULL, names[i]);
    ks_jw_close(&w, ']');
}

void ks_forest_write_xgboost(const struct ks_forest *f, const char *const *names,
                             struct ks_buf *json_out)
{
    ks_buf_printf(json_out, "{\"learner\":{\"attributes\":{},");
    put_names_json(f, names, json_out);
    ks_buf_printf(json_out, ",\"feature_types\":[],");
    put_booster(f, json_out);
    ks_buf_printf(json_out,
                  ",\"learner_model_param\":{\"base_score\":\"%.8E\",\"boost_from_average\":\"1\","
                  "\"num_class\":\"0\",\"num_feature\":\"%u\",\"num_target\":\"1\"},"
                  "\"objective\":{\"name\":\"reg:squarederror\",\"reg_loss_param\":{"
                  "\"scale_pos_weight\":\"1\"}}},\"version\":[1,7,4]}\n",
                  f->base, f->n_features);
}
