/* SPDX-License-Identifier: MIT */
#include "grid/inability.h"

#include "grid/arch.h"
#include "grid/cpu_flags.h"
#include "grid/family_expr.h"

#include <stdio.h>
#include <string.h>

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

static int test(const struct ks_family *f, const struct ks_expr *e, const struct ks_instance *i,
                bool *out, struct ks_err *err)
{
    struct ks_family_scope scope = { f, i };

    return ks_expr_test(e, ks_family_name, &scope, out, err);
}

/* What the CPU lacks. */
static int judge_needs(const struct ks_lacks *l, const struct ks_kernel_set *s,
                       const struct ks_family *f, struct ks_instance *i, struct ks_err *err)
{
    const char *cpu = s->cpu_name ? s->cpu_name : "this CPU";

    for (uint32_t k = 0; s->cpu_flags && !i->missing[0] && k < f->n_needs; k++) {
        bool is_needed;
        int rc;

        if (ks_cpu_flags_has(s->cpu_flags, f->needs[k].needs))
            continue;
        rc = test(f, l->needs[k], i, &is_needed, err);
        if (rc < 0)
            return ks_err_context(err, rc, "need '%s' of family '%s'", f->needs[k].needs, f->name);
        if (is_needed)
            snprintf(i->missing, sizeof i->missing, "needs %s, %s lacks it", f->needs[k].needs,
                     cpu);
    }
    return 0;
}

/* Is `arch` among names that are separated by blanks? */
static bool is_arch_among(const char *arch, const char *names)
{
    while (*names) {
        size_t n = strcspn(names, " ");
        bool is_start = names[n - 1] == '*';

        if (is_start ? strncmp(arch, names, n - 1) == 0
                     : strlen(arch) == n && strncmp(arch, names, n) == 0)
            return true;
        names += n + (names[n] == ' ');
    }
    return false;
}

/* What the device of the set's arch cannot do. */
static int judge_arch(const struct ks_lacks *l, const struct ks_kernel_set *s,
                      const struct ks_family *f, struct ks_instance *i, struct ks_err *err)
{
    const char *arch = s->arch;

    if (!s->cpu_flags && f->archs[0] && !ks_arch_is_emulator(arch) &&
        !is_arch_among(arch, f->archs))
        snprintf(i->missing, sizeof i->missing, "family %s knows nothing of arch %.40s", f->name,
                 arch);
    for (uint32_t k = 0; !i->missing[0] && k < f->n_inabilities; k++) {
        const struct ks_inability *r = &f->inabilities[k];
        bool is_hit;
        int rc;

        if (r->arch[0] && !is_arch_among(arch, r->arch))
            continue;
        rc = test(f, l->inabilities[k], i, &is_hit, err);
        if (rc < 0)
            return ks_err_context(err, rc, "unsupported '%s' of family '%s'", r->why, f->name);
        if (is_hit)
            snprintf(i->missing, sizeof i->missing, "%s", r->why);
    }
    return 0;
}

int ks_lacks_find(const struct ks_lacks *l, const struct ks_kernel_set *set,
                  const struct ks_family *f, struct ks_instance *i, struct ks_err *err)
{
    int rc;

    i->missing[0] = '\0';
    rc = judge_needs(l, set, f, i, err);
    if (rc < 0 || !set->arch)
        return rc;
    rc = judge_arch(l, set, f, i, err);
    if (rc == 0 && !i->missing[0] && !f->source[0] && !set->has_plugin)
        snprintf(i->missing, sizeof i->missing,
                 "family %s has no kernel of its own: a plug-in supplies it", f->name);
    return rc;
}
