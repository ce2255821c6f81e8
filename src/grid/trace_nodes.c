/* SPDX-License-Identifier: MIT */
/* trace_nodes.c - reads PyTorch execution traces: operators with arguments, and how they nest */
#include "grid/trace_nodes.h"
#include "trace/text.h"

#include <stdlib.h>
#include <string.h>

bool ks_trace_nodes_sniff(const char *text, size_t len)
{
    const size_t n = len < 4096 ? len : 4096;

    return memmem(text, n, "\"nodes\"", 7) && memmem(text, n, "\"schema\"", 8);
}

/* ---- one node ---- */

struct node {
    struct ks_span name, values, shapes, types, strides;
    int64_t id, outer;
};

/* Schemas from 1.0.3 on hold the three in an object. */
static void read_inputs(struct ks_span inputs, struct node *n)
{
    struct ks_trace_walk w = ks_trace_walk(inputs);
    struct ks_trace_member m;

    if (!w.is_object) {
        n->values = inputs;
        return;
    }
    while (ks_trace_walk_next(&w, &m)) {
        if (ks_span_is(m.key, "values"))
            n->values = m.value;
        else if (ks_span_is(m.key, "shapes"))
            n->shapes = m.value;
        else if (ks_span_is(m.key, "types"))
            n->types = m.value;
        else if (ks_span_is(m.key, "strides"))
            n->strides = m.value;
    }
}

static bool read_node(struct ks_span raw, struct node *n)
{
    struct ks_trace_walk w = ks_trace_walk(raw);
    struct ks_trace_member m;
    bool has_id = false;

    *n = (struct node){ .outer = -1 };
    while (ks_trace_walk_next(&w, &m)) {
        if (ks_span_is(m.key, "name"))
            n->name = m.value;
        else if (ks_span_is(m.key, "id"))
            has_id = ks_trace_int(m.value, &n->id);
        else if (ks_span_is(m.key, "parent") || ks_span_is(m.key, "ctrl_deps"))
            (void)ks_trace_int(m.value, &n->outer);
        else if (ks_span_is(m.key, "inputs"))
            read_inputs(m.value, n);
        else if (ks_span_is(m.key, "input_shapes"))
            n->shapes = m.value;
        else if (ks_span_is(m.key, "input_types"))
            n->types = m.value;
        else if (ks_span_is(m.key, "input_strides"))
            n->strides = m.value;
    }
    return has_id && n->name.p && !w.is_bad;
}

/* ---- its arguments, as the model of traces words them ---- */

static void put_plain(struct ks_span text, struct ks_buf *to)
{
    for (size_t i = 0; i < text.n; i++)
        if (!strchr(" \t\r\n", text.p[i]))
            ks_buf_u8(to, (uint8_t)text.p[i]);
}

/* "Tensor(float)": float. */
static bool is_tensor(struct ks_span type)
{
    return ks_span_begins(type, "Tensor(") && type.p[type.n - 1] == ')';
}

static void put_dims(const struct node *n, struct ks_buf *to)
{
    struct ks_trace_walk shapes = ks_trace_walk(n->shapes), types = ks_trace_walk(n->types);
    struct ks_trace_member shape, type;
    const char *between = "";

    ks_buf_u8(to, '[');
    while (ks_trace_walk_next(&shapes, &shape) && ks_trace_walk_next(&types, &type)) {
        ks_buf_printf(to, "%s", between);
        if (is_tensor(type.value))
            put_plain(shape.value, to);
        else
            ks_buf_printf(to, "[]");
        between = ",";
    }
    ks_buf_printf(to, "]\n");
}

static void put_types(const struct node *n, struct ks_buf *to)
{
    struct ks_trace_walk types = ks_trace_walk(n->types);
    struct ks_trace_member type;
    const char *between = "";

    ks_buf_u8(to, '[');
    while (ks_trace_walk_next(&types, &type)) {
        if (is_tensor(type.value))
            ks_buf_printf(to, "%s\"%.*s\"", between, (int)type.value.n - 8, type.value.p + 7);
        else
            ks_buf_printf(to, "%s\"Scalar\"", between);
        between = ",";
    }
    ks_buf_printf(to, "]\n");
}

static void put_value(const struct ks_trace_member *value, struct ks_buf *to)
{
    if (ks_span_is(value->value, "true"))
        ks_buf_printf(to, "True");
    else if (ks_span_is(value->value, "false"))
        ks_buf_printf(to, "False");
    else if (!value->is_string && !memchr(value->value.p, '"', value->value.n))
        put_plain(value->value, to);
}

static void put_concrete(const struct node *n, struct ks_buf *to)
{
    struct ks_trace_walk values = ks_trace_walk(n->values), types = ks_trace_walk(n->types);
    struct ks_trace_member value, type;
    const char *between = "";

    ks_buf_u8(to, '[');
    while (ks_trace_walk_next(&values, &value) && ks_trace_walk_next(&types, &type)) {
        ks_buf_printf(to, "%s\"", between);
        if (!is_tensor(type.value))
            put_value(&value, to);
        ks_buf_u8(to, '"');
        between = ",";
    }
    ks_buf_u8(to, ']');
}

