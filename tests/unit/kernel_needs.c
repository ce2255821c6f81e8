/* SPDX-License-Identifier: MIT */
/* kernel_needs.c - holds what selectors know of host kernels against what the kernels accept */
#include "kernel_needs.h"

#include "analysis/learn/features.h"
#include "analysis/learn/features_impl.h"
#include "base/hash.h"
#include "op/conv.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { N_RANDOM = 400 };

static struct ks_problem random_problem(uint64_t *seed, uint32_t direction)
{
    static const int64_t groups[] = { 1, 1, 2, 3, 8, 16, 32, 33, 64, 100 };
    static const int64_t channels[] = { 1, 1, 2, 3, 4, 8, 15, 16, 24, 32, 64, 128 };
    struct ks_problem p = ks_problem_blank(0);
    const int64_t g = groups[ks_rng_below(seed, 10)], c = channels[ks_rng_below(seed, 12)];
    const int64_t k = ks_rng_below(seed, 2) ? c : channels[ks_rng_below(seed, 12)];
    const int ndim = 1 + (int)ks_rng_below(seed, 3);
    struct ks_err err;

    p.direction = direction;
    p.dtype = (uint32_t)ks_rng_below(seed, 3);
    p.layout = (uint32_t)ks_rng_below(seed, 2);
    p.dim[KS_CONV_NDIM] = ndim;
    p.dim[KS_CONV_G] = g;
    p.dim[KS_CONV_C_TOTAL] = g * c;
    p.dim[KS_CONV_K_TOTAL] = g * k;
    for (int axis = 0; axis < 3; axis++) {
        const bool is_used = axis >= 3 - ndim;
        const bool is_one = ks_rng_below(seed, 3) == 0;

        p.dim[KS_CONV_DI + axis] = is_used && !is_one ? 7 : 1;
        p.dim[KS_CONV_Z + axis] = is_used && !is_one ? 1 + 2 * (int64_t)ks_rng_below(seed, 3) : 1;
    }
    if (ks_problem_finish(&p, &err) < 0)
        fail_msg("%s", err.text);
    return p;
}

/* An instance as a results file describes it. */
static void describe(const struct ks_family *f, const struct ks_instance *i, struct ks_traits *t)
{
    *t = (struct ks_traits){ .n_columns = f->n_traits, .n_instances = 1, .cap = 1 };
    t->columns = calloc(f->n_traits + 1u, sizeof(*t->columns));
    t->ids = calloc(1, sizeof(*t->ids));
    t->names = calloc(1, sizeof(*t->names));
    t->families = calloc(1, sizeof(*t->families));
    t->values = calloc(f->n_traits + 1u, sizeof(*t->values));
    t->names[0] = strdup(i->name);
    t->families[0] = strdup(f->name);
    for (uint32_t k = 0; k < f->n_traits; k++) {
        const struct ks_trait *trait = &f->traits[k];
        char column[64];

        snprintf(column, sizeof(column), "trait_%s", trait->name);
        t->columns[k] = strdup(column);
        t->values[k].number = NAN;
        if (trait->kind == KS_TRAIT_INT)
            t->values[k].number = (double)trait->value[i->value[k]];
        else
            t->values[k].text = strdup(trait->text[i->value[k]]);
    }
}

void kernel_needs_agree(const struct place *p, uint32_t direction)
{
    uint64_t seed = 15;
    uint32_t n_yes = 0, n_no = 0;

    for (uint32_t i = 0; i < p->grid.n_instances; i++) {
        const struct ks_instance *inst = &p->grid.instances[i];
        const struct ks_abi_entry *e = kernel_entry(p, i);
        struct ks_fx_instance fx;
        struct ks_traits t;

        if (!e)
            continue;
        describe(&p->grid.families[inst->i_family], inst, &t);
        ks_feature_instance_set(&t, 0, 0, &fx);
        ks_traits_release(&t);
        for (int n = 0; n < N_RANDOM; n++) {
            const struct ks_problem problem = random_problem(&seed, direction);
            const struct ks_fx_problem x = ks_feature_problem(&problem);
            double q[KS_FX_N_QUANTITIES];
            struct ks_abi_problem abi;
            const char *why;

            ks_operators[0]->to_abi(&problem, &abi);
            ks_fx_quantities(&x, q);
            why = e->unsupported(&abi);
            if (!ks_fx_applies(&x, q, &fx) != (why != NULL))
                fail_msg("%s: the kernel says '%s', a selector the opposite", inst->name,
                         why ? why : "yes");
            n_yes += !why;
            n_no += why != NULL;
        }
    }
    assert_true(n_no > 0 && n_yes > 0);
}
