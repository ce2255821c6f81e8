/* SPDX-License-Identifier: MIT */
/* inability.c - the parsed conditions of what a family's instances need and devices cannot do */
#include "grid/inability.h"

#include "grid/family_expr.h"

int ks_lacks_init(struct ks_lacks *l, const struct ks_family *f, struct ks_err *err)
{
    int rc = 0;

    for (uint32_t i = 0; rc == 0 && i < f->n_needs; i++)
        rc = ks_family_expr(f, f->needs[i].when, &l->needs[i], err);
    for (uint32_t i = 0; rc == 0 && i < f->n_inabilities; i++)
        rc = ks_family_expr(f, f->inabilities[i].when, &l->inabilities[i], err);
    return rc;
}

void ks_lacks_release(struct ks_lacks *l)
{
    for (size_t i = 0; i < KS_NEEDS_MAX; i++) {
        ks_expr_free(l->needs[i]);
        ks_expr_free(l->inabilities[i]);
    }
}

int ks_lacks_concern(const void *lacks, const struct ks_family *f, const struct ks_instance *i,
                     uint32_t row, bool *out, struct ks_err *err)
{
    const struct ks_lacks *l = lacks;
    struct ks_family_scope scope = { f, i };
    bool is_need = row < f->n_needs;
    uint32_t k = is_need ? row : row - f->n_needs;
    int rc =
        ks_expr_test(is_need ? l->needs[k] : l->inabilities[k], ks_family_name, &scope, out, err);

    if (rc == 0)
        return 0;
    return ks_err_context(err, rc, "%s '%s' of family '%s'", is_need ? "need" : "unsupported",
                          is_need ? f->needs[k].needs : f->inabilities[k].why, f->name);
}

int ks_lacks_find(const struct ks_lacks *l, const struct ks_kernel_set *set,
                  const struct ks_family *f, struct ks_instance *i, struct ks_err *err)
{
    return ks_missing_find(set, f, ks_lacks_concern, l, i, err);
}