/* ---- all nodes ---- */

struct nodes {
    struct ks_trace *t;
    int64_t *outer; /* [cap] id of the node around it */
    uint32_t cap;
};

static bool grow(struct nodes *n)
{
    struct ks_trace_ops *o = &n->t->ops;
    const uint32_t cap = n->cap ? 2 * n->cap : 256;
    int64_t *outer, *external;
    uint32_t *name, *shape, *parent;

    if (o->n < n->cap)
        return true;
    outer = realloc(n->outer, cap * sizeof(*outer));
    n->outer = outer ? outer : n->outer;
    external = realloc(o->external, cap * sizeof(*external));
    o->external = external ? external : o->external;
    name = realloc(o->name, cap * sizeof(*name));
    o->name = name ? name : o->name;
    shape = realloc(o->shape, cap * sizeof(*shape));
    o->shape = shape ? shape : o->shape;
    parent = realloc(o->parent, cap * sizeof(*parent));
    o->parent = parent ? parent : o->parent;
    if (!outer || !external || !name || !shape || !parent)
        return false;
    n->cap = cap;
    return true;
}

static bool add_node(struct nodes *n, const struct node *node, struct ks_buf *text)
{
    struct ks_trace_ops *o = &n->t->ops;

    if (!grow(n))
        return false;
    ks_buf_clear(text);
    ks_trace_unescape(node->name, text);
    o->name[o->n] = ks_names_put(&n->t->names, ks_buf_text(text), text->len);
    o->shape[o->n] = KS_TRACE_NONE;
    if (ks_buf_ok(text) && node->shapes.p && node->types.p) {
        ks_buf_clear(text);
        put_dims(node, text);
        put_types(node, text);
        if (node->strides.p)
            put_plain(node->strides, text);
        ks_buf_u8(text, '\n');
        put_concrete(node, text);
        o->shape[o->n] = ks_names_put(&n->t->shapes, ks_buf_text(text), text->len);
        if (o->shape[o->n] == KS_NAME_NONE)
            return false;
    }
    if (!ks_buf_ok(text) || o->name[o->n] == KS_NAME_NONE)
        return false;
    o->external[o->n] = node->id;
    n->outer[o->n] = node->outer;
    o->n++;
    return true;
}

struct place {
    int64_t id;
    uint32_t row;
};

static int by_id(const void *a, const void *b)
{
    const struct place *l = a, *r = b;

    return (l->id > r->id) - (l->id < r->id);
}

/* A node around another has the smaller id; what is not so, as in a loop, is no nesting. */
static bool link_nodes(struct nodes *n)
{
    struct ks_trace_ops *o = &n->t->ops;
    struct place *at = calloc(o->n + 1, sizeof(*at));

    if (!at)
        return false;
    for (uint32_t i = 0; i < o->n; i++)
        at[i] = (struct place){ o->external[i], i };
    qsort(at, o->n, sizeof(at[0]), by_id);
    for (uint32_t i = 0; i < o->n; i++) {
        const struct place key = { .id = n->outer[i] };
        const struct place *found =
            key.id < o->external[i] ? bsearch(&key, at, o->n, sizeof(key), by_id) : NULL;

        o->parent[i] = found ? found->row : KS_TRACE_NONE;
    }
    free(at);
    return true;
}

static int read_all(struct ks_trace_source *source, struct nodes *n, struct ks_err *err)
{
    struct ks_trace_reader *r = NULL;
    struct ks_trace_item item;
    struct ks_buf text;
    struct node node;
    int rc = ks_trace_reader_create(source, &r, err);

    ks_buf_init(&text);
    if (rc == 0)
        ks_trace_reader_array(r, "nodes");
    while (rc >= 0 && (rc = ks_trace_reader_next(r, &item, err)) > 0)
        if (item.type == KS_TRACE_ITEM_EVENT && read_node(item.event.raw, &node) &&
            !add_node(n, &node, &text))
            rc = ks_fail(err, KS_ENOMEM, "no memory for %u operators", n->t->ops.n + 1);
    if (rc == 0 && n->t->ops.n == 0)
        rc = ks_fail(err, KS_EFORMAT, "%s: no nodes", ks_trace_source_name(source));
    if (rc == 0)
        n->t->dirt = *ks_trace_reader_dirt(r);
    if (rc == 0 && !link_nodes(n))
        rc = ks_fail(err, KS_ENOMEM, "no memory for %u operators", n->t->ops.n);
    ks_buf_release(&text);
    ks_trace_reader_destroy(r);
    return rc;
}

int ks_trace_nodes_read(struct ks_trace_source *source, struct ks_trace **out, struct ks_err *err)
{
    struct nodes n = { .t = calloc(1, sizeof(*n.t)) };
    int rc;

    if (!n.t)
        return ks_fail(err, KS_ENOMEM, "out of memory");
    ks_names_init(&n.t->names);
    ks_names_init(&n.t->shapes);
    rc = read_all(source, &n, err);
    free(n.outer);
    if (rc < 0)
        ks_trace_release(n.t);
    else
        *out = n.t;
    return rc;
}
