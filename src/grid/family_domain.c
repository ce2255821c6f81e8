/* SPDX-License-Identifier: MIT */
/* family_domain.c - reads what a family's instances compute, fixed or as traits */
/* Each of direction, dtype, layout and ndim stands fixed at the top of its file or is a trait of
 * that name. */
#include "grid/domain_parts.h"
#include "grid/family_read.h"
#include "grid/fields.h"
#include "op/op.h"

#include <stdio.h>
#include <string.h>

/* The numbers of a domain trait are those of kernels/abi.h. A text that is not ours has a number
 * that is not ours, either: such an instance fits no problem. */
static int check_trait(const struct ks_json *doc, const struct ks_node *root,
                       const struct ks_trait *t, const struct ks_domain_part *part,
                       struct ks_err *err)
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
            return ks_node_fail(
                doc, ks_node_at(root, "traits"), err,
                "value '%s' of trait '%s' differs from its definition in kernels/abi.h", t->text[v],
                t->name);
    }
    return 0;
}

static int read_fixed(const struct ks_json *doc, const struct ks_node *root,
                      const struct ks_domain_part *part, uint32_t *out, struct ks_err *err)
{
    const char *names[8] = { NULL };
    const struct ks_node *n = ks_node_at(root, part->name);
    int64_t v = 0;
    int choice = 0, rc;

    if (!part->from) {
        rc = ks_node_int(doc, n, &v, err);
        if (rc == 0 && (v < 1 || v >= (int64_t)part->n))
            rc = ks_node_fail(doc, n, err, "expected 1, 2 or 3");
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
    int t = ks_family_trait(f, ks_domain_parts[k].name);
    const struct ks_node *n = ks_node_at(root, ks_domain_parts[k].name);

    if (t >= 0 && n)
        return ks_node_fail(doc, n, err, "is also a trait: give either the key or the trait");
    if (t >= 0) {
        f->domain_trait[k] = (uint8_t)(t + 1);
        return check_trait(doc, root, &f->traits[t], &ks_domain_parts[k], err);
    }
    if (n)
        return read_fixed(doc, root, &ks_domain_parts[k], out, err);
    if (k == KS_DOMAIN_NDIM)
        return 0;
    return ks_node_fail(doc, root, err, "key '%s' is missing (a string, or a trait of that name)",
                        ks_domain_parts[k].name);
}

int ks_family_read_domain(const struct ks_json *doc, const struct ks_node *root,
                          struct ks_family *f, struct ks_err *err)
{
    uint32_t *const fixed[KS_N_DOMAIN_PARTS] = { &f->direction, &f->dtype, &f->layout, &f->ndim };
    int rc = ks_grid_field_text(doc, root, "operator", NULL, f->op, sizeof f->op, err);

    if (rc == 0 && ks_operator_find(f->op, &f->i_op, err) < 0) {
        char where[256];

        ks_node_where(doc, ks_node_at(root, "operator"), where, sizeof where);
        return ks_err_context(err, KS_EINVAL, "%s", where);
    }
    for (int k = 0; rc == 0 && k < KS_N_DOMAIN_PARTS; k++)
        rc = read_part(doc, root, f, k, fixed[k], err);
    return rc;
}
