/* SPDX-License-Identifier: MIT */
/* missing.c - finds what keeps an instance from running: CPU flags, architecture, no plug-in */
#include "grid/missing.h"

#include "base/cpu_level.h"
#include "grid/arch.h"
#include "grid/cpu_flags.h"

#include <stdio.h>
#include <string.h>

/* What is asked of each row. */
struct check {
    const struct ks_kernel_set *set;
    const struct ks_family *f;
    ks_concern_fn concerns;
    const void *ctx;
};

/* What the CPU lacks. */
static int check_needs(const struct check *j, struct ks_instance *i, struct ks_err *err)
{
    const struct ks_family *f = j->f;
    const char *flags = j->set->cpu_flags;
    const char *cpu = j->set->cpu_name ? j->set->cpu_name : "this CPU";

    for (uint32_t k = 0; flags && !i->missing[0] && k < f->n_needs; k++) {
        bool is_needed;
        int rc;

        if (ks_cpu_flags_has(flags, f->needs[k].needs))
            continue;
        rc = j->concerns(j->ctx, f, i, k, &is_needed, err);
        if (rc < 0)
            return rc;
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
static int check_arch(const struct check *j, struct ks_instance *i, struct ks_err *err)
{
    const struct ks_family *f = j->f;
    const char *arch = j->set->arch;

    if (!j->set->cpu_flags && f->archs[0] && !ks_arch_is_emulator(arch) &&
        !is_arch_among(arch, f->archs))
        snprintf(i->missing, sizeof i->missing, "family %s does not support arch %.40s", f->name,
                 arch);
    for (uint32_t k = 0; !i->missing[0] && k < f->n_inabilities; k++) {
        const struct ks_inability *r = &f->inabilities[k];
        bool is_hit;
        int rc;

        if (r->arch[0] && !is_arch_among(arch, r->arch))
            continue;
        rc = j->concerns(j->ctx, f, i, f->n_needs + k, &is_hit, err);
        if (rc < 0)
            return rc;
        if (is_hit)
            snprintf(i->missing, sizeof i->missing, "%s", r->why);
    }
    return 0;
}

int ks_missing_find(const struct ks_kernel_set *set, const struct ks_family *f,
                    ks_concern_fn concerns, const void *ctx, struct ks_instance *i,
                    struct ks_err *err)
{
    const struct check j = { set, f, concerns, ctx };
    int rc;

    i->missing[0] = '\0';
    rc = check_needs(&j, i, err);
    if (rc < 0 || !set->arch)
        return rc;
    rc = check_arch(&j, i, err);
    if (rc == 0 && !i->missing[0] && !f->source[0] && !set->has_plugin)
        snprintf(i->missing, sizeof i->missing,
                 "family %s has no kernel of its own: name a plug-in that has it", f->name);
    return rc;
}

int ks_kernel_set_arch(struct ks_kernel_set *set, const char *arch, struct ks_buf *flags,
                       struct ks_err *err)
{
    int rc = ks_arch_is_gpu(arch) ? 0 : ks_cpu_flags_read(arch, flags, err);

    if (rc < 0)
        return rc;
    set->arch = arch;
    set->cpu_flags = ks_arch_is_gpu(arch) ? NULL : ks_buf_text(flags);
    set->cpu_name = strcmp(arch, "native") == 0 ? NULL : arch;
    return 0;
}
