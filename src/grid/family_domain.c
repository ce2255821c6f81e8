/* SPDX-License-Identifier: MIT */
/* What a family's instances compute: each of direction, dtype, layout and ndim stands fixed at the
 * top of its file or is a trait of that name. */
#include "grid/family_read.h"
#include "grid/fields.h"
#include "op/op.h"

#include <stdio.h>
#include <string.h>

/* In the order of ks_family.domain_trait. */
enum { DIRECTION, DTYPE, LAYOUT, NDIM, N_PARTS };

static const struct part {
    const char *name;
    uint32_t n; /* numbers below it are ours */
    int (*from)(const char *name);
    const char *(*name_of)(uint32_t);
} parts[N_PARTS] = {
    [DIRECTION] = { "direction", KS_N_DIRECTIONS, ks_direction_from, ks_direction_name },
    [DTYPE] = { "dtype", KS_N_DTYPES, ks_dtype_from, ks_dtype_name },
    [LAYOUT] = { "layout", KS_N_LAYOUTS, ks_layout_from, ks_layout_name },
    [NDIM] = { "ndim", 4, NULL, NULL },
};

/* The numbers of a domain trait are those of kernels/abi.h. A text that is not ours has a number
 * that is not ours, either: such an instance fits no problem. */
static int check_trait(const struct ks_json *doc, const struct ks_node *root,
                       const struct ks_trait *t, const struct part *part, struct ks_err *err)
{
    for (uint32_t v = 0; v < t->n_values; v++) {
        int known = part->from ? part->from(t->text[v]) : -1;
        bool is_ours = t->value[v] >= 0 && t->value[v] < (int64_t)part->n;
        bool is_right;

        if (part->from == NULL)
            is_right = is_ours && t->value[v] > 0;
        else if (known >= 0)
            is_right = t->value[v] == known;
        else
            is_right = !is_ours;
        if (t->kind != (part->from ? KS_TRAIT_NAME : KS_TRAIT_INT) || !is_right)
            return ks_node_fail(doc, ks_node_at(root, "traits"), err,
                                "value '%s' of trait '%s' does not stand for what it means in "
                                "kernels/abi.h",
                                t->text[v], t->name);
    }
    return 0;
}

static int read_fixed(const struct ks_json *doc, const struct ks_node *root,
                      const struct part *part, uint32_t *out, struct ks_err *err)
{
    const char *names[8] = { NULL };
    const struct ks_node *n = ks_node_at(root, part->name);
    int64_t v = 0;
    int choice = 0, rc;

    if (!part->from) {
        rc = ks_node_int(doc, n, &v, err);
        if (rc == 0 && (v < 1 || v >= (int64_t)part->n))
            rc = ks_node_fail(doc, n, err, "1, 2 or 3 is wanted");
    } else {
        for (uint32_t i = 0; i < part->n && i < 7; i++)
            names[i] = part->name_of(i);
        rc = ks_grid_field_choice(doc, n, names, &choice, err);
        v = choice;
    }
    if (rc == 0)
        *out = (uint32_t)v;
    return rc;
}

static int read_part(const struct ks_json *doc, const struct ks_node *root, struct ks_family *f,
                     int k, uint32_t *out, struct ks_err *err)
{
    int t = ks_family_trait(f, parts[k].name);
    const struct ks_node *n = ks_node_at(root, parts[k].name);

    if (t >= 0 && n)
        return ks_node_fail(doc, n, err, "is a trait, too: one of both");
    if (t >= 0) {
        f->domain_trait[k] = (uint8_t)(t + 1);
        return check_trait(doc, root, &f->traits[t], &parts[k], err);
    }
    if (n)
        return read_fixed(doc, root, &parts[k], out, err);
    if (k == NDIM)
        return 0;
    return ks_node_fail(doc, root, err, "key '%s' is missing (a text, or a trait of that name)",
                        parts[k].name);
}

int ks_family_read_domain(const struct ks_json *doc, const struct ks_node *root,
                          struct ks_family *f, struct ks_err *err)
{
    uint32_t *const fixed[N_PARTS] = { &f->direction, &f->dtype, &f->layout, &f->ndim };
    int rc = ks_grid_field_text(doc, root, "operator", NULL, f->op, sizeof f->op, err);

    if (rc == 0 && ks_operator_find(f->op, &f->i_op, err) < 0) {
        char where[256];

        ks_node_where(doc, ks_node_at(root, "operator"), where, sizeof where);
        return ks_err_context(err, KS_EINVAL, "%s", where);
    }
    for (int k = 0; rc == 0 && k < N_PARTS; k++)
        rc = read_part(doc, root, f, k, fixed[k], err);
    return rc;
}

static uint32_t part_of(const struct ks_family *f, const struct ks_instance *i, int k,
                        uint32_t fixed)
{
    uint32_t t = f->domain_trait[k];
    int64_t v;

    if (t == 0)
        return fixed;
    v = f->traits[t - 1].value[i->value[t - 1]];
    return v < 0 || v >= (int64_t)parts[k].n ? parts[k].n : (uint32_t)v;
}

void ks_instance_domain(const struct ks_family *f, const struct ks_instance *i,
                        struct ks_domain *out)
{
    *out = (struct ks_domain){ .i_op = f->i_op,
                               .direction = part_of(f, i, DIRECTION, f->direction),
                               .dtype = part_of(f, i, DTYPE, f->dtype),
                               .layout = part_of(f, i, LAYOUT, f->layout),
                               .ndim = part_of(f, i, NDIM, f->ndim) };
}

static const char *text_of(const struct ks_family *f, const struct ks_instance *i, int k,
                           uint32_t number)
{
    uint32_t t = f->domain_trait[k];

    return number < parts[k].n ? parts[k].name_of(number) : f->traits[t - 1].text[i->value[t - 1]];
}

void ks_instance_domain_text(const struct ks_family *f, const struct ks_instance *i,
                             struct ks_buf *text_out)
{
    struct ks_domain d;

    ks_instance_domain(f, i, &d);
    ks_buf_printf(text_out, "%s %s ", text_of(f, i, DIRECTION, d.direction),
                  text_of(f, i, DTYPE, d.dtype));
    if (d.ndim)
        ks_buf_printf(text_out, "%ud ", d.ndim);
    ks_buf_printf(text_out, "%s", text_of(f, i, LAYOUT, d.layout));
}
