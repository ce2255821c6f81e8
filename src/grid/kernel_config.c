/* SPDX-License-Identifier: MIT */
/* kernel_config.c - reads ksweep's kernel configs: a family and lists of trait values */
#include "grid/fields.h"
#include "grid/kernel_set_impl.h"

#include <stdlib.h>

static int read_entry(const struct ks_adder *a, uint32_t i_family, const struct ks_node *entry,
                      struct ks_product *p)
{
    const struct ks_family *f = &a->set->families[i_family];
    const char *names[KS_TRAITS_MAX + 1] = { NULL };
    int rc;

    for (uint32_t t = 0; t < f->n_traits; t++)
        names[t] = f->traits[t].name;
    rc = ks_node_kind(entry) == KS_JSON_OBJECT
             ? ks_node_only(a->doc, entry, names, a->err)
             : ks_node_fail(a->doc, entry, a->err, "an entry is an object of traits { ... }");
    for (uint32_t t = 0; rc == 0 && t < f->n_traits; t++) {
        const struct ks_node *n = ks_node_at(entry, names[t]);

        if (n)
            rc = ks_adder_choices(a, i_family, n, t, p);
        else
            p->choice[t][p->n[t]++] = (uint8_t)f->traits[t].i_default;
    }
    return rc;
}

static int add_entry(struct ks_adder *a, uint32_t i_family, const struct ks_node *entry)
{
    struct ks_product p = { 0 };
    char where[256];
    int rc = read_entry(a, i_family, entry, &p);

    if (rc < 0)
        return rc;
    rc = ks_adder_product(a, i_family, &p);
    if (rc == 0)
        return 0;
    ks_node_where(a->doc, entry, where, sizeof where);
    return ks_err_context(a->err, rc, "%s", where);
}

static int find_family(struct ks_adder *a, const struct ks_node *root, uint32_t *i_out)
{
    char name[1024];
    int rc = ks_grid_field_text(a->doc, root, "family", NULL, name, sizeof name, a->err);

    return rc < 0 ? rc : ks_adder_family_file(a, name, ks_node_at(root, "family"), i_out);
}

/* What is no other kind is meant to be ours: its mistakes are named by our keys. */
static bool sniff(const struct ks_node *root)
{
    (void)root;
    return true;
}

static int read(struct ks_adder *a, const struct ks_node *root)
{
    static const char *const keys[] = { "family", "why", "instances", NULL };
    const struct ks_node *list = NULL;
    uint32_t i_family = 0;
    char why[1024];
    int rc = ks_node_only(a->doc, root, keys, a->err);

    if (rc == 0)
        rc = ks_grid_field_text(a->doc, root, "why", "", why, sizeof why, a->err);
    if (rc == 0)
        rc = ks_grid_field_node(a->doc, root, "instances", KS_JSON_ARRAY, &list, a->err);
    if (rc == 0 && ks_node_size(list) == 0)
        rc = ks_node_fail(a->doc, list, a->err, "expected at least one entry");
    if (rc == 0)
        rc = find_family(a, root, &i_family);
    for (const struct ks_node *n = ks_node_first(list); rc == 0 && n; n = ks_node_next(n))
        rc = add_entry(a, i_family, n);
    return rc;
}

const struct ks_kernel_reader ks_read_config = { sniff, read };
